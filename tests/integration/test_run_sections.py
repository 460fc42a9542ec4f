"""What `gnomon run` adds to sections: exclusive values, and the lines where they start."""

from __future__ import annotations

import csv
import json
import os
import re
import sys
from pathlib import Path

import pytest
from commands import gnomon, run
from hpm_programs import run as run_program
from run_programs import EVENTS, EXAMPLES, GETPPID, WAITS, compiled, flags, section_values

from gnomon.store import run_directory

# f is in itself, through g; two threads nest, too; a section of all threads is around them.
NESTED = r"""
#include <pthread.h>
#include <unistd.h>
#include "libhpm.h"
#define TIMES(n) for (int i = 0; i < (n); i++)
static void f(int depth);
static void g(int depth)
{
	hpmTstart(3, "g");
	TIMES(10)
		getppid();
	f(depth - 1);
	hpmTstop(3);
}
static void f(int depth)
{
	hpmTstart(2, "f");
	getppid();
	if (depth)
		g(depth);
	hpmTstop(2);
}
static void *thread(void *number)
{
	const int base = *(int *)number;
	hpmTstart(base, "on a thread");
	TIMES(base)
		getppid();
	TIMES(3) {
		hpmTstart(base + 1, "within");
		getppid();
		hpmTstop(base + 1);
	}
	hpmTstop(base);
	return NULL;
}
int main(void)
{
	pthread_t made[2];
	int numbers[] = {20, 30};
	hpmInit(0, "nested");
	hpmStart(1, "everything");
	getppid();
	TIMES(2)
		pthread_create(&made[i], NULL, thread, &numbers[i]);
	TIMES(2)
		pthread_join(made[i], NULL);
	hpmStart(4, "calls");
	hpmTstart(5, "once more");
	f(3);
	hpmTstop(5);
	hpmStop(4);
	hpmStop(1);
	hpmTerminate(0);
	return 0;
}
"""
FORTRAN = """\
program nested
   use f_hpm
   implicit none
   integer :: i
   call f_hpminit(0, "nested")
   call f_hpmtstart(1, "outer")
   do i = 1, 3
      call f_hpmtstart(2, "inner")
      call system_calls(i)
      call f_hpmtstop(2)
   end do
   call system_calls(5)
   call f_hpmtstop(1)
   call f_hpmterminate(0)
contains
   subroutine system_calls(n)
      integer, intent(in) :: n
      integer :: at, parent
      interface
         function getppid() bind(C)
            use iso_c_binding, only: c_int
            integer(c_int) :: getppid
         end function getppid
      end interface
      do at = 1, n
         parent = getppid()
      end do
   end subroutine system_calls
end program nested
"""
PYTHON = """\
import os
from gnomon import hpm


@hpm.section
def f(depth):
    os.getppid()
    with hpm.section("g"):
        os.getppid()
        if depth:
            f(depth - 1)


hpm.hpmInit(0, "nested")
hpm.hpmTstart(1, "guide's")
f(3)
hpm.hpmTstop(1)
hpm.hpmTerminate(0)
"""


def started(tmp_path: Path, *command: str | Path, **variables: str) -> run_directory.Run:
    """Return the run of a program that counts calls of getppid."""
    done = gnomon("run", "--name", "r", "--", *command, cwd=tmp_path,
                  env=os.environ | EVENTS | variables)  # fmt: skip
    assert done.returncode == 0, done.stderr
    return run_directory.find(str(tmp_path / "r.gnomon"))


def check_sums(opened: run_directory.Run) -> int:
    """Check that each section's values are its own and its parts'; return how many have parts.

    Parts of threads in a section of all threads have their times at once.
    """
    rows = opened.query(
        "SELECT location, metric, path, p.parent, inclusive, exclusive, m.name "
        "FROM profile JOIN paths p USING (path) JOIN metrics m USING (metric) "
        f"WHERE p.parent >= 0 AND m.formula = '' AND m.name IN ('wall time', '{GETPPID}')"
    )
    process_of = dict(opened.query("SELECT location, parent FROM locations WHERE kind = 'thread'"))
    there = {(location, metric, path) for location, metric, path, *_ in rows}
    parts: dict[tuple[int, int, int], float] = {}
    at_once: dict[tuple[int, int, int], list[float]] = {}
    for location, metric, _, parent, inclusive, *_ in rows:
        key = (location, metric, parent)
        if key in there:
            parts[key] = parts.get(key, 0) + inclusive
        else:
            key = (process_of.get(location, location), metric, parent)
            at_once.setdefault(key, []).append(inclusive)
    with_parts = 0
    for location, metric, path, _, inclusive, exclusive, name in rows:
        key = (location, metric, path)
        total = exclusive + parts.get(key, 0)
        if name == GETPPID:
            assert total + sum(at_once.get(key, [])) == inclusive
        elif key in at_once:
            assert total + max(at_once[key]) <= inclusive + 2
        else:
            assert total == pytest.approx(inclusive, rel=1e-9, abs=2)
        assert 0 <= exclusive <= inclusive
        with_parts += key in parts or key in at_once
    return with_parts


def lines_of(opened: run_directory.Run) -> dict[str, tuple[str, int]]:
    rows = opened.query("SELECT name, file, line FROM regions WHERE region > 0 AND kind = 'hpm'")
    return {name: (file, line) for name, file, line in rows}


def numbers_of(source: str) -> dict[str, int]:
    """Return the line of each label that is a section's."""
    start = re.compile(r"hpmT?start\w*\(\s*\w[^,]*, \"([^\"]+)\"", re.IGNORECASE)
    return {
        match[1]: at
        for at, line in enumerate(source.splitlines(), 1)
        if (match := start.search(line))
    }


def test_parts_of_a_c_program_add_up(tmp_path: Path) -> None:
    program = compiled(tmp_path, NESTED)
    opened = started(tmp_path, program)
    assert check_sums(opened) == 2 * 6
    assert section_values(opened.path, GETPPID) == {
        "everything": [(-1, 91, 1, 1)],
        "calls": [(-1, 34, 0, 1)],
        "once more": [(-1, 34, 0, 1)],
        "f": [(-1, 34, 1, 4)],
        "on a thread": [(-1, 23, 20, 1), (-1, 33, 30, 1)],
        "within": [(-1, 3, 3, 3), (-1, 3, 3, 3)],
        "g": [(-1, 33, 33, 3)],
    }
    wanted = {name: (str(tmp_path / "program.c"), at) for name, at in numbers_of(NESTED).items()}
    assert {name: place for name, place in lines_of(opened).items() if name in wanted} == wanted


def test_threads_sections_stand_below_that_of_all_threads_around_them(tmp_path: Path) -> None:
    counted = {"GNOMON_EVENTS": f"{GETPPID},task-clock"}
    opened = started(tmp_path, compiled(tmp_path, NESTED), **counted)
    names = {
        path: (parent, name)
        for path, parent, name in opened.query(
            "SELECT path, parent, name FROM paths JOIN regions USING (region)"
        )
    }

    def above(path: int) -> list[str]:
        parent, name = names[path]
        return [*(above(parent) if parent >= 0 else []), name]

    found = {tuple(above(path)[1:]) for path in names}
    assert ("everything", "on a thread", "within") in found
    assert ("everything", "calls", "once more", "f") in found
    ((task_clock, alone),) = opened.query(
        "SELECT SUM(inclusive) FILTER (WHERE path = 0 AND location = 0), "
        "SUM(exclusive) FILTER (WHERE path <> 0 OR location = 0) "
        "FROM profile JOIN metrics m USING (metric) WHERE m.name = 'task-clock'"
    )
    # Nothing is in two of them.
    assert alone == pytest.approx(task_clock, rel=1e-6)
    asked = ("profile", "--by", "region", "-e", "task-clock")
    shown = gnomon("report", str(opened.path), *asked, cwd=tmp_path).stdout
    shares = [float(line.split()[0]) for line in shown.splitlines() if " % " in line]
    assert len(shares) == 8
    assert sum(shares) == pytest.approx(100, abs=0.5)
    exported = gnomon("export", "--to", "speedscope", str(opened.path), cwd=tmp_path).stdout
    profiles = {one["name"]: one["endValue"] for one in json.loads(exported)["profiles"]}
    assert profiles["task-clock (counted)"] == pytest.approx(task_clock, rel=1e-6)
    wall = opened.head["wall_seconds"] * 1e9
    assert 0 < profiles["wall time (counted, max of threads)"] <= 1.001 * wall


def test_threads_of_a_section_of_all_are_counted_as_without_a_run(tmp_path: Path) -> None:
    """The kernel exchanged counts of libhpm's events with those of `gnomon run`."""
    waits = "for (int i = 0; i < 1000; i++) { getppid(); if (i % 10 == 0) usleep(10); }"
    program = compiled(
        tmp_path,
        "#include <pthread.h>\n#include <unistd.h>\n"
        f'#include "libhpm.h"\nstatic void *work(void *none)\n{{\n\t{waits}\n\treturn none;\n}}\n'
        'int main(void)\n{\n\tpthread_t made[4];\n\thpmInit(0, "all");\n\thpmStart(1, "all");\n'
        "\tfor (int i = 0; i < 4; i++)\n\t\tpthread_create(&made[i], NULL, work, NULL);\n"
        "\twork(NULL);\n\tfor (int i = 0; i < 4; i++)\n\t\tpthread_join(made[i], NULL);\n"
        "\thpmStop(1);\n\thpmTerminate(0);\n\treturn 0;\n}\n",
    )
    opened = started(tmp_path, program)
    assert section_values(opened.path, GETPPID) == {"all": [(-1, 5000, 5000, 1)]}
    (times,) = opened.query(
        "SELECT enabled_ns, running_ns FROM profile JOIN metrics m USING (metric) "
        f"WHERE m.name = '{GETPPID}'"
    )
    assert times[0] == times[1] > 0


def test_a_fortran_program(tmp_path: Path) -> None:
    source = tmp_path / "nested.f90"
    source.write_text(FORTRAN)
    module = gnomon("config", "--fortran", "hpm").stdout.strip()
    run_program("gfortran", "-O2", "-g", "-o", "nested", module, str(source), *flags(),
                folder=tmp_path)  # fmt: skip
    opened = started(tmp_path, tmp_path / "nested")
    assert check_sums(opened) == 2
    assert section_values(opened.path, GETPPID) == {
        "outer": [(-1, 11, 5, 1)], "inner": [(-1, 6, 6, 3)],
    }  # fmt: skip
    assert lines_of(opened) == {
        name: (str(source), at) for name, at in numbers_of(FORTRAN).items()
    }  # fmt: skip


def test_a_python_program(tmp_path: Path) -> None:
    source = tmp_path / "nested.py"
    source.write_text(PYTHON)
    opened = started(tmp_path, sys.executable, source)
    assert check_sums(opened) == 2 * 2
    assert section_values(opened.path, GETPPID) == {
        "guide's": [(-1, 8, 0, 1)], "f": [(-1, 8, 1, 4)], "g": [(-1, 7, 7, 4)],
    }  # fmt: skip
    at = PYTHON.splitlines().index
    assert lines_of(opened) == {
        "guide's": (str(source), at('hpm.hpmTstart(1, "guide\'s")') + 1),
        "f": (str(source), at("@hpm.section") + 1),
        "g": (str(source), at('    with hpm.section("g"):') + 1),
    }


@pytest.mark.parametrize(
    ("example", "compiler"), [("hpm-c/relax.c", "cc"), ("hpm-fortran/heat.F90", "gfortran")]
)
def test_the_examples_have_lines_and_sums(tmp_path: Path, example: str, compiler: str) -> None:
    source = EXAMPLES / example
    more = gnomon("config", "--cflags", "--libs", "hpm").stdout.split()
    run_program(compiler, "-O2", "-g", "-fopenmp", "-o", "made", str(source), *more, "-lm",
                folder=tmp_path)  # fmt: skip
    words = ("100", "3") if compiler == "cc" else ()
    opened = started(tmp_path, tmp_path / "made", *words, OMP_NUM_THREADS="2")
    assert check_sums(opened) > 0
    text = source.read_text().splitlines()
    for name, (file, line) in lines_of(opened).items():
        assert (Path(file).name, name in text[line - 1]) == (source.name, True), (name, line)


def items_of(name: str, text: str) -> list[str]:
    """Return what a result file has of which sections, without the numbers."""
    if name.endswith(".csv"):
        return [f"{row['section']} {row['exclusive']}" for row in csv.DictReader(text.splitlines())]
    begins = "<section" if name.endswith(".viz") else ("section", "[", "file")
    lines = [line.strip() for line in text.splitlines()]
    # Columns are as wide as their numbers.
    return [re.sub(r" {2,}", "  ", re.sub(r"\d+", "#", line))
            for line in lines if line.startswith(begins)]  # fmt: skip


@pytest.mark.parametrize("exclusive", [None, "yes", "no"])
def test_what_the_program_writes_is_as_it_was(tmp_path: Path, exclusive: str | None) -> None:
    asks = NESTED.replace('hpmTstart(3, "g")', 'hpmTstartx(3, HPM_ONLY_EXCLUSIVE, "g")')
    program = compiled(tmp_path, asks)
    variables = EVENTS | {f"HPM_{kind}_OUTPUT": "yes" for kind in ("ASC", "VIZ", "CSV")}
    if exclusive:
        variables["HPM_EXCLUSIVE_VALUES"] = exclusive
    names = ("nested.hpm", "nested.viz", "nested.csv")
    alone = run(program, cwd=tmp_path, env=os.environ | variables)
    before = {name: (tmp_path / name).read_text() for name in names}
    done = gnomon("run", "--name", "r", "--", program, cwd=tmp_path, env=os.environ | variables)
    assert (done.returncode, done.stdout) == (0, alone.stdout)
    for name, text in before.items():
        after = (tmp_path / name).read_text()
        assert items_of(name, after) == items_of(name, text), name
        assert len(items_of(name, text)) > 8
    kept = section_values(tmp_path / "r.gnomon", GETPPID)
    if exclusive == "no":
        assert kept["f"] == [(-1, 34, None, 4)]
    else:
        assert kept["f"][0][2] is not None
    assert kept["g"] == [(-1, 33, 33, 3)]


def test_without_debug_information_the_run_says_why_there_are_no_lines(tmp_path: Path) -> None:
    (tmp_path / "program.c").write_text(NESTED)
    run_program("cc", "-O2", "-s", "-o", "program", "program.c", *flags(), folder=tmp_path)
    opened = started(tmp_path, tmp_path / "program")
    assert set(lines_of(opened).values()) == {("", 0)}
    missing = [one for one in opened.head["unavailable"] if one["event"] == "lines of sections"]
    assert [(one["reason"], one["remedy"]) for one in missing] == [
        ("7 starts in program: it has no line numbers of them", "compile that with -g")
    ]


def test_a_library_that_a_position_independent_or_static_program_loads(tmp_path: Path) -> None:
    (tmp_path / "part.c").write_text(
        '#include "libhpm.h"\nvoid part(void)\n{\n\thpmStart(7, "part");\n\thpmStop(7);\n}\n'
    )
    (tmp_path / "main.c").write_text(
        '#include "libhpm.h"\nvoid part(void);\nint main(void)\n{\n\thpmInit(0, "main");\n'
        '\thpmStart(1, "main");\n\tpart();\n\thpmStop(1);\n\thpmTerminate(0);\n}\n'
    )
    wanted = {
        "main": (str(tmp_path / "main.c"), 6), "part": (str(tmp_path / "part.c"), 4),
    }  # fmt: skip
    run_program("cc", "-g", "-fPIC", "-shared", "-o", "libpart.so", "part.c", *flags(),
                folder=tmp_path)  # fmt: skip
    static = gnomon("config", "--cflags", "--libs", "--static", "hpm").stdout.split()
    ways = {
        "dynamic": ("-pie", "main.c", "-L.", "-lpart", "-Wl,-rpath,$ORIGIN", *flags()),
        "fixed": ("-no-pie", "main.c", "part.c", *flags()),
        "static": ("main.c", "part.c", *static),
    }
    for name, words in ways.items():
        run_program("cc", "-g", "-O1", "-o", name, *words, folder=tmp_path)
        done = gnomon("run", "--name", f"r-{name}", "--", tmp_path / name, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert lines_of(run_directory.find(str(tmp_path / f"r-{name}.gnomon"))) == wanted, name


def test_plain_uses_of_the_names_compile_as_before(tmp_path: Path) -> None:
    """Addresses, own prototypes and qualified names, which a macro would break."""
    (tmp_path / "uses.cpp").write_text(
        '#include "libhpm.h"\nextern "C" void hpmStart(int, const char *);\n'
        "struct Timer { void hpmStart(int id) { ::hpmStart(id, __func__); } };\n"
        'int main()\n{\n\tvoid (*start)(int, const char *) = &hpmStart;\n\thpmInit(0, "uses");\n'
        '\tstart(1, "by address");\n\thpmStop(1);\n\tTimer().hpmStart(2);\n\t::hpmStop(2);\n'
        "\thpmTerminate(0);\n}\n"
    )
    run_program("c++", "-g", "-o", "uses", "uses.cpp", *flags(), folder=tmp_path)
    opened = started(tmp_path, tmp_path / "uses")
    file = str(tmp_path / "uses.cpp")
    assert lines_of(opened) == {"by address": (file, 8), "hpmStart": (file, 3)}


def test_a_killed_program_has_both(tmp_path: Path) -> None:
    ends = NESTED.replace("hpmTerminate(0);", "kill(getpid(), SIGKILL);")
    program = compiled(tmp_path, "#include <signal.h>\n" + ends)
    done = gnomon("run", "--name", "k", "--", program, cwd=tmp_path, env=os.environ | EVENTS)
    assert done.returncode == -9
    opened = run_directory.find(str(tmp_path / "k.gnomon"))
    assert check_sums(opened) == 2 * 6
    assert lines_of(opened)["calls"][0] == str(tmp_path / "program.c")
    # What repair writes for the user has what the user asked for.
    repaired = gnomon("repair", "nested.hpmraw", cwd=tmp_path)
    assert repaired.returncode == 0, repaired.stderr
    assert "[exclusive values]" not in (tmp_path / "nested.hpm").read_text()


def test_a_section_below_two_others_is_said(tmp_path: Path) -> None:
    program = compiled(
        tmp_path,
        WAITS.partition("int main")[0]
        + 'int main(void)\n{\n\thpmInit(0, "two");\n\tfor (int id = 1; id < 3; id++) {\n'
        '\t\thpmTstart(id, id == 1 ? "first" : "second");\n\t\thpmTstart(3, "part");\n'
        "\t\tusleep(id == 1 ? 500000 : 1);\n\t\thpmTstop(3);\n\t\thpmTstop(id);\n\t}\n"
        "\thpmTerminate(0);\n\treturn 0;\n}\n",
    )
    (said,) = (
        one for one in started(tmp_path, program).head["warnings"] if "sections within" in one
    )
    assert said.startswith("sections within 'second' come to more than it: ")


def test_report_and_view_show_the_lines(tmp_path: Path) -> None:
    opened = started(tmp_path, compiled(tmp_path, NESTED))
    shown = gnomon("report", str(opened.path), "regions", cwd=tmp_path)
    assert f"program.c:{numbers_of(NESTED)['calls']}" in shown.stdout
