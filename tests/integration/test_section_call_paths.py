"""Values of sections by the call paths that start them: `gnomon run --sections-call-paths`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from commands import gnomon
from hpm_programs import run as run_program
from mpi import OPEN_MPI, build, environment
from run_programs import EVENTS, GETPPID, compiled, flags

from gnomon.store import run_directory
from gnomon.store.run import Run

# `even` and `odd` have frames of one size and call the same; each thread has a number of its own.
SOURCE = r"""
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
#include "libhpm.h"
#define APART __attribute__((noinline, noclone))
#define AFTER __asm__ volatile("")
static APART void work(int number, int calls)
{
	hpmTstart(number, "work");
	for (int i = 0; i < calls; i++)
		getppid();
	hpmTstop(number);
}
static APART void middle(int number, int calls) { work(number, calls); AFTER; }
static APART void even(int number) { middle(number, 2); AFTER; }
static APART void odd(int number) { middle(number, 3); AFTER; }
static APART void deeper(int number, int depth)
{
	if (depth)
		deeper(number, depth - 1);
	else
		work(number, 5);
	AFTER;
}
static void *thread(void *number)
{
	even(*(int *)number);
	hpmStart(1, "all");
	getppid();
	hpmStop(1);
	return NULL;
}
int main(void)
{
	int numbers[] = {20, 30};
	pthread_t other;

	hpmInit(0, "paths");
	hpmStart(1, "all");
	for (int i = 0; i < 10; i++)
		i % 2 ? odd(10) : even(10);
	deeper(10, 1);
	deeper(10, 2);
	hpmStop(1);
	for (int i = 0; i < 2; i++) {
		pthread_create(&other, NULL, thread, &numbers[i]);
		pthread_join(other, NULL);
	}
	END
}
"""
PYTHON = """\
import os
from gnomon import hpm


@hpm.section
def decorated():
    os.getppid()


def work(calls):
    with hpm.section("work"):
        for _ in range(calls):
            os.getppid()


def first():
    work(2)


def second():
    hpm.hpmTstart(1, "numbered")
    work(3)
    hpm.hpmTstop(1)
    decorated()


for _ in range(4):
    first()
    second()
"""


def run_of(folder: Path, *command: str | Path, status: int = 0) -> Run:
    """Return the run of a program that counts calls of getppid, by call paths."""
    done = gnomon("run", "--name", "r", "--sections-call-paths", "--", *command, cwd=folder,
                  env=os.environ | EVENTS)  # fmt: skip
    assert done.returncode == status, done.stderr
    return run_directory.find(str(folder / "r.gnomon"))


def values(
    opened: Run, outside: tuple[str, ...] = ()
) -> dict[tuple[str, ...], list[tuple[Any, ...]]]:
    """Return (inclusive, exclusive, calls) of each location by the functions that lead to it.

    Functions that the C library and the loader call are left out, and those given.
    """
    kinds = {region: (kind, name, module) for region, kind, name, module in opened.query(
        "SELECT region, kind, name, module FROM regions")}  # fmt: skip
    above = {path: (parent, region) for path, parent, region in opened.query(
        "SELECT path, parent, region FROM paths")}  # fmt: skip
    found: dict[tuple[str, ...], list[tuple[Any, ...]]] = {}
    for path, *numbers in opened.query(
        "SELECT path, inclusive, exclusive, calls FROM profile JOIN metrics m USING (metric) "
        f"JOIN paths p USING (path) JOIN regions r USING (region) WHERE m.name = '{GETPPID}' "
        "AND r.kind = 'hpm' AND p.parent >= 0 ORDER BY location"
    ):
        names: list[str] = []
        while above[path][0] >= 0:
            _, name, module = kinds[above[path][1]]
            if not module.startswith(("libc.so", "ld-linux")) and name not in ("_start", *outside):
                names.insert(0, name)
            path = above[path][0]
        found.setdefault(tuple(names), []).append(tuple(numbers))
    return found


def test_each_path_of_a_c_program_has_its_own_values(tmp_path: Path) -> None:
    program = compiled(tmp_path, SOURCE.replace("END", "hpmTerminate(0); return 0;"))
    opened = run_of(tmp_path, program)
    work = {
        ("main", "even", "middle", "work", "work"): [(10, 10, 5)],
        ("main", "odd", "middle", "work", "work"): [(15, 15, 5)],
        ("main", "deeper", "deeper", "work", "work"): [(5, 5, 1)],
        ("main", "deeper", "deeper", "deeper", "work", "work"): [(5, 5, 1)],
        ("thread", "even", "middle", "work", "work"): [(2, 2, 1), (2, 2, 1)],
    }
    assert values(opened) == work | {
        # Both threads come from one place, and one after the other.
        ("main", "all"): [(35, 0, 1)],
        ("thread", "all"): [(2, 2, 2)],
    }
    lines = SOURCE.splitlines()
    of_regions = opened.query("SELECT name, line FROM regions WHERE kind = 'hpm' AND line > 0")
    assert {lines[line - 1].strip() for name, line in of_regions if name == "work"} == {
        'hpmTstart(number, "work");'
    }
    # The files that libhpm writes itself have one of each section.
    text = (tmp_path / "paths.hpm").read_text()
    assert [text.count(f"\nsection {number}  ") for number in (1, 10, 20, 30)] == [1, 1, 1, 1]


def test_a_killed_program_keeps_its_paths(tmp_path: Path) -> None:
    program = compiled(tmp_path, SOURCE.replace("END", "_exit(3);"))
    found = values(run_of(tmp_path, program, status=3))
    assert found["main", "odd", "middle", "work", "work"] == [(15, 15, 5)]
    assert found["thread", "all"] == [(2, 2, 2)]
    # What an aggregator or a report gets of it is each section once.
    done = gnomon("repair", "paths.hpmraw", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "paths.hpm").read_text().count("\nsection 10  ") == 1


def test_without_the_option_values_are_of_sections(tmp_path: Path) -> None:
    program = compiled(tmp_path, SOURCE.replace("END", "hpmTerminate(0); return 0;"))
    done = gnomon("run", "--name", "r", "--", program, cwd=tmp_path, env=os.environ | EVENTS)
    assert done.returncode == 0, done.stderr
    found = values(run_directory.find(str(tmp_path / "r.gnomon")))
    assert found["all", "work"] == [(35, 35, 12)]


def test_each_line_of_python_has_its_own_values(tmp_path: Path) -> None:
    script = tmp_path / "program.py"
    script.write_text(PYTHON)
    found = values(run_of(tmp_path, sys.executable, script), ("<module>",))
    assert found == {
        ("first", "work", "work"): [(8, 8, 4)],
        ("second", "work", "work"): [(12, 12, 4)],
        ("second", "numbered"): [(12, 0, 4)],
        ("second", "Section.__call__.<locals>.counted", "decorated"): [(4, 4, 4)],
    }


def test_more_places_than_there_is_room_for_lose_no_count(tmp_path: Path) -> None:
    source = r"""
#include <unistd.h>
#include "libhpm.h"
static __attribute__((noinline)) void down(int depth)
{
	if (depth)
		down(depth - 1);
	else {
		hpmTstart(1, "deep");
		getppid();
		hpmTstop(1);
	}
	__asm__ volatile("");
}
int main(void)
{
	hpmInit(0, "deep");
	/* Beyond 512 frames the stacks are the same again. */
	for (int depth = 0; depth < 400; depth++)
		for (int i = 0; i < 2; i++)
			down(depth);
	hpmTerminate(0);
	return 0;
}
"""
    found = values(run_of(tmp_path, compiled(tmp_path, source)))
    assert sum(one[0][0] for one in found.values()) == 800
    assert len(found) == 400


def test_the_variable_alone_does_it_in_a_run(tmp_path: Path) -> None:
    program = compiled(tmp_path, SOURCE.replace("END", "hpmTerminate(0); return 0;"))
    done = gnomon("run", "--name", "r", "--", program, cwd=tmp_path,
                  env=os.environ | EVENTS | {"HPM_CALL_PATHS": "yes"})  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = values(run_directory.find(str(tmp_path / "r.gnomon")))
    assert found["main", "even", "middle", "work", "work"] == [(10, 10, 5)]
    # Without `gnomon run` there is nobody who wants them.
    (tmp_path / "alone").mkdir()
    alone = subprocess.run([program], cwd=tmp_path / "alone", check=True, capture_output=True,
                           env=os.environ | {"HPM_CALL_PATHS": "yes"})  # fmt: skip
    assert alone.stderr == b""


def test_sections_and_calls_of_mpi_are_in_one_tree(tmp_path: Path) -> None:
    source = tmp_path / "tree.c"
    source.write_text(r"""
#include <mpi.h>
#include "libhpm.h"
static __attribute__((noinline)) void step(int rank)
{
	hpmTstart(1, "step");
	MPI_Bcast(&rank, 1, MPI_INT, 0, MPI_COMM_WORLD);
	hpmTstop(1);
}
int main(int argc, char **argv)
{
	int rank;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	hpmInit(rank, "tree");
	for (int i = 0; i < 7; i++)
		step(rank);
	hpmTerminate(rank);
	return MPI_Finalize();
}
""")
    program = build(OPEN_MPI, source, tmp_path, *flags())
    done = gnomon(
        "run", "--name", "r", "--sections-call-paths", "--", OPEN_MPI.command("mpirun"), "-n", "2",
        program, cwd=tmp_path, env=environment(OPEN_MPI) | EVENTS,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    opened = run_directory.find(str(tmp_path / "r.gnomon"))
    rows = opened.query(
        "SELECT r.kind, r.name, above.name, above.file = r.file, q.parent, sum(v.calls) "
        "FROM profile v JOIN metrics m USING (metric) JOIN paths p USING (path) "
        "JOIN regions r USING (region) JOIN paths q ON q.path = p.parent "
        "JOIN regions above ON above.region = q.region "
        "WHERE (r.name = 'step' AND m.name = 'wall time') "
        "OR (r.name = 'MPI_Bcast' AND m.name = 'MPI time') GROUP BY ALL ORDER BY 1"
    )
    # Both below a line of the same function, which one path leads to.
    assert [row[:4] for row in rows] == [
        ("hpm", "step", "step", True), ("mpi", "MPI_Bcast", "step", True),
    ]  # fmt: skip
    assert rows[0][4] == rows[1][4]
    assert [row[5] for row in rows] == [14, 14]


def test_fortran_subroutines_lead_to_a_section(tmp_path: Path) -> None:
    source = tmp_path / "paths.F90"
    source.write_text("""\
program paths
   use f_hpm
   implicit none
   integer :: i
   call f_hpminit(0, "paths")
   do i = 1, 4
      call one()
      call two()
   end do
   call f_hpmterminate(0)
contains
   subroutine one()
      call work(2)
   end subroutine one
   subroutine two()
      call work(3)
   end subroutine two
   subroutine work(n)
      integer, intent(in) :: n
      integer :: again, parent
      interface
         function getppid() bind(C)
            use iso_c_binding, only: c_int
            integer(c_int) :: getppid
         end function getppid
      end interface
      call f_hpmtstart(1, "work")
      do again = 1, n
         parent = getppid()
      end do
      call f_hpmtstop(1)
   end subroutine work
end program paths
""")
    module = gnomon("config", "--fortran", "hpm").stdout.strip()
    run_program("gfortran", "-O0", "-g", "-o", "paths", module, str(source), *flags(),
                folder=tmp_path)  # fmt: skip
    found = values(run_of(tmp_path, tmp_path / "paths"))
    assert found == {
        ("main", "paths", "one", "work", "work"): [(8, 8, 4)],
        ("main", "paths", "two", "work", "work"): [(12, 12, 4)],
    }
