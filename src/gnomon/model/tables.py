"""The tables of the model: what one row is, and the type and meaning of every column.

A capability adds rows to these tables, never a table of its own, so that views, exports and
comparisons work for all of them. Column types are DuckDB's.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Column:
    """One column.

    Attributes:
        name: its name.
        type: DuckDB's.
        description: what it means.
        nullable: whether a value may be missing.
        refers: the table whose numbers it has, -1 for none; "" where it is no such number.
    """

    name: str
    type: str
    description: str
    nullable: bool = False
    refers: str = ""


@dataclass(frozen=True, slots=True)
class Schema:
    """One table of the model.

    Attributes:
        name: its name.
        row: what a row is.
        columns: of each row.
        number: the column, the first one, by whose numbers others refer to its rows; "" for none.
        is_bulk: it may have any number of rows; of the others a run's are held in memory.
    """

    name: str
    row: str
    columns: tuple[Column, ...]
    number: str = ""
    is_bulk: bool = False

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        """Return what another process takes for the same table: there is one of each."""
        return schema_of, (self.name,)


LOCATIONS = Schema(
    "locations",
    "a thread of a process of a rank on a host, a core, or all of a process or command together",
    (
        Column("location", "INTEGER", "number of the location, from 0"),
        Column(
            "parent", "INTEGER", "location that includes this one; -1 for none", refers="locations"
        ),
        Column("kind", "VARCHAR", "command, rank, process, thread, core or cpu"),
        Column("host", "VARCHAR", "host name"),
        Column("rank", "INTEGER", "MPI rank; -1 outside MPI"),
        Column("pid", "INTEGER", "process number"),
        Column("tid", "INTEGER", "thread number; -1 for all threads of the process"),
        Column("name", "VARCHAR", "name of the program or thread, which core or CPU"),
    ),
    number="location",
)
REGIONS = Schema(
    "regions",
    "a function, section, call site, file, loop, line, or a whole program",
    (
        Column("region", "INTEGER", "number of the region, from 0"),
        Column("kind", "VARCHAR", "hpm, mpi, cpu, io, memory or thread"),
        Column("name", "VARCHAR", "name"),
        Column("module", "VARCHAR", "program or library it is in"),
        Column("file", "VARCHAR", "source file; '' if unknown"),
        Column("line", "INTEGER", "source line; 0 if unknown"),
    ),
    number="region",
)
PATHS = Schema(
    "paths",
    "a node of a calling-context tree",
    (
        Column("path", "INTEGER", "number of the path, from 0"),
        Column("parent", "INTEGER", "path it is called from; -1 for a root", refers="paths"),
        Column("region", "INTEGER", "region it is in", refers="regions"),
    ),
    number="path",
)
METRICS = Schema(
    "metrics",
    "a measured or derived quantity",
    (
        Column("metric", "INTEGER", "number of the metric, from 0"),
        Column("name", "VARCHAR", "event or derived metric"),
        Column("unit", "VARCHAR", "unit of its values; '' for plain counts"),
        Column("formula", "VARCHAR", "of a derived metric; '' for a measured one"),
        Column("how", "VARCHAR", "counted, scaled, sampled, emulated, modelled or estimated"),
        Column("component", "VARCHAR", "source of a measured one; '' for a derived one"),
        Column("domain", "VARCHAR", "privilege levels counted"),
        Column("scope", "VARCHAR", "what a value covers: thread, process, cpu or node"),
        Column("description", "VARCHAR", "one line"),
        # What is special about it (model/metric.py); NULL is inferred (store/metric_columns.py).
        Column("aggregation", "VARCHAR", "values of several locations: sum, max, elapsed or none",
               True),
        Column("absent_is_zero", "BOOLEAN", "a code location without a row had none of it", True),
        Column("reproducible", "BOOLEAN", "every execution gives the same number", True),
        Column("dilated", "BOOLEAN", "a time of the tool that slowed the program, not its own",
               True),
    ),
    number="metric",
)  # fmt: skip
PROFILE = Schema(
    "profile",
    "the value of a metric on a path at a location, in one repetition",
    (
        Column("repetition", "INTEGER", "number of the execution, from 0"),
        Column("location", "INTEGER", "where", refers="locations"),
        Column("path", "INTEGER", "on which path", refers="paths"),
        Column("metric", "INTEGER", "of which metric", refers="metrics"),
        Column("inclusive", "DOUBLE", "value with everything called from the path"),
        Column(
            "exclusive",
            "DOUBLE",
            "value of the path alone; NULL where not known",
            True,
        ),
        Column("calls", "BIGINT", "how often the path was entered; NULL where not known", True),
        Column("raw", "BIGINT", "the counter's unscaled reading; NULL for a derived metric", True),
        Column("enabled_ns", "BIGINT", "time the counter was meant to count; NULL likewise", True),
        Column("running_ns", "BIGINT", "time it did count; NULL likewise", True),
    ),
    is_bulk=True,
)

SCHEMAS = (LOCATIONS, REGIONS, PATHS, METRICS, PROFILE)


def schema_of(name: str) -> Schema:
    """Return the table of a name.

    Raises:
        KeyError: there is none.
    """
    return _BY_NAME[name]


_BY_NAME = {schema.name: schema for schema in SCHEMAS}

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
        for row in rows:
            self.append(row)

    @classmethod
    def of(
        cls, schema: Schema, columns: Mapping[str, Cells], masks: Mapping[str, Mask] | None = None
    ) -> Table:
        """Return a table of whole columns, which are not copied; rows cannot be added to it.

        Args:
            schema: of the table.
            columns: every column by name; all are of one length.
            masks: of columns with missing values, True where one is missing.

        Raises:
            ValueError: the columns are not those of the schema, or differ in length.
        """
        names = [column.name for column in schema.columns]
        if set(names) != columns.keys():
            wrong = ", ".join(sorted(set(names) ^ columns.keys()))
            raise ValueError(f"a table of {schema.name} has other columns: {wrong}")
        if len({len(cells) for cells in columns.values()}) > 1:
            raise ValueError(f"columns of {schema.name} differ in length")
        table = cls(schema)
        for column in schema.columns:
            cells: Any = columns[column.name]
            is_array = hasattr(cells, "astype")
            table._cells[column.name] = (
                cells.astype(TYPECODES[column.type], copy=False) if is_array else cells
            )
        table._masks = dict(masks or {})
        table._n = len(columns[names[0]])
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
        return flags + bytes(self._n - len(flags)) if any(flags) else b""

    def missing(self, name: str) -> NDArray[np.bool_]:
        """Return a NumPy array that is True where a value of a column is missing."""
        import numpy as np

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
