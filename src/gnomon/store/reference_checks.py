"""Whether the numbers by which tables of a run refer to each other's rows are numbers of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gnomon.errors import RunDirectoryError
from gnomon.model.tables import LOCATIONS, METRICS, PROFILE, Schema, schema_of

if TYPE_CHECKING:
    from gnomon.store.run import Run

_TARGETS = (LOCATIONS, METRICS)
_REMEDY = "restore it from a copy, or measure again"


def check(run: Run) -> None:
    """Check that there are the locations and metrics that rows refer to.

    Rows of others would be left out silently. The least and the greatest number of each column are
    known without reading it, and mostly tell.

    Args:
        run: the run.

    Raises:
        RunDirectoryError: a row refers to none; names its file, the row and the number.
    """
    ends = {target.name: _ends(run, target) for target in _TARGETS}
    for schema in run.schemas:
        columns = [column for column in schema.columns if column.refers in ends]
        if not columns:
            continue
        asked = ", ".join(f"MIN({_number(one.name)}), MAX({_number(one.name)})" for one in columns)
        (found,) = run.query(f"SELECT {asked} FROM {run.source(schema)}")
        for column, first, last in zip(columns, found[::2], found[1::2], strict=True):
            least, most, rows = ends[column.refers]
            is_told = first is not None
            is_dense = rows == most - least + 1
            # Of a value of the profile it is known where it was and of what.
            least = least if schema is PROFILE else min(least, -1)
            if is_told and not (is_dense and least <= first and last <= most):
                _look(run, schema, column.name, schema_of(column.refers))


def _number(column: str) -> str:
    return f"CAST({column} AS INTEGER)"


def _ends(run: Run, target: Schema) -> tuple[int, int, int]:
    """Return the least and the greatest number of a table's rows, and how many there are."""
    number = _number(target.number)
    ((least, most, rows),) = run.query(
        f"SELECT COALESCE(MIN({number}), 0), COALESCE(MAX({number}), -1), COUNT(DISTINCT {number}) "
        f"FROM {run.source(target)}"
    )
    return int(least), int(most), int(rows)


def _look(run: Run, schema: Schema, column: str, target: Schema) -> None:
    """Look for the first row that refers to none.

    Raises:
        RunDirectoryError: there is one.
    """
    is_told = "true" if schema is PROFILE else "number <> -1"
    dangling = run.query(
        f"SELECT row_, number FROM (SELECT row_number() OVER () AS row_, {_number(column)} AS "
        f"number FROM {run.source(schema)}) WHERE {is_told} AND number NOT IN "
        f"(SELECT {_number(target.number)} FROM {run.source(target)} "
        f"WHERE {target.number} IS NOT NULL) ORDER BY row_ LIMIT 1"
    )
    for row, value in dangling:
        raise RunDirectoryError(
            f"{run.file(schema)}: row {row}: its {column} is {value}, a number that no row of "
            f"{target.name} has; {_REMEDY}"
        )
