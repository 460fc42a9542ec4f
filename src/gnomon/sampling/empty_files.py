"""Whether a record file has samples at all, without NumPy: most of many short programs have none.

NumPy takes longer to import than such a program runs. What is not as it should be is left to the
reader (`sample_file`), which says so.
"""

from __future__ import annotations

import os
import struct
from pathlib import Path

_PAGE_BYTES = 4096
# Of native/include/gnomon/record_file.h, in this machine's byte order: magic to flags; final_bytes;
# block_bytes, n_kinds; tail; lost.
_HEAD = struct.Struct("=8sIIII16xQ44xII924xQ56xQ")
_MAGIC, _BYTE_ORDER, _VERSION = b"\x89GNOMON\n", 0x01020304, 2
_CLOSED, _STOPPED = 1, 2
_KIND_NAME = struct.Struct("=24s8x")
_BLOCK = struct.Struct("=8x4sI")
# What says something where there are no samples.
_TOLD = (b"sample", b"loss")
_BLOCKS_MOST = 64


def may_have_samples(path: Path) -> bool:
    """Return False for a whole file of the sampler that has neither samples nor losses."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return True
    try:
        return _may_have_samples(descriptor)
    except (OSError, struct.error):
        return True
    finally:
        os.close(descriptor)


def _may_have_samples(descriptor: int) -> bool:
    magic, order, version, begin, flags, final, block_bytes, n_kinds, tail, lost = _HEAD.unpack(
        os.pread(descriptor, _HEAD.size, 0)
    )
    if (magic, order, version) != (_MAGIC, _BYTE_ORDER, _VERSION) or flags & _STOPPED or lost:
        return True
    end = final if flags & _CLOSED else tail
    if os.fstat(descriptor).st_size < end:
        return True
    if not block_bytes or not 0 <= end - begin <= _BLOCKS_MOST * block_bytes:
        return True
    names = os.pread(descriptor, n_kinds * _KIND_NAME.size, _PAGE_BYTES)
    kinds = [name.split(b"\0")[0] for (name,) in _KIND_NAME.iter_unpack(names)]
    for offset in range(begin, end, block_bytes):
        block_magic, kind = _BLOCK.unpack(os.pread(descriptor, _BLOCK.size, offset))
        if block_magic != b"GNBK" or kind >= len(kinds) or kinds[kind] in _TOLD:
            return True
    return False
