"""How well ranks share their work, and which of them stand out.

Efficiencies are those of POP (https://pop-coe.eu/node/69): of the time that each rank computes,
which is what is left of its time between MPI_Init and MPI_Finalize without that in MPI. Ranks stand
out by the rule of `gnomon.metrics.outliers`, which the ranks that stand out do not move.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gnomon.metrics.outliers import deviation_scores
from gnomon.metrics.outliers import outliers as stand_out
from gnomon.named_tuple import NamedTuple

if TYPE_CHECKING:
    from gnomon.model.array_types import Cells, Flags, Floats
    from gnomon.mpi.mpi_values import Ranks

COMPUTING, WAITING, SENT = "computing", "waiting", "bytes sent"
"""What ranks may stand out by."""

_OF_ELAPSED_LEAST, _OF_MEDIAN_LEAST = 0.02, 0.1
"""What differs by less matters to nobody: seconds of those elapsed, bytes of the median."""


class Efficiency(NamedTuple):
    """Efficiencies of a run, the means of its executions; shares are from 0 to 1.

    Attributes:
        ranks: processes whose time is known, of one execution in the mean.
        elapsed: seconds of the rank that took longest.
        least: which part of a rank's time is in MPI, of the rank with the smallest part.
        mean: of all ranks.
        most: of the rank with the largest part.
        parallel: mean computing time of elapsed.
        balance: mean computing time of the most that a rank has; None where no rank computes.
        communication: the most that a rank has of elapsed.
        overlapping: ranks with more time in MPI than elapsed, which several threads spent there.
    """

    ranks: float
    elapsed: float
    least: float
    mean: float
    most: float
    parallel: float
    balance: float | None
    communication: float
    overlapping: int


class Outlier(NamedTuple):
    """A rank that stands out.

    Attributes:
        row: its place among the ranks.
        by: what it stands out by: one of the names above.
        value: what it has, in seconds or bytes.
        median: of all ranks of its execution.
        score: how many standard deviations it is away, as if values were normally spread; below 0
            if it has less.
    """

    row: int
    by: str
    value: float
    median: float
    score: float


def computing(ranks: Ranks) -> Floats:
    """Return the seconds that each rank spent between MPI_Init and MPI_Finalize, not in MPI."""
    left: Floats = np.maximum(ranks.elapsed - ranks.inside, 0.0)
    return left


def efficiency(ranks: Ranks) -> Efficiency | None:
    """Return the efficiencies; None where no rank's time is known."""
    is_known = ~np.isnan(ranks.elapsed)
    if not is_known.any():
        return None
    useful = computing(ranks)
    executions = []
    for number in np.unique(ranks.repetition[is_known]):
        own = is_known & (ranks.repetition == number)
        executions.append(_of_execution(ranks.elapsed[own], ranks.inside[own], useful[own]))
    balances = [one.balance for one in executions if one.balance is not None]
    means = {
        name: float(np.mean([getattr(one, name) for one in executions]))
        for name in Efficiency._fields
        if name not in ("balance", "overlapping")
    }
    return Efficiency(
        balance=float(np.mean(balances)) if balances else None,
        overlapping=int(((ranks.inside > ranks.elapsed) & is_known).sum()),
        **means,
    )


def _of_execution(elapsed: Cells, inside: Cells, useful: Cells) -> Efficiency:
    longest, most = float(elapsed.max()), float(useful.max())
    mean = float(useful.mean())
    shares = np.minimum(inside / elapsed, 1.0)
    return Efficiency(
        len(elapsed), longest, float(shares.min()), float(shares.mean()), float(shares.max()),
        mean / longest, mean / most if most else None, most / longest, 0,
    )  # fmt: skip


def outliers(ranks: Ranks) -> list[Outlier]:
    """Return what ranks stand out by, once for each rank: by times first, the clearest first."""
    clearest: dict[int, Outlier] = {}
    for number in np.unique(ranks.repetition):
        own = ranks.repetition == number
        times = ranks.elapsed[own & ~np.isnan(ranks.elapsed)]
        least = _OF_ELAPSED_LEAST * float(times.max()) if len(times) else 0.0
        for by, values in ((COMPUTING, computing(ranks)), (WAITING, ranks.waiting)):
            _add_outliers(clearest, by, values, own, least)
        _add_outliers(clearest, SENT, ranks.sent, own, None)
    return sorted(clearest.values(), key=lambda one: (one.by == SENT, -abs(one.score), one.row))


def _add_outliers(
    clearest: dict[int, Outlier], by: str, values: Cells, own: Flags, least: float | None
) -> None:
    """Add the ranks whose value differs from the median by `least`; None: by a part of it."""
    rows = np.flatnonzero(own & ~np.isnan(values))
    if not len(rows):
        return
    median = float(np.median(values[rows]))
    least = _OF_MEDIAN_LEAST * median if least is None else least
    is_far = stand_out(values[rows], least)
    scores = deviation_scores(values[rows])[is_far]
    for row, score in zip(rows[is_far].tolist(), scores.tolist(), strict=True):
        # What waits for less because it computes for longer is told of once.
        clearest.setdefault(row, Outlier(row, by, float(values[row]), median, score))
