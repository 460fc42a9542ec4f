"""Programs with MPI that are known by other counts, that end in all ways, and with other tools."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from mpi import BOTH, MPICH, OPEN_MPI, Mpi, build, environment, launch, python
from mpi_measured import measured
from mpi_probes import compare, need_probes, probes

import gnomon

PROGRAMS = Path(__file__).parents[1] / "programs" / "mpi_programs"
LAUNCHERS = pytest.mark.parametrize("mpi", BOTH, ids=str)
INSTALLED = Path(gnomon.__file__).parent / "mpi"
MESSAGES, MESSAGE_BYTES = 25, 12
# Of ends.c, one rank of two; what was called and did not return is not there.
RING = {"MPI_Init": 2, "MPI_Comm_rank": 2, "MPI_Comm_size": 2, "MPI_Irecv": 2 * MESSAGES,
        "MPI_Send": 2 * MESSAGES, "MPI_Wait": 2 * MESSAGES, "MPI_Barrier": 2,
        "MPI_Pcontrol": 2}  # fmt: skip
SAID = {"rank 0: 300", "rank 1: 300"}
# What libraries call of MPI by its exported names within a call of the program: MPICH's files do.
OF_FILES = ("MPI_Allgather", "MPI_Allreduce", "MPI_Barrier", "MPI_Bcast", "MPI_Comm_dup",
            "MPI_Comm_free", "MPI_Comm_rank", "MPI_Comm_size", "MPI_Gather", "MPI_Gatherv",
            "MPI_Type_commit")  # fmt: skip


@pytest.fixture
def tool(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A library that counts calls by PMPI, for the MPI of the test."""
    mpi: Mpi = request.getfixturevalue("mpi")
    made = tmp_path / "libtool.so"
    subprocess.run([mpi.command("mpicc"), "-shared", "-fPIC", "-o", made, PROGRAMS / "tool.c"],
                   check=True, env=environment(mpi))  # fmt: skip
    return made


@LAUNCHERS
@pytest.mark.parametrize(
    ("way", "more"),
    [
        ("finalize", {"MPI_Finalize": 2}),
        ("_exit", {}),
        ("abort", {"MPI_Abort": 1}),
        ("crash", {}),
        ("kill", {}),
    ],
)
def test_each_end_leaves_what_was_called_and_is_as_it_was(
    mpi: Mpi, way: str, more: dict[str, int], tmp_path: Path
) -> None:
    program = build(mpi, PROGRAMS / "ends.c", tmp_path)
    plain = launch(mpi, 2, program, way, folder=tmp_path, status=None)
    if plain.status < 0:
        # Open MPI's mpirun itself may crash while it ends a job that aborts.
        plain = launch(mpi, 2, program, way, folder=tmp_path, status=None)
    job = measured(mpi, 2, program, way, folder=tmp_path)
    # What MPICH's mpirun makes of a rank that leaves before the others have is chance (0 or 9).
    is_chance = way == "_exit" and mpi is MPICH
    assert job.status == plain.status or (is_chance and {job.status, plain.status} <= {0, 9})
    # Of a rank that waits in MPI_Finalize for one that never comes it is not known.
    calls = {name: n for name, n in job.calls.items() if name in more or name != "MPI_Finalize"}
    assert calls == RING | more
    assert job.sent["MPI_Send"] == 2 * MESSAGES * MESSAGE_BYTES
    assert job.received["MPI_Irecv"] == 2 * MESSAGES * MESSAGE_BYTES
    told = [{line for line in one.out.splitlines() if line.startswith("rank ")}
            for one in (plain, job)]  # fmt: skip
    # What launchers had not passed on by then is lost, with and without us.
    may_be_lost = way == "abort" or is_chance
    assert told[0] == told[1] or (may_be_lost and all(lines <= SAID for lines in told))


def _tool_lines(out: str) -> list[str]:
    return sorted(line for line in out.splitlines() if line.startswith("tool "))


TOLD = [f"tool of rank {rank}: {MESSAGES} sends, 1 barriers, 42" for rank in range(2)]


@LAUNCHERS
def test_a_tool_that_the_program_is_linked_with_counts_too(
    mpi: Mpi, tool: Path, tmp_path: Path
) -> None:
    flags = ("-Wl,--no-as-needed", tool, f"-Wl,-rpath,{tmp_path}")
    program = build(mpi, PROGRAMS / "ends.c", tmp_path, *flags)
    assert _tool_lines(launch(mpi, 2, program, folder=tmp_path).out) == TOLD
    job = measured(mpi, 2, program, folder=tmp_path)
    assert _tool_lines(job.out) == TOLD
    # Not what the tool calls itself.
    assert job.calls == RING | {"MPI_Finalize": 2}


@LAUNCHERS
def test_a_tool_counts_what_a_program_of_fortran_calls(
    mpi: Mpi, tool: Path, tmp_path: Path
) -> None:
    flags = ("-DOLD", "-Wl,--no-as-needed", tool, f"-Wl,-rpath,{tmp_path}")
    program = build(mpi, PROGRAMS / "fortran_08.F90", tmp_path, *flags)
    told = _tool_lines(launch(mpi, 2, program, folder=tmp_path).out)
    assert [line.split(",")[0] for line in told] == [
        f"tool of rank {rank}: 10 sends" for rank in range(2)
    ]
    job = measured(mpi, 2, program, folder=tmp_path)
    assert _tool_lines(job.out) == told
    assert job.calls["MPI_Send"] == job.calls["MPI_Irecv"] == 2 * 10
    assert job.calls["MPI_Finalize"] == 2


@LAUNCHERS
def test_a_tool_that_the_user_preloads_counts_too(mpi: Mpi, tool: Path, tmp_path: Path) -> None:
    program = build(mpi, PROGRAMS / "ends.c", tmp_path)
    job = measured(mpi, 2, program, folder=tmp_path, variables={"LD_PRELOAD": str(tool)})
    assert job.status == 0, job.err
    assert _tool_lines(job.out) == TOLD
    assert job.calls["MPI_Send"] == 2 * MESSAGES
    assert job.calls["MPI_Barrier"] == job.calls["MPI_Comm_rank"] == 2


def test_processes_that_are_spawned_send_to_another_world(tmp_path: Path) -> None:
    program = build(OPEN_MPI, PROGRAMS / "spawn.c", tmp_path)
    job = measured(OPEN_MPI, 2, program, folder=tmp_path,
                   variables={"OMPI_MCA_rmaps_base_oversubscribe": "1"})  # fmt: skip
    assert job.status == 0, job.err
    assert job.out.splitlines() == ["child 0: 10", "child 1: 11"]
    assert job.calls["MPI_Comm_spawn"] == 2
    assert job.calls["MPI_Send"] == job.calls["MPI_Recv"] == 2
    assert job.calls["MPI_Bcast"] == job.calls["MPI_Finalize"] == 4
    # To whom is not known: that rank is none of the sender's world.
    assert job.run.query("SELECT sum(messages), sum(bytes) FROM messages") == [(2, 8)]


def test_functions_that_others_lack_are_called_in_a_process_without_wrappers(
    tmp_path: Path,
) -> None:
    source = tmp_path / "large.c"
    source.write_text("""\
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv)
{
	int one = 1, sum = 0;
	MPI_Init(&argc, &argv);
	MPI_Allreduce_c(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	printf("%d\\n", sum);
	return MPI_Finalize();
}
""")
    program = build(MPICH, source, tmp_path)
    (stub,) = (INSTALLED / "wrappers").glob("*libmpich.so.12.stub.so")
    preloads = f"LD_PRELOAD={stub}:{INSTALLED / 'libgnomon_mpi.so'}"
    job = launch(MPICH, 2, "env", preloads, program, folder=tmp_path, limit_s=60)
    assert job.out.split() == ["2", "2"]


@pytest.mark.long
@pytest.mark.alone
@LAUNCHERS
@pytest.mark.parametrize(
    ("name", "flags", "without"),
    [
        ("fortran_08.F90", (), ()),
        ("fortran_08.F90", ("-DOLD",), ()),
        ("one_sided.c", (), OF_FILES),
        ("ends.c", (), ()),
        ("threads.c", ("-pthread",), ()),
        # mpi4py frees what it keeps within MPI_Finalize.
        ("pickled.py", (), ("MPI_Comm_free",)),
    ],
    ids=["mpi_f08", "mpif.h", "one_sided", "ring", "threads", "mpi4py"],
)
def test_calls_and_bytes_are_those_that_the_library_was_asked_for(
    mpi: Mpi, name: str, flags: tuple[str, ...], without: tuple[str, ...], tmp_path: Path
) -> None:
    need_probes(mpi)
    if name.endswith(".py"):
        command: list[str | Path] = [sys.executable, PROGRAMS / name]
        variables = python(mpi, tmp_path)
    else:
        command = [build(mpi, PROGRAMS / name, tmp_path, *flags)]
        command += [str(tmp_path / "data")] if name == "one_sided.c" else []
        variables = {}
    with probes(mpi) as probed:
        plain = launch(mpi, 4, *command, folder=tmp_path, variables=variables)
    job = measured(mpi, 4, *command, folder=tmp_path, variables=variables)
    assert job.status == 0, job.err
    assert sorted(job.out.splitlines()) == sorted(plain.out.splitlines())
    assert probed.calls["MPI_Init"] + probed.calls["MPI_Init_thread"] == 4
    allowed = without if mpi is MPICH or without != OF_FILES else ()
    assert compare(probed, job.calls, job.sent, allowed) == []
