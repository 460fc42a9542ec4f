"""How far work on several files is, on a terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from gnomon.cli.terminal.streams import is_styled

_SECONDS = 0.2
"""Between two looks of people: what is ready before is told of by its result."""


def file_progress(paths: Iterable[Path]) -> Iterator[Path]:
    """Yield files, and tell on a terminal which one is read if that takes its time."""
    listed = list(paths)
    is_shown = len(listed) > 1 and is_styled(sys.stderr)
    last = time.monotonic()
    told = 0
    for number, path in enumerate(listed, 1):
        if is_shown and time.monotonic() - last >= _SECONDS:
            last = time.monotonic()
            text = f"reading file {number} of {len(listed)}"
            print(f"\r{text:<{told}}", end="", file=sys.stderr, flush=True)
            told = len(text)
        yield path
    if told:
        print(f"\r{'':{told}}\r", end="", file=sys.stderr, flush=True)
