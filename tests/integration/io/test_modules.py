"""Programs with all kinds of I/O do the same whatever modules of MIO their files have."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from corpus import PROGRAMS, Left, Program, left_in
from module_stacks import STACKS, mio_files

import gnomon

LIBRARY = Path(gnomon.__file__).with_name("io") / "libgnomon_io.so"


def ran(
    command: list[str | Path], folder: Path, environment: Mapping[str, str]
) -> tuple[int, str, dict[str, Left]]:
    """Return the status of a program in an empty folder, what it printed and what it left."""
    folder.mkdir()
    done = subprocess.run(
        command, cwd=folder, env={**os.environ, **environment}, capture_output=True, timeout=300,
        check=False,
    )  # fmt: skip
    said = (done.stdout + done.stderr).decode(errors="replace")
    return done.returncode, said.replace(str(folder), "FOLDER"), left_in(folder)


def with_modules(stack: str, tmp_path: Path) -> dict[str, str]:
    return {
        "LD_PRELOAD": str(LIBRARY),
        "MIO_FILES": mio_files(stack),
        "MIO_STATS": str(tmp_path / "stats"),
    }


@pytest.mark.parametrize(
    ("program", "stack"),
    [
        (program, stack)
        for program in PROGRAMS
        for stack in STACKS
        # A thread that is begun has no room there.
        if not program.is_static and not (program.has_small_stacks and "inter" in stack)
    ],
    ids=str,
)
def test_a_program_does_the_same_with_modules(
    program: Program, stack: str, compiled: Callable[..., Path], tmp_path: Path
) -> None:
    command = program.command(compiled)
    plain = ran(command, tmp_path / "plain", {})
    status, said, left = ran(command, tmp_path / "modules", with_modules(stack, tmp_path))
    assert (status, said) == plain[:2]
    # Of what kill -9 ends that is lost which `wb` holds.
    if program.arguments != ("SIGKILL",) or "wb" not in stack:
        assert left == plain[2]
