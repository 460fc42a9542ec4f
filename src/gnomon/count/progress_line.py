"""The line that shows, on a terminal, that a slow run goes on.

It stands at the right edge of the line that the cursor is in, and the cursor goes back to where
the program left it, so nothing that the program writes is overwritten or moved. While the program
writes, nothing is drawn: its output is the progress then.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO

_PERIOD_S = 1.0
_FIRST_S = 2.0
_USUAL_COLUMNS = 80


class Progress:
    """Draws on a terminal; nothing at all elsewhere."""

    def __init__(self, terminal: IO[str], what: str) -> None:
        """Prepare to say on a terminal how long `what` takes."""
        self._terminal = terminal
        self._what = what
        self._begun = self._next = 0.0
        self._written = -(1 << 62)
        self._drawn = 0

    def begin(self) -> None:
        """Take note that it begins."""
        self._begun = time.monotonic()
        self._next = self._begun + _FIRST_S

    def end(self) -> None:
        """Leave nothing of the line."""
        self._erase()

    def look(self, pid: int, log_bytes: Callable[[], int]) -> None:
        """Draw if it is time to and the program writes nothing itself.

        Args:
            pid: number of the program's process.
            log_bytes: tells how much it has written into files that are not the program's.
        """
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + _PERIOD_S
        written = _written_by(pid) - log_bytes()
        quiet = written <= self._written
        self._written = written
        if not quiet:
            self._drawn = 0
            return
        self._draw(f"[{self._what} {now - self._begun:.0f} s]")

    def _draw(self, text: str) -> None:
        try:
            columns = self._columns()
            at = max(columns - len(text), 1)
            # Save the cursor, go to the column, clear to the end, write, restore.
            self._terminal.write(f"\x1b7\x1b[{at}G\x1b[K\x1b[2m{text[:columns]}\x1b[0m\x1b8")
            self._terminal.flush()
            self._drawn = len(text)
        except (OSError, ValueError):
            self._next = float("inf")

    def _columns(self) -> int:
        # A terminal that does not know its size says 0.
        return os.get_terminal_size(self._terminal.fileno()).columns or _USUAL_COLUMNS

    def _erase(self) -> None:
        if self._drawn:
            try:
                at = max(self._columns() - self._drawn, 1)
                self._terminal.write(f"\x1b7\x1b[{at}G\x1b[K\x1b8")
                self._terminal.flush()
            except (OSError, ValueError):
                pass


def _written_by(pid: int) -> int:
    """Return how much a process has written; it grows with every output of more than a byte.

    Valgrind's threads pass the turn to each other by writing single bytes into a pipe, 150 times a
    second, so bytes are counted less the calls that wrote them.
    """
    try:
        lines = Path(f"/proc/{pid}/io").read_text().splitlines()
        fields = dict(line.split(": ", 1) for line in lines)
        return int(fields["wchar"]) - int(fields["syscw"])
    except (OSError, ValueError, KeyError):
        return 0
