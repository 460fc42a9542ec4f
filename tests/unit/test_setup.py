"""`make setup` looks at what is installed: a stamp that says so proves nothing."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SETUP = ROOT / "packaging" / "setup.sh"


def run(*command: str | Path, path: Path | None = None, folder: Path = ROOT) -> tuple[int, str]:
    """Return a command's exit status and what it printed; PATH is `path` alone, if given."""
    env = {key: text for key, text in os.environ.items() if not key.startswith("MAKE")}
    env = env if path is None else env | {"PATH": str(path)}
    done = subprocess.run(command, cwd=folder, env=env, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)  # fmt: skip
    return done.returncode, done.stdout


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """Return a folder with every program of this machine but those that install others."""
    folder = tmp_path / "programs"
    folder.mkdir()
    for place in os.environ["PATH"].split(os.pathsep):
        for program in Path(place).glob("*") if place else ():
            link = folder / program.name
            if program.name not in ("apt-get", "sudo") and not link.is_symlink():
                link.symlink_to(program)
    return folder


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Return a folder where all stamps of a set-up stand."""
    folder = tmp_path / "checkout"
    stamps = folder / ".venv" / "stamps"
    stamps.mkdir(parents=True)
    shutil.copy(ROOT / "Makefile", folder)
    shutil.copytree(ROOT / "packaging", folder / "packaging")
    for name in ("packages-build", "packages-test", "venv", "requirements", "requirements-dev",
                 "perf", "promtool"):  # fmt: skip
        (stamps / name).touch()
    return folder


def test_a_package_that_was_removed(checkout: Path, programs: Path) -> None:
    (programs / "valgrind").unlink()
    status, said = run("make", "setup", path=programs, folder=checkout)
    assert status != 0
    assert "install with its own packages:\nsetup:   valgrind with its headers" in said


def test_a_stamp_is_renewed_only_where_something_changed(tmp_path: Path) -> None:
    stamp = tmp_path / "stamp"
    assert run(SETUP, "packages", "build", stamp) == (0, "")
    os.utime(stamp, (1, 1))
    assert run(SETUP, "packages", "build", stamp) == (0, "")
    assert stamp.stat().st_mtime == 1


def test_python_packages_that_were_removed_or_changed(tmp_path: Path) -> None:
    site = tmp_path / "lib" / "python3.11" / "site-packages"
    for name in ("Jinja2-3.1.6", "mkdocs_get_deps-0.2.0", "zope.event-5.1"):
        (site / f"{name}.dist-info").mkdir(parents=True)
    (tmp_path / "bin").mkdir()
    wanted, stamp = tmp_path / "requirements.txt", tmp_path / "stamp"
    stamp.touch()

    def are_there(text: str) -> bool:
        wanted.write_text(text)
        os.utime(wanted, (1, 1))
        return run(SETUP, "pinned", tmp_path / "bin", stamp, wanted) == (0, "")

    pinned = "# by make pin\njinja2==3.1.6\nmkdocs-get-deps==0.2.0 ; python_version > '3'\n"
    assert are_there(pinned)
    assert are_there("zope-event==5.1\n")
    assert not are_there(pinned + "ruff==0.14.0\n")
    assert not are_there("jinja2==3.1.7\n")
    assert not are_there("")
    (site / "Jinja2-3.1.6.dist-info").rmdir()
    assert not are_there(pinned)
    os.utime(stamp, (0, 0))
    assert not are_there("zope-event==5.1\n")
