"""What regions, files and lines come to with all that they call, recursion counted once."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_runs import made_run
from property_tests import examples
from view_runs import Place, Quantity, Region, Value, write

from gnomon.cli import main
from gnomon.store import analyse, profile_query, run_directory
from gnomon.store.profile_query import LocationRange, Profile, Sum

STEPS = Quantity("steps")
ONE = [Place(-1, "process")]
# main calls f, which calls g, which calls f again, and that f calls itself; h is on its own.
RECURSIVE = [
    Region(-1, "hpm", "main", "a.c", 1), Region(0, "hpm", "f", "a.c", 10),
    Region(1, "hpm", "g", "b.c", 20), Region(2, "hpm", "f", "a.c", 10),
    Region(3, "hpm", "f", "a.c", 10), Region(0, "hpm", "h", "b.c", 30),
]  # fmt: skip
# Path, with what is called, alone.
VALUES = [(0, 100, 10), (1, 70, 20), (2, 50, 15), (3, 35, 25), (4, 10, 10), (5, 20, 20)]


def rows(path: Path, by: str, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """Return the JSON of a profile."""
    assert main(["report", str(path), "profile", "--by", by, "--json"]) == 0
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return document


def totals(document: dict[str, Any], key: str = "region") -> dict[Any, Any]:
    return {row[key]: (row["self"], row["total"]) for row in document["rows"]}


def recursive(path: Path, kind: str = "hpm", values: list[tuple[int, int, int]] = VALUES) -> Path:
    return write(
        path, ONE, [RECURSIVE[0], *(one._replace(kind=kind) for one in RECURSIVE[1:])], [STEPS],
        [Value(0, at, 0, float(inclusive), float(own)) for at, inclusive, own in values],
    )  # fmt: skip


@pytest.mark.parametrize("kind", ["hpm", "mpi", "cpu"])
def test_a_recursion_is_counted_once(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    path = recursive(tmp_path / "app", kind)
    document = rows(path, "region", capsys)
    assert document["notes"] == []
    assert totals(document) == {"main": (10, 100), "f": (55, 70), "g": (15, 50), "h": (20, 20)}
    # What is in a file is called from main, which is in it.
    assert totals(rows(path, "file", capsys), "file") == {"a.c": (65, 100), "b.c": (35, 70)}
    assert totals(rows(path, "line", capsys), "line") == {
        1: (10, 100), 10: (55, 70), 20: (15, 50), 30: (20, 20),
    }  # fmt: skip
    assert main(["report", str(path), "profile"]) == 0
    text = capsys.readouterr().out.splitlines()
    assert text[2].split() == ["of", "total", "self", "total", "region"]
    assert text[3].split() == ["55.0", "%", "55", "70", "f"]


def test_functions_whose_calls_nobody_knows_have_no_total(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The lines of an emulated program stand side by side: what they call is not in them."""
    run = made_run(tmp_path, [("app", "f", "a.c", 3, (6, 6, 1, 0))])
    for by, key in (("region", "f"), ("file", "a.c"), ("line", 3)):
        document = rows(run.path, by, capsys)
        told = {row[by]: row for row in document["rows"] if row["metric"] == "PAPI_TOT_INS"}
        assert (told[key]["self"], told[key]["total"]) == (6, None)
        assert document["notes"] == ["no totals of functions and lines: calls were not recorded"]
    # The program's own is measured.
    assert [row["total"] for row in rows(run.path, "region", capsys)["rows"]
            if row["region"] == "app" and row["metric"] == "PAPI_TOT_INS"] == [6]  # fmt: skip
    assert main(["report", str(run.path), "profile", "-e", "tot_ins", "--by", "line"]) == 0
    text = capsys.readouterr().out
    assert "no totals of functions and lines" in text
    assert " self " in text


def test_a_kind_of_code_of_a_capability_is_known_to_the_analysis(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kind = {"kind": "kernel", "title": "kernels", "node": "kernel", "is_code": True}
    path = write(
        tmp_path / "app", ONE, [Region(-1, "hpm", "app"), Region(0, "kernel", "k", "k.cu", 3)],
        [STEPS], [Value(0, 0, 0, 9, 4), Value(0, 1, 0, 5, 5)], {"region_kinds": [kind]},
    )  # fmt: skip
    assert totals(rows(path, "region", capsys)) == {"app": (4, 9), "k": (5, None)}


def test_what_was_not_measured_around_a_call_is_not_invented(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = recursive(tmp_path / "app", values=[one for one in VALUES if one[0] != 1])
    document = rows(path, "region", capsys)
    assert totals(document) == {"main": (10, 100), "f": (35, None), "g": (15, 50), "h": (20, 20)}
    assert document["notes"] == [
        "no total of what was measured within another call of it, but not around that"
    ]


def test_ratios_have_a_total_of_one_place_and_call_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ratio = Quantity("ipc", formula="a / b")
    regions = [Region(-1, "hpm", "app"), Region(0, "hpm", "f"), Region(0, "hpm", "g")]
    values = [Value(0, 0, 0, 1.5, 1.0), Value(0, 1, 0, 0.5, 0.25), Value(0, 2, 0, 2.0, 1.0)]
    path = write(tmp_path / "one", ONE, regions, [ratio], values)
    assert totals(rows(path, "region", capsys)) == {"app": (1, 1.5), "f": (0.25, 0.5), "g": (1, 2)}
    two = [Place(-1, "process"), Place(-1, "process")]
    both = [one._replace(location=at) for at in (0, 1) for one in values]
    path = write(tmp_path / "two", two, regions, [ratio], both)
    document = rows(path, "region", capsys)
    assert {row["total"] for row in document["rows"]} == {None}
    assert document["notes"] == []


def test_elapsed_times_are_means_of_ranks_with_what_is_called_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    ranks = [Place(-1, "process", 0), Place(-1, "process", 1)]
    values = [
        Value(rank, at, 0, float(inclusive * (rank + 1)), float(own * (rank + 1)))
        for rank in (0, 1)
        for at, inclusive, own in VALUES
    ]
    path = write(tmp_path / "app", ranks, RECURSIVE, [Quantity("wall time", "ns")], values)
    assert totals(rows(path, "region", capsys)) == {
        "main": (15, 150), "f": (82.5, 105), "g": (22.5, 75), "h": (30, 30),
    }  # fmt: skip
    assert main(["report", str(path), "profile"]) == 0
    text = capsys.readouterr().out
    assert "wall time: mean of 2 ranks\n" in text
    assert max(map(len, text.splitlines()[1:])) <= 80


def test_the_column_of_totals_goes_first_where_there_is_no_room(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    large = [(at, inclusive * 10**11, own * 10**11) for at, inclusive, own in VALUES]
    path = recursive(tmp_path / "app", values=large)
    for columns, heads in (("80", ["self", "total"]), ("60", ["self"])):
        monkeypatch.setenv("COLUMNS", columns)
        assert main(["report", str(path), "profile"]) == 0
        assert capsys.readouterr().out.splitlines()[2].split() == ["of", "total", *heads, "region"]


def test_scripts_import_analyses_by_their_name() -> None:
    for name in analyse.__all__:
        assert getattr(analyse, name) is getattr(profile_query, name)
    assert analyse.Part is profile_query.LocationRange


@st.composite
def runs(draw: st.DrawFn) -> tuple[list[Region], list[Value]]:
    """Return a forest of paths of few names, so that there are recursions, and values of it."""
    n = draw(st.integers(1, 12))
    regions = [
        Region(draw(st.integers(max(at - 3, 0) - 1, at - 1)), "hpm", draw(st.sampled_from("fgh")),
               draw(st.sampled_from(("a.c", "b.c"))), draw(st.integers(1, 2)))
        for at in range(n)
    ]  # fmt: skip
    values = [
        Value(place, path, metric, float(draw(st.integers(0, 99))),
              None if regions[path].parent >= 0 and draw(st.integers(0, 9)) == 0
              else float(draw(st.integers(0, 99))), repetition)
        for repetition in range(2) for place in range(3) for path in range(n) for metric in range(2)
        if draw(st.integers(0, 9)) > 0
    ]  # fmt: skip
    return regions, values


def by_hand(
    regions: list[Region], values: list[Value], by: str
) -> dict[tuple[Any, int], float | None]:
    """Return the total of each key and metric, by walking up from each value."""

    def key(path: int) -> Any:
        one = regions[path]
        if by == "file":
            return one.file
        if by == "line":
            return one.name, one.file, one.line
        # Each path has a region of its own here.
        return one.name, one.parent < 0

    def outermost(path: int) -> int:
        top, above = path, regions[path].parent
        while above >= 0:
            if key(above) == key(path):
                top = above
            above = regions[above].parent
        return top

    there = {(one.repetition, one.location, one.metric, one.path) for one in values}
    found: dict[tuple[Any, int], float | None] = {}
    for of in {(key(one.path), one.metric) for one in values}:
        rows = [one for one in values if (key(one.path), one.metric) == of]
        places = {(one.repetition, one.location) for one in rows if one.exclusive is not None}
        if not places:
            continue
        is_known = all(
            (one.repetition, one.location, one.metric, outermost(one.path)) in there for one in rows
        )
        wanted = [
            one.inclusive or 0.0
            for one in rows
            if (one.repetition, one.location) in places and outermost(one.path) == one.path
        ]
        found[of] = sum(wanted) if is_known else None
    return found


@examples(30, deadline=None)
@given(runs(), st.sampled_from(profile_query.BY_REGIONS))
def test_totals_are_those_of_a_walk(made: tuple[list[Region], list[Value]], by: str) -> None:
    regions, values = made
    places = [Place(-1, "process") for _ in range(3)]
    with tempfile.TemporaryDirectory() as folder:
        path = write(Path(folder) / "app", places, regions, [STEPS, Quantity("cycles")], values)
        run = run_directory.find(str(path))
        parts = [LocationRange(run.path, at, at + 1) for at in range(3)]
        found: list[Sum] = profile_query.run(Profile(by), parts)
        sums = Profile(by).finest(found)
    told = {
        {
            "region": ((one.key[1], bool(one.key[3])), one.metric),
            "file": (one.key[2], one.metric),
            "line": (one.key[1:], one.metric),
        }[by]: one.inclusive
        for one in sums
    }  # fmt: skip
    assert told == by_hand(regions, values, by)
