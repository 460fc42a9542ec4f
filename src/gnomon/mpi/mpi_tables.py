"""Rows of the model for what wrappers left of every process: `mpi_metrics` has what they are."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from gnomon.measurement.call_rows import TableParts, metrics_table, whole
from gnomon.measurement.call_sites import CallSites, SiteKinds
from gnomon.measurement.totals_processes import (
    TotalsProcess,
    names_of,
    notes,
    processes_of,
    site_tables,
)
from gnomon.model.capability_result import Collected
from gnomon.model.tables import LOCATIONS, MESSAGES, PROFILE, Table
from gnomon.mpi import mpi_metrics
from gnomon.mpi.process_rows import MEASURES, ProcessRows, overhead_ns
from gnomon.units import printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from gnomon.measurement.totals_file import TotalsFile

_ROWS_HELD = 100_000
_UNMEASURED = ".mpi.unmeasured"
_REASON_BYTES = 8192


def collect(folder: Path) -> Collected:
    """Return the calls of MPI that the processes of a run left in its staging folder."""
    sites, facts = CallSites(_SITE_KINDS), Counter[str]()

    def look(file: TotalsFile) -> None:
        sites.add(file)
        facts.update(_facts(file))

    ordered, warnings = processes_of(folder, "mpi", _Process, look)
    missing = sites.resolve()
    if ordered:
        facts["processes"] = len(ordered)
    said = (*warnings, *_unmeasured(folder), *_notes(ordered))
    return Collected(_tables(ordered, sites), missing, said, dict(facts))


class _Process(TotalsProcess):
    """A process with calls of MPI.

    Attributes:
        sends: it sent messages.
        peers: the ranks that it sent these to, as far as they are known.
        is_finalized: MPI was up, and was finalized.
    """

    def __init__(self, host: str, pid: int) -> None:
        super().__init__(host, pid)
        self.sends = False
        self.peers = np.zeros(0, np.int32)
        self.is_finalized = True

    def add(self, file: TotalsFile, *, is_held: bool) -> None:
        super().add(file, is_held=is_held)
        if file.rank >= 0:
            self.is_finalized &= file.is_finalized
        peers = file.messages["peer"]
        self.sends |= len(peers) > 0
        self.peers = np.union1d(self.peers, peers[peers >= 0])


def _facts(file: TotalsFile) -> dict[str, int]:
    return {
        "calls": int(whole(file.sites["calls"]).sum()),
        "records_lost": file.lost,
        "overhead_ns": int(overhead_ns(file)),
    }


def _unmeasured(folder: Path) -> Iterator[str]:
    """Return why calls of processes were not measured, as native/wrapper_library.c wrote it."""
    reasons = Counter[str]()
    for path in folder.glob(f"*{_UNMEASURED}"):
        if not path.is_file():
            continue
        try:
            with path.open("rb") as file:
                reason = file.read(_REASON_BYTES).decode(errors="replace")
        except OSError as error:
            reason = f"{path.name}: {error.strerror}"
        reasons[printable(reason)] += 1
    for reason, n in sorted(reasons.items()):
        yield f"mpi: {n:,} process{'' if n == 1 else 'es'} not measured: {reason}"


def _notes(processes: Sequence[_Process]) -> Iterator[str]:
    yield from notes("mpi", processes)
    early = [one for one in processes if not one.is_finalized]
    if early:
        named = names_of(early)
        yield f"mpi: {named} ended without MPI_Finalize: what was called until then is here"


# --- tables ---------------------------------------------------------------------------------------


def _tables(processes: Sequence[_Process], sites: CallSites) -> Iterator[Table]:
    if not processes:
        return
    ranks = _WorldRanks(processes)
    yield _locations(processes, ranks)
    yield from site_tables(sites)
    yield metrics_table(MEASURES, mpi_metrics.COMPONENT)
    profile, messages = TableParts(PROFILE), TableParts(MESSAGES)
    for location, process in enumerate(processes):
        rows = ProcessRows(sites)
        for file in process.files():
            rows.add(file)
        profile.add(rows.profile(location))
        messages.add(rows.messages(*ranks.locations(process)))
        for columns in (profile, messages):
            if columns.n >= _ROWS_HELD:
                yield columns.table()
    yield from (columns.table() for columns in (profile, messages) if columns.n)


class _WorldRanks:
    """The ranks that sent or received, of each MPI_COMM_WORLD: they have locations of their own.

    Attributes:
        names: the rank of each, and what it is called.
    """

    def __init__(self, processes: Sequence[_Process]) -> None:
        worlds = sorted({one.world for one in processes if one.rank >= 0})
        own: list[set[int]] = [set() for _ in worlds]
        for one in processes:
            if one.rank >= 0 and one.sends:
                own[worlds.index(one.world)].update((one.rank, *one.peers.tolist()))
        self._numbers = {world: number for number, world in enumerate(worlds)}
        self._ranks = [np.array(sorted(ranks), np.int64) for ranks in own]
        sizes = [len(ranks) for ranks in self._ranks]
        self._first = [len(processes) + sum(sizes[:number]) for number in range(len(worlds))]
        self.names = [
            (rank, f"rank {rank}" if not number else f"rank {rank} of job {number + 1}")
            for number, ranks in enumerate(self._ranks)
            for rank in ranks.tolist()
        ]

    def locations(self, process: _Process) -> tuple[int, int, NDArray[np.int64]]:
        """Return the location of a process's rank, that of the first one of its world, and these.

        Those of a process that MPI was never up in are none.
        """
        if process.rank < 0 or not process.sends:
            return -1, -1, np.zeros(0, np.int64)
        number = self._numbers[process.world]
        ranks, first = self._ranks[number], self._first[number]
        return first + int(np.searchsorted(ranks, process.rank)), first, ranks


def _locations(processes: Sequence[_Process], ranks: _WorldRanks) -> Table:
    table = Table(LOCATIONS)
    for one in processes:
        table.append((len(table), -1, "process", one.host, one.rank, one.pid, -1, one.name))
    for rank, name in ranks.names:
        table.append((len(table), -1, "rank", "", rank, -1, -1, name))
    return table


def _communicator_names(file: TotalsFile) -> dict[int, str]:
    """Return what communicators are called: by their names, or by who is in them."""
    names: dict[int, str] = {}
    columns = (file.communicators[name].tolist() for name in ("communicator", "size", "first"))
    for number, size, first in zip(*columns, strict=True):
        begin = f", the first is rank {first}" if first >= 0 else ""
        own = f"communicator of {size} rank{'' if size == 1 else 's'}{begin}"
        names[number] = file.texts.get(("communicator", number), "") or own
    return names


_SITE_KINDS = SiteKinds(
    mpi_metrics.CALL, mpi_metrics.SIZE, mpi_metrics.COMMUNICATOR, "(no communicator)",
    _communicator_names,
)  # fmt: skip
