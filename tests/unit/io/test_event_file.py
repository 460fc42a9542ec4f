"""Files of events: whole, of a killed process, cut short, damaged or nonsense; their rows."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import NamedTuple

import numpy as np
import pytest
from damaged_records import changed

from gnomon.errors import FormatError
from gnomon.io.event_file import (
    READ,
    RECORD_BYTES,
    UNIT_BYTES,
    WRITE,
    EventFile,
    event_path,
    read_event_file,
)
from gnomon.io.io_tables import collect
from gnomon.measurement.totals_file import read_totals

LIBRARY = Path(sys.modules["gnomon"].__path__[0]) / "io" / "libgnomon_io.so"
BEGIN, N_CALLS = UNIT_BYTES, 20000
PLACES = {"version": 12, "flags": 20, "records": 32, "tail": 40, "lost": 48, "realtime_ns": 64}
CALLS = f"""
import os
fd = os.open('data', os.O_RDWR | os.O_CREAT)
for i in range({N_CALLS}):
    os.pwrite(fd, b'text', 4 * i)
os.pread(fd, 8, 2)
os.pread(fd, 100000, 4)
os.sendfile(os.open('copy', os.O_WRONLY | os.O_CREAT), fd, 8, 1 << 33)
"""


class Recorded(NamedTuple):
    """What a process left."""

    totals: Path
    events: bytes


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    folder = tmp_path_factory.mktemp("recorded")
    staging = folder / "run"
    staging.mkdir()
    environment = os.environ | {
        "LD_PRELOAD": str(LIBRARY), "GNOMON_RUN_DIR": str(staging), "GNOMON_IO_TRACE": str(1 << 22),
    }  # fmt: skip
    command = [sys.executable, "-S", "-c", CALLS]
    subprocess.run(command, env=environment, cwd=folder, check=True)
    (totals,) = staging.glob("*.totals")
    return Recorded(totals, event_path(totals).read_bytes())


def left(folder: Path, recorded: Recorded, events: bytes) -> Path:
    """Leave a process's files in a folder, with other events; return that of its totals."""
    totals = folder / recorded.totals.name
    totals.write_bytes(recorded.totals.read_bytes())
    event_path(totals).write_bytes(events)
    return totals


def read(folder: Path, recorded: Recorded, events: bytes) -> EventFile:
    """Return the file, all of whose events have been read."""
    file = read_event_file(read_totals(left(folder, recorded, events)))
    for _ in file.blocks():
        pass
    return file


def refused(folder: Path, recorded: Recorded, events: bytes) -> tuple[str, int]:
    """Return why a file is refused, and where."""
    with pytest.raises(FormatError) as caught:
        read(folder, recorded, events)
    assert ".events" in str(caught.value)
    return str(caught.value), caught.value.offset


def with_words(events: bytes, offset: int, layout: str, *values: int) -> bytes:
    """Return a file with other numbers at an offset."""
    content = bytearray(events)
    struct.pack_into("=" + layout, content, offset, *values)
    return bytes(content)


def written_offsets(file: EventFile) -> list[int]:
    offsets = [
        offset
        for events in file.blocks()
        for offset in events.records["offset"][events.kinds == WRITE].tolist()
    ]
    # The last write of all is of another file.
    return offsets[:N_CALLS]


def heads(events: bytes) -> list[tuple[int, int, int]]:
    """Return of each unit how many records it has, where they belong, and its use."""
    places = range(BEGIN, len(events), UNIT_BYTES)
    return [struct.unpack_from("=3I", events, place) for place in places]


def test_what_a_process_did_is_read(recorded: Recorded, tmp_path: Path) -> None:
    file = read(tmp_path, recorded, recorded.events)
    assert file.is_closed
    assert file.lost == file.stop_error == 0
    assert written_offsets(file) == list(range(0, 4 * N_CALLS, 4))
    events = list(file.blocks())[-1]
    reads = events.records[events.kinds == READ][-3:]
    assert reads["offset"].tolist() == [2, 4, 8]
    assert reads["asked"].tolist() == [8, 100000, 1 << 33]
    assert reads["delivered"].tolist() == [8, 4 * N_CALLS - 4, 4 * N_CALLS - 8]
    assert (np.diff(events.start_ns) >= 0).all()
    # The first one is mapped: what is there comes after what was written to the others.
    uses = [use for _, _, use in heads(recorded.events)]
    assert uses[:3] == [1, 2, 2]


def test_the_other_byte_order_is_read(recorded: Recorded, tmp_path: Path) -> None:
    content = np.frombuffer(recorded.events, np.uint8).copy()
    for begin, end, layout in (
        (8, 24, "4I"), (24, 72, "6Q"), (72, 80, "2I"),
        *((place, place + 16, "Q2I") for place in range(BEGIN, len(content), UNIT_BYTES)),
    ):  # fmt: skip
        own = struct.unpack("=" + layout, content[begin:end].tobytes())
        content[begin:end] = np.frombuffer(struct.pack(">" + layout, *own), np.uint8)
    for unit in range(BEGIN, len(content), UNIT_BYTES):
        for place in range(unit + RECORD_BYTES, min(unit + UNIT_BYTES, len(content)), RECORD_BYTES):
            record = content[place : place + RECORD_BYTES].tobytes()
            is_wide = struct.unpack_from("=I", record, 28)[0] & 7 == 4
            layout = "3Q2I" if is_wide else "Qq4I"
            swapped = struct.pack(">" + layout, *struct.unpack("=" + layout, record))
            content[place : place + RECORD_BYTES] = np.frombuffer(swapped, np.uint8)
    whole = [events for file in (read(tmp_path, recorded, recorded.events),)
             for events in file.blocks()]  # fmt: skip
    other = list(read(tmp_path, recorded, content.tobytes()).blocks())
    for one, another in zip(whole, other, strict=True):
        assert (one.records == another.records).all()
        assert (one.start_ns == another.start_ns).all()


def test_what_takes_long_is_read(recorded: Recorded, tmp_path: Path) -> None:
    whole = recorded.events
    wide = max(
        place
        for place in range(BEGIN, len(whole), RECORD_BYTES)
        if (place - BEGIN) % UNIT_BYTES and struct.unpack_from("=I", whole, place + 28) == (4,)
    )
    ticks = int(3 * read_totals(recorded.totals).ticks_hz)
    file = read(tmp_path, recorded, with_words(whole, wide + 16, "Q", ticks))
    durations = [ns for events in file.blocks() for ns in events.duration_ns.tolist()]
    assert sum(ns == pytest.approx(3e9) for ns in durations) == 1


def test_a_kill_leaves_whole_events_wherever_it_comes(recorded: Recorded, tmp_path: Path) -> None:
    whole = with_words(recorded.events, PLACES["flags"], "I", 0)
    # While a unit is written to where it belongs.
    n, place, _ = heads(whole)[1]
    begun = with_words(whole, BEGIN, "3I", n, place, 1)
    content = bytearray(begun[: BEGIN + 2 * UNIT_BYTES])
    content[BEGIN + RECORD_BYTES : BEGIN + UNIT_BYTES] = content[
        BEGIN + UNIT_BYTES + RECORD_BYTES : BEGIN + 2 * UNIT_BYTES
    ]
    for cut in (UNIT_BYTES, UNIT_BYTES + 8, UNIT_BYTES + 5000, 2 * UNIT_BYTES):
        own = bytes(content[: BEGIN + cut])
        offsets = written_offsets(read(tmp_path, recorded, own))
        assert offsets == list(range(0, 4 * len(offsets), 4))
        assert len(offsets) > 100
    # Before a unit has its place.
    assert written_offsets(read(tmp_path, recorded, with_words(whole, BEGIN, "2I", 0, 0)))
    # Before there is any.
    for size in (4096, BEGIN):
        assert not written_offsets(read(tmp_path, recorded, whole[:size]))


@pytest.mark.parametrize(
    ("name", "layout", "value", "why"),
    [
        ("version", "I", 3, "version 3"),
        ("records", "Q", 8, "where they cannot be"),
        ("records", "Q", 1 << 60, "where they cannot be"),
        ("tail", "Q", 1 << 60, "which no file has"),
        ("tail", "Q", BEGIN + 32, "no whole number of units"),
        ("tail", "Q", BEGIN + 1000 * UNIT_BYTES, "cut short"),
        ("realtime_ns", "Q", 1, "not of the process"),
    ],
)
def test_a_damaged_header_is_refused(
    recorded: Recorded, tmp_path: Path, name: str, layout: str, value: int, why: str
) -> None:
    whole = with_words(recorded.events, PLACES[name], layout, value)
    assert why in refused(tmp_path, recorded, whole)[0]


@pytest.mark.parametrize(
    ("head", "why"),
    [
        ((8192, 2, 2), "more than it has room for"),
        ((3, 2, 7), "a unit of no use"),
        ((3, 1000, 1), "in a place where it cannot be"),
        ((3, 1, 1), "in a place where it cannot be"),
        ((3, 4, 2), "in a place where it cannot be"),
        ((3, 3, 1), "two units in one place"),
    ],
)
def test_a_damaged_unit_is_refused(
    recorded: Recorded, tmp_path: Path, head: tuple[int, int, int], why: str
) -> None:
    second = BEGIN + UNIT_BYTES
    events = with_words(recorded.events, second, "3I", *head)
    if head == (3, 3, 1):
        events = with_words(events, BEGIN, "3I", *head)
    said, offset = refused(tmp_path, recorded, events)
    assert why in said
    assert offset == second


@pytest.mark.parametrize(
    ("within", "value", "why"),
    [
        (24, 0, "an event of no kind"),
        (24, 5 << 32, "an event of no kind"),
        (0, 1 << 63, "a time that no process had"),
        (16, 0xFFFFFFF0, "an event of no call site"),
        (16, 0, "an event of no call site"),
    ],
)
def test_a_damaged_event_is_refused_with_its_offset(
    recorded: Recorded, tmp_path: Path, within: int, value: int, why: str
) -> None:
    place = BEGIN + UNIT_BYTES + 7 * RECORD_BYTES
    said, offset = refused(
        tmp_path, recorded, with_words(recorded.events, place + within, "Q", value)
    )
    assert why in said
    assert offset == place


def test_a_part_of_an_event_without_the_event_is_refused(
    recorded: Recorded, tmp_path: Path
) -> None:
    second = BEGIN + UNIT_BYTES
    first = with_words(recorded.events, second + RECORD_BYTES + 28, "I", 4)
    two = with_words(recorded.events, second + 8 * RECORD_BYTES + 28, "I", 4)
    two = with_words(two, second + 9 * RECORD_BYTES + 28, "I", 4)
    for events, number in ((first, 1), (two, 9)):
        said, offset = refused(tmp_path, recorded, events)
        assert "a part of an event without the event" in said
        assert offset == second + number * RECORD_BYTES


def test_what_is_no_event_file_is_refused(recorded: Recorded, tmp_path: Path) -> None:
    assert "not a file of events" in refused(tmp_path, recorded, b"text")[0]
    assert "an empty header" in refused(tmp_path, recorded, bytes(4096))[0]
    for size in (9, 40, 79, BEGIN - 1):
        refused(tmp_path, recorded, recorded.events[:size])


def damaged(random: Random, whole: bytes) -> bytes:
    """Return a file with a header, a unit's head or a few events that are others."""
    content = bytearray(whole)
    for _ in range(random.randrange(1, 4)):
        begin, size = random.choice(
            ((0, 80), (BEGIN, 16), (BEGIN + UNIT_BYTES, 16), (BEGIN + UNIT_BYTES, 3000),
             (BEGIN + random.randrange(2000) * RECORD_BYTES, RECORD_BYTES))
        )  # fmt: skip
        own = changed(random, bytes(content[begin : begin + size]))[:size].ljust(size, b"\0")
        content[begin : begin + size] = own
    if random.random() < 0.2:
        del content[random.randrange(len(content)) :]
    return bytes(content)


def test_damage_of_any_kind_is_read_or_refused(recorded: Recorded, tmp_path: Path) -> None:
    """Whatever a file has, its rows refer to what is there; without it the others remain."""
    random, outcomes = Random(9), set()
    for _ in range(300):
        events = damaged(random, recorded.events)
        try:
            read(tmp_path, recorded, events)
            outcomes.add("read")
        except FormatError:
            outcomes.add("refused")
        if random.random() < 0.8:
            continue
        collected = collect(tmp_path)
        tables = list(collected.tables)
        numbers = {table.schema.name: len(table) for table in tables}
        assert numbers["profile"]
        is_refused = any("cannot be read" in warning for warning in collected.warnings)
        # Without a header a process was killed before it had any.
        assert ("events" in numbers) is (any(events[:8]) and not is_refused)
        for table in tables:
            if table.schema.name != "events":
                continue
            for name, of in (("path", "paths"), ("region", "regions"), ("file", "files")):
                assert table.numbers(name).max(initial=-1) < numbers[of]
    assert outcomes == {"read", "refused"}


def test_rows_are_what_the_process_did(recorded: Recorded, tmp_path: Path) -> None:
    left(tmp_path, recorded, recorded.events)
    collected = collect(tmp_path)
    tables = list(collected.tables)
    (files,) = (table.texts("name") for table in tables if table.schema.name == "files")
    names = [name for table in tables if table.schema.name == "regions" for name in
             table.texts("name")]  # fmt: skip
    rows = [
        row
        for table in tables
        if table.schema.name == "events"
        for row in table.dicts()
        if files[int(row["file"] or 0)].endswith("/data")
    ]
    assert collected.facts["events"] >= N_CALLS + 2
    opened = next(row for row in rows if names[int(row["region"] or 0)] == "open")
    assert (opened["bytes"], opened["asked"], opened["file_offset"]) == (None, None, None)
    writes = [row for row in rows if row["access"] == "write"]
    assert len(writes) == N_CALLS
    assert {row["opening"] for row in rows} == {opened["opening"]}
    assert {(row["bytes"], row["asked"]) for row in writes} == {(4, 4)}
    moments = [int(row["start_ns"] or 0) for row in writes]
    assert moments == sorted(moments)
    assert moments[0] - read_totals(recorded.totals).realtime_ns < 60 * 10**9
