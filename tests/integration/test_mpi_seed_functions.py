"""The functions of mpt.h, as a linked program calls them, on both MPIs."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from mpi import BOTH, OPEN_MPI, Mpi, launch
from mpi_seed import EXAMPLES, HERE, config, linked, make, run_linked

from gnomon.mpi.trace_ids import routine_ids

RANKS = 4
TOPOLOGY = "# two by two\nsize 2 2 1\n0 0 0 0 7\n1 1 0 0\n2 0 1 0\n3 1 1 0\n"


def answers(
    mpi: Mpi, folder: Path, variables: dict[str, str], *, static: bool = False
) -> list[dict[str, Any]]:
    """Return what each rank of a job printed, by rank."""
    program = linked(mpi, HERE / "mpi_trace_functions.c", folder, static=static)
    job = launch(mpi, RANKS, program, folder=folder, variables=variables, apart=True)
    parsed = [json.loads(text) for text in job.outs]
    return sorted(parsed, key=lambda answer: answer["environment"][0])


@pytest.mark.parametrize("mpi", BOTH, ids=str)
def test_every_function_answers_what_the_program_did(mpi: Mpi, tmp_path: Path) -> None:
    (tmp_path / "topology").write_text(TOPOLOGY)
    ranks = answers(mpi, tmp_path, {"GNOMON_MPI_TOPOLOGY": "topology"})
    assert len(ranks) == RANKS
    for rank, answer in enumerate(ranks):
        is_sender = rank + 1 < RANKS
        assert answer["sends"] == (2 if is_sender else 0)
        assert answer["bytes"] == (1100 if is_sender else 0)
        assert answer["time"] == int(is_sender)
        assert answer["none"] == 0
        # What MT_trace_event calls is not counted.
        assert answer["comm_rank"] == 1
        assert answer["events"] == [2 if is_sender else 0, 2 if rank else 0]
        assert answer["names"] == ["MPI_Send", "MPI_Iallreduce", 1]
        assert answer["times"] == 1
        assert answer["buffer"] == [0, 0, 0, 0, 0]
        assert answer["memory"] == [0, 1, 1]
        if is_sender:
            assert answer["caller"] == ["caller_of_it", "mpi_trace_functions.c", 0]
        assert not list(tmp_path.glob("mpi_profile.*")), "MT_output_text takes its place"
    assert ranks[0]["environment"] == [0, 0, 0, 0, 2, 2, 1, 7, RANKS]
    assert ranks[3]["environment"] == [3, 1, 1, 0, 2, 2, 1, -1, RANKS]
    # From (1, 0) to (0, 1) it is two hops.
    assert [answer["hops"] for answer in ranks[:3]] == ["1", "2", "1"]
    assert "nan" in str(ranks[3]["hops"])


def test_the_static_library_finds_the_names_of_callers_too(tmp_path: Path) -> None:
    ranks = answers(OPEN_MPI, tmp_path, {}, static=True)
    assert ranks[0]["caller"] == ["caller_of_it", "mpi_trace_functions.c", 0]


@pytest.mark.parametrize("mpi", BOTH, ids=str)
def test_results_of_all_ranks_come_to_each(mpi: Mpi, tmp_path: Path) -> None:
    ranks = answers(mpi, tmp_path, {})
    for answer in ranks:
        assert answer["environment"][1:8] == [-1, -1, -1, 0, 0, 0, -1]
        assert answer["COUNTS"] == {
            "failed": 0, "ranks": [3, 2, 0], "average": "1.5", "values": ["2", "2", "2", "0"],
            "sorted": [3, 0, 1, 2], "sum": "6", "extremes": ["0", "2", "2"],
        }  # fmt: skip
        assert answer["BYTES"]["values"] == ["1100", "1100", "1100", "0"]
        assert answer["BYTES"]["sum"] == "3300"
        assert answer["AVGHOPS"]["ranks"] == [-1, -1, -1]
        assert answer["no type"] == {"failed": -1}
        for name in ("COMMUNICATIONTIME", "STACK", "HEAP", "ELAPSEDTIME"):
            values = [float(value) for value in answer[name]["values"]]
            assert all(value > 0 for value in values), name
            order = answer[name]["sorted"]
            assert [values[rank] for rank in order] == sorted(values)
        known = {str(it.number) for it in routine_ids()}
        assert set(answer["MAXSTACKFUNC"]["values"]) <= known
    assert len({json.dumps(answer["HEAP"]) for answer in ranks}) == 1


@pytest.mark.parametrize("mpi", BOTH, ids=str)
def test_the_pattern_of_example_4_10_is_found(mpi: Mpi, tmp_path: Path) -> None:
    folder = tmp_path / "example"
    shutil.copytree(EXAMPLES, folder)
    make(mpi, folder, "pattern")
    out, _ = run_linked(mpi, RANKS, folder / "pattern", tmp_path)
    assert out == "the pattern of 3 calls of MPI_Send repeats itself\n"
    assert len(list(tmp_path.glob("mpi_profile.*"))) == RANKS


@pytest.mark.parametrize("mpi", BOTH, ids=str)
def test_a_program_in_fortran_asks_through_the_module(mpi: Mpi, tmp_path: Path) -> None:
    module = Path(config(mpi, "--fortran")[0])
    source = HERE / "mpi_trace_fortran.F90"
    program = linked(mpi, module, tmp_path, source, f"-J{tmp_path}")
    out, _ = run_linked(mpi, 2, program, tmp_path)
    lines = sorted(line.split() for line in out.splitlines())
    assert lines == [
        ["0", "MPI_Send", "3", "24.0", "3", "1"],
        ["1", "MPI_Send", "0", ".0", "3", "1"],
    ]


def test_the_header_is_one_of_cpp_too(tmp_path: Path) -> None:
    source = tmp_path / "header.cpp"
    source.write_text(
        "#include <mpt.h>\n"
        'extern "C" int MT_output_trace(int rank) { return rank == SEND_ID + MT_ISCAN_ID; }\n'
    )
    options = config(OPEN_MPI, "--cflags")
    subprocess.run(
        ["g++", "-Wall", "-Wextra", "-Werror", "-c", source, *options], cwd=tmp_path, check=True
    )
