""".viz files: what libhpm and hpmcount write is read, and nothing else is believed."""

from __future__ import annotations

import io
import json
import os
import random
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnomon.cli import main
from gnomon.errors import GnomonError, RunDirectoryError
from gnomon.model.tables import LOCATIONS, METRICS, PROFILE, REGIONS
from gnomon.store import viz
from gnomon.store.viz.reader import parse
from gnomon.view.session import Session

WHOLE = """<?xml version="1.0" encoding="UTF-8"?>
<hpm version="1" producer="libhpm" release="0.1.0">
  <run program="swim" host="node7" process="4711" task="3" started="2026-11-21T21:40:48.808+00:00"
       stopped="2026-11-21T21:40:50.808+00:00" wall_seconds="2" exit_status="0" cpus="8">
    <argument>./swim</argument>
    <argument>a b</argument>
  </run>
  <usage><field name="ru_utime" value="1.5" unit="s"/><field name="ru_ixrss" reason="no"/></usage>
  <section kind="region" id="1" element="1" label="outer" file="swim.f" line="10" process="4711">
    <values calls="2">
      <time name="wall" seconds="1.5"/>
      <event name="PAPI_TOT_INS" component="cpu" value="4000" how="scaled" modes="user"/>
      <event name="PAPI_FP_OPS" component="cpu" reason="no such counter"/>
      <metric name="mips" value="0.0026666666666666666" unit="Minstr/s" how="scaled"
              formula="1e-6 * PAPI_TOT_INS / wall_seconds"/>
    </values>
    <values exclusive="true" calls="2"><time name="wall" seconds="0.5"/></values>
  </section>
  <section kind="region" id="2" element="2" label="inner" file="swim.f" line="20" parent="1">
    <values calls="5"><time name="wall" seconds="1"/>
      <event name="PAPI_TOT_INS" component="cpu" value="1000" how="counted" modes="user"/></values>
  </section>
  <section kind="region" id="1" element="3" label="of a thread" thread="4712" process="4711">
    <values calls="1"><time name="wall" seconds="0.25"/></values>
  </section>
  <note>take care</note>
</hpm>
"""


TABLES = """<?xml version="1.0" encoding="UTF-8"?>
<hpm version="2" producer="gnomon export" release="0.1.0">
<run program="swim" host="node7" started="2026-11-21T21:40:48.808+00:00"></run>
<head>{"command": ["./swim"], "hosts": [{"name": "node7"}], "started": 1.7e9, "wall_seconds": 2,
"exit_status": 0, "repetitions": 1, "unavailable": [], "warnings": []}</head>
<tables>
<location id="0" parent="-1" kind="command" host="node7" rank="-1" pid="7" tid="-1" name="swim"/>
<region id="0" kind="hpm" name="swim.c" file="C:\\\\swim.c" line="3"/>
<path id="0" parent="-1" region="0"/>
<metric id="0" name="wall time" unit="ns" how="counted"/>
<profile metric="0" repetition="0" location="0">
<value path="0" inclusive="1.5" calls="7"/>
</profile>
</tables>
<note>take care</note>
</hpm>
""".replace("\nexit", " exit").replace('2,\n"exit', '2, "exit')


def read(folder: Path, text: str | bytes) -> viz.Document:
    path = folder / "swim.viz"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return viz.read_viz(path)


def test_sections_metrics_and_threads_are_read(tmp_path: Path) -> None:
    document = read(tmp_path, WHOLE)
    head = document.head
    assert head["command"] == ["./swim", "a b"]
    assert head["hosts"] == [{"name": "node7", "kernel": "", "cpus": 8}]
    assert (head["wall_seconds"], head["exit_status"]) == (2, 0)
    assert head["started"] == pytest.approx(1795297248.808)
    assert head["warnings"] == ["take care"]
    assert [one["event"] for one in head["unavailable"]] == ["PAPI_FP_OPS"]
    tables = {table.schema: list(table.dicts()) for table in document.tables}
    assert [(one["name"], one["how"]) for one in tables[METRICS]] == [
        ("wall time", "counted"), ("PAPI_TOT_INS", "scaled"), ("mips", "scaled"),
        ("user time", "counted"),
    ]  # fmt: skip
    assert [(one["name"], one["line"]) for one in tables[REGIONS]] == [
        ("swim", 0), ("outer", 10), ("inner", 20), ("of a thread", 0),
    ]  # fmt: skip
    assert [(one["kind"], one["rank"], one["tid"]) for one in tables[LOCATIONS]] == [
        ("process", 3, -1), ("thread", -1, 4712),
    ]  # fmt: skip
    wall = [(one["path"], one["inclusive"], one["exclusive"]) for one in tables[PROFILE]
            if one["metric"] == 0]  # fmt: skip
    assert wall == [(1, 1.5e9, 0.5e9), (2, 1e9, 1e9), (3, 0.25e9, 0.25e9), (0, 2e9, None)]


def test_it_is_shown_like_a_run(tmp_path: Path) -> None:
    read(tmp_path, WHOLE)
    (opened,) = Session().open([str(tmp_path / "swim.viz")])
    tree = opened.tree("region")
    names = [tree.text(tree.name, at) for at in range(tree.n)]
    assert names == ["swim", "outer", "inner", "of a thread"]
    values = opened.values("region", 0)
    assert values.inclusive.tolist() == [2e9, 1.5e9, 1e9, 0.25e9]
    assert opened.values("region", 2).inclusive[1] == 0.0026666666666666666


def test_every_command_reads_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    read(tmp_path, WHOLE)
    file = str(tmp_path / "swim.viz")

    def told(*words: str) -> str:
        assert main([*words]) == 0
        said = capsys.readouterr()
        assert said.err == ""
        return said.out

    profile = json.loads(told("report", file, "profile", "--by", "region", "--json"))["rows"]
    sums = {row["region"]: row["self"] for row in profile if row["metric"] == "wall time"}
    # What the program has without its sections, nobody knows.
    assert sums == {"outer": 0.5e9, "inner": 1e9, "of a thread": 0.25e9}
    assert "PAPI_TOT_INS" in told("report", file, "metrics")
    assert "take care" in told("report", file, "run")
    assert told("export", file, "--to", "csv").count("\r\n") == 1 + 8
    assert told("export", file, "--to", "viz").startswith('<?xml version="1.0"')
    (tmp_path / "other.viz").write_text(WHOLE)
    assert "wall time" in told("compare", file, str(tmp_path / "other.viz"), "--per", "rank")


def test_ranks_are_combined(tmp_path: Path) -> None:
    for rank in range(3):
        text = WHOLE.replace('task="3"', f'task="{rank}"').replace('"4000"', f'"{rank}"')
        (tmp_path / f"swim_{rank}.viz").write_text(text)
    (both,) = Session().open([str(tmp_path / f"swim_{rank}.viz") for rank in range(3)],
                             combined=True)  # fmt: skip
    tree = both.tree("region")
    at = [tree.text(tree.name, node) for node in range(tree.n)].index("outer")
    instructions = next(m.metric for m in both.data.metrics if m.name == "PAPI_TOT_INS")
    assert both.values("region", instructions).inclusive[at] == 3


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "no XML"),
        ("no XML at all", "no XML"),
        (WHOLE[:700], "no XML"),
        (
            WHOLE.replace('version="1" producer', 'version="3" producer'),
            "version '3' of the format",
        ),
        (WHOLE.replace("<hpm", "<!DOCTYPE hpm><hpm"), "it has a document type"),
        (WHOLE.replace("<hpm", '<!DOCTYPE hpm SYSTEM "file:///etc/passwd"><hpm'), "document type"),
        (WHOLE.replace("<note>", "<note>&lol;"), "no XML"),
        (WHOLE.replace('value="4000"', 'value="nan"'), "'nan' is no number"),
        (WHOLE.replace('value="4000"', 'value="1e999"'), "'1e999' is no number"),
        (WHOLE.replace('seconds="1.5"', 'seconds="0x10"'), "'0x10' is no number"),
        (WHOLE.replace('how="scaled" modes', 'how="guessed" modes'), "how='guessed'"),
        (WHOLE.replace('kind="region"', 'kind="province"'), "kind 'province'"),
        (WHOLE.replace('line="10"', 'line="99999999999"'), "no number that it can have"),
        (WHOLE.replace('line="10"', 'line="-1"'), "no number that it can have"),
        (WHOLE.replace('label="outer"', ""), "no attribute 'label'"),
        (WHOLE.replace("<usage>", "<usage><section/>"), "'section' within 'usage'"),
        ("<html><body/></html>", "an element 'html' within ''"),
        (WHOLE.replace("2026-11-21T", "2026-99-21T"), "is no time"),
        ('<hpm version="1" producer="x"></hpm>', "no element 'run'"),
        (b"\xff\xfe" + WHOLE.encode(), "no XML"),
        (WHOLE.replace("swim.f", "é.f").encode("latin-1"), "no XML"),
        (WHOLE.replace("outer", "out\x01er"), "no XML"),
        (WHOLE.replace('task="3"', 'task="one"'), "task='one' is no number"),
        (WHOLE.replace('wall_seconds="2"', 'wall_seconds="1e300"'), "its times are not times"),
        (WHOLE.replace('"0.0026666666666666666"', f'"{"9" * 5000}"'), "is no number"),
        (WHOLE.replace("<note>", "<note>" + "<note>" * 100_000), "'note' within 'note'"),
        (WHOLE.replace("<note>", "<tables/><note>"), "'tables' within 'hpm'"),
        (TABLES.replace('version="2"', 'version="1"'), "'head' within 'hpm'"),
        (TABLES.replace("<tables>", "<tables><usage/>"), "'usage' within 'tables'"),
        (TABLES.replace("<value ", "<value><value "), "no attribute 'path' in 'value'"),
        (TABLES.replace('path="0" inc', 'path="4294967296" inc'), "no number that it can have"),
        (TABLES.replace('calls="7"', 'calls="9223372036854775808"'), "no number that it can have"),
        (TABLES.replace('calls="7"', 'calls="1_0"'), "no number that it can have"),
        (TABLES.replace('inclusive="1.5"', 'inclusive="inf"'), "'inf' is no number"),
        (TABLES.replace('inclusive="1.5"', ""), "no attribute 'inclusive' in 'value'"),
        (TABLES.replace('name="swim.c"', 'name="swim\\.c"'), "a backslash begins no escape"),
        (TABLES.replace("<head>", "<head>{"), "its element 'head' is no JSON"),
        (re.sub("<head>.*</head>", "<head>[1]</head>", TABLES), "is no object of JSON"),
        (re.sub("<head>.*</head>", "<head>{}</head>", TABLES), "'command' is missing"),
        (re.sub("<head>.*</head>", f"<head>{'[' * 100_000}</head>", TABLES), "is no JSON"),
        (re.sub("<head>.*</head>", "", TABLES), "it has tables, but no element 'head'"),
        (TABLES.replace("</tables>", "</tables><tables/>"), "'tables' where it must not be"),
        (
            TABLES.replace("</tables>", '</tables><section kind="region" id="1" label="x"/>'),
            "a section beside tables",
        ),
    ],
)
def test_what_is_no_viz_file_is_refused_by_name_and_line(
    tmp_path: Path, text: str | bytes, why: str
) -> None:
    with pytest.raises(RunDirectoryError, match=r"swim\.viz:\d+: ") as refused:
        read(tmp_path, text)
    assert why in str(refused.value)


def test_tables_are_read_as_they_are(tmp_path: Path) -> None:
    document = read(tmp_path, TABLES)
    assert (document.head["command"], document.head["wall_seconds"]) == (["./swim"], 2)
    assert [table.rows for table in document.tables] == [
        [(0, -1, "command", "node7", -1, 7, -1, "swim")],
        [(0, "hpm", "swim.c", "", "C:\\swim.c", 3, None)],
        [(0, -1, 0)],
        [(0, "wall time", "ns", "", "counted", "", "", "", "", None, None, None, None)],
        [(0, 0, 0, 0, 1.5, None, 7, None, None, None)],
    ]


@pytest.mark.parametrize("text", [WHOLE, TABLES], ids=["sections", "tables"])
def test_a_file_that_ends_too_early_is_refused(tmp_path: Path, text: str) -> None:
    end = text.rindex(">")
    for size in range(0, end, 7):
        with pytest.raises(RunDirectoryError, match=r"swim\.viz:\d+: no XML"):
            read(tmp_path, text[:size])
    assert read(tmp_path, text[: end + 1]) == read(tmp_path, text)


@pytest.mark.parametrize(
    ("before", "why"),
    [
        ('<hpm version="2" producer="', "a tag of more than 16 MiB"),
        (WHOLE.partition("swim.f")[0], "a tag of more than 16 MiB"),
        ("<", "a tag of more than 16 MiB"),
        ("<!--", "a tag of more than 16 MiB"),
        (TABLES.partition("</head>")[0], "a text of more than 64 MiB"),
        (WHOLE.partition("take care")[0], "a text of more than 64 MiB"),
    ],
)
def test_what_is_too_large_is_refused_before_it_is_held(
    tmp_path: Path, before: str, why: str
) -> None:
    """Each file is of 1 GB, most of it a hole: its zeros are made letters here as it is read."""
    path = tmp_path / "swim.viz"
    path.write_bytes(before.encode())
    with path.open("rb+") as file:
        file.truncate(1 << 30)
    with Letters(path) as content:
        with pytest.raises(RunDirectoryError, match=r"swim\.viz:\d+: ") as refused:
            parse(path, content, lambda *_: None)
        assert content.tell() < 80 << 20
    assert why in str(refused.value)


class Letters(io.FileIO):
    """A file whose zeros are letters."""

    def read(self, size: int | None = -1, /) -> bytes:
        return (super().read(size) or b"").replace(b"\0", b"x")


def test_sections_without_end_are_refused(tmp_path: Path) -> None:
    start, found, end = WHOLE.partition("  <note>")
    line = "  <note>" + "x" * 1000 + "</note>\n"
    path = tmp_path / "swim.viz"
    with path.open("w") as file:
        file.write(start)
        for _ in range(270):
            file.write(line * 1000)
        file.write(found + end)
    with pytest.raises(RunDirectoryError, match=r"swim\.viz:\d+: too large: more than 256 MiB"):
        viz.read_viz(path)


def test_what_is_no_regular_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.viz")
    (tmp_path / "device.viz").symlink_to("/dev/zero")
    for name in ("pipe.viz", "device.viz"):
        for opening in (viz.read_viz, viz.open_viz):
            with pytest.raises(RunDirectoryError, match=rf"{name}: a .*, where a file is expected"):
                opening(tmp_path / name)
        with pytest.raises(RunDirectoryError, match=rf"{name}: a .*, where a file is expected"):
            Session().open([str(tmp_path / name)])


def test_entities_do_not_grow(tmp_path: Path) -> None:
    laughs = "".join(
        f'<!ENTITY l{at} "{f"&l{at - 1};" * 10 if at else "lol"}">' for at in range(20)
    )
    text = WHOLE.replace("<hpm", f"<!DOCTYPE hpm [{laughs}]><hpm").replace("take care", "&l19;")
    with pytest.raises(RunDirectoryError, match="document type"):
        read(tmp_path, text)


@given(st.integers(0, 2**32), st.sampled_from([WHOLE, TABLES]))
def test_damage_of_any_kind_is_refused_or_read(
    tmp_path_factory: pytest.TempPathFactory, seed: int, text: str
) -> None:
    chance = random.Random(seed)
    data = bytearray(text.encode())
    for _ in range(chance.randint(1, 8)):
        at = chance.randrange(len(data))
        what = chance.random()
        if what < 0.4:
            data[at] = chance.randrange(256)
        elif what < 0.7:
            del data[at : at + chance.randint(1, 40)]
        else:
            end = at + chance.randint(1, 60)
            data[at:at] = data[at:end]
    path = tmp_path_factory.mktemp("damage") / "swim.viz"
    path.write_bytes(data)
    session = Session()
    try:
        (opened,) = session.open([str(path)])
    except GnomonError as refused:
        assert "swim.viz" in str(refused)  # noqa: PT017
        return
    for metric in opened.data.metrics:
        for by in ("region", "file", "rank", "capability"):
            assert len(opened.values(by, metric.metric).inclusive) == opened.tree(by).n
    session.end()
