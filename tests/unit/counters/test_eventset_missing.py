"""Event sets: what has no count says so, as in C (native/tests/test_sets_missing.c)."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypedDict

import pytest

from gnomon import _core
from gnomon.counters.eventset import EventSet
from gnomon.errors import KernelError, NotRunningError
from gnomon.model.value import How, Value


class Options(TypedDict, total=False):
    inherit: bool
    multiplex: bool


@contextmanager
def sleeper() -> Iterator[int]:
    """Yield a process that does nothing; it has ended by the end of the block."""
    pid = os.fork()
    if not pid:
        while True:
            signal.pause()
    try:
        yield pid
    finally:
        end(pid)


def end(pid: int) -> None:
    """End a process for good, and wait for that."""
    try:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    except (ProcessLookupError, ChildProcessError):
        pass


def made_in_a_thread(options: Options) -> EventSet:
    """Return a set of a thread that has ended."""
    made: list[EventSet] = []

    def make() -> None:
        made.append(EventSet("page-faults,minor-faults", **options))

    thread = threading.Thread(target=make)
    thread.start()
    thread.join()
    # Python's part of it has ended by now; the kernel's may not have.
    while Path(f"/proc/self/task/{thread.native_id}").exists():
        time.sleep(0.001)
    return made[0]


def burn(seconds: float) -> None:
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        pass


def is_missing(value: Value) -> bool:
    assert (value.value is None) == value.is_missing
    if not value.is_missing:
        return False
    assert value.scale is None
    assert value.fraction is None
    assert (value.raw, value.enabled_ns, value.running_ns) == (0, 0, 0)
    assert str(value) == f"{value.event} not measured"
    return True


@pytest.mark.parametrize("options", [{}, {"inherit": True}, {"multiplex": True}])
def test_an_event_that_comes_late_has_no_past(options: Options) -> None:
    events = EventSet("page-faults", **options)
    events.start()
    burn(0.05)
    first = events.stop()
    for name in ("minor-faults", "task-clock", "tsc:::cycles"):
        events.add(name)
        last = events.read()
        assert last[0].value == first[0].value
        assert is_missing(last[-1])
        assert not any(is_missing(value) for value in list(last)[:-1])
        events.reset()
        assert events.read()[0].value == 0
        assert is_missing(events.read()[-1])
        assert is_missing(events.accumulate()[-1])
        begin = _core.clock_ns()
        events.start()
        first = events.stop()
        wall_ns = _core.clock_ns() - begin
        for value in first:
            assert not is_missing(value)
            assert value.how is How.COUNTED
            assert 0 < value.enabled_ns == value.running_ns <= wall_ns
    # A sum has what its parts have.
    events.add("cpu-migrations")
    sums = events.accumulate(events.accumulate())
    assert is_missing(sums[-1]._replace(raw=0, enabled_ns=0, running_ns=0))
    assert not is_missing(sums[0])
    events.remove("cpu-migrations")
    assert not any(is_missing(value) for value in events.read())
    events.close()


def test_a_set_that_never_started_has_nothing_to_read() -> None:
    events = EventSet("page-faults")
    for _ in range(2):
        for read in (events.read, events.read_at, events.accumulate):
            with pytest.raises(NotRunningError, match="never started"):
                read()
        events.reset()
        events.start()
        events.stop()
        assert not is_missing(events.read()[0])
        events.clear()
        events.add("page-faults")
    events.close()


@pytest.mark.parametrize("options", [{}, {"multiplex": True}])
def test_the_set_of_a_thread_that_has_ended(options: Options) -> None:
    events = made_in_a_thread(options)
    with pytest.raises(KernelError, match=r"thread \d+, which has ended: make a new set"):
        events.start()
    with pytest.raises(NotRunningError):
        events.read()
    events.attach(os.getpid())
    events.start()
    assert not is_missing(events.stop()[0])
    events.close()


def test_the_set_of_a_thread_that_runs_is_started_by_another() -> None:
    events = EventSet("page-faults,task-clock")
    thread = threading.Thread(target=events.start)
    thread.start()
    thread.join()
    burn(0.01)
    assert all(value.value for value in list(events.stop())[1:])
    events.close()


def test_a_process_that_has_ended() -> None:
    with sleeper() as pid:
        events = EventSet("page-faults,cpu-migrations")
        events.attach(pid)
        events.start()
        # Nothing happened to it, and that is a count.
        assert not any(is_missing(value) for value in events.stop())
        os.kill(pid, signal.SIGKILL)
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        with pytest.raises(KernelError, match=f"thread {pid}, which has ended"):
            events.start()
    with pytest.raises(KernelError, match="attach it to"):
        events.start()
    # Nothing stays claimed.
    events.detach()
    events.start()
    assert not is_missing(events.stop()[0])
    events.close()


def test_a_process_that_has_ended_and_what_it_inherited_to() -> None:
    with sleeper() as pid:
        events = EventSet("page-faults,minor-faults", inherit=True)
        events.attach(pid)
    events.start()
    assert all(is_missing(value) for value in events.read())
    assert all(is_missing(value) for value in events.stop())
    events.close()
