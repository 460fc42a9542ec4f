"""Trees of files made for a test, and other things that tests of components need."""

from __future__ import annotations

import mmap
from collections.abc import Mapping
from pathlib import Path


def plant(root: Path, files: Mapping[str, str]) -> Path:
    """Write each text at its path under `root`, with the folders it needs; return `root`."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


# Root's files stay readable, so that the same installation runs; everything else is forbidden.
WITHOUT_RIGHTS = ("setpriv", "--bounding-set=-all", "--inh-caps=-all", "--no-new-privs")


def touch_pages(n: int) -> None:
    """Cause a page fault for each of `n` pages."""
    with mmap.mmap(-1, n * mmap.PAGESIZE) as memory:
        memory.madvise(mmap.MADV_NOHUGEPAGE)
        for at in range(0, n * mmap.PAGESIZE, mmap.PAGESIZE):
            memory[at] = 1
