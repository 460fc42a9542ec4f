"""The reader of record files, against a writer that shares nothing with it but the layout."""

from __future__ import annotations

import os
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from property_tests import examples
from record_layout import (
    BEGIN,
    BLOCK_BYTES,
    CALLS,
    body,
    call,
    closed_file,
    crc32c,
    header,
    killed_file,
    tables,
    text,
)

from gnomon.errors import FormatError
from gnomon.store.record_file import UNUSED_MAX_BYTES, RecordFile, open_records, sniff

GOLDEN = Path(__file__).parents[2] / "golden" / "record_file_version_2.gnrec"

files = examples(300)

Read = Callable[[bytes], RecordFile]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """Write the bytes to a file and open that."""

    def write_and_open(data: bytes) -> RecordFile:
        path = tmp_path / "process.gnrec"
        path.write_bytes(data)
        return open_records(path)

    return write_and_open


def as_tuples(calls: np.ndarray[Any, np.dtype[np.void]]) -> list[tuple[Any, ...]]:
    return [(*row[:3], tuple(row[3]), row[4]) for row in calls.tolist()]


def walk(file: RecordFile) -> int:
    """Read all there is to read; how many blocks there were."""
    n = 0
    for kind, records in file.blocks():
        n += 1
        assert isinstance(records, dict) == (kind.dtype is None)
        repr(records if isinstance(records, dict) else records.tolist())
    return n


def check_standard(file: RecordFile) -> None:
    assert as_tuples(file.columns("call")) == CALLS
    assert file.texts("name") == {1: "MPI_Send", 7: "Größe", 8: "", 9: "\ufffd\ufffd"}
    assert walk(file) == 4
    assert [kind.name for kind in file.kinds] == ["call", "name"]


def refused_at(read: Read, data: bytes) -> tuple[int, str]:
    """The offset and message with which the file is refused, at once or when it is walked."""
    with pytest.raises(FormatError) as refusal:
        walk(read(data))
    assert str(refusal.value).startswith(f"{refusal.value.path}: at byte {refusal.value.offset}: ")
    return refusal.value.offset, str(refusal.value)


def test_golden_file() -> None:
    data = closed_file(
        flags=3, stop_error=28, lost=5, features=1 << 40, host="gnomon-\u03b3".encode()
    )
    if os.environ.get("GNOMON_UPDATE_GOLDEN"):
        GOLDEN.write_bytes(data)
    assert GOLDEN.read_bytes() == data
    file = open_records(GOLDEN)
    assert file.path == GOLDEN
    assert file.byte_order == "little"
    assert file.features == 1 << 40
    assert file.closed
    assert file.stop_error == 28
    assert file.lost == 5
    assert file.host == "gnomon-\u03b3"
    assert file.writer == "toy"
    assert (file.pid, file.rank) == (4711, 3)
    assert file.clock_source == "tsc"
    assert file.raw_ns == 1_000_000_007
    assert file.realtime_ns == 1_700_000_000_000_000_009
    assert file.ticks == 2_600_000_018
    assert file.ticks_hz == 2.6e9
    assert file.capacity_bytes == 1 << 30
    check_standard(file)


@pytest.mark.parametrize("order", ["<", ">"])
@given(
    calls=st.lists(
        st.tuples(
            st.integers(0, (1 << 64) - 1),
            st.floats(allow_nan=False),
            st.integers(-(1 << 31), (1 << 31) - 1),
            st.tuples(*[st.integers(0, 65535)] * 4),
            st.text("abcd", max_size=4).map(str.encode),
        ),
        max_size=20,
    ),
    texts=st.dictionaries(st.integers(0, (1 << 32) - 1), st.text(max_size=50), max_size=10),
    cut=st.integers(0, 20),
    closed=st.booleans(),
)
@files
def test_round_trip(
    read: Read,
    order: str,
    calls: list[tuple[Any, ...]],
    texts: dict[int, str],
    cut: int,
    closed: bool,
) -> None:
    packed = [call(values, order) for values in calls]
    named = b"".join(text(number, data.encode(), order) for number, data in texts.items())
    blocks = [(0, b"".join(packed[:cut])), None, (1, named), (0, b"".join(packed[cut:]))]
    data = body(blocks, order)
    file = read(
        closed_file(order, data)
        if closed
        else killed_file(order, data + bytes(9000), tail=BEGIN + len(data) + 5 * BLOCK_BYTES)
    )
    assert file.byte_order == {"<": "little", ">": "big"}[order]
    assert (file.pid, file.rank, file.ticks_hz, file.closed) == (4711, 3, 2.6e9, closed)
    assert as_tuples(file.columns("call")) == calls
    assert file.texts("name") == texts


@pytest.mark.parametrize("order", ["<", ">"])
def test_every_way_of_ending(read: Read, order: str) -> None:
    check_standard(read(closed_file(order)))
    check_standard(read(closed_file(order) + b"what could not be cut"))
    check_standard(read(killed_file(order)))
    # The file was allocated ahead; the tail is beyond a full one.
    check_standard(read(killed_file(order) + bytes(50_000)))
    check_standard(read(killed_file(order, tail=BEGIN + 64 * BLOCK_BYTES)))
    assert walk(read(killed_file(order)[: BEGIN + 2 * BLOCK_BYTES + 7])) == 1
    for data in (closed_file(order, b""), killed_file(order, b"")):
        file = read(data)
        assert walk(file) == 0
        assert file.columns("call").dtype.names == ("begin", "ratio", "peer", "tags", "state")
        assert len(file.columns("call")) == 0
        assert file.texts("name") == {}


def test_arrays_are_views_of_the_bytes_that_were_read(read: Read) -> None:
    (first, *_) = read(closed_file()).blocks()
    assert isinstance(first.records, np.ndarray)
    assert first.records.base is not None
    assert not first.records.flags.writeable
    assert first.records["begin"].tolist() == [7, 1 << 63]


def test_kinds_that_are_not_there(read: Read) -> None:
    file = read(closed_file())
    for name in ("name", "nothing"):
        with pytest.raises(KeyError):
            file.columns(name)
    assert file.texts("call") == {}


def test_times(read: Read) -> None:
    file = read(closed_file())
    ticks = np.array([file.ticks, file.ticks + 26, file.ticks - 2600, 0], np.uint64)
    assert file.to_ns(ticks).tolist() == [1_000_000_007, 1_000_000_017, 999_999_007, 0]
    assert file.to_epoch_ns(ticks).tolist()[0] == 1_700_000_000_000_000_009
    # Nonsense stays nonsense, without a warning or an error.
    file.to_ns(np.array([1 << 63, (1 << 64) - 1], np.uint64))


def test_another_file_of_the_name(read: Read) -> None:
    file = read(closed_file())
    file.path.rename(file.path.with_suffix(".moved"))
    file.path.write_bytes(closed_file())
    with pytest.raises(FormatError, match="another file"):
        walk(file)


def test_sniff() -> None:
    assert sniff(closed_file()[:16])
    assert not sniff(b"\x7fELF")
    assert not sniff(b"")


def damaged(offset: int, *values: int) -> bytes:
    data = bytearray(closed_file())
    data[offset : offset + len(values)] = bytes(values)
    return bytes(data)


def with_fields(*fields: tuple[str, int, int, int]) -> bytes:
    return closed_file(blocks=b"", kinds=tables(fields=fields))


FIRST_TEXT = BEGIN + 2 * BLOCK_BYTES


@pytest.mark.parametrize(
    ("data", "offset", "words"),
    [
        (b"", 0, "not a record file"),
        (b"\x89GNO", 0, "not a record file"),
        (b"\x7fELF" + b"\0" * 5000, 0, "not a record file"),
        (b"\0" * 300_000, 0, "ended before"),
        (closed_file()[:4095], 4095, "cut short"),
        (closed_file()[:4200], 4200, "within the kinds"),
        (closed_file()[:-1], BEGIN + 5 * BLOCK_BYTES - 1, "copy the file again"),
        (closed_file(byte_order=0x02010403), 8, "byte order"),
        (closed_file(version=1), 12, "version 1 of the format"),
        (closed_file(header_bytes=4096), 16, "header of 4096"),
        (closed_file(features=1 << 31), 24, "0x80000000"),
        (closed_file(capacity=4096), 32, "capacity of 4096"),
        (closed_file(capacity=1 << 41), 32, "capacity"),
        (closed_file(capacity=BEGIN), 32, "the file has"),
        (closed_file(final=4096), 40, "within one"),
        (closed_file(final=BEGIN + 100), 40, "within one"),
        (killed_file(tail=0), 1024, "within one"),
        (closed_file(ticks_hz=float("nan")), 72, "nan ticks"),
        (closed_file(ticks_hz=0.0), 72, "0.0 ticks"),
        (closed_file(clock_source=9), 80, "clock source 9"),
        (closed_file(block_bytes=4095), 92, "blocks of 4095"),
        (closed_file(block_bytes=6144), 92, "blocks of 6144"),
        (closed_file(n_kinds=0), 96, "0 kinds"),
        (closed_file(n_kinds=33), 96, "33 kinds"),
        (closed_file(n_fields=257), 96, "257 fields"),
        (closed_file(tables_crc=1), 4096, "checksum of the kinds"),
        (with_fields(("", 0, 8, 1)), 4096 + 64, "a field ''"),
        (with_fields(("a", 0, 8, 1), ("a", 8, 8, 1)), 4096 + 96, "a field 'a'"),
        (with_fields(("a", 25, 8, 1)), 4096 + 64, "a field 'a'"),
        (with_fields(("a", 0, 0x09, 1)), 4096 + 64, "a field 'a'"),
        (with_fields(("a", 0, 8, 0)), 4096 + 64, "a field 'a'"),
        (with_fields(), 4096, "records of 32 bytes"),
        (damaged(BEGIN + 8, 0), BEGIN + 8, "not the beginning of a block"),
        (damaged(BEGIN + 12, 2), BEGIN + 12, "unknown kind 2"),
        (damaged(BEGIN + 17, 0), BEGIN + 16, "the block that was at byte 0"),
        (damaged(BEGIN, 0, 255), BEGIN, "bytes of records in a block"),
        (damaged(BEGIN + 40, 1), BEGIN, "checksum of this block"),
        (damaged(BEGIN + 4, 1), BEGIN, "checksum of this block"),
        (closed_file(blocks=body([(0, bytes(33))])), BEGIN, "33 bytes of records of 32"),
        (closed_file(blocks=body([(1, bytes(9))])), BEGIN + 40, "ends beyond its block"),
        (closed_file(blocks=body([(1, b"\0\0\0\0\1\0\0\0")])), BEGIN + 32, "ends beyond"),
        (closed_file(blocks=body([(1, b"\0\0\0\0\xff\xff\xff\xff")])), BEGIN + 32, "ends beyond"),
    ],
)
def test_refused(read: Read, data: bytes, offset: int, words: str) -> None:
    at, message = refused_at(read, data)
    assert words in message
    assert at == offset


def test_sparse_file_does_not_keep_us(tmp_path: Path) -> None:
    path = tmp_path / "sparse.gnrec"
    path.write_bytes(header(tail=BEGIN + (1 << 38), capacity=1 << 40, block_bytes=1 << 24))
    os.truncate(path, 1 << 38)
    with pytest.raises(FormatError, match="unused blocks") as refusal:
        walk(open_records(path))
    assert refusal.value.offset == BEGIN + UNUSED_MAX_BYTES


def test_what_is_not_a_file_is_refused_without_waiting(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (pipe, tmp_path, Path("/dev/null")):
        with pytest.raises(FormatError, match="not a regular file"):
            open_records(path)
    with pytest.raises(FileNotFoundError):
        open_records(tmp_path / "missing")


def only_format_errors(read: Read, data: bytes) -> None:
    """A file may be read or refused; anything else is an error of the reader."""
    refused_in = 0
    try:
        walk(read(data))
    except FormatError as error:
        refused_in = error.offset
    assert 0 <= refused_in <= max(len(data), BEGIN)


@given(length=st.integers(0, len(closed_file()) - 1), closed=st.booleans())
@files
def test_any_truncation(read: Read, length: int, closed: bool) -> None:
    data = closed_file() if closed else killed_file()
    only_format_errors(read, data[:length])
    if closed:
        refused_at(read, data[:length])


@given(
    changes=st.lists(
        st.tuples(
            st.one_of(
                st.integers(0, 128),
                st.integers(1024, 1096),
                st.integers(4096, 4096 + 224),
                st.integers(BEGIN, BEGIN + 100),
                st.integers(FIRST_TEXT, FIRST_TEXT + 100),
            ),
            st.integers(0, 255),
        ),
        min_size=1,
        max_size=8,
    ),
    order=st.sampled_from("<>"),
    closed=st.booleans(),
    believed=st.booleans(),
)
@files
def test_any_changed_bytes(
    read: Read, changes: list[tuple[int, int]], order: str, closed: bool, believed: bool
) -> None:
    data = bytearray(closed_file(order) if closed else killed_file(order))
    for offset, value in changes:
        data[offset] = value
    if believed:
        make_checksums_right(data, order)
    only_format_errors(read, bytes(data))


def make_checksums_right(data: bytearray, order: str) -> None:
    """As who changes a file on purpose would do."""
    size = 32 * sum(struct.unpack_from(order + "II", data, 96))
    struct.pack_into(order + "I", data, 108, crc32c(bytes(data[4096 : 4096 + min(size, 4096)])))
    for at in range(BEGIN, len(data), BLOCK_BYTES):
        (state,) = struct.unpack_from(order + "Q", data, at)
        used = min(state & 0xFFFFFFFF, BLOCK_BYTES - 32)
        if state:
            checksum = crc32c(bytes(data[at + 8 : at + 32 + used]))
            struct.pack_into(order + "Q", data, at, checksum << 32 | used)


@given(head=st.sampled_from([b"", b"\x89GNOMON\n", header()]), data=st.binary(max_size=9000))
@files
def test_any_bytes(read: Read, head: bytes, data: bytes) -> None:
    only_format_errors(read, head + data)


@given(kind=st.integers(0, 1), records=st.binary(max_size=500))
@files
def test_any_bytes_for_records(read: Read, kind: int, records: bytes) -> None:
    only_format_errors(read, killed_file(blocks=body([(kind, records)])))
