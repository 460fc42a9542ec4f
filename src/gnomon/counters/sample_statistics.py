"""How many measurements of one thing lie: moments, percentiles, a histogram."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from math import ceil

from gnomon.errors import UsageError
from gnomon.metrics.statistics import summarise
from gnomon.named_tuple import NamedTuple


class SampleStatistics(NamedTuple):
    """Where measurements lie, in their own unit.

    Attributes:
        n: how many there are.
        minimum, median, mean, maximum: as they are called.
        deviation: sample standard deviation, None for a single measurement.
        p25, p75, p95, p99: percentiles: so many percent are not above.
    """

    n: int
    minimum: float
    p25: float
    median: float
    mean: float
    deviation: float | None
    p75: float
    p95: float
    p99: float
    maximum: float


class Bin(NamedTuple):
    """How many measurements lie from `low` (included) to `high` (excluded, but in the last bin)."""

    low: float
    high: float
    n: int


def spread(values: Sequence[float]) -> SampleStatistics:
    """Return where values lie. Raises UsageError: there are none, or one is not finite."""
    whole = summarise(values)
    ordered = sorted(values)
    return SampleStatistics(
        whole.n,
        whole.minimum,
        percentile(ordered, 25),
        whole.median,
        whole.mean,
        whole.deviation,
        percentile(ordered, 75),
        percentile(ordered, 95),
        percentile(ordered, 99),
        whole.maximum,
    )


def percentile(ordered: Sequence[float], percent: float) -> float:
    """Return the smallest of the values, which are in order, that so many percent do not exceed."""
    return ordered[max(ceil(len(ordered) * percent / 100) - 1, 0)]


def histogram(values: Sequence[float], bins: int = 12) -> tuple[Bin, ...]:
    """Return how values are spread over at most so many bins up to the 99th percentile.

    All bins have one width, a whole one for whole numbers. What lies above the percentile, the tail
    that interrupts and other programs make, is one more bin.

    Raises:
        UsageError: there are no values.
    """
    if not values:
        raise UsageError("no values to spread over bins; measure at least once")
    ordered = sorted(values)
    low, high = ordered[0], percentile(ordered, 99)
    width = (high - low) / bins
    if all(float(value).is_integer() for value in ordered):
        width = max(ceil((high - low + 1) / bins), 1)
    edges = [low]
    while width > 0 and len(edges) < bins and edges[-1] + width <= high:
        edges.append(low + width * len(edges))
    starts = [bisect_left(ordered, edge) for edge in edges]
    tail = bisect_right(ordered, high)
    if tail < len(ordered):
        edges.append(ordered[tail])
        starts.append(tail)
    tops, ends = [*edges[1:], ordered[-1]], [*starts[1:], len(ordered)]
    return tuple(
        Bin(edge, top, end - start)
        for edge, top, start, end in zip(edges, tops, starts, ends, strict=True)
    )
