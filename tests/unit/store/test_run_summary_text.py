"""The screen that `gnomon run` ends with, of runs small and large."""

from __future__ import annotations

from math import nan
from pathlib import Path

import pytest
from view_runs import Place, Quantity, Region, Value, write

from gnomon.model.tables import PROFILE, SCHEMAS, Table
from gnomon.store import run_directory
from gnomon.store.reports import run_summary

PLACES = [Place(-1, "command"), *(Place(0, "process", rank) for rank in range(3))]
REGIONS = [Region(-1, "hpm", "app"), Region(0, "hpm", "solve", "/src/solve.c", 10),
           Region(1, "hpm", "halo"), Region(1, "hpm", "solve")]  # fmt: skip
METRICS = [Quantity("zebras"), Quantity("wall time", "ns", aggregation="elapsed"),
           Quantity("PAPI_TOT_INS"), Quantity("task-clock", "ns"),
           Quantity("peak memory", "B", aggregation="max")]  # fmt: skip


@pytest.mark.parametrize("unknown", [1e5, nan, None])
@pytest.mark.parametrize("names", [("zebras", "wall time"), ("wall time", "PAPI_TOT_INS"),
                                   ("task-clock", "peak memory", "zebras")])  # fmt: skip
def test_the_screen_is_the_same_of_a_profile_in_memory_and_in_a_file(
    tmp_path: Path, names: tuple[str, ...], unknown: float | None
) -> None:
    metrics = [one for one in METRICS if one.name in names]
    values = [
        Value(place, path, metric, 1e6 * (place + 1) / (path + 1),
              unknown if (place, path) == (1, 2) else 1e5 * (repetition + 1),
              repetition, 1 + path)
        for repetition in range(3)
        for place in range(len(PLACES))
        for path in range(len(REGIONS))
        for metric in range(len(metrics))
        if place or not path
    ]  # fmt: skip
    head = {"ranks": 3, "capabilities": [], "repetitions": 3}
    run = run_directory.find(str(write(tmp_path / "app", PLACES, REGIONS, metrics, values, head)))
    tables = []
    for schema in SCHEMAS:
        columns = ", ".join(column.name for column in schema.columns)
        tables.append(Table(schema, run.query(f"SELECT {columns} FROM {schema.name}")))
    small = [table for table in tables if table.schema is not PROFILE]
    of_memory, of_file = (
        run_summary.render_run_summary(run, tuple(some), 100) for some in (tables, small)
    )
    assert of_file == of_memory
    # What a region has itself is told where all places know it.
    has_regions = "top regions" in of_file
    assert has_regions == ("wall time" in names)
    assert ("exclusive" in of_file) == (has_regions and unknown == 1e5)


def test_a_region_whose_value_nobody_knows_comes_last(tmp_path: Path) -> None:
    values = [Value(0, 0, 0, 9e6, None), Value(1, 1, 0, nan, None), Value(1, 2, 0, 2e6, None),
              Value(1, 3, 0, 3e6, None)]  # fmt: skip
    regions = [Region(-1, "hpm", "app"), *(Region(0, "hpm", name) for name in "abc")]
    head = {"ranks": 3, "capabilities": []}
    path = write(tmp_path / "app", PLACES, regions, [Quantity("PAPI_TOT_INS")], values, head)
    run = run_directory.find(str(path))
    tables = tuple(
        Table(schema, run.query(f"FROM {schema.name}")) for schema in SCHEMAS if schema != PROFILE
    )
    shown = run_summary.render_run_summary(run, tables, 100)
    regions_shown = [line.split() for line in shown.splitlines()[4:7]]
    assert regions_shown == [["c", "3", "000", "000"], ["b", "2", "000", "000"], ["a", "n/a"]]
