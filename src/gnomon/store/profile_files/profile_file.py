"""What the readers of other tools' profiles share: their error, and the head of the run."""

from __future__ import annotations

import os
from collections.abc import Sequence

from gnomon.errors import RunDirectoryError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path
    from typing import IO, Any, NoReturn

GZIP = b"\x1f\x8b"
_AT_ONCE_BYTES = 1 << 20
LARGEST_BYTES = 1 << 30
"""Of a file that is read as a whole, unpacked."""
NUMBER_MOST = (1 << 31) - 1
"""Numbers of lines, processes and threads are no larger."""


def refuse(path: Path, offset: int, problem: str, format_name: str, *, line: int = 0) -> NoReturn:
    """Raise the error of a file that is damaged or none of its format.

    Args:
        path: the file.
        offset: the byte at which sense ended.
        problem: what is wrong there.
        format_name: what it was read as.
        line: the number of the line there, from 1 on; 0 of what has no lines.

    Raises:
        RunDirectoryError: always.
    """
    where = f"at byte {offset}, line {line}" if line else f"at byte {offset}"
    raise RunDirectoryError(
        f"{path}: {where}: {problem}; no {format_name} file, or damaged: write it again"
    )


def head(
    command: Sequence[str],
    host: str = "",
    *,
    producer: str = "",
    started: float = 0.0,
    wall_seconds: float = 0.0,
    warnings: Sequence[str] = (),
) -> dict[str, Any]:
    """Return the head of a run of which a file says no more than this.

    Args:
        command: the program and its arguments.
        host: where it ran.
        producer: what wrote the file.
        started: seconds since 1970.
        wall_seconds: how long it took.
        warnings: what the reader left out.
    """
    return {
        "producer": producer,
        "command": list(command),
        "hosts": [{"name": host}] if host else [],
        "started": started,
        "ended": started + wall_seconds,
        "wall_seconds": wall_seconds,
        "exit_status": None,
        "repetitions": 1,
        "unavailable": [],
        "warnings": list(warnings),
    }


def words(command: str) -> list[str]:
    """Return the arguments of a command that Gnomon wrote as one line; other text is one."""
    import shlex

    try:
        return shlex.split(command) or [command]
    except ValueError:
        return [command]


def whole_content(
    path: Path, file: IO[bytes], format_name: str, most: int = LARGEST_BYTES
) -> bytes:
    """Return all of a file, of a compressed one what is in it.

    Args:
        path: to be named in errors.
        file: its content.
        format_name: what it is read as.
        most: so many bytes at most, unpacked.

    Raises:
        RunDirectoryError: it is larger, or the compression is damaged.
    """
    # What is too large even packed is not read at all.
    is_too_large = _size_of(file) > most
    content = b"" if is_too_large else file.read(most + 1)
    if content.startswith(GZIP):
        content = _unpacked(path, content, format_name, most)
    if is_too_large or len(content) > most:
        raise RunDirectoryError(
            f"{path}: more than {most >> 20} MiB, which is the most that Gnomon reads of a "
            f"{format_name} file; write less into it"
        )
    return content


def _size_of(file: IO[bytes]) -> int:
    """Return the size of a file, 0 of what is in memory."""
    try:
        return os.fstat(file.fileno()).st_size
    except OSError:
        return 0


def _unpacked(path: Path, packed: bytes, format_name: str, most: int) -> bytes:
    """Return what gzip has packed, members one after the other; no more than one byte too much."""
    import zlib

    pieces: list[bytes] = []
    size = 0
    begin = 0
    while begin < len(packed) and size <= most:
        # Source: zlib.h: 16 more than the size of the window stand for gzip's header.
        member = zlib.decompressobj(16 + zlib.MAX_WBITS)
        offset = begin
        while not member.eof and size <= most:
            given = member.unconsumed_tail or packed[offset : offset + _AT_ONCE_BYTES]
            if not given:
                refuse(path, offset, "its compression ends too early", format_name)
            if not member.unconsumed_tail:
                offset += len(given)
            try:
                pieces.append(member.decompress(given, _AT_ONCE_BYTES))
            except zlib.error:
                refuse(path, offset - len(given), "its compression is damaged", format_name)
            size += len(pieces[-1])
        begin = offset - len(member.unused_data)
    return b"".join(pieces)
