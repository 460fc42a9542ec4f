"""`gnomon components`: where events come from, and what works here."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from gnomon.cli.terminal.argument_help import Parser
from gnomon.errors import UsageError
from gnomon.named_tuple import NamedTuple

if TYPE_CHECKING:
    from gnomon.counters.component import Component, EventInfo

_EXAMPLES = 4


class _Row(NamedTuple):
    """What `--json` says of a component."""

    name: str
    description: str
    available: bool
    reason: str
    remedy: str
    errno: int
    errno_name: str
    scope: str
    counters: int | None
    overflow: str
    how_measured: str
    events: int


class _Details(NamedTuple):
    """What `--json` says besides of a component that was asked for by name."""

    scopes: dict[str, int]
    how: dict[str, int]
    units: dict[str, int]
    gauges: int
    examples: list[str]


def parser() -> argparse.ArgumentParser:
    """Return the parser of `gnomon components`."""
    p = Parser(
        prog="gnomon components",
        description="List the sources of events and test whether each works here; if not, print "
        "the reason and a remedy. With names, print the details of these.",
    )
    p.add_argument("names", nargs="*", metavar="COMPONENT", help="only these, in detail")
    p.add_argument("--json", action="store_true", help="as JSON")
    return p


def run(arguments: argparse.Namespace) -> int:
    """Print the components and return 0."""
    from gnomon.counters.components import COMPONENTS

    chosen = _chosen(arguments.names, COMPONENTS)
    in_detail = bool(arguments.names)
    rows = []
    for source in chosen:
        events = list(source.events())
        rows.append((_row(source, len(events)), _details(events) if in_detail else None))
    if arguments.json:
        documents = [
            {**row._asdict(), **(more._asdict() if more is not None else {})} for row, more in rows
        ]
        print(json.dumps({"components": documents}, indent=2))
        return 0
    from gnomon.cli.terminal.two_column_text import section, terminal_columns

    width = terminal_columns()
    for row, more in rows:
        lines = [*_lines(row), *(_more_lines(row, more) if more is not None else ())]
        print(section(row.name, lines, width))
    return 0


def _chosen(names: Sequence[str], components: Sequence[Component]) -> list[Component]:
    by_name = {source.name: source for source in components}
    for name in names:
        if name not in by_name:
            from gnomon.counters.name_suggestions import nearest

            close = nearest(name, list(by_name))
            hint = f"did you mean {close[0]}?" if close else f"there are {', '.join(by_name)}"
            raise UsageError(f"no component '{name}'; {hint}")
    return [by_name[name] for name in dict.fromkeys(names)] if names else list(components)


def _row(source: Component, events: int) -> _Row:
    import errno

    state = source.availability()
    return _Row(
        source.name,
        source.description,
        state.available,
        state.reason,
        state.remedy,
        state.errno,
        errno.errorcode.get(state.errno, ""),
        source.scope.value,
        source.counters(),
        source.overflow.value,
        source.how_measured,
        events,
    )


def _details(events: Sequence[EventInfo]) -> _Details:
    from collections import Counter

    return _Details(
        dict(Counter(info.scope.value for info in events)),
        dict(Counter(info.how.value for info in events)),
        dict(Counter(info.unit for info in events)),
        sum(info.gauge for info in events),
        [info.name for info in events[:_EXAMPLES]],
    )


def _lines(row: _Row) -> Iterator[str]:
    yield row.description
    yield row.how_measured
    if row.available:
        limit = "any number at once" if row.counters is None else f"{row.counters} counters"
        yield (
            f"available: {_events(row.events)}, {limit}, finest scope {row.scope}, "
            f"overflow {row.overflow}"
        )
        if row.reason:
            yield f"but: {row.reason}"
            yield f"remedy: {row.remedy}"
        return
    error = f" ({row.errno_name})" if row.errno_name and row.errno_name not in row.reason else ""
    yield f"not here: {row.reason}{error}"
    yield f"remedy: {row.remedy}"


def _more_lines(row: _Row, more: _Details) -> Iterator[str]:
    if not row.available and row.events:
        yield f"{_events(row.events)} known by name"
    if not row.events:
        return
    yield f"scopes: {_counts(more.scopes)}; values: {_counts(more.how)}"
    units = {unit or "plain counts": n for unit, n in more.units.items()}
    gauges = f"; {more.gauges} gauges" if more.gauges else ""
    yield f"units: {_counts(units)}{gauges}"
    yield f"events: {', '.join(more.examples)}" + (", ..." if row.events > _EXAMPLES else "")
    yield f"all: gnomon events --component {row.name}"


def _counts(found: dict[str, int]) -> str:
    return ", ".join(f"{name} {n}" for name, n in sorted(found.items(), key=lambda p: -p[1]))


def _events(n: int) -> str:
    return "1 event" if n == 1 else f"{n} events"
