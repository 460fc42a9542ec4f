"""What the doctor looks at of programs and libraries beside Gnomon; none of them is needed."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from gnomon.counters.check import Check

_PACKAGE = Path(__file__).parents[1]
_PATIENCE_S = 10


def tools() -> Iterator[Check]:
    """Yield the optional programs, hwloc, and whether C programs find our library."""
    yield _program("perf", "to compare with; Gnomon does not need it", "linux-perf")
    yield _hwloc()
    yield c_library(_PACKAGE)


def valgrind() -> Check:
    """Return whether the engine of the emulated PMU is there."""
    return _program("valgrind", "counting without a PMU (--pmu emulated) needs it", "valgrind")


def c_library(package: Path) -> Check:
    """Return whether pkg-config finds the C library.

    Args:
        package: where Gnomon is installed; the library is looked for there too.
    """
    name = "C library (optional)"
    own = sorted(package.rglob("gnomon.pc")) if package.is_dir() else []
    lost = "C programs must be told by hand where header and library are"
    program = shutil.which("pkg-config") or shutil.which("pkgconf")
    if program is None:
        return Check(
            name, "missing", "pkg-config not found", lost, "as root: apt-get install pkgconf"
        )
    try:
        asked = subprocess.run(
            [program, "--modversion", "gnomon"],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_PATIENCE_S,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return Check(name, "limited", f"{program} fails: {error}", lost, "see pkg-config(1)")
    if asked.returncode == 0:
        return Check(name, "ok", f"version {asked.stdout.strip()}, by pkg-config gnomon")
    if own:
        remedy = f"export PKG_CONFIG_PATH={own[0].parent}"
        return Check(name, "limited", "installed, but pkg-config does not find it", lost, remedy)
    return Check(
        name,
        "missing",
        "pkg-config knows no gnomon",
        lost,
        "build Gnomon by CMake and install it (see the documentation of the C library)",
    )


def _hwloc() -> Check:
    import ctypes

    name = "hwloc (optional)"
    try:
        ctypes.CDLL("libhwloc.so.15")
    except OSError:
        purpose = "gnomon hardware gives no second opinion on the topology"
        return Check(name, "missing", "not found", purpose, "as root: apt-get install libhwloc15")
    return Check(name, "ok", "libhwloc.so.15")


def _program(name: str, purpose: str, package: str) -> Check:
    path = shutil.which(name)
    if path is None:
        remedy = f"as root: apt-get install {package}"
        return Check(f"{name} (optional)", "missing", "not found", purpose, remedy)
    return Check(f"{name} (optional)", "ok", path)
