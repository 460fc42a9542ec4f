"""Rows of the model for what libgnomon_io left of every process: `io_metrics` has what they are."""

from __future__ import annotations

import socket
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from gnomon.io import io_metrics
from gnomon.io.fault_counter import faults_in, notes_in
from gnomon.io.io_events import EventFiles
from gnomon.io.io_rows import (
    FETCHED_MEASURE,
    MEASURES,
    NO_FILE,
    ProcessRows,
    file_names,
    number_fetched,
    number_pairs,
)
from gnomon.io.kernel_counts import KernelCounts
from gnomon.io.module_files import unmatched
from gnomon.io.uring_counter import counts_in
from gnomon.measurement.call_rows import TableParts, metrics_table, whole
from gnomon.measurement.call_sites import CallSites, SiteKinds
from gnomon.measurement.totals_processes import TotalsProcess, notes, processes_of, site_tables
from gnomon.model.capability_result import Collected
from gnomon.model.tables import FILES, LOCATIONS, PROFILE, Table

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Mapping, Sequence

    from gnomon.measurement.totals_file import TotalsFile

_ROWS_HELD = 100_000
_KINDS = ("", "file", "directory", "pipe", "socket", "device", "device", "")
"""Of enum gn_file_type (native/call_sites/totals_file.h), as the model calls them."""
_SITE_KINDS = SiteKinds(
    io_metrics.CALL, io_metrics.SIZE, io_metrics.FILE, NO_FILE, file_names
)  # fmt: skip


def collect(folder: Path) -> Collected:
    """Return the calls on files that the processes of a run left in its staging folder."""
    sites, facts = CallSites(_SITE_KINDS), Counter[str]()
    files: dict[tuple[str, str], str] = {}
    events = EventFiles()
    is_on_device = _file_system(str(folder), _mounts()) != "tmpfs"
    kernel = KernelCounts(is_on_device=is_on_device)

    def look(file: TotalsFile) -> None:
        sites.add(file)
        number_pairs(sites, file)
        facts["calls"] += int(whole(file.sites["calls"]).sum())
        facts["records_lost"] += file.lost
        facts["ended_early"] += not file.is_closed
        facts["with_modules"] += file.has_modules
        files.update(_files(file))
        kernel.look(file, events.look(file))

    ordered, warnings = processes_of(folder, "io", TotalsProcess, look)
    kernel.close(ordered)
    fetched = _fetched(folder, ordered, files, sites)
    missing = sites.resolve()
    if ordered:
        facts["processes"] = len(ordered)
    facts.update(_event_facts(events))
    facts.update(counts_in(folder))
    without = "" if facts["with_modules"] or not ordered else unmatched(folder)
    said = (
        *((without,) if without else ()),
        *warnings,
        *notes_in(folder),
        *events.warnings,
        *notes("io", ordered),
        *events.notes(ordered),
    )
    tables = _tables(ordered, sites, files, events, kernel, fetched)
    return Collected(tables, missing, said, dict(facts))


def _fetched(
    folder: Path, processes: Sequence[TotalsProcess], files: Container[tuple[str, str]],
    sites: CallSites,
) -> dict[int, dict[str, int]] | None:  # fmt: skip
    """Return pages of files that calls were seen of, by process; None where not counted."""
    faults = faults_in(folder)
    if faults is None:
        return None
    fetched: dict[int, dict[str, int]] = {}
    locations = {process.pid: location for location, process in enumerate(processes)}
    for pid, own in faults.items():
        # A process without calls of its own touched what one before it had mapped.
        location = locations.get(pid, 0)
        if not processes:
            break
        sums = fetched.setdefault(location, {})
        for path, n in own.items():
            if (processes[location].host, path) in files:
                sums[path] = sums.get(path, 0) + n
    for sums in fetched.values():
        number_fetched(sites, sums)
    return fetched


def _event_facts(events: EventFiles) -> dict[str, int]:
    return {"events": events.n, "events_lost": events.lost} if events.n or events.lost else {}


def _files(file: TotalsFile) -> Iterator[tuple[tuple[str, str], str]]:
    names = file_names(file)
    columns = (file.files[name].tolist() for name in ("file", "type"))
    for number, kind in zip(*columns, strict=True):
        if number in names:
            yield (file.host, names[number]), _KINDS[kind]


def _tables(
    processes: Sequence[TotalsProcess], sites: CallSites, files: dict[tuple[str, str], str],
    events: EventFiles, kernel: KernelCounts, fetched: Mapping[int, Mapping[str, int]] | None,
) -> Iterator[Table]:  # fmt: skip
    if not processes:
        return
    table = Table(LOCATIONS)
    for one in processes:
        table.append((len(table), -1, "process", one.host, one.rank, one.pid, -1, one.name))
    yield table
    yield from site_tables(sites)
    more = () if fetched is None else (FETCHED_MEASURE,)
    yield metrics_table((*MEASURES, *more), io_metrics.COMPONENT)
    yield _file_table(files)
    profile = TableParts(PROFILE)
    for location, process in enumerate(processes):
        rows = ProcessRows(sites)
        for file in process.files():
            rows.add(file)
        counts = kernel.of(process)
        if counts is not None:
            rows.add_kernel(counts)
        if fetched is not None and location in fetched:
            rows.add_fetched(fetched[location])
        profile.add(rows.profile(location))
        if profile.n >= _ROWS_HELD:
            yield profile.table()
    if profile.n:
        yield profile.table()
    numbers = {key: number for number, key in enumerate(files)}
    for location, process in enumerate(processes):
        yield from events.tables(location, process, sites, numbers)


def _file_table(files: dict[tuple[str, str], str]) -> Table:
    mounts, here = _mounts(), socket.gethostname()
    hosts = {host for host, _ in files}
    table = Table(FILES)
    for (host, path), kind in files.items():
        own = _file_system(path, mounts) if host == here else ""
        table.append((len(table), path, host if len(hosts) > 1 else "", kind, own))
    return table


def _mounts() -> list[tuple[str, str]]:
    """Return where file systems of this host are mounted, and their kinds, the longest first."""
    try:
        lines = Path("/proc/self/mounts").read_text(errors="replace").splitlines()
    except OSError:
        return []
    fields = [line.split() for line in lines]
    mounts = [
        (own[1].encode().decode("unicode_escape", "replace"), own[2])
        for own in fields
        if len(own) > 2
    ]
    return sorted(mounts, key=lambda mount: -len(mount[0]))


def _file_system(path: str, mounts: Sequence[tuple[str, str]]) -> str:
    if not path.startswith("/"):
        return ""
    for folder, kind in mounts:
        if path == folder or path.startswith(folder.rstrip("/") + "/"):
            return kind
    return ""
