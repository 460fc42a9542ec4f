"""Nested, overlapping and recursive sections on one thread and on several, and notes of them.

What is done is the system call getppid, so many times as a note says. `marks` says by what sections
are started: the guide's functions with numbers, or labels.
"""

from __future__ import annotations

import os
import sys
import threading
from time import clock_gettime_ns

from gnomon import hpm

CLOCK_MONOTONIC_RAW = 4
AUTO, ONLY_EXCLUSIVE, NO_PARENT = hpm.HPM_AUTO_PARENT, hpm.HPM_ONLY_EXCLUSIVE, hpm.HPM_NO_PARENT

heads: list[str] = []
notes: list[tuple[object, ...]] = []
by_labels = sys.argv[1] == "labels"


def now() -> int:
    return clock_gettime_ns(CLOCK_MONOTONIC_RAW)


def section(number: int, parent: int) -> hpm.Section:
    """Return the section that has this number in the notes; threads share its label."""
    whole = number > 500
    related: hpm.Section | int | None = {AUTO: None, ONLY_EXCLUSIVE: None}.get(parent, parent)
    if parent > 0:
        related = section(parent, AUTO)
    label = str(number if whole else number % 100)
    return hpm.section(
        label, whole_process=whole, parent=related, exclusive=parent == ONLY_EXCLUSIVE
    )


def start(number: int, parent: int = AUTO) -> None:
    kind = "p" if number > 500 else "t"
    tid = threading.get_native_id()
    if by_labels:
        made = section(number, parent)
        before = now()
        made.__enter__()
    else:
        begin = hpm.hpmStartx if number > 500 else hpm.hpmTstartx
        before = now()
        begin(number, parent, str(number if number > 500 else number % 100))
    notes.append(("s", kind, number, parent, tid, before, now()))


def stop(number: int) -> None:
    kind = "p" if number > 500 else "t"
    tid = threading.get_native_id()
    if by_labels:
        made = section(number, AUTO)
        before = now()
        made.__exit__(None, None, None)
    else:
        end = hpm.hpmStop if number > 500 else hpm.hpmTstop
        before = now()
        end(number)
    notes.append(("e", kind, number, 0, tid, before, now()))


def work(n: int) -> None:
    at = now()
    for _ in range(n):
        os.getppid()
    notes.append(("t", "-", n, 0, threading.get_native_id(), at, at))


def recursive(base: int, levels: int) -> None:
    start(base + 3)
    work(levels)
    if levels > 1:
        start(base + 4)
        recursive(base, levels - 1)
        work(1)
        stop(base + 4)
    stop(base + 3)


def all_kinds(base: int) -> None:
    start(base + 1)
    work(3)
    start(base + 2)
    work(5)
    stop(base + 2)
    work(7)
    stop(base + 1)
    recursive(base, 5)
    # Overlapping, the second a child of the first; then one with a parent that is over.
    start(base + 5, NO_PARENT)
    work(2)
    start(base + 6)
    work(4)
    start(base + 7, base + 5)
    work(8)
    stop(base + 6)
    work(16)
    stop(base + 5)
    work(32)
    stop(base + 7)
    start(base + 8, base + 5)
    work(9)
    start(base + 5, ONLY_EXCLUSIVE)
    work(6)
    stop(base + 8)
    work(1)
    stop(base + 5)


def rounds(index: int) -> None:
    heads.append(f"thread {index} {threading.get_native_id()}")
    for _ in range(3):
        all_kinds(100 * index)


def in_threads(n: int) -> None:
    """Run `rounds` on n threads, which exist all at once, and the first of which is this one."""
    others = [threading.Thread(target=rounds, args=(index,)) for index in range(1, n)]
    for thread in others:
        thread.start()
    rounds(0)
    for thread in others:
        thread.join()


def main() -> None:
    if not by_labels:
        hpm.hpmInit(0, "sections")
    in_threads(int(sys.argv[2]))
    start(501)
    work(11)
    start(502)
    helper = threading.Thread(target=work, args=(50,))
    helper.start()
    helper.join()
    work(2)
    stop(502)
    work(13)
    stop(501)
    if not by_labels:
        hpm.hpmTerminate(0)
    print(*heads, sep="\n")
    for note in notes:
        print(*note)
    sys.exit(hpm.hpm_error_count)


if __name__ == "__main__":
    main()
