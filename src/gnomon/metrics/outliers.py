"""Which of many alike values stand out: ranks of a job, repetitions, threads."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gnomon.model.array_types import Flags, Floats

SCORE_LEAST = 5.0
"""Of 100,000 values that differ by chance none has so much; the source takes 3.5 for a few."""
FEWEST = 4
"""Of fewer values none stands out."""
# They make either deviation that of normally spread values.
_MAD_SCALE, _MEAN_SCALE = 1.4826, 1.2533


def deviation_scores(values: Floats) -> Floats:
    """Return by how many standard deviations each value is above the median, as if spread normally.

    The modified z-score of Iglewicz and Hoaglin ("How to Detect and Handle Outliers", 1993): by the
    median and the median absolute deviation, which outliers do not move; by the mean absolute
    deviation where more than half of the values are equal. 0 for all where they are too few
    (`FEWEST`), or all are equal.

    Args:
        values: all of them finite, in the order of the answer.
    """
    import numpy as np

    if len(values) < FEWEST:
        return np.zeros(len(values))
    away = values - np.median(values)
    spread = _MAD_SCALE * float(np.median(np.abs(away))) or _MEAN_SCALE * float(np.abs(away).mean())
    return away / spread if spread else np.zeros(len(values))


def outliers(values: Floats, least: float) -> Flags:
    """Return which values are outliers: their score is above `SCORE_LEAST`, below its negative.

    Args:
        values: all of them finite, in the order of the answer.
        least: who is nearer to the median than this is none, whatever the score: a difference
            that matters to nobody.
    """
    import numpy as np

    if not len(values):
        return np.zeros(0, dtype=bool)
    is_far: Flags = np.abs(values - np.median(values)) > least
    return is_far & (np.abs(deviation_scores(values)) > SCORE_LEAST)
