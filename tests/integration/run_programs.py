"""Programs with libhpm for `gnomon run`, and what their runs hold of sections."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from commands import gnomon
from hpm_programs import run as run_program

from gnomon.store import run_directory

EXAMPLES = Path(__file__).parents[2] / "examples"
GETPPID = "syscalls:sys_enter_getppid"
EVENTS = {"GNOMON_EVENTS": GETPPID}
RANKS = 4
LABEL = re.compile(r'f_hpm\w*start\w*\s*\(.*?["\']([^"\']+)["\']', re.IGNORECASE)
# Each rank makes 2 * (3 + rank) calls in 3 + rank starts of the inner section.
JOB = r"""
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>
#include "libhpm.h"
int main(int argc, char **argv)
{
	int rank;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	hpmInit(rank, "job");
	hpmStart(1, "outer");
	getppid();
	for (int i = 0; i < 3 + rank; i++) {
		hpmStart(2, "inner");
		getppid();
		getppid();
		hpmStop(2);
	}
	hpmStop(1);
	hpmTerminate(rank);
	printf("rank %d\n", rank);
	MPI_Finalize();
	return 0;
}
"""
WAITS = r"""
#include <stdio.h>
#include <unistd.h>
#include "libhpm.h"
int main(void)
{
	hpmInit(0, "waits");
	int done = hpmNewID(__FILE__, __LINE__);
	hpmStart(done, "done");
	getppid();
	hpmStop(done);
	hpmStart(2, "lost");
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}
"""


def flags() -> list[str]:
    """Return what a program with libhpm is compiled and linked with."""
    return gnomon("config", "--cflags", "--libs", "hpm").stdout.split()


def compiled(folder: Path, source: str) -> Path:
    """Return a program of C with libhpm."""
    file = folder / "program.c"
    file.write_text(source)
    made = folder / "program"
    run_program("cc", "-g", "-O1", "-o", str(made), str(file), *flags(), folder=folder)
    return made


def section_values(path: Path, metric: str) -> dict[str, list[tuple[Any, ...]]]:
    """Return (rank, inclusive, exclusive, calls) of each section, for each location."""
    found: dict[str, list[tuple[Any, ...]]] = {}
    for name, *values in run_directory.find(str(path)).query(
        "SELECT r.name, l.rank, p.inclusive, p.exclusive, p.calls FROM profile p "
        "JOIN locations l USING (location) JOIN paths USING (path) JOIN regions r USING (region) "
        f"JOIN metrics m USING (metric) WHERE m.name = '{metric}' AND paths.parent >= 0 "
        "ORDER BY l.rank, l.location"
    ):
        found.setdefault(name, []).append(tuple(values))
    return found
