"""Record blocks: every value comes back; what is damaged is refused by file and offset."""

from __future__ import annotations

import random
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from property_tests import examples

from gnomon._core import crc32c
from gnomon.errors import FormatError
from gnomon.model.tables import LOCATIONS, METRICS, PATHS, PROFILE, Table
from gnomon.store import file_head, record_blocks
from gnomon.store.record_blocks import BlockWriter, read_blocks

_INTEGER = st.integers(-(2**31), 2**31 - 1)
_BIGINT = st.none() | st.integers(-(2**63), 2**63 - 1)
_DOUBLE = st.floats() | st.sampled_from((0.0, -0.0, 1.0))
ROWS = st.lists(
    st.tuples(_INTEGER, _INTEGER, _INTEGER, _INTEGER, _DOUBLE, st.none() | _DOUBLE, _BIGINT,
              _BIGINT, _BIGINT, _BIGINT), min_size=1, max_size=10
)  # fmt: skip
NAMES = st.lists(st.text(st.characters(), max_size=5), min_size=1, max_size=5)


def written(file: Path, *tables: Table) -> Path:
    writer = BlockWriter(file)
    writer.document({"end": {"pid": 7}})
    for table in tables:
        writer.append(table)
    writer.close()
    return file


def read(file: Path) -> list[Table]:
    document, *rest = read_blocks(file)
    assert document.document() == {"end": {"pid": 7}}
    return [block.rows() for block in rest]


@examples(50)
@given(ROWS, NAMES, st.none() | st.booleans())
def test_every_value_comes_back(
    tmp_path_factory: pytest.TempPathFactory, rows: Any, names: list[str], flag: bool | None
) -> None:
    metrics = Table(METRICS)
    for at, name in enumerate(names):
        metrics.append((at, name, "", "", "", "", "", "", name, None, None, flag))
    tables = [Table(PROFILE, rows), metrics]
    file = written(tmp_path_factory.mktemp("blocks") / "part.0.blocks", *tables)
    assert repr([table.rows for table in read(file)]) == repr([table.rows for table in tables])


def test_many_rows_are_several_blocks(tmp_path: Path) -> None:
    n = record_blocks.ROWS_MOST + 5
    columns = {"path": np.arange(n), "parent": np.full(n, -1), "region": np.arange(n) % 7}
    file = written(tmp_path / "x.blocks", Table.of(PATHS, columns))
    first, second = read(file)
    assert (len(first), len(second)) == (record_blocks.ROWS_MOST, 5)
    assert second.values("path") == list(range(record_blocks.ROWS_MOST, n))
    assert second.values("parent") == [-1] * 5
    found = np.concatenate([first.numbers("region"), second.numbers("region")])
    assert (found == columns["region"]).all()
    # Columns that are all alike take no room.
    assert file.stat().st_size < 2 * 4 * n + 2000


def test_only_what_is_wanted_is_read(tmp_path: Path) -> None:
    file = written(
        tmp_path / "x.blocks", Table(PATHS, [(0, -1, 0)]), Table(LOCATIONS),
        Table(PROFILE, [(0, 0, 0, 0, 1.0)] * 3),
    )  # fmt: skip
    found = [(block.table, block.n, bool(block.payload)) for block in read_blocks(file, {"paths"})]
    assert found == [("", 0, False), ("paths", 1, True), ("profile", 3, False)]


def test_it_has_its_name_when_it_is_whole(tmp_path: Path) -> None:
    writer = BlockWriter(tmp_path / "x.blocks")
    assert not (tmp_path / "x.blocks").exists()
    writer.discard()
    assert list(tmp_path.iterdir()) == []


def whole(folder: Path) -> Path:
    rows = [(0, at, 0, at % 3, float(at), None, 1, None, None, None) for at in range(5)]
    return written(
        folder / "part.3.blocks", Table(PATHS, [(0, -1, 0), (1, 0, 1)]), Table(PROFILE, rows)
    )


def read_all(file: Path) -> None:
    for block in read_blocks(file):
        if block.table:
            block.rows()
        else:
            block.document()


def test_whatever_byte_is_damaged_is_noticed(tmp_path: Path) -> None:
    file = whole(tmp_path)
    content = file.read_bytes()
    rng = random.Random(1)
    ignored = range(28, 32)  # features that a reader need not know
    for at in sorted(set(range(len(content))) - set(ignored)):
        file.write_bytes(
            content[:at] + bytes([content[at] ^ 1 << rng.randrange(8)]) + content[at + 1 :]
        )
        with pytest.raises(FormatError, match=r"part\.3\.blocks: at byte \d+: "):
            read_all(file)


def test_whatever_is_cut_off_is_noticed(tmp_path: Path) -> None:
    """A file that ends behind a block is whole as far as it goes: the writer renames whole ones."""
    file = whole(tmp_path)
    content = file.read_bytes()
    ends = {block.offset for block in read_blocks(file)}
    for size in range(len(content)):
        file.write_bytes(content[:size])
        if size in ends:
            read_all(file)
            continue
        with pytest.raises(FormatError, match=r"part\.3\.blocks: at byte \d+: "):
            read_all(file)


def block(descriptor: bytes, payload: bytes, n: int) -> bytes:
    """Return a block whose checksum is right, whatever it says."""
    head = struct.pack("=4sIQI", b"GNTB", len(descriptor), len(payload), n)
    return (
        head
        + struct.pack("=I", crc32c(payload, crc32c(descriptor, crc32c(head))))
        + descriptor
        + payload
    )


PATHS_OF = b'["paths",[["path","INTEGER","none","each"],["parent","INTEGER","none","each"],'
REGION = b'["region","INTEGER","none","each"]]]'


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (block(b"nonsense", b"", 0), "a block of no table"),
        (block(b'["nobody",[]]', b"", 0), "a block of no table"),
        (block(b"[" * 60_000, b"", 0), "a block of no table"),
        (block(PATHS_OF + REGION, b"", 1_000_000), "its columns are too short"),
        (block(PATHS_OF + REGION, b"x" * 13, 1), "its columns are too long"),
        (block(PATHS_OF + b'["region","INTEGER","all","each"]]]', b"x" * 8, 1), "has missing"),
        (block(PATHS_OF + b'["other","INTEGER","none","each"]]]', b"x" * 12, 1), "of no table"),
        (block(PATHS_OF + REGION, b"", 4_000_000_000), "no block begins here"),
        (struct.pack("=4sIQII", b"GNTB", 0, 1 << 62, 0, 0), "no block begins here"),
        (struct.pack("=4sIQII", b"GNTB", 2, 1 << 31, 0, 0) + b'""', "it is cut off in a block of"),
        (block(b'""', b"[1]", 0), "a document is missing"),
        (block(b'""', b"{", 0), "its document is no JSON"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused(tmp_path: Path, content: bytes, why: str) -> None:
    file = tmp_path / "part.0.blocks"
    file.write_bytes(file_head.head_of(record_blocks.KIND) + content)
    with pytest.raises(FormatError, match=why):
        read_all(file)


HEAD = file_head.head_of(record_blocks.KIND)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "at byte 0: not a file of record blocks of Gnomon"),
        (HEAD[:7], "at byte 0: not a file of record blocks of Gnomon"),
        (b"gnblock<" * 4, "at byte 0: not a file of record blocks of Gnomon"),
        (b"PAR1" * 8, "at byte 0: not a file of record blocks of Gnomon"),
        (b"\x89GNOMON\n" + HEAD[8:], "at byte 0: not a file of record blocks of Gnomon"),
        (bytes(32), "at byte 0: an empty header"),
        (HEAD[:31], "at byte 31: cut short: a file of record blocks begins with 32 bytes"),
        (HEAD[:8] + b"abcd" + HEAD[12:], "at byte 8: unknown byte order 61 62 63 64"),
        (HEAD[:8] + HEAD[11:7:-1] + b"\0\0\0\1" + HEAD[16:24] + bytes(8), "the other byte order"),
        (HEAD[:12] + b"\7\0\0\0" + HEAD[16:], "at byte 12: version 7 of the format, this Gnomon"),
        (HEAD[:16] + b"\7\0\0\0" + HEAD[20:], "at byte 16: it is damaged: its head makes no"),
        (HEAD[:24] + b"\4" + bytes(7), "at byte 24: features 0x4 that this Gnomon does not"),
    ],
)  # fmt: skip
def test_what_is_something_else_is_refused(tmp_path: Path, content: bytes, why: str) -> None:
    (tmp_path / "x.blocks").write_bytes(content)
    with pytest.raises(FormatError, match=why):
        read_all(tmp_path / "x.blocks")


def test_features_that_may_be_ignored_are(tmp_path: Path) -> None:
    file = whole(tmp_path)
    content = file.read_bytes()
    file.write_bytes(content[:24] + struct.pack("=Q", 1 << 40) + content[32:])
    read_all(file)
