"""Records of exiting threads, put together into rows: true ones, damaged ones, and noise."""

from __future__ import annotations

import os
import struct
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from property_tests import examples

from gnomon.counters.component import RawCount
from gnomon.counters.perf_spec import PerfSpec, Term
from gnomon.counters.sysfs_pmu import Encoding
from gnomon.counters.thread_records import TaskRecords, TaskRow

LOST, COMM, EXIT, FORK, READ = 2, 3, 4, 7, 8
# The kernel's numbers of three events on two CPUs, and which native event each is of.
DUMMY_ID, FIRST_ID, SECOND_ID = 100, 101, 102
ELSEWHERE = 100
NATIVES = {100: -1, 101: 0, 102: 1, 200: -1, 201: 0, 202: 1}
SPEC = PerfSpec.of(Encoding(1, 2))
# No process ever has these numbers: pid_max is 4 194 304 at most.
P, Q, R, S = 5_000_010, 5_000_011, 5_000_012, 5_000_013


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


def totals(*pieces: bytes) -> dict[int, tuple[int, int]]:
    """Return the sums of what READ records say, by event: what the kernel itself has counted."""
    sums = dict.fromkeys(NATIVES, (0, 0))
    for piece in pieces:
        at = 0
        while at < len(piece):
            kind, _, size = struct.unpack_from("<IHH", piece, at)
            if kind == READ:
                _, _, value, _, running, event = struct.unpack_from("<IIQQQQ", piece, at + 8)
                if event in sums:
                    raw, ran = sums[event]
                    sums[event] = raw + value, ran + running
            at += size
    return sums


def rows(*pieces: bytes, events: int = 1, lacking: Sequence[bytes] = ()) -> tuple[TaskRow, ...]:
    """Return the rows of records; those `lacking` are in the totals only."""
    records = TaskRecords(NATIVES)
    for piece in pieces:
        records.feed(piece)
    assert records.lost == 0
    return records.rows([SPEC] * events, totals(*pieces, *lacking))


# --- true records ---------------------------------------------------------------------------------


def test_counts_of_a_thread_are_added_up_over_cpus() -> None:
    (row,) = rows(
        read(P, P, 3, 50, FIRST_ID) + read(P, P, 0, 50, DUMMY_ID),
        read(P, P, 4, 70, FIRST_ID + ELSEWHERE) + read(P, P, 0, 70, DUMMY_ID + ELSEWHERE),
    )
    assert (row.pid, row.tid, row.running) == (P, P, False)
    assert row.counts == (RawCount(7, 120, 120),)


def test_several_events_keep_apart() -> None:
    (row,) = rows(
        read(P, Q, 3, 50, FIRST_ID) + read(P, Q, 9, 25, SECOND_ID) + read(P, Q, 0, 50, DUMMY_ID),
        events=2,
    )
    # The second had a counter for half of the time only.
    assert row.counts == (RawCount(3, 50, 50), RawCount(9, 50, 25))


def test_sum_of_natives() -> None:
    spec = PerfSpec((Term(1, Encoding(4, 1)), Term(8, Encoding(4, 2))))
    data = read(P, P, 3, 9, FIRST_ID) + read(P, P, 2, 9, SECOND_ID) + read(P, P, 0, 9, DUMMY_ID)
    records = TaskRecords(NATIVES)
    records.feed(data)
    (row,) = records.rows([spec], totals(data))
    assert row.counts == (RawCount(19, 9, 9),)


def test_thread_that_still_runs_has_no_counts() -> None:
    own = os.getpid()
    found = rows(
        fork(own, P, own, P, 5) + read(P, P, 3, 50, FIRST_ID) + read(P, P, 0, 50, DUMMY_ID),
        lacking=[read(own, own, 4, 9, FIRST_ID)],
    )
    by_pid = {row.pid: row for row in found}
    assert by_pid[P].counts is not None
    assert (by_pid[own].ppid, by_pid[own].counts, by_pid[own].running) == (P, None, True)


def test_names_are_the_last_ones() -> None:
    found = rows(
        comm(P, P, b"sh", 1) + comm(P, P, b"ls", 7),
        fork(Q, P, Q, P, 5),
        fork(R, P, R, P, 9),
        comm(S, S, b"other", 4),
        fork(S, P, S, P, 2),
    )
    # What forked before its parent became another program keeps the older name.
    assert {row.pid: row.name for row in found} == {P: "ls", Q: "sh", R: "ls", S: "other"}


def test_names_come_from_afar() -> None:
    found = rows(fork(R, Q, R, Q, 6) + fork(Q, P, Q, P, 5) + comm(P, P, b"make", 1))
    assert {row.name for row in found if row.pid != P} == {"make"}


def test_names_with_odd_bytes() -> None:
    (row,) = rows(comm(P, P, b"\xff\x1b[1m", 1))
    assert row.name == "\ufffd\x1b[1m"


def test_rings_may_be_drained_in_any_order() -> None:
    pieces = [fork(Q, P, Q, P, 5), comm(P, P, b"sh", 1), comm(Q, Q, b"ls", 6),
              read(Q, Q, 4, 9, FIRST_ID), read(Q, Q, 0, 9, DUMMY_ID)]  # fmt: skip
    assert rows(*pieces) == rows(*reversed(pieces))


def test_loops_of_parents_end() -> None:
    """Process numbers are used again: a record of an old one must not lead round in circles."""
    found = rows(fork(P, Q, P, Q, 9), fork(Q, P, Q, P, 9))
    assert [row.name for row in found] == ["", ""]


# --- records that the kernel lost -----------------------------------------------------------------


def test_the_only_missing_record_follows_from_the_total() -> None:
    found = rows(
        fork(Q, P, Q, P, 1) + read(P, P, 3, 50, FIRST_ID) + read(P, P, 0, 50, DUMMY_ID)
        + read(Q, Q, 0, 70, DUMMY_ID),
        lacking=[read(Q, Q, 39, 70, FIRST_ID)],
    )  # fmt: skip
    assert {row.pid: row.counts for row in found} == {
        P: (RawCount(3, 50, 50),),
        Q: (RawCount(39, 70, 70),),
    }


def test_of_two_missing_records_nobody_knows() -> None:
    found = rows(
        fork(Q, P, Q, P, 1) + fork(R, P, R, P, 2) + read(P, P, 3, 50, FIRST_ID)
        + read(P, P, 0, 50, DUMMY_ID),
        lacking=[read(Q, Q, 39, 70, FIRST_ID), read(R, R, 1, 1, FIRST_ID)],
    )  # fmt: skip
    by_pid = {row.pid: row for row in found}
    assert by_pid[P].counts == (RawCount(3, 50, 50),)
    assert by_pid[Q].counts is by_pid[R].counts is None
    assert not by_pid[Q].running


def test_missing_records_of_nothing_are_nothing() -> None:
    """A thread writes one for each CPU, also for those it never ran on."""
    data = read(P, P, 3, 50, FIRST_ID) + read(P, P, 0, 50, DUMMY_ID)
    found = rows(fork(Q, P, Q, P, 1) + fork(R, P, R, P, 2) + data)
    assert [row.counts for row in found] == [
        (RawCount(3, 50, 50),),
        (RawCount(0, 0, 0),),
        (RawCount(0, 0, 0),),
    ]


def test_records_that_do_not_add_up_are_not_believed() -> None:
    data = read(P, P, 3, 50, FIRST_ID) + read(P, P, 0, 50, DUMMY_ID)
    records = TaskRecords(NATIVES)
    records.feed(data)
    for wrong in (2, 4):
        (row,) = records.rows([SPEC], totals(data) | {FIRST_ID: (wrong, 50)})
        assert row.counts is None


def test_a_record_with_the_fields_of_two_is_not_believed() -> None:
    """P's has the time of Q's, and Q's is missing: the totals alone do not tell."""
    dummies = read(P, P, 0, 50, DUMMY_ID) + read(Q, Q, 0, 70, DUMMY_ID)
    records = TaskRecords(NATIVES)
    records.feed(fork(Q, P, Q, P, 1) + dummies + read(P, P, 3, 70, FIRST_ID))
    true = totals(dummies, read(P, P, 3, 50, FIRST_ID), read(Q, Q, 39, 70, FIRST_ID))
    found = records.rows([SPEC], true)
    assert [row.counts for row in found] == [None, None]


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
    (row,) = records.rows([SPEC], totals(whole))
    assert row.counts is not None
    assert row.counts[0].raw == 3
    assert records.lost == (1 if cut % len(whole) >= 8 else 0)


def test_what_is_between_records_is_left_out() -> None:
    """Two CPUs may write over each other: what is whole before and after that is still read."""
    noise = record(5, bytes(24)) + record(77, b"") + bytes(16)
    records = TaskRecords(NATIVES)
    records.feed(noise + read(P, P, 3, 50, FIRST_ID) + noise + read(Q, Q, 0, 1, FIRST_ID))
    found = records.rows([SPEC], dict.fromkeys(NATIVES, (0, 0)) | {FIRST_ID: (3, 51)})
    assert [(row.pid, row.counts and row.counts[0].raw) for row in found] == [(P, 3), (Q, 0)]
    assert records.lost == 2


def test_no_thread_has_the_number_0() -> None:
    """As in records that two CPUs wrote at once."""
    body = struct.pack("<IIIIQ", P, 0, 0, 0, 0)
    noise = [record(EXIT, body), record(FORK, body), read(P, 0, 0, 0, FIRST_ID), comm(P, 0, b"", 1)]
    (row,) = rows(*noise, read(P, P, 3, 50, FIRST_ID))
    assert (row.tid, row.name) == (P, "")


def test_events_of_others_are_passed_over() -> None:
    (row,) = rows(read(P, P, 3, 50, FIRST_ID) + read(P, P, 1, 1, 999))
    assert row.counts is not None
    assert row.counts[0].raw == 3


RECORDS = st.builds(
    record, st.sampled_from([LOST, COMM, FORK, READ, EXIT]), st.binary(max_size=80)
)  # fmt: skip


@examples(300)
@given(st.lists(st.binary(max_size=100) | RECORDS, max_size=8))
def test_no_bytes_raise(pieces: list[bytes]) -> None:
    records = TaskRecords(NATIVES)
    for piece in pieces:
        records.feed(piece)
    found = records.rows([SPEC], dict.fromkeys(NATIVES, (1000, 1000)))
    assert records.lost >= 0
    assert [(row.pid, row.tid) for row in found] == sorted((row.pid, row.tid) for row in found)
    assert all(isinstance(row.name, str) for row in found)


@given(st.binary(max_size=7))
def test_less_than_a_header_is_nothing(data: bytes) -> None:
    records = TaskRecords(NATIVES)
    records.feed(data)
    assert records.rows([SPEC], totals()) == ()
