"""What is special about a metric, for runs and .viz files whose tables do not say it.

Runs of before lack the columns, and a capability may leave them out; what readers then take is
inferred here, and nowhere else.
"""

from __future__ import annotations

from gnomon.model.metric import AGGREGATION_OF_NAMES, Aggregation
from gnomon.model.tables import METRICS
from gnomon.store import later_columns

_EMULATED = "COALESCE(CAST(component AS VARCHAR), '') = 'emulated'"
_NAMED = " ".join(
    f"WHEN name = '{name}' THEN '{one}'" for name, one in AGGREGATION_OF_NAMES.items()
)
_INFERRED = {
    "aggregation": (
        f"CASE WHEN COALESCE(formula, '') <> '' THEN '{Aggregation.NONE}' {_NAMED} "
        f"ELSE '{Aggregation.SUM}' END"
    ),
    "absent_is_zero": _EMULATED,
    "reproducible": f"{_EMULATED} OR COALESCE(CAST(how AS VARCHAR), '') = 'emulated'",
    # Beside an emulated PMU, the times that Gnomon took itself are the emulator's.
    "dilated": (
        "COALESCE(component, '') = '' AND COALESCE(formula, '') = '' "
        f"AND COALESCE(unit, '') = 'ns' AND EXISTS (SELECT 1 FROM {{stored}} WHERE {_EMULATED})"
    ),
}


def completed(table: str) -> str:
    """Return the SQL source of a table of metrics with all columns, these NULL where it has none.

    Args:
        table: what it is read by as it is.
    """
    return later_columns.completed(table, METRICS, _INFERRED)


def filled(table: str, stored: str) -> str:
    """Return the SQL source of a table of metrics with all columns, these never NULL.

    Args:
        table: what it is read by.
        stored: what it is read by as it is, which a query is faster with.
    """
    values = ", ".join(
        f"COALESCE({name}, {value.format(stored=stored)}) AS {name}"
        for name, value in _INFERRED.items()
    )
    return f"(SELECT * REPLACE ({values}) FROM {completed(table)})"
