"""Event sets that would share the counters of a thread or CPU: one of them runs at a time."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator

import pytest

from gnomon.counters.component import Granularity, Target
from gnomon.counters.eventset import EventSet
from gnomon.errors import RunningError


@pytest.fixture(scope="module")
def child() -> Iterator[int]:
    """Yield a process of this process group that does nothing."""
    pid = os.fork()
    if not pid:
        while True:
            signal.pause()
    yield pid
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


def around(pid: int, granularity: Granularity) -> EventSet:
    return EventSet("page-faults", target=Target(pid=pid, granularity=granularity))


def check_exclude(one: EventSet, other: EventSet) -> None:
    for first, second in ((one, other), (other, one)):
        first.start()
        with pytest.raises(RunningError, match=r"component 'kernel' here already: stop it first"):
            second.start()
        first.stop()


def check_beside(one: EventSet, other: EventSet) -> None:
    with one, other:
        pass


def test_a_process_and_its_threads_share_counters(child: int) -> None:
    own = EventSet("minor-faults")
    process = around(0, Granularity.PROCESS)
    group = around(0, Granularity.PROCESS_GROUP)
    there = around(child, Granularity.THREAD)
    of_child = around(child, Granularity.PROCESS)
    check_exclude(own, process)
    check_exclude(process, group)
    check_exclude(own, group)
    check_exclude(there, of_child)
    check_exclude(there, group)
    check_exclude(of_child, group)
    check_beside(own, there)
    check_beside(own, of_child)
    check_beside(process, of_child)
    # Components are another matter.
    check_beside(process, EventSet("tsc:::cycles"))


def test_a_process_is_in_the_way_of_each_of_its_threads() -> None:
    process = around(0, Granularity.PROCESS)
    done: list[bool] = []

    def run() -> None:
        check_exclude(EventSet("minor-faults"), process)
        done.append(True)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert done


def test_the_system_is_all_cpus() -> None:
    cpu = EventSet("page-faults", target=Target(pid=-1, cpu=0), strict=False)
    everything = around(-1, Granularity.SYSTEM) if cpu.events else None
    if everything is None:
        pytest.skip(f"may not count whole CPUs: {cpu.unavailable[0].remedy}")
    check_exclude(cpu, everything)


def test_threads_start_and_stop_their_sets_at_the_same_time() -> None:
    failed: list[BaseException] = []
    usual = sys.getswitchinterval()

    def count() -> None:
        try:
            for _ in range(300):
                with EventSet("page-faults"):
                    pass
        except BaseException as error:
            failed.append(error)

    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=count) for _ in range(32)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(usual)
    assert failed == []
