"""What a Darshan log has, as the process read it that PyDarshan is in."""

from __future__ import annotations

import importlib.util
import json
import mmap
import os
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from math import isfinite
from typing import IO, TYPE_CHECKING, Any, NoReturn

import numpy as np

from gnomon.errors import RunDirectoryError
from gnomon.io.darshan_log import log_process
from gnomon.io.darshan_log.log_header import FORMAT, JOB, read_header
from gnomon.named_tuple import NamedTuple
from gnomon.store.profile_files.profile_file import refuse
from gnomon.units import printable

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from gnomon.io.darshan_log.log_header import LogHeader

SECONDS_MOST = 600
_SAID_MOST = 200
_PROCESSES_MOST = (1 << 31) - 1
_STARTED_MOST = 10**11
_SEGMENT = [("offset", "i8"), ("length", "i8"), ("start", "f8"), ("end", "f8")]
_THREAD = ("thread", "u8")


class Module(NamedTuple):
    """A module with records in the log.

    Attributes:
        name: what Darshan calls it.
        is_partial: Darshan had no room for records of all files.
    """

    name: str
    is_partial: bool


class Counters(NamedTuple):
    """The records of a module of counters.

    Attributes:
        files: number of each record's file.
        ranks: of each record; -1 for those of all ranks together.
        counts: by name, one for each record; -1 where Darshan does not know it.
        times: likewise, in seconds.
    """

    files: NDArray[np.uint64]
    ranks: NDArray[np.int64]
    counts: dict[str, NDArray[np.int64]]
    times: dict[str, NDArray[np.float64]]


class Trace(NamedTuple):
    """Reads and writes of a file by a rank.

    Attributes:
        file: its number.
        rank: of the process.
        host: where it ran.
        writes: offset, length (both bytes), start and end (both seconds since the job began).
        reads: likewise.
    """

    file: int
    rank: int
    host: str
    writes: NDArray[Any]
    reads: NDArray[Any]


class LogContent(NamedTuple):
    """A log.

    Attributes:
        version: of its format.
        library: version of the one that read it.
        job: its number.
        processes: how many ranks it had.
        started_ns: since 1970.
        seconds: that it took.
        facts: what Darshan says beside, as lines of name=value.
        command: the program and its arguments.
        mounts: folders of file systems, and their kinds.
        names: of files, by number.
        modules: that have records.
        counters: records by module.
        traces: of reads and writes.
        skipped: traces that PyDarshan cannot read, as text.
    """

    version: str
    library: str
    job: int
    processes: int
    started_ns: int
    seconds: float
    facts: str
    command: str
    mounts: list[tuple[str, str]]
    names: dict[int, str]
    modules: list[Module]
    counters: dict[str, Counters]
    traces: list[Trace]
    skipped: str


def read_log(path: Path, file: IO[bytes]) -> LogContent:
    """Return what a log has.

    Args:
        path: to be named in errors.
        file: the log.

    Raises:
        RunDirectoryError: it is damaged or too large, which is told by the byte; PyDarshan is not
            installed.
    """
    header = read_header(path, file)
    spec = importlib.util.find_spec("darshan")
    if spec is None or spec.origin is None:
        raise RunDirectoryError(
            f"{path}: a Darshan log, which PyDarshan reads, and that is not installed; "
            "pip install 'gnomon[darshan]' or pip install darshan"
        )
    with tempfile.TemporaryFile(prefix="gnomon-darshan-") as out:
        _run(path, file, out, header)
        content = _json(path, out, header)
        try:
            return _content(header, content, out)
        except (KeyError, TypeError, ValueError, IndexError, OverflowError):
            refuse(path, header.offsets[JOB], "its records make no sense", FORMAT)


def _run(path: Path, log: IO[bytes], out: IO[bytes], header: LogHeader) -> None:
    """Have a process read the log into `out`."""
    numbers = (log.fileno(), out.fileno())
    # One thread is enough for what imports NumPy, and each has much memory of its own.
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        ended = subprocess.run(
            [sys.executable, "-P", "-m", log_process.__name__, *map(str, numbers)],
            pass_fds=numbers, stdin=subprocess.DEVNULL, capture_output=True, env=environment,
            timeout=SECONDS_MOST, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        _too_large(path, f"it took more than {SECONDS_MOST} s to read")
    except OSError as error:
        raise RunDirectoryError(
            f"{path}: no process can be started to read it: {error.strerror}; end others"
        ) from None
    if ended.returncode == 0:
        return
    regions = ended.stdout.decode("utf-8", "replace").splitlines()
    region = regions[-1] if regions else ""
    said = _last_line(ended.stderr)
    if ended.returncode == log_process.TOO_LARGE:
        _too_large(
            path,
            f"reading it takes more than {log_process.MEMORY_BYTES >> 30} GiB of memory or "
            f"{log_process.WRITTEN_BYTES >> 30} GiB of disk",
        )
    if ended.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        _too_large(path, f"reading it takes more than {log_process.CPU_SECONDS} s of CPU time")
    if ended.returncode == log_process.NOT_LOADED:
        raise RunDirectoryError(
            f"{path}: PyDarshan cannot be loaded: {said}; pip install --force-reinstall darshan"
        )
    if "version number" in said or "incompatible" in said or "expected version" in said:
        raise RunDirectoryError(
            f"{path}: {said}: damaged, or of a newer Darshan; pip install --upgrade darshan"
        )
    if ended.returncode < 0:
        said = f"Darshan's library was ended by signal {-ended.returncode}"
    offset = header.offsets.get(region, header.offsets[JOB])
    refuse(path, offset, ": ".join(filter(None, (region, said or "it cannot be read"))), FORMAT)


def _last_line(text: bytes) -> str:
    lines = text.decode("utf-8", "replace").strip().splitlines()
    said = lines[-1].strip().rstrip(".").removeprefix("Error: ") if lines else ""
    return printable(said)[:_SAID_MOST]


def _too_large(path: Path, problem: str) -> NoReturn:
    raise RunDirectoryError(
        f"{path}: {problem}, which is the most that Gnomon takes for a Darshan log; have less "
        "recorded (DARSHAN_MOD_DISABLE=DXT_POSIX)"
    )


def _json(path: Path, out: IO[bytes], header: LogHeader) -> dict[str, Any]:
    content: object = None
    size = out.seek(0, 2)
    with suppress(ValueError, OSError):
        out.seek(size - 8)
        begin = int.from_bytes(out.read(8), "little")
        out.seek(begin)
        content = json.loads(out.read(size - 8 - begin))
    if not isinstance(content, dict):
        refuse(path, header.offsets[JOB], "Darshan's library left nothing of it", FORMAT)
    return content


def _content(header: LogHeader, content: dict[str, Any], file: IO[bytes]) -> LogContent:
    # Records stay in the file, which has no name, for as long as someone looks at them.
    out = memoryview(mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ))
    started_s, started_ns = content["start_s"], content["start_ns"]
    seconds = content["seconds"]
    is_time = 0 <= started_s < _STARTED_MOST and 0 <= started_ns < 10**9 and isfinite(seconds)
    if not is_time or not 0 <= seconds < _STARTED_MOST:
        raise ValueError("no time")
    if not 0 < content["processes"] <= _PROCESSES_MOST:
        raise ValueError("no number of processes")
    modules = [
        Module(name, bool(module["is_partial"])) for name, module in content["modules"].items()
    ]
    return LogContent(
        header.version,
        content["library"],
        content["job"],
        content["processes"],
        started_s * 10**9 + started_ns,
        seconds,
        content["facts"],
        content["exe"],
        [(folder, kind) for folder, kind in content["mounts"]],
        {int(number): name for number, name in content["names"].items()},
        modules,
        {name: _counters(content, name, out) for name in content["records"]},
        [_trace(trace, out) for trace in content["traces"]],
        content["skipped"],
    )


def _counters(content: dict[str, Any], name: str, out: memoryview) -> Counters:
    begin, end, size = content["records"][name]
    counts, times = content["counters"][name]
    kind = np.dtype(
        [("file", "u8"), ("rank", "i8"), ("counts", "i8", (len(counts),)),
         ("times", "f8", (len(times),))]
    )  # fmt: skip
    if kind.itemsize != size:
        raise ValueError("records of another size")
    records = np.frombuffer(_bytes(out, begin, end - begin), kind)
    return Counters(
        records["file"],
        records["rank"],
        {counter: records["counts"][:, place] for place, counter in enumerate(counts)},
        {counter: records["times"][:, place] for place, counter in enumerate(times)},
    )


def _trace(trace: list[Any], out: memoryview) -> Trace:
    file, rank, host, begin, writes, reads, size = trace
    kind = np.dtype([*_SEGMENT, *([_THREAD] if size == np.dtype([*_SEGMENT, _THREAD]).itemsize
                                  else [])])  # fmt: skip
    segments = np.frombuffer(_bytes(out, begin, (writes + reads) * kind.itemsize), kind)
    return Trace(file, rank, host, segments[:writes], segments[writes:])


def _bytes(content: memoryview, begin: int, n: int) -> memoryview:
    if begin < 0 or n < 0 or begin + n > len(content):
        raise ValueError("records that are missing")
    return content[begin : begin + n]
