"""Where intervals go: the terminal, a file that grows, a file that node_exporter reads."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol

from gnomon.cli.terminal.streams import is_styled, width_of, write
from gnomon.errors import GnomonError
from gnomon.stat.interval_json import csv_head, csv_lines, document
from gnomon.stat.interval_rows import Sample
from gnomon.stat.interval_table import IntervalTable
from gnomon.stat.monitor import Monitor
from gnomon.terminal_text import WIDTH
from gnomon.units import printable

_HEIGHT = 24

Rendered = Callable[[int, bool], str]
"""Makes text for a width, with styles or without."""


def print_line(line: str) -> None:
    """Write a line for people beside what is counted."""
    with suppress(OSError, ValueError):
        write(sys.stderr, f"gnomon: {printable(line)}\n")


class Destination(Protocol):
    """Something that takes intervals."""

    def tell(self, sample: Sample) -> None:
        """Take an interval."""

    def end(self, summary: Sample | None) -> None:
        """End; `summary` is that of all intervals, where one is wanted."""


class Renderer:
    """Makes text of intervals: a table, JSON lines or CSV."""

    def __init__(self, monitor: Monitor, table: IntervalTable, kind: str) -> None:
        """Prepare; `kind` is "text", "json" or "csv"."""
        self._monitor = monitor
        self._table = table
        self.kind = kind
        self._is_first = True

    def text(self, sample: Sample, width: int, height: int, *, bold: bool = False) -> str:
        """Return an interval as text; the first with what belongs in front of it."""
        if self.kind == "text":
            return self._table.text(sample, width, height, bold=bold)
        return self._record(sample)

    def end(self, summary: Sample, width: int) -> str:
        """Return the summary of all intervals."""
        if self.kind == "text":
            return self._table.summary(summary, self._monitor.number, width)
        return self._record(summary)

    def _record(self, sample: Sample) -> str:
        # A watch that ends within its first interval begins with the summary.
        is_first, self._is_first = self._is_first, False
        if self.kind == "csv":
            return (csv_head() if is_first else "") + csv_lines(sample)
        monitor = self._monitor
        notes, missing = (monitor.notes, monitor.unavailable) if is_first else ((), ())
        return json.dumps(document(sample, monitor.infos, notes, missing)) + "\n"


class Terminal:
    """Standard output. A reader that goes away ends the command, as it ends vmstat."""

    def __init__(self, renderer: Renderer) -> None:
        self._renderer = renderer

    def tell(self, sample: Sample) -> None:
        """Write an interval."""
        height = _height() if sys.stdout.isatty() else 0
        text = self._renderer.text(sample, width_of(sys.stdout), height, bold=is_styled(sys.stdout))
        sys.stdout.write(text)
        sys.stdout.flush()

    def end(self, summary: Sample | None) -> None:
        """Write the summary, if there is one."""
        if summary is not None:
            sys.stdout.write(self._renderer.end(summary, width_of(sys.stdout)))
            sys.stdout.flush()


class Appended:
    """A file to which whole pieces are appended.

    What does not fit on a full disk is lost and said once; when there is room again it goes on.
    """

    def __init__(self, name: str) -> None:
        """Open it.

        Raises:
            GnomonError: it cannot be written.
        """
        self._name = name
        self._has_failed = False
        # logrotate may cut it off while we write: what comes then begins at its beginning.
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_CLOEXEC
        try:
            self._fd = os.open(name, flags, 0o666)
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or str(error)
            raise GnomonError(f"{printable(name)}: cannot be written: {why}") from None

    def append(self, text: str) -> None:
        """Append a piece, or nothing of it."""
        data = memoryview(text.encode("utf-8", "backslashreplace"))
        length = -1
        with suppress(OSError):
            length = os.lseek(self._fd, 0, os.SEEK_END)
        try:
            while data:
                data = data[os.write(self._fd, data) :]
        except OSError as error:
            if length >= 0:
                with suppress(OSError):
                    os.ftruncate(self._fd, length)
            if not self._has_failed:
                print_line(f"{self._name}: cannot be written: {error.strerror}; will try again")
            self._has_failed = True
        else:
            self._has_failed = False

    def close(self) -> None:
        """Close the file."""
        with suppress(OSError):
            os.close(self._fd)


class GrowingFile:
    """A file with a line or lines for each interval."""

    def __init__(self, name: str, renderer: Renderer) -> None:
        """Open it.

        Raises:
            GnomonError: it cannot be written.
        """
        self._renderer = renderer
        self._file = Appended(name)

    def tell(self, sample: Sample) -> None:
        """Append an interval."""
        self._file.append(self._renderer.text(sample, WIDTH, 0))

    def end(self, summary: Sample | None) -> None:
        """Append the summary, if there is one, and close the file."""
        if summary is not None:
            self._file.append(self._renderer.end(summary, WIDTH))
        self._file.close()


class Textfile:
    """A file with the present state, replaced as a whole by every interval."""

    def __init__(self, name: str, text: Callable[[], str]) -> None:
        """Try whether it can be written.

        Raises:
            GnomonError: it cannot.
        """
        self._name = name
        self._path = os.path.realpath(name)
        self._part = f"{self._path}.{os.getpid()}.part"
        self._text = text
        self._has_failed = False
        try:
            if os.path.isdir(self._path):  # noqa: PTH112
                raise IsADirectoryError(21, "it is a folder")
            # In a container each run may be process 1: what a killed one has left is in the way.
            with suppress(OSError):
                os.unlink(self._part)  # noqa: PTH108
            with open(self._part, "x"):
                pass
            os.unlink(self._part)  # noqa: PTH108
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or str(error)
            raise GnomonError(f"{printable(name)}: cannot be written: {why}") from None

    def tell(self, sample: Sample) -> None:  # noqa: ARG002
        """Replace the file."""
        try:
            # Never what another user has put there in the meantime, such as a link.
            with open(self._part, "x", encoding="utf-8") as file:
                file.write(self._text())
            os.replace(self._part, self._path)  # noqa: PTH105
        except OSError as error:
            if not self._has_failed:
                print_line(f"{self._name}: cannot be written: {error.strerror}; will try again")
            self._has_failed = True
        else:
            self._has_failed = False
        finally:
            # What did not take its place stays nowhere, when a signal ends the writing, either.
            with suppress(OSError):
                os.unlink(self._part)  # noqa: PTH108

    def end(self, summary: Sample | None) -> None:
        """Leave it: it has the last interval."""


class Reports:
    """Whole reports, one for each interval: on standard output, in a file, or both."""

    def __init__(self, name: str, report: Callable[[Sample], Rendered], *, prints: bool) -> None:
        """Open what is to be written.

        Args:
            name: of the file, "" for none.
            report: returns what makes text of an interval, for a width and with styles or without.
            prints: whether standard output gets them.

        Raises:
            GnomonError: the file cannot be written.
        """
        self._report = report
        self._prints = prints
        self._file = Appended(name) if name else None

    def tell(self, sample: Sample) -> None:
        """Write the report of an interval."""
        self.write(self._report(sample))

    def write(self, rendered: Rendered) -> None:
        """Write a report to each destination."""
        if self._file is not None:
            self._file.append(rendered(WIDTH, False))
        if self._prints:
            sys.stdout.write(rendered(width_of(sys.stdout), is_styled(sys.stdout)))
            sys.stdout.flush()

    def end(self, summary: Sample | None) -> None:
        """Write the report of all intervals, if there is one, and close the file."""
        if summary is not None:
            self.tell(summary)
        if self._file is not None:
            self._file.close()


def _height() -> int:
    try:
        return os.get_terminal_size(sys.stdout.fileno()).lines or _HEIGHT
    except (OSError, ValueError):
        return _HEIGHT
