"""Actions at set times, by a clock of the test's own: time is the subject."""

from __future__ import annotations

from gnomon.launch.timer_queue import TimerQueue

MS = 1_000_000


class Clock:
    now = 5 * MS

    def __call__(self) -> int:
        return self.now


def test_nothing_is_ever_due() -> None:
    assert TimerQueue(Clock()).due_ms() is None


def test_once() -> None:
    clock = Clock()
    done: list[int] = []
    timers = TimerQueue(clock)
    timers.once(10 * MS, lambda: done.append(1))
    assert timers.due_ms() == 10
    clock.now += 10 * MS - 1
    timers.run_due()
    assert done == []
    assert timers.due_ms() == 1  # never early: a poll of 0 ms would spin
    clock.now += 1
    timers.run_due()
    timers.run_due()
    assert done == [1]
    assert timers.due_ms() is None


def test_again_and_again_without_drift() -> None:
    clock = Clock()
    at: list[int] = []
    timers = TimerQueue(clock)

    def note() -> bool:
        at.append(clock.now)
        return len(at) < 4

    timers.every(10 * MS, note)
    for late in (3, 0, 25, 0):
        clock.now += (int(timers.due_ms() or 0) + late) * MS
        timers.run_due()
    # 15 came at 18, then 25; 35 came at 60 and stood for 45 and 55 as well, then 65.
    assert [moment // MS for moment in at] == [18, 25, 60, 65]
    assert timers.due_ms() is None


def test_what_is_planned_while_looking_is_not_lost() -> None:
    clock = Clock()
    done: list[int] = []
    timers = TimerQueue(clock)
    timers.once(MS, lambda: timers.once(MS, lambda: done.append(1)))
    for _ in range(2):
        clock.now += MS
        timers.run_due()
    assert done == [1]
