"""Groups of events that answer one question together, as TOML data.

    [[group]]
    number = 2
    name = "BRANCH"
    description = "branches and their prediction"
    events = ["PAPI_TOT_INS", "PAPI_BR_INS", "PAPI_BR_MSP"]

Groups carry no metrics of their own: whatever can be computed from the events is
(`gnomon.metrics.derived`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from gnomon.errors import UsageError
from gnomon.metrics import document
from gnomon.metrics.document import Document, Entry, nearest

if TYPE_CHECKING:
    from pathlib import Path

SHIPPED = f"{document.SHIPPED}/groups.toml"
SECTIONS = ("group", "metric", "aliases")
"""What a file of definitions may hold: a user's file may have groups and metrics together."""

_NAME = r"[A-Za-z][A-Za-z0-9_-]{0,63}"


class Group(NamedTuple):
    """Events to count together.

    Attributes:
        number: 0 is counted where no group was asked for.
        name: letters, digits, `_` and `-`, beginning with a letter; case does not matter.
        description: one line.
        events: event names as people type them, each once.
    """

    number: int
    name: str
    description: str
    events: tuple[str, ...]


def load_groups(path: Path | None = None) -> tuple[Group, ...]:
    """Return the groups of a TOML file, in its order; by default the shipped ones.

    Raises:
        UsageError: the file cannot be read or an entry is wrong; names file and line.
    """
    read = Document(path or SHIPPED)
    read.only(SECTIONS)
    groups: list[Group] = []
    taken: dict[str, int] = {}
    for entry in read.entries("group"):
        group = _group(entry)
        for key, word in (("number", str(group.number)), ("name", group.name.lower())):
            if word in taken:
                entry.refuse(key, f"{key} {word!r} is taken by the group on line {taken[word]}")
            taken[word] = entry.line
        groups.append(group)
    return tuple(groups)


def find_group(groups: Iterable[Group], wanted: str | int) -> Group:
    """Return the first group of a number or a name.

    Args:
        groups: where to look; put a user's groups in front of the shipped ones.
        wanted: a number (3, "3") or a name, in any case.

    Raises:
        UsageError: no group answers to it; names the nearest ones.
    """
    known = tuple(groups)
    text = str(wanted).strip()
    if text.isascii() and text.isdigit():
        digits = text.lstrip("0") or "0"
        for group in known:
            if str(group.number) == digits:
                return group
    for group in known:
        if group.name.lower() == text.lower():
            return group
    hint = nearest(text, [group.name for group in known])
    listed = ", ".join(f"{group.number} {group.name}" for group in known)
    raise UsageError(f"no group '{_short(text)}'{hint or f'; there are {listed}'}")


def _group(entry: Entry) -> Group:
    entry.only(("number", "name", "description", "events"))
    name = entry.text("name")
    if not re.fullmatch(_NAME, name):
        entry.refuse("name", "a group's name is a letter, then up to 63 letters, digits, _ or -")
    return Group(
        number=entry.whole_number("number"),
        name=name,
        description=entry.text("description"),
        events=entry.words("events"),
    )


def _short(text: str) -> str:
    shown = ascii(text)[1:-1]
    return shown if len(shown) <= 60 else f"{shown[:60]}..."
