"""Commands that build, and what they say if they fail."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

PACKAGES = {
    "cmake": "cmake",
    "ctest": "cmake",
    "gfortran": "gfortran",
    "ninja": "ninja-build",
    "pkg-config": "pkgconf",
    "valgrind": "valgrind",
}


def needs(program: str) -> None:
    """Fail with the remedy if a program that is looked for in PATH is not installed."""
    if "/" not in program and shutil.which(program) is None:
        package = PACKAGES.get(program, program)
        pytest.fail(f"{program} is not installed: run `make setup`, or install {package}")


def run(*command: str | Path, **more: str) -> str:
    """Return what a command printed on both streams; fail with that if the command does."""
    needs(str(command[0]))
    done = subprocess.run(
        command,
        env=os.environ | more,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode:
        pytest.fail(f"{command[0]} returned {done.returncode}:\n{done.stdout}")
    return done.stdout
