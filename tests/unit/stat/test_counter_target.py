"""What is open on a place: counts since the last look, turns, CPUs that come and go."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gnomon.counters.component import Event, RawCount, Target
from gnomon.counters.event_resolver import resolve
from gnomon.stat import monitor
from gnomon.stat.counter_target import CounterTarget
from gnomon.stat.interval_rows import CPU, MACHINE, Derivation
from gnomon.stat.per_cpu_counters import OnlineCpus, PerCpuCounters
from gnomon.stat.targets import MachineSubject, TargetSelection
from gnomon.stat.watched_events import choose

FAULTS, SWITCHES = resolve("page-faults").events[0], resolve("context-switches").events[0]
CPU_NUMBER = min(os.sched_getaffinity(0))
ON_CPU = Target(pid=-1, cpu=CPU_NUMBER)
TOUCH = "import mmap, os\nm = mmap.mmap(-1, 4096 * {0})\nfor i in range({0}): m[4096 * i] = 1\n"


def touch(pages: int) -> None:
    """Have a process on our CPU write into fresh pages."""
    command = ["taskset", "-c", str(CPU_NUMBER), sys.executable, "-c", TOUCH.format(pages)]
    subprocess.run(command, check=True)


@pytest.fixture(autouse=True)
def _needs_the_right_to_count() -> None:
    place = CounterTarget(ON_CPU, [FAULTS])
    refused = place.refused
    place.close()
    if refused:
        pytest.fail(f"{refused[0].reason}: run the tests as root")


def test_a_look_takes_what_came_since_the_last_one() -> None:
    place = CounterTarget(ON_CPU, [FAULTS, SWITCHES])
    try:
        assert place.names == ("page-faults", "context-switches")
        place.start()
        touch(3000)
        first = place.take()
        # Between two of them others may have had the CPU, but not between all.
        later = [place.take()[0].raw for _ in range(50)]
    finally:
        place.close()
    assert first[0].raw >= 3000
    assert min(later) < 1000
    # Both are in one group: they were read at one moment.
    assert first[0].enabled_ns == first[1].enabled_ns


def test_turns_share_the_time_and_are_extrapolated() -> None:
    """One that never had a turn is not measured, and not zero."""
    clock = resolve("cpu-clock").events[0]
    place = CounterTarget(
        ON_CPU, [SWITCHES], [[clock], [FAULTS], [resolve("minor-faults").events[0]]]
    )
    try:
        assert place.names == ("context-switches", "cpu-clock", "page-faults", "minor-faults")
        place.start()
        time.sleep(0.1)
        place.turn(1)
        touch(2000)
        place.turn(0)
        time.sleep(0.1)
        switches, first, faults, never = place.take()
        again = place.take()
    finally:
        place.close()
    assert switches.enabled_ns == switches.running_ns
    assert faults.raw >= 2000
    assert never == RawCount(0, switches.enabled_ns, 0)
    assert 0 < first.running_ns < first.enabled_ns == faults.enabled_ns
    # The turns fill the time, but for the moments between them and between readings.
    assert first.running_ns + faults.running_ns <= 1.05 * first.enabled_ns
    # The CPU's own clock runs all the time: its share of the turns extrapolates to all of it.
    whole = first.raw * first.enabled_ns / first.running_ns
    assert whole == pytest.approx(first.enabled_ns, rel=0.05)
    assert again[2].running_ns == 0


def test_what_refuses_to_open_says_why() -> None:
    place = CounterTarget(Target(pid=-1, cpu=4000), [FAULTS])
    place.close()
    assert [one.event for one in place.refused] == ["page-faults"]
    assert place.errno
    assert place.refused[0].reason
    assert place.events == ()


class _Listed(OnlineCpus):
    """CPUs as a file lists them, which a test writes."""

    def __init__(self, tree: Path, text: str) -> None:
        self._file = tree / "devices" / "system" / "cpu" / "online"
        self._file.parent.mkdir(parents=True)
        self._file.write_text(text)
        super().__init__(str(tree))

    def now(self, text: str) -> None:
        self._file.write_text(text)


def test_a_cpu_that_goes_is_a_gap_and_counts_again_when_it_returns(tmp_path: Path) -> None:
    online = _Listed(tmp_path, f"{CPU_NUMBER}\n")
    subject = MachineSubject(TargetSelection((FAULTS,)), "cpu", online=online)
    derive = Derivation(())
    notes: list[str] = []
    try:
        subject.start()
        touch(2000)
        online.now("\n".join(["4001"]))  # another one, that is none
        rows = subject.take(10**9, derive, notes)
        assert {row.key for row in rows} == {(MACHINE, ""), (CPU, str(CPU_NUMBER))}
        counted = {row.key: {v.event: v.value for v in row.values} for row in rows}
        # What it counted until it went is there.
        assert (counted[MACHINE, ""]["page-faults"] or 0) >= 2000
        assert notes == [
            f"CPU {CPU_NUMBER} went offline and is not counted until it is back",
            "CPU 4001 came online and is counted from now on",
        ]
        touch(2000)
        notes.clear()
        online.now(f"{CPU_NUMBER}\n")
        rows = subject.take(10**9, derive, notes)
        gone = next(row for row in rows if row.key == (CPU, str(CPU_NUMBER)))
        assert (gone.gap, gone.values) == ("offline", ())
        touch(3000)
        rows = subject.take(10**9, derive, notes)
        back = next(row for row in rows if row.key == (CPU, str(CPU_NUMBER)))
        faults = next(v.value for v in back.values if v.event == "page-faults")
        assert faults is not None
        assert faults >= 3000
        assert back.gap == ""
    finally:
        subject.close()


def test_places_whose_reading_fails_are_left_out() -> None:
    places = PerCpuCounters(lambda cpu: CounterTarget(Target(pid=-1, cpu=cpu), [FAULTS]))
    try:
        places.follow([CPU_NUMBER])
        places.start()
        for place in places._places.values():
            for counting in place._countings:
                for group in counting.groups():
                    for fd in group.fds:
                        with open(os.devnull) as nothing:
                            os.dup2(nothing.fileno(), fd)
        assert places.take() == {CPU_NUMBER: {}}
    finally:
        places.close()


def _hardware(event: Event) -> bool:
    return bool(event.spec.hardware)


def test_of_several_groups_only_hardware_takes_turns() -> None:
    choice = choose([], ["SCHED", "PAGEFAULTS"], machine=True)
    assert choice.chosen.turns == ()
    assert {"page-faults", "context-switches"} <= {e.name for e in choice.chosen.perf}
    both = choose([], ["CPU", "BRANCH", "SCHED"], machine=True)
    assert all(_hardware(event) for turn in both.chosen.turns for event in turn)
    assert not any(
        event.name in {e.name for turn in both.chosen.turns for e in turn}
        for event in both.chosen.perf
    )


def test_a_suspension_is_told_and_rates_are_of_the_time_that_it_ran(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    slept_ns = [0]
    monkeypatch.setattr(monitor, "_suspended_ns", lambda: slept_ns[0])
    watched = monitor.Monitor(
        choose(["page-faults"], [], machine=True), monitor.MonitorConfig(), 10**8
    )
    try:
        watched.start()
        assert watched.take().notes == ()
        slept_ns[0] = 8 * 3600 * 10**9
        sample = watched.take()
        assert watched.take().notes == ()
    finally:
        watched.close()
    assert sample.span_ns < 3600 * 10**9
    assert sample.notes[0].startswith("the machine was suspended for 8 h 0 min 0 s: rates refer to")
