"""What a run has until it is complete: nothing half written is left where the disk refuses."""

from __future__ import annotations

import json
import resource
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made_runs import made_run

from gnomon.errors import RunDirectoryError
from gnomon.launch.run_assembly import assemble_run
from gnomon.model.capability_result import Collected
from gnomon.model.tables import PATHS, Table
from gnomon.store import run_directory, staging
from gnomon.store.table_set import TableSet

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
        staging.create_staging("app", 0, HEAD)
    assert list(tmp_path.iterdir()) == []
    folder = staging.create_staging("app", 0, HEAD)
    with pytest.raises(RunDirectoryError, match="cannot be written"), no_room():
        staging.end(folder, 0, {}, Collected())
    assert [path.name for path in folder.iterdir()] == ["task.0.json"]


def test_a_task_that_could_not_begin_leaves_the_others_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = staging.create_staging("app", 0, {**HEAD, "tasks": 2})
    with pytest.raises(RunDirectoryError, match="cannot be made"), no_room():
        staging.create_staging("app", 1, {**HEAD, "tasks": 2})
    assert [path.name for path in folder.iterdir()] == ["task.0.json"]


@pytest.mark.parametrize("tasks", [1, 2, 3, 12, 13])
def test_all_tasks_have_ended_when_the_last_part_is_there(tmp_path: Path, tasks: int) -> None:
    for task in range(tasks):
        assert not staging.have_all_ended(tmp_path, tasks, task)
        (tmp_path / f"part.{task}.blocks").touch()
    for task in range(tasks):
        assert staging.have_all_ended(tmp_path, tasks, task)
        (tmp_path / f"part.{task}.blocks").unlink()
        assert not staging.have_all_ended(tmp_path, tasks, (task + 1) % tasks)
        (tmp_path / f"part.{task}.blocks").touch()


def test_a_job_whose_launcher_does_not_tell_its_size_has_no_last_task(tmp_path: Path) -> None:
    (tmp_path / "part.0.blocks").touch()
    assert not staging.have_all_ended(tmp_path, 0, 0)


def test_a_name_that_is_free_can_be_written(tmp_path: Path) -> None:
    """A long one must not be refused when the program has run already."""
    longest = "é" * 115
    assert made_run(tmp_path, [], name=longest).path.is_dir()
    for name in (f"{longest}y", "x" * 300):
        with pytest.raises(RunDirectoryError, match="the name is too long; choose another"):
            run_directory.check_free(str(tmp_path / name))


def test_what_is_collected_piece_by_piece_is_never_held_at_once(tmp_path: Path) -> None:
    """Each table is gone when the next one is made."""
    alive: list[weakref.ref[np.ndarray[Any, Any]]] = []

    def pieces() -> Iterator[Table]:
        for at in range(5):
            assert all(one() is None for one in alive[:-1])
            numbers = np.arange(at * 1000, (at + 1) * 1000, dtype=np.int32)
            alive.append(weakref.ref(numbers))
            yield Table.of(PATHS, {"path": numbers, "parent": numbers - 1, "region": numbers})

    file = tmp_path / "collected.blocks"
    found = TableSet.of(pieces(), file)
    assert list(tmp_path.iterdir()) == [file]
    chunks = list(found.chunks({"paths"}))
    assert [len(chunk) for chunk in chunks] == [1000] * 5
    assert chunks[4].values("path")[-1] == 4999
    in_memory = (Table(PATHS),)
    assert TableSet.of(in_memory, tmp_path / "none").tables is in_memory


def test_nothing_is_left_of_a_collection_that_fails(tmp_path: Path) -> None:
    def pieces() -> Iterator[Table]:
        yield Table(PATHS, [(0, -1, 0)])
        raise ValueError("no more")

    with pytest.raises(ValueError, match="no more"):
        TableSet.of(pieces(), tmp_path / "collected.blocks")
    assert list(tmp_path.iterdir()) == []


def test_what_another_gnomon_left_is_refused_with_the_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run of version 1 that was killed has part.0.json, which nothing here reads."""
    monkeypatch.chdir(tmp_path)
    folder = staging.create_staging("app", 0, HEAD)
    task = folder / "task.0.json"
    task.write_text(task.read_text().replace('"version": 2', '"version": 1'))
    (folder / "part.0.json").write_text('{"format": "gnomon/raw", "version": 1}')
    with pytest.raises(RunDirectoryError) as refused:
        staging.parts(folder)
    assert str(refused.value) == (
        f"{task}: version 1; this Gnomon reads version 2: repair it with the Gnomon that wrote it, "
        "or remove it"
    )


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("tasks", 1 << 63),
        ("tasks", -1),
        ("tasks", True),
        ("rank", None),
        ("rank", "3"),
        ("started", float("nan")),
        ("started", 1e308),
        ("command", []),
        ("command", [3]),
        ("host", {"name": 3}),
        ("capabilities", 0.5),
        ("environment", {"PATH": None}),
        ("working_directory", []),
    ],
)
def test_what_is_said_of_a_task_and_cannot_be_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, field: str, value: object
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = staging.create_staging("app", 0, HEAD)
    assert len(staging.parts(folder)) == 1
    task = folder / "task.0.json"
    task.write_text(json.dumps(json.loads(task.read_text()) | {field: value}))
    with pytest.raises(RunDirectoryError, match=r"task\.0\.json: it is damaged; remove it, and"):
        staging.parts(folder)


def test_ranks_that_left_nothing_are_named_as_far_as_it_helps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, tasks in (("few", 4), ("many", 10_000_000)):
        folder = staging.create_staging(
            name, 1, {**HEAD, "tasks": tasks, "rank": 1, "capabilities": []}
        )
        assemble_run(folder, name, [])
    few, many = (run_directory.find(name).head["warnings"][0] for name in ("few", "many"))
    assert few == "rank 0, 2, 3: left nothing"
    assert many.endswith(", 1000 and 9,998,999 more: left nothing")
