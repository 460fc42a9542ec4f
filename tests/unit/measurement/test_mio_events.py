"""Event files of MIO: whole, of a killed process, cut short, damaged or nonsense."""

from __future__ import annotations

import contextlib
import struct
from pathlib import Path
from random import Random

import pytest
from damaged_records import changed

from gnomon.errors import FormatError
from gnomon.measurement.mio_events import NO_OFFSET, OPERATIONS, MioFile, read_events

BEGIN = 4096
READ, WRITE = OPERATIONS.index("read"), OPERATIONS.index("write")
PLACES = {"version": 12, "flags": 20, "records": 32, "tail": 40, "lost": 64}


def text(kind: int, number: int, words: bytes) -> bytes:
    """Return the records of a text."""
    parts = [words[begin : begin + 40] for begin in range(0, len(words), 40)]
    return b"".join(
        struct.pack("=2H3I40sQ", kind, len(part), number, place, 0, part, 0)
        for place, part in enumerate(parts)
    )


def event(
    operation: int, number: int, offset: int, n: int, begin: int = 10, end: int = 20
) -> bytes:
    """Return the record of an operation."""
    return struct.pack("=2H3I3qQqQ", operation, 0, number, 100, 0, begin, end, offset, n, n, 0)


USUAL = [
    text(32, 0, b"/a/" + b"long" * 20), text(33, 0, b"program <-> aix"),
    event(WRITE, 0, NO_OFFSET, 16), event(READ, 0, 0, 8), event(0, 0, 0, 0), event(READ, 0, 8, 8),
]  # fmt: skip


def content(records: list[bytes], flags: int = 1) -> bytes:
    """Return a file as libmio leaves it."""
    body = b"".join(records)
    head = struct.pack(
        "=8s4IQ5Q2I256s1024s", b"\x89GNMIO\n\0", 0x01020304, 1, 1360, flags, 0, BEGIN,
        BEGIN + len(body), 1000, 5, 0, 42, 0, b"node", b"/nowhere/app",
    )  # fmt: skip
    return head.ljust(BEGIN, b"\0") + body


WHOLE = content(USUAL)


def refused(folder: Path, whole: bytes) -> tuple[str, int]:
    """Return why a file is refused, and where."""
    path = folder / "trace.events"
    path.write_bytes(whole)
    with pytest.raises(FormatError) as caught:
        read_events(path)
    assert str(path) in str(caught.value)
    return str(caught.value), caught.value.offset


def test_a_whole_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "trace.events"
    path.write_bytes(WHOLE)
    read = read_events(path)
    assert (read.host, read.pid, read.program) == ("node", 42, "/nowhere/app")
    assert read.is_closed
    assert read.files == {0: MioFile("/a/" + "long" * 20, "program <-> aix")}
    assert read.events["operation"].tolist() == [WRITE, READ, READ]
    assert read.events["offset"].tolist() == [NO_OFFSET, 0, 8]


def test_what_a_killed_process_left_is_read(tmp_path: Path) -> None:
    path = tmp_path / "trace.events"
    for cut in range(BEGIN, len(WHOLE) + 1, 8):
        path.write_bytes(content(USUAL, flags=0)[:cut])
        read = read_events(path)
        assert not read.is_closed
        n_whole = (cut - BEGIN) // 64
        assert len(read.events) == sum(n_whole > place for place in (4, 5, 7))


@pytest.mark.parametrize(
    ("name", "layout", "value", "why"),
    [
        ("version", "I", 2, "version 2"),
        ("records", "Q", 8, "where they cannot be"),
        ("records", "Q", 1 << 60, "where they cannot be"),
        ("tail", "Q", 1 << 40, "which no file has"),
        ("tail", "Q", BEGIN + 63, "no whole number of records"),
        ("tail", "Q", BEGIN + 64 * 1000, "cut short"),
    ],
)
def test_a_damaged_header_is_refused(
    tmp_path: Path, name: str, layout: str, value: int, why: str
) -> None:
    whole = bytearray(WHOLE)
    struct.pack_into("=" + layout, whole, PLACES[name], value)
    assert why in refused(tmp_path, bytes(whole))[0]


@pytest.mark.parametrize(
    ("record", "why"),
    [
        (event(10, 0, 0, 0), "a record of no kind"),
        (event(READ, 0, 0, 0, begin=9, end=8), "ends before it begins"),
        (event(READ, 7, 0, 0), "a file that has no name"),
        (struct.pack("=2H3I40sQ", 32, 41, 0, 0, 0, b"", 0), "more than 40 bytes"),
        (struct.pack("=2H3I40sQ", 33, 4, 0, 1024, 0, b"", 0), "more than 1024 parts"),
    ],
)
def test_a_damaged_record_is_refused_with_its_offset(
    tmp_path: Path, record: bytes, why: str
) -> None:
    said, offset = refused(tmp_path, content([*USUAL, record]))
    assert why in said
    assert offset == len(WHOLE)


def test_what_is_no_event_file_is_refused(tmp_path: Path) -> None:
    assert "not a file of MIO's events" in refused(tmp_path, b"text")[0]
    assert "an empty header" in refused(tmp_path, bytes(4096))[0]
    with pytest.raises(FormatError, match="not a regular file"):
        read_events(tmp_path)


def test_damage_of_any_kind_is_read_or_refused(tmp_path: Path) -> None:
    random = Random(8)
    path = tmp_path / "trace.events"
    for _ in range(600):
        path.write_bytes(changed(random, WHOLE))
        with contextlib.suppress(FormatError):
            read_events(path)
