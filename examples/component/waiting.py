"""A component of one's own: how long a thread ran, and how long it waited for a CPU.

    $ python examples/component/waiting.py
    waiting:::run_ns         counted        ...
    waiting:::wait_ns        counted        ...
    waiting:::slices         counted        ...

Source: Documentation/scheduler/sched-stats.rst, "/proc/<pid>/schedstat": time on the CPU, time on a
run queue (both in nanoseconds), and how often it was put on a CPU.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from threading import get_native_id

from gnomon.counters import EventSet, Target, add_component
from gnomon.counters.component import (
    Availability,
    Event,
    EventInfo,
    OpenResult,
    Overflow,
    RawCount,
    Refusal,
)
from gnomon.errors import EventNameError
from gnomon.model.value import Domain, Scope

# What the fields of the file are, in its order.
FIELDS = {
    "run_ns": ("time on a CPU", "ns"),
    "wait_ns": ("time ready to run, waiting for a CPU", "ns"),
    "slices": ("times it was put on a CPU", ""),
}


class Waiting:
    """The scheduler's own account of a thread."""

    name = "waiting"
    description = "how long threads run and wait for a CPU"
    how_measured = "kept by the scheduler, read from /proc/PID/schedstat"
    scope = Scope.THREAD
    overflow = Overflow.IMPOSSIBLE

    def availability(self) -> Availability:
        """Return whether the kernel keeps the account, found by reading it."""
        try:
            read(get_native_id())
        except OSError as error:
            return Availability(
                False,
                f"/proc/PID/schedstat cannot be read ({error.strerror})",
                "use a kernel built with CONFIG_SCHED_INFO",
                error.errno or 0,
            )
        return Availability(True)

    def counters(self) -> int | None:
        """Return None: any number of events can be read at once."""
        return None

    def events(self) -> Iterator[EventInfo]:
        """Yield what `gnomon events` would list."""
        for field, (description, unit) in FIELDS.items():
            yield EventInfo(f"{self.name}:::{field}", self.name, description, unit, self.scope)

    def resolve(self, name: str) -> tuple[Event, ...]:
        """Return the event of a name; () for the names of other components.

        Raises:
            EventNameError: it begins like ours, and we have no such event.
        """
        if not name.startswith(f"{self.name}:::"):
            return ()
        for info, field in zip(self.events(), FIELDS, strict=True):
            if info.name == name:
                # The spec is ours alone: what `open` needs to find the number.
                return (Event(name, info, Domain.ALL, field),)
        known = ", ".join(FIELDS)
        raise EventNameError(name, f"component '{self.name}' has {known}")

    def open(self, events: Sequence[Event], target: Target) -> OpenResult:
        """Open events on a thread; what cannot be counted is refused, never raised."""
        tid = target.pid or get_native_id()
        try:
            read(tid)
        except OSError as error:
            reason = f"/proc/{tid}/schedstat cannot be read ({error.strerror})"
            remedy = "name a thread that runs, of your own"
            return OpenResult(
                None, (), tuple(Refusal(e, reason, remedy, error.errno or 0) for e in events)
            )
        return OpenResult(Counting(tid, [event.spec for event in events]), tuple(events))


class Counting:
    """Events that are open: differences between what the file holds now and held at the start."""

    def __init__(self, tid: int, fields: Sequence[str]) -> None:
        self._tid = tid
        self._fields = [list(FIELDS).index(field) for field in fields]
        self._base: Sequence[int] = ()
        self._began_ns = 0
        self._final: tuple[RawCount, ...] | None = None

    def start(self, pid: int | None = None) -> None:  # noqa: ARG002
        """Begin at zero."""
        self._final = None
        self._began_ns = time.monotonic_ns()
        self._base = read(self._tid)

    def read(self) -> tuple[RawCount, ...]:
        """Return the counts since the start; a thread that has ended is not measured."""
        if self._final is not None:
            return self._final
        elapsed_ns = time.monotonic_ns() - self._began_ns
        try:
            now = read(self._tid)
        except OSError:
            # Enabled, but never running: the value is None, and no number is made up.
            return (RawCount(0, elapsed_ns, 0),) * len(self._fields)
        return tuple(
            RawCount(now[field] - self._base[field], elapsed_ns, elapsed_ns)
            for field in self._fields
        )

    def stop(self) -> tuple[RawCount, ...]:
        """Return the final counts, which stay."""
        self._final = self.read()
        return self._final

    def close(self) -> None:
        """Give back what is held: nothing."""


def read(tid: int) -> list[int]:
    """Return the numbers that the scheduler keeps of a thread. Raises OSError."""
    numbers = [int(word) for word in Path(f"/proc/{tid}/schedstat").read_text().split()]
    if len(numbers) != len(FIELDS):
        raise OSError(0, "it holds something else than three numbers")
    return numbers


def main() -> None:
    """Count a little work and a little sleep."""
    add_component(Waiting())
    with EventSet([f"waiting:::{field}" for field in FIELDS] + ["task-clock"]) as events:
        sum(range(1_000_000))
        time.sleep(0.01)
        os.sched_yield()
    for value in events.read():
        print(f"{value.event:<24} {value.how:<8} {value.value:>14,} {value.unit}")


if __name__ == "__main__":
    main()
