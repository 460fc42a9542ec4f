"""Values of the view's trees: nothing counted twice, nothing lost, against plain loops."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from made_runs import made_run
from property_tests import examples
from repeated_runs import rewritten
from view_runs import Place, Quantity, Region, Value, ranks, write

from gnomon.errors import RunDirectoryError, UsageError
from gnomon.store.hotspots import hotspots
from gnomon.view import data_table, distribution, node_details, profile_rows
from gnomon.view.node_calls import node_calls
from gnomon.view.open_run import OpenRun
from gnomon.view.session import Session
from gnomon.view.tree import GROUPINGS

LINES = [
    ("app", "main", "/src/a.c", 3, (100, 10, 1, 0)),
    ("app", "main", "/src/a.c", 4, (50, 0, 0, 2)),
    ("app", "main", "/usr/include/inline.h", 9, (5, 5, 0, 0)),
    ("app", "solve", "/src/b.c", 7, (30, 3, 3, 3)),
    ("app", "", "", 0, (7, 0, 0, 0)),
    ("lib.so", "solve", "/src/lib.c", 1, (11, 1, 0, 0)),
]


def opened(path: Path) -> OpenRun:
    (found,) = Session().open([str(path)])
    return found


def named(run: OpenRun, by: str, kind: str, metric: int, location: int = -1) -> dict[str, float]:
    """Return the inclusive values of nodes of a kind by their name."""
    tree, values = run.tree(by), run.values(by, metric, location)
    found: dict[str, float] = {}
    for at in range(tree.n):
        if tree.kinds[tree.kind[at]] == kind:
            name = tree.text(tree.name, at)
            found[name] = found.get(name, 0.0) + values.inclusive[at]
    return found


def test_lines_files_and_functions_are_those_of_the_report(tmp_path: Path) -> None:
    run = made_run(tmp_path, LINES)
    view = opened(run.path)
    files = {row.file or "(source not known)": row.values["PAPI_TOT_INS"]
             for row in hotspots(run, "file").rows}  # fmt: skip
    assert named(view, "file", "file", 1) == files
    functions = {
        (row.program, row.function or "(unknown)", row.file): row.values["PAPI_TOT_INS"]
        for row in hotspots(run, "function").rows
    }
    tree, values = view.tree("region"), view.values("region", 1)
    assert {
        (tree.text(tree.module, at), tree.text(tree.name, at), tree.text(tree.file, at)):
        values.exclusive[at]
        for at in range(tree.n)
        if tree.kinds[tree.kind[at]] == "function"
    } == functions  # fmt: skip
    table = data_table.query_table(view, data_table.TableQuery("functions", metrics=(1,)))
    names = [column.name for column in table.columns]
    columns = [
        np.asarray(table.cells[names.index(name)]).tolist() for name in ("program", "name", "file")
    ]
    rows = zip(*columns, np.asarray(table.cells[-1]).tolist(), strict=True)
    assert {tuple(row[:3]): row[3] for row in rows} == functions
    lines = dict(zip(columns[1], np.asarray(table.lines).tolist(), strict=True))
    assert lines["main"] == 3
    for by in GROUPINGS:
        assert view.values(by, 1).inclusive[0] == 203


def test_an_emulated_event_that_a_line_had_none_of_is_zero_there(tmp_path: Path) -> None:
    view = opened(made_run(tmp_path, LINES).path)
    assert named(view, "file", "function", 3)["solve"] == 3
    assert named(view, "file", "file", 4)["/src/lib.c"] == 0
    counted = opened(made_run(tmp_path, LINES, name="counted", component="cpu").path)
    assert math.isnan(named(counted, "file", "file", 4)["/src/lib.c"])


def test_places_are_added_up_and_looked_at_apart(tmp_path: Path) -> None:
    view = opened(ranks(tmp_path / "run"))
    total = sum(rank * 10 + thread + 1 for rank in range(3) for thread in range(2))
    assert named(view, "region", "section", 0) == {"solve": total, "halo": total / 2}
    assert view.values("region", 0).inclusive[0] == total
    one = view.location(next(x.location for x in view.data.locations if x.tid == 2001))
    assert named(view, "region", "section", 0, one) == {"solve": 22, "halo": 11}
    rank = view.location(next(x.location for x in view.data.locations
                              if x.kind == "process" and x.rank == 2))  # fmt: skip
    assert named(view, "region", "section", 0, rank) == {"solve": 43, "halo": 21.5}
    # The whole program was measured of the command alone: of a rank nobody knows it.
    assert math.isnan(view.values("region", 0, rank).inclusive[0])


def test_statistics_are_over_the_innermost_places(tmp_path: Path) -> None:
    view = opened(ranks(tmp_path / "run"))
    tree = view.tree("region")
    at = tree.strings.index("solve")
    (node,) = [one for one in range(tree.n) if tree.name[one] == at]
    every = [rank * 10 + thread + 1 for rank in range(3) for thread in range(2)]
    found = {
        which: view.values("region", 0, -1, which).inclusive[node]
        for which in ("min", "median", "mean", "max")
    }
    assert found == {
        "min": 1, "median": np.median(every), "mean": np.mean(every), "max": 22,
    }  # fmt: skip
    with pytest.raises(UsageError, match="there are total, mean"):
        view.values("region", 0, -1, "mode")


def test_the_spread_is_a_row_for_each_rank_and_a_column_for_each_thread(tmp_path: Path) -> None:
    view = opened(ranks(tmp_path / "run"))
    tree = view.tree("region")
    (node,) = [at for at in range(tree.n) if tree.text(tree.name, at) == "halo"]
    found = view.spread("region", 0, node)
    assert (found.rows, found.columns) == ("rank", "thread")
    assert found.row_names == ["rank 0 on node1", "rank 1 on node1", "rank 2 on node1"]
    cells = dict(zip(zip(found.row.tolist(), found.column.tolist(), strict=True),
                     found.inclusive.tolist(), strict=True))  # fmt: skip
    assert cells == {(r, t): (r * 10 + t + 1) / 2 for r in range(3) for t in range(2)}
    summary = distribution.summary(view.data, view.metric(0), found.location, found.inclusive)
    assert summary is not None
    assert (summary["min"], summary["max"], summary["places"]) == (0.5, 11, 6)
    assert summary["imbalance"] == pytest.approx(11 / np.mean(list(cells.values())) - 1)


def test_a_derived_metric_is_worked_out_anew_and_never_added_up(tmp_path: Path) -> None:
    view = opened(ranks(tmp_path / "run"))
    assert view.known()[2].recomputed
    assert named(view, "region", "section", 2) == pytest.approx({"solve": 0.1, "halo": 0.1})
    assert view.values("region", 2).inclusive[0] == 0.1


def test_a_derived_metric_is_looked_at_place_by_place(tmp_path: Path) -> None:
    """The formula is worked out at each thread, and the statistics are of what it came to."""
    view = opened(ranks(tmp_path / "run"))
    tree = view.tree("region")
    (node,) = [at for at in range(tree.n) if tree.text(tree.name, at) == "halo"]
    found = view.spread("region", 2, node)
    assert found.inclusive.tolist() == pytest.approx([0.1] * 6)
    for which in ("min", "median", "max"):
        assert view.values("region", 2, -1, which).inclusive[node] == pytest.approx(0.1)


def test_a_formula_that_does_not_give_what_the_run_says_is_not_used(tmp_path: Path) -> None:
    values = [Value(0, 0, 0, 8.0, 4.0), Value(0, 0, 1, 4.0, 4.0), Value(0, 0, 2, 3.0, None),
              Value(0, 1, 0, 4.0, 4.0), Value(0, 1, 1, 1.0, 1.0)]  # fmt: skip
    path = write(
        tmp_path / "run", [Place(-1, "command")],
        [Region(-1, "hpm", "app"), Region(0, "hpm", "solve")],
        [Quantity("a"), Quantity("b"), Quantity("ratio", "", "a / b", component="")], values,
    )  # fmt: skip
    view = opened(path)
    assert not view.known()[2].recomputed
    assert view.values("region", 2).inclusive[0] == 3
    assert math.isnan(named(view, "region", "section", 2)["solve"])


def test_calls_are_those_of_all_places(tmp_path: Path) -> None:
    view = opened(ranks(tmp_path / "run"))
    tree = view.tree("region")
    calls = dict(zip([tree.text(tree.name, at) for at in range(tree.n)],
                     node_calls(view, "region").tolist(), strict=True))  # fmt: skip
    assert calls == {"app": 1, "solve": 12, "halo": 24}


def test_recursion_counts_once(tmp_path: Path) -> None:
    """fib calls fib calls fib: what it came to with all it called is that of the outermost."""
    regions = [Region(-1, "hpm", "app"), Region(0, "cpu", "fib", "/f.c", 1)]
    regions += [Region(at, "cpu", "fib", "/f.c", 1) for at in (1, 2)]
    values = [Value(0, 0, 0, 100.0, 1.0)]
    values += [Value(0, at, 0, float(100 - at), 33.0) for at in (1, 2, 3)]
    path = write(tmp_path / "run", [Place(-1, "command")], regions, [Quantity("t")], values)
    view = opened(path)
    assert named(view, "file", "function", 0) == {"fib": 99}
    assert named(view, "file", "file", 0) == {"/f.c": 99}
    tree = view.tree("file")
    alone = view.values("file", 0).exclusive
    assert [alone[at] for at in range(tree.n) if tree.text(tree.name, at) == "fib"] == [99]
    assert view.values("capability", 0).inclusive[0] == 100


PLACES = (
    Place(-1, "command"), Place(0, "process", 0), Place(1, "thread", 0, 1),
    Place(1, "thread", 0, 2), Place(0, "process", 1), Place(4, "thread", 1, 3),
    Place(-1, "command"), Place(0, "core"),
)  # fmt: skip
ROWS = st.dictionaries(
    st.tuples(st.integers(0, len(PLACES) - 1), st.integers(0, 2)), st.integers(0, 1000), max_size=18
)


def below(at: int) -> list[int]:
    inner = [each for each, place in enumerate(PLACES) if place.parent == at]
    return inner + [deep for each in inner for deep in below(each)]


@examples(40)  # fmt: skip
@given(ROWS)
def test_every_count_is_taken_once_whatever_places_have_it(
    tmp_path_factory: pytest.TempPathFactory, rows: dict[tuple[int, int], int]
) -> None:
    """Of a path the outermost and innermost ones; calls of a section have one each, all count."""
    folder = tmp_path_factory.mktemp("rows")
    regions = [Region(-1, "hpm", "app"), Region(0, "mpi", "a"), Region(0, "hpm", "b")]
    values = [Value(at, path, 0, float(count), None) for (at, path), count in rows.items()]
    view = opened(write(folder / "run", PLACES, regions, [Quantity("t")], values))
    found = profile_rows.top_level_rows(view.data, view.rows(0))
    inner = profile_rows.leaf_location_rows(view.data, view.rows(0))
    numbers = [one.location for one in view.data.locations]
    kept = {key: v for key, v in rows.items() if key[0] != 7}
    of_places = kept or rows
    section = 2

    def has(at: int, path: int) -> bool:
        return (at, path) in of_places

    outer = {
        key: count for key, count in of_places.items()
        if key[1] == section
        or not any(key[0] in below(up) and has(up, key[1]) for up in range(len(PLACES)))
    }  # fmt: skip
    innermost = {
        key: count for key, count in rows.items()
        if key[1] == section
        or not any(key[0] != down and down in below(key[0]) and (down, key[1]) in rows
                   for down in range(len(PLACES)))
    }  # fmt: skip
    for rows_found, expected in ((found, outer), (inner, innermost)):
        assert {
            (numbers[location], int(view.data.paths.number[path])): value
            for location, path, value in zip(
                rows_found.location.tolist(), rows_found.path.tolist(),
                rows_found.inclusive.tolist(), strict=True,
            )
        } == expected  # fmt: skip


@examples(40)  # fmt: skip
@given(ROWS, ROWS, st.integers(-1, len(PLACES) - 1))
# A core's value of the whole does not count beside a command's of a section, nor the other way.
@example({}, {(0, 1): 1, (7, 0): 0}, 0)
@example({(0, 0): 1, (7, 1): 5}, {(7, 0): 1, (7, 1): 5}, -1)
def test_shares_are_the_same_of_one_metric_and_of_all_at_once(
    tmp_path_factory: pytest.TempPathFactory, rows: dict[tuple[int, int], int],
    more: dict[tuple[int, int], int], location: int,
) -> None:  # fmt: skip
    folder = tmp_path_factory.mktemp("shares")
    regions = [Region(-1, "hpm", "app"), Region(0, "hpm", "a"), Region(1, "hpm", "b")]
    values = [
        Value(at, path, metric, float(count), None if count % 3 == 0 else count / 2)
        for metric, of_metric in enumerate((rows, more))
        for (at, path), count in of_metric.items()
    ]
    metrics = [Quantity("t"), Quantity("u"), Quantity("wall time", "ns"), Quantity("r", "", "t/u")]
    view = opened(write(folder / "run", PLACES, regions, metrics, values))
    at = view.location(location)
    alone = {number: view.is_shared("region", number, at, "total") for number in range(4)}
    assert view.shared("region", at) == alone


def test_repetitions_are_averaged(tmp_path: Path) -> None:
    places = [Place(-1, "command"), Place(-1, "command")]
    values = [Value(0, 0, 0, 4.0, 4.0), Value(1, 0, 0, 8.0, 8.0, repetition=1)]
    path = write(tmp_path / "run", places, [Region(-1, "hpm", "app")], [Quantity("t")], values,
                 {"repetitions": 2})  # fmt: skip
    view = opened(path)
    assert view.values("region", 0).inclusive[0] == 6
    assert view.values("region", 0, view.location(1)).inclusive[0] == 8
    assert named(view, "rank", "command", 0) == {
        "execution 1 of 2: app": 4, "execution 2 of 2: app": 8,
    }  # fmt: skip


def test_executions_are_counted_run_by_run(tmp_path: Path) -> None:
    session = Session()
    for name, n in (("once", 1), ("thrice", 3), ("other", 1)):
        places = [Place(-1, "command")] * n
        values = [Value(at, 0, 0, 4.0, 4.0, repetition=at) for at in range(n)]
        session.open([str(write(
            tmp_path / name, places, [Region(-1, "hpm", "app")], [Quantity("t")], values,
            {"repetitions": n},
        ))])  # fmt: skip
    once, thrice, other = (one.id for one in session.runs())

    def titles(*numbers: str) -> list[str]:
        both = session.combine(numbers)
        return [one.title for one in both.data.locations if one.kind == "command"]

    assert titles(once, other) == ["command app", "command app"]
    assert sorted(titles(thrice, once)) == [
        "command app",
        *(f"execution {at} of 3: app" for at in (1, 2, 3)),
    ]


def test_two_runs_are_one_with_a_location_for_each(tmp_path: Path) -> None:
    session = Session()
    one, other = session.open(
        [str(ranks(tmp_path / "one")), str(ranks(tmp_path / "other", count=2))]
    )
    both = session.combine([one.id, other.id])
    assert session.combine([one.id, other.id]) is both
    assert both.tree("region").n == one.tree("region").n
    for part, alone in zip(both.parts, (one, other), strict=True):
        at = both.location(part.location)
        for metric in (0, 1):
            np.testing.assert_array_equal(
                both.values("region", metric, at).inclusive,
                alone.values("region", metric).inclusive,
            )
    assert both.values("region", 0).inclusive[0] == sum(
        alone.values("region", 0).inclusive[0] for alone in (one, other)
    )
    session.close(one.id)
    assert [each.id for each in session.runs()] == [other.id]


def job_of_threads(path: Path) -> Path:
    """Write a run of two ranks: `solve` in both, `step` in it on the threads of one."""
    places = [Place(-1, "command"), Place(0, "rank", 0), Place(0, "rank", 1)]
    places += [Place(1, "process", 0, 7), Place(2, "process", 1, 8)]
    places += [Place(3, "thread", 0, 70 + at) for at in range(2)]
    regions = [
        Region(-1, "hpm", "app"), Region(0, "hpm", "solve", "/s.c", 3),
        Region(1, "hpm", "step", "/s.c", 5),
    ]  # fmt: skip
    values = [
        Value(0, 0, 0, 20.0, None), Value(1, 0, 0, 10.0, 2.0), Value(2, 0, 0, 20.0, 5.0),
        Value(3, 1, 0, 8.0, 1.0), Value(4, 1, 0, 15.0, 15.0),
        Value(5, 2, 0, 4.0, 4.0), Value(6, 2, 0, 6.0, 6.0),
        Value(0, 0, 1, 50.0, 2.0), Value(3, 1, 1, 18.0, 8.0), Value(4, 1, 1, 30.0, 30.0),
        Value(5, 2, 1, 4.0, 4.0), Value(6, 2, 1, 6.0, 6.0),
    ]  # fmt: skip
    quantities = [Quantity("wall time", "ns"), Quantity("task-clock", "ns")]
    return write(path, places, regions, quantities, values)


def test_times_of_ranks_are_their_mean_from_the_root_to_the_leaves(tmp_path: Path) -> None:
    view = opened(job_of_threads(tmp_path / "run"))
    tree = view.tree("region")
    names = [tree.text(tree.name, at) for at in range(tree.n)]
    assert names == ["app", "solve", "step"]
    found = view.values("region", 0)
    # Of a rank the longest thread counts; one that never was there has none of it.
    assert found.inclusive.tolist() == [15.0, 11.5, 3.0]
    assert found.exclusive.tolist() == [3.5, 8.0, 3.0]
    assert found.exclusive.sum() <= found.inclusive[0]
    assert view.told(0, -1, "total") == "mean of 2 ranks"
    first = view.location(1)
    assert view.values("region", 0, first).inclusive.tolist() == [10.0, 8.0, 6.0]
    assert view.told(0, first, "total") == "max of threads"
    assert view.values("region", 1).inclusive.tolist() == [50.0, 48.0, 10.0]
    assert view.told(1, -1, "total") == ""
    assert view.told(1, -1, "max") == "max of locations"
    kinds = [tree.kinds[kind] for kind in tree.kind]
    assert kinds == ["run", "section", "thread's section"]
    known = {one["metric"]: one for one in node_details.node(view, "region", 2, -1)["values"]}
    assert (known[0]["inclusive"], known[0]["total"]) == (3.0, 15.0)
    assert (known[0]["told"], known[1]["told"]) == ("mean of 2 ranks", "")


def test_parts_that_come_to_more_than_the_run_are_no_shares(tmp_path: Path) -> None:
    run = job_of_threads(tmp_path / "run")
    for at in (0, 1):
        assert opened(run).is_shared("region", at, -1, "total")
    rewritten(run / "profile.parquet", "CASE WHEN path = 2 AND metric = 1 THEN 9.0 ELSE exclusive "
              "END AS exclusive")  # fmt: skip
    view = opened(run)
    assert view.is_shared("region", 0, -1, "total")
    assert not view.is_shared("region", 1, -1, "total")
    assert node_details.node(view, "region", 1, -1)["values"][1]["total"] is None
    # Of ranks each has its own time.
    assert not view.is_shared("rank", 0, -1, "total")


def test_a_group_has_no_exclusive_value_where_its_sections_overlap(tmp_path: Path) -> None:
    """`solve` is of the whole process, and has in it what a thread has in `sweep`."""
    places = [Place(-1, "command"), Place(0, "process"), Place(1, "thread", -1, 7)]
    regions = [
        Region(-1, "hpm", "app"), Region(0, "hpm", "solve", "/s.c", 3),
        Region(0, "hpm", "sweep", "/s.c", 5),
    ]  # fmt: skip
    values = [
        value
        for metric in (0, 1)
        for value in (
            Value(0, 0, metric, 100.0, 30.0), Value(1, 1, metric, 70.0, 70.0),
            Value(2, 2, metric, 40.0, 40.0),
        )
    ]  # fmt: skip
    quantities = [Quantity("t"), Quantity("about", how="scaled")]
    view = opened(write(tmp_path / "run", places, regions, quantities, values))
    for metric in (0, 1):
        tree, found = view.tree("capability"), view.values("capability", metric)
        (group,) = (at for at in range(tree.n) if tree.kinds[tree.kind[at]] == "capability")
        assert found.inclusive[group] == 100
        assert math.isnan(found.exclusive[group])
        nodes = {tree.text(tree.name, at): at for at in range(tree.n) if at != group}
        assert found.exclusive[nodes["solve"]] == 70
        assert found.exclusive[nodes["sweep"]] == 40
        tree, found = view.tree("file"), view.values("file", metric)
        (file,) = (at for at in range(tree.n) if tree.kinds[tree.kind[at]] == "file")
        assert found.exclusive[file] == 110
    apart = [value._replace(inclusive=32.0, exclusive=32.0) if value.location == 2 else value
             for value in values]  # fmt: skip
    apart = [value._replace(exclusive=0.0) if value.location == 0 else value for value in apart]
    view = opened(write(tmp_path / "apart", places, regions, quantities, apart))
    tree = view.tree("capability")
    (group,) = (at for at in range(tree.n) if tree.kinds[tree.kind[at]] == "capability")
    # Estimates may come to a little more than the whole; counts may not.
    assert math.isnan(view.values("capability", 0).exclusive[group])
    assert view.values("capability", 1).exclusive[group] == 102


@pytest.mark.parametrize(
    ("regions", "why"),
    [
        ([Region(1, "hpm", "a"), Region(0, "hpm", "b")], "its own ancestor"),
        ([Region(0, "hpm", "a")], "its own ancestor"),
        ([Region(7, "hpm", "a")], "the parent of one of its paths is missing"),
    ],
)
def test_paths_that_are_no_forest_are_refused(
    tmp_path: Path, regions: list[Region], why: str
) -> None:
    path = write(tmp_path / "run", [Place(-1, "command")], regions, [Quantity("t")], [])
    with pytest.raises(RunDirectoryError, match=why):
        opened(path)


def test_a_capability_that_nobody_knew_is_shown(tmp_path: Path) -> None:
    regions = [Region(-1, "hpm", "app"), Region(0, "quantum", "teleport", "/q.c", 3)]
    values = [Value(0, 0, 0, 9.0, 1.0), Value(0, 1, 0, 8.0, 8.0)]
    view = opened(
        write(tmp_path / "run", [Place(-1, "command")], regions, [Quantity("qubits")], values)
    )
    assert named(view, "capability", "capability", 0) == {"program and sections": 9, "quantum": 8}
    assert named(view, "region", "quantum", 0) == {"teleport": 8}
    assert named(view, "file", "file", 0) == {"/q.c": 8}
