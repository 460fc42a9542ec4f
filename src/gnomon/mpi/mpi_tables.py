"""Rows of the model for what wrappers left of every process: `mpi_metrics` has what they are."""

from __future__ import annotations

from collections import Counter
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from gnomon.errors import FormatError
from gnomon.measurement.call_sites import CallSites, SiteKinds
from gnomon.measurement.totals_file import SUFFIX, TotalsFile, read_totals
from gnomon.model.capability_result import Collected
from gnomon.model.tables import (
    LOCATIONS,
    MESSAGES,
    METRICS,
    MODULES,
    PATHS,
    PROFILE,
    REGIONS,
    Table,
)
from gnomon.model.value import Domain, Scope
from gnomon.mpi import mpi_metrics
from gnomon.mpi.process_rows import MEASURES, ProcessRows, TableParts, overhead_ns, whole
from gnomon.symbols.code_frames import module_name
from gnomon.units import printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

_HELD_BYTES = 256 << 20
"""Files of no more together are read once; larger ones again for their rows."""
_ROWS_HELD = 100_000
_UNMEASURED = ".mpi.unmeasured"
_REASON_BYTES = 8192
_NAMED = 4
"""So many processes are named in a warning."""


def collect(folder: Path) -> Collected:
    """Return the calls of MPI that the processes of a run left in its staging folder.

    A file that cannot be read costs a warning, never the others. Those of a job are read one by
    one, and again for their rows where they are too large to be held.
    """
    paths = sorted(folder.glob(f"*.mpi{SUFFIX}"))
    is_held = sum(path.stat().st_size for path in paths if path.is_file()) <= _HELD_BYTES
    sites, facts, warnings = CallSites(_SITE_KINDS), Counter[str](), []
    processes: dict[tuple[str, int], list[_Process]] = {}
    for path in paths:
        try:
            file = read_totals(path)
        except (FormatError, OSError) as error:
            why = error.strerror if isinstance(error, OSError) else str(error)
            why = str(why).removeprefix(f"{path}: ")
            warnings.append(f"mpi: {path.name}: cannot be read: {why}")
            continue
        sites.add(file)
        facts.update(_facts(file))
        # Containers with numbers of processes of their own have one host's name.
        ranks = [] if file.rank < 0 else [(file.world, file.rank)]
        same_pid = processes.setdefault((file.host, file.pid), [])
        process = next((one for one in same_pid if not ranks or one.ranks in ([], ranks)), None)
        if process is None:
            process = _Process(file.host, file.pid)
            same_pid.append(process)
        process.add(file, is_held=is_held)
    missing = sites.resolve()
    ordered = sorted(chain(*processes.values()), key=lambda one: (one.rank, one.host, one.pid))
    if ordered:
        facts["processes"] = len(ordered)
    said = (*warnings, *_unmeasured(folder), *_notes(ordered))
    return Collected(_tables(ordered, sites), missing, said, dict(facts))


class _Process:
    """A process and its files: it leaves one for each program that it executes.

    Attributes:
        host: where it ran.
        pid: its number there.
        name: what it is called.
        rank: as MPI says, -1 where it was never up.
        world: what tells its MPI_COMM_WORLD from others.
        sends: it sent messages.
        peers: the ranks that it sent these to, as far as they are known.
        n_lost: records that there was no room for.
        is_finalized: MPI was up, and was finalized.
    """

    def __init__(self, host: str, pid: int) -> None:
        self.host, self.pid = host, pid
        self.name = ""
        self.rank = -1
        self.world = (False, "")
        self.sends = False
        self.peers = np.zeros(0, np.int32)
        self.n_lost = 0
        self.is_finalized = True
        self._files: list[Path | TotalsFile] = []

    def add(self, file: TotalsFile, *, is_held: bool) -> None:
        self._files.append(file if is_held else file.path)
        if file.rank >= 0:
            self.rank, self.world = file.rank, file.world
            self.is_finalized &= file.is_finalized
        self.name = file.name or self.name
        self.n_lost += file.lost
        peers = file.messages["peer"]
        self.sends |= len(peers) > 0
        self.peers = np.union1d(self.peers, peers[peers >= 0])

    @property
    def ranks(self) -> list[tuple[tuple[bool, str], int]]:
        """What it is in which world, none where MPI was never up."""
        return [(self.world, self.rank)] if self.rank >= 0 else []

    def files(self) -> Iterator[TotalsFile]:
        for file in self._files:
            yield file if isinstance(file, TotalsFile) else read_totals(file)


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
    lost = [one for one in processes if one.n_lost]
    if lost:
        n_lost = sum(one.n_lost for one in lost)
        yield f"mpi: of {_named(lost)} {n_lost:,} records are missing: the disk was full"
    early = [one for one in processes if not one.is_finalized]
    if early:
        yield f"mpi: {_named(early)} ended without MPI_Finalize: what was called until then is here"


def _named(processes: Sequence[_Process]) -> str:
    """Return ranks, or processes that have none, as text."""
    ranks = [one.rank for one in processes if one.rank >= 0]
    numbers = ranks or [one.pid for one in processes]
    names = ", ".join(map(str, numbers[:_NAMED]))
    more = f" and {len(numbers) - _NAMED} more" if len(numbers) > _NAMED else ""
    what = "rank" if ranks else "process"
    return f"{what}{'' if len(numbers) == 1 else 'es' if what == 'process' else 's'} {names}{more}"


# --- tables ---------------------------------------------------------------------------------------


def _tables(processes: Sequence[_Process], sites: CallSites) -> Iterator[Table]:
    if not processes:
        return
    ranks = _WorldRanks(processes)
    yield _locations(processes, ranks)
    yield Table(REGIONS, [(number, *region) for region, number in sites.regions.items()])
    tree = sites.paths
    yield Table.of(
        PATHS,
        {"path": np.arange(len(tree.parents)), "parent": tree.parents, "region": tree.regions},
    )
    yield _metrics()
    modules = [module for module in sites.modules if not module.path.startswith("[")]
    yield Table(MODULES, [(module_name(one.path), one.path, one.build_id) for one in modules])
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


def _metrics() -> Table:
    table = Table(METRICS)
    for number, measure in enumerate(MEASURES):
        table.add(
            metric=number,
            name=measure.name,
            unit=measure.unit,
            formula="",
            how=measure.how.value,
            component=mpi_metrics.COMPONENT,
            domain=Domain.ALL.value,
            scope=Scope.PROCESS.value,
            description=measure.description,
            aggregation=measure.aggregation.value,
            absent_is_zero=True,
            reproducible=False,
            dilated=False,
        )
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
