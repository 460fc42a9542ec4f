"""Nested, overlapping and recursive sections in Python, of one thread and of several.

program.py LIBRARY: the shared library made of trace.c, which notes what is done.
"""

from __future__ import annotations

import ctypes
import sys
import threading

from gnomon.hpm import (
    HPM_AUTO_PARENT,
    HPM_NO_PARENT,
    HPM_ONLY_EXCLUSIVE,
    error_count,
    hpmGetTimeAndCounters,
    hpmInit,
    hpmStartx,
    hpmStop,
    hpmTerminate,
    hpmTstartx,
    hpmTstop,
)

TRACE = ctypes.PyDLL(sys.argv[1])
TRACE.trace_start.argtypes = (ctypes.c_char, ctypes.c_int, ctypes.c_int)
TRACE.trace_stop.argtypes = (ctypes.c_char, ctypes.c_int)


def start(number: int, parent: int = HPM_AUTO_PARENT, kind: bytes = b"t") -> None:
    TRACE.trace_start(kind, number, parent)
    (hpmTstartx if kind == b"t" else hpmStartx)(number, parent, "in Python")
    TRACE.trace_done()


def stop(number: int, kind: bytes = b"t") -> None:
    TRACE.trace_stop(kind, number)
    (hpmTstop if kind == b"t" else hpmStop)(number)
    TRACE.trace_done()


def touch(pages: int) -> None:
    TRACE.trace_touch(pages)


def recursive(base: int, levels: int) -> None:
    start(base + 3)
    touch(10 * levels)
    if levels > 1:
        recursive(base, levels - 1)
    stop(base + 3)


def all_kinds(base: int) -> None:
    start(base + 1)
    touch(30)
    start(base + 2)
    touch(50)
    stop(base + 2)
    stop(base + 1)
    recursive(base, 4)
    start(base + 4, HPM_NO_PARENT)
    touch(20)
    start(base + 5, HPM_ONLY_EXCLUSIVE)
    touch(40)
    stop(base + 4)
    touch(80)
    start(base + 6, base + 4)
    touch(60)
    stop(base + 5)
    stop(base + 6)


def three_times(base: int) -> None:
    for _ in range(3):
        all_kinds(base)


def main() -> int:
    hpmInit(0, "program")
    TRACE.trace_begin()
    for base in (0, 10):
        thread = threading.Thread(target=three_times, args=(base,))
        thread.start()
        thread.join()
    for _ in range(2):
        start(500, kind=b"p")
        touch(25)
        start(501, kind=b"p")
        touch(35)
        stop(501, kind=b"p")
        stop(500, kind=b"p")
    hpmStartx(900, HPM_AUTO_PARENT, "of the process")
    hpmTstartx(901, HPM_AUTO_PARENT, "of the thread")
    touch(70)
    hpmTstop(901)
    hpmStop(900)
    seconds, counts = hpmGetTimeAndCounters(3)
    if not (seconds > 0 and counts[0] >= 70 and counts[2] == -1):
        return 3
    hpmTerminate(0)
    TRACE.trace_print()
    return error_count()


if __name__ == "__main__":
    raise SystemExit(main())
