"""Multiplexing of event sets: how groups are formed, whose turn it is, and what is said of it.

Software events never need to take turns, but a limit makes them.
"""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import planted
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnomon import _core
from gnomon.counters import EventSet, presets
from gnomon.counters.component import Event, Sharing, Target
from gnomon.counters.event_resolver import one, resolve
from gnomon.counters.multiplex import FEW_TURNS, MultiplexSession, form_groups
from gnomon.errors import EventUnavailableError
from gnomon.model.value import How

NAMES = "page-faults,task-clock,minor-faults,major-faults,cpu-clock"
NS_PER_MS = 1_000_000


def rotating_threads(expected: int) -> int:
    """Return how many threads rotate; one that was joined may be seen for a moment more."""
    for _ in range(30_000):
        found = 0
        for task in Path("/proc/self/task").iterdir():
            try:
                found += (task / "comm").read_text().strip() == "gnomon-rotate"
            except OSError:
                continue
        if found == expected:
            break
        time.sleep(0.001)
    return found


def run_for(events: EventSet, ns: int) -> None:
    """Use the CPU until a set was enabled for so long and each of its events had a turn.

    On a busy machine the thread that gives the turns may have to wait for one itself.
    """
    while events.read()[0].enabled_ns < ns or not all(
        running_ns for _, _, running_ns in events.read().counts()
    ):
        planted.touch_pages(20)


# --- groups ---------------------------------------------------------------------------------------


def software(n: int, braces: Sequence[int | None] = ()) -> list[Event]:
    (event,) = one("page-faults")
    groups = [*braces, *[None] * n][:n]
    return [event._replace(name=f"event-{at}", group=group) for at, group in enumerate(groups)]


@pytest.mark.parametrize(
    ("n", "limit", "sizes"),
    [(1, 0, [1]), (5, 0, [5]), (5, 1, [1] * 5), (5, 2, [2, 2, 1]), (6, 3, [3, 3]), (4, 9, [4])],
)
def test_limit_of_a_group(n: int, limit: int, sizes: list[int]) -> None:
    assert [len(group) for group in form_groups(software(n), limit)] == sizes


def test_limit_counts_native_events(tmp_path: Path) -> None:
    path = tmp_path / "two.toml"
    path.write_text('[preset.TWO]\nevents = ["minor-faults", "major-faults"]\n')
    presets.load(path)
    try:
        (two,) = one("TWO")
    finally:
        presets.forget()
    assert form_groups([*software(2), two], 3) == ((0, 1), (2,))
    assert form_groups([two, *software(2)], 3) == ((0, 1), (2,))
    assert form_groups([two, *software(1)], 1) == ((0,), (1,))


def test_braces_stay_together_even_beyond_the_limit() -> None:
    events = software(7, (0, None, 0, 0, 1, None, 1))
    assert form_groups(events, 2) == ((0, 2, 3), (1, 5), (4, 6))


@given(
    st.lists(st.one_of(st.none(), st.integers(0, 3)), min_size=1, max_size=20), st.integers(0, 6)
)
def test_every_event_is_in_one_group(braces: list[int | None], limit: int) -> None:
    events = software(len(braces), braces)
    groups = form_groups(events, limit)
    assert sorted(at for group in groups for at in group) == list(range(len(events)))
    for brace in {brace for brace in braces if brace is not None}:
        members = {at for at, of in enumerate(braces) if of == brace}
        assert sum(bool(members & set(group)) for group in groups) == 1
    for group in groups:
        kinds = {braces[at] for at in group}
        if limit and len(group) > limit:
            assert len(kinds) == 1
            assert None not in kinds


# --- turns ----------------------------------------------------------------------------------------


def test_what_fits_takes_no_turns() -> None:
    events = EventSet(NAMES, multiplex=True)
    events.start()
    assert rotating_threads(0) == 0
    assert events.group is not None
    planted.touch_pages(100)
    final = events.stop()
    assert {final[at].how for at in range(5)} == {How.COUNTED}
    assert final.raw(0) >= 100
    assert events.notes == ()
    events.close()


def test_one_group_counts_at_a_time() -> None:
    with closing(EventSet(NAMES, multiplex=True, slice_ms=10, limit=2)) as events:
        events.start()
        assert rotating_threads(1) == 1
        assert events.group is None
        run_for(events, 12 * 10 * NS_PER_MS)
        final = events.stop()
    values = [final[at] for at in range(5)]
    groups = {value.running_ns for value in values}
    assert len(groups) == 3
    assert values[0].running_ns == values[1].running_ns
    assert sum(groups) <= values[0].enabled_ns
    assert {value.enabled_ns for value in values} == {values[0].enabled_ns}
    for value in values:
        assert value.how is How.SCALED
        assert value.scale == value.enabled_ns / value.running_ns
        assert value.fraction == value.running_ns / value.enabled_ns
        assert value.value is not None
        assert value.value >= value.raw >= 0
    assert rotating_threads(0) == 0


def test_never_negative_whenever_it_is_read() -> None:
    events = EventSet(NAMES, multiplex=True, slice_ms=10, limit=1)
    events.start()
    last = [(0, 0, 0)] * 5
    while last[0][1] < 15 * 10 * NS_PER_MS:
        now = events.read().counts()
        for before, after in zip(last, now, strict=True):
            assert after[0] >= before[0] >= 0
            assert after[1] >= before[1]
            assert after[1] >= after[2] >= before[2]
        last = list(now)
    taken = events.accumulate()
    assert all(value.raw >= 0 and 0 <= value.running_ns <= value.enabled_ns for value in taken)
    assert events.read()[0].enabled_ns < taken[0].enabled_ns
    events.reset()
    assert all(min(count) >= 0 for count in events.stop().counts())
    events.close()


def test_later_turns_of_a_short_run_are_not_measured() -> None:
    events = EventSet("page-faults,minor-faults,task-clock", multiplex=True, limit=1,
                      slice_ms=30_000)  # fmt: skip
    events.start()
    planted.touch_pages(100)
    assert any("not measured" in note for note in events.notes)
    final = events.stop()
    assert final[0].raw >= 100
    for at in (1, 2):
        assert (final[at].value, final[at].raw, final[at].running_ns) == (None, 0, 0)
        assert final[at].scale is None
        assert final[at].enabled_ns > 0
    never, few = events.notes
    assert "not measured: minor-faults, task-clock: 3 groups" in never
    assert "30000 ms" in never
    assert "page-faults counted for 1 of their turns" in few
    # What was said of that run is not said of the next.
    events.remove("minor-faults")
    events.remove("task-clock")
    events.start()
    events.stop()
    assert events.notes == ()
    events.close()


def test_long_enough_runs_converge_without_a_word() -> None:
    events = EventSet("page-faults,task-clock", multiplex=True, slice_ms=10, limit=1)
    events.start()
    run_for(events, 2 * (FEW_TURNS + 3) * 10 * NS_PER_MS)
    # Turns that came late are fewer in that time, but they come.
    while events.notes and events.read()[0].enabled_ns < 10_000 * NS_PER_MS:
        planted.touch_pages(20)
    events.stop()
    assert events.notes == ()
    events.close()


def test_set_is_rotated_again_after_a_stop_and_a_change() -> None:
    events = EventSet("page-faults,task-clock", multiplex=True, slice_ms=10, limit=1)
    for _ in range(3):
        events.start()
        run_for(events, 4 * 10 * NS_PER_MS)
        final = events.stop()
        assert all(final[at].running_ns for at in range(len(final)))
        assert final[0].enabled_ns < 40 * 10 * NS_PER_MS
    events.add("minor-faults")
    events.start()
    run_for(events, 6 * 10 * NS_PER_MS)
    final = events.stop()
    assert all(final[at].running_ns for at in range(3))
    events.remove("task-clock")
    assert [event.name for event in events.events] == ["page-faults", "minor-faults"]
    with events:
        pass
    assert len(events.read()) == 2
    events.close()


@pytest.mark.parametrize("inherit", [False, True])
def test_inherited_turns_count_threads_that_come_later(inherit: bool) -> None:
    events = EventSet(
        "page-faults,task-clock", multiplex=True, slice_ms=10, limit=1, inherit=inherit
    )
    events.start()
    ended = threading.Event()

    def work() -> None:
        while not ended.is_set():
            planted.touch_pages(20)

    worker = threading.Thread(target=work)
    worker.start()
    # Ours waits, so that nearly all of the time is the other's.
    if inherit:
        while events.read()[0].enabled_ns < 8 * 10 * NS_PER_MS or not events.read()[1].running_ns:
            ended.wait(0.01)
    else:
        ended.wait(0.1)
    ended.set()
    worker.join()
    final = events.stop()
    events.close()
    assert (final[0].enabled_ns >= 8 * 10 * NS_PER_MS) is inherit
    if inherit:
        assert final[0].raw > 1000
        assert final[1].running_ns > 0
    assert final[0].running_ns + final[1].running_ns <= final[0].enabled_ns


def test_rotations_thread_lives_as_long_as_its_set() -> None:
    """That it is not counted where events are inherited is tested in native/tests/test_rotate.c."""
    events = EventSet("task-clock,context-switches", multiplex=True, limit=1, inherit=True)
    for _ in range(2):
        events.start()
        assert rotating_threads(1) == 1
        events.stop()
        # It rests until the next start, and ends with the set.
        assert rotating_threads(1) == 1
    events.close()
    assert rotating_threads(0) == 0


def test_dropped_set_leaves_no_thread() -> None:
    for _ in range(20):
        EventSet("page-faults,task-clock", multiplex=True, limit=1).start()
    gc.collect()
    assert rotating_threads(0) == 0


def test_refusals_are_those_of_the_events_alone() -> None:
    with pytest.raises(EventUnavailableError) as caught:
        EventSet("page-faults,iTLB-stores", multiplex=True)
    assert caught.value.name == "iTLB-stores"
    events = EventSet("page-faults,iTLB-stores", multiplex=True, strict=False)
    assert [event.name for event in events.events] == ["page-faults"]
    assert [one.event for one in events.unavailable] == ["iTLB-stores"]
    events.close()


def test_no_memory_for_a_thread_is_our_own_error() -> None:
    """And leaves a set that can be started when there is some again."""
    script = (
        "import resource\n"
        "from gnomon.counters import EventSet\n"
        "from gnomon.errors import KernelError\n"
        "events = EventSet('page-faults,task-clock', multiplex=True, limit=1)\n"
        "pages = int(open('/proc/self/statm').read().split()[0])\n"
        "before = resource.getrlimit(resource.RLIMIT_AS)\n"
        "resource.setrlimit(resource.RLIMIT_AS, (pages * 4096 + 65536, before[1]))\n"
        "try:\n"
        "    events.start()\n"
        "except KernelError as error:\n"
        "    print(error.papi_name, error)\n"
        "resource.setrlimit(resource.RLIMIT_AS, before)\n"
        "events.start()\n"
        "print(len(events.stop()))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    said, last = done.stdout.splitlines()
    assert said.startswith("PAPI_ESYS multiplexing: no thread that rotates the events")
    assert last == "2"


# --- the kernel's own rotation --------------------------------------------------------------------


def counting_on(tmp_path: Path, interval: str, slice_ms: int) -> MultiplexSession:
    """Return a counting of hardware events on a machine whose PMU has that interval."""
    sysfs = planted.plant(
        tmp_path,
        {
            "bus/event_source/devices/cpu/type": "4\n",
            "bus/event_source/devices/cpu/caps/pmu_name": "test\n",
            "bus/event_source/devices/cpu/perf_event_mux_interval_ms": interval,
        },
    )
    (sysfs / "bus/event_source/devices/cpu/cpus").write_text("0-1\n")
    target = Target(sharing=Sharing.ROTATED, slice_ns=slice_ms * NS_PER_MS)
    counting = MultiplexSession(target, sysfs)
    counting._events = list(resolve("cycles,instructions").events)
    return counting


@pytest.mark.parametrize(
    ("interval", "slice_ms", "ns"),
    [
        ("100\n", 100, 100 * NS_PER_MS),
        ("50\n", 100, 50 * NS_PER_MS),
        ("200\n", 100, 200 * NS_PER_MS),
        ("49\n", 100, 0),
        ("201\n", 100, 0),
        ("4\n", 10, 0),
        ("", 100, 0),
        ("-1\n", 100, 0),
        ("often\n", 100, 0),
    ],
)
def test_kernel_rotates_where_its_interval_is_about_the_slice(
    tmp_path: Path, interval: str, slice_ms: int, ns: int
) -> None:
    assert counting_on(tmp_path, interval, slice_ms)._kernel_interval_ns() == ns


def test_kernel_does_not_rotate_software_events(tmp_path: Path) -> None:
    counting = counting_on(tmp_path, "100\n", 100)
    counting._events = list(resolve("page-faults,cycles").events)
    assert counting._kernel_interval_ns() == 0


# --- the core's rotation as Python has it ---------------------------------------------------------


def groups(n: int) -> list[_core.Group[None]]:
    spec = [(1, 2, 0, 0, 0, 0, 0)]
    return [_core.Group(spec, 0, -1, 0, (None,), lambda *_: None) for _ in range(n)]


def test_rotation_of_groups() -> None:
    rotation = _core.Rotation()
    assert rotation.turns == 0
    turns = tuple((group,) for group in groups(3))
    rotation.start(turns, 1_000_000)
    with pytest.raises(OSError, match="already in progress"):
        rotation.start(turns, 1_000_000)
    # On a busy machine turns pass while this thread does not run.
    while rotation.turns < 7 or not all(group.read().raw(0) for (group,) in turns):
        planted.touch_pages(20)
    rotation.pause()
    counts = [group.read().counts()[0] for (group,) in turns]
    planted.touch_pages(100)
    assert [group.read().counts()[0] for (group,) in turns] == counts
    rotation.close()
    assert rotation.turns == 0


def test_wrong_turns_are_refused() -> None:
    rotation = _core.Rotation()
    first, second = groups(2)
    for turns in ((), ((),), ((first,), ()), ((first, second), (first,)), (first,)):
        with pytest.raises((ValueError, OSError)):
            rotation.start(turns, 1_000_000)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        rotation.start(((1,),), 1_000_000)  # type: ignore[arg-type]
    with pytest.raises(OSError, match="Invalid argument"):
        rotation.start(((first,), (second,)), 0)
    first.close()
    with pytest.raises(ValueError, match="closed"):
        rotation.start(((first,), (second,)), 1_000_000)
    assert rotation.turns == 0
    rotation.pause()
    rotation.close()
    assert rotating_threads(0) == 0
