"""Sections of a Python program and of C code that it loads: one libhpm, one output."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from hpm_programs import options, rows, run
from python_programs import GETPPID, WANTED, python

pytestmark = pytest.mark.usefixtures("tracepoints")

LIBRARY = """
#include <sys/syscall.h>
#include <unistd.h>
#include "libhpm.h"
void work(int id, int n)
{
	hpmTstart(id, "in C");
	for (int i = 0; i < n; i++)
		syscall(SYS_getppid);
	hpmTstop(id);
}
void begin(void) { hpmInit(0, "from_c"); }
void end(void) { hpmTerminate(0); }
int errors(void) { return hpm_error_count; }
int once(void) { hpmInitOnce("late"); return hpmNewID("lib.c", 7); }
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a shared library with sections."""
    folder = tmp_path_factory.mktemp("library")
    (folder / "lib.c").write_text(LIBRARY)
    run("cc", "-Wall", "-Werror", "-D_GNU_SOURCE", "-fPIC", "-shared", "lib.c", "-o", "lib.so",
        *options("--cflags", "--libs"), folder=folder)  # fmt: skip
    return folder / "lib.so"


@pytest.mark.parametrize("first", ["C", "Python"])
def test_c_code_is_in_the_same_output(tmp_path: Path, library: Path, first: str) -> None:
    (tmp_path / "prog.py").write_text(
        "import ctypes, os, sys\n"
        "if sys.argv[2] == 'Python': from gnomon import hpm\n"
        "c = ctypes.CDLL(sys.argv[1])\n"
        "if sys.argv[2] == 'C': c.begin()\n"
        "from gnomon import hpm\n"
        "for turn in range(3):\n"
        "    with hpm.section('in Python'):\n"
        "        os.getppid()\n"
        "        c.work(1000, 10)\n"
        "        c.work(1, 100)\n"
        "assert c.errors() == hpm.hpm_error_count == 0\n"
        "assert c.once() == 1002\n"
        "c.work(1001, 1)\n"
        "c.work(1002, 1)\n"
        "c.work(1003, 1)\n"
        "assert c.errors() == hpm.hpm_error_count > 0\n"
    )
    done = run(sys.executable, "prog.py", library, first, folder=tmp_path, **WANTED)
    assert "hpmTstart(1003): sections are numbered from 1 to 1000" in done.stderr
    (file,) = tmp_path.glob("*.csv")
    assert file.name == ("from_c.csv" if first == "C" else "prog.csv")
    table = rows(file)
    found = {(int(r["section"]), r["parent"], r["exclusive"]): int(r["value"])
             for r in table if r["name"] == GETPPID}  # fmt: skip
    assert found == {
        (1001, "", "no"): 334, (1001, "", "yes"): 4,
        (1000, "1001", "no"): 30, (1000, "1001", "yes"): 30,
        (1, "1001", "no"): 300, (1, "1001", "yes"): 300,
        (1002, "", "no"): 1, (1002, "", "yes"): 1,
    }  # fmt: skip
    assert {row["file"] for row in table if row["section"] == "1002"} == {"lib.c"}


PLUGIN = """
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "hpm_agg.h"
int distributor(void) { return 0; }
int aggregator(int n, hpm_event_vector in, int *n_out, hpm_event_vector *out, int *print)
{
	hpm_event_vector made = calloc((size_t)n, sizeof(*made));

	memcpy(made, in, (size_t)n * sizeof(*made));
	*n_out = n;
	*out = made;
	*print = 1;
	while (access("go", F_OK))
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	return 0;
}
"""


def test_the_end_lets_other_threads_run(tmp_path: Path) -> None:
    """An aggregator that waits for a file, which another thread of Python makes."""
    (tmp_path / "plugin.c").write_text(PLUGIN)
    run("cc", "-D_GNU_SOURCE", "-fPIC", "-shared", "plugin.c", "-o", "plugin.so",
        *options("--cflags"), folder=tmp_path)  # fmt: skip
    text = """
import threading
ending = threading.Event()
def make():
    ending.wait()
    open("go", "w").close()
thread = threading.Thread(target=make)
thread.start()
with hpm.section("a"):
    pass
ending.set()
hpm.terminate()
thread.join()
hpm.check()
"""
    assert python(tmp_path, text, HPM_AGGREGATE=str(tmp_path / "plugin.so")) == ""
    assert (tmp_path / "prog.csv").exists()
