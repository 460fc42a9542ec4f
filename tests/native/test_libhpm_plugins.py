"""Plug-ins of libhpm, and the variables that say what it does."""

from __future__ import annotations

import math
import re
import sys
from pathlib import Path

import pytest
from hpm_programs import HELLO, compile_c, options, rows, run, value

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


@pytest.mark.parametrize("name", ["mirror", "mirror.so"])
def test_mirror_is_what_is_done_without_a_plug_in(plugin: Path, tmp_path: Path, name: str) -> None:
    assert run(plugin / "hello", folder=tmp_path, HPM_AGGREGATE=name).stderr == ""
    assert (tmp_path / "hello.hpm").exists()


def test_a_plug_in_that_is_not_there(plugin: Path, tmp_path: Path) -> None:
    done = run(plugin / "hello", folder=tmp_path, status=1, HPM_AGGREGATE="not_there.so")
    assert done.stderr.startswith("HPM ERROR - Dynamic link error at dlopen():\nnot_there.so: ")
    assert (tmp_path / "hello.hpm").exists()


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
    # One that is named twice is counted once.
    run(program, folder=tmp_path, HPM_EVENT_SET="5,sched", HPM_CSV_OUTPUT="yes")
    table = rows(tmp_path / "hello.csv")
    assert value(table, 1, "context-switches") >= 0
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


def test_programs_under_hpmcount_have_histories_of_their_own(tmp_path: Path) -> None:
    said: list[str] = []
    for program in ("true", "true", "false"):
        hpmcount = Path(sys.executable).parent / "hpmcount"
        done = run(hpmcount, "-e", "page-faults", "-a", "history", program, folder=tmp_path,
                   status=int(program == "false"))  # fmt: skip
        said += re.findall(r"and over (\d+) run", done.stdout + done.stderr)
    assert said == ["1", "2", "1"]
