""".viz files: what libhpm and hpmcount write is read, and nothing else is believed."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnomon.errors import GnomonError, RunDirectoryError
from gnomon.model.tables import LOCATIONS, METRICS, PROFILE, REGIONS
from gnomon.store import viz
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


def read(folder: Path, text: str | bytes) -> viz.Document:
    path = folder / "swim.viz"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return viz.read(path)


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
    ],
)
def test_what_is_no_viz_file_is_refused_by_name_and_line(
    tmp_path: Path, text: str | bytes, why: str
) -> None:
    with pytest.raises(RunDirectoryError, match=r"swim\.viz:\d+: ") as refused:
        read(tmp_path, text)
    assert why in str(refused.value)


def test_entities_do_not_grow(tmp_path: Path) -> None:
    laughs = "".join(
        f'<!ENTITY l{at} "{f"&l{at - 1};" * 10 if at else "lol"}">' for at in range(20)
    )
    text = WHOLE.replace("<hpm", f"<!DOCTYPE hpm [{laughs}]><hpm").replace("take care", "&l19;")
    with pytest.raises(RunDirectoryError, match="document type"):
        read(tmp_path, text)


@settings(deadline=None)
@given(st.integers(0, 2**32))
def test_damage_of_any_kind_is_refused_or_read(
    tmp_path_factory: pytest.TempPathFactory, seed: int
) -> None:
    chance = random.Random(seed)
    data = bytearray(WHOLE.encode())
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
