"""What the server answers for pictures of call paths: a part of `contract.py`."""

from __future__ import annotations

from typing import TypedDict

from gnomon.model.array_types import Floats, Ints


class Activity(TypedDict):
    """What a metric comes to in each of many equal parts of a run's time, or of a window."""

    n: int
    metric: int
    unit: str
    beginNs: int
    endNs: int
    metrics: list[int]
    """Those that can be seen over time."""
    value: Floats


class TimeOrder(TypedDict):
    """What threads did in the order of time: frames, each below those that it calls.

    Of a thread, frames come in the order in which they begin, the outer before the inner.
    """

    n: int
    beginNs: int
    endNs: int
    bins: int
    """Into how many equal parts the time from `beginNs` to `endNs` was divided."""
    lanes: list[int]
    """Numbers of locations, a lane for each."""
    leftOut: int
    """Locations that have less than these, and are not here."""
    lane: Ints
    depth: Ints
    first: Ints
    """The part of time in which a frame begins."""
    last: Ints
    """The part behind its last one."""
    node: Ints
    """Of the top-down tree."""
    value: Floats


class NodeDifferences(TypedDict):
    """Pairs of nodes of two runs, in the order in which they were asked for."""

    n: int
    likely: float
    """Below this p says that there is a difference."""
    before: Floats
    after: Floats
    p: Floats
    """Adjusted over all pairs; NaN where nobody can say."""
