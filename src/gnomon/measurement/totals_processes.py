"""The processes of a run that left files of totals in its staging folder."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, TypeVar

from gnomon.errors import FormatError
from gnomon.measurement.totals_file import SUFFIX, TotalsFile, read_totals
from gnomon.model.tables import REGIONS, Table
from gnomon.symbols.code_frames import module_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from gnomon.measurement.call_sites import CallSites

_HELD_BYTES = 256 << 20
"""Files of no more together are read once; larger ones again for their rows."""
_NAMED = 4
"""So many processes are named in a warning."""


class TotalsProcess:
    """A process and its files: it leaves one for each program that it executes.

    Attributes:
        host: where it ran.
        pid: its number there.
        name: what it is called.
        rank: as its files have it, -1 for none.
        world: what tells its MPI_COMM_WORLD from others.
        n_lost: records that there was no room for.
    """

    def __init__(self, host: str, pid: int) -> None:
        """Have no file yet."""
        self.host, self.pid = host, pid
        self.name = ""
        self.rank = -1
        self.world = (False, "")
        self.n_lost = 0
        self._files: list[Path | TotalsFile] = []

    def add(self, file: TotalsFile, *, is_held: bool) -> None:
        """Take in a file, or its place if it is not to be held."""
        self._files.append(file if is_held else file.path)
        if file.rank >= 0:
            self.rank, self.world = file.rank, file.world
        self.name = file.name or self.name
        self.n_lost += file.lost

    def may_have(self, file: TotalsFile) -> bool:
        """Return whether a file may be this process's, as far as ranks tell."""
        is_other = file.rank >= 0 and self.rank >= 0
        return not is_other or (file.world, file.rank) == (self.world, self.rank)

    def files(self) -> Iterator[TotalsFile]:
        """Yield its files."""
        for file in self._files:
            yield file if isinstance(file, TotalsFile) else read_totals(file)


_Process = TypeVar("_Process", bound=TotalsProcess)


def processes_of(
    folder: Path, capability: str, kind: type[_Process], look: Callable[[TotalsFile], None]
) -> tuple[list[_Process], list[str]]:
    """Return the processes, in the order of ranks, hosts and numbers, and warnings.

    A file that cannot be read costs a warning, never the others. Those of a job are read one by
    one, and again for their rows where they are too large to be held.

    Args:
        folder: the staging folder.
        capability: whose files.
        kind: of the processes.
        look: is called with every file.
    """
    paths = sorted(folder.glob(f"*.{capability}{SUFFIX}"))
    is_held = sum(path.stat().st_size for path in paths if path.is_file()) <= _HELD_BYTES
    processes: dict[tuple[str, int], list[_Process]] = {}
    warnings = []
    for path in paths:
        try:
            file = read_totals(path)
        except (FormatError, OSError) as error:
            why = error.strerror if isinstance(error, OSError) else str(error)
            why = str(why).removeprefix(f"{path}: ")
            warnings.append(f"{capability}: {path.name}: cannot be read: {why}")
            continue
        look(file)
        # Containers with numbers of processes of their own have one host's name.
        same_pid = processes.setdefault((file.host, file.pid), [])
        process = next((known for known in same_pid if known.may_have(file)), None)
        if process is None:
            process = kind(file.host, file.pid)
            same_pid.append(process)
        process.add(file, is_held=is_held)
    ordered = sorted(
        chain(*processes.values()),
        key=lambda process: (process.rank, process.host, process.pid),
    )
    return ordered, warnings


def notes(capability: str, processes: Sequence[TotalsProcess]) -> Iterator[str]:
    """Yield what is missing of processes."""
    lost = [process for process in processes if process.n_lost]
    if lost:
        n_lost = sum(process.n_lost for process in lost)
        yield (
            f"{capability}: of {names_of(lost)} {n_lost:,} records are missing: the disk was full"
        )


def names_of(processes: Sequence[TotalsProcess]) -> str:
    """Return ranks, or processes that have none, as text."""
    ranks = [process.rank for process in processes if process.rank >= 0]
    numbers = ranks or [process.pid for process in processes]
    names = ", ".join(map(str, numbers[:_NAMED]))
    more = f" and {len(numbers) - _NAMED} more" if len(numbers) > _NAMED else ""
    what = "rank" if ranks else "process"
    return f"{what}{'' if len(numbers) == 1 else 'es' if what == 'process' else 's'} {names}{more}"


def site_tables(sites: CallSites) -> Iterator[Table]:
    """Yield the tables of regions, paths and modules."""
    import numpy as np

    from gnomon.model.tables import MODULES, PATHS

    yield Table(REGIONS, [(number, *region) for region, number in sites.regions.items()])
    tree = sites.paths
    yield Table.of(
        PATHS,
        {"path": np.arange(len(tree.parents)), "parent": tree.parents, "region": tree.regions},
    )
    modules = [module for module in sites.modules if not module.path.startswith("[")]
    rows = [(module_name(module.path), module.path, module.build_id) for module in modules]
    yield Table(MODULES, rows)
