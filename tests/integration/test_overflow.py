"""Overflow and profiles of Python's event sets, on real page faults: PAPI's behaviours 13 to 18."""

from __future__ import annotations

import array
import ctypes
import gc
import mmap
import os
import re
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from gnomon.counters import Estimate, EventSet, OverflowCall, Region
from gnomon.counters.overflow_data import SCALE_MAX
from gnomon.errors import (
    FeatureError,
    GnomonError,
    MixedOverflowError,
    NotInSetError,
    NotRunningError,
    OptionError,
    RunningError,
)

PAGE = mmap.PAGESIZE
GUIDE = Path(__file__).resolve().parents[2] / "docs" / "counters" / "overflow.md"
LIBC = ctypes.CDLL(None)


def touch(pages: int) -> None:
    """Fault so many pages in, one by one."""
    memory = mmap.mmap(-1, pages * PAGE)
    memory.madvise(mmap.MADV_NOHUGEPAGE)
    for page in range(pages):
        memory[page * PAGE] = 1
    memory.close()


def touch_in_c(pages: int) -> None:
    """Do so in one call of C, in which no callback can run."""
    memory = mmap.mmap(-1, pages * PAGE)
    memory.madvise(mmap.MADV_NOHUGEPAGE)
    start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    LIBC.memset(ctypes.c_void_p(start), 1, ctypes.c_size_t(pages * PAGE))


@pytest.fixture
def faults() -> Iterator[EventSet]:
    """Yield a set of page faults and CPU time."""
    events = EventSet("page-faults,task-clock")
    yield events
    events.close()


def raw(events: EventSet, pages: int = 2000) -> int:
    """Return the page faults of a run that touches pages."""
    events.start()
    touch(pages)
    return events.stop()[0].raw


# The set that overflows is another one than the set that is read: a fault may lie between the two.
def about(counted: int, threshold: int) -> range:
    """Return how many overflows a count can have."""
    return range((counted - 3) // threshold, (counted + 3) // threshold + 1)


def test_13_callbacks_are_the_total_over_the_threshold(faults: EventSet) -> None:
    calls: list[OverflowCall] = []
    for threshold in (10, 500):
        calls.clear()
        faults.overflow("page-faults", threshold, calls.append)
        counted = raw(faults)
        assert len(calls) in about(counted, threshold)
        assert {call.event for call in calls} == {"page-faults"}
        assert {call.weight for call in calls} == {threshold}
        assert all(call.address for call in calls)
        info = faults.overflow_info("page-faults")
        assert (info.overflows, info.lost, info.dropped) == (len(calls), 0, 0)
        assert info.kind == "fast"


def test_14_a_timer_bounds_software_overflow(faults: EventSet) -> None:
    calls: list[OverflowCall] = []
    faults.overflow("page-faults", 1, calls.append, software=True)
    faults.start()
    while faults.read()[1].raw < 100e6:
        touch(20)
    ticks = faults.stop()[1].raw / 10e6
    assert 1 <= len(calls) <= ticks + 1
    info = faults.overflow_info("page-faults")
    assert info.kind == "slow"
    assert info.lost is None


def test_15_and_16_events_have_names_and_thresholds_of_their_own() -> None:
    calls: Counter[str] = Counter()
    with EventSet("page-faults,minor-faults,context-switches") as events:
        events.stop()
        events.overflow("page-faults", 500, lambda call: calls.update([call.event]))
        events.overflow("minor-faults", 7, lambda call: calls.update([call.event]))
        events.overflow("context-switches", 1, lambda call: calls.update([call.event]))
        events.start()
        touch(2000)
        for _ in range(10):
            time.sleep(0.001)
        faults, minor, switches = (value.raw for value in events.stop())
    assert calls["page-faults"] in about(faults, 500)
    assert calls["minor-faults"] in about(minor, 7)
    assert calls["context-switches"] in about(switches, 1)


def test_overflow_ends_with_a_threshold_of_0_and_with_the_event(faults: EventSet) -> None:
    calls: list[OverflowCall] = []
    faults.overflow("page-faults", 10, calls.append)
    faults.overflow("task-clock", 1_000_000, calls.append)
    faults.overflow("page-faults", 0)
    raw(faults)
    assert {call.event for call in calls} <= {"task-clock"}
    with pytest.raises(OptionError, match="nothing waits for its overflow; set that first"):
        faults.overflow_info("page-faults")
    faults.overflow("page-faults", 10, calls.append)
    faults.remove("task-clock")
    calls.clear()
    raw(faults)
    assert {call.event for call in calls} == {"page-faults"}
    faults.clear()
    faults.add("page-faults")
    calls.clear()
    raw(faults)
    assert calls == []


def test_17_and_18_addresses_fall_where_the_work_is(faults: EventSet) -> None:
    # memset of the C library is what touches the pages; regions are the library and all the rest.
    found = re.search(
        r"^([0-9a-f]+)-([0-9a-f]+) r-xp .*/libc\.so", Path("/proc/self/maps").read_text(), re.M
    )
    assert found
    begin, end = (int(address, 16) for address in found.groups())
    # A bucket for each 64 KB.
    inside = np.zeros((end - begin) // 65536, np.uint32)
    rest = np.zeros(1, np.uint32)
    faults.sprofil("page-faults", [Region(rest, 0, 2), Region(inside, begin, 2)], threshold=10)
    faults.start()
    touch_in_c(2000)
    counted = faults.stop()[0].raw
    assert inside.sum() >= 190
    assert inside.sum() + rest.sum() == faults.overflow_info("page-faults").overflows
    assert inside.sum() + rest.sum() in about(counted, 10)


@pytest.mark.parametrize("kind", [np.uint16, np.uint32, np.uint64])
def test_buckets_of_every_width(faults: EventSet, kind: type[np.unsignedinteger]) -> None:
    buckets = np.zeros(1, kind)
    faults.profil("page-faults", buckets, 0, 2, threshold=10, weighted=True)
    counted = raw(faults)
    assert counted - 13 <= buckets[0] <= counted + 3
    buckets[0] = np.iinfo(kind).max - 5
    raw(faults)
    assert buckets[0] == np.iinfo(kind).max


def test_addresses_of_data(faults: EventSet) -> None:
    pages = np.zeros(500, np.uint32)
    # Pages that nobody has touched and that are not merged into huge ones.
    mapping = mmap.mmap(-1, 500 * PAGE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    mapping.madvise(mmap.MADV_NOHUGEPAGE)
    memory = np.frombuffer(mapping, np.uint8)
    offset = memory.ctypes.data
    faults.profil("page-faults", pages, offset, SCALE_MAX // PAGE, threshold=1, data=True)
    faults.start()
    memory[::PAGE] = 1
    faults.stop()
    assert (pages[:500] >= 1).sum() >= 499
    assert pages.sum() <= 510


def test_random_thresholds_have_the_mean_that_was_asked_for(faults: EventSet) -> None:
    calls: list[OverflowCall] = []
    faults.overflow("page-faults", 20, calls.append, random=True)
    counted = raw(faults)
    assert all(10 <= call.weight <= 30 for call in calls)
    assert len({call.weight for call in calls}) > 5
    assert sum(call.weight for call in calls) in range(counted - 34, counted + 4)
    with pytest.raises(OptionError, match="no bound is known"):
        faults.estimate("page-faults")


def test_totals_from_samples_agree_with_counts(faults: EventSet) -> None:
    buckets = np.zeros(1, np.uint64)
    faults.profil("page-faults", buckets, 0, 2, threshold=50)
    with pytest.raises(NotRunningError, match="never started"):
        faults.estimate("page-faults")
    for pages in (100, 1000, 3000):
        counted = raw(faults, pages)
        total = faults.estimate("page-faults")
        assert total.error == 25
        assert abs(total.value - counted) <= total.error + 3
        assert total.part(0).value == 0
        assert total.part(total.samples).value == 50 * total.samples
    with pytest.raises(OptionError, match="more than all"):
        total.part(total.samples + 1)


def test_parts_of_a_total_are_within_their_error_95_times_of_100() -> None:
    random = np.random.default_rng(4711)
    total = Estimate(100_050, 50, 100, 1000)
    inside = 0
    for samples in random.binomial(1000, 0.3, 2000):
        part = total.part(int(samples))
        inside += abs(part.value - 30_000) <= part.error
    assert 0.93 <= inside / 2000 <= 0.98


def test_exceptions_of_a_callback_are_raised_in_the_main_thread() -> None:
    program = """
import mmap
from gnomon.counters import EventSet
from gnomon.errors import NotRunningError

def fail(call):
    raise ArithmeticError(call.event)

def touch():
    memory = mmap.mmap(-1, 2000 * mmap.PAGESIZE)
    memory.madvise(mmap.MADV_NOHUGEPAGE)
    for page in range(2000):
        memory[page * mmap.PAGESIZE] = 1

events = EventSet("page-faults")
events.overflow("page-faults", 100, fail)
events.start()
try:
    touch()
except ArithmeticError as error:
    print("raised", error)
while True:
    try:
        events.stop()
    except ArithmeticError:
        pass
    except NotRunningError:
        break
    else:
        break
events.overflow("page-faults", 0)
events.start()
touch()
print(events.stop()[0].raw >= 2000)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    assert done.stdout.split() == ["raised", "page-faults", "True"]


def test_the_frame_is_where_the_main_thread_is(faults: EventSet) -> None:
    names: Counter[str] = Counter()

    def note(call: OverflowCall) -> None:
        if call.frame is not None:
            names[call.frame.f_code.co_name] += 1

    faults.overflow("page-faults", 10, note)
    raw(faults)
    assert names["touch"] > 100


def test_sets_of_other_threads_call_back_in_the_main_one(faults: EventSet) -> None:
    threads: set[int] = set()
    calls: list[OverflowCall] = []
    faults.overflow("page-faults", 1000, calls.append)

    def work() -> None:
        with EventSet("page-faults") as events:
            events.stop()
            events.overflow("page-faults", 100, lambda _: threads.add(threading.get_ident()))
            raw(events)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    for _ in range(1000):
        if threads:
            break
    assert threads == {threading.main_thread().ident}


def test_a_first_callback_outside_of_the_main_thread_is_refused() -> None:
    program = """
import threading
from gnomon.counters import EventSet

def work():
    events = EventSet("page-faults")
    try:
        events.overflow("page-faults", 1, print)
    except Exception as error:
        print(type(error).__name__, error)

thread = threading.Thread(target=work)
thread.start()
thread.join()
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.stdout.startswith("FeatureError overflow: callbacks run in the main thread")
    assert done.stderr == ""


def test_a_set_that_is_forgotten_ends_its_overflows() -> None:
    calls: list[OverflowCall] = []
    before = len(list(Path("/proc/self/fd").iterdir()))
    events = EventSet("page-faults")
    events.overflow("page-faults", 1, calls.append)
    events.start()
    del events
    gc.collect()
    calls.clear()
    touch(100)
    assert calls == []
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_a_forked_child_goes_on_without(faults: EventSet) -> None:
    calls: list[OverflowCall] = []
    faults.overflow("page-faults", 10, calls.append)
    faults.start()
    child = os.fork()
    if not child:
        calls.clear()
        touch(100)
        os._exit(len(calls))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    faults.stop()


def test_what_is_refused(faults: EventSet) -> None:
    def refused(kind: type[GnomonError], text: str, *arguments: object, **more: object) -> None:
        with pytest.raises(kind, match=text) as caught:
            faults.overflow(*arguments, **more)  # type: ignore[arg-type]
        assert "GN_" not in str(caught.value)

    refused(NotInSetError, "not in event set", "cpu-clock", 1, print)
    refused(OptionError, "a threshold of -3", "page-faults", -3, print)
    refused(OptionError, "no callback", "page-faults", 3)
    refused(OptionError, "three", "page-faults:pppp", 3, print)
    refused(OptionError, "attributes nothing", "page-faults:p", 3, print, software=True)
    refused(OptionError, "sees no address", "page-faults", 3, print, software=True, data=True)
    faults.overflow("page-faults", 10, print)
    refused(MixedOverflowError, "page-faults", "task-clock", 10, print, software=True)
    with pytest.raises(OptionError, match="overflow"):
        faults.multiplex()
    with pytest.raises(OptionError, match="overflow"):
        faults.attach(os.getppid())
    faults.overflow("page-faults", 0)
    faults.start()
    refused(RunningError, "stop it", "page-faults", 10, print)
    faults.stop()
    for buckets, text in (
        ([0], "array"),
        (bytes(8), "writable"),
        (array.array("b", [0]), "1 bytes"),
        (np.zeros((4, 4), np.uint32)[:, 0], "contiguous"),
    ):
        with pytest.raises((OptionError, BufferError, ValueError), match=text):
            faults.profil("page-faults", buckets, 0, threshold=1)
    with pytest.raises(OptionError, match="several sizes"):
        faults.sprofil(
            "page-faults",
            [Region(np.zeros(1, np.uint16), 0), Region(np.zeros(1, np.uint32), 8)],
            threshold=1,
        )
    with pytest.raises(OptionError, match="0 regions"):
        faults.sprofil("page-faults", [], threshold=1)
    with pytest.raises(OptionError, match="scale of 1;"):
        faults.profil("page-faults", np.zeros(1, np.uint16), 0, 1, threshold=1)
    with EventSet("io:::read_bytes") as events:
        events.stop()
        with pytest.raises(FeatureError, match="component io"):
            events.overflow("io:::read_bytes", 1, print)
    with EventSet("page-faults", inherit=True) as events:
        events.stop()
        with pytest.raises(FeatureError, match="another thread"):
            events.overflow("page-faults", 1, print)
    with EventSet("page-faults", multiplex=True) as events:
        events.stop()
        with pytest.raises(OptionError, match="turns"):
            events.overflow("page-faults", 1, print)


def test_the_example_of_the_guide_prints_what_the_guide_says(tmp_path: Path) -> None:
    code, output = re.findall(
        r"```python\n(.*?)```\n\n```text\n(.*?)```", GUIDE.read_text(), re.DOTALL
    )[0]
    script = tmp_path / "example.py"
    script.write_text(code)
    done = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, timeout=60, check=True
    )
    numbers = r"'load': (\d+), 'check': (\d+).*value=(\d+)"
    printed, told = re.search(numbers, done.stdout), re.search(numbers, output)
    assert printed
    assert told
    # The interpreter itself may have page faults, too: of so many overflows one or two.
    assert [int(one) for one in printed.groups()] == pytest.approx(
        [int(one) for one in told.groups()], rel=0.02, abs=2
    )
