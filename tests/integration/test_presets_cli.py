"""`gnomon presets`, and presets of one's own in every command that takes events."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import struct
import termios
from pathlib import Path
from typing import Any

import pytest
from commands import GNOMON, counted, gnomon, run

from gnomon.counters import presets
from gnomon.counters.components import component
from gnomon.counters.emulation.events import EVENTS

KEYS = ["name", "available", "definition", "reason", "remedy", "errno", "kind", "events", "unit",
        "description", "family", "source", "differs", "meanings"]  # fmt: skip
MINE = Path(__file__).parents[1] / "own_presets.toml"
pytestmark = pytest.mark.cpu
HAS_PMU = component("cpu").availability().available


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    path = tmp_path / "mine.toml"
    path.write_text(MINE.read_text())
    return path


def listed(*arguments: str | Path, status: int = 0) -> dict[str, dict[str, Any]]:
    done = gnomon("presets", "--json", *arguments)
    assert (done.returncode, done.stderr) == (status, "")
    document = json.loads(done.stdout)
    assert list(document) == ["presets"]
    assert all(list(row) == KEYS for row in document["presets"])
    return {row["name"]: row for row in document["presets"]}


# --- the list -------------------------------------------------------------------------------------


def test_every_standard_preset_is_listed() -> None:
    rows = listed()
    assert set(presets.meanings()) <= set(rows)
    for row in rows.values():
        assert row["description"]
        assert row["available"] in (True, False)
        assert bool(row["definition"]) == bool(row["kind"]) == bool(row["events"])
        if not row["available"]:
            assert row["reason"]
            assert row["remedy"]
    assert rows["PAPI_TOT_INS"]["available"] == HAS_PMU
    assert HAS_PMU or rows["PAPI_TOT_INS"]["errno"] > 0


def test_the_table_says_once_why_nothing_can_be_counted() -> None:
    done = gnomon("presets")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("preset ")
    rows = re.findall(r"^(PAPI_\w+) +(yes|no) ", done.stdout, re.MULTILINE)
    assert [name for name, _ in rows] == sorted(presets.meanings())
    if HAS_PMU:
        pytest.skip("this machine has a PMU: what is said without one cannot be seen")
    assert {here for _, here in rows} == {"no"}
    # One reason; more where a table of libpfm4's lacks events of a family, as that of POWER10.
    reasons = re.findall(r"not here: (.*)", done.stdout)
    assert reasons
    assert len(set(reasons)) == len(reasons) == done.stdout.count("remedy: ")
    assert "gnomon doctor" in done.stdout
    (emulated,) = re.findall(r"gnomon count --pmu emulated counts: ([^:]*)$", done.stdout)
    names = {event.name for event in EVENTS if event.name.startswith("PAPI_")}
    assert set(emulated.replace(",", " ").split()) == names


def test_words_narrow_the_list() -> None:
    rows = listed("l1", "DATA", "miss")
    assert "PAPI_L1_DCM" in rows
    for row in rows.values():
        text = f"{row['name']} {row['description']} {row['definition']}".lower()
        assert all(word in text for word in ("l1", "data", "miss"))
    done = gnomon("presets", "no preset has this in it")
    assert (done.returncode, done.stdout) == (1, "no preset matches; gnomon presets lists all\n")
    assert listed("no preset has this in it", status=1) == {}
    said = " ".join(gnomon("presets", "major-faults").stdout.split())
    assert "is an event of component kernel, not a preset" in said
    assert "did you mean PAPI_TOT_INS" in gnomon("presets", "PAPI_TOT_INSS").stdout


def test_several_names_list_each() -> None:
    assert set(listed("papi_tot_ins", "PAPI_TOT_CYC")) == {"PAPI_TOT_INS", "PAPI_TOT_CYC"}
    done = gnomon("presets", "PAPI_TOT_INS", "PAPI_TOT_XXX")
    assert done.returncode == 1
    assert done.stdout == "no preset has all of these words; gnomon presets lists all\n"


def test_presets_for_other_pmus_are_told_of(tmp_path: Path) -> None:
    path = tmp_path / "other.toml"
    path.write_text('pmus = ["knl"]\n[preset.MINE]\nevents = ["page-faults"]\n')
    said = " ".join(gnomon("presets", "--presets", path, "MINE").stdout.split())
    # Where libpfm4 does not know the CPU there is no name to say.
    assert re.search(
        rf"{path} defines it for PMU knl only, (not for|and libpfm4 names no PMU)", said
    )
    assert "did you mean" not in said
    assert "MINE" not in listed("--presets", path)
    said = " ".join(gnomon("presets", "--presets", path).stdout.split())
    assert f"{path}: 1 preset for other PMUs than this machine's (knl)" in said
    for pmu in ("knl", "knm", "intel_knightslanding"):
        rows = listed("--presets", path, "--pmu", pmu)
        assert ("MINE" in rows) == (pmu != "knm")
        assert "PAPI_TOT_INS" in rows
    counts = gnomon("count", "--presets", path, "-e", "MINE,page-faults", "--", "true")
    assert counts.returncode == 0
    assert "defines it for PMU knl only" in " ".join(counts.stdout.split() + counts.stderr.split())


def test_details_say_once_why() -> None:
    done = gnomon("presets", "--detail", "PAPI_TOT_INS")
    assert done.returncode == 0
    assert done.stdout.count("remedy") == (0 if HAS_PMU else 1)


def test_available_ones_only(mine: Path) -> None:
    rows = listed("--available", "--presets", mine)
    assert {"FAULTS", "RATIO"} <= set(rows)
    assert all(row["available"] for row in rows.values())
    assert "PAPI_TOT_INS" not in rows or HAS_PMU
    done = gnomon("presets", "--available", "--presets", mine)
    assert re.search(r"^FAULTS +yes +minor-faults \+ major-faults +page faults of both kinds$",
                     done.stdout, re.MULTILINE)  # fmt: skip


def test_another_pmus_definitions_are_not_tried() -> None:
    here = {preset.family for preset in presets.of_this_machine()}
    other = next(family for family in presets.families() if family.name not in here)
    rows = listed("--pmu", other.name)
    assert rows == (listed("--pmu", other.pmus[0]) if other.pmus else rows)
    for row in rows.values():
        assert row["available"] is (None if row["events"] else False)
        assert (row["errno"], row["family"]) == (0, other.name)
        assert bool(row["reason"]) != bool(row["events"])
    done = gnomon("presets", "--pmu", other.name)
    assert "not tested" in done.stdout
    assert other.title in done.stdout
    refused = gnomon("presets", "--available", "--pmu", other.name)
    assert refused.returncode == 2
    assert "leave one of them out" in refused.stderr


def test_this_machines_family_is_tried() -> None:
    family = presets.of_this_machine()[0].family
    rows = listed("--pmu", family)
    assert rows["PAPI_TOT_INS"]["available"] is HAS_PMU


def test_presets_of_the_emulated_pmu() -> None:
    rows = listed("--pmu", "emulated")
    assert set(rows) == {event.name for event in EVENTS if event.name.startswith("PAPI_")}
    assert rows["PAPI_TOT_INS"]["kind"] == "not derived"
    engine = component("emulated").availability().available
    assert {row["available"] for row in rows.values()} == {engine}


def test_unknown_pmu_gets_the_nearest() -> None:
    done = gnomon("presets", "--pmu", "skxx")
    assert done.returncode == 2
    assert "did you mean skx" in done.stderr
    assert (
        "there are"
        in gnomon("presets", "--pmu", "").stdout + gnomon("presets", "--pmu", "#").stderr
    )


def test_detail_tells_all(mine: Path) -> None:
    done = gnomon("presets", "--detail", "--presets", mine, "RATIO")
    assert done.returncode == 0
    text = re.sub(r"\s+", " ", done.stdout)
    for words in ("kind postfix", "definition FAULTS / page-faults", "N0 FAULTS: both kinds",
                  "N1 page-faults: all of them", "differs from nothing", "here can be counted",
                  f"source {mine}", "1 can be counted here"):  # fmt: skip
        assert words in text, words


@pytest.mark.parametrize("columns", [60, 80, 132, 250])
def test_the_table_fits_the_terminal(columns: int) -> None:
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    environment = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "LINES")}
    done = run(GNOMON, "presets", "--pmu", "skx", "FP_ARITH", stdout=follower,
               capture_output=False, env=environment | {"NO_COLOR": "1"})  # fmt: skip
    os.close(follower)
    assert done.returncode == 0
    shown = b""
    while True:
        try:
            part = os.read(leader, 65536)
        except OSError:  # EIO: nobody writes there any more
            break
        shown += part
    os.close(leader)
    lines = shown.decode().splitlines()
    table = lines[: lines.index("")]
    kind = ["kind"] if columns >= 100 else []
    assert table[0].split() == ["preset", "here", *kind, "definition", "description"]
    assert "PAPI_DP_OPS" in shown.decode()
    assert max(map(len, table)) <= columns
    assert all("preset" in line or line.strip() for line in table)


# --- one's own ------------------------------------------------------------------------------------


def test_own_presets_are_counted(mine: Path, tmp_path: Path) -> None:
    names = "FAULTS,FAULTS_EACH_SECOND,RATIO,LESS,UNDEFINED,page-faults"
    document = counted(tmp_path, "--presets", mine, "-e", names, "--", "ls", "-l")
    rows = {row["event"]: row for row in document["counters"]}
    assert rows["FAULTS"]["value"] == rows["FAULTS"]["raw"] == rows["page-faults"]["value"] > 0
    assert (rows["RATIO"]["value"], rows["RATIO"]["raw"], rows["RATIO"]["derived"]) == (
        1.0, None, True,
    )  # fmt: skip
    assert rows["FAULTS_EACH_SECOND"]["unit"] == "/s"
    seconds = rows["FAULTS"]["enabled_ns"] / 1e9
    assert rows["FAULTS_EACH_SECOND"]["value"] == pytest.approx(rows["FAULTS"]["value"] / seconds)
    assert rows["LESS"]["value"] < 0
    assert (rows["LESS"]["negative"], rows["LESS"]["derived"]) == (True, False)
    assert (rows["UNDEFINED"]["value"], rows["UNDEFINED"]["negative"]) == (None, False)


def test_report_says_what_is_negative_and_what_has_no_value(mine: Path) -> None:
    done = gnomon("count", "--presets", mine, "-e", "LESS,UNDEFINED", "--", "true")
    assert done.returncode == 0
    text = " ".join(done.stderr.split())
    assert re.search(r"LESS -\d+ counted; negative", text)
    assert re.search(r"UNDEFINED not measured .*divides by zero", text)


def test_own_presets_by_thread(mine: Path, tmp_path: Path) -> None:
    document = counted(tmp_path, "--presets", mine, "-e", "RATIO,FAULTS,UNDEFINED", "--per",
                       "thread", "--", "sh", "-c", "ls; ls")  # fmt: skip
    assert document["threads"]
    for row in document["threads"]:
        if row["values"]["FAULTS"]:
            assert row["values"]["RATIO"] == pytest.approx(1.0, rel=0.2)
        assert row["values"]["UNDEFINED"] is None


def test_a_run_directory_keeps_formulas_values(mine: Path, tmp_path: Path) -> None:
    run_ = tmp_path / "r"
    done = gnomon("count", "--presets", mine, "-e", "RATIO,LESS", "--name", run_, "--", "true")
    assert done.returncode == 0
    text = gnomon("report", run_).stdout
    assert re.search(r"RATIO +1 ", text)
    assert re.search(r"LESS +-\d", text)


def test_variable_holds_for_every_command(mine: Path, tmp_path: Path) -> None:
    environment = os.environ | {"GNOMON_PRESETS": str(mine)}
    checked = gnomon("events", "--check", "RATIO", env=environment)
    assert (checked.returncode, "opens" in checked.stdout) == (0, True)
    names = gnomon("events", "--json", "FAULTS_EACH", env=environment).stdout
    (row,) = json.loads(names)["events"]
    assert (row["event"], row["available"], row["unit"]) == ("FAULTS_EACH_SECOND", True, "/s")
    assert counted(tmp_path, "-e", "FAULTS", "--", "true", env=environment)["counters"]
    done = gnomon("count", "-e", "FAULTZ", "--", "true", env=environment)
    assert (done.returncode, "did you mean FAULTS" in done.stderr) == (2, True)
    done = gnomon("count", "-e", "GONE", "--", "true", env=environment)
    assert "it never was" in done.stderr


def test_own_presets_come_first_and_say_so(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text("PRESET,PAPI_TOT_INS,NOT_DERIVED,page-faults\n")
    row = listed("--presets", path, "PAPI_TOT_INS")["PAPI_TOT_INS"]
    assert (row["source"], row["events"], row["available"]) == (str(path), ["page-faults"], True)
    assert "in place of Gnomon's own" in row["differs"]
    document = counted(tmp_path, "--presets", path, "-e", "PAPI_TOT_INS", "--", "true")
    assert document["counters"][0]["component"] == "kernel"


@pytest.mark.parametrize("command", ["presets", "events", "count"])
@pytest.mark.parametrize(
    ("content", "said"),
    [("[preset.X]\n", ":1: preset X: it has no events"), ("nonsense", ":1: not TOML"),
     ("PRESET,X,DERIVED_FOO,A", ":1: preset X: no derivation"),
     ('[preset.page-faults]\nevents = ["cycles"]\n', ":1: preset page-faults: component kernel"),
     (None, ": cannot be read: No such file")],
)  # fmt: skip
def test_broken_files_are_one_line(
    command: str, content: str | None, said: str, tmp_path: Path
) -> None:
    path = tmp_path / "mine"
    if content is not None:
        path.write_text(content)
    rest = ("--", "touch", tmp_path / "ran") if command == "count" else ()
    for done in (
        gnomon(command, "--presets", path, *rest),
        gnomon(command, *(("-e", "X") if rest else ()), *rest,
               env=os.environ | {"GNOMON_PRESETS": str(path)}),
    ):  # fmt: skip
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith(f"gnomon: {path}{said}")
        assert done.stderr.count("\n") == 1
    assert not (tmp_path / "ran").exists()


def test_pmus_are_completed(tmp_path: Path) -> None:
    """bash itself, asked what may follow `--pmu sk`."""
    (tmp_path / "script").write_text(gnomon("completion", "bash").stdout)
    line = "gnomon presets --pmu sk"
    done = run(
        "bash", "-c",
        f". {tmp_path}/script; COMP_WORDS=({line}); COMP_CWORD=3; COMP_LINE='{line}'; "
        f"COMP_POINT={len(line)}; $(complete -p gnomon | sed 's/.*-F \\([^ ]*\\).*/\\1/') "
        'gnomon sk --pmu; echo "${COMPREPLY[@]}"',
    )  # fmt: skip
    assert {"skl", "skx"} <= set(done.stdout.split())
    assert all(word.startswith("sk") for word in done.stdout.split())
