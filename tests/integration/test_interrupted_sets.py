"""Forks, executions, threads and signals while an event set counts."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading

import pytest
from sets import PAGES, SLICE_MS, Memory, in_child, run_turns

from gnomon.counters import EventSet
from gnomon.errors import ForkedError


@pytest.fixture
def memory() -> Memory:
    made = Memory()
    made.touch()
    return made


@pytest.mark.parametrize("multiplex", [False, True], ids=["plain", "multiplexed"])
def test_fork_in_the_middle(memory: Memory, multiplex: bool) -> None:
    events = EventSet(
        "page-faults,minor-faults", multiplex=multiplex, slice_ms=SLICE_MS,
        limit=1 if multiplex else None,
    )  # fmt: skip
    events.start()
    memory.touch()

    def misuse() -> None:
        for use in (events.read, events.stop, events.reset):
            try:
                use()
            except ForkedError:
                continue
            os._exit(1)
        events.close()
        with EventSet("page-faults") as own:
            memory.touch()
        assert own.read().raw(0) >= PAGES

    in_child(misuse)
    if multiplex:
        # The child's end has not ended the parent's turns.
        run_turns(events, memory, 12)
        assert all(count[2] for count in events.stop().counts())
    else:
        memory.touch()
        assert 2 * PAGES <= events.stop().raw(0) < 3 * PAGES
    events.close()


def test_execve_in_the_middle_leaves_nothing_open() -> None:
    script = (
        "import os, sys\n"
        "from gnomon.counters import EventSet\n"
        "EventSet('page-faults,task-clock', multiplex=True, limit=1).start()\n"
        "EventSet('tsc:::cycles,io:::read_bytes,network:::rx_bytes', strict=False).start()\n"
        "os.execv(sys.executable, [sys.executable, '-c', "
        "\"import json, os; print(json.dumps([os.readlink(f'/proc/self/fd/{fd}') "
        "for fd in os.listdir('/proc/self/fd') if os.path.exists(f'/proc/self/fd/{fd}')]), "
        "len(os.listdir('/proc/self/task')))\"])\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    files, _, threads = done.stdout.decode().rpartition(" ")
    assert not [name for name in json.loads(files) if "perf_event" in name or "/proc/" in name]
    assert int(threads) == 1


def test_threads_in_the_middle(memory: Memory) -> None:
    """Several read one set while it counts, and none sees it go back."""
    problems: list[str] = []
    done = threading.Event()

    def read(events: EventSet) -> None:
        last = 0
        while not done.is_set():
            now = events.read().raw(0)
            if now < last:
                problems.append(f"{now} after {last}")
            last = now

    with EventSet("page-faults,task-clock") as events:
        readers = [threading.Thread(target=read, args=(events,)) for _ in range(3)]
        for reader in readers:
            reader.start()
        for _ in range(20):
            memory.touch()
        done.set()
        for reader in readers:
            reader.join()
    assert not problems
    assert 20 * PAGES <= events.read().raw(0) < 21 * PAGES
    events.close()


@pytest.mark.parametrize("multiplex", [False, True], ids=["plain", "multiplexed"])
def test_signals_in_the_middle(memory: Memory, multiplex: bool) -> None:
    """A handler that reads interrupts what counts, and the rotation's thread gets no signal."""
    events = EventSet(
        "page-faults,task-clock", multiplex=multiplex, slice_ms=SLICE_MS,
        limit=1 if multiplex else None,
    )  # fmt: skip
    seen: list[int] = []
    before = signal.signal(signal.SIGALRM, lambda *_: seen.append(events.read().raw(0)))
    events.start()
    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
    try:
        rounds = 0
        while rounds < 20 or len(seen) < 20:
            memory.touch()
            rounds += 1
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    final = events.stop().raw(0)
    events.close()
    # One handler may interrupt another, so that the list need not be in order.
    assert max(seen) <= final
    if not multiplex:
        assert rounds * PAGES <= final < (rounds + 1) * PAGES
