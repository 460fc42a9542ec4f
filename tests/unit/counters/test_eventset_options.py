"""Options of event sets: their defaults, what they mean to the kernel, and when they change."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path

import planted
import pytest

from gnomon import _core
from gnomon.counters import EventSet, Target
from gnomon.counters.component import (
    Granularity,
    Sharing,
)
from gnomon.counters.event_resolver import one
from gnomon.counters.event_set_options import EventSetOptions, SetState, adapted, checked
from gnomon.counters.perf_spec import PerfSpec, native_specs
from gnomon.counters.perf_targets import PerfTarget, group_of, inheritance, spots, threads
from gnomon.counters.sysfs_pmu import Encoding
from gnomon.errors import EventSystemError, EventUnavailableError, NotRunningError, RunningError
from gnomon.model.value import Domain, How, Scope

PAGES = 500
NO_PROCESS = 0x3FFFFFFF


def test_defaults_are_visible() -> None:
    events = EventSet("page-faults")
    assert events.options == EventSetOptions(
        pid=0, cpu=-1, granularity=Granularity.THREAD, domain=Domain.ALL, inherit=False,
        pinned=False, exclusive=False, multiplex=Sharing.NONE, slice_ms=100, limit=None,
    )  # fmt: skip
    assert "this thread, all domains, nothing inherited" in repr(events)
    events.start()
    value = events.stop()[0]
    assert (value.domain, value.scope, value.how) == (Domain.ALL, Scope.THREAD, How.COUNTED)
    events.close()


def test_chosen_options_are_visible() -> None:
    with EventSet(
        "page-faults", domain="user", granularity="process", inherit=True, multiplex=True,
        slice_ms=20, limit=3,
    ) as events:  # fmt: skip
        value = events.read()[0]
    assert events.options == EventSetOptions(
        domain=Domain.USER, granularity=Granularity.PROCESS, inherit=True,
        multiplex=Sharing.ROTATED, slice_ms=20, limit=3,
    )  # fmt: skip
    for word in ("domain=user", "granularity=process", "inherit=True", "slice_ms=20", "limit=3"):
        assert word in repr(events)
    assert (value.domain, value.scope) == (Domain.USER, Scope.PROCESS)
    events.close()


def test_options_come_on_top_of_the_target() -> None:
    target = Target(pid=os.getpid(), inherit=True, pinned=True)
    events = EventSet(target=target, pinned=False)
    assert (events.options.pid, events.options.inherit, events.options.pinned) == (
        os.getpid(), True, False,
    )  # fmt: skip


def test_state() -> None:
    events = EventSet("page-faults", multiplex=True)
    assert events.state == {SetState.STOPPED, SetState.MULTIPLEXED}
    events.start()
    assert events.state == {SetState.RUNNING, SetState.MULTIPLEXED}
    events.stop()
    events.attach(os.getppid())
    assert events.state == {SetState.STOPPED, SetState.MULTIPLEXED, SetState.ATTACHED}
    events.detach()
    assert events.state == {SetState.STOPPED, SetState.MULTIPLEXED}
    events.close()
    assert events.state == {SetState.CLOSED}


# --- what they mean -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("domain", "exclude"),
    [
        ("user", _core.EXCLUDE_KERNEL | _core.EXCLUDE_HYPERVISOR),
        ("kernel", _core.EXCLUDE_USER | _core.EXCLUDE_HYPERVISOR),
        ("hypervisor", _core.EXCLUDE_USER | _core.EXCLUDE_KERNEL),
        ("user+kernel", _core.EXCLUDE_HYPERVISOR),
        ("all", 0),
    ],
)
def test_domain_of_events_whose_name_does_not_say(domain: str, exclude: int) -> None:
    (event,) = one("page-faults")
    found = adapted(event, Target(), Domain(domain))
    assert found.domain is Domain(domain)
    assert [term.encoding.exclude for term in found.spec.terms] == [exclude]


@pytest.mark.parametrize("name", ["page-faults:k", "page-faults:ukh", "page-faults:uk"])
def test_modifier_wins(name: str) -> None:
    (event,) = one(name)
    assert adapted(event, Target(), Domain.USER) == event


def test_clock_counts_every_mode_and_says_so() -> None:
    events = EventSet("task-clock", domain="user")
    assert any("every mode" in note for note in events.notes)
    assert events.events[0].domain is Domain.ALL
    events.close()


def test_kernel_only_event_counted_user_only_is_warned_about() -> None:
    events = EventSet("context-switches,page-faults", domain="user")
    assert [note for note in events.notes if "happens in the kernel" in note] == [
        "context-switches happens in the kernel: in user mode it counts 0"
    ]
    events.close()
    assert EventSet("context-switches").notes == ()


@pytest.mark.parametrize(
    ("target", "scope"),
    [
        (Target(), Scope.THREAD),
        (Target(granularity=Granularity.PROCESS), Scope.PROCESS),
        (Target(granularity=Granularity.PROCESS_GROUP), Scope.PROCESS),
        (Target(granularity=Granularity.CPU, cpu=0), Scope.CPU),
        (Target(pid=-1, cpu=0), Scope.CPU),
        (Target(granularity=Granularity.SYSTEM), Scope.NODE),
    ],
)
def test_scope_of_a_granularity(target: Target, scope: Scope) -> None:
    (event,) = one("page-faults")
    assert adapted(event, target, Domain.ALL).info.scope is scope


def test_slice_and_limit_are_the_kernels_only_where_events_take_turns() -> None:
    plain = checked(Target(), 50, 3)
    assert (plain.slice_ns, plain.limit) == (0, 0)
    rotated = checked(Target(sharing=Sharing.ROTATED), 50, 3)
    assert (rotated.slice_ns, rotated.limit) == (50_000_000, 3)
    assert checked(Target(sharing=Sharing.ROTATED), 10, None).limit == 0
    assert checked(Target(sharing=Sharing.ROTATED), 30_000, None).slice_ns == 30_000_000_000


# --- where events are opened ----------------------------------------------------------------------


def proc_tree(root: Path) -> Path:
    """Return a /proc of processes in two groups, with threads and a name that looks like more."""
    stats = {
        100: ("sh", 100),
        200: ("a) R 1 9 (b", 100),
        300: ("other", 300),
        400: ("last", 100),
    }
    files = {f"{pid}/stat": f"{pid} ({name}) S 1 {group} 7 0 -1" for pid, (name, group)
             in stats.items()}  # fmt: skip
    files |= {f"{pid}/task/{tid}/comm": "" for pid, tid in
              ((100, 100), (200, 200), (200, 201), (300, 300), (400, 400))}  # fmt: skip
    return planted.plant(root, {**files, "self/stat": "", "uptime": "1", "500/cmdline": ""})


def test_spots(tmp_path: Path) -> None:
    proc = proc_tree(tmp_path)
    assert spots(Target()) == (PerfTarget(0, -1),)
    assert spots(Target(pid=200), proc) == (PerfTarget(200, -1),)
    assert spots(Target(pid=200, cpu=1), proc) == (PerfTarget(200, 1),)
    assert spots(Target(pid=200, inherit=True), proc) == (PerfTarget(200, -1), PerfTarget(201, -1))
    process = Target(pid=200, granularity=Granularity.PROCESS)
    assert spots(process, proc) == (PerfTarget(200, -1), PerfTarget(201, -1))
    assert spots(Target(granularity=Granularity.CPU, cpu=3), proc) == (PerfTarget(-1, 3),)
    assert spots(Target(pid=-1, cpu=2), proc) == (PerfTarget(-1, 2),)
    everywhere = spots(Target(granularity=Granularity.SYSTEM), proc)
    assert len(everywhere) >= 1
    assert all(spot.pid == -1 and spot.cpu >= 0 for spot in everywhere)
    # What is gone cannot be listed; the kernel says so when it is opened.
    assert threads(999, proc) == [999]


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_groups_of_hybrid_cpus_are_one_a_pmu(machine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel holds no group together across PMUs; generic events may be on any."""
    names = os.uname()
    monkeypatch.setattr(os, "uname", lambda: os.uname_result((*names[:4], machine)))

    def leaders(*encodings: Encoding) -> list[int]:
        (event,) = one("page-faults")
        events = [event._replace(spec=PerfSpec.of(e, hardware=True)) for e in encodings]
        return [spec[-1] for spec in native_specs(events, together=True)[0]]

    core, atom = Encoding(0, 4 << 32), Encoding(3, 10 << 32 | 2)
    software, generic = Encoding(1, 2), Encoding(0, 1)
    raw_core, raw_atom = Encoding(4, 0xC0), Encoding(10, 0xC0)
    assert leaders(core, atom, core, atom) == [0, 1, 0, 1]
    assert leaders(software, core, atom, software, raw_atom) == [0, 0, 2, 0, 2]
    assert leaders(generic, raw_core, generic) == [0, 0, 0]
    assert leaders(raw_core, generic, software) == [0, 0, 0]
    # A raw event is on x86's core PMU, and elsewhere on the one there is.
    assert leaders(raw_atom, atom, raw_core) == [0, 0, 2 if machine == "x86_64" else 0]


def test_own_process_and_group() -> None:
    worker = threading.Event()
    thread = threading.Thread(target=worker.wait)
    thread.start()
    found = spots(Target(granularity=Granularity.PROCESS))
    assert {os.getpid(), thread.native_id} <= {spot.pid for spot in found}
    assert os.getpid() in group_of(0)
    assert os.getpid() in group_of(os.getpid())
    worker.set()
    thread.join()


def test_process_group_is_found_whatever_processes_are_called(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    proc = proc_tree(tmp_path)
    monkeypatch.setattr(os, "getpgid", lambda _: 100)
    assert group_of(400, proc) == [100, 200, 400]
    found = spots(Target(pid=400, granularity=Granularity.PROCESS_GROUP), proc)
    assert [spot.pid for spot in found] == [100, 200, 201, 400]


@pytest.mark.parametrize(
    ("target", "flags"),
    [
        (Target(), 0),
        (Target(inherit=True), _core.INHERIT),
        (Target(granularity=Granularity.PROCESS), _core.INHERIT_THREADS),
        (Target(granularity=Granularity.PROCESS, inherit=True), _core.INHERIT),
        (Target(granularity=Granularity.PROCESS_GROUP), _core.INHERIT),
        (Target(granularity=Granularity.SYSTEM), 0),
    ],
)
def test_who_inherits(target: Target, flags: int) -> None:
    assert inheritance(target) == flags


# --- changes --------------------------------------------------------------------------------------


def test_refused_change_changes_nothing() -> None:
    events = EventSet("page-faults,task-clock")
    events.start()
    changes: tuple[Callable[[], None], ...] = (
        lambda: events.add("minor-faults"),
        lambda: events.remove("page-faults"),
        events.clear,
        lambda: events.attach(os.getppid()),
        events.multiplex,
    )
    for change in changes:
        with pytest.raises(RunningError):
            change()
    assert [value for value in events.stop().counts() if value[0]]
    assert [event.name for event in events.events] == ["page-faults", "task-clock"]
    assert events.options == EventSet().options
    events.close()


def test_failed_attach_leaves_the_target() -> None:
    events = EventSet("page-faults")
    with pytest.raises(EventSystemError):
        events.attach(NO_PROCESS)
    with events:
        assert events.options.pid == 0
    assert len(events.read()) == 1


@pytest.mark.parametrize("first", ["attach", "add"])
def test_attach_before_or_after_the_events(first: str) -> None:
    child = os.fork()
    if child == 0:
        while True:
            planted.touch_pages(10)
    events = EventSet() if first == "attach" else EventSet("page-faults,task-clock")
    events.attach(child)
    if first == "attach":
        events.add("page-faults,task-clock")
    assert events.options.pid == child
    events.start()
    while events.read().raw(0) < 1000:
        pass
    assert events.stop().raw(1) > 0
    os.kill(child, 9)
    os.waitpid(child, 0)
    events.close()


def test_attach_to_a_cpu() -> None:
    events = EventSet("task-clock")
    events.attach(cpu=0)
    assert events.options.cpu == 0
    assert events.events[0].info.scope is Scope.CPU
    events.start()
    assert events.stop()[0].enabled_ns > 0
    events.close()


def test_attach_keeps_events_order_and_braces() -> None:
    events = EventSet("{page-faults,tsc:::cycles},task-clock")
    names = [event.name for event in events.events]
    events.attach(os.getppid())
    assert [event.name for event in events.events] == names
    assert [event.group for event in events.events] == [0, 0, None]
    events.close()


def test_change_of_target_forgets_the_last_run() -> None:
    with EventSet("page-faults") as events:
        pass
    events.attach(os.getppid())
    events.detach()
    events.start()
    events.stop()
    events.multiplex(slice_ms=20)
    with pytest.raises(NotRunningError):
        events.read()
    events.close()


def test_set_of_what_can_be_counted_is_attached_without_the_rest() -> None:
    events = EventSet("page-faults,io:::read_bytes", strict=False)
    events.attach(cpu=0)
    assert [event.name for event in events.events] == ["page-faults"]
    assert [one.event for one in events.unavailable] == ["io:::read_bytes"]
    with events:
        pass
    assert len(events.read()) == 1
    events.close()


def test_clear_makes_an_empty_set_of_the_same_options() -> None:
    events = EventSet("page-faults,tsc:::cycles", domain="all", inherit=True)
    with events:
        pass
    options = events.options
    events.clear()
    assert (len(events), events.options, events.notes) == (0, options, ())
    events.add("task-clock")
    with events:
        pass
    assert [event.name for event in events.events] == ["task-clock"]
    events.close()


def test_braces_of_two_adds_are_two() -> None:
    events = EventSet("{page-faults,task-clock}", inherit=True)
    events.add("{minor-faults,major-faults},cpu-clock,{alignment-faults,emulation-faults}")
    groups = [event.group for event in events.events]
    assert groups[0] == groups[1] != groups[2] == groups[3]
    assert groups[4] is None
    assert groups[5] == groups[6] not in (groups[0], groups[2])
    events.remove("page-faults")  # the leader of the first
    with events:
        planted.touch_pages(PAGES)
    assert events.read().raw(events.index("minor-faults")) >= PAGES
    events.close()


def test_set_that_rests_takes_more_events() -> None:
    events = EventSet("page-faults")
    with events:
        planted.touch_pages(PAGES)
    events.add("minor-faults")
    assert [count[0] for count in events.read().counts()][1] == 0
    assert events.read().raw(0) >= PAGES
    with events:
        planted.touch_pages(PAGES)
    assert events.read().raw(1) >= PAGES
    events.remove("page-faults")
    assert events.read().raw(0) >= PAGES
    events.close()


@pytest.mark.parametrize("names", ["page-faults", "page-faults,tsc:::cycles"])
def test_time_stamp_of_a_read(names: str) -> None:
    events = EventSet(names)
    with pytest.raises(NotRunningError):
        events.read_at()
    events.start()
    before = _core.clock_ns()
    first, at = events.read_at()
    second, later = events.read_at()
    after = _core.clock_ns()
    assert before <= at <= later <= after
    assert len(first) == len(second) == len(events)
    final = events.stop()
    assert events.read_at()[0].counts() == final.counts()
    events.close()


def test_gauges_are_not_added_up() -> None:
    with EventSet("memory:::rss,page-faults") as events:
        first = events.accumulate()
        second = events.accumulate(first)
    # Memory may have been given back meanwhile.
    assert first[0].raw / 2 < second[0].raw < 1.5 * first[0].raw
    assert second[1].raw >= first[1].raw
    events.close()


def test_resets_of_components_that_are_read_from_files(tmp_path: Path) -> None:
    file = tmp_path / "written"
    with EventSet("io:::wchar,tsc:::cycles") as events, file.open("wb", buffering=0) as out:
        out.write(bytes(10_000))
        before = events.read()
        asked_ns = _core.clock_ns()
        events.reset()
        after = events.read()
        passed_ns = _core.clock_ns() - asked_ns
        assert before.raw(0) >= 10_000 > after.raw(0)
        # Others may have had the CPU for longer than all that was before.
        assert 0 < after[0].enabled_ns <= 1.01 * passed_ns
        assert 0 < after.raw(1) <= 1.01 * passed_ns / 1e9 * _core.clock_info()[1]
        out.write(bytes(20_000))
        final = events.stop()
    assert 20_000 <= final.raw(0) < 30_000
    events.close()


def test_reopening_that_fails_says_so() -> None:
    """What a set counted before its block ended may be gone when it starts again."""
    child = os.fork()
    if child == 0:
        os.read(os.pipe()[0], 1)
    events = EventSet("page-faults", target=Target(pid=child))
    with events:
        pass
    os.kill(child, 9)
    os.waitpid(child, 0)
    with pytest.raises(EventUnavailableError, match="ESRCH"):
        events.start()
    assert len(events.read()) == 1
    events.close()
