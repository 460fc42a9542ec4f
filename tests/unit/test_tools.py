"""The linters are tests too, so that whatever gates on the tests gates on them."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
TOOLS = Path(sys.executable).parent
NATIVE_FILES = sorted(
    path
    for folder in ("native", "tests", "benchmarks", "examples")
    for path in (ROOT / folder).rglob("*.[ch]")
)


@pytest.mark.parametrize(
    "command",
    [
        ["ruff", "check"],
        ["ruff", "format", "--check"],
        ["mypy", "--strict"],
        ["clang-format", "--dry-run", "-Werror"],
    ],
    ids=lambda command: command[0] + "-" + command[1].strip("-"),
)
def test_tool_is_content(command: list[str]) -> None:
    tool = TOOLS / command[0]
    assert tool.exists(), f"{command[0]} is not in the virtual environment: run `make setup`"
    files = list(map(str, NATIVE_FILES)) if command[0] == "clang-format" else []
    found = subprocess.run([tool, *command[1:], *files], cwd=ROOT, capture_output=True, text=True)
    assert found.returncode == 0, found.stdout + found.stderr


def test_pinned_versions_are_those_that_pyproject_allows() -> None:
    """packaging/requirements*.txt answer to pyproject.toml; `make pin` writes them."""
    pyproject = tomllib.loads((ROOT / "pyproject.toml").read_text())
    project = pyproject["project"]
    run = [*pyproject["build-system"]["requires"], *project["dependencies"]]
    dev = [name for extra in project["optional-dependencies"].values() for name in extra]
    for file, wanted in (("requirements.txt", run), ("requirements-dev.txt", run + dev)):
        lines = (ROOT / "packaging" / "requirements.txt").read_text().splitlines()
        if file == "requirements-dev.txt":
            lines += (ROOT / "packaging" / file).read_text().splitlines()
        # Behind a semicolon is for which machines.
        exact = [line.partition(";")[0].split("==") for line in lines if line and line[0] != "#"]
        pinned = {canonicalize_name(name): version for name, version in exact}
        for requirement in map(Requirement, wanted):
            version = pinned.get(canonicalize_name(requirement.name))
            assert version is not None, f"{requirement} is not pinned: run `make pin`"
            assert version in requirement.specifier, f"{requirement}: {version}: run `make pin`"
