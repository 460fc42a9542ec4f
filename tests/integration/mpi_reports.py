"""Jobs of known work under hpmcount and with libhpm's sections, and the reports that they leave."""

from __future__ import annotations

import csv
import sys
from collections.abc import Mapping
from pathlib import Path

from commands import GNOMON, HPMCOUNT, run
from mpi import Job, Mpi, build, launch, python

PROGRAMS = Path(__file__).parents[1] / "programs" / "mpi"
CALLS = "syscalls:sys_enter_getsid"
EVENTS = f"task-clock,page-faults,{CALLS}"
# A job's tasks wait for one that never comes; the tests know which that are.
PATIENCE = {"HPM_AGGREGATE_TIMEOUT": "20"}

Row = dict[str, str]


def calls_of(task: int) -> int:
    """Return how often known.c calls getsid on a task."""
    return 1000 * (task + 1)


class Known:
    """The programs of known work, compiled when they are first asked for."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._flags = run(GNOMON, "config", "--cflags", "--libs", "hpm").stdout.split()
        self._made: dict[tuple[Mpi, str, bool], Path] = {}

    def program(self, mpi: Mpi, source: str, marked: bool) -> Path:
        """Return known.c or known.F90, compiled; `marked` with libhpm's sections."""
        key = (mpi, source, marked)
        if key not in self._made:
            folder = self._folder / ("marked" if marked else "plain") / Path(source).suffix[1:]
            folder.mkdir(parents=True, exist_ok=True)
            flags = ["-DWITH_HPM", *self._flags] if marked else []
            self._made[key] = build(mpi, PROGRAMS / source, folder, *flags)
        return self._made[key]

    def command(self, mpi: Mpi, language: str, marked: bool) -> tuple[list[str], dict[str, str]]:
        """Return the words of a program in a language, and the variables it needs."""
        if language == "python":
            words = [sys.executable, str(PROGRAMS / "known.py")]
            return words + ["hpm"] * marked, python(mpi, self._folder)
        source = {"c": "known.c", "fortran": "known.F90"}[language]
        return [str(self.program(mpi, source, marked))], {}


def counted(
    known: Known,
    mpi: Mpi,
    folder: Path,
    plugin: str,
    *,
    ranks: int = 4,
    language: str = "c",
    options: tuple[str, ...] = ("-e", EVENTS),
    unique: bool = True,
    status: int | None = 0,
    variables: Mapping[str, str] | None = None,
) -> Job:
    """Return a job under `hpmcount -a plugin`, which leaves r*.csv and r*.hpm in the folder."""
    words, needed = known.command(mpi, language, marked=False)
    given = {"HPM_CSV_OUTPUT": "1", "HPM_ASC_OUTPUT": "1"} | PATIENCE | needed
    command = [HPMCOUNT, "-n", *["-u"] * unique, "-o", "r", "-a", plugin, *options, *words]
    return launch(
        mpi, ranks, *command, folder=folder, status=status, variables=given | dict(variables or {})
    )


def marked(
    known: Known,
    mpi: Mpi,
    folder: Path,
    plugin: str,
    *,
    ranks: int = 4,
    language: str = "c",
    unique: bool = True,
    status: int | None = 0,
    variables: Mapping[str, str] | None = None,
) -> Job:
    """Return a job with sections and HPM_AGGREGATE, which leaves r*.csv and r*.hpm."""
    words, needed = known.command(mpi, language, marked=True)
    given = {
        "HPM_CSV_OUTPUT": "1",
        "HPM_ASC_OUTPUT": "1",
        "HPM_OUTPUT_NAME": "r",
        "HPM_UNIQUE_FILE_NAME": "yes" if unique else "no",
        "HPM_AGGREGATE": plugin,
        "GNOMON_EVENTS": EVENTS,
    }
    given |= PATIENCE | needed | dict(variables or {})
    return launch(mpi, ranks, *words, folder=folder, status=status, variables=given)


def tables(folder: Path) -> list[list[Row]]:
    """Return the tables of all reports in a folder, by file name."""
    found = []
    for file in sorted(folder.glob("*.csv")):
        with file.open(newline="", encoding="utf-8") as lines:
            found.append(list(csv.DictReader(lines, strict=True)))
    return found


def texts(folder: Path) -> list[str]:
    """Return the texts of all reports in a folder, by file name."""
    return [file.read_text() for file in sorted(folder.glob("*.hpm"))]


def of_event(table: list[Row], name: str = CALLS, label: str = "") -> Row:
    """Return an event's row: of the section with that label, or of the program ("")."""
    found = [
        row
        for row in table
        if row["kind"] == "event" and row["name"] == name and label in ("", row["label"])
    ]
    assert len(found) == 1, f"{name} has {len(found)} rows"
    return found[0]


def time_of(table: list[Row], name: str = "wall", label: str = "") -> Row:
    """Return a time's row."""
    found = [
        row
        for row in table
        if row["kind"] == "time" and row["name"] == name and label in ("", row["label"])
    ]
    assert len(found) == 1, f"{name} has {len(found)} rows"
    return found[0]
