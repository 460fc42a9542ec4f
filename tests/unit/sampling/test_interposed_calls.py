"""Functions of libraries that stand before others are the calls that they measure."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from gnomon.measurement.call_paths import NONE
from gnomon.sampling.interposed_calls import routine_name, with_calls
from gnomon.sampling.python_call_paths import SampledPaths
from gnomon.sampling.sample_file import SampleFile
from gnomon.symbols.code_frames import CodeFrame

MAIN = CodeFrame("main", "app", "/s/app.c", 7)
PYTHON = CodeFrame("work", "[python]", "/s/work.py", 3)
LIBRARY = "/somewhere/libgnomon_mpi-0a1b.so"


def samples(*modules: str, places: list[int]) -> SampleFile:
    paths = [SimpleNamespace(path=path) for path in modules]
    return cast(
        "SampleFile", SimpleNamespace(modules=paths, place_modules=np.array(places, np.uint32))
    )


def paths(places: list[int], parents: list[int], *python: CodeFrame) -> SampledPaths:
    return SampledPaths(
        np.array(places, np.uint32),
        np.array([NONE if parent < 0 else parent for parent in parents], np.uint32),
        np.array([len(places) - 1], np.uint32),
        tuple((frame,) for frame in python),
    )


def named(frames: list[CodeFrame], result: SampledPaths) -> list[CodeFrame]:
    every = [*frames, *(frame for (frame,) in result.python_frames)]
    return [every[place] for place in result.node_places.tolist()]


def test_a_wrapper_is_the_call_at_the_line_that_it_is_called_from() -> None:
    frames = [MAIN, CodeFrame("MPI_Send", "libgnomon_mpi-0a1b.so"), CodeFrame("PMPI_Send", "m")]
    of_task = samples("/app", LIBRARY, "/libmpi.so.40", places=[0, 1, 2])
    result, calls = with_calls(of_task, paths([0, 1, 2], [-1, 0, 1]), [(it,) for it in frames])
    call = CodeFrame("MPI_Send", "app", "/s/app.c", 7)
    assert named(frames, result) == [MAIN, call, frames[2]]
    assert calls == {call}
    assert result.node_parents.tolist() == [NONE, 0, 1]


def test_functions_of_the_library_that_call_each_other_are_one_call() -> None:
    frames = [MAIN, CodeFrame("mpi_send_", "w"), CodeFrame("gn_f_Send", "w"), CodeFrame("f", "m")]
    of_task = samples("/app", LIBRARY, "/libmpi.so.40", places=[0, 1, 1, 2])
    given = paths([0, 1, 2, 3], [-1, 0, 1, 2])
    result, calls = with_calls(of_task, given, [(it,) for it in frames])
    call = CodeFrame("MPI_Send", "app", "/s/app.c", 7)
    assert named(frames, result) == [MAIN, call, call, frames[3]]
    assert result.node_parents.tolist() == [NONE, 0, 0, 2]
    assert calls == {call}


def test_calls_of_two_lines_are_two_and_of_python_too() -> None:
    frames = [MAIN, CodeFrame("MPI_Send", "w")]
    of_task = samples("/app", LIBRARY, places=[0, 1])
    given = paths([0, 1, 2, 1], [-1, 0, -1, 2], PYTHON)
    result, calls = with_calls(of_task, given, [(it,) for it in frames])
    assert calls == {CodeFrame("MPI_Send", "app", "/s/app.c", 7),
                     CodeFrame("MPI_Send", "[python]", "/s/work.py", 3)}  # fmt: skip
    assert len(set(result.node_places.tolist())) == 4


def test_what_is_no_routine_stays_a_function() -> None:
    frames = [MAIN, CodeFrame("gn_mpi_load", "w")]
    given = paths([0, 1], [-1, 0])
    result, calls = with_calls(
        samples("/app", LIBRARY, places=[0, 1]), given, [(it,) for it in frames]
    )
    assert named(frames, result) == frames
    assert not calls


def test_without_such_a_library_nothing_changes() -> None:
    given: Any = paths([0], [-1])
    result, calls = with_calls(samples("/app", places=[0]), given, [(MAIN,)])
    assert result is given
    assert not calls


@pytest.mark.parametrize(
    ("function", "name"),
    [
        ("MPI_Comm_rank", "MPI_Comm_rank"),
        ("mpi_comm_rank_", "MPI_Comm_rank"),
        ("mpi_comm_rank__", "MPI_Comm_rank"),
        ("MPI_COMM_RANK", "MPI_Comm_rank"),
        ("mpi_send_f08_", "MPI_Send"),
        ("mpi_send_f08ts_", "MPI_Send"),
        ("mpi_send_f08ts_large_", "MPI_Send"),
        ("mpi_alloc_mem_cptr_", "MPI_Alloc_mem"),
        ("gn_f_Type_create_f90_real", "MPI_Type_create_f90_real"),
        ("MPI_Send_c", "MPI_Send_c"),
        ("gn_mpi_load", ""),
    ],
)
def test_names_of_routines(function: str, name: str) -> None:
    assert routine_name(function) == name
