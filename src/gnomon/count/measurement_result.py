"""What `gnomon run` gets of a measurement: its tables, what is missing, and why."""

from __future__ import annotations

from collections.abc import Sequence

from gnomon.count.run_tables import measurement_tables
from gnomon.launch.resource_usage import PEAK_MEMORY
from gnomon.launch.run_environment import this_host
from gnomon.measurement.measurement import Measurement
from gnomon.model.capability_result import Collected
from gnomon.model.tables import Table
from gnomon.model.value import Unavailable

# Of any rank the same words, which are then said once.
_NO_PEAK = "the peak was not above that of the process that executed the program"
_LESS = "start it without LD_PRELOAD and LD_AUDIT"

# Of getrusage(2), what every run has.
_RECORDED = ("ru_utime", "ru_stime", "ru_maxrss")


def capability_result(measurement: Measurement, remarks: Sequence[str] = ()) -> Collected:
    """Return the tables of one execution, with all of getrusage(2), and what is to be said of them.

    Args:
        measurement: of the execution.
        remarks: sentences that come before those of the measurement.
    """
    tables = measurement_tables([measurement], this_host())
    missing = measurement.unavailable + tuple(
        Unavailable(PEAK_MEMORY, _NO_PEAK, _LESS) for row in measurement.rusage if row.remark
    )
    _add_usage(tables, measurement)
    return Collected(tables, missing, (*remarks, *measurement.notes))


def _add_usage(tables: Sequence[Table], measurement: Measurement) -> None:
    """Add the rest of getrusage(2) as metrics of the command."""
    by_name = {table.schema.name: table for table in tables}
    metrics, profile = by_name["metrics"], by_name["profile"]
    for row in measurement.rusage:
        if row.value is None or row.field in _RECORDED:
            continue
        metric = metrics.add(
            metric=len(metrics), name=row.field, unit=row.unit, formula="", how="counted",
            component="rusage", domain="all", scope="process", description=row.description,
        )  # fmt: skip
        profile.add(
            repetition=0, location=0, path=0, metric=metric, inclusive=row.value,
            exclusive=row.value, calls=1, raw=None, enabled_ns=None, running_ns=None,
        )  # fmt: skip
