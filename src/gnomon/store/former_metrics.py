"""Metrics under the names that they have now, in runs and .viz files that have former ones.

Four rates named `/s` used to be per second of CPU time, and the HPM guide's own files have its
names still. Which a metric is its formula says: what has the name now is made of other things.
"""

from __future__ import annotations

from pathlib import Path

from gnomon.model.tables import METRICS, Schema
from gnomon.named_tuple import NamedTuple
from gnomon.store import duckdb_parquet, later_columns, metric_columns


class RenamedMetric(NamedTuple):
    """A metric that has another name now.

    Attributes:
        name: the former one.
        is_it: what a row of that name must be, in SQL, to be the metric that is meant.
        now: its name now.
        unit: its unit now.
    """

    name: str
    is_it: str
    now: str
    unit: str


_PER_CPU = "unit = '/s' AND formula <> '' AND NOT contains(formula, 'wall_seconds')"
_OF_USER_TIME = "contains(formula, 'user_seconds')"

RENAMED = (
    RenamedMetric("utilisation", _OF_USER_TIME, "user_utilisation", "%"),
    RenamedMetric("context_switch_rate", _PER_CPU, "context_switches_per_cpu_second", "/CPU s"),
    RenamedMetric("migration_rate", _PER_CPU, "migrations_per_cpu_second", "/CPU s"),
    RenamedMetric("page_fault_rate", _PER_CPU, "page_faults_per_cpu_second", "/CPU s"),
    RenamedMetric("system_call_rate", _PER_CPU, "system_calls_per_cpu_second", "/CPU s"),
    RenamedMetric("user_flip_rate", _OF_USER_TIME, "flips_per_user_cpu_second", "Mflip/CPU s"),
    RenamedMetric("user_flop_rate", _OF_USER_TIME, "flops_per_user_cpu_second", "Mflop/CPU s"),
    RenamedMetric(
        "user_algebraic_flop_rate", _OF_USER_TIME, "algebraic_flops_per_user_cpu_second",
        "Mflop/CPU s",
    ),
    RenamedMetric(
        "user_weighted_flop_rate", _OF_USER_TIME, "weighted_flops_per_user_cpu_second",
        "Mflop/CPU s",
    ),
)  # fmt: skip


def reading(file: Path, schema: Schema) -> str:
    """Return the SQL source of a run's table, with the present names of metrics.

    Raises:
        RunDirectoryError: DuckDB cannot open it, for its path is no UTF-8.
    """
    whole = duckdb_parquet.reading(file)
    if schema is not METRICS:
        return later_columns.completed(whole, schema)
    named = f"(SELECT * REPLACE ({_case('name')}, {_case('unit')}) FROM {whole})"
    return metric_columns.filled(named, whole)


def stored(file: Path, schema: Schema) -> str:
    """Return the SQL source of a run's table as its file has it; raises as `reading`.

    Its rows are those of `reading`, which DuckDB takes ten times as long to understand.
    """
    whole = duckdb_parquet.reading(file)
    if schema is METRICS:
        return metric_columns.completed(whole)
    return later_columns.completed(whole, schema)


def _case(column: str) -> str:
    at = {"name": 2, "unit": 3}[column]
    cases = " ".join(
        f"WHEN name = '{one.name}' AND {one.is_it} THEN '{one[at]}'" for one in RENAMED
    )
    return f"CASE {cases} ELSE {column} END AS {column}"
