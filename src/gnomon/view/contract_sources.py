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


class AssemblyInstruction(TypedDict):
    """An instruction of a function, with its value."""

    address: int
    bytes: str
    """In hexadecimal digits."""
    text: str
    value: float | None
    samples: int | None
    file: str
    line: int
    """Of the source; 0 where it is not known."""
    function: str
    """That it was written in: another one where it was inlined."""
    block: int
    """The number of its basic block."""
    kind: Literal["", "jump", "call", "return"]
    target: str
    """Where it goes, in words; "" if nowhere."""
    targetAddress: int | None


class AssemblyJump(TypedDict):
    """All jumps to one instruction, as one line with several ends."""

    target: int
    sources: list[int]
    """Addresses."""
    lane: int
    """The column that it is drawn in, 0 nearest to the instructions."""


class Assembly(TypedDict):
    """The machine code of a function."""

    function: str
    module: str
    metric: str
    unit: str
    """Of all values: that of the metric, or "ticks"."""
    how: str
    isX86: bool
    """It can be shown in either of two syntaxes."""
    whole: float | None
    """What the program has."""
    total: float | None
    """What the function has itself."""
    instructions: list[AssemblyInstruction]
    jumps: list[AssemblyJump]
    elsewhere: float | None
    """What is at no known address, or at one that is not in this code."""
    whyNone: str
    """Why there are no instructions; "" if there are some."""
    whyNoLines: str
    """Why no line is known; "" if some are."""
