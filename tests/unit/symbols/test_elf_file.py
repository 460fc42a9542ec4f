"""Build ids and needed libraries, of real files and of such as make no sense."""

from __future__ import annotations

import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnomon.symbols.elf_file import build_id, needed_libraries

PROGRAM = Path(sys.executable).resolve()


def test_build_id_and_libraries_are_readelfs() -> None:
    notes = subprocess.run(["readelf", "-n", PROGRAM], capture_output=True, text=True, check=True)
    shown = [line.split()[-1] for line in notes.stdout.splitlines() if "Build ID" in line]
    assert build_id(PROGRAM) == (shown[0] if shown else "")
    table = subprocess.run(["readelf", "-dW", PROGRAM], capture_output=True, text=True, check=True)
    needed = [line.split("[")[1].rstrip("]") for line in table.stdout.splitlines()
              if "(NEEDED)" in line]  # fmt: skip
    assert needed
    assert list(needed_libraries(PROGRAM)) == needed


def test_what_has_no_build_id_has_none(tmp_path: Path) -> None:
    source, library = tmp_path / "a.c", tmp_path / "a.so"
    source.write_text("int a;\n")
    subprocess.run(["cc", "-shared", "-Wl,--build-id=none", "-o", library, source], check=True)
    assert build_id(library) == ""
    subprocess.run(["cc", "-shared", "-Wl,--build-id=0xabcdef", "-o", library, source], check=True)
    assert build_id(library) == "abcdef"


@pytest.mark.parametrize("content", [b"", b"\x7fELF", b"#!/bin/sh\n", b"\x7fELF\x02\x01" * 11])
def test_what_is_no_program_is_refused(content: bytes, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(content)
    for read in (build_id, needed_libraries):
        with pytest.raises(ValueError, match=r"."):
            read(file)


HEAD = PROGRAM.read_bytes()[: 1 << 16]


@given(st.lists(st.tuples(st.integers(0, 2048), st.integers(0, 255)), min_size=1), st.integers(0))
def test_a_damaged_file_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, changes: list[tuple[int, int]], end: int
) -> None:
    content = bytearray(HEAD[: max(64, end % len(HEAD))])
    for place, value in changes:
        content[place % len(content)] = value
    file = tmp_path_factory.mktemp("damaged") / "file"
    file.write_bytes(content)
    for read in (build_id, needed_libraries):
        with suppress(ValueError):
            read(file)
