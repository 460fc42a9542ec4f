"""hpm-plugin-host: plug-ins in C for hpmcount and gnomon repair, and what they may do wrong."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
import rank_items
from building import run
from hpm_programs import CLEAN, PACKAGE, options
from hypothesis import given

from gnomon.measurement.item_codec import decoded, encoded
from gnomon.measurement.items import N_TIMES, EventInfo, Item, RankFile

HOST = PACKAGE / "lib" / "hpm-plugin-host"

PLUGIN = r"""
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "hpm_agg.h"

static int is(const char *fault)
{
	return !strcmp(getenv("FAULT") ? getenv("FAULT") : "", fault);
}

int distributor(void)
{
	if (is("distributor"))
		return EIO;
	puts("a distributor that talks");
	setenv("GNOMON_NEW", "one = two", 1);
	setenv("GNOMON_OTHER", "second", 1);
	unsetenv("GNOMON_OLD");
	return 0;
}

int aggregator(int num_in, hpm_event_vector in, int *num_out, hpm_event_vector *out, int *print)
{
	hpm_event_vector made = calloc((size_t)num_in + 1, sizeof(*made));
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS;
	const long size = sysconf(_SC_PAGESIZE);
	char *page = mmap(NULL, 2 * size, PROT_READ | PROT_WRITE, flags, -1, 0);

	puts("an aggregator that talks");
	memcpy(made, in, (size_t)num_in * sizeof(*made));
	*num_out = num_in;
	*out = made;
	*print = !is("quiet");
	if (is("negative"))
		*num_out = -1;
	if (is("many"))
		*num_out = 1000000;
	if (is("null"))
		*out = NULL;
	if (is("data"))
		made[0].data = (hpm_event_info *)64;
	if (is("text")) {
		memset(page, 'x', size);
		mprotect(page + size, size, PROT_NONE);
		made[0].label = page + size - 100;
	}
	if (is("how"))
		made[0].data[0].how = 77;
	if (is("errno"))
		return ENOSPC;
	if (is("other"))
		return -3;
	if (is("crash"))
		raise(SIGSEGV);
	if (is("exit"))
		exit(0);
	return 0;
}
"""


class Ended(NamedTuple):
    """How a host ended: status, standard output, descriptor 3, standard error."""

    status: int
    output: bytes
    changes: bytes
    said: str


def host(*words: str | Path, folder: Path, given: bytes = b"", **more: str) -> Ended:
    """Run the host as hpmcount does."""
    changes = folder / "changes"
    done = subprocess.run(
        ["sh", "-c", 'exec "$0" "$@" 3> "$CHANGES"', HOST, *words],
        env=CLEAN | {"CHANGES": str(changes)} | more,
        input=given,
        capture_output=True,
        check=False,
    )
    return Ended(done.returncode, done.stdout, changes.read_bytes(), done.stderr.decode())


@pytest.fixture(scope="module")
def plugin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a plug-in that does wrong what FAULT says."""
    folder = tmp_path_factory.mktemp("plugin")
    (folder / "own.c").write_text(PLUGIN)
    run("cc", "-fPIC", "-shared", folder / "own.c", "-o", folder / "own.so",
        *options("--cflags"))  # fmt: skip
    return folder / "own.so"


def measured(task: int = 0, tasks: int = 1, values: Sequence[float] = (7.0,), wall: float = 1.0,
             **fields: object) -> RankFile:  # fmt: skip
    """Return what a task measured: resource usage, and one section with these values."""
    times = (wall,) * N_TIMES
    usage = Item((EventInfo("ru_utime", unit="s", value=wall, how=0),), times, is_rusage=True,
                 mpi_task_id=task)  # fmt: skip
    events = tuple(
        EventInfo(f"EVENT{i}", "cpu", value=value, enabled_s=1.0, running_s=1.0, how=0, modes=7)
        for i, value in enumerate(values)
    )
    section = Item(events, times, mpi_task_id=task, instr_id=1, xml_element_id=1, label="loop",
                   group="0 MADE", process_id=task + 1)  # fmt: skip
    file = RankFile((usage, section), "prog", "./prog", "node", "", "", task, tasks, task + 1, 0, 0,
                    1.0, 2.0, wall)  # fmt: skip
    return file._replace(**fields)  # type: ignore[arg-type]


# --- distribute -----------------------------------------------------------------------------------


def test_changes_of_the_environment(plugin: Path, tmp_path: Path) -> None:
    done = host("distribute", plugin, folder=tmp_path, GNOMON_OLD="x", GNOMON_OTHER="first",
                GNOMON_SAME="same")  # fmt: skip
    assert done.status == 0
    assert sorted(done.changes.split(b"\0")) == [
        b"", b"GNOMON_NEW=one = two", b"GNOMON_OLD", b"GNOMON_OTHER=second",
    ]  # fmt: skip
    assert done.output == b""
    assert "a distributor that talks" in done.said


def test_a_distributor_that_fails(plugin: Path, tmp_path: Path) -> None:
    done = host("distribute", plugin, folder=tmp_path, FAULT="distributor")
    assert (done.status, done.changes) == (1, b"")
    assert done.said == "HPM ERROR - the distributor failed: Input/output error\n"


@pytest.mark.parametrize("name", ["not_there.so", "./not_there", "not_there"])
def test_a_plug_in_that_is_not_there(tmp_path: Path, name: str) -> None:
    done = host("distribute", name, folder=tmp_path)
    assert done.status == 1
    assert done.said.startswith("HPM ERROR - Dynamic link error at dlopen():\n" + name)


def test_a_library_that_is_no_plug_in(tmp_path: Path) -> None:
    done = host("distribute", "libm.so.6", folder=tmp_path)
    assert done.status == 1
    assert done.said.startswith("HPM ERROR - Dynamic link error at dlsym(): ")


# --- aggregate ------------------------------------------------------------------------------------

# Without a job: nobody is waited for.
FILES = rank_items.FILES.map(lambda file: file._replace(task=-1, size=0))


@given(FILES)
def test_a_mirror_gives_back_what_it_gets(file: RankFile) -> None:
    given = encoded(file)
    done = subprocess.run([HOST, "aggregate", "mirror"], env=CLEAN, input=given,
                          capture_output=True, check=False)  # fmt: skip
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout == b"\1" + given


def test_what_an_aggregator_prints_is_not_its_result(plugin: Path, tmp_path: Path) -> None:
    given = encoded(measured())
    done = host("aggregate", plugin, folder=tmp_path, given=given)
    assert (done.status, done.output) == (0, b"\1" + given)
    assert "an aggregator that talks" in done.said
    done = host("aggregate", plugin, folder=tmp_path, given=given, FAULT="quiet")
    assert (done.status, done.output[:1]) == (0, b"\0")
    assert decoded(done.output, "output", 1)[0].items == ()


_INVALID = "the aggregator returned invalid data: "


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("negative", _INVALID + "num_out is -1, which is impossible"),
        ("many", _INVALID + "out (1000000 items) is not readable memory"),
        ("null", _INVALID + "out (2 items) is not readable memory"),
        ("data", _INVALID + "item 0: data is not readable memory"),
        ("text", _INVALID + "item 0: label is not readable memory"),
        ("how", _INVALID + "item 0: how a value was obtained is 77, which is impossible"),
        ("errno", "the aggregator failed: No space left on device"),
        ("other", "the aggregator failed: it returned a negative number"),
    ],
)
def test_aggregators_that_lie_or_fail(plugin: Path, tmp_path: Path, fault: str, said: str) -> None:
    done = host("aggregate", plugin, folder=tmp_path, given=encoded(measured()), FAULT=fault)
    assert (done.status, done.output) == (1, b"")
    assert done.said.splitlines()[-1] == f"HPM ERROR - {said}"


def test_aggregators_that_end_the_process(plugin: Path, tmp_path: Path) -> None:
    given = encoded(measured())
    assert host("aggregate", plugin, folder=tmp_path, given=given, FAULT="crash").status == -11
    done = host("aggregate", plugin, folder=tmp_path, given=given, FAULT="exit")
    assert (done.status, done.output) == (0, b"")


@pytest.mark.parametrize("cut", [0, 7, 50, -1])
def test_items_that_are_damaged(tmp_path: Path, cut: int) -> None:
    done = host("aggregate", "mirror", folder=tmp_path, given=encoded(measured())[:cut])
    assert (done.status, done.output) == (1, b"")
    assert done.said.startswith("HPM ERROR - standard input: byte ")


# --- replay ---------------------------------------------------------------------------------------


def written(folder: Path, files: Sequence[RankFile]) -> list[Path]:
    paths = []
    for file in files:
        paths.append(folder / f"rank{file.task}")
        paths[-1].write_bytes(encoded(file))
    return paths


def replayed(plugin: str, paths: Sequence[Path], *limits: str) -> list[RankFile]:
    done = subprocess.run([*limits, HOST, "replay", plugin, *paths], env=CLEAN,
                          capture_output=True, check=False)  # fmt: skip
    assert (done.returncode, done.stderr) == (0, b"")
    found, at = [], 0
    while at < len(done.stdout):
        file, at = decoded(done.stdout, "output", at)
        found.append(file)
    return found


def test_4096_tasks_are_numpys(tmp_path: Path) -> None:
    made = np.random.default_rng(6)
    values = made.lognormal(20, 2, (4096, 3))
    walls = made.uniform(10, 11, 4096)
    paths = written(tmp_path, [
        measured(task, 4096, list(map(float, values[task])), float(walls[task]))
        for task in range(4096)
    ])  # fmt: skip
    # Memory is that of one file and a few partials: for 4096 tasks no more than for 64.
    limits = ("prlimit", f"--as={8 << 20}")
    assert len(replayed("statistics", paths[:64], *limits)) == 1
    (found,) = replayed("statistics", paths, *limits)
    assert found.task == 0
    assert found.items[1].n_tasks == 4096
    assert found.items[1].tasks == "0-4095"
    for event, column in zip(found.items[1].data, values.T, strict=True):
        assert event.value == pytest.approx(column.mean(), rel=1e-12)
        assert event.spread is not None
        assert event.spread.deviation == pytest.approx(column.std(ddof=1), rel=1e-9)
        assert (event.spread.minimum, event.spread.maximum) == (column.min(), column.max())
        assert (event.spread.min_task, event.spread.max_task) == (column.argmin(), column.argmax())
    assert found.items[1].times[0] == pytest.approx(walls.mean(), rel=1e-12)
    for plugin, extreme in (("minimum", values.min(axis=0)), ("maximum", values.max(axis=0))):
        (found,) = replayed(plugin, paths, *limits)
        assert [event.value for event in found.items[1].data] == list(extreme)
    (found,) = replayed("histogram", paths, *limits)
    for event, column in zip(found.items[1].data, values.T, strict=True):
        assert event.spread is not None
        assert list(event.spread.bins) == list(np.histogram(column, 10)[0])


def alive(files: Sequence[RankFile], plugin: str, folder: Path) -> dict[int, RankFile]:
    """Return what each printing task prints where the tasks are processes and meet in a folder."""
    folder.mkdir()
    running = []
    for file in files:
        rank = {"PMI_RANK": str(file.task), "PMI_SIZE": str(file.size)}
        with (folder.parent / f"rank{file.task}").open("rb") as given:
            running.append(
                subprocess.Popen(
                    [HOST, "aggregate", plugin],
                    env=CLEAN | rank | {"MPI_LOCALNRANKS": str(file.size), "TMPDIR": str(folder)},
                    stdin=given,
                    stdout=subprocess.PIPE,
                )
            )
    found = {}
    for file, process in zip(files, running, strict=True):
        output, _ = process.communicate()
        assert process.returncode == 0
        if output[0]:
            found[file.task] = decoded(output, "output", 1)[0]
    assert list(folder.iterdir()) == []
    return found


def test_a_status_is_told_where_the_task_is(tmp_path: Path) -> None:
    files = [measured(task, 4, [1.0], 20.0 if task == 3 else 10.0) for task in range(4)]
    files[1] = files[1]._replace(exit_status=-1)  # not known
    files[3] = files[3]._replace(exit_status=3)
    found = replayed("average", written(tmp_path, files))
    said = {file.task: file.items[0].description.splitlines() for file in found}
    assert said[0] == ["average over 3 tasks that took less time: 0-2"]
    assert said[3][1:] == ["task 3 ended with exit status 3: included"]


@pytest.mark.parametrize("plugin", ["average", "statistics", "histogram"])
def test_replay_is_what_tasks_do(tmp_path: Path, plugin: str) -> None:
    made = np.random.default_rng(7)
    files = [
        measured(task, 40, list(map(float, made.lognormal(20, 2, 3))), float(made.uniform(10, 11)))
        for task in range(40)
    ]
    files[5] = files[5]._replace(signal=11)
    files[20] = files[20]._replace(exit_status=3)
    paths = written(tmp_path, files)
    found = alive(files, plugin, tmp_path / "job")
    assert sorted(found) == [0, 5]
    assert "task 5 was killed by SIGSEGV: not included" in found[0].items[0].description
    assert "task 20 ended with exit status 3: included" in found[0].items[0].description
    assert "task 5 by itself: it was killed by SIGSEGV" in found[5].items[0].description
    assert found[5].items[1] == files[5].items[1]
    # Bit for bit: they merge in the same order.
    assert {file.task: encoded(file) for file in replayed(plugin, paths)} == {
        task: encoded(file) for task, file in found.items()
    }


def test_files_that_are_missing(tmp_path: Path) -> None:
    files = [measured(task, 40, [float(task)]) for task in range(40) if task not in (0, 2, 3, 39)]
    (found,) = replayed("average", written(tmp_path, files))
    assert found.task == 1
    section = found.items[1]
    assert section.n_tasks == 36
    assert section.data[0].value == pytest.approx(np.mean([file.task for file in files]))
    assert "task 0 left no file that was given: not included" in found.items[0].description
    assert "tasks 2-3 left no file that was given: not included" in found.items[0].description
    assert "task 39 left no file that was given: not included" in found.items[0].description


def test_files_that_cannot_be_replayed(plugin: Path, tmp_path: Path) -> None:
    one, two = written(tmp_path, [measured(0, 2), measured(1, 2)])
    again = tmp_path / "again"
    again.write_bytes(one.read_bytes())
    damaged = tmp_path / "damaged"
    damaged.write_bytes(two.read_bytes()[:200])
    longer = tmp_path / "longer"
    longer.write_bytes(two.read_bytes() + b"x")
    for words, said in (
        (("average", one, again), f"{again}: is of task 0, and so is {one}"),
        (("average", one, damaged), f"{damaged}: byte 24: truncated: 200 of "),
        (("average", one, longer), f"{longer}: byte {len(two.read_bytes())}: more after the items"),
        (("average", one, tmp_path), f"{tmp_path}: no plain file"),
        (("average", one, tmp_path / "none"), f"{tmp_path}/none: No such file or directory"),
        ((plugin, one, two), f"{plugin}: it cannot be replayed over files: "),
    ):
        done = host("replay", *words, folder=tmp_path)
        assert (done.status, done.output) == (1, b"")
        assert done.said.startswith(f"HPM ERROR - {said}")


def test_how_it_is_called(tmp_path: Path) -> None:
    for words in ((), ("aggregate",), ("replay", "average"), ("anything", "average")):
        done = host(*words, folder=tmp_path)
        assert done.status == 2
        assert done.said.startswith("HPM ERROR - usage: hpm-plugin-host ")
    assert os.access(HOST, os.X_OK)
