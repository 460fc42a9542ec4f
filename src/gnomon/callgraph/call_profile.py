"""What a profile says of functions and of calls between them, before anything follows from it."""

from __future__ import annotations

from enum import Enum, auto
from functools import cached_property

from gnomon.named_tuple import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Protocol, TypeAlias

    import numpy.typing as npt

    from gnomon.model.array_types import Floats, Ints, Longs

    Buffer: TypeAlias = bytes | bytearray | memoryview[Any] | npt.NDArray[Any]
    """Numbers as C has them, or an array."""

    class Places(Protocol):
        """Where the functions of a profile stand in sources."""

        def files(self) -> tuple[str, ...]:
            """Return the file of each function, "" where it is not known."""

        def lines(self) -> Ints:
            """Return the line of each, int32; 0 where it is not known."""

        def static_files(self) -> tuple[str, ...]:
            """Return the file of each that is known in one object file only, "" of others."""


UNKNOWN = -1
"""A number of calls that nobody counted."""


class Sources(Enum):
    """Of which functions the file and line are looked up."""

    OF_NONE = auto()
    OF_STATIC = auto()
    """Those that are known in one object file only."""
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


class KnownPlaces:
    """Where functions stand that are told apart by their sources.

    Args:
        files, lines: of each function.
    """

    def __init__(self, files: tuple[str, ...], lines: npt.ArrayLike) -> None:
        import numpy as np

        self._files = files
        self._lines = np.asarray(lines, np.int32)

    def files(self) -> tuple[str, ...]:
        """Return the file of each function, "" where it is not known."""
        return self._files

    def lines(self) -> Ints:
        """Return the line of each, int32; 0 where it is not known."""
        return self._lines

    def static_files(self) -> tuple[str, ...]:
        """Return "" for each: none is known as one of an object file only."""
        return ("",) * len(self._files)


class CallProfile:
    """Functions in the order of their addresses, or as they were first there, and their arcs.

    n functions and m arcs; no two arcs have the same caller and callee. Arrays are made when
    somebody asks for them: the reports of gprof need none.

    Attributes:
        program: what ran.
        metric: of the values.
        name: n names as the program has them, by which they are sorted.
        title: n names as people write them.
        module: n programs and libraries.
        places: where they stand in sources.
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

    def __init__(
        self, *, program: str, metric: GraphMetric, name: tuple[str, ...], title: tuple[str, ...],
        module: tuple[str, ...], places: Places, own: Buffer, whole: float, caller: Buffer,
        callee: Buffer, calls: Buffer, arc_total: Buffer | None = None,
        arc_own: Buffer | None = None, calls_of: Buffer | None = None, n_files: int = 1,
    ) -> None:  # fmt: skip
        self.program = program
        self.metric = metric
        self.name = name
        self.title = title
        self.module = module
        self.places = places
        self.whole = whole
        self.n_files = n_files
        self.columns = Columns(
            _column(own, "f8"), _column(caller, "i4"), _column(callee, "i4"),
            _column(calls, "i8"), None if arc_total is None else _column(arc_total, "f8"),
            None if arc_own is None else _column(arc_own, "f8"),
            None if calls_of is None else _column(calls_of, "i8"),
        )  # fmt: skip

    def mangled(self) -> CallProfile:
        """Return it with the names that the program has."""
        own = self.columns
        return CallProfile(
            program=self.program, metric=self.metric, name=self.name, title=self.name,
            module=self.module, places=self.places, own=own.own, whole=self.whole,
            caller=own.caller, callee=own.callee, calls=own.calls, arc_total=own.arc_total,
            arc_own=own.arc_own, calls_of=own.calls_of, n_files=self.n_files,
        )  # fmt: skip

    @cached_property
    def own(self) -> Floats:  # noqa: D102
        return _array(self.columns.own, "f8")

    @cached_property
    def caller(self) -> Ints:  # noqa: D102
        return _array(self.columns.caller, "i4")

    @cached_property
    def callee(self) -> Ints:  # noqa: D102
        return _array(self.columns.callee, "i4")

    @cached_property
    def calls(self) -> Longs:  # noqa: D102
        return _array(self.columns.calls, "i8")

    @cached_property
    def arc_total(self) -> Floats:  # noqa: D102
        return self._of_arcs(self.columns.arc_total)

    @cached_property
    def arc_own(self) -> Floats:  # noqa: D102
        return self._of_arcs(self.columns.arc_own)

    def _of_arcs(self, column: Buffer | None) -> Floats:
        import numpy as np

        return np.full(len(self.calls), np.nan) if column is None else _array(column, "f8")

    @cached_property
    def calls_of(self) -> Longs | None:  # noqa: D102
        column = self.columns.calls_of
        return None if column is None else _array(column, "i8")

    @property
    def file(self) -> tuple[str, ...]:
        """The file of each function's source, "" where it is not known."""
        return self.places.files()

    @property
    def line(self) -> Ints:
        """The line of each function's source, int32 of n; 0 where it is not known."""
        return self.places.lines()

    @property
    def has_counts(self) -> bool:
        """Whether calls were counted."""
        return bool((self.calls != UNKNOWN).all()) and (
            self.columns.calls_of is not None or len(self.calls) > 0
        )

    @property
    def has_totals(self) -> bool:
        """Whether it is known what calls came to, not only how many there were."""
        import numpy as np

        if self.columns.arc_total is None:
            return False
        return bool(len(self.arc_total)) and not bool(np.isnan(self.arc_total).any())


class Columns(NamedTuple):
    """The columns of a profile as C has them; None where there is none."""

    own: Buffer
    caller: Buffer
    callee: Buffer
    calls: Buffer
    arc_total: Buffer | None
    arc_own: Buffer | None
    calls_of: Buffer | None


def _column(values: Buffer, kind: str) -> Buffer:
    """Return numbers that lie as C has them."""
    if isinstance(values, (bytes, bytearray, memoryview)):
        return values
    import numpy as np

    return np.ascontiguousarray(values, kind)


def _array(values: Buffer, kind: str) -> npt.NDArray[Any]:
    import numpy as np

    return np.frombuffer(values, kind) if len(values) else np.zeros(0, kind)
