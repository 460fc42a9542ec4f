"""Runs that are looked at as one have the tables of all, with the names of each."""

from __future__ import annotations

from math import nan
from pathlib import Path
from typing import Any

import pytest
from view_runs import Place, Quantity, Region, Value, write

from gnomon.model.schemas import (
    ARCS,
    BRANCHES,
    COORDINATES,
    EVENTS,
    FILES,
    MESSAGES,
    MODULES,
    SAMPLES,
)
from gnomon.model.tables import Table
from gnomon.store import run_directory
from gnomon.view import merged_tables, table_registry, table_rows
from gnomon.view.data_table import TableQuery
from gnomon.view.database import Tables
from gnomon.view.open_run import OpenRun
from gnomon.view.session import Session

START = 1_700_000_000_123_456_789


def run(folder: Path, name: str, first: str, *, more: bool = True) -> Path:
    """Return a run of two locations whose paths, metrics and files have numbers of their own."""
    tables = {schema: Table(schema) for schema in
              (EVENTS, MESSAGES, FILES, SAMPLES, ARCS, COORDINATES, MODULES, BRANCHES)}  # fmt: skip
    tables[FILES].add(file=0, name=f"/data/{first}", host="", kind="file", filesystem="xfs")
    tables[FILES].add(file=1, name="/data/common", host="", kind="file", filesystem="xfs")
    for at in range(3):
        tables[EVENTS].add(
            repetition=0, location=1, region=1, path=at - 1, start_ns=START + at,
            duration_ns=None if at else 5, bytes=at, file=1 - at,
        )  # fmt: skip
    tables[MESSAGES].add(repetition=0, sender=0, receiver=1, send_ns=START, receive_ns=None,
                         bytes=8, tag=3, communicator=None)  # fmt: skip
    tables[SAMPLES].add(repetition=0, location=1, path=1, metric=1, time_ns=START, address=None,
                        weight=2.5)  # fmt: skip
    tables[ARCS].add(repetition=0, location=0, caller=-1, callee=1, metric=-1, calls=7,
                     inclusive=None)  # fmt: skip
    tables[COORDINATES].add(location=1, axis="node", position=4)
    tables[MODULES].add(name="app", path="/bin/app", build_id="ab12")
    tables[BRANCHES].add(repetition=0, location=1, metric=1, from_region=1, from_address=64,
                         to_region=-1, to_address=None, taken=3, predictions=0, mispredicted=None,
                         timings=2, cycles=9)  # fmt: skip
    metrics = [Quantity(first), Quantity("steps", "KiB")]
    return write(
        folder / name, [Place(-1, "command"), Place(0, "process", 0)],
        [Region(-1, "hpm", "app"), Region(0, "hpm", first)], metrics,
        [Value(0, 0, at, 1.0, 1.0) for at in (0, 1)], more=list(tables.values()) if more else [],
    )  # fmt: skip


def rows(opened: OpenRun, name: str, *columns: str, **wanted: Any) -> list[list[Any]]:
    asked = TableQuery(f"rows:{name}", columns=columns, **wanted)
    page = table_rows.page(opened, asked, 0, 100)
    exported = [row for part in table_rows.chunks(opened, asked)[1] for row in part]
    assert page["total"] == len(page["rows"]) == len(exported)
    found: list[list[Any]] = page["rows"]
    return found


@pytest.mark.parametrize("is_sparse", [False, True])
def test_tables_of_all_runs_are_in_the_pages(
    is_sparse: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if is_sparse:
        monkeypatch.setattr(merged_tables, "_LIST_MOST", 0)
        monkeypatch.setattr(merged_tables, "_SPARSE", 0)
    session = Session()
    paths = [str(run(tmp_path, "a", "load")), str(run(tmp_path, "b", "save")),
             str(run(tmp_path, "c", "plain", more=False))]  # fmt: skip
    session.open(paths, combined=True)
    both = session.runs()[-1]
    assert both.kind == "combined"
    listed = {one["title"] for one in table_registry.of_run(both)}
    assert {
        "events",
        "messages",
        "files",
        "samples",
        "arcs",
        "coordinates",
        "modules",
        "branches",
    } <= listed
    shown = ("start_ns", "region:name", "path:name", "file:name", "duration_ns")
    events = rows(both, "events", *shown)
    for first, part in (("load", events[:3]), ("save", events[3:])):
        assert sorted(part) == [
            [str(START), first, "", "/data/common", 5],
            [str(START + 1), first, "app", f"/data/{first}", None],
            [str(START + 2), first, first, "", None],
        ]
    # Each in the location of its run: a command and a process within it.
    tops = {part.title: both.location(part.location) for part in both.parts}
    of_b = rows(both, "events", "region:name", location=tops["b"])
    assert of_b == [["save"]] * 3
    assert rows(both, "events", "region:name", location=tops["c"]) == []
    assert [row[0] for row in rows(both, "files", "name")] == [
        "/data/load", "/data/common", "/data/save",
    ]  # fmt: skip
    messages = rows(both, "messages", "sender:name", "receiver:name", "tag", "receive_ns")
    assert messages == [["command app", "rank 0 on node1", 3, None]] * 2
    samples = rows(both, "samples", "path:name", "metric:name", "weight")
    assert sorted(samples) == [["load", "steps", 2.5], ["save", "steps", 2.5]]
    asked = TableQuery("rows:samples", columns=("weight", "unit", "how"), sort="unit")
    page = table_rows.page(both, asked, 0, 9)
    assert page["rows"] == [[2.5, "KiB", "counted"]] * 2
    assert [column["type"] for column in page["columns"]] == ["number", "text", "text"]
    arcs = rows(both, "arcs", "caller", "callee:name", "metric", "calls", "inclusive")
    assert sorted(arcs) == [[-1, "load", -1, 7, None], [-1, "save", -1, 7, None]]
    assert [row[1:] for row in rows(both, "coordinates", "location:name", "axis", "position")] == [
        ["node", 4], ["node", 4],
    ]  # fmt: skip
    assert rows(both, "modules", "name", "path", "build_id") == [["app", "/bin/app", "ab12"]]
    branches = rows(both, "branches", "from_region:name", "to_region", "metric:name", "cycles")
    assert sorted(branches) == [["load", -1, "steps", 9], ["save", -1, "steps", 9]]
    filtered = rows(both, "events", "file:name", filter="COMMON")
    assert filtered == [["/data/common"]] * 2
    by_file = rows(both, "events", "file:name", sort="file:name", descending=True)
    assert [row[0] for row in by_file][:2] == ["/data/save", "/data/load"]


def test_runs_without_such_tables_have_none_together(tmp_path: Path) -> None:
    session = Session()
    session.open([str(run(tmp_path, name, name, more=False)) for name in ("a", "b")], combined=True)
    assert [one.name for one in table_rows.with_rows(session.runs()[-1])] == [
        "locations", "regions", "paths", "metrics", "profile",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "name", ["events", "messages", "samples", "arcs", "branches", "profile", "modules"]
)
def test_a_table_in_memory_is_lent_as_it_is(name: str, tmp_path: Path) -> None:
    """Of a file that was read as a run, NULLs included."""
    from gnomon.model.schemas import schema_of

    tables = Tables.of_file(run_directory.find(str(run(tmp_path, "a", "load"))))
    other = Tables("another")
    tables.lend(schema_of(name), other, "lent")
    assert other.rows("FROM lent") == tables.rows(f"FROM {name}") != []


def test_what_nobody_knows_is_lent_as_that_and_not_as_missing() -> None:
    tables, other = Tables("one"), Tables("another")
    tables.insert(SAMPLES, [[0, 0], [0, 1], [0, 0], [0, 0], [7, 8], [None, 3], [nan, 2.5],
                            *([[None, None]] * 5)])  # fmt: skip
    tables.lend(SAMPLES, other, "lent")
    for each, name in ((tables, "samples"), (other, "lent")):
        assert repr(each.rows(f"SELECT address, weight FROM {name}")) == "[(None, nan), (3, 2.5)]"
