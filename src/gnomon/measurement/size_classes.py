"""Classes of sizes of what calls move, as native/call_sites/totals_file.h counts them."""

from __future__ import annotations

import re

_UNITS = {"byte": 0, "bytes": 0, "KiB": 10, "MiB": 20, "GiB": 30, "TiB": 40, "PiB": 50, "EiB": 60}
_BOUND = re.compile(r"up to (\d+) (\w+)")


def size_name(size_class: int) -> str:
    """Return what messages of a class have: class 0 nothing, class n up to 2 ** (n - 1) bytes."""
    if size_class == 0:
        return "nothing"
    exponent = size_class - 1
    unit = ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")[min(exponent // 10, 6)]
    count = 1 << exponent % 10 if exponent < 70 else 1 << (exponent - 60)
    return f"up to {count} {'byte' if count == 1 and unit == 'bytes' else unit}"


def size_order(name: str) -> int:
    """Return a number by which names of classes are sorted by size; what is no class comes last.

    Classes of others end elsewhere, and are called alike: up to 100 bytes.
    """
    if name == size_name(0):
        return 0
    match = _BOUND.fullmatch(name)
    return int(match[1]) << _UNITS[match[2]] if match and match[2] in _UNITS else 1 << 80
