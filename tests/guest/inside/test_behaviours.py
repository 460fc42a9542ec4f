"""PAPI's behaviours on hardware counters: sets that do not fit, turns, attach, inherit, options.

tests/integration/test_behaviours.py has the same on software events. What is true of one count to
the last instruction is in test_exact.py, and of user mode and the kernel in test_domains.py.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from gnomon.counters import EventSet, Target
from gnomon.counters.component import Granularity
from gnomon.counters.sysfs_pmu import core_pmus
from gnomon.errors import (
    ConflictError,
    CountersLostError,
    EventUnsupportedError,
    RunningError,
)
from gnomon.model.value import How
from guest.inside.conftest import FigureOf
from guest.inside.machine import user_access
from guest.inside.work import OF_THE_INTERPRETER, PER_ROUND, differences, least, spin, spun

COUNTERS = 6
ROUNDS = 200_000
# Instructions that a start, a stop and the call between them cost at most.
AROUND = 50_000
# Instructions of a slice of multiplexing: these machines take 64 ns for each.
PER_SLICE = 160_000
# One event under as many names as are needed: its raw code with ever more zeros.
NAMES = tuple(f"r{'0' * zeros}8:u" for zeros in range(1, 15))
SLICE_MS = 10
# 256 are tried where opening them takes less than a minute.
MANY = 64


def in_child(work: Callable[[], None]) -> None:
    child = os.fork()
    if child == 0:
        work()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0


# --- 1 to 7 ---------------------------------------------------------------------------------------


def test_1_to_3_linear_from_zero_and_equal() -> None:
    events = EventSet("instructions:u,cycles:u")
    counts = least(lambda rounds: spun(events, rounds), (ROUNDS, 2 * ROUNDS, 4 * ROUNDS))
    again = least(lambda rounds: spun(events, rounds), (ROUNDS,))
    events.close()
    for found, more in zip(differences(counts), (ROUNDS, 2 * ROUNDS), strict=True):
        assert abs(found - PER_ROUND * more) <= OF_THE_INTERPRETER
    assert abs(again[0] - counts[0]) <= OF_THE_INTERPRETER


def test_2_reads_increase_and_a_reset_restarts() -> None:
    with EventSet("instructions:u") as events:
        seen = []
        for _ in range(4):
            spin(ROUNDS)
            seen.append(events.read().raw(0))
        assert min(differences(seen)) >= PER_ROUND * ROUNDS
        events.reset()
        assert events.read().raw(0) < AROUND
        spin(ROUNDS)
        assert PER_ROUND * ROUNDS <= events.read().raw(0) < PER_ROUND * ROUNDS + AROUND


def test_5_accumulate_adds_and_then_resets() -> None:
    total = None
    with EventSet("instructions:u") as events:
        for _ in range(5):
            spin(ROUNDS)
            total = events.accumulate(total)
    assert total is not None
    assert 5 * PER_ROUND * ROUNDS <= total[0].raw < 5 * (PER_ROUND * ROUNDS + AROUND)


@pytest.mark.parametrize("removed", [0, 1, 2])
def test_7_remaining_values_keep_their_order(removed: int) -> None:
    """Also when what goes led the others in the kernel."""
    names = ["instructions:u", "cycles:u", NAMES[0]]
    events = EventSet(names)
    events.remove(names[removed])
    rest = names[:removed] + names[removed + 1 :]
    with events:
        spin(ROUNDS)
    reading = events.read()
    assert [reading[at].event for at in range(2)] == rest
    for at, name in enumerate(rest):
        assert reading.raw(at) > 0
        if name != "cycles:u":
            assert PER_ROUND * ROUNDS <= reading.raw(at) < PER_ROUND * ROUNDS + AROUND


def test_names_of_every_kind_are_in_one_group() -> None:
    """Generic, raw and the kernel's own: each comes as another type to the same PMU."""
    name = f"{core_pmus()[0].name}/inst_retired/u"
    with EventSet(f"instructions:u,r8:u,{name},page-faults") as events:
        spin(ROUNDS)
    reading = events.read()
    assert reading.raw(0) == reading.raw(1) == reading.raw(2) >= PER_ROUND * ROUNDS
    assert reading[0].running_ns == reading[2].running_ns == reading[0].enabled_ns


# --- 12: groups that do not fit -------------------------------------------------------------------


@pytest.mark.parametrize("more", [1, 4])
def test_12_event_too_many_conflicts(more: int, figure: FigureOf) -> None:
    events = EventSet(",".join((*NAMES[:COUNTERS], "cycles:u")))
    with pytest.raises(ConflictError) as caught:
        events.add(",".join(NAMES[COUNTERS : COUNTERS + more]))
    assert caught.value.name == NAMES[COUNTERS]
    assert caught.value.papi_name == "PAPI_ECNFLCT"
    for word in (core_pmus()[0].name, "EINVAL", "does not fit", "multiplex"):
        assert word in str(caught.value)
    with events:
        spin(ROUNDS)
    for at in range(COUNTERS):
        assert events.read()[at].how is How.COUNTED
        assert events.read().raw(at) >= PER_ROUND * ROUNDS
    if more == 1:
        figure(f"event {COUNTERS + 1} on {COUNTERS} counters", str(caught.value))


def test_12_inherited_sets_conflict_as_well() -> None:
    """Their events are independent, so that the kernel would rotate them without being asked."""
    events = EventSet(",".join(NAMES[:COUNTERS]), inherit=True)
    with pytest.raises(ConflictError):
        events.add(NAMES[COUNTERS])
    with events:
        spin(ROUNDS)
    assert {events.read()[at].how for at in range(COUNTERS)} == {How.COUNTED}


def test_12_sets_on_another_process_conflict_as_well() -> None:
    with pytest.raises(ConflictError):
        EventSet(",".join(NAMES[: COUNTERS + 1]), target=Target(pid=os.getppid()))
    EventSet(",".join(NAMES[:COUNTERS]), target=Target(pid=os.getppid())).close()


def test_exclude_that_the_pmu_has_not_is_enosupp() -> None:
    with pytest.raises(EventUnsupportedError) as caught:
        EventSet("cycles:I")
    assert caught.value.papi_name == "PAPI_ENOSUPP"
    assert "EOPNOTSUPP" in str(caught.value)


# --- 22 to 25: whose work -------------------------------------------------------------------------


@pytest.mark.parametrize("multiplex", [False, True], ids=["plain", "multiplexed"])
@pytest.mark.parametrize("inherit", [False, True], ids=["alone", "inherit"])
def test_22_parent_includes_a_forked_child(inherit: bool, multiplex: bool) -> None:
    events = EventSet("instructions:u", inherit=inherit, multiplex=multiplex)
    events.start()
    in_child(lambda: spin(20 * ROUNDS))
    count = events.stop().raw(0)
    events.close()
    assert (count >= 20 * PER_ROUND * ROUNDS) is inherit


def test_22_process_has_its_threads_and_not_its_children() -> None:
    with EventSet("instructions:u", granularity="process") as events:
        thread = threading.Thread(target=spin, args=(20 * ROUNDS,))
        thread.start()
        thread.join()
        in_child(lambda: spin(40 * ROUNDS))
        count = events.read().raw(0)
    assert 20 * PER_ROUND * ROUNDS <= count < 40 * PER_ROUND * ROUNDS


def test_22_cpu_and_system_have_everybody() -> None:
    on_cpu = Target(cpu=0, granularity=Granularity.CPU)
    for target in (Target(granularity=Granularity.SYSTEM), on_cpu):
        with EventSet("instructions:u", target=target) as events:
            in_child(lambda: spin(20 * ROUNDS))
            value = events.read()[0]
        assert value.raw >= 20 * PER_ROUND * ROUNDS
        assert value.scope.value in ("cpu", "node")


@pytest.fixture
def worker() -> Iterator[tuple[int, Callable[[int], None]]]:
    """Yield the pid of a process that spins when it is told to, and the way to tell it."""
    asked, ask = os.pipe()
    answered, answer = os.pipe()
    child = os.fork()
    if child == 0:
        while True:
            spin(int(os.read(asked, 12)))
            os.write(answer, b"done")

    def work(rounds: int) -> None:
        os.write(ask, b"%12d" % rounds)
        assert os.read(answered, 4) == b"done"

    work(ROUNDS)
    yield child, work
    os.kill(child, 9)
    os.waitpid(child, 0)
    for fd in (asked, ask, answered, answer):
        os.close(fd)


def test_23_attached_counts_the_target_only(worker: tuple[int, Callable[[int], None]]) -> None:
    pid, work = worker
    events = EventSet("instructions:u,cycles:u")
    events.attach(pid)
    counts = []
    for _ in range(10):
        events.start()
        spin(10 * ROUNDS)
        work(ROUNDS)
        counts.append(events.stop().raw(0))
    events.close()
    assert PER_ROUND * ROUNDS <= min(counts) < PER_ROUND * ROUNDS + AROUND


def test_23_attached_and_multiplexed(worker: tuple[int, Callable[[int], None]]) -> None:
    pid, work = worker
    events = EventSet(
        ",".join(NAMES[:10]), multiplex=True, slice_ms=SLICE_MS, target=Target(pid=pid)
    )
    events.start()
    spin(10 * ROUNDS)
    rounds = 100 * ROUNDS
    work(rounds)
    final = events.stop()
    events.close()
    for at in range(10):
        # Slices are of the wall clock, and the target did not run in all of them.
        assert final[at].value == pytest.approx(PER_ROUND * rounds, rel=0.15)
        assert final[at].how is How.SCALED


def test_24_threads_are_isolated() -> None:
    counted: dict[int, int] = {}

    def work(rounds: int) -> None:
        events = EventSet("instructions:u")
        counted[rounds] = min(spun(events, rounds) for _ in range(10))
        events.close()

    threads = [threading.Thread(target=work, args=(n * ROUNDS,)) for n in (1, 2, 4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(counted) == len(threads)
    for rounds, count in counted.items():
        assert PER_ROUND * rounds <= count < PER_ROUND * rounds + AROUND


def test_25_sleep_adds_no_virtual_time() -> None:
    with EventSet("task-clock,cycles") as events:
        time.sleep(0.5)
    clock = events.read()[events.index("task-clock")]
    assert clock.raw < 100_000_000


# --- options --------------------------------------------------------------------------------------


def test_second_set_of_a_thread_is_refused() -> None:
    with EventSet("instructions:u"), EventSet("page-faults"):
        other = EventSet("cycles:u")
        with pytest.raises(RunningError):
            other.start()
        other.close()


@pytest.fixture
def full() -> Iterator[EventSet]:
    """Yield a set that has every counter of the machine, for good, and the one of cycles."""
    names = ",".join((*NAMES[:COUNTERS], "cycles:u"))
    with EventSet(names, granularity="system", pinned=True) as events:
        yield events


def test_pinned_set_without_counters_says_so(full: EventSet) -> None:
    events = EventSet(",".join(NAMES[:2]), pinned=True)
    events.start()
    with pytest.raises(CountersLostError) as caught:
        events.read()
    assert caught.value.papi_name == "PAPI_ECLOST"
    assert "pinned" in str(caught.value)
    with pytest.raises(CountersLostError):
        events.stop()
    events.close()
    assert full.read()[0].running_ns > 0


def test_set_without_counters_has_no_values(full: EventSet) -> None:
    assert len(full) == COUNTERS + 1
    with EventSet(NAMES[0]) as events:
        spin(ROUNDS)
    value = events.read()[0]
    assert (value.value, value.raw, value.running_ns) == (None, 0, 0)
    assert value.enabled_ns > 0


def test_exclusive_set_leaves_no_counter_to_others() -> None:
    """One that is on the PMU before others keeps them off, however many counters are free."""
    with EventSet("instructions:u", exclusive=True) as events:
        spin(ROUNDS)
    assert events.read().raw(0) >= PER_ROUND * ROUNDS
    alone = EventSet(NAMES[0], granularity="system", exclusive=True)
    with alone, EventSet(NAMES[1]) as events:
        spin(ROUNDS)
    assert events.read()[0].value is None
    assert alone.read().raw(0) >= PER_ROUND * ROUNDS


def test_user_space_reads_of_a_set_that_grew() -> None:
    user_access(True)
    events = EventSet("instructions:u")
    events.add("cycles:u")
    events.add(NAMES[0])
    events.start()
    assert events.group is not None
    assert events.group.user_readable
    spin(ROUNDS)
    first = events.read()
    spin(ROUNDS)
    second = events.read()
    final = events.stop()
    for at in (0, 2):
        found = second.raw(at) - first.raw(at)
        assert PER_ROUND * ROUNDS <= found < PER_ROUND * ROUNDS + AROUND
        assert 0 <= final.raw(at) - second.raw(at) < AROUND
    assert second[0].enabled_ns > first[0].enabled_ns
    events.reset()
    assert [count[0] for count in events.read().counts()] == [0, 0, 0]
    events.close()
