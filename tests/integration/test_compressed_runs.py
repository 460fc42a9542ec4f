"""Small files that hold much: refused by name or shown, in bounded memory and time."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import compressed_runs
import pytest

PROGRAM = Path(compressed_runs.__file__)
SMALL_BYTES = 1 << 21


READ_BY = [("view", name) for name in (*compressed_runs.REFUSED, *compressed_runs.SHOWN)]
READ_BY += [("commands", name) for name in (*compressed_runs.REFUSED, "long names", "nested kinds")]
# Many seconds each; the others meet the same bounds.
LONG = {
    ("view", "8,192 ranks with 16 million values"),
    ("view", "a long kind"),
    ("view", "many longish names"),
    ("view", "nested"),
    ("view", "nested kinds"),
    ("view", "numbered regions without end"),
    ("commands", "nested"),
    ("commands", "regions without end"),
    ("commands", "numbered regions without end"),
    ("commands", "places without end"),
    ("commands", "metrics without end"),
    ("commands", "nested without end"),
    ("commands", "nested kinds"),
    ("commands", "long names"),
}


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Return a function that gives the folder of good.gnomon and a bad one, made at first use."""
    folder = tmp_path_factory.mktemp("runs")

    def folder_of(name: str) -> Path:
        made = folder / name.replace(" ", "-")
        if not made.exists():
            made.mkdir()
            compressed_runs.write(made / "good.gnomon", {})
            tables = {**compressed_runs.REFUSED, **compressed_runs.SHOWN}[name]
            assert compressed_runs.write(made / "bad.gnomon", tables) < SMALL_BYTES
        return made

    return folder_of


@pytest.mark.parametrize(
    ("reader", "name"),
    [
        pytest.param(*pair, marks=[pytest.mark.long] if pair in LONG else [])
        for pair in sorted(READ_BY, key=lambda pair: pair[1])
    ],
)
def test_every_reader_keeps_within_its_bounds(
    written: Callable[[str], Path], reader: str, name: str
) -> None:
    folder = written(name)
    # glibc reserves 64 MiB of addresses, no memory, for each thread that meets another's lock: how
    # many there are depends on what else runs.
    environment = {**os.environ, "MALLOC_ARENA_MAX": "2"}
    done = subprocess.run(
        [sys.executable, PROGRAM, folder, reader],
        env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    opened = "opened\n" if name in compressed_runs.SHOWN else "refused\n"
    assert done.stdout == (opened if reader == "view" else "")
