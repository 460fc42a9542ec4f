"""PAPI's behaviours 1 to 12 and 19 to 25, on software events of the running kernel.

Work is pages touched for the first time: one page fault each, exactly. The same behaviours on
hardware counters are in tests/guest/inside/test_behaviours.py, those of C in native/tests. What
behaviours 10 and 12 forbid is provoked in tests/unit/counters/test_conditions.py, too.
"""

from __future__ import annotations

import os
import statistics
import sys
import threading
import time
from collections.abc import Callable, Iterator
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from property_tests import examples
from sets import PAGES, SLICE_MS, Memory, descriptors, in_child, run_turns, tasks, working_child

from gnomon.counters import EventSet, Target
from gnomon.counters.components import COMPONENTS
from gnomon.counters.event_resolver import one
from gnomon.errors import (
    ClosedError,
    ConflictError,
    EventUnavailableError,
    GnomonError,
    RunningError,
)
from gnomon.model.value import How


@pytest.fixture
def memory() -> Memory:
    (made := Memory()).touch()
    return made


@pytest.fixture
def worker() -> Iterator[tuple[int, Callable[[int], None]]]:
    """Yield the pid of a process that touches pages when it is told to, and the way to tell it."""
    with working_child() as both:
        yield both


def fewest(count: Callable[[], int], attempts: int = 7) -> int:
    """Return the least of several counts: what Python does besides only adds to one."""
    return min(count() for _ in range(attempts))


def of_a_run(events: EventSet, work: Callable[[], None], at: int = 0) -> int:
    events.start()
    work()
    return events.stop().raw(at)


# --- 1 to 5: what is counted ----------------------------------------------------------------------


def test_1_counts_grow_linearly_with_work(memory: Memory) -> None:
    with EventSet("page-faults") as events:
        pass
    counts = {
        n: fewest(lambda n=n: of_a_run(events, lambda: memory.touch(n)))  # type: ignore[misc]
        for n in (PAGES, 2 * PAGES, 4 * PAGES)
    }
    events.close()
    assert counts[2 * PAGES] - counts[PAGES] == PAGES
    assert counts[4 * PAGES] - counts[2 * PAGES] == 2 * PAGES


@pytest.mark.parametrize(
    "names", ["page-faults", "page-faults,tsc:::cycles", "page-faults,io:::read_bytes"]
)
def test_2_reads_increase_and_a_reset_restarts(memory: Memory, names: str) -> None:
    with EventSet(names) as events:
        seen = []
        for _ in range(4):
            memory.touch()
            seen.append(events.read().raw(0))
        assert all(after - before >= PAGES for before, after in pairwise(seen))
        before = events.read()
        events.reset()
        after = events.read()
        assert after.raw(0) < PAGES < before.raw(0)
        assert after[0].enabled_ns < before[0].enabled_ns
        memory.touch()
        assert PAGES <= events.read().raw(0) < 2 * PAGES
    # And so it does once counting has stopped.
    events.reset()
    assert [count[0] for count in events.read().counts()] == [0] * len(events)


def test_3_start_zeroes_and_equal_work_counts_equal(memory: Memory) -> None:
    events = EventSet("page-faults,minor-faults")
    first = fewest(lambda: of_a_run(events, memory.touch))
    memory.touch()  # not counted: it is stopped
    second = fewest(lambda: of_a_run(events, memory.touch))
    events.close()
    assert first == second == PAGES


def test_4_user_and_kernel_add_up_to_all(memory: Memory) -> None:
    with EventSet("page-faults,page-faults:u,page-faults:k") as events:
        memory.touch(PAGES)
        memory.touch_in_kernel(2 * PAGES)
    everything, user, kernel = (count[0] for count in events.read().counts())
    events.close()
    assert everything == user + kernel
    assert PAGES <= user < 2 * PAGES <= kernel < 3 * PAGES


def test_4_domain_of_the_set_and_the_modifier_that_wins(memory: Memory) -> None:
    with EventSet("page-faults,page-faults:k,page-faults:ukh", domain="user") as events:
        memory.touch(PAGES)
        memory.touch_in_kernel(2 * PAGES)
    user, kernel, everything = (events.read()[at] for at in range(3))
    events.close()
    assert (user.domain.value, kernel.domain.value, everything.domain.value) == (
        "user", "kernel", "all",
    )  # fmt: skip
    assert user.raw + kernel.raw == everything.raw
    assert kernel.raw >= 2 * PAGES


@pytest.mark.parametrize("names", ["page-faults", "page-faults,tsc:::cycles"])
def test_5_accumulate_adds_and_then_resets(memory: Memory, names: str) -> None:
    total = None
    with EventSet(names) as events:
        for _ in range(3):
            memory.touch()
            total = events.accumulate(total)
            assert events.read().raw(0) < PAGES
        memory.touch()
    assert total is not None
    assert 3 * PAGES <= total[0].raw < 4 * PAGES
    # Stopped, it adds the final counts, once.
    total = events.accumulate(total)
    assert 4 * PAGES <= total[0].raw < 5 * PAGES
    assert events.accumulate(total)[0].raw == total[0].raw
    events.close()


def test_5_accumulated_sums_do_not_overflow() -> None:
    with EventSet("page-faults,task-clock") as events:
        held = tuple(value._replace(raw=2**64 - 1) for value in events.accumulate())
        total = events.accumulate(held)
    assert total[0].raw >= 2**64 - 1
    assert total[1].raw > 2**64 - 1


def test_5_nothing_is_lost_between_reads_that_reset(memory: Memory) -> None:
    """What is counted while counts are taken is in one of them: together they are the whole."""
    total = None
    with EventSet("page-faults") as parts:
        for _ in range(200):
            memory.touch(10)
            total = parts.accumulate(total)
    total = parts.accumulate(total)
    assert total[0].raw >= 2000


# --- 6 to 12: sets and names ----------------------------------------------------------------------


def test_6_running_set_is_not_cleared_and_a_closed_one_is_dead() -> None:
    events = EventSet("page-faults,task-clock")
    events.start()
    with pytest.raises(RunningError):
        events.clear()
    events.stop()
    events.clear()
    assert len(events) == 0
    events.add("minor-faults")
    with events:
        pass
    events.close()
    events.close()
    for use in (events.start, events.read, events.stop, events.reset, events.clear):
        with pytest.raises(ClosedError):
            use()


@pytest.mark.parametrize("removed", [0, 1, 2, 3])
def test_7_remaining_values_keep_their_order(memory: Memory, removed: int) -> None:
    names = ["page-faults", "tsc:::cycles", "task-clock", "minor-faults"]
    events = EventSet(names)
    with events:
        memory.touch()
    before = events.read().counts()
    events.remove(names[removed])
    rest = names[:removed] + names[removed + 1 :]
    assert [event.name for event in events.events] == rest
    assert events.read().counts() == before[:removed] + before[removed + 1 :]
    events.start()
    memory.touch()
    final = events.stop()
    assert [final[at].event for at in range(3)] == rest
    for name in ("page-faults", "minor-faults"):
        if name in rest:
            assert PAGES <= final.raw(events.index(name)) < 2 * PAGES
    # What comes back stands at the end.
    events.add(names[removed])
    events.start()
    memory.touch()
    final = events.stop()
    events.close()
    assert [final[at].event for at in range(4)] == [*rest, names[removed]]
    shown = [final[at].event for at in range(4)]
    assert PAGES <= final.raw(shown.index("page-faults")) < 2 * PAGES


@given(st.text(st.characters(exclude_characters=",{}"), min_size=1, max_size=40))
@example("page-fault")
@example("PAGE-FAULTS")
@example("PAPI_TOT")
@example("io:::")
@example(":::read_bytes")
@example("kernel:::page-faults:::u")
@example("\0")
@examples(40)
def test_8_bogus_names_never_resolve(name: str) -> None:
    bogus = f"bogus-{name}"
    events = EventSet()
    with pytest.raises(GnomonError) as caught:
        events.add(bogus)
    assert caught.value.exit_status == 2
    assert len(events) == 0


@pytest.mark.parametrize(
    "make",
    [
        lambda: EventSet("page-faults,task-clock"),
        lambda: EventSet("page-faults,tsc:::cycles,io:::read_bytes"),
        lambda: EventSet("page-faults,task-clock", inherit=True),
        lambda: EventSet("page-faults,task-clock", multiplex=True, limit=1),
        lambda: EventSet("page-faults,task-clock", multiplex=True, limit=1, inherit=True),
        lambda: EventSet("page-faults,task-clock", target=Target(pid=os.getppid())),
    ],
    ids=["group", "components", "inherit", "multiplex", "multiplex-inherit", "attached"],
)
def test_9_sets_come_and_go_and_leave_nothing(make: Callable[[], EventSet]) -> None:
    """The whole 100,000 are in `make bench`, which counts descriptors and threads as well."""
    make().close()
    before = descriptors(), tasks(1)
    for n in range(400):
        events = make()
        if n % 2:
            events.start()
        if n % 4 == 1:
            events.stop()
        events.close()
    assert (descriptors(), tasks(before[1])) == before


def test_11_every_name_that_is_listed_resolves_to_itself() -> None:
    seen = 0
    for component in COMPONENTS:
        for listed, info in enumerate(component.events()):
            if listed == 50:
                break
            try:
                resolved = one(info.name)
            except EventUnavailableError:
                continue
            seen += 1
            for event in resolved:
                assert event.name == info.name
                assert event.info.component == component.name
    assert seen > 50


# As many names as a set may have events; none is longer than a name may be.
SPELLINGS = [f"{name}:{'u' * n}" for name in ("minor-faults", "page-faults") for n in range(1, 129)]


def test_12_too_many_events_conflict_and_the_others_count(memory: Memory) -> None:
    events = EventSet("page-faults," + ",".join(SPELLINGS[:255]))
    with pytest.raises(ConflictError):
        events.add("task-clock")
    with events:
        memory.touch()
    assert events.read().raw(0) >= PAGES
    assert len(events.read()) == 256
    events.close()


# --- 19 to 21: multiplexing -----------------------------------------------------------------------


def test_19_multiplexed_equals_unmultiplexed(memory: Memory) -> None:
    multiplexed = EventSet(
        "page-faults,task-clock,minor-faults", multiplex=True, slice_ms=SLICE_MS, limit=1
    )
    multiplexed.start()
    touched = run_turns(multiplexed, memory, 90)
    final = multiplexed.stop()
    faults, clock, minor = (final[at] for at in range(3))
    multiplexed.close()
    for value in (faults, clock, minor):
        assert value.how is How.SCALED
        assert value.enabled_ns == faults.enabled_ns
        assert 0 < value.running_ns < value.enabled_ns
        assert value.fraction is not None
        assert 0.15 < value.fraction < 0.6
    assert sum(value.running_ns for value in (faults, clock, minor)) <= faults.enabled_ns
    # The clock's rate is known exactly, the faults' is as even as the machine is.
    assert clock.value == pytest.approx(clock.enabled_ns, rel=0.02)
    assert faults.value == pytest.approx(touched, rel=0.3)
    assert minor.value == pytest.approx(touched, rel=0.3)


def test_20_spread_under_multiplexing(memory: Memory) -> None:
    events = EventSet("page-faults,task-clock", multiplex=True, slice_ms=SLICE_MS, limit=1)
    rates = []
    for _ in range(4):
        events.start()
        touched = run_turns(events, memory, 30)
        value = events.stop()[0].value
        assert value is not None
        rates.append(value / touched)
    events.close()
    assert statistics.pstdev(rates) / statistics.mean(rates) < 0.2


def test_21_as_many_events_as_there_may_be(memory: Memory) -> None:
    events = EventSet(",".join(SPELLINGS), multiplex=True, slice_ms=SLICE_MS, limit=4)
    before = tasks()
    events.start()
    assert tasks(before + 1) == before + 1
    memory.touch()
    final = events.stop()
    assert len(final) == 256
    measured = [final[at].event for at in range(256) if final[at].value is not None]
    assert measured[:4] == SPELLINGS[:4]
    assert len(measured) % 4 == 0
    missing = [name for name in SPELLINGS if name not in measured]
    if missing:
        assert any("not measured" in note and missing[-1] in note for note in events.notes)
    events.close()
    assert tasks(before) == before


# --- 22 to 25: whose work -------------------------------------------------------------------------


@pytest.mark.parametrize("multiplex", [False, True], ids=["plain", "multiplexed"])
@pytest.mark.parametrize("inherit", [False, True], ids=["alone", "inherit"])
def test_22_parent_includes_a_forked_child(memory: Memory, inherit: bool, multiplex: bool) -> None:
    events = EventSet("page-faults,minor-faults", inherit=inherit, multiplex=multiplex)
    events.start()
    in_child(lambda: memory.touch(4 * PAGES))
    counts = events.stop().counts()
    events.close()
    for count in counts:
        assert (count[0] >= 4 * PAGES) is inherit


@pytest.mark.parametrize(
    ("granularity", "thread", "child"),
    [("thread", False, False), ("process", True, False), ("process-group", True, True)],
)
def test_22_granularity(memory: Memory, granularity: str, thread: bool, child: bool) -> None:
    """Threads belong to the process, its children to the process group (and so may others)."""
    with EventSet("page-faults", granularity=granularity) as events:
        worker = threading.Thread(target=memory.touch, args=(4 * PAGES,))
        worker.start()
        worker.join()
        of_thread = events.read().raw(0)
        in_child(lambda: memory.touch(4 * PAGES))
        of_child = events.read().raw(0) - of_thread
    assert (of_thread >= 4 * PAGES) is thread
    assert (of_child >= 4 * PAGES) is child
    assert events.read()[0].scope.value == ("thread" if granularity == "thread" else "process")
    events.close()


@pytest.mark.parametrize("multiplex", [False, True], ids=["plain", "multiplexed"])
def test_23_attached_counts_the_target_only(
    memory: Memory, worker: tuple[int, Callable[[int], None]], multiplex: bool
) -> None:
    pid, work = worker
    events = EventSet("page-faults,minor-faults", multiplex=multiplex)
    events.attach(pid)
    assert "attached" in events.state
    counts = []
    for _ in range(5):
        events.start()
        memory.touch(4 * PAGES)
        work(PAGES)
        counts.append(events.stop().raw(0))
    assert min(counts) == PAGES
    events.detach()
    events.start()
    work(4 * PAGES)
    memory.touch(PAGES)
    assert PAGES <= events.stop().raw(0) < 2 * PAGES
    events.close()


def test_23_attached_outlives_an_execve_and_the_end(memory: Memory) -> None:
    gate = os.pipe()
    child = os.fork()
    if child == 0:
        os.read(gate[0], 1)
        os.execv(sys.executable, [sys.executable, "-c", "bytearray(4096 * 3000)"])
    with EventSet("page-faults", target=Target(pid=child)) as events:
        memory.touch(4 * PAGES)
        os.write(gate[1], b"x")
        os.waitpid(child, 0)
        count = events.read().raw(0)
    os.close(gate[0])
    os.close(gate[1])
    assert count >= 3000


def test_24_threads_are_isolated() -> None:
    amounts = (PAGES, 2 * PAGES, 3 * PAGES)
    counted: dict[int, int] = {}
    barrier = threading.Barrier(len(amounts))

    def work(pages: int) -> None:
        memory = Memory()
        events = EventSet("page-faults")
        counts = []
        for _ in range(7):
            barrier.wait()
            counts.append(of_a_run(events, lambda: memory.touch(pages)))
        events.close()
        counted[pages] = min(counts)

    threads = [threading.Thread(target=work, args=(pages,)) for pages in amounts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counted == {pages: pages for pages in amounts}


def test_25_sleep_adds_no_virtual_time() -> None:
    with EventSet("task-clock,context-switches") as events:
        time.sleep(0.3)
    clock, switches = (events.read()[at] for at in range(2))
    assert clock.raw < 100_000_000
    assert switches.raw >= 1
