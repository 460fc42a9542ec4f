"""A library that records and a program that it is preloaded to, made with what is installed."""

from __future__ import annotations

import sys
from pathlib import Path

from building import run

SOURCES = Path(__file__).parents[1] / "programs" / "recorder"


def runtime_flags(*parts: str) -> list[str]:
    """Return what the compiler needs for a library on the installed runtime."""
    gnomon = Path(sys.executable).with_name("gnomon")
    return run(gnomon, "config", *parts, "runtime").split()


def build_recorder(folder: Path) -> Path:
    """Return the folder with libnaps.so and the program."""
    run("cc", "-O1", "-Wall", "-Werror", "-fPIC", "-shared", SOURCES / "naps.c", "-o",
        folder / "libnaps.so", *runtime_flags("--cflags", "--libs"))  # fmt: skip
    run("cc", "-O1", "-Wall", "-Werror", SOURCES / "sleeper.c", "-o", folder / "sleeper",
        "-lpthread")  # fmt: skip
    return folder
