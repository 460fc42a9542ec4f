"""Which of many alike values stand out: ranks of a job, repetitions, threads."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gnomon.model.array_types import Flags, Floats

# Of a normal distribution the standard deviation is so many median absolute deviations.
_NORMAL = 1.4826
_DEVIATIONS = 3.5
_SHARE = 0.05


def outliers(values: Floats) -> Flags:
    """Return which values are outliers, by median and median absolute deviation (MAD).

    An outlier is further from the median than 3.5 times 1.4826 MAD (Iglewicz and Hoaglin 1993,
    "How to Detect and Handle Outliers"), and than 5 % of the median: where nearly all values are
    equal, the MAD is next to nothing, and small differences are none worth a look.

    Args:
        values: all of them finite, in the order of the answer.
    """
    import numpy as np

    if len(values) < 3:
        return np.zeros(len(values), dtype=bool)
    median = float(np.median(values))
    distance = np.abs(values - median)
    limit = max(_DEVIATIONS * _NORMAL * float(np.median(distance)), _SHARE * abs(median))
    return distance > limit
