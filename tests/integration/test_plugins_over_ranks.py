"""Instrumented programs on four ranks of each MPI with every shipped aggregator, and a user's."""

from __future__ import annotations

import csv
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hpm_programs import ROOT, options, run
from mpi import BOTH, Job, Mpi, build, launch

OVER_TASKS = ("average", "minimum", "maximum", "statistics", "histogram", "history")
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


@pytest.fixture(scope="module", params=BOTH, ids=str)
def mpi(request: pytest.FixtureRequest) -> Mpi:
    """Return each MPI."""
    chosen = request.param
    assert isinstance(chosen, Mpi)
    return chosen


@pytest.fixture(scope="module")
def program(mpi: Mpi, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the program, linked with libhpm and nothing of aggregators."""
    folder = tmp_path_factory.mktemp(f"ranks-{mpi}")
    (folder / "ranks.c").write_text(PROGRAM)
    return build(mpi, folder / "ranks.c", folder, "-D_GNU_SOURCE", "-DOMPI_SKIP_MPICXX",
                 *options("--cflags", "--libs"))  # fmt: skip


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    """Fail if a job leaves its directory in the temporary folder."""
    before = set(Path("/tmp").glob("gnomon-*"))
    yield
    assert set(Path("/tmp").glob("gnomon-*")) <= before


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


@pytest.mark.parametrize("how", ["", "finalize"])
@pytest.mark.parametrize("plugin", OVER_TASKS)
def test_one_report_of_four_ranks(
    mpi: Mpi, program: Path, tmp_path: Path, plugin: str, how: str
) -> None:
    done = start(mpi, program, tmp_path, plugin, how)
    assert "HPM" not in done.err
    assert reports(tmp_path) == ["ranks.csv"]
    table = rows(tmp_path / "ranks.csv")
    row = one(table, "page-faults")
    wanted = {"minimum": 100, "maximum": 400}.get(plugin, 250)
    assert float(row["value"]) == wanted
    assert (row["tasks"], row["task_count"]) == ("0-3", "4")
    if plugin == "history":
        assert (row["with_value"], row["minimum"], row["maximum"]) == ("1", "250", "250")
    else:
        found = [row[name] for name in ("with_value", "minimum", "minimum_task", "maximum")]
        assert found == ["4", "100", "0", "400"]
        assert row["maximum_task"] == "3"
    deviation = float(row["deviation"]) if row["deviation"] else None
    assert deviation == (pytest.approx(PAGES.std(ddof=1)) if plugin == "statistics" else None)
    bins = row["bins"].split()
    assert bins == (["1", "0", "0", "1", "0", "0", "1", "0", "0", "1"] * (plugin == "histogram"))
    # Of a section that one rank alone has, and of resource usage.
    alone = one(table, "page-faults", "2")
    assert (alone["tasks"], alone["task_count"], alone["label"]) == ("2", "1", "only here")
    usage = [row for row in table if row["kind"] == "usage" and row["name"] == "ru_minflt"]
    assert len(usage) == 1
    text = (tmp_path / "ranks.hpm").read_text()
    word = "average" if plugin == "history" else plugin
    assert f"{word} over 4 tasks: 0-3" in text
    assert f"{word} over 1 of 4 tasks: 2" in text


def test_numbers_are_those_of_the_tasks(mpi: Mpi, program: Path, tmp_path: Path) -> None:
    """Two runs cannot be alike to the last microsecond: each task's own numbers are in one run."""
    folder = tmp_path / "own"
    folder.mkdir()
    start(mpi, program, folder, "mirror", HPM_UNIQUE_FILE_NAME="yes")
    own = [rows(file) for file in folder.glob("ranks_*.csv")]
    assert len(own) == 4
    faults = [float(one(table, "page-faults")["value"]) for table in own]
    assert sorted(faults) == PAGES.tolist()
    start(mpi, program, tmp_path, "statistics")
    row = one(rows(tmp_path / "ranks.csv"), "page-faults")
    assert float(row["value"]) == np.mean(faults)
    assert float(row["deviation"]) == pytest.approx(np.std(faults, ddof=1), rel=1e-12)


@pytest.mark.parametrize("plugin", ["mirror", "loc_merge"])
def test_every_rank_for_itself(mpi: Mpi, program: Path, tmp_path: Path, plugin: str) -> None:
    start(mpi, program, tmp_path, plugin, HPM_UNIQUE_FILE_NAME="yes")
    found = reports(tmp_path)
    assert sorted(re.sub(r".*_(\d)_\d\d\.\d\d\..*", r"\1", name) for name in found) == list("0123")


def test_single(mpi: Mpi, program: Path, tmp_path: Path) -> None:
    start(mpi, program, tmp_path, "single.so")
    assert reports(tmp_path) == ["ranks.csv"]
    assert one(rows(tmp_path / "ranks.csv"), "page-faults")["value"] == "100"
    assert one(rows(tmp_path / "ranks.csv"), "page-faults")["task"] == "0"


@pytest.mark.parametrize("variable", ["HPM_EVENT_DISTR", "HPM_EVENT_SET"])
def test_groups_in_turn(mpi: Mpi, program: Path, tmp_path: Path, variable: str) -> None:
    asked = {"GNOMON_EVENTS": "", variable: "PAGEFAULTS, SCHED"}
    variables = EVENTS | {"HPM_AGGREGATE": "average"} | asked
    launch(mpi, 4, program, folder=tmp_path, variables=variables)
    # Task 1 is the first of the other group, and must not write over the report of task 0.
    assert reports(tmp_path) == ["ranks.csv", "ranks_1.csv"]
    for name, event, tasks in (("ranks.csv", "page-faults", "0,2"),
                               ("ranks_1.csv", "context-switches", "1,3")):  # fmt: skip
        assert one(rows(tmp_path / name), event)["tasks"] == tasks
    faults = one(rows(tmp_path / "ranks.csv"), "page-faults")
    assert (faults["value"], faults["minimum"], faults["maximum"]) == ("200", "100", "300")


def test_a_rank_that_never_comes(mpi: Mpi, program: Path, tmp_path: Path) -> None:
    done = start(mpi, program, tmp_path, "statistics", "never", status=None,
                 HPM_AGGREGATE_TIMEOUT="3")  # fmt: skip
    row = one(rows(tmp_path / "ranks.csv"), "page-faults")
    assert (row["value"], row["tasks"]) == ("200", "0-2")
    text = (tmp_path / "ranks.hpm").read_text()
    assert re.search(r"task 3 .*: not in it", text), (text, done.said)


PLUGIN = """
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "hpm_agg.h"

int distributor(void)
{
	if (!strcmp(getenv("HOW"), "distributor"))
		raise(SIGSEGV);
	return 0;
}

static void overflow(volatile char *from)
{
	volatile char room[4096];

	room[0] = *from;
	overflow(room);
	*from = room[1];
}

int aggregator(int n, hpm_event_vector in, int *n_out, hpm_event_vector *out, int *print)
{
	const char *how = getenv("HOW");

	*out = in;
	*n_out = n;
	*print = 1;
	/* Nothing of it may be seen. */
	in[1].label[0] = '?';
	in[1].data[0].value = 0;
	if (!strcmp(how, "fails"))
		return ENOSPC;
	if (!strcmp(how, "negative"))
		return -1;
	if (!strcmp(how, "crashes"))
		*(volatile int *)(size_t)8 = 1;
	if (!strcmp(how, "overflows"))
		overflow(in[1].label);
	if (!strcmp(how, "aborts"))
		abort();
	if (!strcmp(how, "exits"))
		exit(0);
	if (!strcmp(how, "hangs"))
		for (;;)
			pause();
	if (!strcmp(how, "length"))
		*n_out = 1 << 30;
	if (!strcmp(how, "pointer"))
		*out = (hpm_event_vector)(size_t)4096;
	if (!strcmp(how, "null"))
		*out = NULL;
	if (!strcmp(how, "data"))
		in[1].num_data = -7;
	if (!strcmp(how, "text"))
		in[1].data[0].name = (char *)(size_t)1;
	return 0;
}
"""

SAYS = {
    "fails": "the aggregator failed: No space left on device; ",
    "negative": "the aggregator failed: it returned a negative number; ",
    "crashes": "the aggregator failed: it crashed: SIGSEGV, ",
    "overflows": "the aggregator failed: it crashed: SIGSEGV, ",
    "aborts": "the aggregator failed: it crashed: SIGABRT, ",
    "exits": "the aggregator failed: it called exit; ",
    "hangs": "the aggregator failed: it did not come back within 3 s (",
    "length": "the aggregator lied: num_out is 1073741824; ",
    "pointer": "the aggregator failed: it crashed: SIGSEGV, ",
    "null": "the aggregator lied: num_out is 2 and out is NULL; ",
    "data": "the aggregator lied: item 1 has num_data -7; ",
    "text": "the aggregator failed: it crashed: SIGSEGV, ",
    "distributor": "the distributor failed: it crashed: SIGSEGV, ",
}


@pytest.fixture(scope="module")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a plug-in that fails as it is told to."""
    folder = tmp_path_factory.mktemp("faulty")
    (folder / "faulty.c").write_text(PLUGIN)
    run("cc", "-fPIC", "-shared", "faulty.c", "-o", "faulty.so", *options("--cflags"),
        folder=folder)  # fmt: skip
    return folder / "faulty.so"


@pytest.mark.parametrize("how", SAYS)
def test_a_faulty_plug_in_costs_no_data(
    mpi: Mpi, program: Path, faulty: Path, tmp_path: Path, how: str
) -> None:
    done = start(mpi, program, tmp_path, faulty, status=None, HOW=how, HPM_AGGREGATE_TIMEOUT="1")
    assert f"HPM ERROR - {SAYS[how]}" in done.err
    if how == "distributor":
        assert "ranks.csv" in reports(tmp_path)
        return
    wanted = {"ranks.csv": 0} | {f"ranks_{rank}.csv": rank for rank in (1, 2, 3)}
    for name in reports(tmp_path):
        row = one(rows(tmp_path / name), "page-faults")
        assert (row["value"], row["label"]) == (str(PAGES[wanted[name]]), "pages")
    kept = list(tmp_path.glob("*.hpmraw"))
    if how != "exits":
        assert reports(tmp_path) == list(wanted)
        assert not kept
    else:
        # The launcher kills the others, which may not have come so far: `gnomon repair` has them.
        assert len(reports(tmp_path)) + len(kept) == 4


@pytest.fixture(scope="module")
def quarters(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the example, built with its own Makefile."""
    folder = tmp_path_factory.mktemp("example") / "aggregator-c"
    shutil.copytree(ROOT / "examples" / "aggregator-c", folder)
    run("make", f"PKG_CONFIG_PATH={pkg_config()}", "CFLAGS=-O2 -Wall -Wextra -Werror -Wshadow",
        folder=folder)  # fmt: skip
    return folder / "quarters.so"


def pkg_config() -> str:
    """Return where the package's .pc files are."""
    return f"{options('--libdir', library='hpm_plugin')[0]}/pkgconfig"


def test_a_users_own_plug_in(mpi: Mpi, program: Path, quarters: Path, tmp_path: Path) -> None:
    start(mpi, program, tmp_path, quarters)
    assert reports(tmp_path) == ["ranks.csv"]
    text = (tmp_path / "ranks.hpm").read_text()
    for quarter in ("fastest", "slowest"):
        assert f"the {quarter} quarter: mean of 1 task\n" in text
    # Rank 2 has a section more than the others: it is not comparable, and says what it measured.
    assert "could not be aggregated" in text or "not in it" in text


def test_the_shipped_ones_are_built_by_their_makefile(
    mpi: Mpi, program: Path, tmp_path: Path
) -> None:
    source = Path(options("--libdir")[0]) / "gnomon" / "plugins" / "source"
    folder = tmp_path / "source"
    shutil.copytree(source, folder)
    run("make", "-j2", f"PKG_CONFIG_PATH={pkg_config()}", folder=folder)
    run("make", "install", f"PLUGINS={tmp_path}/own", folder=folder)
    shipped = sorted(file.name for file in source.parent.glob("*.so"))
    assert sorted(file.name for file in (tmp_path / "own").iterdir()) == shipped
    start(mpi, program, tmp_path, tmp_path / "own" / "maximum.so")
    assert one(rows(tmp_path / "ranks.csv"), "page-faults")["value"] == "400"


def test_a_child_is_no_task(mpi: Mpi, program: Path, tmp_path: Path) -> None:
    start(mpi, program, tmp_path, "average", "forks", status=None)
    assert one(rows(tmp_path / "ranks.csv"), "page-faults")["tasks"] == "0-3"
    (own,) = [name for name in reports(tmp_path) if name != "ranks.csv"]
    assert {row["label"] for row in rows(tmp_path / own) if row["section"]} == {"child"}


SCRIPT = """
import os
import time

def distributor(environment, task, tasks):
    environment["GNOMON_EVENTS"] = "page-faults" if tasks == 4 else "task-clock"

def aggregator(items, ranks):
    (event,) = items[1].data
    if os.environ.get("HOW") == "raises" and ranks.task == 2:
        raise KeyError("no such thing")
    if os.environ.get("HOW") == "hangs":
        time.sleep(60)
    total = ranks.allreduce(event.value, lambda one, other: one + other)
    if ranks.task:
        return None
    words = f"sum over {ranks.tasks} tasks; missing: {[gap.first for gap in ranks.missing]}"
    return [items[1]._replace(data=(event._replace(value=total),), description=words)]
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    """Return a plug-in in Python, which adds up."""
    (tmp_path / "own.py").write_text(SCRIPT)
    return tmp_path / "own.py"


def test_a_script_in_a_program_in_c(mpi: Mpi, program: Path, tmp_path: Path, script: Path) -> None:
    start(mpi, program, tmp_path, script, HPM_PYTHON=sys.executable)
    assert reports(tmp_path) == ["ranks.csv"]
    (row,) = [row for row in rows(tmp_path / "ranks.csv") if row["kind"] == "event"]
    assert (row["name"], row["value"]) == ("page-faults", "1000")
    assert "sum over 4 tasks; missing: []" in (tmp_path / "ranks.hpm").read_text()


def test_a_script_in_a_program_that_knows_no_python(
    mpi: Mpi, program: Path, tmp_path: Path, script: Path
) -> None:
    done = start(mpi, program, tmp_path, script, status=None)
    assert "own.py is written in Python, which this program does not know of; " in done.err
    assert "Set HPM_PYTHON" in done.err
    assert len(reports(tmp_path)) == 4


@pytest.mark.parametrize("how", ["raises", "hangs"])
def test_a_script_that_goes_wrong(
    mpi: Mpi, program: Path, tmp_path: Path, script: Path, how: str
) -> None:
    done = start(mpi, program, tmp_path, script, status=None, HPM_PYTHON=sys.executable,
                 HPM_AGGREGATE_TIMEOUT="2", HOW=how)  # fmt: skip
    if how == "raises":
        assert "HPM ERROR - the aggregator failed: KeyError: 'no such thing'" in done.err
        assert "HPM ERROR - the aggregator failed: it says why above; " in done.err
        assert one(rows(tmp_path / "ranks_2.csv"), "page-faults")["value"] == "300"
        assert one(rows(tmp_path / "ranks.csv"), "page-faults")["value"] == "700"
        assert "missing: [2]" in (tmp_path / "ranks.hpm").read_text()
    else:
        assert "the aggregator failed: it did not come back within 4 s (" in done.err
        values = [one(rows(tmp_path / n), "page-faults")["value"] for n in reports(tmp_path)]
        assert sorted(values) == ["100", "200", "300", "400"]


def test_sections_in_python(mpi: Mpi, tmp_path: Path, script: Path) -> None:
    """A program without MPI that is started as several tasks; its Python runs the plug-in."""
    (tmp_path / "prog.py").write_text(
        "from gnomon import hpm\nwith hpm.section('part'):\n    room = bytearray(4096 * 100)\n"
    )
    variables = EVENTS | {"HPM_AGGREGATE": str(script)}
    launch(mpi, 4, sys.executable, tmp_path / "prog.py", folder=tmp_path, variables=variables)
    assert reports(tmp_path) == ["prog.csv"]
    (row,) = [row for row in rows(tmp_path / "prog.csv") if row["kind"] == "event"]
    assert (row["name"], row["label"]) == ("page-faults", "part")
    assert float(row["value"]) >= 400


def test_a_plug_in_that_is_not_there(mpi: Mpi, program: Path, tmp_path: Path) -> None:
    done = start(mpi, program, tmp_path, "nowhere", status=None)
    assert done.err.count("HPM ERROR - Dynamic link error at dlopen():\nnowhere: ") == 4
    assert len(reports(tmp_path)) == 4


def test_programs_under_hpmcount_have_histories_of_their_own(tmp_path: Path) -> None:
    said = []
    for program in ("true", "true", "false"):
        hpmcount = Path(sys.executable).parent / "hpmcount"
        done = run(hpmcount, "-e", "page-faults", "-a", "history", program, folder=tmp_path,
                   status=int(program == "false"))  # fmt: skip
        said += re.findall(r"and over (\d+) run", done.stdout + done.stderr)
    assert said == ["1", "2", "1"]
