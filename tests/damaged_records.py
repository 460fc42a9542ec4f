"""Damage done to record files: to the header, the description of the records, and the records.

Checksums are made anew afterwards, so that readers have to find out what makes no sense.
"""

from __future__ import annotations

import random
import struct

import record_layout

from gnomon._core import crc32c

_WORDS = ("none", "some", "all", "each", "one", "INTEGER", "BIGINT", "DOUBLE", "VARCHAR")
_SHAPES = tuple(f'"{word}"'.encode() for word in _WORDS)
_BLOCK_HEAD = 32
_TABLES = 4096


def changed(rng: random.Random, content: bytes) -> bytes:
    """Return bytes of which a number or word is another."""
    if not content:
        return rng.randbytes(rng.randrange(9))
    at = rng.randrange(len(content))
    how = rng.randrange(6)
    if how == 0:
        return content[:at] + bytes([rng.randrange(256)]) + content[at + 1 :]
    if how == 1:
        size = rng.choice((4, 8))
        at -= at % size
        value = rng.choice((0, 1, 2, 3, 1000, 1 << 31, (1 << 32) - 1, 1 << 62, (1 << 64) - 1))
        number = (value % (1 << 8 * size)).to_bytes(size, "little")
        return (content[:at] + number + content[at + size :])[: len(content)]
    if how == 2:
        return content[:at]
    if how == 3:
        return content + content[at:]
    there = [word for word in _SHAPES if word in content] or [content[at : at + 1]]
    return content.replace(rng.choice(there), rng.choice(_SHAPES), rng.choice((1, -1)))


def damaged(rng: random.Random, whole: bytes) -> bytes:
    """Return a record file in which the header, the tables of kinds or a block is another."""
    content = bytearray(whole)
    begin, step = record_layout.BEGIN, record_layout.BLOCK_BYTES
    how = rng.randrange(6)
    if how == 0:
        content[8:128] = changed(rng, bytes(content[8:128]))[:120].ljust(120, b"\0")
    elif how == 1:
        used = 32 * sum(struct.unpack_from("<II", content, 96))
        kinds = changed(rng, bytes(content[_TABLES : _TABLES + used]))[:used].ljust(used, b"\0")
        content[_TABLES : _TABLES + used] = kinds
        struct.pack_into("<I", content, 108, crc32c(kinds))
    else:
        at = rng.randrange(begin, len(content), step)
        (used,) = struct.unpack_from("<I", content, at)
        records = changed(rng, bytes(content[at + _BLOCK_HEAD : at + _BLOCK_HEAD + used]))
        if how == 2:
            block = changed(rng, bytes(content[at + 8 : at + step]))
            used = rng.choice((used, rng.randrange(step - _BLOCK_HEAD + 1)))
        else:
            block = bytes(content[at + 8 : at + _BLOCK_HEAD]) + records
            used = rng.choice((used, min(len(records), step - _BLOCK_HEAD)))
        block = block[: step - 8].ljust(step - 8, b"\0")
        struct.pack_into("<II", content, at, used, crc32c(block[: _BLOCK_HEAD - 8 + used]))
        content[at + 8 : at + step] = block
    return bytes(content)
