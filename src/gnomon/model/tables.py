"""The tables of the model: what one row is, and the type and meaning of every column.

A capability adds rows to these tables, never a table of its own, so that views, exports and
comparisons work for all of them. Column types are DuckDB's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its name, DuckDB type and meaning, and whether a value may be missing."""

    name: str
    type: str
    description: str
    nullable: bool = False


@dataclass(frozen=True, slots=True)
class Schema:
    """One table of the model: what a row is, and its columns."""

    name: str
    row: str
    columns: tuple[Column, ...]


LOCATIONS = Schema(
    "locations",
    "a thread of a process of a rank on a host, a core, or all of a process or command together",
    (
        Column("location", "INTEGER", "number of the location, from 0"),
        Column("parent", "INTEGER", "location that includes this one; -1 for none"),
        Column("kind", "VARCHAR", "command, rank, process, thread, core or cpu"),
        Column("host", "VARCHAR", "host name"),
        Column("rank", "INTEGER", "MPI rank; -1 outside MPI"),
        Column("pid", "INTEGER", "process number"),
        Column("tid", "INTEGER", "thread number; -1 for all threads of the process"),
        Column("name", "VARCHAR", "name of the program or thread, which core or CPU"),
    ),
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
)
PATHS = Schema(
    "paths",
    "a node of a calling-context tree",
    (
        Column("path", "INTEGER", "number of the path, from 0"),
        Column("parent", "INTEGER", "path it is called from; -1 for a root"),
        Column("region", "INTEGER", "region it is in"),
    ),
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
    ),
)
PROFILE = Schema(
    "profile",
    "the value of a metric on a path at a location, in one repetition",
    (
        Column("repetition", "INTEGER", "number of the execution, from 0"),
        Column("location", "INTEGER", "where"),
        Column("path", "INTEGER", "on which path"),
        Column("metric", "INTEGER", "of which metric"),
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
)

SCHEMAS = (LOCATIONS, REGIONS, PATHS, METRICS, PROFILE)

Cell = str | int | float | None


@dataclass(slots=True)
class Table:
    """Rows of one schema, as a list of tuples in the order of its columns."""

    schema: Schema
    rows: list[tuple[Cell, ...]] = field(default_factory=list)

    def add(self, **cells: Cell) -> int:
        """Append a row and return its number.

        Raises:
            ValueError: the cells are not exactly the columns.
        """
        names = [column.name for column in self.schema.columns]
        if set(names) != cells.keys():
            wrong = ", ".join(sorted(set(names) ^ cells.keys()))
            raise ValueError(f"a row of {self.schema.name} has other columns: {wrong}")
        self.rows.append(tuple(cells[name] for name in names))
        return len(self.rows) - 1

    def dicts(self) -> Iterable[Mapping[str, Cell]]:
        """Yield each row by column name."""
        names = [column.name for column in self.schema.columns]
        for row in self.rows:
            yield dict(zip(names, row, strict=True))
