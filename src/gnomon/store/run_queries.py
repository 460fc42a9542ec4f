"""What sums of a capability ask: a run (`gnomon.store.run.Run`), or tables of `gnomon view`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gnomon.model.array_types import Cells


class RunQueries(Protocol):
    """Tables of a run, asked with SQL; what cannot be read is a RunDirectoryError."""

    @property
    def head(self) -> Mapping[str, Any]:
        """What run.json has; of this, `repetitions`."""

    def query(self, sql: str) -> list[tuple[Any, ...]]:
        """Return the rows of a query."""

    def columns(self, sql: str) -> dict[str, Cells]:
        """Return the columns of a query by name, a number that is NULL as NaN."""
