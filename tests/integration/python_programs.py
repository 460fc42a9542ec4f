"""Python programs with sections: run, and what they counted. They work by calls of getppid."""

from __future__ import annotations

import sys
from pathlib import Path

from hpm_programs import run

GETPPID = "syscalls:sys_enter_getppid"
WANTED = {"GNOMON_EVENTS": GETPPID, "HPM_CSV_OUTPUT": "yes", "HPM_EXCLUSIVE_VALUES": "yes"}

Table = list[dict[str, str]]


def program(folder: Path, text: str) -> Path:
    """Return the file of a program, which has what every program with sections imports."""
    file = folder / "prog.py"
    file.write_text(f"import os, signal, sys\nfrom gnomon import hpm\n{text}")
    return file


def python(folder: Path, text: str, *arguments: str, status: int = 0, **variables: str) -> str:
    """Run a program and return what it said on stderr."""
    file = program(folder, text)
    done = run(sys.executable, file.name, *arguments, folder=folder, status=status,
               **WANTED | variables)  # fmt: skip
    return done.stderr


def counts(table: Table, *, exclusive: bool = False) -> dict[str, int]:
    """Return the counts of all sections by their labels; those of a label's threads added up."""
    found: dict[str, int] = {}
    for row in table:
        if row["name"] == GETPPID and row["exclusive"] == ("yes" if exclusive else "no"):
            found[row["label"]] = found.get(row["label"], 0) + int(row["value"])
    return found


def calls(table: Table) -> dict[str, int]:
    """Return how often sections were entered, by their labels."""
    return {row["label"]: int(row["calls"]) for row in table if row["name"] == GETPPID}
