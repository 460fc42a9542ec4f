"""From measurements to what they mean: derived metrics, and the spread over repetitions."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import cache
from types import MappingProxyType

from gnomon.counters.sysfs_pmu import core_pmus
from gnomon.launch.resource_usage import PEAK_MEMORY
from gnomon.measurement.measurement import GroupPart, Measurement
from gnomon.metrics import user_definitions
from gnomon.metrics.definitions import Metrics
from gnomon.metrics.derived import MetricValue, computable, formula_inputs, possible
from gnomon.metrics.user_constants import read_user_constants
from gnomon.model.value import How, Value
from gnomon.named_tuple import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gnomon.counters.hardware.metric_constants import Constants
    from gnomon.metrics.statistics import Summary

_HOW_ORDER = tuple(How)


class RepeatStatistics(NamedTuple):
    """One quantity over repeated executions; `how` is the least certain of the repetitions'."""

    name: str
    unit: str
    how: How
    summary: Summary


def core_models() -> tuple[str, ...]:
    """Return libpfm4's names of the core PMUs that the kernel shows, () without any."""
    return _constants().cpus() if core_pmus() else ()


class _Machine:
    """What formulas may ask of this machine, looked up when one does."""

    def constant(self, name: str) -> float | None:
        return _constants().constant(name)

    def cpus(self) -> tuple[str, ...]:
        return _constants().cpus()


MACHINE = _Machine()
"""This machine, for those who compute metrics of their own counts."""


@cache
def _constants() -> Constants:
    from gnomon.counters.hardware.metric_constants import Constants

    return Constants()


def formula_variables(measurement: Measurement) -> dict[str, float | None]:
    """Return the variables that formulas may use beside events."""

    def seconds(ns: int | None) -> float | None:
        return None if ns is None else ns / 1e9

    if measurement.emulation is not None:
        # The times are the emulator's: nothing of the program follows from them.
        return {"wall_seconds": None, "user_seconds": None, "system_seconds": None,
                "cpus": os.cpu_count() or 1}  # fmt: skip
    # CPU time is the program's from its beginning: of nothing else that may have been counted.
    is_others = measurement.covers and measurement.command
    whole = not is_others and not measurement.delay_ns
    return {
        "wall_seconds": measurement.wall_ns / 1e9,
        "user_seconds": seconds(measurement.user_ns) if whole else None,
        "system_seconds": seconds(measurement.system_ns) if whole else None,
        "cpus": os.cpu_count() or 1,
    }


Definitions = dict[Hashable, Metrics]
"""Those that measurements can have values of, by what is the same in these but the values."""


def derive_metrics(measurement: Measurement) -> tuple[MetricValue, ...]:
    """Return the derived metrics that follow from what was counted."""
    refused = [one.event for one in measurement.unavailable]
    return metrics_of_values(measurement.values, formula_variables(measurement), refused)


def metrics_of_values(
    values: Iterable[Value],
    numbers: Mapping[str, float | None],
    refused: Iterable[str],
    tasks: Mapping[str, int] = MappingProxyType({}),
    definitions: Definitions | None = None,
) -> tuple[MetricValue, ...]:
    """Return the derived metrics that follow from values.

    Args:
        values: of events; of one execution, or what came out of several tasks of a job.
        numbers: the variables that formulas may use beside them.
        refused: events that have no value.
        tasks: `Quantity.tasks` of each value, by event or variable of formulas.
        definitions: who asks for many measurements of the same events gives the same each time,
            empty at first.
    """
    if tasks:  # on whatever nodes
        numbers = {**numbers, "cpus": None}
    inputs = formula_inputs(values, numbers, read_user_constants(os.environ), refused, tasks)
    if definitions is None:
        return computable(user_definitions.metrics(), inputs, MACHINE)
    alike = tuple((name, one.domain, one.is_event, one.tasks) for name, one in inputs.items())
    if alike not in definitions:
        definitions[alike] = possible(user_definitions.metrics(), inputs, MACHINE)
    return computable(definitions[alike], inputs, MACHINE)


def part_as_measurement(measurement: Measurement, part: GroupPart) -> Measurement:
    """Return the counts of one of several groups as a measurement of its own."""
    return measurement._replace(
        values=part.values,
        wall_ns=part.wall_ns,
        user_ns=part.user_ns,
        system_ns=part.system_ns,
        unavailable=part.unavailable,
        rusage=(),
        parts=(),
    )


def without_parts(measurement: Measurement) -> Measurement:
    """Return the events that counted all the time in a run in which groups took turns."""
    counted = {value.event for part in measurement.parts for value in part.values}
    values = tuple(value for value in measurement.values if value.event not in counted)
    missing = {one.event for part in measurement.parts for one in part.unavailable}
    rest = tuple(one for one in measurement.unavailable if one.event not in missing)
    return measurement._replace(values=values, unavailable=rest, parts=())


def metrics_of_counts(measurement: Measurement) -> tuple[MetricValue, ...]:
    """Return the metrics that follow from counts, and not from times alone."""
    return not_of_times_alone(derive_metrics(measurement))


def not_of_times_alone(metrics: Iterable[MetricValue]) -> tuple[MetricValue, ...]:
    """Return those of metrics that follow from a count, too."""
    return tuple(metric for metric in metrics if metric.scope is not None)


def repeat_statistics(measurements: Sequence[Measurement]) -> tuple[RepeatStatistics, ...]:
    """Return times, peak memory, counters and metrics over repetitions, what all of them have."""
    from gnomon.metrics.statistics import summarise

    rows: dict[str, list[tuple[str, How, float | None]]] = {}
    for measurement in measurements:
        times = (("wall time", measurement.wall_ns), ("user time", measurement.user_ns),
                 ("system time", measurement.system_ns))  # fmt: skip
        for name, ns in times:
            rows.setdefault(name, []).append(("ns", How.COUNTED, ns))
        for usage in measurement.rusage:
            if usage.field == "ru_maxrss":
                bytes_most = None if usage.value is None else usage.value * 1024
                rows.setdefault(PEAK_MEMORY, []).append(("bytes", How.COUNTED, bytes_most))
        for value in measurement.values:
            rows.setdefault(value.event, []).append((value.unit, value.how, value.value))
        for metric in derive_metrics(measurement):
            rows.setdefault(metric.name, []).append((metric.unit, metric.how, metric.value))
    statistics = []
    for name, seen in rows.items():
        numbers = [number for _, _, number in seen if number is not None]
        if len(numbers) == len(measurements):
            how = max((h for _, h, _ in seen), key=_HOW_ORDER.index)
            statistics.append(RepeatStatistics(name, seen[0][0], how, summarise(numbers)))
    return tuple(statistics)
