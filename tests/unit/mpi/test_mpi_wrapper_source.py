"""The C file of wrappers: what is wrapped of an MPI, and what a wrapper tells."""

from __future__ import annotations

import re
from functools import cache

import pytest

from gnomon.mpi.fortran_source import fortran_source
from gnomon.mpi.header import Header, parse_header, read_header
from gnomon.mpi.routines import BLOCKING, routines
from gnomon.mpi.wrapper import identifier
from gnomon.mpi.wrapper_source import (
    NEVER_RETURN,
    names,
    unwrapped,
    wrapper_source,
    wrappers,
)

BOTH = ("mpicc.openmpi", "mpicc.mpich")


@cache
def header_of(compiler: str) -> Header:
    return read_header(compiler)


@cache
def source_of(compiler: str) -> str:
    header = header_of(compiler)
    return wrapper_source(header, fortran_source(header))


def source(declarations: str) -> str:
    return wrapper_source(parse_header(declarations, "mpicc"))


@cache
def bodies_of(text: str) -> dict[str, str]:
    head = r"^\w[^\n]*\((MPIX?_\w+)\)\([^\n]*\)\n"
    found = re.finditer(head + r"\{\n(.*?)^\}", text, re.MULTILINE | re.DOTALL)
    return {match[1]: match[2] for match in found}


def body_of(text: str, name: str) -> str:
    return bodies_of(text)[name]


@pytest.mark.parametrize("compiler", BOTH)
def test_every_function_is_wrapped_or_listed_with_its_reason(compiler: str) -> None:
    header = header_of(compiler)

    wrapped = {wrapper.function.name for wrapper in wrappers(header)}
    listed = dict(unwrapped(header))

    assert wrapped | set(listed) >= set(header.functions) | set(header.unprofiled)
    assert not wrapped & set(listed)
    assert all(listed.values())
    # Of the two MPIs here, only the interface for tools is left out.
    assert {name[:6] for name in listed} == {"MPI_T_"}
    for name in wrapped:
        assert body_of(source_of(compiler), name)


def test_what_no_header_lets_a_wrapper_call_is_listed() -> None:
    header = parse_header(
        "int PMPI_Send(int); int PMPI_T_init_thread(int, int *); int MPIX_Own(int);"
        "int PMPI_COMM_DUP_FN(int); int MPI_NULL_COPY_FN(int);",
        "mpicc",
    )

    listed = dict(unwrapped(header, ["PMPI_Type_ub", "MPI_Send", "MPI_WIN_DUP_FN", "ompi_send_f"]))

    assert [wrapper.function.name for wrapper in wrappers(header)] == ["MPI_Send"]
    assert "no PMPI function" in listed.pop("MPIX_Own")
    assert "does not declare it" in listed.pop("MPI_Type_ub")
    assert "interface for tools" in listed.pop("MPI_T_init_thread")
    for name in ("MPI_COMM_DUP_FN", "MPI_NULL_COPY_FN", "MPI_WIN_DUP_FN"):
        assert "compares it" in listed.pop(name)
    assert listed == {}


@pytest.mark.parametrize("compiler", BOTH)
def test_numbers_in_c_are_those_of_the_routines(compiler: str) -> None:
    text = source_of(compiler)

    numbers = {it[1]: int(it[2]) for it in re.finditer(r"^\t(GN_MPI_\w+) = (\d+),", text, re.M)}

    count = numbers.pop("GN_MPI_ROUTINES")
    for routine in routines():
        assert numbers.pop(identifier(routine.name)) == routine.number
    # What is beyond the standard has numbers behind it.
    extensions = [wrapper for wrapper in wrappers(header_of(compiler)) if not wrapper.arguments]
    assert set(numbers) <= {wrapper.identifier for wrapper in extensions}
    assert sorted(numbers.values()) == list(range(len(routines()) + 1, count))
    assert len(names(header_of(compiler))) == count


def test_extensions_are_numbered_behind_the_standard() -> None:
    header = parse_header("int PMPIX_B(int a); int PMPIX_A(int a); int PMPI_Send(int);", "mpicc")

    assert [it.routine.name for it in wrappers(header)] == ["MPI_Send", "MPIX_A", "MPIX_B"]
    assert names(header)[len(routines()) + 1 :] == ("MPIX_A", "MPIX_B")
    assert wrappers(header)[2].identifier == "GN_MPI_ID_X_B"
    assert "return gn_next_MPIX_B(a);" in body_of(wrapper_source(header), "MPIX_B")


def test_a_wrapper_has_the_prototype_of_its_header() -> None:
    text = source("long PMPI_Wtime(void); int PMPI_Send(void *, int, int, int d, int, MPI_Comm);")

    assert "\nlong (MPI_Wtime)(void)\n" in text
    assert (
        "\nint (MPI_Send)(void *argument1, int argument2, int argument3, int d, int argument5, "
        "MPI_Comm argument6)\n"
    ) in text
    # Its parameters are known by where they are, not by their names.
    assert "gn_bytes(argument2, argument3)" in body_of(text, "MPI_Send")
    assert "gn_mpi_set_peer(&gn_call, argument6, d);" in body_of(text, "MPI_Send")


def test_one_with_other_parameters_than_the_standard_is_counted_and_nothing_is_told_of_them() -> (
    None
):
    body = body_of(source("int PMPI_Send(void *buf, int count);"), "MPI_Send")

    assert "gn_mpi_begin(&gn_call, GN_MPI_ID_Send," in body
    assert "gn_bytes" not in body


@pytest.mark.parametrize("compiler", BOTH)
def test_the_clock_is_stopped_before_anything_is_computed(compiler: str) -> None:
    for wrapper in wrappers(header_of(compiler)):
        if wrapper.function.name in NEVER_RETURN:
            continue
        body = body_of(source_of(compiler), wrapper.function.name)
        before, after = re.split(r"\tgn_(?:mpi_stop|stop_seldom)\(&gn_call\);\n", body)
        assert f"gn_next_{wrapper.function.name}(" in before
        assert "gn_bytes(" not in before
        assert "gn_mpi_end(&gn_call);" in after


def test_varargs_go_on_as_words() -> None:
    body = body_of(source_of("mpicc.mpich"), "MPI_Pcontrol")

    assert "gn_result = gn_next_MPI_Pcontrol(level, GN_WORDS);" in body
    assert body.index("GN_TAKE_WORDS(level);") < body.index("gn_next_")


def test_begin_and_end_of_mpi_are_told() -> None:
    text = source_of("mpicc.mpich")

    for name in ("MPI_Init", "MPI_Init_thread"):
        assert body_of(text, name).index("gn_mpi_up") > body_of(text, name).index("gn_stop_seldom")
    finalize = body_of(text, "MPI_Finalize")
    assert finalize.index("gn_mpi_down") < finalize.index("= gn_next_")
    # All ranks see the end, whatever they switched off.
    assert finalize.index("gn_mpi_control(1);") < finalize.index("gn_begin_seldom")
    # A session may end while MPI_COMM_WORLD goes on.
    for name in ("MPI_Session_init", "MPI_Session_finalize"):
        assert "gn_mpi_up" not in body_of(text, name)
        assert "gn_mpi_down" not in body_of(text, name)


def test_a_call_that_never_returns_is_counted_before() -> None:
    body = body_of(source_of("mpicc.mpich"), "MPI_Abort")

    assert body.index("gn_mpi_down") < body.index("gn_mpi_end")
    assert body.rindex("gn_next_MPI_Abort(") > body.index("gn_mpi_end")


def test_each_wrapper_calls_the_mpi_unless_another_tool_comes_between() -> None:
    text = source("int PMPI_Send(int); int PMPI_Recv(int);")

    for name in ("Send", "Recv"):
        assert f"gn_next_MPI_{name} = PMPI_{name};" in text
        assert f"\t[GN_MPI_ID_{name}] = &gn_next_MPI_{name}," in text


def test_what_a_persistent_operation_moves_is_told_of_its_request_only() -> None:
    call, _, request = body_of(source_of("mpicc.mpich"), "MPI_Send_init").partition("gn_mpi_end")

    assert "gn_call.sent" not in call
    assert "gn_call.sent = " in request
    assert "gn_mpi_start(&gn_call, request, GN_MPI_PERSISTS);" in request


@pytest.mark.parametrize("compiler", BOTH)
def test_a_request_that_receives_is_told_to(compiler: str) -> None:
    text = source_of(compiler)

    starts = {
        wrapper.function.name: flags[1]
        for wrapper in wrappers(header_of(compiler))
        if (flags := re.search(r"gn_mpi_start\(.*, (.*)\);", body_of(text, wrapper.function.name)))
    }

    assert starts["MPI_Irecv"] == "GN_MPI_RECEIVES"
    assert starts["MPI_Recv_init"] == "GN_MPI_RECEIVES | GN_MPI_PERSISTS"
    assert starts["MPI_File_iread"] == "GN_MPI_RECEIVES"
    assert starts["MPI_Ibcast"] == starts["MPI_Isend"] == "0"
    assert set(starts) == {
        wrapper.function.name
        for wrapper in wrappers(header_of(compiler))
        if wrapper.routine.mode != BLOCKING and wrapper.arguments
    }


@pytest.mark.parametrize("compiler", BOTH)
def test_no_status_of_the_program_is_left_out_or_replaced_unasked(compiler: str) -> None:
    text = source_of(compiler)
    for name in ("MPI_Recv", "MPI_Sendrecv", "MPI_Mrecv", "MPI_File_read", "MPI_Wait", "MPI_Test"):
        assert re.search(
            r"gn_status = (\w+) == MPI_STATUS_IGNORE \? &gn_own : \1;", body_of(text, name)
        )
    for name in ("MPI_Probe", "MPI_Iprobe", "MPI_Request_get_status", "MPI_Status_set_elements"):
        assert "gn_status" not in body_of(text, name)


def test_an_mpi_whose_fortran_is_not_known_has_no_interposers_for_it() -> None:
    assert fortran_source(parse_header("int PMPI_Send(int);", "mpicc")) == ""
