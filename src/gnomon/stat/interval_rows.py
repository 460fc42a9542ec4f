"""The results of one interval: a row for the machine, a CPU, a cgroup, a process.

A row has the values of events and of vitals in one sequence; what a value is (a count that grows,
or a gauge that has a present value) says its `EventInfo`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence

from gnomon.counters.component import Event, RawCount, make_value
from gnomon.counters.per_cpu import total
from gnomon.measurement import measurement_metrics
from gnomon.metrics import user_definitions
from gnomon.metrics.definitions import Metrics
from gnomon.metrics.derived import FormulaInput, MetricValue, computable, formula_inputs, possible
from gnomon.metrics.user_constants import read_user_constants
from gnomon.model.value import Domain, How, Scope, Unavailable, Value
from gnomon.named_tuple import NamedTuple
from gnomon.stat.proc_metrics import PROC_METRICS, SYSTEM_TIME, USER_TIME, Numbers

MACHINE = "machine"
CPU = "cpu"
CORE = "core"
NODE = "node"
SOCKET = "socket"
CGROUP = "cgroup"
PROCESS = "process"


class LazyRow:
    """Metrics computed on first use: those of most rows of a large machine are never used."""

    __slots__ = ("_cpus", "_derivation", "_found", "_span_ns", "_values")

    def __init__(
        self, derivation: Derivation, values: Sequence[Value], span_ns: int, cpus: int | None
    ) -> None:
        self._derivation = derivation
        self._values = values
        self._span_ns = span_ns
        self._cpus = cpus
        self._found: tuple[MetricValue, ...] | None = None

    def metrics(self) -> tuple[MetricValue, ...]:
        """Return them."""
        if self._found is None:
            self._found = self._derivation.compute(self._values, self._span_ns, self._cpus)
        return self._found

    def over(self, values: Sequence[Value], span_ns: int) -> LazyRow:
        """Return the metrics of other values of the same place."""
        return LazyRow(self._derivation, values, span_ns, self._cpus)


class IntervalRow(NamedTuple):
    """The values of one place in one interval.

    Attributes:
        kind: what it is a row of: MACHINE, CPU, CORE, NODE, SOCKET, CGROUP or PROCESS.
        name: its number or name; "" for the machine.
        values: counts of the interval; of gauges the value at its end.
        derived: what follows from them, or what computes it.
        program: of a process, its name.
        gap: why nothing was counted, in a few words; "" if it was.
    """

    kind: str
    name: str
    values: tuple[Value, ...]
    derived: tuple[MetricValue, ...] | LazyRow = ()
    program: str = ""
    gap: str = ""

    @property
    def metrics(self) -> tuple[MetricValue, ...]:
        """What follows from the values, computed when it is asked for first."""
        return self.derived.metrics() if isinstance(self.derived, LazyRow) else self.derived

    @property
    def key(self) -> tuple[str, str]:
        """What tells it from other rows, in every interval."""
        return self.kind, self.name


class Sample(NamedTuple):
    """One interval.

    Attributes:
        number: 1 for the first; 0 for a summary.
        end_ns: its end, in nanoseconds since counting began, on a clock that stands still while
            the machine is suspended.
        span_ns: how long it was on that clock.
        time: its end in seconds since the epoch.
        rows: in a fixed order; those of the machine, if any, first.
        notes: what happened: a CPU that went, a process that ended.
    """

    number: int
    end_ns: int
    span_ns: int
    time: float
    rows: tuple[IntervalRow, ...]
    notes: tuple[str, ...] = ()


Counts = Mapping[str, RawCount]
"""Counts of one place, by event."""


def summed(events: Iterable[Event], places: Sequence[Counts]) -> list[Value]:
    """Return the values of events over places; a formula has none for several."""
    values = []
    for event in events:
        name = event.name
        here = [place[name] for place in places if name in place]
        if here and not (event.is_derived and len(here) > 1):
            values.append(make_value(event, *total(here)))
    return values


def vital_values(
    before: Numbers, now: Numbers, span_ns: int, scope: Scope = Scope.NODE
) -> list[Value]:
    """Return the increase of vitals; of gauges the present value.

    The kernel's idle and iowait times go back now and then: that is no time at all.
    """
    values = []
    for name, number in now.items():
        info, factor = PROC_METRICS[name]
        if not info.gauge:
            if name not in before:
                continue
            number = max(number - before[name], 0)
        values.append(
            Value(
                name, info.component, number, span_ns, span_ns, info.unit, factor, Domain.ALL,
                scope, info.how,
            )
        )  # fmt: skip
    return values


class Derivation:
    """Computes the metrics of rows: which are possible is found out once for each set of names."""

    def __init__(self, refused: Iterable[Unavailable]) -> None:
        """Prepare; `refused` are the events that were asked for and cannot be counted."""
        self._refused = [one.event for one in refused]
        self._given = read_user_constants(os.environ)
        self._possible: dict[tuple[str, ...], Metrics] = {}

    def of(self, values: Sequence[Value], span_ns: int, cpus: int | None) -> LazyRow:
        """Return the lazy metrics of a row's values; the arguments are `compute`'s."""
        return LazyRow(self, values, span_ns, cpus)

    def compute(
        self, values: Sequence[Value], span_ns: int, cpus: int | None
    ) -> tuple[MetricValue, ...]:
        """Return the metrics of a row's values.

        Args:
            values: of one place.
            span_ns: how long the interval was.
            cpus: how many CPUs the row is of; None if it is of none.
        """
        by_name = {value.event: value for value in values}
        events = [value for value in values if value.event not in PROC_METRICS]
        variables = {
            "wall_seconds": span_ns / 1e9,
            "user_seconds": None,
            "system_seconds": None,
            "cpus": cpus or os.cpu_count() or 1,
        }
        inputs = formula_inputs(events, variables, self._given, self._refused)
        for name, vital in (("user_seconds", USER_TIME), ("system_seconds", SYSTEM_TIME)):
            if vital in by_name:
                inputs[name] = FormulaInput(by_name[vital].value, by_name[vital].how)
        names = tuple(inputs)
        if names not in self._possible:
            self._possible[names] = possible(
                user_definitions.metrics(), inputs, measurement_metrics.MACHINE
            )
        found = computable(self._possible[names], inputs, measurement_metrics.MACHINE)
        # What follows from times alone is in the columns of CPU time already.
        return tuple(metric for metric in found if metric.scope is not None)


def worst(hows: Iterable[How]) -> How:
    """Return the least certain of several ways in which numbers were obtained."""
    order = tuple(How)
    return max(hows, key=order.index, default=How.COUNTED)
