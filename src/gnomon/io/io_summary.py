"""What the summary of `gnomon run` says of I/O: how much was moved, and which file took most."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gnomon.io.io_sums import IoSums
from gnomon.terminal_text import filled, share
from gnomon.units import number, printable, quantity

if TYPE_CHECKING:
    from gnomon.store.run import Run

LOST = "events_lost"


def lines(run: Run, width: int) -> list[str]:
    """Return it in a sentence.

    Args:
        run: the run.
        width: columns of the terminal.

    Raises:
        RunDirectoryError: the tables cannot be read.
    """
    sums = IoSums(run)
    if not sums.is_there:
        return ["  I/O: no process called the C library's functions for files"]
    files = sums.files()
    whole = sum(file.seconds or 0.0 for file in files)
    read, written = (sum(file.moved(way) for file in files) for way in ("read", "write"))
    several = f"{number(len(files))} file{'' if len(files) == 1 else 's'}"
    text = (
        f"I/O: {number(round(sum(file.calls for file in files)))} calls on {several} in "
        f"{quantity(whole, 's')}, {quantity(round(read), 'bytes')} read, "
        f"{quantity(round(written), 'bytes')} written; most time, "
        f"{share(files[0].seconds or 0.0, whole)}, on {files[0].path}"
    )
    told = filled(printable(text), width, "  ", "    ")
    coverage = sums.coverage()
    if coverage.is_complete is False:
        told += filled(
            "part of it was not seen: gnomon report RUN io says how much", width, "    ", "    "
        )
    return told + trace_lines(run, width, "    ")


def events_of(run: Run) -> tuple[int, int]:
    """Return how many calls were recorded with their times, and for how many was no room."""
    facts = run.head.get("facts")
    own = facts.get("io") if isinstance(facts, dict) else None
    numbers = [own.get(name, 0) if isinstance(own, dict) else 0 for name in ("events", LOST)]
    n, lost = (value if isinstance(value, int) and value > 0 else 0 for value in numbers)
    return n, lost


def trace_lines(run: Run, width: int, indent: str = "") -> list[str]:
    """Return how many calls there are with their times, none where none were asked for."""
    n, lost = events_of(run)
    if not n and not lost:
        return []
    text = f"trace: {number(n)} calls with their times: gnomon report RUN events"
    if lost:
        text += f"; {number(lost)} calls are missing, as there was no room for them"
    return filled(text, width, indent, f"{indent}  ")
