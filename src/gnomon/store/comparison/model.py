"""What a comparison of runs consists of: rows, limits and what breaks them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gnomon.metrics.metric_direction import LESS, MORE
from gnomon.metrics.significance import Difference
from gnomon.named_tuple import NamedTuple
from gnomon.store.comparison.samples import Place, Side

SURE = 0.01
"""A difference is called sure where its adjusted p-value is below this."""

LIKELY = 0.05
"""Likely, below this."""

MACHINE = "machine"
"""The verdict on a difference that others on the machine explain."""

WALL = "wall time"
"""The question asked first: it is judged by itself."""


@dataclass(frozen=True, slots=True)
class ComparisonRow:
    """One metric at one place, on the baseline and on another side.

    Attributes:
        place: where; `WHOLE` for the whole command.
        metric, unit, how: what; `how` is "" if the sides disagree.
        worse: which direction is worse: "more", "less" or "".
        before, after: trimmed means of the values; None where there are none.
        samples: how many values each side has.
        found: the difference; None where it cannot be judged.
        own: the program's part of the difference, where others on the machine may have
            made some of it; None where they cannot.
        p: adjusted for the number of comparisons; None likewise. It is that of `own`, where this
            is less sure.
        measured_p: that of `found`, likewise adjusted.
        margin: a difference up to this share is none.
        unjudged: why it is not judged, "" if it is.
        is_exact: every execution gives the same value: any difference is one.
    """

    place: Place
    metric: str
    unit: str
    how: str
    worse: str
    before: float | None
    after: float | None
    samples: tuple[int, int]
    found: Difference | None = None
    own: Difference | None = None
    p: float | None = None
    measured_p: float | None = None
    margin: float = 0.0
    unjudged: str = ""
    is_exact: bool = False

    @property
    def change(self) -> float | None:
        """What `after` is more than `before`, as a share; None where there is no such ratio."""
        if self.found is not None:
            return self.found.change
        if self.before is None or self.after is None or self.before == 0:
            return None
        return (self.after - self.before) / abs(self.before)

    @property
    def is_sure(self) -> bool:
        """Whether there is a difference, with 99 %."""
        return self.p is not None and self.p < SURE

    @property
    def is_of_machine(self) -> bool:
        """Whether there is a difference that others on the machine explain."""
        if self.p is None or self.measured_p is None:
            return False
        return self.measured_p < LIKELY <= self.p

    @property
    def verdict(self) -> str:
        """worse, better, more, less, machine, or "" where no difference is at least likely."""
        if self.p is None or self.found is None:
            return ""
        if self.is_of_machine:
            return MACHINE
        if self.p >= LIKELY:
            return ""
        direction = MORE if self.found.shift > 0 else LESS
        if self.worse:
            return "worse" if direction == self.worse else "better"
        return direction


class Limit(NamedTuple):
    """What `--fail-on` asks for: no metric (or that one) worse by more than a share.

    Attributes:
        metric: "" for every metric of which it is known which direction is worse.
        share: 0.05 for 5 %.
        worse: direction that is worse of a named metric, "" for that of the data.
    """

    metric: str
    share: float
    worse: str = ""


class Breach(NamedTuple):
    """A metric of a side that is surely worse by more than a limit; p is adjusted.

    `change` is None where the baseline had nothing, of which there is no share.
    """

    side: str
    metric: str
    change: float | None
    share: float
    p: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """A side against the baseline.

    Attributes:
        baseline, other: the sides.
        whole: rows of the whole command, what matters first.
        places: rows of functions, lines, threads, ...; those with the largest effect first.
        per: what the places are; one of `sides.PLACES`, "" for none.
        with_places: the metrics that places have values of, in the order of the runs.
        totals: of the baseline, by metric of `places`.
        small: how many places were left out as too small to matter.
        notes: what to know of the comparison.
        others: CPUs that others used meanwhile, on each side; None if not known.
        waited: which part of its wall time the program waited for a CPU, on each side; None if
            not known.
    """

    baseline: Side
    other: Side
    whole: tuple[ComparisonRow, ...]
    places: tuple[ComparisonRow, ...]
    per: str
    with_places: tuple[str, ...]
    totals: Mapping[str, float]
    small: int
    notes: tuple[str, ...]
    others: tuple[float, float] | None = None
    waited: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class ComparisonOptions:
    """How to compare.

    Attributes:
        per: one of `sides.PLACES`, "" for the whole command alone.
        metrics: names of metrics to judge, in any case and with or without PAPI_; () for all of
            the whole command, and the first of places.
        at_least: differences up to this share are none; None for the default, which is 0.02 for
            sides of one run, 0.01 for sides of several, and 0.001 for what was emulated.
        any_machine: judge sides that were measured on different machines.
        limits: of `--fail-on`.
    """

    per: str = ""
    metrics: tuple[str, ...] = ()
    at_least: float | None = None
    any_machine: bool = False
    limits: tuple[Limit, ...] = ()
