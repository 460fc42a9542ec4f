"""Small files that hold much: refused by name or shown, in bounded memory and time."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import compressed_runs
import pytest

PROGRAM = Path(compressed_runs.__file__)
SMALL_BYTES = 1 << 21


READ_BY = [("view", name) for name in (*compressed_runs.REFUSED, *compressed_runs.SHOWN)]
READ_BY += [("commands", name) for name in (*compressed_runs.REFUSED, "long names", "nested kinds")]


@pytest.mark.parametrize(("reader", "name"), READ_BY)
def test_every_reader_keeps_within_its_bounds(tmp_path: Path, reader: str, name: str) -> None:
    compressed_runs.write(tmp_path / "good.gnomon", {})
    tables = {**compressed_runs.REFUSED, **compressed_runs.SHOWN}[name]
    size = compressed_runs.write(tmp_path / "bad.gnomon", tables)
    assert size < SMALL_BYTES
    # glibc reserves 64 MiB of addresses, no memory, for each thread that meets another's lock: how
    # many there are depends on what else runs.
    environment = {**os.environ, "MALLOC_ARENA_MAX": "2"}
    done = subprocess.run(
        [sys.executable, PROGRAM, tmp_path, reader],
        env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    opened = "opened\n" if name in compressed_runs.SHOWN else "refused\n"
    assert done.stdout == (opened if reader == "view" else "")
