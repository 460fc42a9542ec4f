"""Files as wrappers leave them, written by the layout of native/call_sites/totals_file.h."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from pathlib import Path
from typing import Any

NONE = 0xFFFFFFFF
CODE = 1 << 31
ROUTINES = ("none", "MPI_Send", "MPI_Recv", "MPI_Isend", "MPI_Wait", "MPI_Allreduce")
SEND, RECV, ISEND, WAIT, ALLREDUCE = range(1, 6)
CLOSED, FINALIZED, SPAWNED = 1, 2, 4
HEADER = "8s4IQ2I6Qd2Q3iI2Q256s256s16s1024s64s"
NAMES, RECORDS, BYTES = 4096, 8192, 64
PLACES = {
    "magic": 0, "byte_order": 8, "version": 12, "flags": 20, "n_routines": 32, "names": 40,
    "records": 48, "tail": 56, "ticks_hz": 88, "rank": 112,
}  # fmt: skip
"""Where the header has its fields."""


def thread(number: int = 0, tid: int = 100, last_ticks: int = 0) -> bytes:
    """Return the record of a thread."""
    return struct.pack("=2HIiI16sQ", 1, 0, number, tid, 0, b"app", last_ticks)


def site(
    routine: int, frame: int, calls: int, ticks: int, *, sent: int = 0, received: int = 0,
    most: int = 0, completion: int = 0, communicator: int = 0, thread: int = 0,
) -> bytes:  # fmt: skip
    """Return the record of a site."""
    return struct.pack("=2H3I6Q", 2, routine, thread, communicator, frame, calls, sent, received,
                       ticks, most, completion)  # fmt: skip


def size(routine: int, size_class: int, calls: int, n_bytes: int, ticks: int) -> bytes:
    """Return the record of a size."""
    return struct.pack("=2H3I3Q", 3, routine, 0, size_class, 0, calls, n_bytes, ticks)


def messages(place: int, peer: int, n: int, n_bytes: int) -> bytes:
    """Return the record of messages from the site at a place among all records."""
    return struct.pack("=2H2Ii3Q", 4, 0, 0, place, peer, n, n_bytes, n_bytes)


def communicator(number: int, rank: int, n: int, first: int = 0) -> bytes:
    """Return the record of a communicator."""
    return struct.pack("=2HI4i", 5, 0, number, rank, n, 0, first)


def frame(number: int, caller: int, module: int, offset: int) -> bytes:
    """Return the record of a frame."""
    return struct.pack("=2H3IQ", 6, 0, number, caller, module, offset)


def module(number: int, build_id: bytes = b"") -> bytes:
    """Return the record of a module."""
    return struct.pack("=2HI32s", 7, len(build_id), number, build_id)


def text(of: int, number: int, value: str) -> Iterable[bytes]:
    """Return the records of a text: of a communicator (5), a module (7) or Python code (10)."""
    content = value.encode()
    for part, at in enumerate(range(0, max(len(content), 1), 48)):
        yield struct.pack("=2H3I48s", 8, of, number, part, 0, content[at : at + 48])


def waiting(place: int, calls: int, ticks: int) -> bytes:
    """Return the record of waiting at the site at a place among all records."""
    return struct.pack("=2H3I2Q", 9, 0, 0, place, 0, calls, ticks)


def content(
    records: Iterable[bytes], *, rank: int = 0, pid: int = 100, host: str = "node",
    flags: int = CLOSED | FINALIZED, up: tuple[int, int] = (1000, 9000), lost: int = 0,
    n_ranks: int = 4, cost: tuple[int, int] = (0, 0), job: bytes = b"",
) -> bytes:  # fmt: skip
    """Return a file with these records, of a clock of one tick a nanosecond."""
    body = b"".join(record.ljust(BYTES, b"\0") for record in records)
    header = struct.pack(
        "=" + HEADER, b"\x89GNMPI\n\0", 0x01020304, 1, 4096, flags, 0, len(ROUTINES), pid, NAMES,
        RECORDS, RECORDS + len(body), lost, 1_700_000_000_000_000_000, 500, 1e9, *up, rank, n_ranks,
        0, 0, *cost, host.encode(), b"Test MPI 1.0", b"app", b"/nowhere/app",
        job,
    )  # fmt: skip
    names = b"".join(name.encode().ljust(40, b"\0") for name in ROUTINES)
    return header.ljust(NAMES, b"\0") + names.ljust(RECORDS - NAMES, b"\0") + body


def write(folder: Path, records: Iterable[bytes], **header: Any) -> Path:
    """Write a file of a process to a staging folder."""
    given: dict[str, Any] = {"host": "node", "pid": 100} | header
    path = folder / f"{given['host']}.{given['pid']}.{given.pop('moment', 1)}.mpi.totals"
    path.write_bytes(content(records, **given))
    return path


def usual() -> list[bytes]:
    """Return the records of a process that sends to rank 1 and adds up, from two functions."""
    return [
        thread(),
        module(0, b"\x01\x02"),
        *text(7, 0, "/nowhere/app"),
        frame(0, NONE, 0, 0x100),
        frame(1, 0, 0, 0x200),
        frame(2, 0, 0, 0x300),
        communicator(0, 0, 4),
        *text(5, 0, "MPI_COMM_WORLD"),
        communicator(1, 0, 2),
        site(SEND, 1, 3, 300, sent=24, most=150),
        site(ALLREDUCE, 2, 5, 1000, sent=40, received=40, most=400, communicator=1),
        site(WAIT, 2, 1, 50, most=50, communicator=NONE),
        messages(9, 1, 3, 24),
        size(SEND, 4, 3, 24, 300),
        size(ALLREDUCE, 4, 5, 40, 1000),
        waiting(10, 5, 700),
    ]
