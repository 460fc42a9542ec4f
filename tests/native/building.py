"""Commands that build, and what they say if they fail."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from turns import locked, shared

ROOT = Path(__file__).parents[2]
# With assertions. What valgrind and the sanitizers find they find in this, too; it takes them two
# thirds of the time that code takes which is not optimized at all.
DEBUG = ("-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_C_FLAGS=-O1")
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


def sanitized(base: Path, target: str = "all") -> Path:
    """Return the folder of the C tests' build with the sanitizers, in which a target is built.

    The workers of a run, each of which has its temporary folder `base`, build in the same.
    """
    folder = shared(base) / "sanitized"
    with locked(folder.with_suffix(".lock")):
        needs("ninja")
        if not (folder / "build.ninja").exists():
            options = ["-DGNOMON_PYTHON=OFF", "-DGNOMON_TESTS=ON", "-DGNOMON_SANITIZE=ON"]
            run("cmake", "-S", ROOT, "-B", folder, "-G", "Ninja", *DEBUG, *options)
        run("cmake", "--build", folder, "--target", target)
    return folder
