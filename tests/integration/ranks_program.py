"""A program with sections on four ranks of an MPI, whose counts are known, and its reports."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
from hpm_programs import options
from mpi import Job, Mpi, build, launch

EVENTS = {
    "GNOMON_EVENTS": "task-clock,page-faults",
    "HPM_ASC_OUTPUT": "yes",
    "HPM_CSV_OUTPUT": "yes",
}

# Rank r touches 100 (r + 1) pages in a section; what it is told makes it end in another way.
PROGRAM = r"""
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include "libhpm.h"

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	int rank;
	char *page;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	hpmInit(rank, "ranks");
	page = mmap(NULL, 4096 * 1000, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	madvise(page, 4096 * 1000, MADV_NOHUGEPAGE);
	hpmStart(1, "pages");
	for (int i = 0; i < 100 * (rank + 1); i++)
		page[i * 4096] = 1;
	hpmStop(1);
	if (rank == 2) {
		hpmStart(2, "only here");
		hpmStop(2);
	}
	if (rank == 1 && !strcmp(how, "forks")) {
		pid_t child = fork();

		if (!child) {
			hpmStart(3, "child");
			hpmStop(3);
			hpmTerminate(rank);
			_exit(0);
		}
		waitpid(child, NULL, 0);
	}
	/* A launcher may kill the others as soon as one has ended. */
	MPI_Barrier(MPI_COMM_WORLD);
	if (!strcmp(how, "finalize"))
		MPI_Finalize();
	if (rank == 3 && !strcmp(how, "never")) {
		MPI_Finalize();
		_exit(0);
	}
	hpmTerminate(rank);
	if (strcmp(how, "finalize"))
		MPI_Finalize();
	return hpm_error_count ? 3 : 0;
}
"""


class Programs:
    """The program for each MPI, compiled once."""

    def __init__(self, folder: Path) -> None:
        """Compile in a folder."""
        self._folder = folder
        self._made: dict[Mpi, Path] = {}

    def __getitem__(self, mpi: Mpi) -> Path:
        """Return the program, linked with libhpm and nothing of aggregators."""
        if mpi not in self._made:
            source = self._folder / "ranks.c"
            source.write_text(PROGRAM)
            flags = options("--cflags", "--libs")
            self._made[mpi] = build(mpi, source, self._folder, "-D_GNU_SOURCE", *flags)
        return self._made[mpi]


def rows(file: Path) -> list[dict[str, str]]:
    """Return the rows of a .csv file."""
    with file.open(newline="") as lines:
        return list(csv.DictReader(lines))


def one(table: list[dict[str, str]], name: str, section: str = "1") -> dict[str, str]:
    """Return the one row of a quantity."""
    (found,) = [row for row in table if row["section"] == section and row["name"] == name]
    return found


def reports(folder: Path) -> list[str]:
    """Return the names of the reports in a folder."""
    return sorted(file.name for file in folder.glob("*.csv"))


def start(mpi: Mpi, program: Path, folder: Path, plugin: str | Path, *words: str,
          status: int | None = 0, **more: str) -> Job:  # fmt: skip
    """Run the program on four ranks with a plug-in."""
    variables = EVENTS | {"HPM_AGGREGATE": str(plugin)} | more
    return launch(mpi, 4, program, *words, folder=folder, variables=variables, status=status)


PAGES = np.array([100, 200, 300, 400])
