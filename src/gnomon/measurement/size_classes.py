"""Classes of sizes of what calls move, as native/call_sites/totals_file.h counts them."""

from __future__ import annotations


def size_name(size_class: int) -> str:
    """Return what messages of a class have: class 0 nothing, class n up to 2 ** (n - 1) bytes."""
    if size_class == 0:
        return "nothing"
    exponent = size_class - 1
    unit = ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")[min(exponent // 10, 6)]
    count = 1 << exponent % 10 if exponent < 70 else 1 << (exponent - 60)
    return f"up to {count} {'byte' if count == 1 and unit == 'bytes' else unit}"
