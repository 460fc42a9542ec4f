"""What a capability hands over of a run: rows of the model's tables, and what it could not do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from gnomon.model.tables import Table
from gnomon.model.value import Unavailable


class Collected(NamedTuple):
    """What one capability has of a run, or one task of a job.

    Attributes:
        tables: of the model, numbered on their own; any of the five may be missing.
        unavailable: what could not be measured, and why.
        warnings: sentences that belong beside the numbers.
    """

    tables: tuple[Table, ...] = ()
    unavailable: tuple[Unavailable, ...] = ()
    warnings: tuple[str, ...] = ()


class Ended(NamedTuple):
    """How a program ended that a capability ran, and what that capability measured meanwhile.

    Attributes:
        pid: its process.
        exit_status: as a shell gives it.
        signal: that killed it, 0 for none.
        started: seconds since the epoch.
        wall_ns: how long it ran.
        collected: what was measured.
        interrupted: the user pressed Ctrl-C.
    """

    pid: int
    exit_status: int | None
    signal: int
    started: float
    wall_ns: int
    collected: Collected
    interrupted: bool = False


class State(NamedTuple):
    """Whether a capability works here; if not, why and what to do."""

    available: bool
    reason: str = ""
    remedy: str = ""


def rows_of(tables: Sequence[Table], name: str) -> list[dict[str, str | int | float | None]]:
    """Return the rows of one table by column name; none if it is missing."""
    return [dict(row) for table in tables if table.schema.name == name for row in table.dicts()]
