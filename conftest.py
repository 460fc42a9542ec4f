"""Refuses to test an installation that is not what src/ holds.

The package is installed into .venv as users install it, so an edit counts only after `make build`.
To test another installation on purpose (a released wheel, say), set GNOMON_TEST_INSTALLED=1.

Property tests try the same examples in every run of the same files, so that a failure is about the
change at hand; `make fuzz` tries others, and more (tests/property_tests.py).

Where there are several workers (`make test` has five), a test marked `alone` has the machine to
itself, and what takes long to build is built once (tests/turns.py).
"""

from __future__ import annotations

import importlib.util
import os
import signal
from collections.abc import Generator
from pathlib import Path

import pytest
from building import built, run
from hypothesis import HealthCheck, settings
from property_tests import DEFAULT, SHARE
from turns import made_once, shared, turn

# A test may run on a machine that others keep busy, and many write a file for every example.
settings.register_profile(
    "unhurried",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
_unhurried = settings.get_profile("unhurried")
settings.register_profile(
    "gate", _unhurried, derandomize=True, database=None, max_examples=DEFAULT // SHARE
)
settings.register_profile(
    "fuzz", _unhurried, derandomize=False, print_blob=True, max_examples=DEFAULT
)
settings.load_profile("gate")

pytest_plugins = ["outcomes", "costs"]

SOURCE = Path(__file__).parent / "src" / "gnomon"
REMEDY = "run `make build` (or set GNOMON_TEST_INSTALLED=1 to test what is installed)"


def outdated(source: Path, installed: Path) -> list[str]:
    """Return the files of `source` that `installed` lacks or holds in another version."""
    return [
        str(name)
        for path in sorted(source.rglob("*"))
        if path.is_file() and path.suffix not in (".pyc", ".so")
        for name in (path.relative_to(source),)
        # Of the page and of libraries in C what is built of the sources counts.
        if name.parts[:2] != ("view", "web") and name.parts[1:2] != ("native",)
        if not (installed / name).is_file() or (installed / name).read_bytes() != path.read_bytes()
    ]


def pytest_sessionstart() -> None:
    """End the session before any test if the installed package is not this tree's."""
    # Under nohup it is ignored, which every program that a test starts would inherit.
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    # Names of one test's programs are nothing that another, or the user, should find.
    os.environ["GNOMON_CACHE"] = "off"
    if os.environ.get("GNOMON_TEST_INSTALLED"):
        return
    spec = importlib.util.find_spec("gnomon")
    if spec is None or spec.origin is None:
        pytest.exit(f"gnomon is not installed: {REMEDY}", returncode=pytest.ExitCode.USAGE_ERROR)
    different = outdated(SOURCE, Path(spec.origin).parent)
    if different:
        pytest.exit(
            f"the installed gnomon is not what src/ holds ({', '.join(different[:3])}"
            f"{', ...' if len(different) > 3 else ''}): {REMEDY}",
            returncode=pytest.ExitCode.USAGE_ERROR,
        )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Whoever sets kernel.perf_event_paranoid sets it for all."""
    for item in items:
        if "paranoid" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.alone)


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Wait for the test's turn; nearest to the test, so that waiting too long ends it as well."""
    if not hasattr(item.config, "workerinput"):
        return (yield)
    alone = item.get_closest_marker("alone") is not None
    with turn(shared(Path(item.config.option.basetemp)), alone=alone):
        return (yield)


@pytest.fixture(scope="session")
def prefix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder that `cmake --install` filled."""
    return made_once(tmp_path_factory.getbasetemp(), "installed", install) / "moved"


def install(folder: Path) -> None:
    """Build what a system's package would have, and install it into a folder's `moved`."""
    build = built("installed", "-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_INSTALL_LIBDIR=lib")
    run("cmake", "--install", build, "--prefix", folder / "prefix")
    # Nothing may be looked for where it was built or installed first.
    for file in (folder / "prefix").rglob("*"):
        if file.is_file():
            assert os.fsencode(build) not in file.read_bytes(), f"{file} names {build}"
    (folder / "prefix").rename(folder / "moved")
