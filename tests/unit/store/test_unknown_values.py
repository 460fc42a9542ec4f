"""Values that nobody knows, NaN, in a job: what it has of its ranks, whichever comes first."""

from __future__ import annotations

from math import inf, isfinite, isnan, nan
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from property_tests import examples
from random_sets import in_files
from view_runs import Place, Quantity, Region, Value, write

from gnomon.model.metric import Aggregation
from gnomon.model.tables import LOCATIONS, METRICS, PATHS, PROFILE, REGIONS, Table
from gnomon.store import moments, run_directory, table_merge, table_pieces
from gnomon.store.reports import profile_report
from gnomon.store.table_merge import RunRoot, merged
from gnomon.store.table_set import TableSet

AGGREGATIONS = (Aggregation.SUM, Aggregation.MAX, Aggregation.ELAPSED, Aggregation.NONE)

# Of whole numbers sums are the same in every order.
VALUES = st.sampled_from((nan, inf)) | st.integers(0, 9).map(float)
RANKS = st.lists(st.tuples(VALUES, VALUES), min_size=1, max_size=7)


def of_rank(rank: int, whole: float, section: float) -> TableSet:
    """Return a rank that has a value of a metric of each kind, and part of it in a section."""
    metrics, profile = Table(METRICS), Table(PROFILE)
    for metric, aggregation in enumerate(AGGREGATIONS):
        metrics.add(metric=metric, name=f"of {aggregation}", unit="", formula="", how="counted",
                    component="", domain="user", scope="process", description="",
                    aggregation=str(aggregation))  # fmt: skip
        profile.append((0, 0, 0, metric, whole, None, 1, None, None, None))
        profile.append((0, 0, 1, metric, section, section, 1, None, None, None))
    return TableSet(
        (
            Table(LOCATIONS, [(0, -1, "command", "h", -1, 100 + rank, -1, "app")]),
            Table(REGIONS, [(at, "hpm", f"r{at}", "app", "", 0) for at in range(2)]),
            Table(PATHS, [(0, -1, 0), (1, 0, 1)]),
            metrics,
            profile,
        ),
        rank=rank,
    )


def of_job(sets: list[TableSet], folder: Path) -> dict[str, tuple[float, float | None]]:
    """Return what a job has of each metric, and what of it is in no section of its ranks."""
    done = merged(in_files(sets, folder), RunRoot("app", "app", "h", is_job=True), folder)
    metrics = next(table for table in done.tables if table.schema is METRICS)
    (file,) = done.files.values()
    with duckdb.connect() as connection:
        rows: list[Any] = connection.execute(
            "SELECT metric, inclusive, exclusive FROM read_parquet(?) "
            "WHERE location = 0 AND path = 0", [str(file)],
        ).fetchall()  # fmt: skip
    return {metrics.texts("aggregation")[metric]: tuple(values) for metric, *values in rows}


def expected(ranks: list[tuple[float, float]]) -> dict[str, tuple[float, float | None]]:
    known = [whole for whole, _ in ranks if not isnan(whole)]
    peak = max(known, default=nan)
    total = sum(whole for whole, _ in ranks)
    # Peaks of sections of several ranks are no part of the largest; that of one rank is.
    of_peak = peak, remains(peak, ranks[0][1] if len(ranks) == 1 else nan)
    inside = sum(section for _, section in ranks)
    return {"sum": (total, remains(total, inside)), "max": of_peak, "elapsed": of_peak}


def remains(whole: float, inside: float) -> float | None:
    return whole - inside if isfinite(inside) and whole >= inside else None


@examples(60, deadline=None)
@example([(nan, 1.0), (5.0, 1.0), (7.0, 1.0)], 1, 1)
@example([(5.0, 1.0), (7.0, 1.0), (nan, 1.0)], 1, 1)
@example([(5.0, 1.0), (7.0, nan), (6.0, 1.0)], 512, 512)
@given(RANKS, st.integers(1, 7), st.integers(1, 60))
def test_a_job_has_what_is_known_in_every_order_and_batch(
    tmp_path_factory: pytest.TempPathFactory,
    ranks: list[tuple[float, float]],
    sets_most: int,
    rows_most: int,
) -> None:
    """A peak is that of the ranks that know theirs; a sum of which a part is missing is none."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(table_merge, "ROWS_IN_MEMORY", 0)
        patched.setattr(table_pieces, "ROWS_PER_BATCH", rows_most)
        patched.setattr(table_pieces, "_SETS_MOST", sets_most)
        sets = [of_rank(rank, *values) for rank, values in enumerate(ranks)]
        found = of_job(sets, tmp_path_factory.mktemp("job"))
    # repr tells a NaN from another value, and from none.
    assert {name: repr(values) for name, values in found.items()} == {
        name: repr(values) for name, values in expected(ranks).items()
    }


THREADS = st.lists(st.none() | VALUES, min_size=1, max_size=2)


@examples(25, deadline=None)
@example([[nan], [5.0], [7.0]])
@example([[5.0], [nan, nan], [None], [nan, 6.0]])
@given(st.lists(THREADS, min_size=2, max_size=5))
def test_the_mean_time_of_ranks_is_of_those_that_know_theirs(
    tmp_path_factory: pytest.TempPathFactory, ranks: list[list[float | None]]
) -> None:
    """A rank that never was in a region has 0; one that does not know how long is not in it."""
    places = [Place(-1, "command")]
    values: list[Value] = []
    of_ranks: list[float] = []
    for rank, threads in enumerate(ranks):
        process = len(places)
        places.append(Place(0, "process", rank))
        values.append(Value(process, 0, 0, 100.0, None))
        for value in threads:
            if value is not None:
                values.append(Value(len(places), 1, 0, value, value))
            places.append(Place(process, "thread", rank, len(places)))
        is_there = any(value is not None for value in threads)
        known = [value for value in threads if value is not None and isfinite(value)]
        of_ranks.append(max(known, default=nan if is_there else 0.0))
    path = write(
        tmp_path_factory.mktemp("run") / "app", places,
        [Region(-1, "hpm", "app"), Region(0, "hpm", "inner")],
        [Quantity("wall time", "ns", aggregation="elapsed")], values,
    )  # fmt: skip
    found = moments.of_run(run_directory.find(str(path)), 0).values
    known = [value for value in of_ranks if not isnan(value)]
    assert found[0].inclusive == 100.0
    if any(known) or 1 in found:
        assert found[1].inclusive == pytest.approx(sum(known) / len(known))


def test_times_of_ranks_are_not_added_where_what_is_left_of_them_is_not_known(
    tmp_path: Path,
) -> None:
    """Of one rank nobody knows what the program took without its section."""
    places = [Place(-1, "command"), *(Place(0, "process", rank) for rank in range(3))]
    wall = Quantity("wall time", "ns", aggregation="elapsed")
    values = [Value(0, 0, 0, 10e9, None)]
    for place, alone in ((1, None), (2, 4e9), (3, 4e9)):
        values += [Value(place, 0, 0, 10e9, alone), Value(place, 1, 0, 6e9, 6e9)]
    write(tmp_path / "r", places, [Region(-1, "hpm", "app"), Region(0, "hpm", "s")], [wall], values)
    run = run_directory.find(str(tmp_path / "r"))
    rows = profile_report.profile_data(run, profile_report.profile(run, "region"), "region").rows
    told = {row["region"]: (row["self"], row["total"], row["max"]) for row in rows}
    assert told == {"app": (None, 10e9, 4e9), "s": (6e9, 6e9, 6e9)}
