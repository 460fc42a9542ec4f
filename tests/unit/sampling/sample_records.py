"""A writer of the sampler's record files that shares nothing with the reader but the layout."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import record_layout

Row = Sequence[Any]

# Of native/sampling/sample_file.h: struct format, and name, offset, type and count of its fields.
KINDS: Mapping[str, tuple[str, Sequence[tuple[str, int, int, int]]]] = {
    "setup": ("QQII", [("monotonic_ns", 0, 8, 1), ("realtime_ns", 8, 8, 1),
                       ("stack_bytes", 16, 4, 1), ("n_cpus", 20, 4, 1)]),
    "event": ("", []),
    "module": ("IIiI64sQ", [("module", 0, 4, 1), ("kind", 4, 4, 1), ("pid", 8, 0x14, 1),
                            ("build_id_bytes", 12, 4, 1), ("build_id", 16, 1, 64),
                            ("inode", 80, 8, 1)]),
    "path": ("", []),
    "place": ("QI4x", [("offset", 0, 8, 1), ("module", 8, 4, 1)]),
    "node": ("I", [("place", 0, 4, 1)]),
    "branch": ("II", [("node", 0, 4, 1), ("parent", 4, 4, 1)]),
    "process": ("Ii16s", [("process", 0, 4, 1), ("pid", 4, 0x14, 1), ("name", 8, 0x31, 16)]),
    "thread": ("IIi16s", [("thread", 0, 4, 1), ("process", 4, 4, 1), ("tid", 8, 0x14, 1),
                          ("name", 12, 0x31, 16)]),
    "sample": ("QQIIHHBB2x", [("time_ns", 0, 8, 1), ("weight", 8, 8, 1), ("thread", 16, 4, 1),
                              ("node", 20, 4, 1), ("cpu", 24, 2, 1), ("event", 26, 2, 1),
                              ("end", 28, 1, 1), ("flags", 29, 1, 1)]),
    "loss": ("QQII", [("time_ns", 0, 8, 1), ("count", 8, 8, 1), ("kind", 16, 4, 1),
                      ("cpu", 20, 4, 1)]),
    "cost": ("QQQ", [("cpu_ns", 0, 8, 1), ("ring_bytes", 8, 8, 1), ("left_out", 16, 8, 1)]),
    "kernel": ("", []),
    "time": ("Qi4x", [("counted_ns", 0, 8, 1), ("tid", 8, 0x14, 1)]),
    "value": ("QII", [("value", 0, 8, 1), ("sample", 8, 4, 1), ("event", 12, 4, 1)]),
    "data": ("QQQI4x", [("address", 0, 8, 1), ("source", 8, 8, 1), ("latency", 16, 8, 1),
                        ("sample", 24, 4, 1)]),
    "jump": ("IIIHBx", [("from_place", 0, 4, 1), ("to_place", 4, 4, 1), ("sample", 8, 4, 1),
                        ("cycles", 12, 2, 1), ("flags", 14, 1, 1)]),
    "wait": ("QQIiiBB2x", [("woken_ns", 0, 8, 1), ("subject", 8, 8, 1), ("sample", 16, 4, 1),
                           ("waker", 20, 0x14, 1), ("holder", 24, 0x14, 1), ("call", 28, 1, 1),
                           ("flags", 29, 1, 1)]),
    "rest": ("QIIHB5x", [("ns", 0, 8, 1), ("n", 8, 4, 1), ("thread", 12, 4, 1),
                         ("duration", 16, 2, 1), ("is_runnable", 18, 1, 1)]),
    "span": ("QQI4x", [("begin_ns", 0, 8, 1), ("end_ns", 8, 8, 1), ("thread", 16, 4, 1)]),
}  # fmt: skip

NONE = 0xFFFFFFFF
CLOCK = {
    "name": "cpu-clock", "unit": "ns", "factor": 1, "is_clock": True, "is_frequency": True,
    "period": 997, "counts_more": False, "domain": "all", "scope": "thread", "component": "kernel",
}  # fmt: skip


def records() -> dict[str, list[Row]]:
    """Return the records of a program whose main calls work in the kernel, and is called itself."""
    return {
        "setup": [(1000, 1_700_000_000_000_001_000, 32768, 2)],
        "event": [(0, json.dumps(CLOCK))],
        "module": [(0, 0, -1, 0, b"", 0), (1, 1, -1, 0, b"", 0), (2, 2, 50, 2, b"\xab\xcd", 7),
                   (3, 3, 50, 0, b"", 0)],
        "path": [(0, "[kernel]"), (1, "(truncated)"), (2, "/bin/app"), (3, "[jit]")],
        "place": [(0x100, 2), (0x200, 2), (0xFFFF, 0), (1, 1), (0x7000, 3)],
        "node": [(0,), (1,), (2,), (3,), (1,), (4,)],
        "branch": [(0, NONE), (3, NONE), (5, 0)],
        "process": [(0, 50, b"app"), (0, 50, b"other")],
        "thread": [(0, 0, 50, b"app"), (1, 0, 51, b"worker")],
        "sample": [(1500, 1000, 0, 2, 0, 0, 0, 0), (2500, 1000, 1, 4, 1, 0, 1, 0),
                   (3500, 1000, 1, 1, 1, 0, 0, 1), (4500, 1000, 0, 5, 0, 0, 0, 0)],
        "loss": [(5000, 3, 0, 1), (5000, 1, 1, 0)],
        "cost": [(7000, 1 << 20, 3)],
        "kernel": [(2, "do_work")],
        "time": [],
    }  # fmt: skip


# Branches before three of those samples, by places, sample, cycles and flags: a loop that is
# mispredicted once of three times known, a call into the kernel of which nothing is known, a loop
# of another thread, and a branch from and to where no code is.
MISPREDICTED, PREDICTED = 1, 2
JUMPS: Sequence[Row] = (
    (1, 0, 0, 10, PREDICTED), (1, 0, 0, 20, MISPREDICTED), (0, 2, 0, 0, 0), (1, 0, 3, 0, 0),
    (1, 0, 3, 6, PREDICTED), (1, 0, 1, 0xFFFF, MISPREDICTED), (NONE, NONE, 3, 0, PREDICTED),
)  # fmt: skip


# Of src/gnomon/sampling/native/python_records.h, in the same way.
PYTHON_KINDS: Mapping[str, tuple[str, Sequence[tuple[str, int, int, int]]]] = {
    "process": ("IIi4x", [("version", 0, 4, 1), ("state", 4, 4, 1), ("parent", 8, 0x14, 1)]),
    "code": ("IiI4x", [("code", 0, 4, 1), ("first_line", 4, 0x14, 1),
                       ("line_table_bytes", 8, 4, 1)]),
    "text": ("", []),
    "lines": ("II56s", [("code", 0, 4, 1), ("offset", 4, 4, 1), ("bytes", 8, 1, 56)]),
    "node": ("IIIiI4x", [("node", 0, 4, 1), ("parent", 4, 4, 1), ("code", 8, 4, 1),
                         ("instruction", 12, 0x14, 1), ("is_entry", 16, 4, 1)]),
    "sample": ("QiIII", [("time_ns", 0, 8, 1), ("tid", 8, 0x14, 1), ("node", 12, 4, 1),
                         ("status", 16, 4, 1), ("depth", 20, 4, 1)]),
}  # fmt: skip


def python_records() -> dict[str, list[Row]]:
    """Return the records of a program whose <module> calls f, which calls g by C."""
    return {
        "process": [(0x030B0200, 0, 0)],
        "code": [(1, 1, 3), (2, 5, 3), (3, 9, 60)],
        "text": [(2, "<module>"), (3, "a.py"), (4, "f"), (5, "a.py"), (6, "g"), (7, "b.py")],
        "lines": [(1, 0, b"\x80\xd9\x00"), (2, 0, b"\xe9\x04\xf7"),
                  (3, 0, b"\xe8\x82\x01" * 18), (3, 56, b"\xe8\x82\x01")],
        "node": [(1, 0, 1, 0, 1), (2, 1, 2, 3, 0), (3, 2, 3, -1, 1), (4, 3, 0, -1, 0)],
        "sample": [(1501, 50, 1, 0, 1), (2501, 51, 3, 0, 3), (3501, 51, 0, 1, 0),
                   (4501, 50, 0, 2, 0), (5501, 50, 4, 4, 4096)],
    }  # fmt: skip


def write(
    path: Path,
    rows: Mapping[str, Sequence[Row]],
    kinds: Mapping[str, tuple[str, Sequence[tuple[str, int, int, int]]]] = KINDS,
) -> Path:
    """Write a record file with these records of each kind, and return its path."""
    heads = fields = b""
    blocks: list[record_layout.Block | None] = []
    for number, (kind, (layout, columns)) in enumerate(kinds.items()):
        size = struct.calcsize("<" + layout) if layout else 0
        heads += struct.pack("<24sII", kind.encode(), size, len(columns))
        fields += b"".join(
            struct.pack("<24sIHH", name.encode(), offset, code, count)
            for name, offset, code, count in columns
        )
        data = b"".join(
            struct.pack("<" + layout, *row) if layout
            else record_layout.text(row[0], row[1].encode())
            for row in rows.get(kind, ())
        )  # fmt: skip
        if data:
            blocks.append((number, data))
    tables = heads + fields
    header = record_layout.header(
        kinds=tables, n_kinds=len(kinds), n_fields=len(fields) // 32, writer=b"samples",
        tail=record_layout.BEGIN + record_layout.BLOCK_BYTES * len(blocks),
    )  # fmt: skip
    path.write_bytes(header + record_layout.body(blocks))
    return path
