"""What the merge of tables begins with: sets of tables, each numbered on its own."""

from __future__ import annotations

from array import array
from collections.abc import Container, Iterable, Iterator
from pathlib import Path

from gnomon.errors import RunDirectoryError
from gnomon.model.tables import LOCATIONS, Table
from gnomon.named_tuple import NamedTuple
from gnomon.store.record_blocks import Block, read_blocks, write_blocks


class TableSet(NamedTuple):
    """Tables that refer to each other only: in memory, or in a file of record blocks.

    Attributes:
        tables: those in memory; there may be several with rows of one table.
        file: of record blocks, where they are instead.
        rank: of a job, of which the command of the set is a rank; -1 for none.
        name: whose rows they are, for messages; "" for none.
        knows_ranks: they have the ranks of processes from MPI itself.
    """

    tables: tuple[Table, ...] = ()
    file: Path | None = None
    rank: int = -1
    name: str = ""
    knows_ranks: bool = False

    @classmethod
    def of(cls, tables: Iterable[Table], file: Path) -> TableSet:
        """Return tables as a set; those of a generator are written, each before the next is made.

        Args:
            tables: a tuple of them, or a generator.
            file: where they are written.

        Raises:
            OSError: the disk refuses.
        """
        if isinstance(tables, tuple):
            return cls(tables)
        write_blocks(file, tables)
        return cls(file=file)

    @property
    def origin(self) -> str:
        """What the set is called in errors."""
        return str(self.file or "what was collected")

    def blocks(self, wanted: Container[str]) -> Iterator[Block]:
        """Yield the blocks of the file; of tables that are not wanted without their columns.

        Raises:
            FormatError: it is damaged; names it.
            RunDirectoryError: it cannot be read.
        """
        assert self.file is not None
        try:
            yield from read_blocks(self.file, wanted)
        except OSError as error:
            raise RunDirectoryError(f"{self.file}: cannot be read: {error.strerror}") from None

    def chunks(self, wanted: Container[str]) -> Iterator[Table]:
        """Yield rows of some tables, as many at a time as they were written.

        Raises:
            FormatError: the file is damaged; names it.
            RunDirectoryError: it cannot be read.
        """
        if self.file is None:
            yield from (self.own(table) for table in self.tables if table.schema.name in wanted)
            return
        for block in self.blocks(wanted):
            if block.table in wanted:
                yield self.own(block.rows())

    def own(self, table: Table) -> Table:
        """Return rows with what the set says of all of them."""
        if self.rank < 0 or table.schema is not LOCATIONS:
            return table
        kinds = ["rank" if kind == "command" else kind for kind in table.texts("kind")]
        return table.replaced(rank=array("i", [self.rank]) * len(table), kind=kinds)
