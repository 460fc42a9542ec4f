"""What each of several files says of the functions of all."""

from __future__ import annotations

from gnomon.named_tuple import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path

    from gnomon.model.array_types import Floats, Longs


class FileValues(NamedTuple):
    """What one of several files says of n functions, in the units of the profile of all.

    Attributes:
        path: the file.
        own: what each function has itself, float64.
        total: with all that it calls, float64.
        calls: of each function, from itself too, int64; None where they were not counted.
    """

    path: Path
    own: Floats
    total: Floats
    calls: Longs | None
