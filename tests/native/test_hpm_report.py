"""The files of libhpm: text as agreed, XML by the schema, CSV by RFC 4180, whatever the labels."""

from __future__ import annotations

import csv
import math
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from c_hpm import event, hexed, item, number, ran, times
from c_names import ROOT, built
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree
from property_tests import examples

import gnomon

GOLDEN = ROOT / "tests" / "golden"
XSD = ROOT / "src" / "gnomon" / "hpm" / "viz.xsd"
STARTED = 1795284411.25  # 21.11.2026 18:06:51 UTC

COLUMNS = next(
    csv.reader(
        [
            "program,host,process,task,section,label,parent,thread,file,line,group,exclusive,calls,"
            "kind,name,value,unit,how,modes,enabled_seconds,running_seconds,reason,formula,"
            "description"
        ]
    )
)


@pytest.fixture(scope="module")
def print_hpm() -> Path:
    """Return the C program that shows what native/hpm makes of something."""
    return built("print_hpm")


def header(program: str = "my program", *, task: int = -1, notes: str = "") -> str:
    texts = map(hexed, (program, "/usr/bin/swim", "host", "2 BRANCH, 9 NET", notes))
    numbers = map(number, (STARTED, STARTED + 1.5, 1.5))
    return "\t".join(["header", *texts, "4711", str(task), *numbers])


USAGE = [
    item(usage=True),
    times(),
    event("ru_utime", 1.25, component="", unit="s", description="user time", modes=0),
    event("ru_maxrss", 4096, component="", unit="KiB", description="peak resident set", modes=0),
    event(
        "ru_ixrss", None, component="", unit="KiB s", description="shared text memory",
        reason="no meaning on Linux", how=-1, modes=0,
    ),
]  # fmt: skip

BRANCHES = [
    event("PAPI_TOT_INS", 4_000_000_000, description="instructions"),
    event("PAPI_BR_INS", 500_000_000.5, how=1, running_s=0.25),
    event("PAPI_BR_MSP", 1_000_000),
    event(
        "PAPI_BR_CN", None, how=-1, enabled_s=0, running_s=0,
        reason="this CPU has no such event; ask for PAPI_BR_INS",
    ),
]  # fmt: skip

SECTIONS = [
    item(section=1, calls=3, label="outer call", group="2 BRANCH", file="swim.c", line=120,
         thread=4712, process=4711),
    times(wall=1.25, user=1.0, system=0.125, start=STARTED, stop=STARTED + 1.25,
          overhead=2e-6, init=STARTED),
    *BRANCHES,
    item(section=1, calls=3, label="outer call", group="9 NET", continues=True, thread=4712,
         process=4711, file="swim.c", line=120),
    times(wall=1.25, user=1.0, system=0.125, overhead=2e-6),
    event("net:::rx_bytes", 123456.0, component="net", unit="bytes", modes=0, flags=2, how=2),
    item(section=1, calls=3, exclusive=True, label="outer call", group="2 BRANCH", thread=4712,
         process=4711, description="mean of 4 tasks\nand one more line", file="swim.c", line=120),
    times(wall=0.5, overhead=0.1),
    event("PAPI_TOT_INS", 1000, modes=1),
    event("PAPI_TOT_CYC", 3000, modes=1),
    event("a-difference", -3.5, flags=1),
    item(section=22, calls=1, label="computing", parent=1, parent_label="outer call",
         group="2 BRANCH", thread=4712, process=4711),
    times(wall=0.5, user=None, system=None, overhead=1e-6),
]  # fmt: skip


def written(
    print_hpm: Path, folder: Path, lines: list[str], **variables: str
) -> subprocess.CompletedProcess[bytes]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("HPM_", "LC_", "LANG"))}
    return subprocess.run(
        [print_hpm, "items", "result"],
        input="".join(f"{line}\n" for line in [*lines, "report"]).encode(),
        cwd=folder,
        env=kept
        | {"TZ": "UTC", "HPM_CSV_OUTPUT": "1", "HPM_VIZ_OUTPUT": "1", "HPM_ASC_OUTPUT": "1"}
        | variables,
        capture_output=True,
        check=False,
    )


def viz(file: Path) -> Any:
    root = etree.parse(file)
    schema = etree.XMLSchema(etree.parse(XSD))
    assert schema.validate(root), schema.error_log
    return root.getroot()


def rows(file: Path) -> list[dict[str, str]]:
    with file.open(newline="", encoding="utf-8") as lines:
        table = list(csv.reader(lines, strict=True))
    assert table[0] == COLUMNS
    assert {len(row) for row in table} == {len(COLUMNS)}
    assert file.read_bytes().endswith(b"\r\n")
    return [dict(zip(COLUMNS, row, strict=True)) for row in table[1:]]


@pytest.fixture(scope="module")
def files(print_hpm: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the three files of one run."""
    folder = tmp_path_factory.mktemp("files")
    lines = [header(notes="counted in turns"), *USAGE, *SECTIONS]
    done = written(print_hpm, folder, lines, HPM_PRINT_FORMULA="yes", HPM_STDOUT="1")
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout == (folder / "result.hpm").read_bytes()
    return folder


def test_an_event_that_no_section_counted_has_no_rows(print_hpm: Path, tmp_path: Path) -> None:
    nowhere = event("cycles", None, how=-1, reason="no core PMU")
    sometimes = event("PAPI_BR_CN", None, how=-1, reason="its turn did not come")
    lines = [
        header(), *USAGE,
        item(section=1, calls=1, label="first", group="2 BRANCH"), times(wall=1.0),
        nowhere, event("PAPI_BR_CN", 5),
        item(section=2, calls=1, label="second", group="2 BRANCH"), times(wall=1.0),
        nowhere, sometimes,
        item(section=3, calls=1, label="third", group="1 CYCLES"), times(wall=1.0), nowhere,
    ]  # fmt: skip
    assert written(print_hpm, tmp_path, lines).returncode == 0
    text = (tmp_path / "result.hpm").read_text("utf-8")
    _, _, first, second, third, end = text.split("\n\n", 1)[1].split("\n\n")
    assert "cycles" not in first + second
    assert "PAPI_BR_CN  5  counted" in first
    assert "PAPI_BR_CN  n/a  not counted: 2" in second
    assert "counters\n  none of its events could be counted: see the end" in third
    assert "1  cycles\n" in end
    assert "no core PMU" in end
    assert "2  PAPI_BR_CN\n" in end
    assert len(viz(tmp_path / "result.viz").findall(".//event[@name='cycles']")) == 3


def test_the_text(files: Path) -> None:
    text = (files / "result.hpm").read_text("utf-8")
    golden = GOLDEN / "libhpm.hpm"
    if os.environ.get("GNOMON_UPDATE_GOLDEN"):
        golden.write_text(text, "utf-8")
    assert text == golden.read_text("utf-8")


def test_only_the_three_files_are_left(files: Path) -> None:
    assert sorted(path.name for path in files.iterdir()) == [
        "result.csv",
        "result.hpm",
        "result.viz",
    ]


def test_formulas_only_where_asked_for(print_hpm: Path, tmp_path: Path) -> None:
    assert written(print_hpm, tmp_path, [header(), *SECTIONS]).stdout == b""
    text = (tmp_path / "result.hpm").read_text()
    assert "branch_share" in text
    assert "= 100" not in text


def test_the_overhead_warning(print_hpm: Path, tmp_path: Path) -> None:
    for share, warned in ((0.19, False), (0.2, True), (2.0, True)):
        lines = [header(), item(section=1, label="x"), times(wall=1.0, overhead=share)]
        written(print_hpm, tmp_path, lines)
        text = (tmp_path / "result.hpm").read_text()
        assert ("WARNING" in text) == warned, share


def test_the_xml(files: Path) -> None:
    root = viz(files / "result.viz")
    assert (root.get("producer"), root.get("release")) == ("libhpm", gnomon.__version__)
    run = root.find("run")
    assert (run.get("program"), run.get("process"), run.get("events")) == (
        "my program", "4711", "2 BRANCH, 9 NET")  # fmt: skip
    assert run.get("started") == "2026-11-21T18:06:51.250+00:00"
    assert [(f.get("name"), f.get("value")) for f in root.iter("field")] == [
        ("ru_utime", "1.25"), ("ru_maxrss", "4096"), ("ru_ixrss", None)]  # fmt: skip
    sections = root.findall("section")
    assert [(s.get("id"), s.get("element"), s.get("parent")) for s in sections] == [
        ("1", "1", None), ("22", "2", "1")]  # fmt: skip
    first = sections[0].findall("values")
    assert [(v.get("exclusive"), v.get("continues")) for v in first] == [
        ("false", "false"), ("false", "true"), ("true", "false")]  # fmt: skip
    events = {e.get("name"): e for e in first[0].findall("event")}
    assert float(events["PAPI_BR_INS"].get("value")) == 500_000_000.5
    assert events["PAPI_BR_INS"].get("how") == "scaled"
    assert events["PAPI_BR_CN"].get("value") is None
    assert "no such event" in events["PAPI_BR_CN"].get("reason")
    metrics = {m.get("name"): m for m in first[0].findall("metric")}
    assert float(metrics["branch_share"].get("value")) == 100 * 500_000_000.5 / 4e9
    assert metrics["branch_share"].get("formula") == "100 * PAPI_BR_INS / PAPI_TOT_INS"
    assert [n.text for n in root.findall("note")] == ["counted in turns"]


@pytest.mark.parametrize(
    ("zone", "started"),
    [
        ("IST-5:30", "2026-11-21T23:36:51.250+05:30"),
        ("EST5", "2026-11-21T13:06:51.250-05:00"),
    ],
)
def test_times_are_local(print_hpm: Path, tmp_path: Path, zone: str, started: str) -> None:
    written(print_hpm, tmp_path, [header()], TZ=zone)
    assert viz(tmp_path / "result.viz").find("run").get("started") == started
    assert f"from 21.11.2026 {started[11:19]} to" in (tmp_path / "result.hpm").read_text()


def test_what_an_aggregator_makes_up(print_hpm: Path, tmp_path: Path) -> None:
    lines = [
        header(),
        item(section=-3, calls=-1, task=-7, thread=-1, parent=-9, line=-5),
        times(wall=-1),
        event("PAPI_TOT_INS", 5, how=99, modes=88, flags=-1, enabled_s=-1, running_s=-2),
        event("PAPI_TOT_CYC", 5, how=-99, modes=-1),
        event("page-faults", 7, how=0, modes=0, unit="s"),
    ]  # fmt: skip
    assert written(print_hpm, tmp_path, lines).returncode == 0
    first = viz(tmp_path / "result.viz").find("section").find("values").find("event")
    assert first.get("how") == "estimated"
    assert len(rows(tmp_path / "result.csv")) >= 4


def test_the_csv(files: Path) -> None:
    found = rows(files / "result.csv")
    assert {row["kind"] for row in found} == {"usage", "time", "event", "metric"}
    missing = next(row for row in found if row["name"] == "PAPI_BR_CN")
    assert (missing["value"], missing["how"]) == ("", "")
    assert missing["reason"] == "this CPU has no such event; ask for PAPI_BR_INS"
    exclusive = [row for row in found if row["exclusive"] == "yes" and row["kind"] == "event"]
    assert [(row["name"], row["value"], row["modes"]) for row in exclusive[:2]] == [
        ("PAPI_TOT_INS", "1000", "user"), ("PAPI_TOT_CYC", "3000", "user")]  # fmt: skip
    ipc = next(r for r in found if r["name"] == "ipc" and r["exclusive"] == "yes")
    assert float(ipc["value"]) == 1000 / 3000
    assert {row["program"] for row in found} == {"my program"}


def test_large_numbers_are_whole(print_hpm: Path, tmp_path: Path) -> None:
    most = 2**31 - 1
    lines = [
        header(), item(section=most, calls=most, task=most, thread=most, line=most), times(wall=1.0)
    ]  # fmt: skip
    written(print_hpm, tmp_path, lines)
    row = rows(tmp_path / "result.csv")[0]
    names = ("section", "calls", "task", "thread", "line")
    assert {row[name] for name in names} == {str(most)}
    section = viz(tmp_path / "result.viz").find("section")
    assert {section.get(name) for name in ("id", "task", "thread", "line")} == {str(most)}


def test_an_mpi_task_and_a_unique_name(print_hpm: Path, tmp_path: Path) -> None:
    lines = [header(task=3), item(section=1, task=3, label="x"), times(wall=1.0)]
    done = written(
        print_hpm, tmp_path, lines,
        HPM_UNIQUE_FILE_NAME="1", HPM_OUTPUT_NAME="out.d", PMIX_RANK="3",
    )  # fmt: skip
    assert done.returncode == 0
    names = sorted(path.name for path in tmp_path.iterdir())
    host = os.uname().nodename.partition(".")[0]
    assert [name.rpartition(".")[2] for name in names] == ["csv", "hpm", "viz"]
    assert all(name.startswith(f"out_{host}_3_") and ".d." in name for name in names)
    (viz_file,) = tmp_path.glob("*.viz")
    root = viz(viz_file)
    assert (root.find("run").get("task"), root.find("section").get("task")) == ("3", "3")


def test_the_locale_of_the_program_does_not_matter(print_hpm: Path, tmp_path: Path) -> None:
    # print_hpm sets none; what is written has points and no commas in numbers.
    written(print_hpm, tmp_path, [header(), *SECTIONS], LC_ALL="de_DE.UTF-8")
    assert "1.25 s" in (tmp_path / "result.hpm").read_text()


TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=30)
FLOAT = st.floats()


@examples(60)
@given(
    TEXT, TEXT, TEXT, TEXT, st.lists(st.tuples(TEXT, FLOAT, TEXT, TEXT), max_size=5),
    st.dictionaries(st.sampled_from(("wall", "user", "start", "stop", "overhead")), FLOAT),
)  # fmt: skip
def test_hostile_names_and_numbers(
    print_hpm: Path,
    tmp_path: Path,
    program: str,
    label: str,
    description: str,
    file: str,
    events: list[tuple[str, float, str, str]],
    seconds: dict[str, float],
) -> None:
    lines = [
        header(program, notes=description),
        item(section=5, label=label, description=description, xml=label, file=file, group=program),
        times(**seconds),
        *(event(name, value, unit=unit, description=said, enabled_s=value, running_s=value)
          for name, value, unit, said in events),
    ]  # fmt: skip
    done = written(print_hpm, tmp_path, lines)
    assert (done.returncode, done.stderr) == (0, b"")
    text = (tmp_path / "result.hpm").read_text("utf-8")
    assert not any(ord(one) < 32 and one != "\n" for one in text)
    section = viz(tmp_path / "result.viz").find("section")
    found = section.find("values").findall("event")
    for (_, value, _, _), one in zip(events, found, strict=True):
        if math.isfinite(value):
            assert float(one.get("value")) == value
        else:
            assert one.get("value") is None
    if label.isprintable():
        assert section.get("label") == label.replace("\r", "\\r")
    in_csv = [row for row in rows(tmp_path / "result.csv") if row["kind"] == "event"]
    assert len(in_csv) == len(events)
    if label.isascii() and label.isprintable():
        assert all(row["label"] == label for row in in_csv)


def a_section(
    number_of: int, label: str, *, wall: float, clock: float, exclusive: bool = False,
    parent: int = 0, calls: int = 1,
) -> list[str]:  # fmt: skip
    return [
        item(section=number_of, calls=calls, label=label, group="CLOCK", parent=parent,
             exclusive=exclusive),
        times(wall=wall, user=wall / 2, system=wall / 4),
        event("task-clock", clock, component="kernel", unit="ns", modes=0),
        event("context-switches", 8, component="kernel", modes=0),
    ]  # fmt: skip


def test_many_sections_begin_with_a_table_of_the_hottest(print_hpm: Path, tmp_path: Path) -> None:
    long = "ein sehr langer Name für einen Abschnitt des Programms"
    lines = [
        header(), *USAGE,
        *a_section(1, "outer", wall=1.25, clock=1e9),
        *a_section(1, "outer", wall=0.25, clock=2e8, exclusive=True),
        *a_section(2, "leaf", wall=0.5, clock=4e8, parent=1, calls=7),
        *a_section(2, "leaf", wall=0.5, clock=4e8, parent=1, calls=7, exclusive=True),
        *a_section(13, long, wall=0.75, clock=4e8, parent=1),
        *a_section(13, long, wall=0.75, clock=3e8, parent=1, exclusive=True),
    ]  # fmt: skip
    done = written(print_hpm, tmp_path, lines, HPM_PRINT_FORMULA="no")
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "result.hpm").read_text()
    table = text[text.index("sections, hottest first") : text.index("resource usage")]
    assert [re.split(r"\s{2,}", line.strip()) for line in table.strip().splitlines()] == [
        ["sections, hottest first", "calls", "wall time", "exclusive", "share"],
        ["13", "ein sehr langer Name für ei...", "1", "750 ms", "750 ms", "50.0 %"],
        ["2", "leaf", "7", "500 ms", "500 ms", "33.3 %"],
        ["1", "outer", "1", "1.25 s", "250 ms", "16.7 %"],
    ]
    assert max(map(len, table.splitlines())) <= 80
    # Of a leaf all is its own; of what counted something else in its parts both are there.
    blocks = re.findall(r"^section (\d+)  .*\[(.*) values\]$", text, re.MULTILINE)
    assert blocks == [
        ("1", "inclusive"), ("1", "exclusive"), ("2", "inclusive and exclusive"),
        ("13", "inclusive"), ("13", "exclusive"),
    ]  # fmt: skip
    # Programs get both, from the other files.
    sections = viz(tmp_path / "result.viz").iter("values")
    assert [one.get("exclusive") for one in sections] == ["false", "true"] * 3


def test_no_section_has_more_than_all_of_several_tasks(print_hpm: Path, tmp_path: Path) -> None:
    lines = [header(task=0)]
    for at, wall in ((1, 3.0), (2, 2.25)):
        first, *rest = a_section(at, "one", wall=wall, clock=1e9)
        lines += [first, f"tasks\t2\t{hexed('0,1')}", *rest]
    assert written(print_hpm, tmp_path, lines).returncode == 0
    text = (tmp_path / "result.hpm").read_text()
    assert re.findall(r"^  \d  one .* ([0-9.]+) %$", text, re.MULTILINE) == ["100.0", "75.0"]


def test_metrics_of_sections_do_not_repeat_each_other(print_hpm: Path, tmp_path: Path) -> None:
    for where in (1, 0):
        lines = [header(), *a_section(where, "one", wall=1.0, clock=5e8)]
        written(print_hpm, tmp_path, lines, HPM_PRINT_FORMULA="no")
        text = (tmp_path / "result.hpm").read_text()
        names = {line.split()[0] for line in text.partition("metrics\n")[2].splitlines() if line}
        assert {"cpus_utilised", "context_switch_rate", "user_share"} <= names
        repeated = {"machine_utilisation", "context_switches_per_cpu_second", "system_share"}
        known = {row["name"] for row in rows(tmp_path / "result.csv")}
        assert repeated - {"machine_utilisation"} <= known
        assert (names & repeated) == (set() if where else known & repeated)
        assert "sections, hottest" not in text


def test_many_sections(print_hpm: Path, tmp_path: Path) -> None:
    lines = [header()]
    for at in range(200):
        lines += [item(section=at + 1, label=f"section {at}" * 40), times(wall=1.0), *BRANCHES]
    assert written(print_hpm, tmp_path, lines).returncode == 0
    assert len(viz(tmp_path / "result.viz").findall("section")) == 200
    assert len({row["section"] for row in rows(tmp_path / "result.csv")}) == 200


def test_the_same_numbers_are_in_all_three(files: Path) -> None:
    root = viz(files / "result.viz")
    in_viz = [float(one.get("value")) for one in root.iter("metric")]
    in_csv = [float(row["value"]) for row in rows(files / "result.csv") if row["kind"] == "metric"]
    assert in_viz == in_csv
    assert len(in_viz) > 3


def test_metrics_need_no_libpfm4(print_hpm: Path) -> None:
    assert ran(print_hpm, "items", [item(), times(wall=2.0), "metrics"])[-1] == "."
