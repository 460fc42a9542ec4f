"""Typed arrays as the page reads them: a header in JSON, then the numbers as they lie in memory.

    u32 length of header | header, blanks up to a multiple of 8 | arrays, each at such a multiple

All is little-endian. The header holds what is no array, and `arrays`: name, type (`f64`, `i32`,
`u32` or `u8`), length in elements and offset in bytes behind the header.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

_TYPES = {"f64": "<f8", "i32": "<i4", "u32": "<u4", "u8": "u1"}
_NAMES = {np.dtype(code): name for name, code in _TYPES.items()}
_ALIGNED = 8


def pack(header: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> bytes:
    """Return a header and arrays as one body.

    Raises:
        ValueError: an array's type is none of the four.
    """
    listed = []
    parts = []
    offset = 0
    for name, array in arrays.items():
        kind = _NAMES.get(array.dtype.newbyteorder("<"))
        if kind is None:
            raise ValueError(f"{name}: {array.dtype} is none of {', '.join(_TYPES)}")
        data = np.ascontiguousarray(array, dtype=_TYPES[kind]).tobytes()
        listed.append({"name": name, "type": kind, "length": len(array), "offset": offset})
        parts += [data, bytes(-len(data) % _ALIGNED)]
        offset += len(data) + -len(data) % _ALIGNED
    text = as_json({**header, "arrays": listed})
    text += b" " * (-(len(text) + 4) % _ALIGNED)
    return b"".join([struct.pack("<I", len(text)), text, *parts])


def as_json(content: object) -> bytes:
    """Return JSON in UTF-8; what is no UTF-8 in names is escaped, NaN is an error of ours."""
    # A backslash, u and four digits: as JSON itself has it.
    text = json.dumps(content, allow_nan=False, ensure_ascii=False)
    return text.encode(errors="backslashreplace")


def unpack(body: bytes) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
    """Return the header and the arrays of a body.

    Raises:
        ValueError: it is none.
    """
    if len(body) < 4:
        raise ValueError("shorter than the length of its header")
    (length,) = struct.unpack_from("<I", body)
    header = json.loads(body[4 : 4 + length])
    arrays = {
        entry["name"]: np.frombuffer(
            body,
            dtype=_TYPES[entry["type"]],
            count=entry["length"],
            offset=4 + length + entry["offset"],
        )
        for entry in header.pop("arrays")
    }
    return header, arrays
