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


def rows_of(tables: Sequence[Table], name: str) -> list[dict[str, str | int | float | None]]:
    """Return the rows of one table by column name; none if it is missing."""
    return [dict(row) for table in tables if table.schema.name == name for row in table.dicts()]
