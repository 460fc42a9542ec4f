"""Routines of MPI as data: their numbers, classes, modes and parameters."""

from __future__ import annotations

import hashlib

from gnomon.mpi.routines import (
    CLASSES,
    COLLECTIVE,
    COMMUNICATOR,
    DATATYPE,
    ENVIRONMENT,
    IO,
    NONBLOCKING,
    ONE_SIDED,
    PARTITIONED,
    PERSISTENT,
    POINT_TO_POINT,
    PROCESS,
    by_name,
    extension,
    may_wait_for_all,
    predefined_functions,
    routines,
)

# Section 4.5.3, column by column.
GUIDE = """
ALLGATHER ALLGATHERV ALLREDUCE ALLTOALL ALLTOALLV BARRIER BCAST BSEND BSEND_INIT BUFFER_ATTACH
BUFFER_DETACH COMM_RANK GATHER GATHERV IBSEND IPROBE IRECV IRSEND ISEND ISSEND PROBE RECV RECV_INIT
REDUCE REDUCE_SCATTER RSEND RSEND_INIT SCATTER SCATTERV SEND SEND_INIT SENDRECV SENDRECV_REPLACE
SSEND SSEND_INIT START STARTALL TEST TESTALL TESTANY TESTSOME WAIT WAITALL WAITANY WAITSOME
"""
# Of the names in the order of their numbers: a number once given is never another routine's.
NUMBERED = 649
NUMBERED_SHA256 = "8ff87651818ac48d3c2d0beb1787cfa0f63c25dda40027589f0b08d47ec9a056"


def test_numbers_are_dense_and_stay() -> None:
    names = [routine.name for routine in routines()]

    assert [routine.number for routine in routines()] == list(range(1, len(names) + 1))
    assert len(set(names)) == len(names)
    assert hashlib.sha256("\n".join(names[:NUMBERED]).encode()).hexdigest() == NUMBERED_SHA256


def test_ids_of_the_guide_are_the_first_45_in_its_order() -> None:
    assert len(GUIDE.split()) == 45
    assert [f"MPI_{name}" for name in GUIDE.split()] == [it.name.upper() for it in routines()[:45]]


def test_each_routine_has_a_class_as_people_group_them() -> None:
    expected = {
        "MPI_Isend": POINT_TO_POINT,
        "MPI_Waitall": POINT_TO_POINT,
        "MPI_Mprobe": POINT_TO_POINT,
        "MPI_Psend_init": POINT_TO_POINT,
        "MPI_Buffer_attach": POINT_TO_POINT,
        "MPI_Ineighbor_alltoallw": COLLECTIVE,
        "MPI_Reduce_scatter_block_init": COLLECTIVE,
        "MPI_Barrier": COLLECTIVE,
        "MPI_Rget_accumulate": ONE_SIDED,
        "MPI_Win_fence": ONE_SIDED,
        "MPI_File_iread_at_all": IO,
        "MPI_File_open": IO,
        "MPI_Comm_split": COMMUNICATOR,
        "MPI_Cart_create": COMMUNICATOR,
        "MPI_Group_union": COMMUNICATOR,
        "MPI_Comm_spawn": PROCESS,
        "MPI_Type_commit": DATATYPE,
        "MPI_Pack": DATATYPE,
        "MPI_Type_hvector": DATATYPE,
        "MPI_Init_thread": ENVIRONMENT,
        "MPI_Wtime": ENVIRONMENT,
        "MPI_Win_c2f": ENVIRONMENT,
        "MPI_Send_c": POINT_TO_POINT,
    }

    assert {name: by_name()[name].routine_class for name in expected} == expected
    assert {routine.routine_class for routine in routines()} == set(CLASSES)


def test_modes_say_when_an_operation_begins() -> None:
    assert by_name()["MPI_Ibcast"].mode == NONBLOCKING
    assert by_name()["MPI_Rput"].mode == NONBLOCKING
    assert by_name()["MPI_Comm_idup"].mode == NONBLOCKING
    assert by_name()["MPI_Send_init"].mode == PERSISTENT
    assert by_name()["MPI_Bcast_init_c"].mode == PERSISTENT
    assert by_name()["MPI_Precv_init"].mode == PARTITIONED
    blocking = {"MPI_Send", "MPI_Wait", "MPI_Start", "MPI_Startall", "MPI_Init", "MPI_Session_init"}
    assert not [name for name in blocking if by_name()[name].mode != "blocking"]


def test_parameters_that_matter_are_pointed_out() -> None:
    waitall = by_name()["MPI_Waitall"]
    put = by_name()["MPI_Put"]

    assert waitall.parameters[waitall.requests or 0].is_array
    assert waitall.statuses == 2
    assert by_name()["MPI_Sendrecv"].peer == 3
    assert by_name()["MPI_Recv"].peer is None
    assert put.parameters[put.window or 0].name == "win"
    assert put.communicator is None
    assert by_name()["MPI_File_open"].communicator == 0
    assert by_name()["MPI_File_read"].file == 0
    # It makes a communicator of others.
    assert by_name()["MPI_Comm_dup"].communicator == 0
    assert by_name()["MPI_Comm_get_parent"].communicator is None
    assert [it.name for it in by_name()["MPI_Init"].parameters] == ["argc", "argv"]
    assert by_name()["MPI_Init"].fortran_parameters == ()


def test_large_count_twins_are_routines_with_the_same_parameters() -> None:
    twins = [routine for routine in routines() if routine.is_large]

    assert len(twins) > 100
    for twin in twins:
        names = {it.name for it in by_name()[twin.name.removesuffix("_c")].parameters}
        assert names <= {it.name for it in twin.parameters}


def test_what_is_no_routine_is_none() -> None:
    assert "MPI_COMM_DUP_FN" in predefined_functions()
    assert "MPI_CONVERSION_FN_NULL_c" in predefined_functions()
    assert not [it.name for it in routines() if it.name.startswith("MPI_T_")]
    assert not predefined_functions() & set(by_name())
    assert "MPI_User_function" not in by_name()


def test_an_extension_is_known_by_what_the_standard_made_of_it() -> None:
    bcast = extension("MPIX_Bcast_init", 700)
    own = extension("MPIX_Comm_agree", 701)

    assert (bcast.number, bcast.mode, bcast.routine_class) == (700, PERSISTENT, COLLECTIVE)
    assert (own.number, own.is_known, own.routine_class) == (701, False, COMMUNICATOR)


def test_who_waits_for_all_is_known_by_the_name_alone() -> None:
    own = {it.name for it in routines() if it.may_wait_for_all}
    assert {it.name for it in routines() if may_wait_for_all(it.name)} == own
    assert {"MPI_Allreduce", "MPI_Bcast_c", "MPI_Barrier"} <= own
    assert not {"MPI_Ibarrier", "MPI_Bcast_init", "MPI_Neighbor_alltoall", "MPI_Send"} & own
