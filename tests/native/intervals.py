"""What sections must have measured, worked out from a program's own notes (sections/trace.c).

Source of the rules: HPM Toolkit users guide 3.2.2, sections 3.6.2 and 3.6.3. The time line is cut
at every note; for each piece it is known which sections were active and who was whose child.
"""

from __future__ import annotations

from typing import NamedTuple

_AUTO, _ONLY_EXCLUSIVE, _NO_PARENT = -1, -2, -3


class Note(NamedTuple):
    """One line of the notes; times in nanoseconds."""

    op: str
    kind: str
    id: int
    parent: int
    thread: int
    before_ns: int
    after_ns: int


class Expected(NamedTuple):
    """What a section must have measured; its time lies between two bounds, in nanoseconds."""

    pages: int
    least_ns: int
    most_ns: int
    starts: int


def notes_of(printed: str) -> list[Note]:
    """Return the notes that a program printed."""
    notes = []
    for line in printed.splitlines():
        op, kind, *numbers = line.split()
        notes.append(Note(op, kind, *map(int, numbers)))
    return notes


class _Section:
    def __init__(self) -> None:
        self.depth = 0
        self.parent = 0
        self.thread = 0
        self.kind = ""
        self.starts = 0
        self.since = (0, 0)  # before and after the call that began the present piece
        self.totals = {False: [0, 0, 0], True: [0, 0, 0]}


class Model:
    """Plays notes in order and adds up what each section measures, inclusive and exclusive."""

    def __init__(self) -> None:
        self._sections: dict[int, _Section] = {}
        self._stacks: dict[tuple[int, str], list[int]] = {}

    def play(self, notes: list[Note]) -> None:
        """Play all notes; those of several threads are in the order in which they were made.

        No section may have a parent on another thread.
        """
        for note in notes:
            if note.op == "s":
                self._start(note)
            elif note.op == "e":
                self._stop(note)
            elif note.op == "t":
                self._touch(note)

    def expected(self, number: int, *, exclusive: bool) -> Expected:
        """Return what a section must have measured."""
        section = self._sections[number]
        pages, least_ns, most_ns = section.totals[exclusive]
        return Expected(pages, least_ns, most_ns, section.starts)

    def numbers(self) -> list[int]:
        """Return the sections that were started."""
        return sorted(self._sections)

    def _covered(self, number: int) -> bool:
        return any(
            one.depth and one.parent == number for id, one in self._sections.items() if id != number
        )

    def _touch(self, note: Note) -> None:
        for number, section in self._sections.items():
            if not section.depth or (section.kind == "t" and section.thread != note.thread):
                continue
            section.totals[False][0] += note.id
            if not self._covered(number):
                section.totals[True][0] += note.id

    def _cut(self, note: Note) -> None:
        """End the piece of time of every active section at this call and begin another."""
        for number, section in self._sections.items():
            if not section.depth or section.kind != note.kind:
                continue
            if note.kind == "t" and section.thread != note.thread:
                continue
            least = max(0, note.before_ns - section.since[1])
            most = note.after_ns - section.since[0]
            for exclusive in (False, True):
                if exclusive and self._covered(number):
                    continue
                section.totals[exclusive][1] += least
                section.totals[exclusive][2] += most
            section.since = (note.before_ns, note.after_ns)

    def _start(self, note: Note) -> None:
        self._cut(note)
        section = self._sections.setdefault(note.id, _Section())
        stack = self._stacks.setdefault((note.thread, note.kind), [])
        if not section.depth:
            if note.parent in (_AUTO, _ONLY_EXCLUSIVE):
                section.parent = stack[-1] if stack else 0
            else:
                section.parent = 0 if note.parent == _NO_PARENT else note.parent
            section.thread, section.kind = note.thread, note.kind
            section.since = (note.before_ns, note.after_ns)
        section.depth += 1
        section.starts += 1
        stack.append(note.id)

    def _stop(self, note: Note) -> None:
        self._cut(note)
        stack = self._stacks[note.thread, note.kind]
        at = len(stack) - 1 - stack[::-1].index(note.id)
        del stack[at]
        self._sections[note.id].depth -= 1
