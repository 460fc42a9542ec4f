"""Run directories while they are written: what killed writers leave, and runs that are replaced."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from repeated_runs import repeated_run, times

from gnomon.cli import main
from gnomon.errors import RunDirectoryError
from gnomon.model.tables import SCHEMAS
from gnomon.store import run_directory, unfinished_run

WRITER = """
import os, signal, sys
from pathlib import Path
from gnomon.store import unfinished_run
with unfinished_run.begun(Path(sys.argv[1])) as folder:
    (folder / "metrics.parquet").write_text("half")
    if sys.argv[2] == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    print("begun", flush=True)
    sys.stdin.readline()
"""


def hidden(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name.startswith("."))


def killed(folder: Path, name: str) -> str:
    """Return what a writer leaves that is killed."""
    words = [sys.executable, "-c", WRITER, str(folder / f"{name}.gnomon"), "die"]
    assert subprocess.run(words, check=False).returncode == -signal.SIGKILL
    (left,) = (one for one in hidden(folder) if one.startswith(f".{name}."))
    return left


def test_the_next_run_removes_what_a_killed_one_left(tmp_path: Path) -> None:
    left = killed(tmp_path, "a")
    for other in (".b.gnomon.notes", ".c.gnomon", ".d.1234"):
        (tmp_path / other).mkdir()
    (tmp_path / ".e.gnomon.77").write_text("no folder")
    before = hidden(tmp_path)
    repeated_run(tmp_path, "new", {"wall time": times()})
    assert set(before) - set(hidden(tmp_path)) == {left}
    assert run_directory.exists(str(tmp_path / "new"))


def test_what_another_node_writes_is_left_alone(tmp_path: Path) -> None:
    """Its locks may not be seen here; names of before told no node."""
    left = killed(tmp_path, "a")
    process, _, node = left.rpartition(".")[2].partition("-")
    others = f"{int(node, 16) ^ 1:08x}"
    elsewhere = f".a.gnomon.{process}-{others}"
    (tmp_path / elsewhere).mkdir()
    (tmp_path / f".a.gnomon.{process}").mkdir()
    unfinished_run.sweep(tmp_path)
    assert hidden(tmp_path) == [elsewhere]


def test_what_is_being_written_is_left_alone(tmp_path: Path) -> None:
    words = [sys.executable, "-c", WRITER, str(tmp_path / "a.gnomon"), "wait"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        writer.stdout.readline()
        repeated_run(tmp_path, "b", {"wall time": times()})
        (folder,) = hidden(tmp_path)
        assert folder.startswith(f".a.gnomon.{writer.pid}-")
        writer.communicate(b"\n")
    assert hidden(tmp_path) == []


def test_a_run_is_replaced_only_when_told_to(tmp_path: Path) -> None:
    path = repeated_run(tmp_path, "a", {"wall time": times()})
    with pytest.raises(RunDirectoryError, match="replace it by --force"):
        run_directory.check_free(str(path))
    tables = [run_directory.find(str(path)).rows(schema) for schema in SCHEMAS]
    head = {**run_directory.find(str(path)).head, "command": ["./other"]}
    run_directory.write(str(path), head, (), {}, force=True)
    assert run_directory.find(str(path)).head["command"] == ["./other"]
    assert [run_directory.find(str(path)).rows(schema) for schema in SCHEMAS] != tables
    assert hidden(tmp_path) == []
    folder = tmp_path / "mine.gnomon"
    folder.mkdir()
    (folder / "thesis.txt").write_text("ten years")
    with pytest.raises(RunDirectoryError, match="it is no run"):
        run_directory.write(str(folder), head, (), {}, force=True)
    assert (folder / "thesis.txt").exists()


def test_two_folders_change_places_without_the_call_for_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Old kernels and some file systems have none."""
    monkeypatch.setattr(ctypes, "CDLL", lambda *_, **__: object())
    new, old = tmp_path / ".a.gnomon.1", tmp_path / "a.gnomon"
    for folder in (new, old):
        folder.mkdir()
        (folder / folder.name).write_text("")
    unfinished_run.replace(new, old)
    assert (old / new.name).exists()
    assert (new / old.name).exists()


def test_the_name_of_a_program_is_its_latest_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    names = ("app-20260101-101010", "app-20260101-101010-2", "app-1-20260101-101010", "app-x")
    for at, name in enumerate(names):
        path = repeated_run(tmp_path, name, {"wall time": times()}, head={"started": 1.7e9 + at})
        moment = time.time() - 100 + at
        os.utime(path / "run.json", (moment, moment))
    assert main(["report", "app"]) == 0
    assert capsys.readouterr().out.startswith("app-20260101-101010-2.gnomon: ")
    assert main(["report", str(tmp_path / "app")]) == 0
    assert main(["compare", "app", "app-x"]) == 0
    # A run of that very name goes before, and nothing is deleted by the name of a program.
    assert main(["runs", "delete", "app"]) == 1
    repeated_run(tmp_path, "app", {"wall time": times()})
    capsys.readouterr()
    assert main(["report", "app"]) == 0
    assert capsys.readouterr().out.startswith("app.gnomon: ")
