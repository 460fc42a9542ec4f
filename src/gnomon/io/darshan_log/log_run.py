"""Logs of Darshan as runs: its counters as the profile of calls on files, its traces as events."""

from __future__ import annotations

from functools import partial
from typing import IO, TYPE_CHECKING, Any

from gnomon.errors import RunDirectoryError
from gnomon.io import io_metrics
from gnomon.io.darshan_log import log_counters
from gnomon.io.darshan_log.log_content import read_log
from gnomon.io.darshan_log.log_process import TRACE
from gnomon.io.darshan_log.log_tables import LogTables
from gnomon.io.darshan_log.mpi_io_counters import MPI_IO
from gnomon.model import region_kinds
from gnomon.store.profile_files.profile_file import head, words
from gnomon.store.unpacked_run import run_of_tables

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from gnomon.io.darshan_log.log_content import LogContent
    from gnomon.model.tables import Table
    from gnomon.store.run import Run

_CARRIED = (*log_counters.MODULES, MPI_IO, TRACE)
_KINDS = (
    region_kinds.RegionKind(
        io_metrics.MPI_IO_FILE, "MPI-IO calls by file", "file", is_division=True
    ),
)
_JOB_MOST = (1 << 53) - 1


def open_darshan(path: Path) -> Run:
    """Return a log of Darshan as a run.

    Raises:
        RunDirectoryError: it cannot be read, or is damaged; names the byte.
    """
    return run_of_tables(path, partial(read_darshan, path))


def read_darshan(path: Path, file: IO[bytes]) -> tuple[dict[str, Any], Iterator[Table]]:
    """Return the head of the run that a log stands for, and its tables.

    Args:
        path: to be named in errors.
        file: the log.

    Raises:
        RunDirectoryError: it cannot be read, or is damaged; names the byte.
    """
    content = read_log(path, file)
    known = [module.name for module in content.modules if module.name in _CARRIED]
    if not known:
        names = ", ".join(module.name for module in content.modules) or "nothing"
        raise RunDirectoryError(
            f"{path}: the log has {names}, of which Gnomon reads nothing: it reads "
            f"{', '.join(_CARRIED)}; record these"
        )
    tables = LogTables(path, content)
    command = words(content.command.strip()) if content.command.strip() else [path.name]
    run_head = head(
        command,
        producer=f"Darshan, format {content.version}",
        started=content.started_ns / 1e9,
        wall_seconds=content.seconds,
        warnings=list(_warnings(content, tables)),
    )
    run_head["hosts"] = [{"name": host} for host in tables.hosts]
    run_head["ranks"] = content.processes
    run_head["darshan"] = {
        "format": content.version,
        "library": content.library,
        "job": min(max(content.job, -1), _JOB_MOST),
        "facts": content.facts.strip().splitlines(),
        "mounts": [list(mount) for mount in content.mounts],
    }
    return run_head | region_kinds.as_head(_KINDS), tables.all()


def _warnings(content: LogContent, tables: LogTables) -> Iterator[str]:
    """Yield what of the log is not in the run, and what is not in the log."""
    others = [module.name for module in content.modules if module.name not in _CARRIED]
    if others:
        yield f"darshan: modules that are not carried over: {', '.join(others)}"
    yield f"darshan: not carried over: {log_counters.NOT_CARRIED_OVER}"
    partial_ones = [module.name for module in content.modules if module.is_partial]
    if partial_ones:
        yield (
            f"darshan: records are missing of {', '.join(partial_ones)}: there was no room for "
            "more files (DARSHAN_MAX_RECORDS, DARSHAN_MODMEM)"
        )
    if tables.unknown:
        yield f"darshan: Darshan could not count: {', '.join(tables.unknown)}"
    if content.skipped:
        yield f"darshan: traces are not carried over: this PyDarshan cannot read {content.skipped}"
    if tables.n_senseless:
        yield f"darshan: {tables.n_senseless} reads and writes in traces have no sense: left out"
