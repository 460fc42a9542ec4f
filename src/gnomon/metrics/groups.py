"""Groups of events that answer one question together, as TOML data.

    [[group]]
    number = 2
    name = "BRANCH"
    description = "branches and their prediction"
    events = ["PAPI_TOT_INS", "PAPI_BR_INS", "PAPI_BR_MSP"]
    metrics = ["branch_share"]          # optional: what it is for, shown first
    cpus = ["skx", "clx"]               # optional: libpfm4's names of the core PMUs it is for

Whatever can be computed from the events is, whether it is named here or not
(`gnomon.metrics.derived`). Where several groups share a number or name, the first is meant that is
for the machine's CPU or for all.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from gnomon.errors import UsageError
from gnomon.metrics import toml_document
from gnomon.metrics.toml_document import Document, TomlEntry, nearest, quote
from gnomon.named_tuple import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

SHIPPED = f"{toml_document.SHIPPED}/groups.toml"
SECTIONS = ("group", "metric", "quantity", "aliases", "variables")
"""What a file of definitions may hold: a user's file may have groups and metrics together."""

NAME = r"[A-Za-z][A-Za-z0-9_-]{0,63}"
"""What a group may be called."""

_LISTED = 12


class Group(NamedTuple):
    """Events to count together.

    Attributes:
        number: 0 is counted where no group was asked for.
        name: letters, digits, `_` and `-`, beginning with a letter; case does not matter.
        description: one line.
        events: event names as people type them, each once.
        metrics: names of metrics that the group is for.
        cpus: libpfm4's names of the core PMUs that it is for, () for all.
    """

    number: int
    name: str
    description: str
    events: tuple[str, ...]
    metrics: tuple[str, ...] = ()
    cpus: tuple[str, ...] = ()


def load_groups(path: Path | str | None = None) -> tuple[Group, ...]:
    """Return the groups of a TOML file, in its order; by default the shipped ones.

    Raises:
        UsageError: the file cannot be read or an entry is wrong; names file and line.
    """
    read = Document(path or SHIPPED)
    if read.is_compiled:
        return tuple(_compiled(fields) for fields in read.sections["group"])
    read.only(SECTIONS)
    groups: list[Group] = []
    taken: dict[tuple[str, str], int] = {}
    for entry in read.entries("group"):
        group = _group(entry)
        for key, word in (("number", str(group.number)), ("name", group.name.lower())):
            for cpu in group.cpus or ("",):
                if (word, cpu) in taken:
                    line = taken[word, cpu]
                    entry.refuse(key, f"{key} {word!r} is taken by the group on line {line}")
                taken[word, cpu] = entry.line
        groups.append(group)
    return tuple(groups)


def find_group(
    groups: Iterable[Group],
    wanted: str | int,
    cpus: Callable[[], Collection[str]] = tuple,
) -> Group:
    """Return the first group of a number or a name that is for the machine's CPU.

    Args:
        groups: where to look; put a user's groups in front of the shipped ones.
        wanted: a number (3, "3") or a name, in any case.
        cpus: gives libpfm4's names of the machine's core PMUs; called only if that matters.

    Raises:
        UsageError: no group answers to it; names the nearest ones.
    """
    candidates = tuple(groups)
    text = str(wanted).strip()
    matching: list[Group] = []
    if text.isascii() and text.isdigit():
        digits = text.lstrip("0") or "0"
        matching = [group for group in candidates if str(group.number) == digits]
    matching = matching or [group for group in candidates if group.name.lower() == text.lower()]
    found = _first(matching, cpus)
    if found is not None:
        return found
    if matching:
        own_cpus = sorted({cpu for group in matching for cpu in group.cpus})
        here = ", ".join(cpus()) or "none that the kernel shows"
        raise UsageError(
            f"group '{quote(text)[1:-1]}' is for core PMUs that have its events "
            f"({', '.join(own_cpus)}); this machine's is {here}; gnomon groups lists the others"
        )
    hint = nearest(text, [group.name for group in candidates])
    names = dict.fromkeys(f"{one.number} {one.name}" for one in candidates if one.number >= 0)
    listed = ", ".join(list(names)[:_LISTED]) + (" and others" if len(names) > _LISTED else "")
    raise UsageError(
        f"no group '{quote(text)[1:-1]}'{hint or f'; there are {listed}'}; gnomon groups lists them"
    )


def _first(groups: Sequence[Group], cpus: Callable[[], Collection[str]]) -> Group | None:
    """Return the first group that is for the CPU or for all."""
    here: frozenset[str] | None = None
    for group in groups:
        if not group.cpus:
            return group
        here = frozenset(cpus()) if here is None else here
        if here.intersection(group.cpus):
            return group
    return None


def _compiled(fields: Mapping[str, Any]) -> Group:
    """Return a shipped group, which was checked before it was shipped."""
    return Group(
        fields["number"],
        fields["name"],
        fields["description"],
        tuple(fields["events"]),
        tuple(fields.get("metrics", ())),
        tuple(fields.get("cpus", ())),
    )


def _group(entry: TomlEntry) -> Group:
    entry.only(Group._fields)
    name = entry.text("name")
    if not re.fullmatch(NAME, name):
        entry.refuse("name", "a group's name is a letter, then up to 63 letters, digits, _ or -")
    return Group(
        number=entry.whole_number("number"),
        name=name,
        description=entry.text("description"),
        events=entry.words("events"),
        metrics=entry.texts("metrics") if "metrics" in entry.fields else (),
        cpus=entry.words("cpus") if "cpus" in entry.fields else (),
    )
