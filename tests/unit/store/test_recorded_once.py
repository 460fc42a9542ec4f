"""Sections of processes and of threads add up; what a process and its threads have counts once."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from property_tests import examples
from view_runs import Place, Quantity, Region, Value, write

from gnomon.cli import main
from gnomon.model.region_kinds import OWN_KINDS
from gnomon.store import profile_query, run_directory
from gnomon.store.comparison import samples
from gnomon.store.profile_query import LocationRange, Profile, Sum
from gnomon.view import data_table
from gnomon.view.session import Session

STEPS = Quantity("steps")
PLACES = [
    Place(-1, "command"),
    *(Place(0, "process", rank) for rank in (0, 1)),
    *(Place(1 + rank, "thread", rank, 10 * rank + at) for rank in (0, 1) for at in (1, 2)),
]
PROCESSES, THREADS = (1, 2), (3, 4, 5, 6)
# main calls solve and solve again within it, a call of MPI, a function; the last have no file.
REGIONS = [
    Region(-1, "hpm", "main", "a.c", 1), Region(0, "hpm", "solve", "a.c", 10),
    Region(1, "hpm", "solve", "a.c", 10), Region(0, "mpi", "send", "a.c", 20),
    Region(0, "cpu", "f", "a.c", 30), Region(0, "hpm", "halo", "b.c", 10),
]  # fmt: skip
SECTIONS, OTHERS = (1, 2, 5), (3, 4)


def mixed(path: Path, quantity: Quantity = STEPS) -> Path:
    """Write what mix.c leaves: a section of the process, and the same of one of its threads."""
    values = [
        Value(0, 0, 0, 100, 40, calls=1), Value(1, 0, 0, 100, 40, calls=1),
        Value(3, 0, 0, 45, 45, calls=1), Value(4, 0, 0, 55, 5, calls=1),
        Value(1, 1, 0, 10, 10, calls=1), Value(4, 1, 0, 50, 50, calls=1),
    ]  # fmt: skip
    return write(path, PLACES, REGIONS[:2], [quantity], values)


def rows(path: Path, by: str, capsys: pytest.CaptureFixture[str]) -> dict[Any, dict[str, Any]]:
    assert main(["report", str(path), "profile", "--by", by, "--json"]) == 0
    return {row[by]: row for row in json.loads(capsys.readouterr().out)["rows"]}


def seen(path: Path, location: int = -1) -> dict[str, tuple[Any, Any]]:
    """Return exclusive value and calls of each section, as the table of the view has them."""
    (opened,) = Session().open([str(path)])
    wanted = data_table.TableQuery("functions", metrics=(0,), location=location)
    page = data_table.page(opened, wanted, 0, 100)
    names = [column["name"] for column in page["columns"]]
    shown = next(name for name in ("exclusive:0", "inclusive:0") if name in names)
    return {
        row[names.index("name")]: (
            row[names.index(shown)],
            row[names.index("calls")] if "calls" in names else None,
        )
        for row in page["rows"]
    }


def test_a_section_of_a_process_and_of_a_thread_is_the_sum(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    path = mixed(tmp_path / "mix")
    by_region = rows(path, "region", capsys)
    solve = by_region["solve"]
    assert (solve["self"], solve["total"], solve["calls"]) == (60, 60, 2)
    assert (solve["locations"], solve["of"]) == (2, "process and thread")
    assert (solve["min"], solve["mean"], solve["max"]) == (10, 30, 50)
    assert (by_region["main"]["self"], by_region["main"]["total"]) == (40, 100)
    # The program, which is in the same file, has it in its value.
    (a,) = rows(path, "file", capsys).values()
    assert (a["self"], a["total"]) == (100, 100)
    assert main(["report", str(path), "profile"]) == 0
    text = capsys.readouterr().out
    assert "60.0 %" in text
    assert "min, mean and max of the processes or threads" in text
    assert seen(path)["solve"] == (60, 2)


def test_comparisons_have_the_sum_too(tmp_path: Path) -> None:
    side = samples.side(str(mixed(tmp_path / "mix")))
    (found,) = samples.measured([side], "region")
    assert found.samples[("hpm", "solve", "", 0), "steps"] == [[60.0]]


def test_a_time_is_that_of_the_longest_of_all_places(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = mixed(tmp_path / "mix", Quantity("wall time", "ns"))
    solve = rows(path, "region", capsys)["solve"]
    assert (solve["self"], solve["total"], solve["sum"], solve["calls"]) == (50, 50, None, 2)
    assert seen(path)["solve"][0] == 50


def test_a_section_of_a_thread_within_that_of_its_process_is_in_its_total(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    values = [
        Value(1, 0, 0, 100, 40), Value(1, 1, 0, 60, 35), Value(3, 2, 0, 20, 20),
        Value(4, 2, 0, 5, 5),
    ]  # fmt: skip
    path = write(tmp_path / "app", PLACES, REGIONS[:3], [STEPS], values)
    solve = rows(path, "region", capsys)["solve"]
    assert (solve["self"], solve["total"]) == (60, 60)


def test_sections_of_processes_and_threads_without_the_program_are_all_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    values = [Value(1, 1, 0, 10, 10), Value(3, 1, 0, 50, 50), Value(2, 5, 0, 7, 7)]
    path = write(tmp_path / "app", PLACES, REGIONS, [STEPS], values)
    assert rows(path, "metric", capsys)["steps"]["total"] == 67
    assert {at: row["total"] for at, row in rows(path, "rank", capsys).items()} == {0: 60, 1: 7}


@st.composite
def runs(draw: st.DrawFn) -> list[Value]:
    """Return sections anywhere, other regions of threads and, the same again, of processes."""
    values = []
    for repetition in range(2):
        of_threads: dict[tuple[int, int], float] = {}
        for at in (*PROCESSES, *THREADS):
            for path in SECTIONS:
                if draw(st.integers(0, 2)):
                    own = float(draw(st.integers(0, 99)))
                    values.append(Value(at, path, 0, own, own, repetition, 1))
        for at in THREADS:
            for path in OTHERS:
                own = float(draw(st.integers(0, 99)))
                process = PLACES[at].parent
                of_threads[process, path] = of_threads.get((process, path), 0.0) + own
                values.append(Value(at, path, 0, own, own, repetition, 1))
        values += [
            Value(at, path, 0, own, own, repetition, 2) for (at, path), own in of_threads.items()
        ]
    return values


def by_hand(values: list[Value]) -> dict[tuple[Any, ...], float]:
    """Return what each region, file and line has: sections of all places, others of processes."""
    found: dict[tuple[Any, ...], float] = {}
    for one in values:
        if one.path in SECTIONS or one.location in PROCESSES:
            region = REGIONS[one.path]
            for key in (
                ("region", region.name), ("file", region.file),
                ("line", region.name, region.file, region.line),
            ):  # fmt: skip
                found[key] = found.get(key, 0.0) + (one.exclusive or 0.0)
    return found


@examples(3, deadline=None)
@given(runs())
def test_random_runs_have_what_a_loop_over_their_rows_has(values: list[Value]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = write(Path(folder) / "app", PLACES, REGIONS, [STEPS], values, {"repetitions": 2})
        run = run_directory.find(str(path))
        parts = [
            LocationRange(run.path, at, at + 1, once=OWN_KINDS.recorded_once())
            for at in range(len(PLACES))
        ]
        told: dict[tuple[Any, ...], float] = {}
        for by in profile_query.BY_REGIONS:
            sums: list[Sum] = profile_query.run(Profile(by), parts)
            for one in Profile(by).finest(sums):
                key = {"region": one.key[1:2], "file": one.key[2:3], "line": one.key[1:]}[by]
                assert (by, *key) not in told
                told[by, *key] = one.total
        view = seen(path)
    expected = by_hand(values)
    assert told == expected
    for name in ("send", "halo"):
        if ("region", name) in expected:
            assert view[name][0] == pytest.approx(expected["region", name] / 2)


def test_what_is_of_threads_alone_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """No formula and no section: the reason and the remedy are the true ones."""
    regions = [Region(-1, "hpm", "app"), Region(0, "io", "write")]
    path = write(
        tmp_path / "app", PLACES, regions, [Quantity("allocated", "bytes")],
        [Value(3, 1, 0, 10, 10), Value(4, 1, 0, 20, 20)],
    )  # fmt: skip
    words = ["report", str(path), "profile", "-e", "allocated", "--by"]
    assert main([*words, "process"]) != 2
    told = capsys.readouterr()
    assert "allocated has no values by process: they are of each thread; see --by thread" in (
        " ".join((told.out + told.err).split())
    )
    assert main([*words, "thread"]) == 0
    text = capsys.readouterr().out
    assert "20 B" in text
    assert "sections only" not in text


def test_a_comparison_of_what_the_command_has_not_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    values = [Value(3, 1, 0, 10, 10), Value(4, 1, 0, 20, 20)]
    regions = [Region(-1, "hpm", "app"), Region(0, "io", "write")]
    metrics = [Quantity("write calls")]
    a, b = (str(write(tmp_path / at, PLACES, regions, metrics, values)) for at in "ab")
    assert main(["compare", a, b, "-e", "write calls"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "write calls: neither side has a value of the whole command" in told
    assert "gnomon report RUN profile -e 'write calls'" in told
