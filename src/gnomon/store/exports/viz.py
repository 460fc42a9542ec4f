"""A run as a .viz file: its head and its tables, exactly, as version 2 of gnomon/hpm/viz.xsd.

hpmcount and libhpm write sections (version 1). Tables hold what sections cannot: values of many
places on many paths, of functions and lines, ranks and threads, each as the run has it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from math import isfinite, isnan

from gnomon import __version__
from gnomon.model.tables import OPTIONAL_SCHEMAS, PROFILE, Cell, Schema
from gnomon.store.run import Run
from gnomon.store.viz import encoding

VERSION = 2


def left_out(run: Run) -> list[str]:
    """Return the tables with rows that a .viz file does not have.

    Raises:
        RunDirectoryError: a table cannot be read.
    """
    return [
        schema.name
        for schema in run.schemas
        if schema in OPTIONAL_SCHEMAS and run.query(f"SELECT 1 FROM {schema.name} LIMIT 1")
    ]


def viz(run: Run) -> Iterator[str]:
    """Yield a run as XML, its rows in the order of their numbers.

    Raises:
        RunDirectoryError: a table cannot be read.
    """
    yield '<?xml version="1.0" encoding="UTF-8"?>\n'
    whole: dict[str, Cell] = {
        "version": VERSION,
        "producer": "gnomon export",
        "release": __version__,
    }
    yield f"<hpm{_attributes(whole)}>\n"
    yield from _run(run)
    # Letters that are not ASCII are escapes of JSON: what XML does not have is not in it.
    yield f"<head>{encoding.in_xml(json.dumps(run.head))}</head>\n<tables>\n"
    for element, schema in encoding.ELEMENTS.items():
        columns = [column.name for column in schema.columns]
        names = [encoding.attribute(schema, name) for name in columns]
        for rows in run.stream(_ordered(schema, columns, "")):
            yield "".join(
                f"<{element}{_attributes(dict(zip(names, row, strict=True)))}/>\n" for row in rows
            )
    # Metric by metric: no more rows than one has are put in order at once.
    for (metric,) in run.query("SELECT DISTINCT metric FROM profile ORDER BY metric"):
        yield from _profile(run, metric)
    yield "</tables>\n</hpm>\n"


def _run(run: Run) -> Iterator[str]:
    """Yield the program as section files record it, for readers that do not know the head."""
    head = run.head
    host = head["hosts"][0] if head["hosts"] else {}
    ended = head.get("ended")
    facts: dict[str, Cell] = {
        "program": (head["command"] or [run.path.name])[0],
        "host": str(host.get("name", "")),
        "process": _above(head.get("pid")),
        "started": _moment(head["started"]),
        "stopped": _moment(ended) if isinstance(ended, int | float) and 0 < ended < 1e11 else None,
        "wall_seconds": head["wall_seconds"],
        "exit_status": head["exit_status"],
        "cpu": str(host.get("cpu_model") or ""),
        "cpus": _above(host.get("cpus")),
        "system": str(host.get("kernel") or ""),
    }
    for fact in ("cpu", "system"):
        facts[fact] = facts[fact] or None
    yield f"<run{_attributes(facts)}>\n"
    yield from (f"<argument>{encoding.written(word)}</argument>\n" for word in head["command"])
    yield "</run>\n"


def _above(value: object) -> int | None:
    # True is an int, too, but no number that an attribute can have.
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    return value if 0 < value < 1 << 31 else None


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")


def _profile(run: Run, metric: int) -> Iterator[str]:
    """Yield the rows of one metric, an element for each place of each repetition."""
    query = _ordered(PROFILE, (*encoding.SHARED, *encoding.ALONE), f"WHERE metric = {int(metric)}")
    n = len(encoding.SHARED)
    before: Sequence[Cell] = ()
    for rows in run.stream(query):
        lines = []
        for row in rows:
            if row[:n] != before:
                if before:
                    lines.append("</profile>\n")
                before = row[:n]
                shared = dict(zip(encoding.SHARED, before, strict=True))
                lines.append(f"<profile{_attributes(shared)}>\n")
            values = _attributes(dict(zip(encoding.ALONE, row[n:], strict=True)))
            lines.append(f"<value{values}/>\n")
        yield "".join(lines)
    if before:
        yield "</profile>\n"


def _ordered(schema: Schema, columns: Sequence[str], where: str) -> str:
    names = ", ".join(columns)
    # By all columns: rows of a damaged run may have the same keys.
    return f"SELECT {names} FROM {schema.name} {where} ORDER BY ALL"


def _attributes(cells: Mapping[str, Cell]) -> str:
    """Return attributes; those that are not known are left out."""
    return "".join(
        f' {name}="{encoding.written(cell) if isinstance(cell, str) else _number(cell)}"'
        for name, cell in cells.items()
        if cell is not None
    )


def _number(value: int | float | None) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, float):
        return str(value)
    if isfinite(value):
        # The shortest text that reads as the same double; 1e16 has no point, 100.0 needs none.
        return repr(value).removesuffix(".0")
    return "NaN" if isnan(value) else "INF" if value > 0 else "-INF"
