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
_C_TESTS = (
    "test_perf",
    "test_rotate",
    "test_clock",
    "test_record_file",
    "test_record_file_faults",
    "test_unwind",
    "test_unwind_aarch64",
    "test_unwind_damage",
    "test_sampling",
    "test_sample_records",
)
_PINNED = _ROOT / "packaging" / "requirements.txt"
_STORE = ("numpy", "duckdb")
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
_SHARED_MODULES = ("unit/preset_encoding.py", "unit/group_counters.py", "integration/sampled.py")
# Those of the integration tests, with the options that these compile them with.
_SHARED_PROGRAMS = {"shares": ("-fomit-frame-pointer", "-pthread")}


def fill(share: Path, architecture: Architecture, image: Image, build: Path) -> None:
    """Put into an empty folder all that a machine needs: site/, bin/ and guest/."""
    site, programs = share / "site", share / "bin"
    site.mkdir()
    programs.mkdir()
    with zipfile.ZipFile(_wheel(architecture, image, build)) as wheel:
        wheel.extractall(site)
        # Which forgets what may be executed.
        for entry in wheel.infolist():
            if entry.external_attr >> 16 & 0o100:
                (site / entry.filename).chmod(0o755)
    _copy_pytest(site)
    if architecture.wheels:
        _copy_store(site, architecture, image, build)
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
    for name, options in _SHARED_PROGRAMS.items():
        source = _ROOT / "tests" / "programs" / f"{name}.c"
        _compile(architecture, source, programs / name, *options)
    shutil.copytree(HERE / "inside", share / "guest" / "inside", ignore=_caches)
    shutil.copy(HERE / "__init__.py", share / "guest")
    for shared in _SHARED_MODULES:
        shutil.copy(_ROOT / "tests" / shared, site)
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


def _copy_store(site: Path, architecture: Architecture, image: Image, build: Path) -> None:
    """Copy what Gnomon stores runs with, in the versions that are pinned here."""
    folder = build / "store"
    run(
        sys.executable, "-m", "pip", "--disable-pip-version-check", "download", "-qq",
        "--no-deps", "--only-binary=:all:", "--dest", folder, "--constraint", _PINNED,
        "--python-version", image.python.removeprefix("python"),
        *(f"--platform={platform}" for platform in architecture.wheels), *_STORE,
        purpose=f"{' and '.join(_STORE)} for {architecture.name}",
        remedy="PyPI or a mirror of it must be within reach of pip",
    )  # fmt: skip
    for name in _STORE:
        newest = max(folder.glob(f"{name}-*.whl"), key=lambda file: file.stat().st_mtime_ns)
        with zipfile.ZipFile(newest) as wheel:
            wheel.extractall(site)


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
