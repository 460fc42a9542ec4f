"""What the server answers about source files: a part of `contract.py`."""

from __future__ import annotations

from typing import Literal, TypedDict


class Source(TypedDict):
    """A source file that the run names."""

    file: str
    path: str
    """Where it was read from."""
    text: str | None
    language: str
    state: Literal["same", "changed", "unknown", "missing", "refused", "choose"]
    """same: digest or time tell that it is what was measured; unknown: cannot be told."""
    reason: str
    """What the state is known from, or why there is no text."""
    choices: list[str]
    """Paths to choose from where several files could be it: give one as `choice`."""


class MetricLines(TypedDict):
    """Values of one metric, in the order of the lines."""

    metric: int
    inclusive: list[float | None]
    exclusive: list[float | None]
    total: float | None
    """Of the whole run, for shares; null where there are none."""


class LineValues(TypedDict):
    """Values of each line of a source file that has any."""

    file: str
    lines: list[int]
    metrics: list[MetricLines]
