"""The names that preloaded stubs have: none that an MPI of this machine lacks, all that it has."""

from __future__ import annotations

import pytest

from gnomon.mpi.entry_points import c_table, common_entry_points, further_entry_points
from gnomon.mpi.header import Header, read_header
from gnomon.mpi.wrapper_source import wrappers

BOTH = pytest.mark.parametrize("compiler", ["mpicc.openmpi", "mpicc.mpich"])


@BOTH
def test_the_common_stub_has_what_every_mpi_has(compiler: str) -> None:
    header = read_header(compiler)
    common = {point.name for point in common_entry_points() if point.name.startswith("MPI_")}
    assert len(common) > 300
    assert common <= {wrapper.routine.name for wrapper in wrappers(header)}


@BOTH
def test_together_the_stubs_have_what_is_wrapped(compiler: str) -> None:
    header = read_header(compiler)
    common = [point.name for point in common_entry_points()]
    further = [point.name for point in further_entry_points(header)]
    assert not set(common) & set(further)
    assert len({*common, *further}) == len(common) + len(further)
    assert {wrapper.routine.name for wrapper in wrappers(header)} <= {*common, *further}


def test_names_in_fortran_have_those_of_other_compilers() -> None:
    points = {point.name: point.aliases for point in common_entry_points()}
    assert points["mpi_send_"] == ("mpi_send", "mpi_send__", "MPI_SEND")
    assert points["mpi_send_f08_"] == ()
    assert points["MPI_Send"] == ()


def test_a_header_without_fortran_adds_none_of_its_names() -> None:
    header = Header("cc", {}, (), "0" * 64, "")
    assert further_entry_points(header) == ()


def test_the_table_finds_each_name() -> None:
    points = common_entry_points()[:3]
    lines = c_table(points).splitlines()
    assert lines[0] == "#define GN_ENTRY_POINTS 3"
    texts = [line.split('"')[1] for line in lines if line.startswith('\t"')]
    joined = "".join(text.replace("\\0", "\0") for text in texts)
    offsets = [int(word) for word in lines[-2].strip().rstrip(",").split(",")]
    assert [joined[place:].split("\0")[0] for place in offsets] == [point.name for point in points]
