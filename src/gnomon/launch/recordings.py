"""What the library of a capability recorded in the processes of a program, and what is missing.

The record files of one process are one: a program that executes another leaves a file and begins
the next one under the same number. What a file says of its own end is said of every capability in
the same words.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from gnomon.errors import FormatError
from gnomon.named_tuple import NamedTuple
from gnomon.store.record_file import SUFFIX, RecordFile, open_records

# So many processes are named in a warning; of others it is said how many they are.
_NAMED = 4
# What native/runtime/recorder.c leaves where it could not make a record file.
_REFUSED = ".refused"


class RecordedProcess(NamedTuple):
    """A process that was recorded.

    Attributes:
        host: where it ran.
        pid: its number.
        rank: in its job, -1 where it is not known.
        files: what its programs left, one after the other.
    """

    host: str
    pid: int
    rank: int
    files: tuple[RecordFile, ...]


class Recordings(NamedTuple):
    """What a capability recorded.

    Attributes:
        processes: in the order of their hosts and numbers.
        warnings: what is missing, for the run.
    """

    processes: tuple[RecordedProcess, ...]
    warnings: tuple[str, ...]


def files_of(folder: Path, capability: str) -> list[Path]:
    """Return the record files that a capability has in a staging folder."""
    return sorted(folder.glob(f"*.{capability}{SUFFIX}"))


def recordings(folder: Path, capability: str, kinds: Iterable[str] = ()) -> Recordings:
    """Return what a capability recorded in a staging folder.

    Args:
        folder: the staging folder.
        capability: its name, which its files have.
        kinds: kinds of records that it needs; a file without them is none of its own.
    """
    processes: dict[tuple[str, int], list[RecordFile]] = {}
    warnings: list[str] = []
    for path in files_of(folder, capability):
        try:
            file = open_records(path)
            lacking = set(kinds) - {kind.name for kind in file.kinds}
            if lacking:
                raise FormatError(path, 0, f"it has no records {', '.join(sorted(lacking))}")
            for _ in file.blocks():
                pass
        except (FormatError, OSError) as error:
            why = str(error).removeprefix(f"{path}: ")
            warnings.append(f"{capability}: {path.name}: cannot be read: {why}")
            continue
        processes.setdefault((file.host, file.pid), []).append(file)
    recorded = tuple(
        RecordedProcess(host, pid, files[0].rank, tuple(sorted(files, key=lambda f: f.raw_ns)))
        for (host, pid), files in sorted(processes.items())
    )
    warnings += _ended_early(capability, recorded)
    warnings += _refused(folder, capability)
    return Recordings(recorded, tuple(warnings))


def _ended_early(capability: str, processes: Sequence[RecordedProcess]) -> list[str]:
    """Return warnings about recordings that ended before their processes."""
    lost: dict[int, dict[int, int]] = {}
    for process in processes:
        for file in process.files:
            if file.stop_error or file.lost:
                of_pid = lost.setdefault(file.stop_error, {})
                of_pid[process.pid] = of_pid.get(process.pid, 0) + file.lost
    said = []
    for error, of_pid in sorted(lost.items()):
        whole, missing = sum(of_pid.values()), _named(of_pid)
        are = "record is" if whole == 1 else "records are"
        if error:
            what = f"recording of {missing} ended early ({_reason(error)})"
        else:
            what = f"recording of {missing} has gaps"
        said.append(f"{capability}: {what}: {whole} {are} missing")
    return said


def _refused(folder: Path, capability: str) -> list[str]:
    """Return which processes could not be recorded at all."""
    pids: dict[int, list[int]] = {}
    for path in sorted(folder.glob(f"*.{capability}.*{_REFUSED}")):
        # HOST.PID.NANOSECONDS.CAPABILITY.ERRNO.refused; a host's name may have dots.
        words = path.name.removesuffix(_REFUSED).split(".")
        number, pid = words[-1], words[-4] if len(words) > 4 else ""
        if number.isdecimal() and pid.isdecimal():
            pids.setdefault(int(number), []).append(int(pid))
    return [
        f"{capability}: nothing was recorded of {_named(of_error)}: {_reason(error)}"
        for error, of_error in sorted(pids.items())
    ]


def _named(pids: Iterable[int] | Mapping[int, int]) -> str:
    numbers = sorted(set(pids))
    named = ", ".join(map(str, numbers[:_NAMED]))
    more = f" and {len(numbers) - _NAMED} more" if len(numbers) > _NAMED else ""
    return f"process{'es' if len(numbers) > 1 else ''} {named}{more}"


def _reason(error: int) -> str:
    if error == errno.ENOBUFS:
        return "its record file has the largest size that it may have"
    return os.strerror(error)
