"""Work of a known size for event sets, and what a process holds."""

from __future__ import annotations

import ctypes
import gc
import mmap
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from gnomon.counters import EventSet

PAGES = 1000
SLICE_MS = 10


class Memory:
    """Pages that can be touched for the first time again and again."""

    def __init__(self, pages: int = 4 * PAGES) -> None:
        self._map = mmap.mmap(
            -1, pages * mmap.PAGESIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
        )
        self._map.madvise(mmap.MADV_NOHUGEPAGE)
        self._bytes = (ctypes.c_char * len(self._map)).from_buffer(self._map)
        self.address = ctypes.addressof(self._bytes)

    def touch(self, pages: int = PAGES) -> None:
        """Cause `pages` page faults in user mode."""
        self._map.madvise(mmap.MADV_DONTNEED)
        ctypes.memset(self.address, 1, pages * mmap.PAGESIZE)

    def touch_in_kernel(self, pages: int = PAGES) -> None:
        """Cause `pages` page faults in kernel mode: it writes what is read from a file."""
        self._map.madvise(mmap.MADV_DONTNEED)
        with Path("/dev/zero").open("rb", buffering=0) as zero:
            zero.readinto(memoryview(self._map)[: pages * mmap.PAGESIZE])


def descriptors() -> int:
    gc.collect()  # closes what other tests have left to it
    return len(list(Path("/proc/self/fd").iterdir()))


def tasks(expected: int | None = None) -> int:
    """Return how many threads there are; one that was joined may be seen for a moment more."""
    for _ in range(1000):
        found = len(list(Path("/proc/self/task").iterdir()))
        if expected in (None, found):
            break
        time.sleep(0.001)
    return found


def run_turns(events: EventSet, memory: Memory, turns: int) -> int:
    """Touch pages until the set has had so many slices of CPU time; return how many pages."""
    touched = 0
    while events.read()[0].enabled_ns < turns * SLICE_MS * 1_000_000:
        memory.touch()
        touched += PAGES
    return touched


def in_child(work: Callable[[], None]) -> None:
    child = os.fork()
    if child == 0:
        work()
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert status == 0


@contextmanager
def working_child() -> Iterator[tuple[int, Callable[[int], None]]]:
    """Yield the pid of a process that touches pages when it is told to, and the way to tell it."""
    asked, ask = os.pipe()
    answered, answer = os.pipe()
    child = os.fork()
    if child == 0:
        memory = Memory()
        while True:
            memory.touch(int(os.read(asked, 8)))
            os.write(answer, b"done")

    def work(pages: int) -> None:
        os.write(ask, b"%8d" % pages)
        assert os.read(answered, 4) == b"done"

    work(PAGES)
    yield child, work
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    for fd in (asked, ask, answered, answer):
        os.close(fd)
