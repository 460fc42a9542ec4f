"""`NAME.gnomon.raw/`: what a run has until it is complete, one file for each task of a job.

`task.N.json` is written before the program starts, `part.N.blocks` when it has ended: record blocks
with the rows of the model's tables. Capabilities leave files of their own beside them. The task
that finds all parts makes the run of it; `gnomon repair` does so after a kill.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from fnmatch import fnmatchcase
from math import gcd
from pathlib import Path
from typing import Any

from gnomon.errors import FormatError, RunDirectoryError
from gnomon.model.capability_result import Collected
from gnomon.model.value import Unavailable
from gnomon.named_tuple import NamedTuple
from gnomon.store.record_blocks import read_blocks, write_blocks
from gnomon.store.run_directory import SUFFIX, path_of

_FORMAT = "gnomon/raw"
_VERSION = 2
_LIMIT_BYTES = 64 << 20
# Multiples of it are far from each other, modulo 1.
_GOLDEN = 0.618
_TASKS_MOST = 1 << 24
_SECONDS_MOST = 1 << 40
# struct flock where off_t has 64 bits: l_type, l_whence, l_start, l_len, l_pid. Source: fcntl(2).
_FLOCK = "hhqqi4x"


class RankPart(NamedTuple):
    """A task of the run.

    Attributes:
        task: its number, from 0.
        head: what was known when it began: command, host, started, tasks, job.
        end: exit_status, signal, pid, started, wall_ns; None if it did not come to its end.
        collected: what could not be measured of it, and warnings.
        file: the record blocks with what was measured; None if it did not come to its end.
    """

    task: int
    head: Mapping[str, Any]
    end: Mapping[str, Any] | None
    collected: Collected
    file: Path | None = None


def raw_of(name: str) -> Path:
    """Return the folder of a run's name."""
    path = path_of(name)
    return path.with_name(path.name + ".raw")


def create_staging(name: str, task: int, head: Mapping[str, Any]) -> Path:
    """Make the folder, or join the other tasks of the job in it; return its absolute path.

    Raises:
        RunDirectoryError: it is there of another run, or cannot be made.
    """
    folder = raw_of(name)
    try:
        folder.mkdir(mode=0o700, exist_ok=int(head["tasks"]) != 1)
        with locked(folder):
            # All that came before were of one job: one of them tells which.
            other = _a_task(folder)
            is_other = other is not None and _read(other).get("job") != head["job"]
            if is_other or (folder / f"task.{task}.json").exists():
                raise FileExistsError
            _write(folder / f"task.{task}.json", head)
            # Held as long as this process lives, so that `gnomon repair` leaves it alone.
            held = os.open(folder / f"task.{task}.json", os.O_RDONLY | os.O_CLOEXEC)
            with suppress(OSError):
                fcntl.flock(held, fcntl.LOCK_SH)
    except FileExistsError:
        raise RunDirectoryError(
            f"{folder}: it is what another run has left, or is at; wait for its end, close it with "
            f"`gnomon repair {path_of(name)}`, remove it, or choose another --name"
        ) from None
    except OSError as error:
        with suppress(OSError):  # other tasks may be in it
            folder.rmdir()
        raise RunDirectoryError(
            f"{folder}: cannot be made: {error.strerror}; choose another folder: --name FOLDER/NAME"
        ) from None
    return folder.absolute()


def _a_task(folder: Path) -> Path | None:
    """Return the file of one of the tasks, without a look at all of them; None if there is none."""
    with os.scandir(folder) as entries:
        names = (entry.name for entry in entries)
        found = next((name for name in names if fnmatchcase(name, "task.*.json")), None)
    return None if found is None else folder / found


def begun(folder: Path, pattern: str, job: str) -> str:
    """Return the name of the run that tasks of a job have begun in a folder, "" for none.

    Args:
        folder: where.
        pattern: what the name is like.
        job: the identity of the job.
    """
    for raw in sorted(folder.glob(f"{pattern}{SUFFIX}.raw")):
        for path in raw.glob("task.*.json"):
            with suppress(RunDirectoryError):
                if _read(path).get("job") == job:
                    return raw.name.removesuffix(f"{SUFFIX}.raw")
    return ""


def end(folder: Path, task: int, end: Mapping[str, Any], collected: Collected) -> None:
    """Write what a task measured.

    Raises:
        RunDirectoryError: it cannot be written.
    """
    document = {"end": end, "unavailable": collected.unavailable, "warnings": collected.warnings}
    try:
        write_blocks(folder / f"part.{task}.blocks", collected.tables, document)
    except OSError as error:
        raise RunDirectoryError(
            f"{folder}: what was measured cannot be written: {error.strerror}"
        ) from None


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the lock by which one rank alone looks at the folder.

    Raises:
        RunDirectoryError: it is gone.
    """
    try:
        fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except FileNotFoundError:
        raise RunDirectoryError(
            f"{folder}: it was removed while the program ran, and what was measured with it; run "
            "it again with --name in another folder"
        ) from None
    try:
        with suppress(OSError):  # a network's file system may have no such locks
            fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


def check_ended(folder: Path) -> None:
    """Check that no `gnomon run` is still at it, nor a program that outlived one.

    Raises:
        RunDirectoryError: one is.
    """
    _check_written(folder)
    for path in folder.glob("task.*.json"):
        try:
            fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        except OSError:
            continue
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise RunDirectoryError(
                f"{folder}: its gnomon run has not ended; wait for it, or end it"
            ) from None
        except OSError:  # a network's file system may have no such locks
            pass
        finally:
            os.close(fd)


def _check_written(folder: Path) -> None:
    """Check that no process has a lock on what capabilities leave, as long as it writes that."""
    for path in folder.rglob("*"):
        pid = _writer(path)
        if pid is not None:
            raise RunDirectoryError(
                f"{folder}: process {pid} of its program has not ended; wait for it, or end it"
            )


def is_written(path: Path) -> bool:
    """Return whether the process that writes a record file has not ended."""
    return _writer(path) is not None


def _writer(path: Path) -> int | None:
    """Return the process that has a lock on a file, None where nobody has."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        asked = struct.pack(_FLOCK, fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
        kind, _, _, _, pid = struct.unpack(_FLOCK, fcntl.fcntl(fd, fcntl.F_GETLK, asked))
    except OSError:  # no such locks there, or no file
        return None
    finally:
        os.close(fd)
    return None if kind == fcntl.F_UNLCK else int(pid)


def have_all_ended(folder: Path, tasks: int, last: int) -> bool:
    """Return whether all tasks of a job have ended.

    Args:
        folder: the raw folder.
        tasks: how many there are; 0 if that is not known, and so not whether all have.
        last: the number of the one that has just ended.
    """
    # Tasks end in the order of their numbers, or nearly: in another order one of those that have
    # not ended is found soon, and the folder, which each task looks at, need not be listed.
    step = max(round(tasks * _GOLDEN), 1)
    while gcd(step, tasks) != 1:
        step += 1
    numbers = ((last + at * step) % tasks for at in range(tasks))
    return tasks > 0 and all((folder / f"part.{number}.blocks").exists() for number in numbers)


def parts(folder: Path) -> tuple[RankPart, ...]:
    """Return the tasks by their numbers.

    Raises:
        RunDirectoryError: there are none, or a file is damaged; names it.
    """
    rank_parts = []
    for path in folder.glob("task.*.json"):
        head = _read(path)
        number = path.name.split(".")[1]
        if not number.isdecimal() or not _is_head(head):
            raise _damaged(path)
        end, collected, file = None, Collected(), path.with_name(f"part.{number}.blocks")
        if file.exists():
            end, collected = _part(file)
        rank_parts.append(
            RankPart(int(number), head, end, collected, None if end is None else file)
        )
    if not rank_parts:
        raise RunDirectoryError(f"{folder}: no task.*.json in it: not left by a killed run")
    return tuple(sorted(rank_parts, key=lambda part: part.task))


def replaces(folder: Path) -> bool:
    """Return whether the run was to replace one of its name.

    Raises:
        RunDirectoryError: a file is damaged; names it.
    """
    # All tasks of a job were started with the same options.
    return any(_read(path).get("force") is True for path in sorted(folder.glob("task.*.json"))[:1])


def remove(folder: Path) -> None:
    """Remove the folder."""
    shutil.rmtree(folder, ignore_errors=True)


def _part(path: Path) -> tuple[Mapping[str, Any], Collected]:
    try:
        blocks = read_blocks(path, {""}) if path.is_file() else iter(())
        document = next(blocks).document()
    except StopIteration:
        raise _damaged(path) from None
    except FormatError as error:
        raise RunDirectoryError(str(error)) from None
    except OSError as error:
        raise RunDirectoryError(f"{path}: cannot be read: {error.strerror}") from None
    end = document.get("end")
    missing, warnings = document.get("unavailable"), document.get("warnings")
    if not isinstance(end, dict):
        raise _damaged(path)
    for field in ("pid", "signal", "wall_ns"):
        if not isinstance(end.get(field), int):
            raise _damaged(path)
    if not _is_moment(end.get("started")):
        raise _damaged(path)
    if not isinstance(end.get("exit_status"), (int, type(None))):
        raise _damaged(path)
    if not _are_texts(warnings) or not isinstance(missing, list):
        raise _damaged(path)
    absent = []
    for entry in missing:
        if not (isinstance(entry, list) and len(entry) == 4 and _are_texts(entry[:3])):
            raise _damaged(path)
        event, reason, remedy = entry[:3]
        number = entry[3] if isinstance(entry[3], int) else 0
        absent.append(Unavailable(event, reason, remedy, number))
    return end, Collected((), tuple(absent), tuple(warnings or ()))


def _is_head(head: Mapping[str, Any]) -> bool:
    """Return whether the head of a rank is what `begin` writes."""
    command, host, environment = head.get("command"), head.get("host"), head.get("environment", {})
    return (
        _are_texts(command)
        and bool(command)
        and isinstance(host, dict)
        and isinstance(host.get("name", ""), str)
        and _is_moment(head.get("started"))
        and _is_number(head.get("tasks"), 0)
        and _is_number(head.get("rank", -1), -1)
        and _are_texts(head.get("capabilities", []))
        and isinstance(environment, dict)
        and _are_texts(list(environment.values()))
        and isinstance(head.get("working_directory", ""), str)
    )


def _is_number(value: object, least: int) -> bool:
    return type(value) is int and least <= value <= _TASKS_MOST


def _is_moment(value: object) -> bool:
    return isinstance(value, (int, float)) and abs(value) < _SECONDS_MOST


def _are_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def _read(path: Path) -> dict[str, Any]:
    try:
        if not path.is_file() or path.stat().st_size > _LIMIT_BYTES:
            raise _damaged(path)
        head = json.loads(path.read_bytes())
    except OSError as error:
        raise RunDirectoryError(f"{path}: cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError):
        raise _damaged(path) from None
    if not isinstance(head, dict) or head.get("format") != _FORMAT:
        raise _damaged(path)
    if head.get("version") != _VERSION:
        raise RunDirectoryError(
            f"{path}: version {head.get('version')!r:.20}; this Gnomon reads version {_VERSION}: "
            "repair it with the Gnomon that wrote it, or remove it"
        )
    return head


def _write(path: Path, document: Mapping[str, Any]) -> None:
    whole = {"format": _FORMAT, "version": _VERSION, **document}
    partial = path.with_name(f".{path.name}.new")
    try:
        partial.write_text(json.dumps(whole), encoding="utf-8")
        partial.rename(path)
    except OSError:
        partial.unlink(missing_ok=True)
        raise


def _damaged(path: Path) -> RunDirectoryError:
    return RunDirectoryError(
        f"{path}: it is damaged; remove it, and repair gives what the rest has"
    )
