"""The tables of the model: their rows, kept by column; `schemas` says what each one is."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from gnomon.model.schemas import (
    ALL_SCHEMAS as ALL_SCHEMAS,
)
from gnomon.model.schemas import (
    ARCS as ARCS,
)
from gnomon.model.schemas import (
    BRANCHES as BRANCHES,
)
from gnomon.model.schemas import (
    COORDINATES as COORDINATES,
)
from gnomon.model.schemas import (
    EVENTS as EVENTS,
)
from gnomon.model.schemas import (
    FILES as FILES,
)
from gnomon.model.schemas import (
    LOCATIONS as LOCATIONS,
)
from gnomon.model.schemas import (
    MESSAGES as MESSAGES,
)
from gnomon.model.schemas import (
    METRICS as METRICS,
)
from gnomon.model.schemas import (
    MODULES as MODULES,
)
from gnomon.model.schemas import (
    OPTIONAL_SCHEMAS as OPTIONAL_SCHEMAS,
)
from gnomon.model.schemas import (
    PATHS as PATHS,
)
from gnomon.model.schemas import (
    PROFILE as PROFILE,
)
from gnomon.model.schemas import (
    REGIONS as REGIONS,
)
from gnomon.model.schemas import (
    REQUIRED_SCHEMAS as REQUIRED_SCHEMAS,
)
from gnomon.model.schemas import (
    SAMPLES as SAMPLES,
)
from gnomon.model.schemas import (
    SCHEMAS as SCHEMAS,
)
from gnomon.model.schemas import (
    Column as Column,
)
from gnomon.model.schemas import (
    Schema as Schema,
)
from gnomon.model.schemas import (
    schema_of as schema_of,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


Cell = str | int | float | None

if TYPE_CHECKING:
    Cells = array[int] | array[float] | list[str] | NDArray[Any]
    Mask = bytearray | NDArray[np.bool_]

TYPECODES = {"INTEGER": "i", "BIGINT": "q", "DOUBLE": "d", "BOOLEAN": "b"}
"""Types of the columns of numbers, as `array.array` and NumPy call them."""


class Table:
    """Rows of one schema, kept by column.

    A table is made row by row (`add`, `append`), or of whole columns (`of`). A column is an
    `array.array` of its type (INTEGER 32 bits, BIGINT 64 bits, DOUBLE, BOOLEAN one byte), a NumPy
    array of those, or a list of str. Where values are missing there is a mask beside it. NumPy is
    imported only when arrays are asked for.
    """

    __slots__ = ("_cells", "_masks", "_n", "schema")

    def __init__(self, schema: Schema, rows: Iterable[Sequence[Cell]] = ()) -> None:
        self.schema = schema
        self._cells: dict[str, Cells] = {
            column.name: [] if column.type == "VARCHAR" else array(TYPECODES[column.type])
            for column in schema.columns
        }
        # True where a value is missing; what is beyond its end is not.
        self._masks: dict[str, Mask] = {}
        self._n = 0
        self._append_all(list(rows))

    @classmethod
    def of(
        cls, schema: Schema, columns: Mapping[str, Cells], masks: Mapping[str, Mask] | None = None
    ) -> Table:
        """Return a table of whole columns, which are not copied; rows cannot be added to it.

        Args:
            schema: of the table.
            columns: every column by name, all of one length; those that may be missing can be
                left out.
            masks: of columns with missing values, True where one is missing.

        Raises:
            ValueError: the columns are not those of the schema, or differ in length.
        """
        left_out = {it.name for it in schema.columns if it.nullable} - columns.keys()
        names = {column.name for column in schema.columns} - left_out
        if names != columns.keys():
            wrong = ", ".join(sorted(names ^ columns.keys()))
            raise ValueError(f"a table of {schema.name} has other columns: {wrong}")
        if len({len(cells) for cells in columns.values()}) > 1:
            raise ValueError(f"columns of {schema.name} differ in length")
        table = cls(schema)
        table._n = len(columns[schema.columns[0].name])
        table._masks = {**(masks or {}), **{name: bytearray(b"\1") * table._n for name in left_out}}
        for column in schema.columns:
            if column.name in left_out:
                is_text = column.type == "VARCHAR"
                table._cells[column.name] = (
                    [""] * table._n if is_text else array(TYPECODES[column.type], [0]) * table._n
                )
                continue
            cells: Any = columns[column.name]
            is_array = hasattr(cells, "astype")
            table._cells[column.name] = (
                cells.astype(TYPECODES[column.type], copy=False) if is_array else cells
            )
        return table

    def __len__(self) -> int:
        """Return how many rows there are."""
        return self._n

    def __eq__(self, other: object) -> bool:
        """Return whether another table has the same rows."""
        if not isinstance(other, Table):
            return NotImplemented
        return self.schema is other.schema and self.rows == other.rows

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        """Return the table's name and size."""
        return f"Table({self.schema.name}, {self._n} rows)"

    # --- row by row -------------------------------------------------------------------------------

    def add(self, **cells: Cell) -> int:
        """Append a row and return its number; columns that may be missing can be left out.

        Raises:
            ValueError: a column is missing, or there is no such column.
        """
        columns = self.schema.columns
        names = {column.name for column in columns}
        wrong = cells.keys() - names
        wrong |= {one.name for one in columns if not one.nullable and one.name not in cells}
        if wrong:
            raise ValueError(
                f"a row of {self.schema.name} has other columns: {', '.join(sorted(wrong))}"
            )
        return self.append([cells.get(column.name) for column in columns])

    def append(self, row: Sequence[Cell]) -> int:
        """Append a row, its cells in the order of the columns, and return its number.

        Last columns that may be missing can be left out.

        Raises:
            ValueError: it has more or fewer cells than there are columns.
            TypeError: a cell is of another type than its column.
            OverflowError: a number has more bits than its column.
        """
        left_out = self.schema.columns[len(row) :]
        if len(row) > len(self._cells) or not all(column.nullable for column in left_out):
            raise ValueError(f"a row of {self.schema.name} has {len(self._cells)} cells")
        for (name, cells), cell in zip_longest(self._cells.items(), row):
            if cell is None:
                mask = self._masks.setdefault(name, bytearray())
                mask.extend(bytes(self._n - len(mask)))  # type: ignore[union-attr]
                mask.append(1)  # type: ignore[union-attr]
                cell = "" if isinstance(cells, list) else 0
            cells.append(cell)  # type: ignore[union-attr, arg-type]
        self._n += 1
        return self._n - 1

    def _append_all(self, rows: Sequence[Sequence[Cell]]) -> None:
        """Append rows to none, as `append` does one."""
        if not rows:
            return
        if set(map(len, rows)) != {len(self._cells)}:
            for row in rows:
                self.append(row)
            return
        for (name, cells), values in zip(self._cells.items(), zip(*rows, strict=True), strict=True):
            own: Any = cells
            if None in values:
                self._masks[name] = bytearray(value is None for value in values)
                missing: Any = "" if isinstance(cells, list) else 0
                own.extend(missing if value is None else value for value in values)
            else:
                own.extend(values)
        self._n = len(rows)

    def extend(self, **columns: Sequence[Cell]) -> None:
        """Append rows by their columns, none with a missing value; columns left out are missing.

        Raises:
            ValueError: a column is not of the table, left out and needed, or of another length.
        """
        (n,) = {len(cells) for cells in columns.values()}
        wrong = columns.keys() - self._cells.keys()
        for column in self.schema.columns:
            own: Any = self._cells[column.name]
            if column.name in columns:
                own.extend(columns[column.name])
            elif column.nullable:
                own.extend([""] * n if column.type == "VARCHAR" else bytes(n))
                mask: Any = self._masks.setdefault(column.name, bytearray())
                mask.extend(bytes(self._n - len(mask)))
                mask.extend(b"\1" * n)
            else:
                wrong.add(column.name)
        if wrong:
            raise ValueError(
                f"rows of {self.schema.name} have other columns: {', '.join(sorted(wrong))}"
            )
        self._n += n

    @property
    def rows(self) -> list[tuple[Cell, ...]]:
        """The rows as tuples, made anew each time: of small tables, to look at."""
        return list(zip(*(self.values(name) for name in self._cells), strict=True))

    def dicts(self) -> Iterator[dict[str, Cell]]:
        """Yield each row by column name."""
        names = list(self._cells)
        for row in zip(*(self.values(name) for name in names), strict=True):
            yield dict(zip(names, row, strict=True))

    def values(self, name: str) -> Sequence[Cell]:
        """Return a column as Python's own numbers and texts, None where a value is missing."""
        cells = self._cells[name]
        values: Sequence[Cell] = cells if isinstance(cells, list) else cells.tolist()
        if self._type(name) == "BOOLEAN":
            values = [bool(value) for value in values]
        mask = self._masks.get(name)
        if mask is None:
            return values
        flags = [*mask, *bytes(self._n - len(mask))]
        return [None if flag else cell for flag, cell in zip(flags, values, strict=True)]

    # --- column by column -------------------------------------------------------------------------

    def cells(self, name: str) -> Cells:
        """Return a column as it is kept, 0 or "" where a value is missing."""
        return self._cells[name]

    def texts(self, name: str) -> list[str]:
        """Return a column of texts, "" where one is missing."""
        cells = self._cells[name]
        assert isinstance(cells, list), name
        return cells

    def numbers(self, name: str) -> NDArray[Any]:
        """Return a column of numbers as a NumPy array, 0 where a value is missing."""
        import numpy as np

        cells = self._cells[name]
        # A copy: an array whose memory is lent cannot grow.
        return cells if isinstance(cells, np.ndarray) else np.array(cells)

    def mask(self, name: str) -> bytes:
        """Return a byte for each row that is 1 where a value is missing; b"" if none is."""
        mask = self._masks.get(name)
        if mask is None:
            return b""
        flags = bytes(mask) if isinstance(mask, bytearray) else mask.tobytes()
        return flags + bytes(self._n - len(flags)) if flags.strip(b"\0") else b""

    def missing(self, name: str) -> NDArray[np.bool_]:
        """Return a NumPy array that is True where a value of a column is missing."""
        import numpy as np

        mask = self._masks.get(name)
        if isinstance(mask, np.ndarray):
            return mask
        return np.frombuffer(self.mask(name) or bytes(self._n), dtype=bool)

    def part(self, begin: int, end: int) -> Table:
        """Return the rows from one number up to before another."""
        names = list(self._cells)
        masks: dict[str, Mask] = {}
        for name in self._masks:
            mask = self.mask(name)
            if mask:
                masks[name] = bytearray(mask[begin:end])
        return Table.of(self.schema, {name: self._cells[name][begin:end] for name in names}, masks)

    def taken(self, rows: NDArray[Any]) -> Table:
        """Return some of the rows, by an array of their numbers, in that order."""
        import numpy as np

        cells: dict[str, Cells] = {}
        for name in self._cells:
            texts = self._cells[name]
            if isinstance(texts, list):
                cells[name] = [texts[row] for row in rows.tolist()]
            else:
                cells[name] = np.asarray(texts)[rows]
        masks: dict[str, Mask] = {name: self.missing(name)[rows] for name in self._masks}
        return Table.of(self.schema, cells, masks)

    def with_mask(self, name: str, mask: Mask) -> Table:
        """Return the table with a column that misses other values."""
        return Table.of(self.schema, self._cells, {**self._masks, name: mask})

    def replaced(self, **columns: Cells) -> Table:
        """Return the table with other columns in the place of some, which miss no value."""
        masks = {name: mask for name, mask in self._masks.items() if name not in columns}
        return Table.of(self.schema, {**self._cells, **columns}, masks)

    def _type(self, name: str) -> str:
        return next(column.type for column in self.schema.columns if column.name == name)
