"""What a run has until it is complete: nothing half written is left where the disk refuses."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from made_runs import made_run

from gnomon.errors import RunDirectoryError
from gnomon.model.collected import Collected
from gnomon.store import rundir, staging

HEAD = {"job": "1", "tasks": 1, "rank": -1, "command": ["true"], "host": {}, "started": 1.7e9}


@contextmanager
def no_room() -> Iterator[None]:
    """Let no file grow, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_run_that_could_not_begin_leaves_its_name_free(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(RunDirectoryError, match="cannot be made"), no_room():
        staging.begin("app", 0, HEAD)
    assert list(tmp_path.iterdir()) == []
    folder = staging.begin("app", 0, HEAD)
    with pytest.raises(RunDirectoryError, match="cannot be written"), no_room():
        staging.end(folder, 0, {}, Collected())
    assert [path.name for path in folder.iterdir()] == ["task.0.json"]


def test_a_task_that_could_not_begin_leaves_the_others_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = staging.begin("app", 0, {**HEAD, "tasks": 2})
    with pytest.raises(RunDirectoryError, match="cannot be made"), no_room():
        staging.begin("app", 1, {**HEAD, "tasks": 2})
    assert [path.name for path in folder.iterdir()] == ["task.0.json"]


def test_a_name_that_is_free_can_be_written(tmp_path: Path) -> None:
    """A long one must not be refused when the program has run already."""
    longest = "é" * 115
    assert made_run(tmp_path, [], name=longest).path.is_dir()
    for name in (f"{longest}y", "x" * 300):
        with pytest.raises(RunDirectoryError, match="the name is too long; choose another"):
            rundir.check_free(str(tmp_path / name))
