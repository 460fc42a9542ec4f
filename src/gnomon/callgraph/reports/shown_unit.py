"""The unit in which a report shows values, so that they fit its columns of two decimals."""

from __future__ import annotations

from gnomon.named_tuple import NamedTuple
from gnomon.units import printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gnomon.callgraph.call_profile import CallProfile

_WORDS = (
    (1e12, "trillions", "T"), (1e9, "billions", "G"), (1e6, "millions", "M"),
    (1e3, "thousands", "k"),
)  # fmt: skip
_SHOWN_MOST = 99_999.0


class ShownUnit(NamedTuple):
    """What values are divided by, and what they are then of: "seconds", "millions", "MB"."""

    divisor: float
    name: str


def shown_unit(profile: CallProfile) -> ShownUnit:
    """Return the unit of a profile's values in text."""
    metric = profile.metric
    unit = printable(metric.unit)
    if unit == "s":
        return ShownUnit(metric.per_unit, "seconds")
    if profile.whole / metric.per_unit > _SHOWN_MOST:
        for factor, word, prefix in _WORDS:
            if profile.whole / metric.per_unit >= factor:
                name = f"{prefix}{unit}" if unit else word
                return ShownUnit(metric.per_unit * factor, name)
    return ShownUnit(metric.per_unit, unit or "counts")
