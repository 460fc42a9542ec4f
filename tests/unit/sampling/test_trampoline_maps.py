"""Perf maps of Python's trampolines: whose are taken, and what their names say."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from gnomon.sampling import python_trampolines
from gnomon.sampling.python_trampolines import function_and_file, map_of_process, take_maps


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("py::Solver.step:/app/solver.py", ("Solver.step", "/app/solver.py")),
        ("py::<module>:C:\\odd name.py", ("<module>", "C:\\odd name.py")),
        ("py::naïve", ("naïve", "")),
        ("py::", None),
        ("LazyCompile:~f app.js:3", None),
    ],
)
def test_names(name: str, expected: tuple[str, str] | None) -> None:
    assert function_and_file(name) == expected


@pytest.fixture
def ended(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> int:
    """Give the number of a process that has ended, with maps in a folder of the test's."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setattr(
        python_trampolines, "map_of_process", lambda pid: folder / map_of_process(pid).name
    )
    process = subprocess.Popen(["true"])
    process.wait()
    return process.pid


def staging(folder: Path, pid: int) -> Path:
    """Return a staging folder with a record file of a Python process."""
    (folder / "staging").mkdir()
    (folder / "staging" / f"{os.uname().nodename}.{pid}.1.python.gnrec").touch()
    return folder / "staging"


def taken(folder: Path) -> list[str]:
    return [path.read_text() for path in folder.glob("*.perfmap")]


def test_the_map_of_a_process_that_ended_is_taken(ended: int, tmp_path: Path) -> None:
    source = python_trampolines.map_of_process(ended)
    other = source.with_name("perf-1.map")
    source.write_text("1 2 py::f:g")
    other.touch()
    folder = staging(tmp_path, ended)
    take_maps(folder, "python")
    take_maps(folder, "python")
    assert taken(folder) == ["1 2 py::f:g"]
    assert list(source.parent.iterdir()) == [other]


@pytest.mark.parametrize("kind", ["link", "pipe", "folder", "none"])
def test_what_is_no_file_is_left_alone(kind: str, ended: int, tmp_path: Path) -> None:
    source = python_trampolines.map_of_process(ended)
    if kind == "link":
        (tmp_path / "secret").write_text("secret")
        source.symlink_to(tmp_path / "secret")
    elif kind == "pipe":
        os.mkfifo(source)
    elif kind == "folder":
        source.mkdir()
    folder = staging(tmp_path, ended)
    take_maps(folder, "python")
    assert taken(folder) == []
    assert os.path.lexists(source) is (kind != "none")


@pytest.mark.usefixtures("ended")
def test_a_process_that_runs_keeps_its_map(tmp_path: Path) -> None:
    source = python_trampolines.map_of_process(os.getpid())
    source.touch()
    folder = staging(tmp_path, os.getpid())
    take_maps(folder, "python")
    assert (taken(folder), source.exists()) == ([], True)
