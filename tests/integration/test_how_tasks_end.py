"""What is left of each task of a job, however one of them ends: the table in mpi-jobs.md."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from commands import GNOMON, HPMCOUNT, run
from mpi import BOTH, MPICH, OPEN_MPI, Mpi, build, environment, launch, settled
from turns import made_once

PAGE = Path(__file__).parents[2] / "docs" / "hpm" / "mpi-jobs.md"
RANKS, CULPRIT = 4, 1
# Without it the tasks would write one file, each over the other's.
UNIQUE = {"HPM_UNIQUE_FILE_NAME": "yes"}
SOURCE = """
#include <libhpm.h>
#include <mpi.h>
#include <signal.h>
#include <stdlib.h>
int main(int n, char **words)
{
	const int how = atoi(words[1]);
	volatile double sum = 0;
	int task;
	MPI_Init(&n, &words);
	MPI_Comm_rank(MPI_COMM_WORLD, &task);
	if (MARKS) {
		hpmInit(task, "ends");
		hpmStart(1, "work");
	}
	for (int i = 0; i < 1000000; i++)
		sum += i;
	if (MARKS)
		hpmStop(1);
	MPI_Barrier(MPI_COMM_WORLD);
	if (task == 1) {
		if (how == 1 || how == 2)
			exit(how == 1 ? 0 : 3);
		if (how == 3 || how == 4)
			raise(how == 3 ? SIGSEGV : SIGKILL);
		if (how == 5)
			MPI_Abort(MPI_COMM_WORLD, 5);
	}
	MPI_Barrier(MPI_COMM_WORLD);
	if (MARKS)
		hpmTerminate(task);
	MPI_Finalize();
	return 0;
}
"""
# By the number that the program is given.
ENDS = (
    "after `MPI_Finalize`",
    "`exit(0)`, `STOP` before it",
    "`exit(3)` before it",
    "SIGSEGV",
    "SIGKILL",
    "`MPI_Abort`",
)
COLUMNS = (
    "`hpmcount`", "`hpmcount -a`", "sections", "sections, `HPM_AGGREGATE`", "`mpirun gnomon run`",
    "`gnomon run mpirun`",
)  # fmt: skip
# Each MPI's own way to end a job over a task, once; a whole row of the table takes half a minute.
EXAMPLES = ((OPEN_MPI, 3), (MPICH, 5))


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[Mpi, bool], Path]:
    """Return the program of each MPI, without sections and with them."""
    flags = run(GNOMON, "config", "--cflags", "--libs", "hpm").stdout.split()

    def make(folder: Path) -> None:
        for mpi in BOTH:
            for name in ("plain", "marks"):
                source = folder / f"{name}.c"
                source.write_text(SOURCE)
                build(mpi, source, folder, f"-DMARKS={int(name == 'marks')}", *flags)

    folder = made_once(tmp_path_factory.getbasetemp(), "how-tasks-end", make)
    return {
        (mpi, marks): folder / f"{'marks' if marks else 'plain'}.{mpi}"
        for mpi in BOTH
        for marks in (False, True)
    }


def tasks_in(text: str) -> int:
    """Return over how many tasks a report of all is."""
    found = re.search(r"statistics over (\d+) tasks?:", text)
    assert found, text
    return int(found[1])


def counted(mpi: Mpi, program: Path, how: int, folder: Path, *options: str) -> list[str]:
    launch(mpi, RANKS, HPMCOUNT, "-n", "-o", "r", *options, "-e", "task-clock", program, str(how),
           folder=folder, status=None, limit_s=200)  # fmt: skip
    return settled(folder)


def of_hpmcount(mpi: Mpi, program: Path, how: int, folder: Path) -> str:
    return f"{len(counted(mpi, program, how, folder, '-u'))} reports"


def of_aggregation(mpi: Mpi, program: Path, how: int, folder: Path) -> str:
    names = counted(mpi, program, how, folder, "-a", "statistics")
    whole = f"one of {tasks_in((folder / 'r.hpm').read_text())}"
    return f"{whole}, one of the task" if f"r_{CULPRIT}.hpm" in names else whole


def of_sections(mpi: Mpi, program: Path, how: int, folder: Path, **variables: str) -> str:
    launch(mpi, RANKS, program, str(how), folder=folder, status=None, limit_s=200,
           variables={"HPM_OUTPUT_NAME": "r", **(variables or UNIQUE)})  # fmt: skip
    names = settled(folder)
    raws = [name for name in names if name.endswith(".hpmraw")]
    reports = [name for name in names if name.endswith(".hpm")]
    if raws:
        repaired = run(GNOMON, "repair", "-a", "statistics", *raws, cwd=folder)
        whole = (
            f"{RANKS} tasks" if len(raws) == RANKS else f"{len(raws)} task{'s'[: len(raws) != 1]}"
        )
        assert f"files of {whole}]" in repaired.stdout, repaired.stdout + repaired.stderr
    return ", ".join(
        f"{len(found)} {what}{'s'[: len(found) != 1]}"
        for found, what in ((reports, "report"), (raws, "raw file"))
        if found
    )


def of_aggregated_sections(mpi: Mpi, program: Path, how: int, folder: Path) -> str:
    return of_sections(mpi, program, how, folder, HPM_AGGREGATE="statistics")


def of_runs_inside(mpi: Mpi, program: Path, how: int, folder: Path) -> str:
    launch(mpi, RANKS, GNOMON, "run", "--name", "r", "--", program, str(how), folder=folder,
           status=None, limit_s=200)  # fmt: skip
    return of_run(folder)


def of_run_outside(mpi: Mpi, program: Path, how: int, folder: Path) -> str:
    words = [mpi.command("mpirun"), *(["--oversubscribe"] if mpi is OPEN_MPI else [])]
    run(GNOMON, "run", "--name", "r", "--", *words, "-n", str(RANKS), program, str(how),
        cwd=folder, env=environment(mpi))  # fmt: skip
    return of_run(folder)


def of_run(folder: Path) -> str:
    names = settled(folder)
    assert "r.gnomon" in names, names
    told = json.loads(run(GNOMON, "report", "r", "locations", "--json", cwd=folder).stdout)
    ranks = {place["rank"] for place in told["rows"]} - {-1, None}
    return f"{len(ranks)} ranks"


WAYS: tuple[Callable[[Mpi, Path, int, Path], str], ...] = (
    of_hpmcount, of_aggregation, of_sections, of_aggregated_sections, of_runs_inside,
    of_run_outside,
)  # fmt: skip


def row(mpi: Mpi, how: int, programs: dict[tuple[Mpi, bool], Path], folder: Path) -> str:
    """Return the line of the table for one MPI and one end."""
    cells = []
    for way in WAYS:
        own = folder / f"{way.__name__}.{mpi}.{how}"
        own.mkdir()
        marks = way not in (of_hpmcount, of_aggregation)
        cells.append(way(mpi, programs[mpi, marks], how, own))
    name = "Open MPI" if mpi is OPEN_MPI else "MPICH"
    return f"| {ENDS[how]} | {name} | {' | '.join(cells)} |"


def head() -> list[str]:
    return [f"| task 1 ends | MPI | {' | '.join(COLUMNS)} |", "|---" * (len(COLUMNS) + 2) + "|"]


def table() -> list[str]:
    lines = PAGE.read_text().splitlines()
    begin = lines.index(head()[0])
    return lines[begin : lines.index("", begin)]


@pytest.mark.parametrize(("mpi", "how"), EXAMPLES, ids=["openmpi-SIGSEGV", "mpich-MPI_Abort"])
def test_what_is_left(
    mpi: Mpi, how: int, programs: dict[tuple[Mpi, bool], Path], tmp_path: Path
) -> None:
    assert row(mpi, how, programs, tmp_path) in table()


@pytest.mark.long
def test_the_table(programs: dict[tuple[Mpi, bool], Path], tmp_path: Path) -> None:
    made = head()
    made += [row(mpi, how, programs, tmp_path) for how in range(len(ENDS)) for mpi in BOTH]
    if os.environ.get("GNOMON_UPDATE_GOLDEN"):
        text = PAGE.read_text()
        PAGE.write_text(text.replace("\n".join(table()), "\n".join(made)))
    assert table() == made, "if meant: GNOMON_UPDATE_GOLDEN=1, and read the difference"
