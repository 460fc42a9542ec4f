"""Source files that a run's lines are of, as they are now."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable
from pathlib import Path

from gnomon.store.kept_files import nothing_packed
from gnomon.units import printable

_LIMIT_BYTES = 64 << 20
_TAB = 4
# Sources are small and few; what is more than this would delay the end of a measurement.
_DIGEST_LIMIT_BYTES = 8 << 20
_DIGESTS_LIMIT = 10_000


class Sources:
    """Source files that are there to be read, each read once."""

    def __init__(self, packed: Callable[[str], bytes | None] = nothing_packed) -> None:
        """Begin with none.

        Args:
            packed: returns the text that a run itself has of a file (`Run.source_text`).
        """
        self._packed = packed
        self._files: dict[str, list[str]] = {}
        self._changed: dict[str, float] = {}

    def lines(self, file: str) -> list[str]:
        """Return the lines of a file, tabs as blanks; [] where it cannot be read."""
        if file not in self._files:
            self._files[file] = self._read(file)
        return self._files[file]

    def line(self, file: str, line_number: int) -> str:
        """Return one line with its indentation, "" where there is none."""
        lines = self.lines(file)
        return lines[line_number - 1] if 0 < line_number <= len(lines) else ""

    def changed_since(self, since: float) -> list[str]:
        """Return those of the files read that were written after a time, in seconds."""
        return [file for file, changed in self._changed.items() if changed > since]

    def _read(self, file: str) -> list[str]:
        path = Path(file)
        try:
            if (packed := self._packed(file)) is not None:
                text = packed.decode(errors="replace")
            elif not file or not path.is_file() or path.stat().st_size > _LIMIT_BYTES:
                return []
            else:
                text = path.read_text(errors="replace")
                self._changed[file] = path.stat().st_mtime
        except (OSError, ValueError):
            return []
        # Not splitlines(): compilers count a form feed as part of its line.
        lines = text.split("\n")
        if not lines[-1]:
            lines.pop()
        return [printable(line.expandtabs(_TAB).rstrip()) for line in lines]


def digests(files: Iterable[str], before: float) -> dict[str, str]:
    """Return "sha256:..." of those files that are there, so that a reader can tell later changes.

    Args:
        files: paths from the root; what is no regular file, or larger than 8 MiB, is left out.
        before: seconds since the epoch; what was written since is not what was measured.
    """
    by_file: dict[str, str] = {}
    for file in sorted(set(files)):
        if len(by_file) >= _DIGESTS_LIMIT:
            break
        digest = _digest(file, before) if file.startswith("/") else ""
        if digest:
            by_file[file] = f"sha256:{digest}"
    return by_file


def _digest(file: str, before: float) -> str:
    import hashlib

    try:
        # Not opened by what would wait for a writer of a pipe.
        descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    except (OSError, ValueError):
        return ""
    try:
        about = os.fstat(descriptor)
        is_small = stat.S_ISREG(about.st_mode) and about.st_size <= _DIGEST_LIMIT_BYTES
        if not is_small or about.st_mtime > before:
            return ""
        with open(descriptor, "rb", closefd=False) as opened:
            return hashlib.sha256(opened.read(_DIGEST_LIMIT_BYTES)).hexdigest()
    except OSError:
        return ""
    finally:
        os.close(descriptor)


def indentation(lines: Iterable[str]) -> int:
    """Return how many blanks all lines begin with, those without text aside."""
    return min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
