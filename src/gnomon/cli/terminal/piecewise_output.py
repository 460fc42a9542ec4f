"""Output that is made piece by piece, and is written whole or not at all."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from gnomon.cli.terminal.streams import safe_lines
from gnomon.errors import UsageError

_IN_MEMORY_BYTES = 8 << 20


def write_pieces(pieces: Iterable[str], output: str | None) -> None:
    """Write pieces to a file or, for None and "-", to stdout: all of them or none.

    Raises:
        GnomonError: the file cannot be written, or a piece not be made.
    """
    if not output or output == "-":
        _print(pieces)
        return
    from gnomon.cli.terminal.atomic_file import WholeFile

    file = WholeFile(output)
    try:
        for piece in pieces:
            file.text.write(piece)
        file.keep()
    finally:
        file.drop()


def write_bytes(pieces: Iterable[bytes], output: str | None) -> None:
    """Write pieces that are no text, as `write_pieces` does text.

    Raises:
        UsageError: they would go to a terminal.
        GnomonError: as `write_pieces`.
    """
    if output and output != "-":
        from gnomon.cli.terminal.atomic_file import WholeFile

        file = WholeFile(output)
        try:
            for piece in pieces:
                file.text.buffer.write(piece)  # type: ignore[attr-defined]
            file.keep()
        finally:
            file.drop()
        return
    if sys.stdout.isatty():
        raise UsageError("stdout is a terminal, and the file is no text: name one with -o FILE")
    from tempfile import SpooledTemporaryFile

    with SpooledTemporaryFile(_IN_MEMORY_BYTES) as whole:
        for piece in pieces:
            whole.write(piece)
        whole.seek(0)
        sys.stdout.flush()
        while piece := whole.read(_IN_MEMORY_BYTES):
            sys.stdout.buffer.write(piece)
    sys.stdout.flush()


def _print(pieces: Iterable[str]) -> None:
    """Write pieces to stdout once all of them could be made: a part of an export is none."""
    from tempfile import SpooledTemporaryFile

    # A name that is no UTF-8 is shown as escapes, as in a file.
    with SpooledTemporaryFile(
        _IN_MEMORY_BYTES, "w+", encoding="utf-8", errors="surrogateescape", newline=""
    ) as whole:
        for piece in map(_for_terminal, pieces) if sys.stdout.isatty() else pieces:
            whole.write(piece)
        whole.seek(0)
        while piece := whole.read(_IN_MEMORY_BYTES):
            sys.stdout.write(piece)
    sys.stdout.flush()


def _for_terminal(piece: str) -> str:
    return safe_lines(piece.replace("\r\n", "\n"))
