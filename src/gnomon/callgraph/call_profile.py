"""What a profile says of functions and of calls between them, before anything follows from it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING

from gnomon.named_tuple import NamedTuple

if TYPE_CHECKING:
    from gnomon.model.array_types import Flags, Floats, Ints, Longs

UNKNOWN = -1
"""A number of calls that nobody counted."""


class Sources(Enum):
    """Of which functions the file and line are looked up."""

    OF_NONE = auto()
    OF_STATIC = auto()
    """Those that are known in one object file only, and used."""
    OF_USED = auto()
    OF_ALL = auto()


class GraphMetric(NamedTuple):
    """What values of a graph are of.

    Attributes:
        name: of the metric.
        unit: of its values.
        how: one of `How`.
        per_unit: what values are divided by to be in that unit: samples per second of gmon.out.
        sample_bytes: how many bytes of code one count of a histogram stands for; 0 without one.
    """

    name: str
    unit: str
    how: str
    per_unit: float = 1.0
    sample_bytes: int = 0


@dataclass(frozen=True, slots=True)
class CallProfile:
    """Functions in the order of their addresses, or as they were first there, and their arcs.

    n functions and m arcs; no two arcs have the same caller and callee.

    Attributes:
        program: what ran.
        metric: of the values.
        name: n names as the program has them, by which they are sorted.
        title: n names as people write them.
        module: n programs and libraries.
        file, line: of the source of each function; "" and 0 where it is not known.
        is_static: which are known in one object file only.
        own: what each has itself, float64 of n.
        whole: what the program has, in functions or not.
        caller, callee: of each arc, int32 of m, in the order in which the profile first has them.
        calls: how many of each arc, int64 of m; UNKNOWN where they were not counted.
        arc_total: what calls of each arc came to, with all that was called, float64 of m; NaN where
            that is not known, and follows from numbers of calls.
        arc_own: of it what the callee itself has; NaN likewise.
        calls_of: how often each function was entered, from wherever, int64 of n; None where that is
            the sum of its arcs.
        n_files: how many files it is the sum of.
    """

    program: str
    metric: GraphMetric
    name: tuple[str, ...]
    title: tuple[str, ...]
    module: tuple[str, ...]
    file: tuple[str, ...]
    line: Ints
    is_static: Flags
    own: Floats
    whole: float
    caller: Ints
    callee: Ints
    calls: Longs
    arc_total: Floats
    arc_own: Floats
    calls_of: Longs | None = None
    n_files: int = 1

    @property
    def has_counts(self) -> bool:
        """Whether calls were counted."""
        return bool((self.calls != UNKNOWN).all()) and (
            self.calls_of is not None or len(self.calls) > 0
        )

    @property
    def has_totals(self) -> bool:
        """Whether it is known what calls came to, not only how many there were."""
        import numpy as np

        return bool(len(self.arc_total)) and not bool(np.isnan(self.arc_total).any())
