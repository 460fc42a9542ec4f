"""`gnomon run` and `gnomon mpi` on programs with MPI, on both MPIs, and on such without."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
from commands import GNOMON, gnomon, run
from mpi import BOTH, OPEN_MPI, Mpi, build, environment, launch

from gnomon.mpi.mpi_tables import collect
from gnomon.store import run_directory

RANKS = 4
LAUNCHERS = pytest.mark.parametrize("mpi", BOTH, ids=str)
# What each rank calls, and where: on lines 7, 9 to 11 and 18.
PROGRAM = """\
#include <mpi.h>
#include <stdio.h>
static void exchange(int rank, int size, int *data, int n)
{
	MPI_Request both[2];
	for (int i = 0; i < 3; i++) {
		MPI_Irecv(data, n, MPI_INT, (rank + size - 1) % size, 0, MPI_COMM_WORLD, &both[0]);

		MPI_Isend(data + n, n, MPI_INT, (rank + 1) % size, 0, MPI_COMM_WORLD, &both[1]);
		MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
		MPI_Barrier(MPI_COMM_WORLD);
	}
}
int main(int argc, char **argv)
{
	static int data[2000];
	int rank, size;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	exchange(rank, size, data, 1000);
	printf("rank %d\\n", rank);
	return MPI_Finalize();
}
"""
CALLS = {
    "MPI_Init": (1, 18), "MPI_Comm_rank": (1, 19), "MPI_Comm_size": (1, 20), "MPI_Irecv": (3, 7),
    "MPI_Isend": (3, 9), "MPI_Waitall": (3, 10), "MPI_Barrier": (3, 11), "MPI_Finalize": (1, 23),
}  # fmt: skip
SITES = """
    SELECT r.name, r.file, r.line, sum(v.calls), count(*)
    FROM profile v JOIN metrics m USING (metric) JOIN paths p USING (path)
    JOIN regions r ON r.region = p.region
    WHERE m.name = 'MPI time' AND r.kind = 'mpi' GROUP BY ALL
"""
PYTHON = """\
from mpi4py import MPI
comm = MPI.COMM_WORLD
def exchange():
    if comm.rank == 0:
        comm.send({"a": 1}, 1)
    elif comm.rank == 1:
        print(comm.recv(source=0))
exchange()
comm.Barrier()
"""


def program(mpi: Mpi, folder: Path) -> Path:
    source = folder / "job.c"
    source.write_text(PROGRAM)
    return build(mpi, source, folder, "-g")


def check(path: Path) -> None:
    """Check calls, lines, ranks and messages of a run."""
    opened = run_directory.find(str(path))
    sites = {name: (Path(file).name, line, calls, rows)
             for name, file, line, calls, rows in opened.query(SITES)}  # fmt: skip
    assert sites == {
        name: ("job.c", line, RANKS * calls, RANKS) for name, (calls, line) in CALLS.items()
    }
    messages = opened.query(
        "SELECT s.rank, r.rank, m.messages, m.bytes FROM messages m JOIN locations s ON "
        "m.sender = s.location JOIN locations r ON m.receiver = r.location ORDER BY 1"
    )
    assert messages == [(rank, (rank + 1) % RANKS, 3, 12000) for rank in range(RANKS)]
    processes = opened.query(
        "SELECT rank FROM locations WHERE kind = 'process' AND rank >= 0 ORDER BY rank"
    )
    assert [rank for (rank,) in processes] == list(range(RANKS))
    told = gnomon("report", path, "messages").stdout
    assert "  rank 0  rank 1    MPI_Isend" in told


def words(mpi: Mpi) -> list[str]:
    oversubscribe = ["--oversubscribe"] if mpi is OPEN_MPI else []
    return [mpi.command("mpirun"), *oversubscribe, "-n", str(RANKS)]


@LAUNCHERS
@pytest.mark.parametrize("command", ["run", "mpi"])
def test_over_the_launcher(mpi: Mpi, command: str, tmp_path: Path) -> None:
    done = gnomon(
        command, "--name", "r", "--", *words(mpi), program(mpi, tmp_path),
        cwd=tmp_path, env=environment(mpi),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == [f"rank {rank}" for rank in range(RANKS)]
    check(tmp_path / "r.gnomon")


@LAUNCHERS
@pytest.mark.parametrize("command", ["run", "mpi"])
def test_inside_the_launcher(mpi: Mpi, command: str, tmp_path: Path) -> None:
    job = launch(
        mpi, RANKS, GNOMON, command, "--name", "r", "--", program(mpi, tmp_path), folder=tmp_path
    )
    assert sorted(job.out.splitlines()) == [f"rank {rank}" for rank in range(RANKS)]
    check(tmp_path / "r.gnomon")


def test_sampled_and_counted_calls_are_one_path(tmp_path: Path) -> None:
    done = gnomon(
        "run", "--name", "r", "--", *words(OPEN_MPI), program(OPEN_MPI, tmp_path),
        cwd=tmp_path, env=environment(OPEN_MPI),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    opened = run_directory.find(str(tmp_path / "r.gnomon"))
    metrics = opened.query(
        "SELECT DISTINCT m.name FROM profile v JOIN metrics m USING (metric) JOIN paths p USING "
        "(path) WHERE p.path IN (SELECT c.path FROM paths c JOIN regions r ON c.region = r.region "
        "WHERE r.kind = 'mpi') OR p.parent IN (SELECT c.path FROM paths c JOIN regions r ON "
        "c.region = r.region WHERE r.kind = 'mpi')"
    )
    # Below MPI_Init there are samples, or waits.
    assert {"MPI time"} < {name for (name,) in metrics}
    assert not opened.query(
        "SELECT * FROM paths p JOIN regions r USING (region) WHERE r.kind = 'cpu' AND "
        "r.module LIKE 'libgnomon_mpi-%' AND r.name LIKE 'MPI_%'"
    )


def test_mpi4py_loads_its_mpi_later(tmp_path: Path) -> None:
    script = tmp_path / "job.py"
    script.write_text(PYTHON)
    done = gnomon(
        "mpi", "--name", "r", "--", *words(OPEN_MPI), sys.executable, script,
        cwd=tmp_path, env=environment(OPEN_MPI),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout == "{'a': 1}\n"
    opened = run_directory.find(str(tmp_path / "r.gnomon"))
    calls = {name: calls for name, _, _, calls, _ in opened.query(SITES)}
    assert calls["MPI_Barrier"] == RANKS
    assert calls["MPI_Mprobe"] == calls["MPI_Mrecv"] == 1
    # Sites are lines of Python, those of the initialisation the one that imports it.
    told = json.loads(gnomon("report", "r", "mpi", "--by", "site", "--json", cwd=tmp_path).stdout)
    sites = {
        site["routine"]: (Path(site["file"]).name, site["line"], site["function"])
        for site in told["rows"]
    }
    assert sites["MPI_Init_thread"] == ("job.py", 1, "<module>")
    assert sites["MPI_Barrier"] == ("job.py", 9, "<module>")
    assert sites["MPI_Mrecv"] == ("job.py", 7, "exchange")
    (receive,) = (site for site in told["rows"] if site["routine"] == "MPI_Mrecv")
    assert receive["called_from"].startswith("<module>:8")
    assert not any("importlib" in site["called_from"] for site in told["rows"])


CONTROLLED = """\
program controlled
  use mpi
  integer :: error, i
  call MPI_Init(error)
  call MPI_Pcontrol(0)
  do i = 1, 5
    call MPI_Barrier(MPI_COMM_WORLD, error)
  end do
  call MPI_Pcontrol(1)
  do i = 1, 3
    call MPI_Barrier(MPI_COMM_WORLD, error)
  end do
  call MPI_Finalize(error)
end program
"""
CONTROLLED_IN_C = """\
#include <mpi.h>
int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	MPI_Pcontrol(0);
	for (int i = 0; i < 5; i++)
		MPI_Barrier(MPI_COMM_WORLD);
	MPI_Pcontrol(1);
	for (int i = 0; i < 3; i++)
		MPI_Barrier(MPI_COMM_WORLD);
	return MPI_Finalize();
}
"""


@LAUNCHERS
@pytest.mark.parametrize("language", ["c", "f90"])
def test_a_program_says_what_is_recorded(mpi: Mpi, language: str, tmp_path: Path) -> None:
    source = tmp_path / f"controlled.{language}"
    source.write_text(CONTROLLED if language == "f90" else CONTROLLED_IN_C)
    built = tmp_path / "controlled"
    compiler = mpi.command("mpifort" if language == "f90" else "mpicc")
    assert run(compiler, "-g", "-o", built, source).returncode == 0
    done = gnomon(
        "mpi", "--name", "r", "--", *words(mpi), built, cwd=tmp_path, env=environment(mpi)
    )
    assert done.returncode == 0, done.stderr
    opened = run_directory.find(str(tmp_path / "r.gnomon"))
    calls = [calls for name, _, _, calls, _ in opened.query(SITES) if name == "MPI_Barrier"]
    assert calls == [3 * RANKS]


ASKS = """
import ctypes
own = ctypes.CDLL(None)
assert not hasattr(own, "MPI_Init"), "MPI is not there"
assert hasattr(own, "printf")
"""
WEAK = """
#include <stdio.h>
#include <dlfcn.h>
int MPI_Initialized(int *flag) __attribute__((weak));
int MPI_Session_init(int, int, void *) __attribute__((weak));
int main(void)
{
	int flag = 7, status = MPI_Initialized ? MPI_Initialized(&flag) : 0;
	printf("%d %d %d %d\\n", status, MPI_Initialized ? flag : 0, MPI_Session_init != NULL,
		dlsym(RTLD_DEFAULT, "MPI_Init") != NULL);
	return 3;
}
"""


def test_a_process_without_mpi_is_told_that_there_is_none(tmp_path: Path) -> None:
    done = gnomon("mpi", "--name", "r", "--", sys.executable, "-c", ASKS, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    source, asking = tmp_path / "asks.c", tmp_path / "asks"
    source.write_text(WEAK)
    assert run("cc", "-o", asking, source).returncode == 0
    bare = run(asking)
    done = gnomon("mpi", "--name", "w", "--", asking, cwd=tmp_path)
    assert (bare.stdout, bare.returncode) == ("0 0 0 0\n", 3)
    assert (done.stdout, done.returncode) == (bare.stdout, bare.returncode)
    assert gnomon("report", "w", "messages", cwd=tmp_path).stdout.strip()


PLUGIN = """
#include <dlfcn.h>
#include <mpi.h>
int asks(void)
{
	int flag = 7;
	return dlsym(RTLD_DEFAULT, "MPI_Comm_rank") && !MPI_Initialized(&flag) && !flag;
}
"""
HOST = """
#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char **argv)
{
	void *plugin = dlopen(argv[argc - 1], RTLD_NOW | RTLD_LOCAL);
	int (*asks)(void);
	*(void **)&asks = plugin ? dlsym(plugin, "asks") : NULL;
	printf("%d %d\\n", dlsym(RTLD_DEFAULT, "MPI_Comm_rank") != NULL, asks ? asks() : 2);
	return 0;
}
"""


def test_a_plugin_finds_the_mpi_that_it_needs(tmp_path: Path) -> None:
    for name, text in (("plugin.c", PLUGIN), ("host.c", HOST)):
        (tmp_path / name).write_text(text)
    plugin, host = tmp_path / "plugin.so", tmp_path / "host"
    compiler = BOTH[1].command("mpicc")
    assert run(compiler, "-fPIC", "-shared", "-o", plugin, tmp_path / "plugin.c").returncode == 0
    assert run("cc", "-o", host, tmp_path / "host.c").returncode == 0
    bare = run(host, plugin)
    done = gnomon("mpi", "--name", "r", "--", host, plugin, cwd=tmp_path)
    assert bare.stdout == "0 1\n"
    assert (done.stdout, done.returncode) == (bare.stdout, 0)


def test_an_mpi_without_wrappers_is_said_once_and_runs(tmp_path: Path) -> None:
    built = program(OPEN_MPI, tmp_path)
    variables = {
        "GNOMON_RUN_DIR": str(tmp_path), "GNOMON_MPI_WRAPPERS": "/nonexistent",
        "LD_PRELOAD": str(Path(_package(), "mpi", "libgnomon_mpi.so")),
    }  # fmt: skip
    job = launch(
        OPEN_MPI, RANKS, "env", *(f"{name}={value}" for name, value in variables.items()), built,
        folder=tmp_path,
    )  # fmt: skip
    assert sorted(job.out.splitlines()) == [f"rank {rank}" for rank in range(RANKS)]
    assert job.err.count("gnomon: MPI is not measured") == 1
    assert "MPICC=" in job.err
    said = collect(tmp_path).warnings
    assert [line.partition(": there are")[0] for line in said] == [
        f"mpi: {RANKS} processes not measured"
    ]
    assert "libmpi" in said[0]


def test_a_program_without_mpi_is_said_to_have_none(tmp_path: Path) -> None:
    done = gnomon("mpi", "--name", "r", "--", "/bin/true", cwd=tmp_path)
    assert done.returncode == 0
    assert "MPI: no process called it" in done.stderr
    assert "MPI" not in gnomon("run", "--name", "s", "--", "/bin/true", cwd=tmp_path).stderr


def test_one_that_is_asked_for_and_cannot_be_measured_is_not_started(tmp_path: Path) -> None:
    variables = {**os.environ, "MPICC": "/bin/false", "PATH": f"{tmp_path}"}
    done = run(GNOMON, "mpi", "--", "/bin/true", "mpirun", cwd=tmp_path, env=variables)
    assert done.returncode == 1, done.stderr
    (line,) = done.stderr.splitlines()
    assert "/bin/false" in line
    assert not list(tmp_path.glob("*.gnomon*"))


def test_help_and_usage() -> None:
    assert "--barrier" in gnomon("mpi", "--help").stdout
    done = gnomon("mpi")
    assert done.returncode == 2
    assert "no program to run: gnomon mpi [options]" in done.stderr


def _package() -> str:
    import gnomon as package

    return str(Path(package.__file__).parent)
