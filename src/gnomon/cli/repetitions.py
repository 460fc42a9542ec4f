"""Several executions of a program in one run: what each left, numbered."""

from __future__ import annotations

import os
from array import array
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gnomon.launch.program_names import program_name
from gnomon.model.collected import Collected, Ended
from gnomon.model.tables import PROFILE, Table
from gnomon.store import assembly

if TYPE_CHECKING:
    from gnomon.capabilities import Inside

_FOLDER = "repetition."


def folder_of(folder: Path, number: int) -> Path:
    """Return the folder, in a raw folder, of what measures inside one execution."""
    own = folder / f"{_FOLDER}{number}"
    own.mkdir(mode=0o700, exist_ok=True)  # another rank's, too
    return own


def count(folder: Path) -> int:
    """Return how many executions a raw folder has folders of; 0 where there was to be one."""
    return len(list(folder.glob(f"{_FOLDER}*")))


def collected(one: Inside, folder: Path) -> list[Collected]:
    """Return what a capability left in a raw folder, of each execution."""
    several = count(folder)
    if not several:
        return [one.collect(folder)]
    found = []
    for number in range(several):
        left = one.collect(folder / f"{_FOLDER}{number}")
        found.append(left._replace(tables=numbered(left.tables, number)))
    return found


def numbered(tables: Sequence[Table], number: int) -> tuple[Table, ...]:
    """Return the tables of one execution, with its number."""
    return tuple(
        table.replaced(repetition=array("i", [number]) * len(table))
        if table.schema is PROFILE
        else table
        for table in tables
    )


def joined(executions: Sequence[Ended], wanted: int, command: Sequence[str]) -> Ended:
    """Return several executions as one; the first that failed says how it went.

    Args:
        executions: one or more.
        wanted: how many there should have been.
        command: what was run.
    """
    last = executions[-1]
    failed = next((one for one in executions if one.exit_status), last)
    sets = [numbered(one.collected.tables, n) for n, one in enumerate(executions)]
    whole = assembly.assembled(
        sets, program=Path(program_name(command)).name, module=command[0],
        host=os.uname().nodename, job=False,
    )  # fmt: skip
    missing = {(one.event, one.reason): one for each in executions
               for one in each.collected.unavailable}  # fmt: skip
    warnings = [note for one in executions for note in one.collected.warnings]
    if len(executions) < wanted:
        warnings.append(f"interrupted: {len(executions)} of {wanted} repetitions")
    return last._replace(
        exit_status=failed.exit_status,
        signal=failed.signal,
        collected=Collected(whole, tuple(missing.values()), tuple(dict.fromkeys(warnings))),
    )
