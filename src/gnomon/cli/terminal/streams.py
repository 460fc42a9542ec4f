"""Where reports go: a terminal stream, a file, or both."""

from __future__ import annotations

import os
import sys
from contextlib import suppress

from gnomon.errors import GnomonError
from gnomon.terminal_text import NARROWEST, WIDTH
from gnomon.units import printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import IO


_PLAIN = bytes(range(ord(" "), 0x7F)) + b"\n"


def is_styled(stream: IO[str]) -> bool:
    """Return whether bold and dim are welcome: a terminal, and NO_COLOR is not set.

    What a launcher of Open MPI's kind gives its tasks is a terminal, too, but nobody looks at it.
    """
    if os.environ.get("NO_COLOR") or "PMIX_RANK" in os.environ:
        return False
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def width_of(stream: IO[str]) -> int:
    """Return the columns that text for a stream may take: COLUMNS, or the terminal's, or 80."""
    wanted = os.environ.get("COLUMNS", "")
    if wanted.isdecimal() and int(wanted[:9]) > 0:
        return max(int(wanted[:9]), NARROWEST)
    try:
        columns = os.get_terminal_size(stream.fileno()).columns
    except (OSError, ValueError):  # no terminal, or none that has a descriptor
        return WIDTH
    return max(columns, NARROWEST) if columns else WIDTH


def format_of(output: str | None, *, as_json: bool = False) -> str:
    """Return the format of a report: "json", "csv" or "text".

    Args:
        output: the file that was asked for; the end of its name says what it is to be.
        as_json: JSON was asked for.
    """
    ending = (output or "").lower().rpartition(".")[2] if "." in (output or "") else ""
    return "json" if as_json or ending == "json" else "csv" if ending == "csv" else "text"


def write_report(output: str | None, text: str | Iterable[str]) -> None:
    """Write a report into a file, or to stdout where none or "-" is asked for.

    Args:
        output: the file.
        text: the report, or pieces of whole lines.

    Raises:
        GnomonError: the file cannot be written.
    """
    if not output or output == "-":
        write_lines(sys.stdout, text)
    elif format_of(output) == "csv":
        with open_for_writing(output, newline="") as file:
            write(file, text if isinstance(text, str) else "".join(text))
    else:
        with open_for_writing(output) as file:
            write_lines(file, text)


def complain(line: str, command: str = "gnomon") -> None:
    """Print a line on stderr, behind the name of the command; not if nothing can be written."""
    if sys.stderr is not None:
        with suppress(OSError):
            write(sys.stderr, f"{command}: {printable(line)}\n")


def open_for_writing(path: str, newline: str | None = None) -> IO[str]:
    """Return the file, opened before the program runs so that a wrong name costs no run.

    Raises:
        GnomonError: it cannot be written.
    """
    try:
        # Arguments may hold bytes that are no UTF-8: they are shown as escapes.
        return open(path, "w", encoding="utf-8", errors="backslashreplace", newline=newline)
    except OSError as error:
        raise GnomonError(f"{path}: cannot be written: {error.strerror}") from None


def write(stream: IO[str], text: str) -> None:
    """Write a whole report; a reader who went away is no reason to fail."""
    with suppress(BrokenPipeError):
        stream.write(text)
        stream.flush()


def write_lines(stream: IO[str], text: str | Iterable[str]) -> None:
    """Write a whole report of what a file holds: whatever names are in it, a terminal obeys none.

    It may come in pieces of whole lines. Other control characters than ends of lines are shown as
    Python writes them.
    """
    with suppress(BrokenPipeError):
        for piece in (text,) if isinstance(text, str) else text:
            stream.write(safe_lines(piece))
        stream.flush()


def safe_lines(text: str) -> str:
    """Return lines without what would move the cursor, change colours or the window's title."""
    # Of long reports the first is six times as fast; what has other letters is looked at closely.
    is_plain = text.isascii() and not text.encode().translate(None, _PLAIN)
    if is_plain or text.replace("\n", "").isprintable():
        return text
    return "\n".join(map(printable, text.split("\n")))


def write_alone(text: str) -> None:
    """Write to stdout, beginning on a line of its own whatever the program left there."""
    sys.stdout.flush()
    write(sys.stdout, "\n" + text)
