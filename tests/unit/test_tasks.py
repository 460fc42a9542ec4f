"""Records of exiting threads, put together into rows: true ones, damaged ones, and noise."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnomon.counters.component import RawCount
from gnomon.counters.perf import PerfSpec, Term
from gnomon.counters.pmu import Encoding
from gnomon.counters.tasks import TaskRecords, TaskRow

LOST, COMM, FORK, READ, EXIT = 2, 3, 7, 8, 4
DUMMY_ID, FIRST_ID, SECOND_ID = 100, 101, 102
NATIVES = {DUMMY_ID: -1, FIRST_ID: 0, SECOND_ID: 1}
SPEC = PerfSpec.of(Encoding(1, 2))


def record(kind: int, body: bytes) -> bytes:
    return struct.pack("<IHH", kind, 0, 8 + len(body)) + body


def sample_id(tid: int, at: int) -> bytes:
    return struct.pack("<IIQ", tid, tid, at)


def fork(pid: int, ppid: int, tid: int, parent: int, at: int) -> bytes:
    return record(FORK, struct.pack("<IIIIQ", pid, ppid, tid, parent, at) + sample_id(parent, at))


def comm(pid: int, tid: int, name: bytes, at: int) -> bytes:
    padded = name + bytes(8 - len(name) % 8)
    return record(COMM, struct.pack("<II", pid, tid) + padded + sample_id(tid, at))


def read(pid: int, tid: int, value: int, running: int, event: int, at: int = 0) -> bytes:
    body = struct.pack("<IIQQQQ", pid, tid, value, running, running, event)
    return record(READ, body + sample_id(tid, at))


def rows(*pieces: bytes, events: int = 1) -> tuple[TaskRow, ...]:
    records = TaskRecords(NATIVES)
    for piece in pieces:
        records.feed(piece)
    assert records.lost == 0
    return records.rows([SPEC] * events)


# --- true records ---------------------------------------------------------------------------------


def test_counts_of_a_thread_are_added_up_over_cpus() -> None:
    (row,) = rows(
        read(10, 10, 3, 50, FIRST_ID) + read(10, 10, 0, 50, DUMMY_ID),
        read(10, 10, 4, 70, FIRST_ID) + read(10, 10, 0, 70, DUMMY_ID),
    )
    assert (row.pid, row.tid) == (10, 10)
    assert row.counts == (RawCount(7, 120, 120),)


def test_several_events_keep_apart() -> None:
    (row,) = rows(
        read(10, 11, 3, 50, FIRST_ID) + read(10, 11, 9, 25, SECOND_ID)
        + read(10, 11, 0, 50, DUMMY_ID),
        events=2,
    )  # fmt: skip
    # The second had a counter for half of the time only.
    assert row.counts == (RawCount(3, 50, 50), RawCount(9, 50, 25))


def test_sum_of_natives() -> None:
    spec = PerfSpec((Term(1, Encoding(4, 1)), Term(8, Encoding(4, 2))))
    records = TaskRecords(NATIVES)
    records.feed(read(5, 5, 3, 10, FIRST_ID) + read(5, 5, 2, 10, SECOND_ID)
                 + read(5, 5, 0, 10, DUMMY_ID))  # fmt: skip
    (row,) = records.rows([spec])
    assert row.counts == (RawCount(19, 10, 10),)


def test_thread_that_still_runs_has_no_counts() -> None:
    first, second = rows(fork(11, 10, 11, 10, 5) + read(10, 10, 3, 50, FIRST_ID)
                         + read(10, 10, 0, 50, DUMMY_ID))  # fmt: skip
    assert first.counts is not None
    assert (second.pid, second.ppid, second.counts) == (11, 10, None)


def test_names_are_the_last_ones() -> None:
    found = rows(
        comm(10, 10, b"sh", 1) + comm(10, 10, b"ls", 7),
        fork(11, 10, 11, 10, 5),
        fork(12, 10, 12, 10, 9),
        comm(13, 13, b"other", 4),
        fork(13, 10, 13, 10, 2),
    )
    # What forked before its parent became another program keeps the older name.
    assert {row.pid: row.name for row in found} == {10: "ls", 11: "sh", 12: "ls", 13: "other"}


def test_names_come_from_afar() -> None:
    found = rows(fork(12, 11, 12, 11, 6) + fork(11, 10, 11, 10, 5) + comm(10, 10, b"make", 1))
    assert {row.name for row in found if row.pid > 10} == {"make"}


def test_names_with_odd_bytes() -> None:
    (row,) = rows(comm(10, 10, b"\xff\x1b[1m", 1))
    assert row.name == "�\x1b[1m"


def test_rings_may_be_drained_in_any_order() -> None:
    pieces = [fork(11, 10, 11, 10, 5), comm(10, 10, b"sh", 1), comm(11, 11, b"ls", 6),
              read(11, 11, 4, 9, FIRST_ID), read(11, 11, 0, 9, DUMMY_ID)]  # fmt: skip
    assert rows(*pieces) == rows(*reversed(pieces))


def test_loops_of_parents_end() -> None:
    """Process numbers are used again: a record of an old one must not lead round in circles."""
    found = rows(fork(10, 11, 10, 11, 9), fork(11, 10, 11, 10, 9))
    assert [row.name for row in found] == ["", ""]


def test_lost_records_are_counted() -> None:
    records = TaskRecords(NATIVES)
    records.feed(record(LOST, struct.pack("<QQ", DUMMY_ID, 17)))
    records.feed(record(LOST, struct.pack("<QQ", DUMMY_ID, 3)))
    assert records.lost == 20


# --- damage ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("cut", range(1, 100, 7))
def test_cut_off_records_are_noticed(cut: int) -> None:
    whole = read(10, 10, 3, 50, FIRST_ID)
    records = TaskRecords(NATIVES)
    records.feed(whole + whole[: cut % len(whole)])
    (row,) = records.rows([SPEC])
    assert row.counts is not None
    assert row.counts[0].raw == 3
    assert records.lost == (1 if cut % len(whole) >= 8 else 0)


def test_records_of_other_kinds_are_passed_over() -> None:
    noise = record(EXIT, bytes(24)) + record(9, bytes(40)) + record(77, b"")
    (row,) = rows(noise + read(10, 10, 3, 50, FIRST_ID) + noise + read(10, 10, 1, 1, 999))
    assert row.counts is not None
    assert row.counts[0].raw == 3


RECORDS = st.builds(
    record, st.sampled_from([LOST, COMM, FORK, READ, EXIT]), st.binary(max_size=80)
)  # fmt: skip


@settings(deadline=None, max_examples=300)
@given(st.lists(st.binary(max_size=100) | RECORDS, max_size=8))
def test_no_bytes_raise(pieces: list[bytes]) -> None:
    records = TaskRecords(NATIVES)
    for piece in pieces:
        records.feed(piece)
    found = records.rows([SPEC])
    assert records.lost >= 0
    assert [(row.pid, row.tid) for row in found] == sorted((row.pid, row.tid) for row in found)
    assert all(isinstance(row.name, str) for row in found)


@given(st.binary(max_size=7))
def test_less_than_a_header_is_nothing(data: bytes) -> None:
    records = TaskRecords(NATIVES)
    records.feed(data)
    assert records.rows([SPEC]) == ()
