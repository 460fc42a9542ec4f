"""Aggregators that fail, crash, hang or lie, and those that are not there: no data is lost."""

from __future__ import annotations

from pathlib import Path

import pytest
from commands import GNOMON
from hpm_programs import options, run
from mpi import BOTH, Mpi
from ranks_program import PAGES, Programs, one, reports, rows, start

pytestmark = pytest.mark.parametrize("mpi", BOTH, ids=str)


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
    "hangs": "the aggregator failed: it did not return within 3 s (",
    "length": "the aggregator returned invalid data: num_out is 1073741824; ",
    "pointer": "the aggregator failed: it crashed: SIGSEGV, ",
    "null": "the aggregator returned invalid data: num_out is 2 and out is NULL; ",
    "data": "the aggregator returned invalid data: item 1 has num_data -7; ",
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
    mpi: Mpi, ranks_programs: Programs, faulty: Path, tmp_path: Path, how: str
) -> None:
    done = start(
        mpi, ranks_programs[mpi], tmp_path, faulty, status=None, HOW=how, HPM_AGGREGATE_TIMEOUT="1"
    )
    assert f"HPM ERROR - {SAYS[how]}" in done.err
    if how == "distributor":
        assert "ranks.csv" in reports(tmp_path)
        return
    wanted = {"ranks.csv": 0} | {f"ranks_{rank}.csv": rank for rank in (1, 2, 3)}
    found = {}
    for name in reports(tmp_path):
        found[name] = one(rows(tmp_path / name), "page-faults")
        assert pages(found[name]) == PAGES[wanted[name]]
    kept = list(tmp_path.glob("*.hpmraw"))
    if how != "exits":
        assert reports(tmp_path) == list(wanted)
        assert not kept
    # The launcher kills the others, which may not have come so far; one that was killed after its
    # report and before its end has left both.
    for file in kept:
        run(GNOMON, "repair", "-o", "repaired", file.name, folder=tmp_path)
        found[file.name] = one(rows(tmp_path / "repaired.csv"), "page-faults")
    assert {(pages(row), row["label"]) for row in found.values()} == {
        (count, "pages") for count in PAGES
    }


def pages(row: dict[str, str]) -> int:
    """Return what the program touched.

    A thread that MPICH has may wake meanwhile, and its first touches are the process's too.
    """
    count = int(row["value"])
    assert count % 100 <= 3
    return count // 100 * 100


def test_a_plug_in_that_is_not_there(mpi: Mpi, ranks_programs: Programs, tmp_path: Path) -> None:
    done = start(mpi, ranks_programs[mpi], tmp_path, "nowhere", status=None)
    assert done.err.count("HPM ERROR - Dynamic link error at dlopen():\nnowhere: ") == 4
    assert len(reports(tmp_path)) == 4
