"""One set of tables from several: what of the whole program is its own, beside its parts."""

from __future__ import annotations

from collections.abc import Sequence
from math import nan

import pytest

from gnomon.model.capability_result import rows_of
from gnomon.model.region_kinds import OWN_KINDS, RegionKind, RegionKinds
from gnomon.model.tables import LOCATIONS, METRICS, PATHS, PROFILE, REGIONS, Table
from gnomon.store.table_merge import RunRoot, merged
from gnomon.store.table_set import TableSet

NAMES = ("wall time", "page-faults", "ratio")
FORMULAS = ("", "", "a / b")


def counted(values: dict[str, float]) -> tuple[Table, ...]:
    """Return what the whole command had of each metric."""
    return _tables([("command", 0, values)], depth=0)


def sections(*of_processes: dict[str, float]) -> tuple[Table, ...]:
    """Return what a section of each process had."""
    return _tables([("process", 100 + at, one) for at, one in enumerate(of_processes)], depth=1)


def _tables(places: list[tuple[str, int, dict[str, float]]], depth: int) -> tuple[Table, ...]:
    locations, regions, paths = Table(LOCATIONS), Table(REGIONS), Table(PATHS)
    metrics, profile = Table(METRICS), Table(PROFILE)
    for at in range(2):
        regions.add(region=at, kind="hpm", name="section", module="", file="", line=at)
        paths.add(path=at, parent=at - 1, region=at)
    for at, (name, formula) in enumerate(zip(NAMES, FORMULAS, strict=True)):
        metrics.add(metric=at, name=name, unit="", formula=formula, how="counted", component="",
                    domain="all", scope="process", description="")  # fmt: skip
    for at, (kind, pid, values) in enumerate(places):
        locations.add(location=at, parent=-1, kind=kind, host="h", rank=-1, pid=pid, tid=-1,
                      name="app")  # fmt: skip
        for name, value in values.items():
            profile.add(repetition=0, location=at, path=depth, metric=NAMES.index(name),
                        inclusive=value, exclusive=value, calls=1, raw=None, enabled_ns=None,
                        running_ns=None)  # fmt: skip
    return (locations, regions, paths, metrics, profile)


def merged_tables(
    sets: Sequence[tuple[Table, ...]], kinds: RegionKinds = OWN_KINDS
) -> tuple[Table, ...]:
    """Return the tables of a command that had several sets."""
    root = RunRoot("app", "app", "h", is_job=False)
    return merged(list(map(TableSet, sets)), root, kinds=kinds).tables


@pytest.mark.parametrize(
    ("metric", "whole", "parts", "own"),
    [
        # What its one process spent in sections is not the command's own.
        ("wall time", 10.0, [8.0], 2.0),
        ("page-faults", 10.0, [3.0, 4.0], 3.0),
        # Two processes at a time, parts that are more than the whole, a formula: no difference.
        ("wall time", 10.0, [3.0, 4.0], None),
        ("page-faults", 10.0, [6.0, 7.0], None),
        ("ratio", 0.5, [0.25], None),
        ("page-faults", 10.0, [], 10.0),
    ],
)
def test_what_of_the_program_is_in_no_part(
    metric: str, whole: float, parts: list[float], own: float | None
) -> None:
    given = [counted({metric: whole})]
    if parts:
        given.append(sections(*({metric: value} for value in parts)))
    tables = merged_tables(given)
    (root,) = [
        row for row in rows_of(tables, "profile") if row["path"] == 0 and row["location"] == 0
    ]
    assert (root["inclusive"], root["exclusive"]) == (whole, own)


def latencies(aggregation: str | None, *of_ranks: float) -> tuple[Table, ...]:
    """Return the only value that a job has of a metric of which each of its ranks has one."""
    parts = []
    for rank, value in enumerate(of_ranks):
        tables = counted({"page-faults": value})
        metrics = Table(METRICS)
        for row in tables[3].dicts():
            metrics.add(**{**row, "aggregation": aggregation})
        parts.append(TableSet((*tables[:3], metrics, tables[4]), rank=rank))
    return merged(parts, RunRoot("app", "app", "h", is_job=True)).tables


@pytest.mark.parametrize(
    ("aggregation", "whole"),
    [(None, [7.0]), ("sum", [7.0]), ("max", [4.0]), ("elapsed", [4.0]), ("none", [])],
)
def test_a_metric_says_how_the_values_of_ranks_make_the_jobs(
    aggregation: str | None, whole: list[float]
) -> None:
    tables = latencies(aggregation, 3.0, 4.0)
    values = [row["inclusive"] for row in rows_of(tables, "profile") if row["location"] == 0]
    assert values == whole


def test_times_are_dilated_whoever_says_so_first() -> None:
    """Sections of a program that is emulated do not know that it is."""
    parts = [sections({"wall time": 3.0}), counted({"wall time": 9.0})]
    metrics = Table(METRICS)
    for row in parts[1][3].dicts():
        metrics.add(**{**row, "dilated": row["name"] == "wall time"})
    parts[1] = (*parts[1][:3], metrics, parts[1][4])
    for given in (parts, parts[::-1]):
        tables = merged_tables(given)
        dilated = {row["name"]: row["dilated"] for row in rows_of(tables, "metrics")}
        assert dilated["wall time"] is True
        assert not dilated["page-faults"]


def nested(metric: str, process: float, own: float, *threads: float) -> tuple[Table, ...]:
    """Return a section of a process, and in it one that each of its threads had."""
    tables = sections({metric: process})
    locations, _, paths, _, _ = tables
    profile = Table(PROFILE)
    paths.add(path=2, parent=1, region=1)
    values = [(0, 1, process, own)]
    for at, value in enumerate(threads, start=1):
        locations.add(location=at, parent=0, kind="thread", host="h", rank=-1, pid=100,
                      tid=100 + at, name="app")  # fmt: skip
        values.append((at, 2, value, value))
    for location, path, inclusive, exclusive in values:
        profile.add(repetition=0, location=location, path=path, metric=NAMES.index(metric),
                    inclusive=inclusive, exclusive=exclusive, calls=1, raw=None, enabled_ns=None,
                    running_ns=None)  # fmt: skip
    return (locations, tables[1], paths, tables[3], profile)


@pytest.mark.parametrize(
    ("metric", "process", "own", "threads", "rest"),
    [
        ("page-faults", 9.0, 2.0, [3.0, 4.0], 1.0),
        # Times of threads are at once: the process has the longest one's, and no more than it has.
        ("wall time", 7.0, 2.0, [4.0, 5.0], 3.0),
        ("wall time", 7.0, 0.0, [7.0, 7.0], 3.0),
        # What of them nobody knows is nothing to subtract, whichever thread comes first.
        ("page-faults", 9.0, 2.0, [nan, 4.0], None),
        ("wall time", 7.0, 2.0, [nan, 4.0], None),
        ("wall time", 7.0, 2.0, [4.0, nan], None),
        ("wall time", 7.0, 2.0, [nan, nan], None),
        ("wall time", nan, 2.0, [3.0, 4.0], 4.0),
    ],
)
def test_what_threads_have_in_a_section_of_their_process_is_subtracted_once(
    metric: str, process: float, own: float, threads: list[float], rest: float
) -> None:
    given = [counted({metric: 10.0}), nested(metric, process, own, *threads)]
    tables = merged_tables(given)
    (root,) = [row for row in rows_of(tables, "profile") if row["path"] == 0]
    assert (root["inclusive"], root["exclusive"]) == (10.0, rest)


PHASES = RegionKinds([RegionKind("phase", "phases", "phase", is_section=True)])


@pytest.mark.parametrize(
    ("kind", "kinds", "rest"),
    [("hpm", OWN_KINDS, 3.0), ("phase", PHASES, 3.0), ("phase", OWN_KINDS, None)],
)
def test_a_section_of_a_thread_around_one_of_its_process_is_subtracted_without_it(
    kind: str, kinds: RegionKinds, rest: float | None
) -> None:
    """A thread's own section has 2 beside what the process has in its section, which is 5.

    Sections are those whose kind says so, a capability's too.
    """
    tables = nested("page-faults", 5.0, 5.0)
    locations, regions, _, metrics, profile = tables
    locations.add(location=1, parent=0, kind="thread", host="h", rank=-1, pid=100, tid=100,
                  name="app")  # fmt: skip
    paths = Table(PATHS, [(0, -1, 0), (1, 0, 1), (2, 0, 0)])
    profile.add(repetition=0, location=1, path=2, metric=NAMES.index("page-faults"), inclusive=6.0,
                exclusive=2.0, calls=1, raw=None, enabled_ns=None, running_ns=None)  # fmt: skip
    regions = Table(REGIONS, [(row[0], kind, *row[2:]) for row in regions.rows])
    given = [counted({"page-faults": 10.0}), (locations, regions, paths, metrics, profile)]
    whole = merged_tables(given, kinds)
    (root,) = [row for row in rows_of(whole, "profile") if row["path"] == 0]
    assert root["exclusive"] == rest


def test_what_is_below_a_section_without_a_value_is_subtracted() -> None:
    """User time of the process's section is n/a, and of a thread's only the inclusive one known."""
    *others, profile = nested("page-faults", 9.0, 2.0, 3.0, 4.0)
    _, first, *rest = profile.rows
    unknown = Table(PROFILE, [(*first[:5], None, *first[6:]), *rest])
    given = [counted({"page-faults": 10.0}), (*others, unknown)]
    whole = merged_tables(given)
    (root,) = [row for row in rows_of(whole, "profile") if row["path"] == 0]
    assert root["exclusive"] == 3.0


def test_tasks_in_containers_have_the_same_process_numbers() -> None:
    """Each in a PID namespace of its own, on one host; libhpm tells a section's rank."""

    def of_rank(rank: int, faults: float, depth: int) -> TableSet:
        whole = [] if depth else [("command", 3, {"page-faults": faults})]
        tables = _tables([*whole, ("process", 3, {"page-faults": faults})], depth=depth)
        return TableSet(tables, rank=rank)

    given = [of_rank(0, 10.0, 0), of_rank(1, 20.0, 0), of_rank(1, 5.0, 1), of_rank(0, 4.0, 1)]
    tables = merged(given, RunRoot("app", "app", "h", is_job=True)).tables
    place = {row["location"]: (row["kind"], row["rank"]) for row in rows_of(tables, "locations")}
    root = {row["path"] for row in rows_of(tables, "paths") if row["parent"] == -1}
    found = {
        (*place[row["location"]], row["path"] in root): (row["inclusive"], row["exclusive"])
        for row in rows_of(tables, "profile")
    }
    assert found[("process", 0, True)] == (10, 6)
    assert found[("process", 1, True)] == (20, 15)
    assert found[("process", 0, False)] == (4, 4)
    assert found[("process", 1, False)] == (5, 5)
    assert found[("command", -1, True)] == (30, 21)


def test_ranks_that_mpi_told_are_believed() -> None:
    def places(*ranks: int) -> tuple[Table]:
        table = Table(LOCATIONS)
        for at, rank in enumerate(ranks):
            kind = "thread" if at else "process"
            table.append((at, at - 1, kind, "h", rank, 7, 7 if at else -1, "app"))
        return (table,)

    of_messages = Table(LOCATIONS, [(5, -1, "rank", "", 0, -1, -1, "rank 0")])
    by_environment = TableSet(places(3, 3))
    by_mpi = TableSet((*places(0), of_messages), knows_ranks=True)
    for sets in ([by_environment, by_mpi], [by_mpi, by_environment]):
        tables = merged(sets, RunRoot("app", "app", "h", is_job=False)).tables
        found = [(row["kind"], row["rank"]) for row in rows_of(tables, "locations")]
        assert sorted(found) == [("command", -1), ("process", 0), ("rank", 0), ("thread", 0)]
