"""libhpm as its users meet it: C, Fortran and OpenMP programs, and what they leave."""

from __future__ import annotations

import csv
import math
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import gnomon
from tests.native.intervals import Model, notes_of

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "tests" / "native" / "sections"
PACKAGE = Path(gnomon.__path__[0])
GNOMON = Path(sys.executable).parent / "gnomon"
INCLUDE = PACKAGE / "include"
GFORTRAN = pytest.mark.skipif(
    shutil.which("gfortran") is None,
    reason="gfortran is not installed: run `make setup`, or install the package gfortran",
)

# Programs that count what they are told to, in a folder of their own.
_CLEAN = {
    name: value
    for name, value in os.environ.items()
    if not name.startswith(("HPM_", "GNOMON_", "OMPI_", "PMI_"))
}


def run(
    *command: str | Path, folder: Path, status: int | None = 0, **more: str
) -> subprocess.CompletedProcess[str]:
    """Run a command in a folder; fail with what it said if it ends otherwise than expected."""
    done = subprocess.run(
        command,
        cwd=folder,
        env=_CLEAN | more,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if status is not None and done.returncode != status:
        pytest.fail(f"{command[0]} returned {done.returncode}:\n{done.stdout}\n{done.stderr}")
    return done


def options(*wanted: str, library: str = "hpm") -> list[str]:
    """Return what `gnomon config` gives a compiler."""
    from gnomon.cli.config import _words, parser

    return _words(PACKAGE, parser().parse_args([*wanted, library]))


def compile_c(folder: Path, text: str, *more: str, name: str = "prog") -> Path:
    """Return the program made of a C source."""
    (folder / f"{name}.c").write_text(text)
    run("cc", "-O1", "-Wall", "-Werror", "-D_GNU_SOURCE", f"{name}.c", "-o", name, *more,
        *options("--cflags", "--libs"), folder=folder)  # fmt: skip
    return folder / name


def rows(file: Path) -> list[dict[str, str]]:
    """Return the rows of a .csv file."""
    with file.open(newline="") as lines:
        return list(csv.DictReader(lines))


def value(
    table: list[dict[str, str]], section: int, name: str, *, exclusive: bool = False
) -> float:
    """Return the one value of a section, NaN where it is not available."""
    found = [
        row["value"]
        for row in table
        if row["section"] == str(section)
        and row["name"] == name
        and row["exclusive"] == ("yes" if exclusive else "no")
    ]
    assert len(found) == 1, (section, name, exclusive, found)
    return float(found[0] or "nan")


def check_against_model(printed: str, table: list[dict[str, str]]) -> None:
    model = Model()
    model.play(notes_of(printed))
    assert len(model.numbers()) >= 8
    for number in model.numbers():
        for exclusive in (False, True):
            expected = model.expected(number, exclusive=exclusive)
            pages = value(table, number, "page-faults", exclusive=exclusive)
            wall_ns = 1e9 * value(table, number, "wall", exclusive=exclusive)
            # A section's first activation faults in what it is the first to need.
            assert expected.pages <= pages <= expected.pages + 40, (number, exclusive)
            # Two clocks, of which one is measured against the other.
            slack = 1000 + 0.01 * expected.most_ns
            assert expected.least_ns - slack <= wall_ns <= expected.most_ns + slack, (
                number, exclusive)  # fmt: skip
            starts = {row["calls"] for row in table if row["section"] == str(number)}
            assert starts == {str(expected.starts)}


COUNTED = {
    "GNOMON_EVENTS": "page-faults,task-clock",
    "HPM_EXCLUSIVE_VALUES": "yes",
    "HPM_CSV_OUTPUT": "yes",
}


@pytest.mark.parametrize("threads", ["1", "4"])
def test_an_openmp_program_measures_what_it_noted(tmp_path: Path, threads: str) -> None:
    run("cc", "-O1", "-fopenmp", "-D_GNU_SOURCE", SOURCES / "program.c", SOURCES / "trace.c",
        "-o", "program", *options("--cflags", "--libs"), folder=tmp_path)  # fmt: skip
    done = run("./program", threads, folder=tmp_path, **COUNTED)
    assert done.stderr == ""
    check_against_model(done.stdout, rows(tmp_path / "program.csv"))


@GFORTRAN
@pytest.mark.parametrize("source", ["include", "module"])
def test_a_fortran_program_measures_what_it_noted(tmp_path: Path, source: str) -> None:
    text = (SOURCES / "program.F90").read_text()
    files = ["program.F90"]
    if source == "module":
        text = text.replace('#include "f_hpm.h"\n', "").replace(
            "   implicit none\n", "   use f_hpm\n   implicit none\n", 1
        )
        files.insert(0, options("--fortran")[0])
    (tmp_path / "program.F90").write_text(text)
    run("cc", "-O1", "-D_GNU_SOURCE", "-c", SOURCES / "trace.c", folder=tmp_path)
    run("gfortran", "-O1", "-Wall", *files, "trace.o", "-o", "program",
        *options("--cflags", "--libs"), folder=tmp_path)  # fmt: skip
    done = run("./program", folder=tmp_path, **COUNTED)
    assert done.stderr == ""
    check_against_model(done.stdout, rows(tmp_path / "program.csv"))


@GFORTRAN
def test_f_hpm_h_is_fixed_form_too(tmp_path: Path) -> None:
    (tmp_path / "old.F").write_text(
        '      PROGRAM OLD\n      IMPLICIT NONE\n#include "f_hpm.h"\n'
        '      call f_hpminit( 0, "old" )\n'
        '      call f_hpmtstart( 2000, "too large" )\n'
        "      if (hpm_error_count .ne. 1) call exit(4)\n"
        "      if (.not. f_hpm_error()) call exit(5)\n"
        "      call f_hpmterminate( 0 )\n      END\n"
    )
    run("gfortran", "old.F", "-o", "old", *options("--cflags", "--libs"), folder=tmp_path)
    done = run("./old", folder=tmp_path)
    assert "Illegal instance id specified: f_hpmtstart(2000): " in done.stderr
    assert (tmp_path / "old.hpm").exists()


# --- what is exported, and what a compiler finds --------------------------------------------------


def symbols(library: Path, which: str) -> set[str]:
    lines = subprocess.run(
        ["nm", "-D", f"--{which}-only", "-P", library], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    return {line.split()[0].partition("@")[0] for line in lines}


def test_what_the_header_declares_is_exported_and_little_else(prefix: Path) -> None:
    header = (ROOT / "native" / "include" / "gnomon" / "libhpm.h").read_text()
    declared = set(re.findall(r"\b(hpm\w+)\(", header)) | {"hpm_error_count"}
    fortran = re.findall(r"\b(f_\w+)", (ROOT / "native" / "fortran" / "f_hpm.F90").read_text())
    for library in (prefix / "lib" / "libhpm.so.0", PACKAGE / "lib" / "libhpm.so.0"):
        found = symbols(library, "defined")
        c = {name for name in found if not name.startswith("f_")} - {"hpm_error_count_"}
        assert c == declared
        assert {f"{name}_" for name in fortran if name != "f_hpm"} <= found
        assert not symbols(library, "undefined") & {"printf", "puts", "signal", "sigaction"}


@pytest.mark.parametrize(
    "compiler", ["cc -std=c99", "c++ -xc++ -std=c++11", "c++ -xc++ -std=c++20"]
)
def test_the_headers_stand_alone_in_c_and_cpp(compiler: str, tmp_path: Path) -> None:
    for header in ("libhpm.h", "hpm_data.h", "hpm_agg.h"):
        user = tmp_path / "user.c"
        user.write_text(f'#include "{header}"\nint use(void);\nint use(void) {{ return 0; }}\n')
        run(*compiler.split(), "-Wall", "-Wextra", "-Werror", "-pedantic-errors", "-fsyntax-only",
            f"-I{INCLUDE / 'gnomon'}", user, folder=tmp_path)  # fmt: skip


HELLO = """
#include "libhpm.h"
int main(void)
{
	hpmInit(0, "hello");
	hpmTstart(1, "section");
	hpmTstop(1);
	hpmTerminate(0);
	return hpm_error_count;
}
"""


@pytest.mark.parametrize("place", ["installed", "wheel"])
@pytest.mark.parametrize("way", ["pkg-config", "cmake", "static"])
def test_programs_are_compiled_and_linked(
    prefix: Path, tmp_path: Path, place: str, way: str
) -> None:
    lib = prefix / "lib" if place == "installed" else PACKAGE / "lib"
    (tmp_path / "hello.c").write_text(HELLO)
    if way == "cmake":
        (tmp_path / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.22)\nproject(hello C)\n"
            "find_package(hpm 0.1 REQUIRED)\nadd_executable(shared hello.c)\n"
            "target_link_libraries(shared PRIVATE hpm::hpm)\nadd_executable(hello hello.c)\n"
            "target_link_libraries(hello PRIVATE hpm::hpm-static)\n"
            "if(NOT EXISTS ${hpm_FORTRAN_SOURCE})\n  message(FATAL_ERROR none)\nendif()\n"
        )
        run("cmake", "-B", "build", "-G", "Ninja", f"-Dhpm_DIR={lib / 'cmake' / 'hpm'}",
            folder=tmp_path)  # fmt: skip
        run("cmake", "--build", "build", folder=tmp_path)
        run("build/shared", folder=tmp_path)
        (tmp_path / "hello.hpm").unlink()
        run("build/hello", folder=tmp_path)
    else:
        found = {"PKG_CONFIG_PATH": str(lib / "pkgconfig")}
        words = ["--static"] if way == "static" else []
        flags = run("pkg-config", "--cflags", "--libs", *words, "hpm", folder=tmp_path, **found)
        given = flags.stdout.replace("-lhpm", "-l:libhpm.a") if words else flags.stdout
        run("cc", "hello.c", "-o", "hello", *given.split(), folder=tmp_path)
        run("./hello", folder=tmp_path, LD_LIBRARY_PATH=str(lib))
    assert "section 1" in (tmp_path / "hello.hpm").read_text()


def test_gnomon_config_compiles_and_links(tmp_path: Path) -> None:
    (tmp_path / "hello.c").write_text(HELLO)
    for more in ([], ["--static"]):
        words = run(GNOMON, "config", "--cflags", "--libs", *more, "hpm", folder=tmp_path)
        run("cc", "hello.c", "-o", "hello", *words.stdout.split(), folder=tmp_path)
        run("./hello", folder=tmp_path)
        (tmp_path / "hello.hpm").unlink()
    words = run(GNOMON, "config", "--cflags", "--libs", "gnomon", folder=tmp_path)
    (tmp_path / "sets.c").write_text(
        "#include <gnomon/gnomon.h>\nint main(void) { return gn_version() != GN_VERSION; }\n"
    )
    run("cc", "sets.c", "-o", "sets", *words.stdout.split(), folder=tmp_path)
    run("./sets", folder=tmp_path)
    refused = run(GNOMON, "config", "hpm", folder=tmp_path, status=2)
    assert "nothing is asked for; give --cflags" in refused.stderr


# --- fork, exec, exit, kill -----------------------------------------------------------------------

ENDS = """
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "libhpm.h"
#include "../pages.h"

int main(int argc, char **argv)
{
	const char *end = argc > 1 ? argv[1] : "";
	pid_t child = 0;

	hpmInit(0, "ends");
	hpmStart(1, "all");
	hpmTstart(2, "thread");
	touch(50);
	hpmTstop(2);
	if (!strcmp(end, "fork") || !strcmp(end, "fork-init") || !strcmp(end, "fork-silent"))
		child = fork();
	else
		child = -1;
	if (!child) {
		if (!strcmp(end, "fork-silent"))
			return 0;
		if (!strcmp(end, "fork-init"))
			hpmInit(0, "mine");
		hpmTstart(2, "child's");
		touch(7);
		hpmTstop(2);
		hpmStart(3, "child's");
		hpmStop(3);
		return hpm_error_count;
	}
	if (child > 0) {
		int status;

		if (waitpid(child, &status, 0) != child || status)
			return 9;
		touch(20);
	}
	hpmStop(1);
	hpmTstart(4, "open at the end");
	touch(30);
	fflush(NULL);
	if (!strcmp(end, "kill"))
		kill(getpid(), SIGKILL);
	if (!strcmp(end, "_exit"))
		_exit(0);
	if (!strcmp(end, "exec"))
		execlp("true", "true", (char *)NULL);
	return hpm_error_count;
}
"""

PAGES = """
#include <sys/mman.h>
static void touch(int n)
{
	volatile char *pages = mmap(0, (size_t)n * 4096, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	madvise((void *)pages, (size_t)n * 4096, MADV_NOHUGEPAGE);
	for (int i = 0; i < n; i++)
		pages[i * 4096] = 1;
}
"""


@pytest.fixture(scope="module")
def ends(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a program that ends as it is told to."""
    folder = tmp_path_factory.mktemp("ends")
    (folder / "pages.h").write_text(PAGES)
    return compile_c(folder, ENDS.replace("../pages.h", "pages.h"), name="ends")


WANTED = {"GNOMON_EVENTS": "page-faults", "HPM_CSV_OUTPUT": "yes"}


def check_complete(table: list[dict[str, str]]) -> None:
    assert 50 <= value(table, 2, "page-faults") <= 60
    assert value(table, 1, "page-faults") >= 50


def test_exit_writes_what_hpm_terminate_would_have(ends: Path, tmp_path: Path) -> None:
    assert run(ends, folder=tmp_path, **WANTED).stderr == ""
    table = rows(tmp_path / "ends.csv")
    check_complete(table)
    # What is active at the end is stopped then.
    assert value(table, 4, "page-faults") >= 30
    assert [file.name for file in tmp_path.iterdir()] == ["ends.csv"]


@pytest.mark.parametrize("end", ["kill", "_exit", "exec"])
def test_repair_writes_it_where_nobody_could(ends: Path, tmp_path: Path, end: str) -> None:
    run(ends, end, folder=tmp_path, status=-signal.SIGKILL if end == "kill" else 0, **WANTED)
    assert [file.name for file in tmp_path.iterdir()] == ["ends.hpmraw"]
    # The variables are those of the program, not those of now.
    assert run(GNOMON, "repair", "ends.hpmraw", folder=tmp_path).stdout == "./ends\n"
    assert sorted(file.name for file in tmp_path.iterdir()) == ["ends.csv", "ends.hpmraw"]
    table = rows(tmp_path / "ends.csv")
    check_complete(table)
    assert "4" not in {row["section"] for row in table}
    run(GNOMON, "repair", "-o", "other", "ends.hpmraw", folder=tmp_path)
    assert rows(tmp_path / "other.csv") == table


def test_repair_tells_what_is_lost(ends: Path, tmp_path: Path) -> None:
    run(ends, "kill", folder=tmp_path, status=-signal.SIGKILL, GNOMON_EVENTS="page-faults")
    run(GNOMON, "repair", "ends.hpmraw", folder=tmp_path)
    text = (tmp_path / "ends.hpm").read_text()
    assert "the program ended without hpmTerminate" in text
    assert "section 4 open at the end was active at the end" in text
    assert (tmp_path / "ends.viz").exists()


@pytest.mark.parametrize("end", ["fork", "fork-init", "fork-silent"])
def test_a_forked_child_begins_afresh(ends: Path, tmp_path: Path, end: str) -> None:
    done = run(ends, end, folder=tmp_path, **WANTED)
    assert done.stderr == ""
    names = {file.name for file in tmp_path.iterdir()}
    assert "ends.csv" in names
    table = rows(tmp_path / "ends.csv")
    check_complete(table)
    assert "3" not in {row["section"] for row in table}
    # The parent's section of all processes counts its child, too.
    assert value(table, 1, "page-faults") >= 70 + (0 if end == "fork-silent" else 7)
    if end == "fork-silent":
        assert names == {"ends.csv"}
        return
    mine = [name for name in names if re.fullmatch(r"(ends|mine)_\d+\.csv", name)]
    assert len(mine) == 1
    assert len(names) == 2
    theirs = rows(tmp_path / mine[0])
    assert 7 <= value(theirs, 2, "page-faults") <= 30
    assert {row["process"] for row in theirs} == {mine[0][5:-4]}


def test_a_raw_file_that_is_there_stays(ends: Path, tmp_path: Path) -> None:
    run(ends, "kill", folder=tmp_path, status=-signal.SIGKILL, **WANTED)
    before = (tmp_path / "ends.hpmraw").read_bytes()
    run(ends, "kill", folder=tmp_path, status=-signal.SIGKILL, **WANTED)
    assert (tmp_path / "ends.hpmraw").read_bytes() == before
    names = [file.name for file in tmp_path.iterdir() if file.name != "ends.hpmraw"]
    assert len(names) == 1
    assert re.fullmatch(r"ends_.+_\d+\.hpmraw", names[0])


LONG = """
#include <stdio.h>
#include "libhpm.h"
int main(void)
{
	hpmInit(0, "long");
	puts("ready");
	fflush(stdout);
	for (;;) {
		hpmTstart(1, "loop");
		hpmTstop(1);
	}
}
"""


def test_kills_at_any_moment_leave_a_whole_file(tmp_path: Path) -> None:
    program = compile_c(tmp_path, LONG)
    for turn in range(20):
        process = subprocess.Popen(
            [program], cwd=tmp_path, env=_CLEAN | WANTED, stdout=subprocess.PIPE
        )
        assert process.stdout
        process.stdout.readline()
        if not turn:
            refused = run(GNOMON, "repair", "long.hpmraw", folder=tmp_path, status=1)
            assert f"process {process.pid} still writes it; wait for its end" in refused.stderr
        process.kill()
        process.communicate()
        run(GNOMON, "repair", "long.hpmraw", folder=tmp_path)
        if (tmp_path / "long.csv").exists():
            table = rows(tmp_path / "long.csv")
            if any(row["section"] == "1" for row in table):
                assert value(table, 1, "page-faults") >= 0
        (tmp_path / "long.hpmraw").unlink()


# --- plug-ins -------------------------------------------------------------------------------------

PLUGIN = """
#include <stdlib.h>
#include <string.h>
#include "hpm_agg.h"

int distributor(void)
{
	return setenv("GNOMON_EVENTS", "page-faults", 1);
}

int aggregator(int num_in, hpm_event_vector in, int *num_out, hpm_event_vector *out, int *print)
{
	hpm_event_vector made = calloc((size_t)num_in, sizeof(*made));

	memcpy(made, in, (size_t)num_in * sizeof(*made));
	for (int i = 1; i < num_in; i++)
		made[i].label = (char *)"LABEL";
	*num_out = num_in;
	*out = made;
	*print = getenv("QUIET") == NULL;
	return getenv("FAIL") ? atoi(getenv("FAIL")) : 0;
}
"""


@pytest.fixture(scope="module")
def plugin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a plug-in and of programs with and without it."""
    folder = tmp_path_factory.mktemp("plugin")
    (folder / "plugin.c").write_text(PLUGIN)
    (folder / "hello.c").write_text(HELLO)
    flags = options("--cflags")
    run("cc", "-fPIC", "-shared", "plugin.c", "-o", "plugin.so", *flags, folder=folder)
    run("cc", "hello.c", "-o", "hello", *flags, *options("--libs"), folder=folder)
    run("cc", "hello.c", "plugin.c", "-o", "linked", *flags, *options("--libs"), folder=folder)
    run("cc", "hello.c", "plugin.c", "-o", "static", *flags, *options("--libs", "--static"),
        folder=folder)  # fmt: skip
    return folder


@pytest.mark.parametrize("program", ["hello", "linked", "static"])
def test_plug_ins(plugin: Path, tmp_path: Path, program: str) -> None:
    # That of a program that is linked with one goes before.
    named = "plugin.so" if program == "hello" else "not_there.so"
    name = {"HPM_AGGREGATE": str(plugin / named), "HPM_CSV_OUTPUT": "yes"}
    done = run(plugin / program, folder=tmp_path, GNOMON_EVENTS="task-clock", **name)
    assert done.stderr == ""
    table = rows(tmp_path / "hello.csv")
    assert {row["label"] for row in table if row["section"]} == {"LABEL"}
    # The distributor goes before the environment.
    assert {row["name"] for row in table if row["kind"] == "event"} == {"page-faults"}
    (tmp_path / "hello.csv").unlink()
    run(plugin / program, folder=tmp_path, QUIET="1", **name)
    assert list(tmp_path.iterdir()) == []
    done = run(plugin / program, folder=tmp_path, FAIL="12", status=1, **name)
    assert "HPM ERROR - the aggregator failed: Cannot allocate memory; " in done.stderr
    assert {row["label"] for row in rows(tmp_path / "hello.csv") if row["section"]} == {"section"}


def test_a_plug_in_that_is_not_there(plugin: Path, tmp_path: Path) -> None:
    done = run(plugin / "hello", folder=tmp_path, status=1, HPM_AGGREGATE="not_there.so")
    assert done.stderr.startswith("HPM ERROR - Dynamic link error at dlopen():\nnot_there.so: ")
    assert (tmp_path / "hello.hpm").exists()


# --- variables ------------------------------------------------------------------------------------


def test_overhead_is_printed_and_warned_of(tmp_path: Path) -> None:
    program = compile_c(tmp_path, HELLO)
    run(program, folder=tmp_path, GNOMON_EVENTS="page-faults")
    text = (tmp_path / "hello.hpm").read_text()
    assert re.search(r"overhead .* of the wall time", text)
    assert "WARNING" in text


GROUPS = HELLO.replace("hpmTstop(1);", 'hpmTstop(1);\n\thpmStart(2, "all");\n\thpmStop(2);')


def test_several_groups_are_several_items(tmp_path: Path) -> None:
    program = compile_c(tmp_path, GROUPS)
    run(program, folder=tmp_path, HPM_EVENT_SET="SCHED,PAGEFAULTS", HPM_CSV_OUTPUT="yes",
        GNOMON_EVENTS="task-clock")  # fmt: skip
    table = rows(tmp_path / "hello.csv")
    groups = {row["group"] for row in table if row["section"] == "1"}
    assert len(groups) == 3
    assert "task-clock" in groups
    for row in table:
        if row["kind"] == "event" and row["name"] in ("page-faults", "context-switches"):
            assert not math.isnan(float(row["value"]))


@pytest.mark.parametrize("asked", ["yes", "Yeah", "1", "no", "0", ""])
def test_exclusive_values_are_for_who_asks(tmp_path: Path, asked: str) -> None:
    program = compile_c(tmp_path, HELLO)
    run(program, folder=tmp_path, HPM_EXCLUSIVE_VALUES=asked, HPM_CSV_OUTPUT="1")
    found = {row["exclusive"] for row in rows(tmp_path / "hello.csv") if row["section"]}
    assert found == ({"no", "yes"} if asked in ("yes", "Yeah", "1") else {"no"})


def test_no_sections_at_all_is_an_output_too(tmp_path: Path) -> None:
    program = compile_c(
        tmp_path,
        '#include "libhpm.h"\nint main(void) { hpmInit(0, "none"); hpmTerminate(0); return 0; }\n',
    )
    assert run(program, folder=tmp_path).stderr == ""
    assert {"none.hpm", "none.viz"} <= {file.name for file in tmp_path.iterdir()}
