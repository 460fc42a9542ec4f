"""Page faults by file, from records as the kernel writes them, in whatever order they come."""

from __future__ import annotations

import struct

from hypothesis import given
from hypothesis import strategies as st

from gnomon.io.fault_records import FaultRecords, Mappings

PID, CHILD = 100, 101
EXECUTES = 1 << 13


def record(kind: int, body: bytes, time: int = 0, flags: int = 0) -> bytes:
    """Return a record, which says at its end whose it is and when it was."""
    trailer = b"" if kind == 9 else struct.pack("=IIQ", PID, PID, time)
    return struct.pack("=IHH", kind, flags, 8 + len(body) + len(trailer)) + body + trailer


def mapping(time: int, start: int, length: int, path: str, pid: int = PID) -> bytes:
    """Return the record of a mapping."""
    name = path.encode() + b"\0"
    name += bytes(-len(name) % 8)
    where = struct.pack("=IIQQQIIQQII", pid, pid, start, length, 0, 0, 0, 0, 0, 1, 2)
    return record(10, where + name, time)


def fault(time: int, address: int, pid: int = PID) -> bytes:
    """Return the record of a page fault."""
    return record(9, struct.pack("=IIQQ", pid, pid, time, address))


def counted(*batches: list[bytes]) -> dict[tuple[int, str], int]:
    """Return what is counted of several looks at the rings."""
    records = FaultRecords()
    for batch in batches:
        records.feed(batch)
    records.feed([], is_last=True)
    return dict(records.faults)


def test_a_fault_is_of_the_file_that_was_mapped_then() -> None:
    first = mapping(1, 0x1000, 0x2000, "/a") + fault(2, 0x1000) + fault(3, 0x2FFF)
    later = mapping(4, 0x1000, 0x1000, "/b") + fault(5, 0x1000) + fault(6, 0x2000)
    nobody = fault(7, 0x3000) + mapping(8, 0x1000, 0x2000, "//anon") + fault(9, 0x1000)
    assert counted([first + later + nobody]) == {(PID, "/a"): 3, (PID, "/b"): 1}


def test_records_of_cpus_are_put_in_order() -> None:
    faults = fault(20, 0x1000) + fault(40, 0x1000)
    mappings = mapping(10, 0x1000, 0x1000, "/a") + mapping(30, 0x1000, 0x1000, "/b")
    expected = {(PID, "/a"): 1, (PID, "/b"): 1}
    assert counted([faults, mappings]) == expected
    # The other ring was looked at before the mappings were there.
    assert counted([b"", faults], [mappings, b""]) == expected


def test_children_have_what_their_parents_had_and_programs_begin_anew() -> None:
    fork = record(7, struct.pack("=IIIIQ", CHILD, PID, CHILD, PID, 2), 2)
    name = record(3, struct.pack("=II", CHILD, CHILD) + b"new\0\0\0\0\0", 5, EXECUTES)
    ring = b"".join(
        [
            mapping(1, 0x1000, 0x1000, "/a"), fork, mapping(3, 0x1000, 0x1000, "/b"),
            fault(4, 0x1000, CHILD), name, fault(6, 0x1000, CHILD), fault(7, 0x1000),
        ]
    )  # fmt: skip
    assert counted([ring]) == {(CHILD, "/a"): 1, (PID, "/b"): 1}


def test_what_the_kernel_lost_is_told() -> None:
    records = FaultRecords()
    records.feed([record(2, struct.pack("=QQ", 1, 7), 1)], is_last=True)
    assert records.lost == 7


@given(
    st.lists(
        st.tuples(st.integers(0, 30), st.integers(1, 12), st.sampled_from(["/a", "/b", "/c", ""]))
    )
)
def test_addresses_are_those_of_the_last_mapping(added: list[tuple[int, int, str]]) -> None:
    mappings, pages = Mappings(), [""] * 50
    for start, length, path in added:
        mappings.add(start, start + length, path)
        pages[start : start + length] = [path] * length
    assert [mappings.path_of(page) for page in range(50)] == pages


@given(st.lists(st.binary(max_size=200), max_size=3))
def test_no_bytes_are_too_odd(rings: list[bytes]) -> None:
    FaultRecords().feed(rings, is_last=True)


@given(st.binary(max_size=100), st.sampled_from([2, 3, 7, 9, 10]))
def test_no_record_is_too_odd(body: bytes, kind: int) -> None:
    FaultRecords().feed([record(kind, body, 1, EXECUTES)], is_last=True)


def test_what_is_executed_is_what_is_mapped_first() -> None:
    records = FaultRecords()
    name = record(3, struct.pack("=II", PID, PID) + b"new\0\0\0\0\0", 1, EXECUTES)
    again = record(3, struct.pack("=II", PID, PID) + b"new\0\0\0\0\0", 4, EXECUTES)
    mapped = [
        mapping(2, 0x5000, 0x1000, "[vdso]"), mapping(2, 0x1000, 0x1000, "/program"),
        mapping(3, 0x3000, 0x1000, "/loader"),
    ]  # fmt: skip
    ring = [name, *mapped, again, mapping(5, 0x1000, 0x1000, "/program")]
    records.feed([b"".join(ring)], is_last=True)
    assert records.executed == {"/program": 2}
