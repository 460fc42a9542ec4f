"""Event sets on the running kernel: rules of use, typed values, and known work counted exactly."""

from __future__ import annotations

import ctypes
import mmap
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gnomon import _core
from gnomon.counters.component import Target
from gnomon.counters.components import COMPONENTS
from gnomon.counters.event_resolver import resolve
from gnomon.counters.eventset import EventSet, Reading
from gnomon.errors import (
    ClosedError,
    ConflictError,
    EventNameError,
    EventSetError,
    EventUnavailableError,
    NotRunningError,
    RunningError,
    UsageError,
)
from gnomon.model.value import Domain, How, Scope, Value

PAGES = 2000
# No PMU counts stores in the instruction TLB.
REFUSED = "iTLB-stores"


@contextmanager
def fresh_pages(n: int = PAGES) -> Iterator[int]:
    """Yield the address of pages that nobody has touched."""
    with mmap.mmap(-1, n * mmap.PAGESIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as memory:
        # One fault for each page, not for 512 of them.
        memory.madvise(mmap.MADV_NOHUGEPAGE)
        whole = (ctypes.c_char * len(memory)).from_buffer(memory)
        yield ctypes.addressof(whole)
        del whole


def touch(address: int, n: int = PAGES) -> None:
    ctypes.memset(address, 1, n * mmap.PAGESIZE)


def descriptors() -> set[str]:
    return {entry.name for entry in Path("/proc/self/fd").iterdir() if entry.exists()}


def names_of(name: str) -> list[str]:
    """Return what a name's events are called here: on hybrid CPUs there is one for each core."""
    return [event.name for event in resolve(name).events]


def each(reading: Reading) -> list[Value]:
    return [reading[at] for at in range(len(reading))]


# --- rules of use ---------------------------------------------------------------------------------


def test_read_before_start_is_refused() -> None:
    events = EventSet("page-faults")
    with pytest.raises(NotRunningError, match="start"):
        events.read()
    with pytest.raises(NotRunningError):
        events.stop()


def test_changes_while_running_are_refused() -> None:
    with EventSet("page-faults") as events:
        with pytest.raises(RunningError):
            events.add("task-clock")
        with pytest.raises(RunningError):
            events.add_events(resolve("task-clock").events)
        with pytest.raises(RunningError):
            events.start()
        assert len(events) == 1


def test_stop_twice_is_refused() -> None:
    events = EventSet("page-faults")
    events.start()
    final = events.stop()
    with pytest.raises(NotRunningError):
        events.stop()
    # The final counts stay readable.
    assert events.read().counts() == final.counts()
    events.close()
    with pytest.raises(ClosedError):
        events.read()


def test_empty_set_is_refused() -> None:
    events = EventSet()
    with pytest.raises(EventSetError, match="empty"):
        events.start()
    events.add("page-faults")
    events.start()
    assert len(events.stop()) == 1
    events.close()


def test_names_are_checked_when_they_are_added() -> None:
    events = EventSet("page-faults")
    with pytest.raises(EventNameError, match="page-faults") as caught:
        events.add("page-fault")
    assert caught.value.name == "page-fault"
    assert caught.value.exit_status == 2
    with pytest.raises(UsageError):
        events.add("a,,b")
    assert [event.name for event in events.events] == ["page-faults"]


def test_an_event_is_in_a_set_once() -> None:
    events = EventSet(["page-faults,task-clock", "page-faults"])
    assert [e.name for e in events.events] == ["page-faults", "task-clock"]
    with pytest.raises(ConflictError, match=r"task-clock.*already"):
        events.add("minor-faults,task-clock")
    assert len(events) == 2
    events.add("minor-faults")
    assert [e.name for e in events.events] == ["page-faults", "task-clock", "minor-faults"]
    events.close()


ALIASES = [
    ("page-faults", "faults"),
    ("faults", "perf::PAGE-FAULTS"),
    ("perf::PERF_COUNT_SW_PAGE_FAULTS", "perf::faults"),
    ("perf::TASK-CLOCK", "task-clock"),
    ("cs:u", "context-switches:u"),
    ("perf::PERF_COUNT_SW_PAGE_FAULTS_MIN", "minor-faults"),
]


@pytest.mark.parametrize(("name", "alias"), ALIASES)
def test_an_alias_is_no_second_event(name: str, alias: str) -> None:
    events = EventSet([f"{name},cpu-migrations,{alias}", alias])
    assert [event.name for event in events.events] == [name, "cpu-migrations"]
    with pytest.raises(ConflictError, match=f"'{alias}'.* already, by the name '{name}'"):
        events.add(alias)
    with pytest.raises(ConflictError, match=f"'{name}'.* already;"):
        events.add(name)
    with events, fresh_pages() as address:
        touch(address)
    value = events.read()[events.index(alias)]
    assert value.event == name
    assert value.unit == ("ns" if "clock" in alias else "")
    assert value.raw >= (0 if "context" in alias else PAGES)
    events.remove(alias)
    assert [event.name for event in events.events] == ["cpu-migrations"]
    events.add(alias)
    events.close()
    # Other modes are other events.
    assert len(EventSet("faults:u,page-faults")) == 2


def test_names_of_one_generic_event() -> None:
    found = resolve("cycles,cpu-cycles,branches,branch-instructions,r8,r08").events
    assert {event.info.name for event in found} == {"cycles", "branches", "r8", "r08"}
    assert len(found) == 4 * len(resolve("cycles").events)
    assert resolve("faults,page-faults,faults").notes == (
        "page-faults is faults, which is counted once",
    )


def test_names_of_libpfm_that_are_no_software_event() -> None:
    for name in ("perf::PAGE_FAULTS", "perf::page-faults-min", "perf::PERF_COUNT_SW_MINOR_FAULTS",
                 "perf::PERF_COUNT_SW_page-faults", "perf::", "PAGE-FAULTS"):  # fmt: skip
        with pytest.raises(EventNameError):
            resolve(name)


@pytest.mark.cpu
def test_strict_set_refuses_what_cannot_be_counted() -> None:
    before = descriptors()
    with pytest.raises(EventUnavailableError) as caught:
        EventSet(f"page-faults,{REFUSED},task-clock")
    assert caught.value.name == names_of(REFUSED)[0]
    assert caught.value.reason
    assert caught.value.remedy
    assert descriptors() <= before


@pytest.mark.cpu
def test_failed_add_leaves_the_set_as_it_was() -> None:
    events = EventSet("page-faults")
    before = descriptors()
    with pytest.raises(EventUnavailableError):
        events.add(f"task-clock,tsc:::cycles,{REFUSED}")
    assert [event.name for event in events.events] == ["page-faults"]
    assert descriptors() <= before
    with fresh_pages() as address, events:
        touch(address)
        assert events.read().raw(0) >= PAGES
    assert len(events.read()) == 1


@pytest.mark.cpu
def test_other_set_leaves_it_out() -> None:
    events = EventSet(f"page-faults,{REFUSED},task-clock", strict=False)
    events.start()
    assert [event.name for event in events.events] == ["page-faults", "task-clock"]
    assert [one.event for one in events.unavailable] == names_of(REFUSED)
    reading = events.stop()
    assert [reading[at].event for at in range(len(reading))] == ["page-faults", "task-clock"]
    assert reading[1].value
    events.close()


@pytest.mark.cpu
def test_set_of_nothing_that_can_be_counted() -> None:
    events = EventSet(REFUSED, strict=False)
    events.start()
    assert len(events.read()) == 0
    assert len(events.stop()) == 0
    assert [one.event for one in events.unavailable] == names_of(REFUSED)
    events.close()


def test_set_counts_again_after_its_block() -> None:
    events = EventSet("page-faults")
    for _ in range(3):
        with fresh_pages() as address:
            with events:
                touch(address)
            assert PAGES <= events.read().raw(0) < 2 * PAGES
    events.close()


# --- values ---------------------------------------------------------------------------------------


def test_values_are_typed() -> None:
    with EventSet("task-clock,page-faults:u") as events:
        reading = events.read()
    clock, faults = reading[0], reading[1]
    assert isinstance(clock, Value)
    assert (clock.event, clock.component, clock.unit) == ("task-clock", "kernel", "ns")
    assert (clock.how, clock.scope, clock.domain) == (How.COUNTED, Scope.THREAD, Domain.ALL)
    assert (clock.scale, clock.value) == (1.0, clock.raw)
    assert clock.enabled_ns == clock.running_ns > 0
    assert (faults.domain, faults.unit) == (Domain.USER, "")


def test_reading_is_a_sequence() -> None:
    with EventSet("task-clock,page-faults,minor-faults") as events:
        reading = events.read()
    assert len(reading) == 3
    assert list(reading) == each(reading)
    shown = ", ".join(str(value) for value in each(reading))
    assert repr(reading) == str(reading) == f"Reading({shown})"
    assert f"task-clock {reading[0].value} ns counted, page-faults " in shown
    assert [value.event for value in each(reading)] == ["task-clock", "page-faults", "minor-faults"]
    assert reading[-1].event == "minor-faults"
    for at in (3, -4, 1 << 40):
        with pytest.raises(IndexError):
            reading[at]
        with pytest.raises(IndexError):
            reading.raw(at)
    assert reading.counts() == tuple((v.raw, v.enabled_ns, v.running_ns) for v in each(reading))
    assert [reading.raw(at) for at in (0, 1, 2, -1)] == [reading[at].raw for at in (0, 1, 2, -1)]
    with pytest.raises(TypeError):
        type(reading)()


def test_reading_stays_as_it_was() -> None:
    with EventSet("page-faults") as events, fresh_pages() as address:
        before = events.read()
        touch(address)
        after = events.read()
    assert after.raw(0) - before.raw(0) >= PAGES
    assert before.raw(0) < PAGES


def test_reads_never_go_back() -> None:
    with EventSet("task-clock,page-faults") as events:
        readings = [events.read() for _ in range(200)]
    for at in (0, 1):
        counts = [reading.raw(at) for reading in readings]
        assert counts == sorted(counts)
    assert readings[-1].raw(0) > readings[0].raw(0)


def test_events_of_several_components_keep_their_order() -> None:
    names = [
        "tsc:::cycles",
        "page-faults",
        "io:::read_bytes",
        "task-clock",
        "memory:::minor_faults",
    ]
    with EventSet(names) as events:
        reading = events.read()
    assert [event.name for event in events.events] == names
    assert [value.event for value in each(reading)] == names
    assert [value.component for value in each(reading)] == [
        "tsc",
        "kernel",
        "io",
        "kernel",
        "memory",
    ]


# --- known work -----------------------------------------------------------------------------------


def fewest_faults(events: EventSet, at: int) -> int:
    """Return the fewest faults of five times the same work: Python's own come on top at times."""
    counts = []
    for _ in range(5):
        with fresh_pages() as address:
            events.start()
            touch(address)
            counts.append(events.stop().raw(at))
    events.close()
    return min(counts)


@pytest.mark.parametrize(
    "names",
    ["page-faults", "minor-faults", "task-clock,page-faults", "{page-faults,task-clock}",
     "cpu-clock,task-clock,minor-faults", "{task-clock,page-faults},cpu-clock",
     "tsc:::cycles,page-faults"],
)  # fmt: skip
@pytest.mark.parametrize("multiplex", [False, "kernel", True])
def test_pages_are_counted_exactly(names: str, multiplex: bool | str) -> None:
    """However the events are grouped, and on every start anew from zero."""
    events = EventSet(names, multiplex=multiplex)
    at = next(at for at, event in enumerate(events.events) if "faults" in event.name)
    assert fewest_faults(events, at) == PAGES


def test_inherited_threads_are_counted() -> None:
    for inherit, expected in ((True, PAGES), (False, 0)):
        events = EventSet("page-faults", target=Target(inherit=inherit))
        with fresh_pages() as address:
            events.start()
            thread = threading.Thread(target=touch, args=(address,))
            thread.start()
            thread.join()
            count = events.stop().raw(0)
        events.close()
        assert expected <= count < expected + PAGES // 2


def test_other_processes_are_not_counted() -> None:
    with EventSet("page-faults") as events, fresh_pages() as address:
        child = os.fork()
        if child == 0:
            touch(address)
            os._exit(0)
        os.waitpid(child, 0)
        count = events.read().raw(0)
    assert count < PAGES


def test_ticks_are_the_clocks() -> None:
    source, hertz = _core.clock_info()
    with EventSet("tsc:::cycles") as events:
        before = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
        while time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW) < before + 20_000_000:
            pass
        first = events.read()
        value = first[0]
    assert hertz > 1e6, source
    assert value.raw / hertz * 1e9 == pytest.approx(value.enabled_ns, rel=0.05)
    assert value.scope is Scope.NODE


def test_sleep_takes_no_task_clock() -> None:
    with EventSet("task-clock,context-switches") as events:
        time.sleep(0.05)
        reading = events.read()
    assert reading[0].raw < reading[0].enabled_ns + 50_000_000
    assert reading.raw(1) >= 1


# --- descriptors ----------------------------------------------------------------------------------


def test_thousand_sets_leave_no_descriptor() -> None:
    before = descriptors()
    for _ in range(1000):
        with EventSet("task-clock,page-faults,tsc:::cycles"):
            pass
    assert descriptors() <= before


def test_dropped_sets_leave_no_descriptor() -> None:
    before = descriptors()
    for _ in range(100):
        EventSet("task-clock,page-faults").start()
    assert descriptors() <= before


def test_every_component_gives_its_descriptors_back() -> None:
    before = descriptors()
    for source in COMPONENTS:
        listed = next(iter(source.events()), None)
        if listed is None:  # a machine may have no unit outside its cores, say
            continue
        for _ in range(10):
            events = EventSet(listed.name, strict=False)
            if events.events:
                events.start()
                events.stop()
            events.close()
    assert descriptors() <= before
