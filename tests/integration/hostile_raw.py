"""What a killed run leaves, with rows of every table and a record file, and damage done to it.

Whatever is done to a block is done before its checksum is made anew, so that readers have to find
out what makes no sense in it.
"""

from __future__ import annotations

import json
import random
import struct
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import record_layout
from damaged_records import changed, damaged

from gnomon._core import crc32c
from gnomon.errors import FormatError
from gnomon.launch.capability import Capability
from gnomon.launch.run_assembly import assemble_run
from gnomon.model.capability_result import Collected
from gnomon.model.schemas import ALL_SCHEMAS, EVENTS, LOCATIONS, PATHS, REGIONS, Column
from gnomon.model.tables import Table
from gnomon.store import staging
from gnomon.store.file_head import HEAD_BYTES
from gnomon.store.record_blocks import KIND
from gnomon.store.record_file import SUFFIX, open_records
from gnomon.store.record_kinds import PAGE_BYTES

T0 = 1_700_000_000_000_000_000
ROWS = 3
HEAD = {
    "job": "1", "tasks": 1, "rank": -1, "command": ["app"], "host": {"name": "node0"},
    "started": 1.7e9, "environment": {}, "working_directory": "/", "capabilities": ["recorded"],
}  # fmt: skip
END = {"exit_status": 0, "signal": 0, "pid": 7, "started": 1.7e9, "wall_ns": 10**9}
TEXTS = {"how": "counted", "aggregation": "sum", "component": "kernel", "scope": "process"}
KINDS = {"locations": "process", "regions": "hpm", "files": "file"}
_BLOCK = struct.Struct("=4sIQI")
_CRC = struct.Struct("=I")


class Recorded(Capability):
    """Makes events of the records in the staging folder, and keeps the files."""

    name = "recorded"
    title = "records of a made file"

    def collect(self, folder: Path) -> Collected:
        locations, regions, paths = Table(LOCATIONS), Table(REGIONS), Table(PATHS)
        regions.add(region=0, kind="call", name="call", module="", file="", line=0)
        paths.add(path=0, parent=-1, region=0)
        events = Table(EVENTS)
        for at, path in enumerate(sorted(folder.glob(f"*{SUFFIX}"))):
            file = open_records(path)
            fields = {kind.name: (kind.dtype and kind.dtype.names) or () for kind in file.kinds}
            if "begin" not in fields.get("call", ()):
                raise FormatError(path, PAGE_BYTES, "no calls with a beginning")
            locations.add(location=at, parent=-1, kind="process", host=file.host, rank=-1,
                          pid=file.pid, tid=-1, name=file.texts("name").get(1, ""))  # fmt: skip
            for ns in file.to_epoch_ns(file.columns("call")["begin"]).tolist():
                events.append((0, at, 0, 0, ns, None, None, -1))
        return Collected((locations, regions, paths, events))

    def files_to_keep(self, folder: Path) -> Mapping[str, Path]:
        return {path.name: path for path in folder.glob(f"*{SUFFIX}")}


def made(folder: Path) -> None:
    """Leave `full.gnomon.raw`, and the run `full.gnomon` of the same, in a folder."""
    for name in ("full", "whole"):
        raw = staging.create_staging(str(folder / name), 0, HEAD)
        staging.end(raw, 0, END, Collected(tuple(map(_filled, ALL_SCHEMAS))))
        (raw / f"7.recorded{SUFFIX}").write_bytes(record_layout.closed_file())
    assemble_run(raw, str(folder / "whole"), [Recorded()])


def _filled(schema: Any) -> Table:
    """Return a table with rows that refer to each other."""
    table = Table(schema)
    for at in range(ROWS):
        table.append(tuple(_cell(schema.name, column, at) for column in schema.columns))
    return table


def _cell(table: str, column: Column, at: int) -> Any:
    if column.name == "parent":
        return at - 1
    if column.name == "kind":
        return KINDS[table]
    if column.type == "VARCHAR":
        return TEXTS.get(column.name, f"{column.name} {at}")
    if column.type == "BOOLEAN":
        return bool(at % 2)
    if column.is_moment:
        return T0 + at
    if column.nullable and at == 1:
        return None
    return 0 if column.name in ("repetition", "rank") else at


# --- damage ---------------------------------------------------------------------------------------


def part(rng: random.Random, raw: Path) -> None:
    """Change a block of a part: its rows, what it says of them, how many they are."""
    file = raw / "part.0.blocks"
    content = file.read_bytes()
    whole, at, blocks = content[:HEAD_BYTES], HEAD_BYTES, []
    while at < len(content):
        mark, of_descriptor, of_payload, n = _BLOCK.unpack_from(content, at)
        at += _BLOCK.size + _CRC.size
        descriptor = content[at : at + of_descriptor]
        payload = content[at + of_descriptor : at + of_descriptor + of_payload]
        blocks.append((mark, descriptor, payload, n))
        at += of_descriptor + of_payload
    for _ in range(rng.choice((1, 1, 2, 8))):
        number = rng.randrange(len(blocks))
        mark, descriptor, payload, n = blocks[number]
        how = rng.randrange(8)
        if how == 0:
            descriptor = changed(rng, descriptor)
        elif how == 1:
            n = rng.choice((0, 1, n + 1, 4096, 5000, 1_000_000))
        elif how == 2:
            blocks.insert(rng.randrange(len(blocks) + 1), blocks[number])
        elif how == 3:
            descriptor = blocks[rng.randrange(len(blocks))][1]
        else:
            payload = changed(rng, payload)
        blocks[number] = (mark, descriptor, payload, n)
    for mark, descriptor, payload, n in blocks:
        head = _BLOCK.pack(mark, len(descriptor), len(payload), n)
        whole += head + _CRC.pack(crc32c(payload, crc32c(descriptor, crc32c(head))))
        whole += descriptor + payload
    file.write_bytes(whole)


def records(rng: random.Random, raw: Path) -> None:
    """Change the header, the kinds or a block of a record file."""
    # A first mutation may have taken it away.
    for file in raw.glob(f"*{SUFFIX}"):
        file.write_bytes(damaged(rng, file.read_bytes()))


def task(rng: random.Random, raw: Path, odd: Callable[[random.Random], Any]) -> None:
    """Write something else into what was known of the task when it began."""
    file = raw / "task.0.json"
    whole = json.loads(file.read_text())
    key = rng.choice(list(whole))
    if isinstance(whole[key], dict) and rng.random() < 0.3:
        whole[key] = {"name": odd(rng)}
    else:
        whole[key] = odd(rng)
    file.write_text(json.dumps(whole))


def end(rng: random.Random, raw: Path, odd: Callable[[random.Random], Any]) -> None:
    """Write something else into what was known of it at its end."""
    document: dict[str, Any] = {"end": dict(END), "unavailable": [], "warnings": []}
    inner = rng.choice((document, document["end"]))
    inner[rng.choice(list(inner))] = odd(rng)
    content = json.dumps(document).encode()
    head = _BLOCK.pack(b"GNTB", 2, len(content), 0)
    block = head + _CRC.pack(crc32c(content, crc32c(b'""', crc32c(head)))) + b'""' + content
    file = raw / "part.0.blocks"
    rest = file.read_bytes()
    _, of_descriptor, of_payload, _ = _BLOCK.unpack_from(rest, HEAD_BYTES)
    behind = HEAD_BYTES + _BLOCK.size + _CRC.size + of_descriptor + of_payload
    file.write_bytes(rest[:HEAD_BYTES] + block + rest[behind:])
    assert rest.startswith(KIND.magic)
