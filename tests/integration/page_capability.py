"""The capability of docs/write-a-capability.md, built and in place: fixtures for tests of it."""

from __future__ import annotations

import importlib
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import gnomon
from gnomon import capabilities
from gnomon.launch.capability import Capability
from gnomon.store import run_directory

PAGE = Path(__file__).parents[2] / "docs" / "write-a-capability.md"
FILE = re.compile(r"^`src/gnomon/(\S+)`:\n\n```\w+\n(.*?)^```", re.DOTALL | re.MULTILINE)

ROOT = Path(__file__).parents[2]


def write_files(root: Path) -> Path:
    """Write the files of the page into a tree of Gnomon's sources; return its package's folder."""
    package = root / "src" / "gnomon"
    for name, content in FILE.findall(PAGE.read_text()):
        file = package / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)
    return package


def run(*command: str | Path) -> str:
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModuleType]:
    """Do what the page says, and of `make build` what makes libraries; yield its module."""
    root = tmp_path_factory.mktemp("page")
    for name in ("CMakeLists.txt", "native", "packaging"):
        (root / name).symlink_to(ROOT / name)
    package, built, prefix = write_files(root), root / "build", root / "installed"
    options = ("-DSKBUILD=ON", "-DGNOMON_PYTHON=OFF", "-DCMAKE_BUILD_TYPE=RelWithDebInfo")
    run("cmake", "-S", root, "-B", built, "-G", "Ninja", *options)
    run("cmake", "--build", built, "--target", "capability-libraries")
    run("cmake", "--install", built, "--prefix", prefix, "--component", "capabilities")
    shutil.copytree(package, prefix / "gnomon", dirs_exist_ok=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gnomon, "__path__", [*gnomon.__path__, str(prefix / "gnomon")])
        yield importlib.import_module("gnomon.writes.capability")
    for name in [name for name in sys.modules if name.startswith("gnomon.writes")]:
        del sys.modules[name]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: ModuleType) -> Path:
    """Go to an empty folder, with the page's line in place."""
    (line,) = re.findall(r"^CAPABILITIES: .* = \((.*)\)$", PAGE.read_text(), re.MULTILINE)
    known = {**vars(capabilities), **vars(written)}
    register(monkeypatch, *(known[name.strip()] for name in line.split(",")))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def register(patch: pytest.MonkeyPatch, *of_all: Capability) -> None:
    patch.setattr(capabilities, "CAPABILITIES", of_all)


def calls(run: Path, metric: str = "write calls") -> list[float]:
    """Return the values of a metric of the processes, largest first."""
    return [
        value
        for (value,) in run_directory.find(str(run)).query(
            "SELECT p.inclusive FROM profile p JOIN metrics m USING (metric) JOIN locations l "
            "USING (location) JOIN paths USING (path) JOIN regions r USING (region) "
            f"WHERE m.name = '{metric}' AND l.kind = 'process' AND r.name = 'write' "
            "ORDER BY p.inclusive DESC"
        )
    ]
