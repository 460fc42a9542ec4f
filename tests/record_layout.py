"""A writer of record files that shares nothing with the reader but the layout."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

Block = tuple[int, bytes]

BLOCK_BYTES = 4096
BEGIN = 8192

# name, offset, type, count
CALL_FIELDS = [
    ("begin", 0, 0x08, 1),
    ("ratio", 8, 0x28, 1),
    ("peer", 16, 0x14, 1),
    ("tags", 20, 0x02, 4),
    ("state", 28, 0x31, 4),
]
CALL_BYTES = 32
CALLS = [
    (7, 0.5, -1, (1, 2, 3, 4), b"busy"),
    (1 << 63, float("inf"), 5, (0, 0, 0, 65535), b"ok"),
    (0, -0.0, -(1 << 31), (9, 9, 9, 9), b""),
]


def crc32c(data: bytes) -> int:
    """RFC 3720, bit by bit."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def call(values: tuple[Any, ...], order: str = "<") -> bytes:
    begin, ratio, peer, tags, state = values
    return struct.pack(order + "Qdi4H4s", begin, ratio, peer, *tags, state)


def text(number: int, data: bytes, order: str = "<") -> bytes:
    return struct.pack(order + "II", number, len(data)) + data + b"\0" * (-len(data) % 8)


def tables(order: str = "<", fields: Sequence[tuple[str, int, int, int]] = CALL_FIELDS) -> bytes:
    kinds = struct.pack(order + "24sII", b"call", CALL_BYTES, len(fields))
    kinds += struct.pack(order + "24sII", b"name", 0, 0)
    return kinds + b"".join(
        struct.pack(order + "24sIHH", name.encode(), offset, code, count)
        for name, offset, code, count in fields
    )


def header(order: str = "<", kinds: bytes | None = None, **fields: Any) -> bytes:
    """The header's bytes; fields replace what a killed process without blocks would have left."""
    kinds = tables(order) if kinds is None else kinds
    values: dict[str, Any] = {
        "magic": b"\x89GNOMON\n",
        "byte_order": 0x01020304,
        "version": 2,
        "header_bytes": BEGIN,
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
        "block_bytes": BLOCK_BYTES,
        "n_kinds": 2,
        "n_fields": len(kinds) // 32 - 2,
        "rank": 3,
        "tables_crc": crc32c(kinds),
        "host": b"node17",
        "writer": b"toy",
        "tail": BEGIN,
        "lost": 0,
    } | fields
    page = struct.pack(
        order + "8sIIIIQQQQQQdIIIIIIiI16x256s64s576xQ56xQ3000x",
        *(values[name] for name in values),
    )
    assert len(page) == 4096
    return page + kinds.ljust(4096, b"\0")


def block(kind: int, records: bytes, offset: int, order: str = "<") -> bytes:
    head = struct.pack(order + "4sIQQ", b"GNBK", kind, offset, 0)
    state = crc32c(head + records) << 32 | len(records)
    return (struct.pack(order + "Q", state) + head + records).ljust(BLOCK_BYTES, b"\0")


def body(blocks: Sequence[Block | None], order: str = "<") -> bytes:
    """None is a block that was taken and never begun."""
    return b"".join(
        bytes(BLOCK_BYTES) if one is None else block(*one, BEGIN + BLOCK_BYTES * at, order)
        for at, one in enumerate(blocks)
    )


def standard_blocks(order: str = "<") -> list[Block | None]:
    return [
        (0, b"".join(call(values, order) for values in CALLS[:2])),
        None,
        (1, text(1, b"MPI_Send", order) + text(7, "Größe".encode(), order) + text(8, b"", order)),
        (0, call(CALLS[2], order)),
        (1, text(7, b"too late", order) + text(9, b"\xff\xfe", order)),
    ]


def closed_file(order: str = "<", blocks: bytes | None = None, **fields: Any) -> bytes:
    data = body(standard_blocks(order), order) if blocks is None else blocks
    end = BEGIN + len(data)
    return header(order, **({"flags": 1, "final": end, "tail": end} | fields)) + data


def killed_file(order: str = "<", blocks: bytes | None = None, **fields: Any) -> bytes:
    data = body(standard_blocks(order), order) if blocks is None else blocks
    return header(order, **({"tail": BEGIN + len(data)} | fields)) + data
