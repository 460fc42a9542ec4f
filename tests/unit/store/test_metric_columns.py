"""What is special about a metric: as it was written, and inferred where nobody said it."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest
from made_runs import made_run
from view_runs import Place, Quantity, Region, Value, write

from gnomon.model.tables import METRICS, Cell, Table
from gnomon.store import exports, run_directory
from gnomon.store.run import Run
from gnomon.view.session import Session

COLUMNS = ("aggregation", "absent_is_zero", "reproducible", "dilated")
PLAIN = ("sum", False, False, False)
QUANTITIES = (
    Quantity("wall time", "ns", component=""),
    Quantity("cycle time", "ns", component=""),
    Quantity("peak memory", "bytes", component="rusage"),
    Quantity("idle CPUs", "CPUs", component="machine"),
    Quantity("ratio", "", "a / b", component=""),
    Quantity("page-faults"),
    Quantity("bandwidth", "MB/s", aggregation="max"),
)
EXPECTED = {
    "wall time": ("elapsed", False, False, False), "cycle time": ("elapsed", False, False, False),
    "peak memory": ("max", False, False, False), "idle CPUs": ("none", False, False, False),
    "ratio": ("none", False, False, False), "page-faults": PLAIN,
    "bandwidth": ("max", False, False, False),
}  # fmt: skip


def special(run: Run) -> dict[str, tuple[object, ...]]:
    return {str(row["name"]): tuple(row[name] for name in COLUMNS) for row in run.rows(METRICS)}


def as_before(run: Run) -> Run:
    """Return the run as a Gnomon wrote it that did not know the columns."""
    file = run.path / "metrics.parquet"
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE t AS SELECT * EXCLUDE {COLUMNS} FROM '{file}'")
        connection.execute(f"COPY t TO '{file}' (FORMAT parquet)")
    return run_directory.find(str(run.path))


def plain_run(folder: Path) -> Run:
    values = [Value(0, 0, at, 5.0, None) for at in range(len(QUANTITIES))]
    path = write(
        folder / "plain", [Place(-1, "command")], [Region(-1, "hpm", "app")], QUANTITIES, values
    )
    return run_directory.find(str(path))


def test_what_nobody_said_is_inferred(tmp_path: Path) -> None:
    assert special(plain_run(tmp_path)) == EXPECTED


def test_runs_of_before_have_the_same(tmp_path: Path) -> None:
    run = as_before(plain_run(tmp_path))
    assert special(run) == EXPECTED | {"bandwidth": PLAIN}
    (opened,) = Session().open([str(run.path)])
    assert {one.name: tuple(one)[-4:] for one in opened.data.metrics} == special(run)


def test_emulated_counts_of_before_are_known_by_their_component(tmp_path: Path) -> None:
    run = as_before(made_run(tmp_path, [("app", "f", "/a.c", 3, (600, 6, 1, 0))]))
    found = special(run)
    assert found.pop("wall time") == ("elapsed", False, False, True)
    assert set(found.values()) == {("sum", True, True, False)}


def test_a_viz_file_keeps_what_a_run_says(tmp_path: Path) -> None:
    run = plain_run(tmp_path)
    file = tmp_path / "plain.viz"
    file.write_text("".join(exports.viz(run)))
    assert special(run_directory.find(str(file))) == EXPECTED


def test_a_row_may_leave_out_what_may_be_missing() -> None:
    table = Table(METRICS)
    cells: dict[str, Cell] = {
        "metric": 0, "name": "x", "unit": "", "formula": "", "how": "counted", "component": "",
        "domain": "all", "scope": "process", "description": "",
    }  # fmt: skip
    table.add(**cells)
    table.add(**cells, aggregation="max", dilated=True)
    assert [row["aggregation"] for row in table.dicts()] == [None, "max"]
    with pytest.raises(ValueError, match="other columns: unit"):
        table.add(**{name: cell for name, cell in cells.items() if name != "unit"})
    with pytest.raises(ValueError, match="other columns: colour"):
        table.add(**cells, colour="red")
