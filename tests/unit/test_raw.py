"""The reader of raw files, against a writer that shares nothing with it but the layout."""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnomon.errors import FormatError
from gnomon.store.raw import HOLES_MAX_BYTES, RawFile, read_raw, sniff

GOLDEN = Path(__file__).parents[1] / "golden" / "raw_version_1.gnraw"

files = settings(max_examples=300)

Read = Callable[[bytes], RawFile]

COMMITTED = 2
RESERVED = 1

RECORDS = [(1, b"first"), (2, b""), (7, bytes(range(40))), (65535, b"\0" * 9)]


def header(order: str = "<", **fields: Any) -> bytes:
    """The header's bytes; fields replace what a killed process of 4 records would have left."""
    values: dict[str, Any] = {
        "magic": b"\x89GNOMON\n",
        "byte_order": 0x01020304,
        "version": 1,
        "header_bytes": 4096,
        "flags": 0,
        "features": 0,
        "capacity": 1 << 30,
        "final": 0,
        "raw_ns": 1_000_000_007,
        "realtime_ns": 1_700_000_000_000_000_009,
        "ticks": 2_600_000_018,
        "ticks_hz": 2.6e9,
        "clock_source": 2,
        "pid": 4711,
        "stop_error": 0,
        "host": b"node17",
        "tail": 4096,
        "lost": 0,
    } | fields
    data = struct.pack(
        order + "8sIIIIQQQQQQdIII36x256s640xQ56xQ3000x",
        *(values[name] for name in values),
    )
    assert len(data) == 4096
    return data


def record(kind: int, payload: bytes, order: str = "<", state: int = COMMITTED) -> bytes:
    data = struct.pack(order + "IHH", 8 + len(payload), kind, state) + payload
    return data + b"\0" * (-len(data) % 8)


def closed_file(
    records: Sequence[tuple[int, bytes]] = RECORDS, order: str = "<", **fields: Any
) -> bytes:
    body = b"".join(record(kind, payload, order) for kind, payload in records)
    end = 4096 + len(body)
    return header(order, **({"flags": 1, "final": end, "tail": end} | fields)) + body


def killed_file(body: bytes, order: str = "<", tail: int | None = None, **fields: Any) -> bytes:
    return header(order, tail=4096 + len(body) if tail is None else tail, **fields) + body


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """Write the bytes to a file and read that."""

    def write_and_read(data: bytes) -> RawFile:
        path = tmp_path / "process.gnraw"
        path.write_bytes(data)
        return read_raw(path)

    return write_and_read


def contents(raw: RawFile) -> list[tuple[int, bytes]]:
    return [(found.type, bytes(found.payload)) for found in raw.records()]


def refused_at(read: Read, data: bytes) -> tuple[int, str]:
    """The offset and message with which the file is refused, at once or when it is walked."""
    with pytest.raises(FormatError) as refusal:
        list(read(data).records())
    assert str(refusal.value).startswith(f"{refusal.value.path}: at byte {refusal.value.offset}: ")
    return refusal.value.offset, str(refusal.value)


def walk(raw: RawFile) -> None:
    """Read all there is to read."""
    for found in raw.records():
        assert found.payload.readonly
        bytes(found.payload)
    assert raw.skipped >= 0


def test_golden_file() -> None:
    data = closed_file(
        flags=3, stop_error=28, lost=5, features=1 << 40, host="gnomon-\u03b3".encode()
    )
    if os.environ.get("GNOMON_UPDATE_GOLDEN"):
        GOLDEN.write_bytes(data)
    assert GOLDEN.read_bytes() == data
    raw = read_raw(GOLDEN)
    assert raw.path == GOLDEN
    assert raw.byte_order == "little"
    assert raw.features == 1 << 40
    assert raw.closed
    assert raw.stop_error == 28
    assert raw.lost == 5
    assert raw.host == "gnomon-\u03b3"
    assert raw.pid == 4711
    assert raw.clock_source == "tsc"
    assert raw.raw_ns == 1_000_000_007
    assert raw.realtime_ns == 1_700_000_000_000_000_009
    assert raw.ticks == 2_600_000_018
    assert raw.ticks_hz == 2.6e9
    assert raw.capacity_bytes == 1 << 30
    assert contents(raw) == RECORDS
    assert raw.skipped == 0


@pytest.mark.parametrize("order", ["<", ">"])
@given(
    records=st.lists(
        st.tuples(st.integers(0, 65535), st.binary(max_size=100), st.booleans()), max_size=20
    ),
    closed=st.booleans(),
)
@files
def test_round_trip(
    read: Read, order: str, records: list[tuple[int, bytes, bool]], closed: bool
) -> None:
    body = b"".join(
        record(kind, payload, order, COMMITTED if complete else RESERVED)
        for kind, payload, complete in records
    )
    end = 4096 + len(body)
    if closed:
        data = header(order, flags=1, final=end, tail=end) + body
    else:
        data = killed_file(body + b"\0" * 9000, order, tail=end)
    raw = read(data)
    assert raw.byte_order == {"<": "little", ">": "big"}[order]
    assert raw.pid == 4711
    assert raw.ticks_hz == 2.6e9
    assert raw.closed == closed
    assert contents(raw) == [(kind, payload) for kind, payload, complete in records if complete]
    assert raw.skipped == sum(not complete for _, _, complete in records)


def test_holes_of_killed_threads_are_passed_over(read: Read) -> None:
    before, after = record(1, b"before"), record(2, b"after all")
    raw = read(killed_file(before + b"\0" * 48 + after + b"\0" * 8))
    assert contents(raw) == [(1, b"before"), (2, b"after all")]
    assert raw.skipped == 0


def test_hole_before_a_record_whose_first_byte_is_zero(read: Read) -> None:
    raw = read(killed_file(b"\0" * 24 + record(3, b"x" * 248)))
    assert contents(raw) == [(3, b"x" * 248)]


def test_tail_beyond_a_full_file(read: Read) -> None:
    raw = read(killed_file(record(1, b"one") + b"\0" * 64, tail=1 << 30))
    assert contents(raw) == [(1, b"one")]


def test_file_of_a_process_that_recorded_nothing(read: Read) -> None:
    for data in (closed_file([]), killed_file(b"")):
        raw = read(data)
        assert contents(raw) == []
        assert raw.skipped == 0


def test_closed_file_that_could_not_be_cut(read: Read) -> None:
    raw = read(closed_file() + b"anything")
    assert contents(raw) == RECORDS


def test_records_outlive_the_file(read: Read) -> None:
    raw = read(closed_file())
    found = list(raw.records())
    raw.path.unlink()
    del raw
    assert [(kind, bytes(payload)) for kind, payload in found] == RECORDS


def test_sniff() -> None:
    assert sniff(closed_file()[:16])
    assert not sniff(b"\x7fELF")
    assert not sniff(b"")


@pytest.mark.parametrize(
    ("data", "offset", "words"),
    [
        (b"", 0, "not a raw file"),
        (b"\x89GNO", 0, "not a raw file"),
        (b"\x7fELF" + b"\0" * 5000, 0, "not a raw file"),
        (b"\0" * 300_000, 0, "ended before"),
        (closed_file()[:4095], 4095, "cut short"),
        (closed_file()[:-1], 4096 + 16 + 8 + 48 + 23, "copy the file again"),
        (closed_file(byte_order=0x02010403), 8, "byte order"),
        (closed_file(version=2), 12, "version 2"),
        (closed_file(header_bytes=8192), 16, "header of 8192"),
        (closed_file(features=1 << 31), 24, "0x80000000"),
        (closed_file(capacity=4096), 32, "capacity of 4096"),
        (closed_file(capacity=1 << 41), 32, "capacity"),
        (closed_file(capacity=4100), 32, "the file has"),
        (closed_file(final=4095), 40, "in the header"),
        (killed_file(b"", tail=0), 1024, "in the header"),
        (closed_file(ticks_hz=float("nan")), 72, "nan ticks"),
        (closed_file(ticks_hz=0.0), 72, "0.0 ticks"),
        (closed_file(clock_source=9), 80, "clock source 9"),
        (killed_file(record(1, b"")[:4] + b"\1\0\3\0"), 4096, "unknown state 3"),
        (killed_file(b"\7\0\0\0\1\0\2\0"), 4096, "7 bytes"),
        (killed_file(b"\0\0\0\0\1\0\2\0"), 4096, "0 bytes"),
        (killed_file(record(1, b"whole") + record(1, b"cut" * 9)[:-8]), 4112, "where 32 are left"),
        (closed_file([(1, b"x")], final=4098), 4096, "less than a record"),
    ],
)
def test_refused(read: Read, data: bytes, offset: int, words: str) -> None:
    at, message = refused_at(read, data)
    assert at == offset
    assert words in message


def test_sparse_file_does_not_keep_us(tmp_path: Path) -> None:
    path = tmp_path / "sparse.gnraw"
    path.write_bytes(header(tail=1 << 40, capacity=1 << 40))
    os.truncate(path, 1 << 38)
    raw = read_raw(path)
    with pytest.raises(FormatError, match="zeros") as refusal:
        list(raw.records())
    assert refusal.value.offset == 4096 + HOLES_MAX_BYTES


def test_what_is_not_a_file_is_refused_without_waiting(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (pipe, tmp_path, Path("/dev/null")):
        with pytest.raises(FormatError, match="not a regular file"):
            read_raw(path)
    with pytest.raises(FileNotFoundError):
        read_raw(tmp_path / "missing")


def only_format_errors(read: Read, data: bytes) -> None:
    """A file may be read or refused; anything else is an error of the reader."""
    refused_in = 0
    try:
        walk(read(data))
    except FormatError as error:
        refused_in = error.offset
    assert 0 <= refused_in <= len(data)


@given(length=st.integers(0, len(closed_file()) - 1), closed=st.booleans())
@files
def test_any_truncation(read: Read, length: int, closed: bool) -> None:
    data = closed_file() if closed else killed_file(closed_file()[4096:])
    only_format_errors(read, data[:length])
    if closed:
        refused_at(read, data[:length])


@given(
    changes=st.lists(
        st.tuples(
            st.one_of(st.integers(0, 128), st.integers(1024, 1096), st.integers(4096, 4096 + 94)),
            st.integers(0, 255),
        ),
        min_size=1,
        max_size=8,
    ),
    order=st.sampled_from("<>"),
    closed=st.booleans(),
)
@files
def test_any_changed_bytes(
    read: Read, changes: list[tuple[int, int]], order: str, closed: bool
) -> None:
    data = bytearray(closed_file(order=order))
    if not closed:
        data[:4096] = header(order, tail=len(data))
    for offset, value in changes:
        data[offset] = value
    only_format_errors(read, bytes(data))


@given(head=st.sampled_from([b"", b"\x89GNOMON\n"]), data=st.binary(max_size=9000))
@files
def test_any_bytes(read: Read, head: bytes, data: bytes) -> None:
    only_format_errors(read, head + data)


@given(body=st.binary(max_size=500))
@files
def test_any_bytes_for_records(read: Read, body: bytes) -> None:
    only_format_errors(read, killed_file(body))
