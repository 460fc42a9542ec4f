"""How much of each sampled metric the samples of a run stand for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gnomon.named_tuple import NamedTuple

if TYPE_CHECKING:
    from gnomon.store.run import Run

QUERY = """
SELECT s.metric, m.name, COUNT(*), SUM(s.weight), SUM(s.weight * s.weight)
FROM samples s JOIN metrics m USING (metric) WHERE m.how = 'sampled' AND isfinite(s.weight)
GROUP BY s.metric, m.name
"""
"""For the columns of `SampleWeights`."""


class SampleWeights(NamedTuple):
    """The weights of a metric's samples.

    Attributes:
        metric: its number.
        name: of the metric.
        n: how many samples there are.
        total: what they stand for.
        squares: the sum of their squares.
    """

    metric: int
    name: str
    n: int
    total: float
    squares: float


def sample_weights(run: Run) -> list[SampleWeights]:
    """Return the weights of each metric whose samples the run has.

    Raises:
        RunDirectoryError: the tables cannot be read.
    """
    return [SampleWeights(*row) for row in run.query(QUERY, threads=1)]
