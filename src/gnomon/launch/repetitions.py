"""Several executions of a program in one run: what each left, numbered."""

from __future__ import annotations

import os
from array import array
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gnomon.errors import GnomonError
from gnomon.launch.program_names import program_name
from gnomon.model.capability_result import Collected
from gnomon.model.tables import Table
from gnomon.store import table_merge
from gnomon.store.table_merge import RunRoot
from gnomon.store.table_set import TableSet

if TYPE_CHECKING:
    from gnomon.launch.capability import Capability
    from gnomon.launch.process_result import ObservedExecution

_FOLDER = "repetition."


def folder_of(folder: Path, number: int) -> Path:
    """Return the folder, in a staging folder, of what measures inside one execution."""
    own = folder / f"{_FOLDER}{number}"
    own.mkdir(mode=0o700, exist_ok=True)  # another rank's, too
    return own


def count(folder: Path) -> int:
    """Return how many executions a staging folder has folders of; 0 where there was to be one."""
    return len(list(folder.glob(f"{_FOLDER}*")))


def folders(folder: Path) -> list[Path]:
    """Return the folders of a staging folder's executions: itself where there was to be one."""
    several = count(folder)
    return [folder / f"{_FOLDER}{number}" for number in range(several)] if several else [folder]


def files_to_keep(capability: Capability, folder: Path) -> tuple[dict[str, Path], tuple[str, ...]]:
    """Return the files that a capability keeps in a run, by their paths there, and what failed.

    Args:
        capability: names the files of each execution.
        folder: the staging folder.
    """
    files: dict[str, Path] = {}
    complaints = []
    for own in folders(folder):
        place = capability.name if own == folder else f"{capability.name}/{own.name}"
        try:
            files |= {f"{place}/{name}": f for name, f in capability.files_to_keep(own).items()}
        except Exception as error:
            complaints.append(complaint(capability.name, "its files are not kept", error))
    return files, tuple(complaints)


def complaint(name: str, what: str, error: Exception) -> str:
    """Return a warning about a capability that failed."""
    said = str(error)
    if not isinstance(error, GnomonError | OSError):
        said = f"internal error: {type(error).__name__}: {said}; please report this bug"
    return f"{name}: {what}: {said.removeprefix(f'{name}: ')}"


def numbered(tables: Iterable[Table], number: int) -> Iterable[Table]:
    """Return the tables of one execution, with its number: as a tuple if they are one."""
    own = (
        table.replaced(repetition=array("i", [number]) * len(table))
        if any(column.name == "repetition" for column in table.schema.columns)
        else table
        for table in tables
    )
    return tuple(own) if isinstance(tables, tuple) else own


def join_executions(
    executions: Sequence[ObservedExecution], wanted: int, command: Sequence[str]
) -> ObservedExecution:
    """Return several executions as one; the first that failed says how it went.

    Args:
        executions: one or more.
        wanted: how many there should have been.
        command: what was run.
    """
    failed = next((each for each in executions if each.process.exit_status), executions[-1])
    results = [each.collected for each in executions]
    whole = joined_results(
        [result._replace(tables=numbered(result.tables, n)) for n, result in enumerate(results)],
        command,
    )
    if len(executions) < wanted:
        note = f"interrupted: {len(executions)} of {wanted} repetitions"
        whole = whole._replace(warnings=(*whole.warnings, note))
    last = executions[-1].process
    process = last._replace(exit_status=failed.process.exit_status, signal=failed.process.signal)
    return executions[-1]._replace(process=process, collected=whole)


def joined_results(
    results: Sequence[Collected], command: Sequence[str], names: Sequence[str] = ()
) -> Collected:
    """Return the tables of several capabilities or executions as one set.

    Args:
        results: of each.
        command: what was run.
        names: of the capabilities, for messages about their tables; none for executions.
    """
    sets = [result.tables for result in results if result.tables]
    notes: tuple[str, ...] = ()
    if len(sets) > 1:
        owners = [name for name, each in zip(names, results, strict=False) if each.tables]
        host = os.uname().nodename
        root = RunRoot(Path(program_name(command)).name, command[0], host, is_job=False)
        owners += [""] * (len(sets) - len(owners))
        merged = table_merge.merged(
            [TableSet(tuple(t), name=name) for t, name in zip(sets, owners, strict=True)], root
        )
        sets, notes = [merged.tables], merged.notes
    missing = {(one.event, one.reason): one for each in results for one in each.unavailable}
    warnings = dict.fromkeys([*(note for each in results for note in each.warnings), *notes])
    return Collected(sets[0] if sets else (), tuple(missing.values()), tuple(warnings))
