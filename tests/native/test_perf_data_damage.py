"""Damaged perf.data files, which are read under the sanitizers."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from building import run, sanitized
from perf_data_seeds import profiles


def damaged(folder: Path, n: int, seed: int) -> str:
    """Return what damage_perf_data says of n damaged copies of each small file."""
    files = []
    for name, content in profiles(folder).items():
        files.append(folder / f"{name}.data")
        files[-1].write_bytes(content)
    tool = sanitized("damage_perf_data") / "native" / "tests" / "damage_perf_data"
    return run(tool, str(n), str(seed), *files)


def test_damaged_files_are_read_without_a_fault(tmp_path: Path) -> None:
    said = damaged(tmp_path, 500, 7)
    counts = re.fullmatch(
        r"(\d+) damaged files, of which (\d+) were opened and (\d+) read; (\d+) samples\n", said
    )
    assert counts, said
    # Damage is not all that there is.
    files, opened, read, samples = map(int, counts.groups())
    assert files >= 2000
    assert opened > files / 4
    assert read > files / 8
    assert samples > files / 4


@pytest.mark.long
def test_a_hundred_thousand_damaged_files(tmp_path: Path) -> None:
    for seed in range(4):
        folder = tmp_path / str(seed)
        folder.mkdir()
        assert " damaged files" in damaged(folder, 5000, 1 + 2 * seed)
