"""Damaged programs, whose symbols and debug information are read under the sanitizers."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from building import run, sanitized
from symbol_programs import compile_program

VARIANTS = (
    ("c", ("-O2", "-g", "-gdwarf-5")),
    ("c", ("-O2", "-g", "-gdwarf-4", "-Wl,--compress-debug-sections=zlib")),
    ("c", ("-O2", "-s")),
    ("cxx", ("-O2", "-g", "-gdwarf-4")),
    ("cxx", ("-O2", "-g", "-gdwarf-5")),
)


def damaged(folder: Path, n: int, seed: int) -> str:
    """Return what damage_symbols says of n damaged copies of each program."""
    programs = []
    for number, (language, options) in enumerate(VARIANTS):
        own = folder / str(number)
        own.mkdir(parents=True, exist_ok=True)
        programs.append(compile_program(own, language, *options))
    tool = sanitized("damage_symbols") / "native" / "tests" / "damage_symbols"
    return run(tool, str(n), str(seed), *programs)


def test_damaged_files_are_read_without_a_fault(tmp_path: Path) -> None:
    said = damaged(tmp_path, 200, 7)
    counts = re.fullmatch(
        r"1000 damaged files, of which (\d+) were parsed; (\d+) names, (\d+) inlined\n", said
    )
    assert counts, said
    # Damage is not all that there is.
    parsed, names, inlined = map(int, counts.groups())
    assert parsed > 500
    assert names > 10000
    assert inlined > 1000


@pytest.mark.long
def test_a_hundred_thousand_damaged_files(tmp_path: Path) -> None:
    for seed in range(4):
        folder = tmp_path / str(seed)
        assert damaged(folder, 5000, 1 + 2 * seed).startswith("25000 damaged files")
