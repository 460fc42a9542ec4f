"""How much the tables of a run may hold, whatever their files are like.

A file of some kilobytes can hold a hundred million rows, or a name of megabytes again and again: a
dictionary of one entry, and runs of equal numbers, take no room. Every reader has its bounds here.
They are far above what a run has that was measured, so that large ones open.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from gnomon.errors import RunDirectoryError
from gnomon.model.tables import (
    ALL_SCHEMAS,
    FILES,
    LOCATIONS,
    METRICS,
    MODULES,
    OPTIONAL_SCHEMAS,
    PATHS,
    PROFILE,
    REGIONS,
)
from gnomon.named_tuple import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from duckdb import DuckDBPyConnection

    from gnomon.model.tables import Schema

ROWS_HARMLESS = 1_000_000
"""So many rows of a profile are read whatever they are of: those of nothing are left out."""

ROWS_MOST = {LOCATIONS.name: 2_000_000, REGIONS.name: 4_000_000, PATHS.name: 4_000_000,
             METRICS.name: 100_000, FILES.name: 10_000_000, MODULES.name: 4_000_000}  # fmt: skip
"""Rows of each table that is held in memory."""
ROWS_PER_BYTE = 64
"""Rows of events, samples and the like in a byte of their file, at most."""
TEXT_MOST = 4096
"""Characters of a text; of a longer one its beginning is shown, and a number for the whole."""
TEXTS_MOST_BYTES = 1 << 30
"""Of all texts of a table, each as often as it is there."""
DEPTH_MOST = 10_000
"""How deep paths are nested at most: no stack of calls is deeper."""
ROWS_TOLD_MOST = 1_000_000
"""Rows that are printed, or written as JSON, by what holds them all at once."""
_REMEDY = "restore it from a copy, or measure less at once"
_MARK = 9  # … and eight digits


def bounded_text(column: str, most: int = TEXT_MOST) -> str:
    """Return the SQL of a text of at most so many characters, "" for none.

    Two that begin alike stay two: a number for the whole of each is at its end.
    """
    whole = f"CAST({column} AS VARCHAR)"
    digits = f"format('{{:08x}}', hash({whole}) % 4294967296)"
    # Bytes are known at once, characters are counted.
    is_long = f"strlen({whole}) > {most} AND length({whole}) > {most}"
    return (
        f"CASE WHEN {is_long} THEN left({whole}, {most - _MARK}) || '…' || {digits} "
        f"ELSE {plain_text(column)} END"
    )


def plain_text(column: str) -> str:
    """Return the SQL of a text of which it is known that it is not long, "" for none.

    DuckDB takes some ten times as long to understand what `bounded_text` returns.
    """
    return f"COALESCE(CAST({column} AS VARCHAR), '')"


class TableSizes(NamedTuple):
    """How large the tables of a run are.

    Attributes:
        rows: how many rows each has, 0 for one that the run does not have.
        short_texts: those of which it is known that no text has more than TEXT_MOST characters.
    """

    rows: Mapping[str, int]
    short_texts: frozenset[str] = frozenset()


class TableSource(Protocol):
    """What is looked at of a run."""

    @property
    def head(self) -> Mapping[str, Any]:
        """What its run.json says."""

    @property
    def schemas(self) -> tuple[Schema, ...]:
        """The tables that it has."""

    def stored(self, schema: Schema) -> str:
        """Return the SQL source of a table as its file has it."""

    def file(self, schema: Schema) -> Path:
        """Return the file of a table."""


def row_counts(run: TableSource, connection: DuckDBPyConnection) -> dict[str, int]:
    """Return how many rows each table of a run has, 0 for one that it does not have."""
    schemas = run.schemas
    counts = ", ".join(f"(SELECT COUNT(*) FROM {run.stored(one)})" for one in schemas)
    (numbers,) = connection.execute(f"SELECT {counts}").fetchall()
    rows = dict.fromkeys((schema.name for schema in ALL_SCHEMAS), 0)
    return rows | {schema.name: int(n) for schema, n in zip(schemas, numbers, strict=True)}


def check(run: TableSource, connection: DuckDBPyConnection) -> TableSizes:
    """Check that the tables of a run hold no more than a run does; they are not read for it.

    Args:
        run: the run.
        connection: asks its files.

    Returns:
        How large they are.

    Raises:
        RunDirectoryError: one of them holds more; names its file.
    """
    rows = row_counts(run, connection)
    schemas = run.schemas
    for schema in schemas:
        most = ROWS_MOST.get(schema.name)
        if schema in OPTIONAL_SCHEMAS and schema.is_bulk:
            # Moments differ, so each row takes some of the file.
            most = max(ROWS_HARMLESS, run.file(schema).stat().st_size * ROWS_PER_BYTE)
        if most is not None and rows[schema.name] > most:
            raise RunDirectoryError(
                f"{run.file(schema)}: {rows[schema.name]} rows, and a run has {most} "
                f"{schema.name} at most; {_REMEDY}"
            )
    combinations = rows[LOCATIONS.name] * rows[PATHS.name] * rows[METRICS.name]
    executions = max(int(run.head.get("repetitions") or 1), 1)
    if rows[PROFILE.name] > max(combinations * executions, ROWS_HARMLESS):
        raise RunDirectoryError(
            f"{run.file(PROFILE)}: {rows[PROFILE.name]} rows, more than there are combinations of "
            f"the run's {rows[LOCATIONS.name]} locations, {rows[PATHS.name]} paths and "
            f"{rows[METRICS.name]} metrics; {_REMEDY}"
        )
    short_texts = set()
    for schema in schemas:
        texts = [column.name for column in schema.columns if column.type == "VARCHAR"]
        if not texts:
            continue
        each = " + ".join(f"COALESCE(strlen(CAST({name} AS VARCHAR)), 0)" for name in texts)
        ((size, longest),) = connection.execute(
            f"SELECT COALESCE(SUM({each}), 0), COALESCE(MAX({each}), 0) FROM {run.stored(schema)}"
        ).fetchall()
        if size > TEXTS_MOST_BYTES:
            raise RunDirectoryError(
                f"{run.file(schema)}: its texts come to {int(size) >> 20} MiB, and those of a run "
                f"to {TEXTS_MOST_BYTES >> 20} MiB at most; {_REMEDY}"
            )
        if longest <= TEXT_MOST:
            short_texts.add(schema.name)
    return TableSizes(rows, frozenset(short_texts))


def no_memory(what: str) -> str:
    """Return the message where reading needs more memory than there is."""
    return (
        f"{what}: there is not enough memory to read it; raise the limit if one is set (ulimit -v),"
        " or read it on a machine that has more"
    )
