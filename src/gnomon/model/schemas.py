"""The tables of the model: what one row is, and the type and meaning of every column.

A capability adds rows to these tables, never a table of its own, so that views, exports and
comparisons work for all of them. Column types are DuckDB's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Column:
    """One column.

    Attributes:
        name: its name.
        type: DuckDB's.
        description: what it means.
        nullable: whether a value may be missing.
        refers: the table whose numbers it has, -1 for none; "" where it is no such number.
        is_moment: it is a time of day, and no duration.
    """

    name: str
    type: str
    description: str
    nullable: bool = False
    refers: str = ""
    is_moment: bool = False


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
        """Pickle by name: each process has one object for each table."""
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
        Column(
            "inlined",
            "BOOLEAN",
            "its code stands in the function that calls it; NULL where nobody told",
            True,
        ),
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

EVENTS = Schema(
    "events",
    "something that happened at a location: a call, an operation, a phase",
    (
        Column("repetition", "INTEGER", "number of the execution, from 0"),
        Column("location", "INTEGER", "where", refers="locations"),
        Column("region", "INTEGER", "what", refers="regions"),
        Column("path", "INTEGER", "on which path; -1 where not known", refers="paths"),
        Column("start_ns", "BIGINT", "when it began, in nanoseconds since 1970", is_moment=True),
        Column("duration_ns", "BIGINT", "how long it took; NULL for a moment", True),
        Column("bytes", "BIGINT", "bytes that were moved; NULL where none are", True),
        Column("file", "INTEGER", "which file they were of; -1 for none", refers="files"),
        # Runs of before have none of these (store/later_columns.py).
        Column("access", "VARCHAR", "whether it read or wrote the file: read, write; '' for "
               "neither", True),
        Column("asked", "BIGINT", "bytes that were to be moved; NULL where none were", True),
        Column("file_offset", "BIGINT", "where in the file they began; NULL where not known",
               True),
        Column("opening", "BIGINT", "number of the open file that its process used; NULL for none",
               True),
    ),
    is_bulk=True,
)  # fmt: skip
MESSAGES = Schema(
    "messages",
    "a message from one location to another, or all from one call to it",
    (
        Column("repetition", "INTEGER", "number of the execution, from 0"),
        Column("sender", "INTEGER", "from where; -1 where not known", refers="locations"),
        Column("receiver", "INTEGER", "to where; -1 where not known", refers="locations"),
        Column(
            "send_ns",
            "BIGINT",
            "when it was sent, in nanoseconds since 1970",
            True,
            is_moment=True,
        ),
        Column("receive_ns", "BIGINT", "when it was received, likewise", True, is_moment=True),
        Column("bytes", "BIGINT", "its size; of several the sum", True),
        Column("tag", "INTEGER", "its tag", True),
        Column("communicator", "INTEGER", "number of its communicator", True),
        # Runs of before have none of these (store/later_columns.py).
        Column("messages", "BIGINT", "how many the row stands for; NULL: one", True),
        Column("path", "INTEGER", "the call that sent them; NULL where not known", True, "paths"),
    ),
    is_bulk=True,
)
FILES = Schema(
    "files",
    "a file, pipe or socket that the program used",
    (
        Column("file", "INTEGER", "number of the file, from 0"),
        Column("name", "VARCHAR", "its path, or its address"),
        Column("host", "VARCHAR", "the host that has it; '' where all have the same one"),
        Column("kind", "VARCHAR", "file, directory, pipe, socket or device"),
        Column("filesystem", "VARCHAR", "the kind of file system; '' if unknown"),
    ),
    number="file",
)
SAMPLES = Schema(
    "samples",
    "where a location was found when a counter or clock had gone on by so much",
    (
        Column("repetition", "INTEGER", "number of the execution, from 0"),
        Column("location", "INTEGER", "where", refers="locations"),
        Column("path", "INTEGER", "on which path; -1 where not known", refers="paths"),
        Column("metric", "INTEGER", "which counter or clock", refers="metrics"),
        Column("time_ns", "BIGINT", "when, in nanoseconds since 1970", True, is_moment=True),
        Column("address", "BIGINT", "of the instruction, in its module", True),
        Column("weight", "DOUBLE", "how much of the metric it stands for"),
        # Runs of before have none of these (store/later_columns.py).
        Column("data_address", "BIGINT", "of the data that were accessed", True),
        Column("data_source", "VARCHAR", "how they were accessed: load, L2 hit; '' if unknown",
               True),
        Column("latency", "BIGINT", "what the PMU gives as the weight of the access: mostly cycles",
               True),
        Column("woken_by", "VARCHAR", "of a wait: the thread that ended it, or interrupt; '' if "
               "unknown", True),
        Column("held_by", "VARCHAR", "of a wait for a lock: the thread that had it; '' if unknown",
               True),
    ),
    is_bulk=True,
)  # fmt: skip
ARCS = Schema(
    "arcs",
    "what calls of one region from another come to, where whole paths are not known",
    (
        Column("repetition", "INTEGER", "number of the execution, from 0"),
        Column("location", "INTEGER", "where", refers="locations"),
        Column("caller", "INTEGER", "the region that calls; -1 where not known", refers="regions"),
        Column("callee", "INTEGER", "the region that is called", refers="regions"),
        Column("metric", "INTEGER", "of which metric; -1 for calls alone", refers="metrics"),
        Column("calls", "BIGINT", "how many calls", True),
        Column("inclusive", "DOUBLE", "what they came to, with everything they called", True),
    ),
    is_bulk=True,
)
COORDINATES = Schema(
    "coordinates",
    "where in a machine or network a location is, along one axis",
    (
        Column("location", "INTEGER", "which location", refers="locations"),
        Column("axis", "VARCHAR", "the axis: node, socket, core, x, y, ..."),
        Column("position", "INTEGER", "its number there"),
    ),
    is_bulk=True,
)
MODULES = Schema(
    "modules",
    "a program or library that was loaded",
    (
        Column("name", "VARCHAR", "as regions have it"),
        Column("path", "VARCHAR", "where it was"),
        Column("build_id", "VARCHAR", "its build id, in hexadecimal; '' if it has none"),
    ),
)
BRANCHES = Schema(
    "branches",
    "branches from one instruction to another, as a PMU recorded them before samples",
    (
        Column("repetition", "INTEGER", "number of the execution, from 0"),
        Column("location", "INTEGER", "where", refers="locations"),
        Column("metric", "INTEGER", "before samples of which counter", refers="metrics"),
        Column("from_region", "INTEGER", "the code that is left; -1 where not known",
               refers="regions"),
        Column("from_address", "BIGINT", "of the branch, in its module", True),
        Column("to_region", "INTEGER", "the code that is entered; -1 where not known",
               refers="regions"),
        Column("to_address", "BIGINT", "of its target, likewise", True),
        Column("taken", "BIGINT", "how many were recorded"),
        Column("predictions", "BIGINT", "of how many the PMU told whether they were predicted"),
        Column("mispredicted", "BIGINT", "how many of these were not; NULL where it told of none",
               True),
        Column("timings", "BIGINT", "of how many the PMU told the cycles"),
        Column("cycles", "BIGINT", "since the branches before them, of all these; NULL likewise",
               True),
    ),
    is_bulk=True,
)  # fmt: skip

SCHEMAS = (LOCATIONS, REGIONS, PATHS, METRICS, PROFILE)
"""What runs are written with, rows or not."""

OPTIONAL_SCHEMAS = (
    EVENTS, MESSAGES, FILES, SAMPLES, ARCS, COORDINATES, MODULES, BRANCHES,
)  # fmt: skip
"""What a run has where a capability left rows of it."""

REQUIRED_SCHEMAS = (LOCATIONS, REGIONS, METRICS)
"""What every run has; of the others those that its head names."""

ALL_SCHEMAS = (*SCHEMAS, *OPTIONAL_SCHEMAS)


def schema_of(name: str) -> Schema:
    """Return the table of a name.

    Raises:
        KeyError: there is none.
    """
    return _BY_NAME[name]


_BY_NAME = {schema.name: schema for schema in ALL_SCHEMAS}
