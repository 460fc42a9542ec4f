"""Gnomon, its C tests and programs of known work, compiled here for another architecture.

Gnomon is built as its wheel is, by the same CMakeLists.txt, with another compiler: in the machine
itself that would take minutes.
"""

from __future__ import annotations

import importlib.metadata
import shutil
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path

from guest.image import HERE, Image
from guest.recipe import Architecture
from guest.trouble import GuestError, run

_ROOT = HERE.parents[1]
_REMEDY = "packaging/setup.sh packages guest"
_WARNINGS = ("-Wall", "-Wextra", "-Werror")
_C_TESTS = ("test_perf", "test_rotate", "test_clock", "test_record_file", "test_record_file_faults")
# What an installed wheel's entry point is.
_COMMAND = """\
#!/usr/bin/python3
import sys
from gnomon.cli import gnomon_script
sys.exit(gnomon_script())
"""
_PROGRAMS = {
    "loop": ("-nostdlib", "-nostartfiles", "-static", "-no-pie"),
    "family": ("-pthread",),
    "spin.so": ("-shared", "-fPIC"),
}


def fill(share: Path, architecture: Architecture, image: Image, build: Path) -> None:
    """Put into an empty folder all that a machine needs: site/, bin/ and guest/."""
    site, programs = share / "site", share / "bin"
    site.mkdir()
    programs.mkdir()
    with zipfile.ZipFile(_wheel(architecture, image, build)) as wheel:
        wheel.extractall(site)
    _copy_pytest(site)
    command = programs / "gnomon"
    command.write_text(_COMMAND)
    command.chmod(0o755)
    for name in _C_TESTS:
        shutil.copy(build / "native" / "tests" / name, programs)
    # The static one has libgnomon and the core in it, too.
    libraries: list[str | Path] = [build / "native" / "hpm" / "libhpm.a", "-ldl", "-lm"]
    include = ("-I", _ROOT / "native" / "include", "-I", _ROOT / "native" / "tests")
    for test in sorted((HERE / "native").glob("*.c")):
        _compile(architecture, test, programs / test.stem, *include, "-pthread", after=libraries)
    for name, options in _PROGRAMS.items():
        source = HERE / "programs" / f"{name.partition('.')[0]}.c"
        _compile(architecture, source, programs / name, *options)
    shutil.copytree(HERE / "inside", share / "guest" / "inside", ignore=_caches)
    shutil.copy(HERE / "__init__.py", share / "guest")
    for shared in ("preset_encoding.py", "group_counters.py"):
        shutil.copy(_ROOT / "tests" / "unit" / shared, site)
    shutil.copy(_ROOT / "packaging" / "libpfm4_unknown.toml", share / "guest" / "inside")


_caches = shutil.ignore_patterns("__pycache__")


def _wheel(architecture: Architecture, image: Image, build: Path) -> Path:
    define = {
        "CMAKE_SYSTEM_NAME": "Linux",
        "CMAKE_SYSTEM_PROCESSOR": architecture.processor,
        "CMAKE_C_COMPILER": architecture.compiler,
        # The headers of the machine's own Python: some say how wide its types are.
        "Python_INCLUDE_DIR": image.headers / image.python,
        "PFM_INCLUDE": image.headers,
        "GNOMON_TESTS": "ON",
    }
    wheels = build / "wheel"
    shutil.rmtree(wheels, ignore_errors=True)
    run(
        sys.executable, "-m", "pip", "--disable-pip-version-check", "wheel", "-qq",
        "--no-build-isolation", "--no-deps", "--wheel-dir", wheels,
        f"--config-settings=build-dir={build}",
        *(f"--config-settings=cmake.define.{key}={value}" for key, value in define.items()),
        _ROOT,
        purpose=f"Gnomon for {architecture.name}", remedy=_REMEDY,
    )  # fmt: skip
    (wheel,) = wheels.glob("*.whl")
    return wheel


def _copy_pytest(site: Path) -> None:
    """Copy pytest and what it needs from this environment: all of it is Python alone."""
    for name in ("pytest", "pluggy", "iniconfig", "packaging", "pygments"):
        for file in importlib.metadata.files(name) or ():
            if file.suffix == ".so":
                raise GuestError(f"{name} is not Python alone ({file}), so no machine can run it")
            if file.suffix != ".pyc" and not file.parts[0].startswith(".."):
                target = site / file
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(file.locate(), target)


def _compile(
    architecture: Architecture,
    source: Path,
    program: Path,
    *options: str | Path,
    after: Sequence[str | Path] = (),
) -> None:
    run(
        architecture.compiler, "-std=gnu11", "-D_GNU_SOURCE", "-O2", *_WARNINGS, *options,
        "-o", program, source, *after,
        purpose=f"{source.name} for {architecture.name}", remedy=_REMEDY,
    )  # fmt: skip
