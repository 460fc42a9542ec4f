"""The list of event groups, with the metrics that follow from each."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from gnomon.cli.terminal.streams import width_of, write
from gnomon.named_tuple import NamedTuple
from gnomon.terminal_text import filled

if TYPE_CHECKING:
    from gnomon.metrics.definitions import Metric
    from gnomon.metrics.groups import Group
    from gnomon.metrics.user_definitions import Library

_INDENT = "      "


class Listed(NamedTuple):
    """A group with the metrics that follow from it, those first that it is for.

    Attributes:
        group: the group.
        metrics: what its events give.
        library: the file that it is from.
    """

    group: Group
    metrics: tuple[Metric, ...]
    library: Library


def print_groups(
    wanted: Sequence[str] = (),
    files: Sequence[str] = (),
    *,
    with_others: bool = False,
    as_json: bool = False,
) -> int:
    """Print event groups and the metrics that follow from them; return 0.

    Args:
        wanted: numbers or names, with details; () for all.
        files: files of groups, whose groups are meant if there are any.
        with_others: those for other CPUs as well.
        as_json: as JSON.

    Raises:
        UsageError: a file is wrong, or there is no such group.
    """
    from gnomon.measurement.event_selection import is_event
    from gnomon.measurement.measurement_metrics import core_models
    from gnomon.metrics import user_definitions
    from gnomon.metrics.groups import find_group

    loaded = [user_definitions.load(name, is_event) for name in files]
    libraries = tuple(loaded) or user_definitions.libraries(is_event)
    group_libraries = [(group, one) for one in libraries for group in one.groups]
    metrics = user_definitions.metrics()
    if wanted:
        groups = [group for group, _ in group_libraries]
        found = list(dict.fromkeys(find_group(groups, word, core_models) for word in wanted))
        group_libraries = [group_libraries[groups.index(group)] for group in found]
    elif not files and not with_others:
        group_libraries = _for_this_machine(group_libraries, core_models())
    rows = []
    for group, library in group_libraries:
        obtainable = metrics.obtainable(group.events, group.cpus or None)
        rows.append(Listed(group, _sorted(obtainable, group.metrics), library))
    if as_json:
        _print_json(rows)
        return 0
    width = width_of(sys.stdout)
    always = tuple(metric.name for metric in metrics.obtainable(()))
    in_detail = bool(wanted or files)
    lines = [line for row in rows for line in _text(row, width, always, in_detail=in_detail)]
    lines += filled(f"With every group: {', '.join(always)}.", width)
    write(sys.stdout, "\n".join(lines) + "\n")
    return 0


def _for_this_machine(
    group_libraries: Iterable[tuple[Group, Library]], cpus: Collection[str]
) -> list[tuple[Group, Library]]:
    """Return of the groups that share a name the first that is for the CPU or for all."""
    by_name: dict[str, tuple[Group, Library]] = {}
    for group, library in group_libraries:
        if not group.cpus or set(group.cpus) & set(cpus):
            by_name.setdefault(group.name.lower(), (group, library))
    return sorted(by_name.values(), key=lambda one: (one[0].number < 0, one[0].number))


def _sorted(metrics: Sequence[Metric], first: Sequence[str]) -> tuple[Metric, ...]:
    place = {name: at for at, name in enumerate(first)}
    return tuple(sorted(metrics, key=lambda metric: place.get(metric.name, len(place))))


def _text(row: Listed, width: int, always: Collection[str], *, in_detail: bool) -> Iterator[str]:
    group = row.group
    # Those of every group would hide its own.
    common = set(always) - set(group.metrics)
    own = [metric for metric in row.metrics if metric.name not in common]
    number = "  -" if group.number < 0 else f"{group.number:3}"
    yield from filled(group.description, width, f"{number}  {group.name}: ", _INDENT)
    if group.cpus:
        yield from filled(", ".join(group.cpus), width, f"{_INDENT}CPUs: ", f"{_INDENT}  ")
    yield from filled(", ".join(group.events), width, f"{_INDENT}events: ", f"{_INDENT}  ")
    if not in_detail:
        names = ", ".join(metric.name for metric in own) or "none"
        yield from filled(names, width, f"{_INDENT}metrics: ", f"{_INDENT}  ")
        return
    yield f"{_INDENT}metrics:" if own else f"{_INDENT}metrics: none"
    for metric in own:
        unit = f" [{metric.unit}]" if metric.unit and f"[{metric.unit}]" not in metric.name else ""
        formula = " ".join(metric.formula.text.split())
        lead = f"{_INDENT}  "
        yield from filled(f"{metric.name}{unit} = {formula}", width, lead, f"{lead}  ")
    for note in row.library.notes:
        yield from filled(f"left out: {note}", width, _INDENT, f"{_INDENT}  ")
    yield ""


def _print_json(rows: Sequence[Listed]) -> None:
    import json

    listed = [
        {
            "number": None if row.group.number < 0 else row.group.number,
            "name": row.group.name,
            "description": row.group.description,
            "file": row.library.path or None,
            "cpus": list(row.group.cpus),
            "events": list(row.group.events),
            "metrics": [
                {
                    "name": metric.name,
                    "title": metric.title or None,
                    "unit": metric.unit,
                    "formula": " ".join(metric.formula.text.split()),
                    "description": metric.description,
                }
                for metric in row.metrics
            ],
            "left_out": list(row.library.notes),
        }
        for row in rows
    ]
    print(json.dumps({"groups": listed}, indent=2))
