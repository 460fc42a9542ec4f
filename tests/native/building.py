"""Commands that build, and what they say if they fail."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from turns import locked

ROOT = Path(__file__).parents[2]
# With assertions. What valgrind and the sanitizers find they find in this, too; it takes them two
# thirds of the time that code takes which is not optimized at all.
DEBUG = ("-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_C_FLAGS=-O1")
C_TESTS = ("-DGNOMON_PYTHON=OFF", "-DGNOMON_TESTS=ON")
BUILDS = ROOT / "build" / "tests"
PACKAGES = {
    "cmake": "cmake",
    "ctest": "cmake",
    "gfortran": "gfortran",
    "musl-gcc": "musl-tools",
    "objdump": "binutils",
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


def built(kind: str, *options: str, target: str = "all") -> Path:
    """Return the folder of a build of this kind, in which a target is up to date.

    It is kept from run to run, in `build/tests`: ninja makes anew what has changed. Whoever else
    builds in it meanwhile is waited for.
    """
    needs("ninja")
    folder = BUILDS / kind
    folder.mkdir(parents=True, exist_ok=True)
    configure = ["cmake", "-S", str(ROOT), "-B", str(folder), "-G", "Ninja", *options]
    configured = folder / "configured.by"
    with locked(folder.with_suffix(".lock")):
        if not configured.exists() or configured.read_text() != " ".join(configure):
            shutil.rmtree(folder)
            run(*configure)
            configured.write_text(" ".join(configure))
        run("cmake", "--build", folder, "--target", target)
    return folder


def sanitized(target: str = "all") -> Path:
    """Return the folder of the C tests' build with the sanitizers, in which a target is built."""
    return built("sanitized", *DEBUG, *C_TESTS, "-DGNOMON_SANITIZE=ON", target=target)


def plain() -> Path:
    """Return the folder of their build as it is."""
    return built("plain", *DEBUG, *C_TESTS)
