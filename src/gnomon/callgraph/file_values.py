"""What each of several files says of the functions of all."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gnomon.model.array_types import Floats, Longs


@dataclass(frozen=True, slots=True)
class FileValues:
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
