"""Kinds of regions: what each is called, and what readers of a run may do with its values.

Gnomon's own stand here. A capability that has others names them in its `region_kinds`; they are
written into run.json, so that whoever reads the run knows them, whatever is installed there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from gnomon.named_tuple import NamedTuple

FIELD = "region_kinds"
"""Where run.json has the kinds that are not Gnomon's own."""

_KINDS_MOST = 100
_TEXT_MOST = 200


class RegionKind(NamedTuple):
    """A kind of regions.

    Attributes:
        kind: as the table of regions has it.
        title: what people call all regions of the kind together.
        node: what one of them is, in a tree.
        is_code: they are functions and lines of the source, whose exclusive values are what counts.
        is_section: they are the program and parts of it that it marked, which may overlap. Each
            call of a part is recorded at one location: of its process, or of one thread.
        is_division: their paths have a root of their own and divide once more what others have:
            no part of the program, and in no tree of it.
    """

    kind: str
    title: str
    node: str
    is_code: bool = False
    is_section: bool = False
    is_division: bool = False


WAIT, THREAD = "wait", "thread"
"""What a thread waits for, at the end of a call path; a thread as a whole."""

KINDS = (
    RegionKind("hpm", "program and sections", "section", is_section=True),
    RegionKind("cpu", "functions and lines", "function", is_code=True),
    RegionKind(WAIT, "waits", "wait", is_code=True),
    RegionKind("mpi", "MPI calls", "call"),
    RegionKind("mpi_size", "MPI calls by size", "size", is_division=True),
    RegionKind("mpi_communicator", "MPI calls by communicator", "communicator", is_division=True),
    RegionKind("io", "I/O calls", "call"),
    RegionKind("io_file", "I/O calls by file", "file", is_division=True),
    RegionKind("io_size", "I/O calls by size", "size", is_division=True),
    RegionKind("io_access", "reads and writes by file", "file", is_division=True),
    RegionKind("io_file_size", "reads and writes by file and size", "size", is_division=True),
    RegionKind("memory", "memory", "memory"),
    RegionKind(THREAD, "threads", "thread"),
)
"""Kinds that every run may have."""

_OWN = {one.kind: one for one in KINDS}


class RegionKinds:
    """The kinds that the regions of a run may have."""

    def __init__(self, more: Iterable[RegionKind] = ()) -> None:
        self._known = {one.kind: one for one in more} | _OWN

    def __iter__(self) -> Iterator[RegionKind]:
        """Yield all that have a name."""
        return iter(self._known.values())

    def of(self, kind: str) -> RegionKind:
        """Return a kind; an unregistered one is derived from its name."""
        return self._known.get(kind) or RegionKind(kind, kind or "(unknown)", kind or "section")

    def code(self) -> str:
        """Return the kinds that are code, as a list of SQL."""
        return _list(one.kind for one in self._known.values() if one.is_code)

    def sections(self) -> str:
        """Return the kinds that are sections, as a list of SQL."""
        return _list(one.kind for one in self._known.values() if one.is_section)

    def divisions(self) -> str:
        """Return the kinds that divide once more what others have, as a list of SQL."""
        return _list(one.kind for one in self._known.values() if one.is_division)

    def recorded_once(self) -> str:
        """Return whether each call of a path `t` of a region `r` has one location, in SQL.

        What processes and threads have of it are different calls, which add up. Of all others a
        place has what the places within it have, too, and so has the program.
        """
        return f"(COALESCE(t.parent, -1) <> -1 AND COALESCE(r.kind, '') IN {self.sections()})"


OWN_KINDS = RegionKinds()
"""Gnomon's own."""


def of_head(head: Mapping[str, Any]) -> RegionKinds:
    """Return the kinds of a run, from its head; what is none there is left out."""
    listed = head.get(FIELD)
    entries = listed[:_KINDS_MOST] if isinstance(listed, list) else []
    return RegionKinds(one for one in map(_read, entries) if one is not None)


def as_head(kinds: Iterable[RegionKind]) -> dict[str, Any]:
    """Return the kinds in the head of a run that are not Gnomon's own."""
    more = [one._asdict() for one in dict.fromkeys(kinds) if one.kind not in _OWN]
    return {FIELD: more} if more else {}


def joined(heads: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the kinds of all runs, for the head of their combination."""
    listed = [head.get(FIELD) for head in heads]
    entries = [entry for one in listed if isinstance(one, list) for entry in one[:_KINDS_MOST]]
    return as_head(one for one in map(_read, entries) if one is not None)


def _read(entry: object) -> RegionKind | None:
    if not isinstance(entry, dict):
        return None
    texts = [entry.get(name) for name in ("kind", "title", "node")]
    if not all(isinstance(text, str) and 0 < len(text) <= _TEXT_MOST for text in texts):
        return None
    kind, title, node = map(str, texts)
    return RegionKind(
        kind, title, node, entry.get("is_code") is True, entry.get("is_section") is True,
        entry.get("is_division") is True,
    )  # fmt: skip


def _list(kinds: Iterable[str]) -> str:
    return "(" + ", ".join("'" + kind.replace("'", "''") + "'" for kind in kinds) + ")"
