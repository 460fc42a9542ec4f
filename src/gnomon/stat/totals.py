"""Totals of all intervals: counts that only grow, as monitoring wants them, and a summary."""

from __future__ import annotations

from threading import Lock

from gnomon.model.value import How, Value
from gnomon.stat.interval_rows import Derivation, IntervalRow, LazyRow, Sample, worst
from gnomon.stat.proc_metrics import PROC_METRICS


class EventTotal:
    """One event of one row.

    Attributes:
        sum: over intervals, in the event's unit; of a gauge over time, in its unit seconds.
        how: the least certain that an interval's was: a label that changes once at most.
        last: the value of the last interval that had one.
    """

    __slots__ = ("enabled_ns", "how", "is_gauge", "last", "raw", "running_ns", "seconds", "sum")

    def __init__(self, value: Value, *, is_gauge: bool) -> None:
        self.last = value
        self.is_gauge = is_gauge
        self.how = value.how
        self.sum: float = 0
        self.raw = 0
        self.enabled_ns = 0
        self.running_ns = 0
        self.seconds = 0.0

    def add(self, value: Value, span_ns: int) -> None:
        """Add an interval's value."""
        number = value.value
        if number is None:
            return
        self.last = value
        if value.how is not self.how:
            self.how = worst((self.how, value.how))
        self.sum += number * span_ns / 1e9 if self.is_gauge else number
        self.raw += value.raw
        self.enabled_ns += value.enabled_ns
        self.running_ns += value.running_ns
        self.seconds += span_ns / 1e9

    def value(self) -> Value:
        """Return all of it as one value; of a gauge the mean over time."""
        if self.is_gauge and self.seconds:
            mean = self.sum / self.seconds / self.last.unit_factor
            return self.last._replace(raw=0, derived=mean, is_derived=True, how=self.how)
        if self.how is How.SCALED and self.running_ns:
            # Intervals were scaled one by one: the whole is their sum.
            wanted = self.sum / self.last.unit_factor
            raw = round(wanted * self.running_ns / self.enabled_ns) if self.enabled_ns else 0
        else:
            raw = self.raw
        return self.last._replace(
            raw=raw, enabled_ns=self.enabled_ns, running_ns=self.running_ns, how=self.how
        )


class Totals:
    """The totals of every row that there was."""

    def __init__(self, derive: Derivation) -> None:
        self._derive = derive
        self.rows: dict[tuple[str, str], dict[str, EventTotal]] = {}
        self.last: dict[tuple[str, str], IntervalRow] = {}
        # Of a row that went offline the last one knows no metrics: how many CPUs it is of.
        self._metrics: dict[tuple[str, str], LazyRow] = {}
        self.gauges: set[str] = {name for name, vital in PROC_METRICS.items() if vital.info.gauge}
        self.span_ns = 0
        # A server reads on threads of its own.
        self.lock = Lock()
        self.sample: Sample | None = None

    def add(self, sample: Sample) -> None:
        """Add an interval."""
        with self.lock:
            self._add(sample)

    def _add(self, sample: Sample) -> None:
        span_ns = sample.span_ns
        for row in sample.rows:
            totals = self.rows.setdefault(row.key, {})
            for value in row.values:
                total = totals.get(value.event)
                if total is None:
                    total = EventTotal(value, is_gauge=value.event in self.gauges)
                    totals[value.event] = total
                total.add(value, span_ns)
            self.last[row.key] = row
            if isinstance(row.derived, LazyRow):
                self._metrics[row.key] = row.derived
        self.span_ns += span_ns
        self.sample = sample

    def summary(self) -> Sample | None:
        """Return the whole as one interval, None before the first."""
        if self.sample is None:
            return None
        rows = []
        for key, totals in self.rows.items():
            # What formulas come to does not add up.
            values = tuple(
                total.value()
                for total in totals.values()
                if total.is_gauge or not total.last.is_derived
            )
            known = self._metrics.get(key) or self._derive.of((), 0, None)
            metrics = known.over(values, self.span_ns)
            rows.append(self.last[key]._replace(values=values, derived=metrics, gap=""))
        last = self.sample
        return Sample(0, last.end_ns, self.span_ns, last.time, tuple(rows))
