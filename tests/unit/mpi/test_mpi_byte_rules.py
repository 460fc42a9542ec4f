"""What counts as bytes: the table is complete, and makes sense for every routine that it is for."""

from __future__ import annotations

import pytest

from gnomon.errors import MpiError
from gnomon.mpi.byte_rules import (
    c_expression,
    exception_of,
    exceptions,
    markdown,
    rule_of,
    rule_texts,
    rules,
)
from gnomon.mpi.routines import BLOCKING, Routine, by_name, routines


def with_buffer(routine: Routine) -> bool:
    return any(parameter.kind == "BUFFER" for parameter in routine.parameters)


def names_of(routine: Routine) -> dict[str, str]:
    names = {parameter.name: parameter.name for parameter in routine.parameters}
    return names if routine.mode == BLOCKING else names | {"status": "status"}


def c_of(name: str) -> tuple[str, str]:
    routine = by_name()[name]
    rule = rule_of(routine)
    assert rule is not None
    texts = [
        c_expression(text, routine, names_of(routine)) if text else ""
        for text in (rule.sent, rule.received)
    ]
    return texts[0], texts[1]


def test_every_routine_with_a_buffer_has_a_rule_or_a_reason() -> None:
    neither = [
        routine.name
        for routine in routines()
        if with_buffer(routine) and rule_of(routine) is None and not exception_of(routine)
    ]

    assert neither == []


def test_no_routine_has_both_and_none_has_a_reason_without_a_buffer() -> None:
    assert [it.name for it in routines() if rule_of(it) and exception_of(it)] == []
    pointless = [
        name
        for name in exceptions()
        if not with_buffer(by_name()[name])
        and not any(it.kind.startswith("C_BUFFER") for it in by_name()[name].parameters)
    ]
    assert pointless == []


def test_no_routine_without_a_buffer_moves_data() -> None:
    assert [it.name for it in routines() if rule_of(it) and not with_buffer(it)] == []


def test_every_rule_makes_sense_for_every_routine_that_it_is_for() -> None:
    checked = 0
    for routine in routines():
        rule = rule_of(routine)
        for text in (rule.sent, rule.received) if rule else ():
            if text:
                assert c_expression(text, routine, names_of(routine))
                checked += 1

    assert checked > 250


@pytest.mark.parametrize(
    ("twin", "of"),
    [
        ("MPI_Isend", "MPI_Send"),
        ("MPI_Ssend_init_c", "MPI_Send"),
        ("MPI_Imrecv_c", "MPI_Recv"),
        ("MPI_Ireduce_scatter", "MPI_Reduce_scatter"),
        ("MPI_Ineighbor_alltoallv", "MPI_Neighbor_alltoallv"),
        ("MPI_Alltoallw_init", "MPI_Alltoallw"),
        ("MPI_Rput", "MPI_Put"),
        ("MPI_Rget_accumulate_c", "MPI_Get_accumulate"),
        ("MPI_File_iwrite_at_all", "MPI_File_write_at_all"),
    ],
)
def test_twins_have_the_rule_of_the_routine_that_they_are_twins_of(twin: str, of: str) -> None:
    assert rule_of(by_name()[twin]) is rule_of(by_name()[of])


def test_rules_are_told_apart_where_names_only_look_alike() -> None:
    sent = {name: c_of(name)[0] for name in ("MPI_Rsend", "MPI_Reduce", "MPI_Psend_init")}

    assert sent["MPI_Rsend"] == "((dest == MPI_PROC_NULL) ? 0 : gn_bytes(count, datatype))"
    assert "MPI_ROOT" in sent["MPI_Reduce"]
    assert "((int64_t)partitions * count)" in sent["MPI_Psend_init"]
    assert rule_of(by_name()["MPI_Iprobe"]) is None
    assert rule_of(by_name()["MPI_Init"]) is None


def test_expressions_are_computed_in_64_bits() -> None:
    assert c_of("MPI_Alltoall")[1] == "gn_bytes(((int64_t)gn_ranks(comm) * recvcount), recvtype)"


def test_arrays_are_summed_by_the_function_for_their_type() -> None:
    routine = by_name()["MPI_Alltoallv_c"]
    rule = rule_of(routine)
    assert rule is not None

    text = c_expression(rule.received, routine, names_of(routine), "_c")

    assert text == "gn_bytes(gn_total_c(recvcounts, gn_ranks(comm)), recvtype)"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("bytes(count, datatype", "bytes.toml: 'bytes(count, datatype': '(' was never closed"),
        ("size(count)", "'size(count)' is no expression of this table"),
        ("count.real", "'count.real' is no expression of this table"),
        ("bytes(counts, datatype)", "MPI_Send has no counts"),
        ("bytes(count - 1, datatype)", "'count - 1' is no expression of this table"),
    ],
)
def test_what_is_no_expression_is_refused(text: str, problem: str) -> None:
    routine = by_name()["MPI_Send"]

    with pytest.raises(MpiError) as caught:
        c_expression(text, routine, names_of(routine))
    assert problem in str(caught.value)


def test_the_table_for_people_has_every_rule_once() -> None:
    table = markdown()

    assert len(rule_texts()) == len(rules())
    for rule in rules():
        for name in rule.routines:
            assert table.count(f"`MPI_{name}`") == 1
    assert "`count` × size of `datatype`" in table
