"""The C side of the benchmarks, built on demand."""

from __future__ import annotations

import subprocess
from pathlib import Path
from statistics import median

_ROOT = Path(__file__).parent.parent
_BUILD = _ROOT / "build" / "bench"


def program(name: str) -> str:
    """Return the path of a benchmark program, after building it with optimisation."""
    if not (_BUILD / "build.ninja").exists():
        _quiet(
            "cmake", "-S", str(_ROOT), "-B", str(_BUILD), "-G", "Ninja",
            "-DCMAKE_BUILD_TYPE=Release", "-DGNOMON_PYTHON=OFF", "-DGNOMON_BENCH=ON",
        )  # fmt: skip
    _quiet("ninja", "-C", str(_BUILD), name)
    return str(_BUILD / "benchmarks" / "native" / name)


def lines(*command: str) -> list[list[float]]:
    """Return the lines of numbers that a program prints."""
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return [[float(word) for word in line.split()] for line in printed.splitlines()]


def columns(*command: str) -> list[float]:
    """Return the median of each column of numbers that a program prints."""
    return [median(column) for column in zip(*lines(*command), strict=True)]


def _quiet(*command: str) -> None:
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
