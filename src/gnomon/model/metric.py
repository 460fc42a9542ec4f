"""A metric as those have it who read a run, and what may be done with its values."""

from __future__ import annotations

from enum import StrEnum

from gnomon.model.contention import EVIDENCE
from gnomon.named_tuple import NamedTuple

CPU_TIME, WAITING_TIME = "CPU time", "Waiting time"
"""What samples say of threads: how long they ran, and how long they did not."""


class Aggregation(StrEnum):
    """How the values that several locations have of a metric make one."""

    SUM = "sum"
    """They are added up: counts, CPU times."""

    MAX = "max"
    """The largest one: a peak of memory."""

    ELAPSED = "elapsed"
    """Times of the same moments: of threads the longest, of ranks their mean (store/moments.py)."""

    NONE = "none"
    """They make none: ratios, which are computed anew, and what is of the whole machine."""


AGGREGATION_OF_NAMES = {
    "wall time": Aggregation.ELAPSED, "cycle time": Aggregation.ELAPSED,
    "peak memory": Aggregation.MAX, "ru_maxrss": Aggregation.MAX,
    # Those who are others to one rank are the same to another, or another rank.
    **dict.fromkeys(EVIDENCE, Aggregation.NONE),
}  # fmt: skip
"""What the names of Gnomon's own metrics tell, in tables that do not say it."""


def is_additive(formula: str, aggregation: str | None) -> bool:
    """Return whether values of several locations or regions may be added up at all.

    Those of elapsed times may be over regions; over locations they are not (`Metric.is_elapsed`).
    """
    return not formula and aggregation not in (Aggregation.MAX, Aggregation.NONE)


def usual_aggregation(name: str, formula: str) -> Aggregation:
    """Return the aggregation of a metric of which nothing but its name and formula is known."""
    return Aggregation.NONE if formula else AGGREGATION_OF_NAMES.get(name, Aggregation.SUM)


class Metric(NamedTuple):
    """A row of the table of metrics.

    Attributes:
        aggregation: one of `Aggregation`; None, as the three below, where the writer did not say.
        absent_is_zero: a code location without a row had none of it.
        reproducible: every execution of the same program gives the same number.
        dilated: a time of the tool that slowed the program, not the program's own.
    """

    metric: int
    name: str
    unit: str
    formula: str
    how: str
    component: str
    domain: str
    scope: str
    description: str
    aggregation: str | None = None
    absent_is_zero: bool | None = None
    reproducible: bool | None = None
    dilated: bool | None = None

    @property
    def is_derived(self) -> bool:
        """Whether it comes from a formula, by which it can be computed anew."""
        return bool(self.formula)

    @property
    def is_additive(self) -> bool:
        """Whether values of several locations or regions may be added up at all."""
        return is_additive(self.formula, self.aggregation)

    @property
    def is_exact(self) -> bool:
        """Whether it is a count that every execution gives again."""
        return bool(self.reproducible) and not self.formula

    @property
    def is_elapsed(self) -> bool:
        """Whether values of several locations are times of the same moments, and no sums."""
        return self.aggregation == Aggregation.ELAPSED
