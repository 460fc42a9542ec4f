"""What a run holds, table by table, as text that fits the terminal and as rows for JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gnomon.errors import RunDirectoryError
from gnomon.model.symbol_names import short_name
from gnomon.model.tables import Cell, schema_of
from gnomon.store import function_code, table_limits
from gnomon.store.reports import event_tables, table_query
from gnomon.store.reports.run_facts import (
    command_text,
    killed_by,
    not_counted,
    started_text,
    title,
    wall_text,
)
from gnomon.store.run import Run
from gnomon.terminal_text import cut, filled, grid, short_path, suffixes, widths
from gnomon.units import number, printable

INDENT = 2
GAP = 2
UNKNOWN = "(unknown)"


def rows(
    run: Run, part: str, top: int = 0, *, has_paths: bool = False
) -> Iterator[dict[str, Cell]]:
    """Return the first rows of a table one by one, in order of time where they have one.

    Args:
        run: the run.
        part: name of the table.
        top: how many rows, 0 for all.
        has_paths: with call paths in words, not their numbers.

    Raises:
        RunDirectoryError: the table cannot be read, or has too many rows.
    """
    n = top if 0 < top <= table_limits.ROWS_TOLD_MOST else count(run, part)
    if min(n, top or n) > table_limits.ROWS_TOLD_MOST:
        raise RunDirectoryError(
            f"{run.path}: {n} {part} are too many to print; see --top N, or "
            f"gnomon export --to csv --table {part}"
        )
    return table_query.rows(run, part, top, has_paths=has_paths)


def count(run: Run, part: str) -> int:
    """Return how many rows a table has; raises as `rows`."""
    ((n,),) = run.query(f"SELECT COUNT(*) FROM {part}")
    return int(n)


def facts(run: Run) -> list[tuple[str, str]]:
    """Return what ran, where, when and how it ended: names of facts, and what they are."""
    head = run.head
    status = head["exit_status"]
    unseen = (
        "no gnomon was there to see it"
        if head.get("capability") == "run"
        else ("it was not started by Gnomon")
    )
    ended = f"unknown: {unseen}" if status is None else str(status)
    if killed_by(head):
        ended += f" (killed by {killed_by(head)})"
    named_facts = [
        ("command", command_text(head)),
        ("started", started_text(head, "not known")),
        ("wall time", wall_text(head, "not known")),
        ("exit status", ended),
        ("executions", str(head["repetitions"])),
        ("folder", str(head.get("working_directory", ""))),
        *(("host", _host(host)) for host in head["hosts"]),
        *((key, str(value)) for key, value in _mapping(head.get("environment")).items()),
        ("gnomon", str(head.get("gnomon_version", ""))),
        ("code", function_code.summary(run)),
    ]
    return [(name, value) for name, value in named_facts if value]


def run_text(run: Run, width: int) -> str:
    """Return what ran, where, when, and what was not available."""
    head = run.head
    named_facts = facts(run)
    longest = max(len(printable(name)) for name, _ in named_facts)
    lines = [title(run, width)]
    for name, value in named_facts:
        first = f"  {printable(name):<{longest}}  "
        lines += filled(printable(value), width, first, " " * len(first))
    components = [one for one in _list(head.get("components")) if isinstance(one, dict)]
    names = [str(one.get("name")) for one in components if one.get("available") is True]
    if names:
        lines += ["", *filled(f"components: {printable(', '.join(names))}", width, "", "    ")]
    for one in components:
        if one.get("available") is not True:
            said = f"not available: {one.get('name')}: {one.get('reason')}"
            lines += filled(printable(said), width, "", "    ")
    lines += not_counted(head, width)
    for warning in head["warnings"]:
        lines += filled(f"note: {printable(warning)}", width, "", "      ")
    return "\n".join(lines) + "\n"


def _host(host: Mapping[str, Any]) -> str:
    parts = [str(host.get("name")), str(host.get("cpu_model", ""))]
    if host.get("cpus"):
        parts.append(f"{host['cpus']} CPUs")
    if host.get("kernel"):
        parts.append(f"kernel {host['kernel']}")
    return ", ".join(part for part in parts if part)


def _mapping(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


# For each table: heading, how many columns the text needs at least, and whether it is a number.
_COLUMNS: dict[str, tuple[tuple[str, int, bool], ...]] = {
    "locations": (
        ("location", 8, True), ("in", 2, True), ("rank", 4, True), ("pid", 3, True),
        ("tid", 3, True), ("kind", 7, False), ("host", 8, False), ("name", 16, False),
    ),
    "regions": (
        ("region", 6, True), ("kind", 4, False), ("name", 24, False), ("file:line", 16, False),
        ("module", 8, False),
    ),
    "metrics": (
        ("metric", 6, True), ("name", 14, False), ("unit", 5, False), ("how", 9, False),
        ("component", 9, False), ("domain", 6, False), ("formula", 16, False),
    ),
}  # fmt: skip


# Columns that go first where there is no room for the least that the others need.
_GIVEN_UP = (
    "module", "host", "domain", "component", "how", "communicator", "tag", "filesystem", "address",
    "metric", "path",
)  # fmt: skip


# What gives a run the tables that most runs do not have.
_REMEDIES = {
    "events": "gnomon io --trace and gnomon run --io-trace record each call on files",
}


def table_text(
    run: Run, part: str, shown: Sequence[Mapping[str, Cell]], width: int, total: int
) -> str:
    """Return rows of a table for people.

    Args:
        run: the run.
        part: name of the table.
        shown: the rows to print.
        width: columns of the terminal.
        total: how many there are.
    """
    files = suffixes({str(row.get("file") or "") for row in shown}) if part == "regions" else {}
    lines = [title(run, width)]
    if not shown:
        remedy = f"; {_REMEDIES[part]}" if part in _REMEDIES else ""
        lines += filled(f"this run has no {part}{remedy}", width)
    elif part in _COLUMNS:
        lines += _fitted(_COLUMNS[part], [_cells(part, row, files) for row in shown], width)
    else:
        schema = schema_of(part)
        columns = event_tables.headings(schema)
        lines += _fitted(columns, event_tables.cells(run, schema, shown), width)
    if total > len(shown):
        lines.append(f"  and {number(total - len(shown))} more (--top 0 for all)")
    return "\n".join(lines) + "\n"


def _cells(part: str, row: Mapping[str, Cell], files: Mapping[str, str]) -> list[str]:
    def text(key: str) -> str:
        return printable(str(row[key])) if row[key] not in (None, "") else ""

    def known(key: str) -> str:
        value = row[key]
        return str(value) if isinstance(value, int) and value >= 0 else "-"

    if part == "locations":
        numbers = [str(row["location"]), known("parent"), known("rank"), known("pid"), known("tid")]
        return [*numbers, text("kind"), text("host"), text("name")]
    if part == "regions":
        file = printable(files.get(str(row["file"] or ""), ""))
        place = f"{file}:{row['line']}" if file and row["line"] else file
        return [str(row["number"]), text("kind"), text("region") or UNKNOWN, place, text("module")]
    about = text("formula") or text("description")
    values = [text(key) for key in ("metric", "unit", "how", "component", "domain")]
    return [str(row["number"]), *values, about]


def _fitted(
    columns: Sequence[tuple[str, int, bool]], cells: Sequence[Sequence[str]], width: int
) -> tuple[str, ...]:
    """Return a table in which the texts are shortened as far as needed; empty columns go."""
    used = [at for at in range(len(columns)) if any(row[at] not in ("", "-") for row in cells)]
    for head in _GIVEN_UP:
        if sum(max(columns[at][1], len(columns[at][0])) + GAP for at in used) <= width:
            break
        used = [at for at in used if columns[at][0] != head]
    heads = [columns[at] for at in used]
    natural = [
        max(len(head), *(len(row[at]) for row in cells))
        for at, (head, _, _) in zip(used, heads, strict=True)
    ]
    fixed = [
        wide if is_number else 0 for wide, (_, _, is_number) in zip(natural, heads, strict=True)
    ]
    room = width - INDENT - GAP * (len(heads) - 1) - sum(fixed)
    texts = [at for at, (_, _, is_number) in enumerate(heads) if not is_number]
    given = widths(
        [natural[at] for at in texts],
        [max(heads[at][1], len(heads[at][0])) for at in texts],
        room,
    )
    wide = dict(zip(texts, given, strict=True))
    table = []
    for row in cells:
        line = []
        for position, source in enumerate(used):
            text = row[source]
            if position in wide:
                short = {"file:line": short_path, "name": short_name}.get(heads[position][0], cut)
                text = short(text, wide[position])
            line.append(text)
        table.append(line)
    numbers = len(heads) - len(texts)
    return grid([(head,) for head, _, _ in heads], table, numbers).lines
