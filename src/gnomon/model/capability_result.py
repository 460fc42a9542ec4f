"""What a capability hands over of a run: rows of the model's tables, and what it could not do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from gnomon.model.tables import Table
from gnomon.model.value import Unavailable
from gnomon.named_tuple import NamedTuple


class Collected(NamedTuple):
    """What one capability has of a run, or one task of a job.

    Attributes:
        tables: of the model, numbered on their own; any may be missing, and there may be several
            with rows of one table. Where they are no tuple but a generator, each is written before
            the next one is made: so any number of events takes little memory.
        unavailable: what could not be measured, and why.
        warnings: sentences that belong beside the numbers.
        facts: numbers about the measuring itself, which add up over executions and tasks; run.json
            has them in `facts`, by the capability's name.
    """

    tables: Iterable[Table] = ()
    unavailable: tuple[Unavailable, ...] = ()
    warnings: tuple[str, ...] = ()
    facts: Mapping[str, int] = {}


def rows_of(tables: Iterable[Table], name: str) -> list[dict[str, str | int | float | None]]:
    """Return the rows of one table by column name; none if it is missing."""
    return [dict(row) for table in tables if table.schema.name == name for row in table.dicts()]
