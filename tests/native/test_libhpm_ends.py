"""What libhpm leaves when programs fork, exit, execute others and are killed."""

from __future__ import annotations

import re
import signal
import subprocess
from pathlib import Path

import pytest
from hpm_programs import CLEAN, GNOMON, HELLO, compile_c, rows, run, value

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


LIBRARY = """
#include <stdio.h>
#include <unistd.h>
#include "libhpm.h"
int main(void)
{
	int one, two;

	hpmTerminateOnce();
	if (hpm_error_count || hpmNewID("a.c", 1) || hpm_error_count != 1)
		return 1;
	hpmInitOnce("first");
	hpmInitOnce("second");
	one = hpmNewID("a.c", 3);
	two = hpmNewID(NULL, 0);
	if (one != 1001 || two != 1002 || hpm_error_count != 1)
		return 2;
	hpmTstart(one, "one");
	hpmTstartx(two, one, "two");
	hpmTstop(two);
	hpmTstop(one);
	hpmTstart(1000, "chosen");
	hpmTstop(1000);
	if (hpm_error_count != 1)
		return 3;
	hpmTstart(1003, "nobody's");
	hpmTstop(1003);
	if (hpm_error_count != 3)
		return 4;
	hpmTerminateOnce();
	hpmTerminateOnce();
	if (hpm_error_count != 3 || hpmNewID("a.c", 9) || hpm_error_count != 4)
		return 5;
	_exit(0);
}
"""


def test_libraries_begin_and_end_without_the_program(tmp_path: Path) -> None:
    done = run(compile_c(tmp_path, LIBRARY), folder=tmp_path, **WANTED)
    assert "not initialised: hpmNewID: it comes before hpmInit" in done.stderr
    assert "already terminated: hpmNewID" in done.stderr
    table = rows(tmp_path / "first.csv")
    found = {(r["section"], r["label"], r["parent"], Path(r["file"]).name, r["line"])
             for r in table if r["section"]}  # fmt: skip
    assert found == {
        ("1001", "one", "", "a.c", "3"),
        ("1002", "two", "1001", "", ""),
        ("1000", "chosen", "", "", ""),
    }


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
            [program], cwd=tmp_path, env=CLEAN | WANTED, stdout=subprocess.PIPE
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


LIMITS = """
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include "libhpm.h"

int main(int argc, char **argv)
{
	const int which = !strcmp(argv[1], "files") ? RLIMIT_NOFILE : RLIMIT_FSIZE;
	const rlim_t most = which == RLIMIT_FSIZE ? 1 : 4;
	const struct rlimit none = {most, most};

	setrlimit(which, &none);
	hpmInit(0, "limits");
	hpmStart(1, "all");
	hpmTstart(2, "thread");
	hpmTstop(2);
	hpmStop(1);
	hpmTerminate(argc);
	return hpm_error_count > 0;
}
"""


@pytest.mark.parametrize(("limit", "said"), [("bytes", "File too large"), ("files", "open files")])
def test_limits_end_no_program(tmp_path: Path, limit: str, said: str) -> None:
    program = compile_c(tmp_path, LIMITS)
    done = run(program, limit, folder=tmp_path, status=1)
    assert said in done.stderr
    assert "output not written" in done.stderr


CLOSED = """
#include <unistd.h>
#include "libhpm.h"

int main(void)
{
	hpmInit(0, "moved");
	close(1);
	hpmStart(1, "all");
	hpmStop(1);
	hpmTerminate(0);
	return hpm_error_count;
}
"""


def test_a_closed_standard_output_costs_no_file(tmp_path: Path) -> None:
    program = compile_c(tmp_path, CLOSED)
    done = run(program, folder=tmp_path, HPM_STDOUT="yes")
    assert done.stderr.startswith("HPM WARNING - standard output was not written: Bad file desc")
    assert done.stderr.count("\n") == 1
    names = {file.name for file in tmp_path.iterdir()}
    assert names == {"prog", "prog.c", "moved.hpm", "moved.viz"}
    done = run(program, folder=tmp_path, status=1, HPM_STDOUT="yes", HPM_ASC_OUTPUT="no")
    assert "moved.hpmraw holds what was measured" in done.stderr


def test_the_output_is_where_the_program_began(tmp_path: Path) -> None:
    moved = CLOSED.replace("close(1)", 'chdir("elsewhere")')
    program = compile_c(tmp_path, moved)
    (tmp_path / "elsewhere").mkdir()
    run(program, folder=tmp_path)
    assert (tmp_path / "moved.hpm").exists()
    assert list((tmp_path / "elsewhere").iterdir()) == []


DAEMON = """
#include <unistd.h>
#include "libhpm.h"

int main(void)
{
	hpmInit(0, "daemon");
	if (fork())
		_exit(0);
	if (chdir("/"))
		return 9;
	hpmStart(2, "child's");
	hpmStop(2);
	hpmTerminate(0);
	return hpm_error_count;
}
"""


def test_so_is_that_of_a_child_that_went_elsewhere(tmp_path: Path) -> None:
    program = compile_c(tmp_path, DAEMON)
    # The child has the pipes: run() waits for its end, too.
    assert run(program, folder=tmp_path).stderr == ""
    assert len(list(tmp_path.glob("daemon_*.hpm"))) == 1


def test_a_file_that_another_process_wrote_meanwhile(tmp_path: Path) -> None:
    program = compile_c(tmp_path, HELLO.replace("hpmTerminate", 'system("./first"); hpmTerminate')
                        .replace("#include", "#include <stdlib.h>\n#include", 1))  # fmt: skip
    compile_c(tmp_path, HELLO, name="first")
    assert run(tmp_path / "first", folder=tmp_path).stderr == ""
    done = run(program, folder=tmp_path)
    assert done.stderr.startswith(f"HPM WARNING - {tmp_path}/hello.hpm, written by another")
    assert done.stderr.endswith("set HPM_UNIQUE_FILE_NAME=1\n")
    assert done.stderr.count("\n") == 1
    assert run(program, folder=tmp_path, HPM_UNIQUE_FILE_NAME="1").stderr == ""
