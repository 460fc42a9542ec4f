"""Multiplexing: more events than counters, in groups that take turns.

Groups are formed so that there are few of them. A thread of the core enables one at a time
(`gnomon/rotate.h`); where the kernel's own interval for the PMU is about the slice that was asked
for, the kernel does it. How long all of it lasted is what a dummy event on the same threads says,
which is enabled all the time. Nothing is extrapolated from nothing: a group whose turn never came
has no values.

Source: perf_event_open(2); Documentation/ABI/testing/sysfs-devices-..., perf_event_mux_interval_ms.
"""

from __future__ import annotations

from _thread import get_native_id
from collections.abc import Sequence
from pathlib import Path

from gnomon import _core
from gnomon.counters.component import (
    AddResult,
    Event,
    EventInfo,
    Granularity,
    RawCount,
    Refusal,
    Sharing,
    Target,
)
from gnomon.counters.perf_counting import PerfSession, are_braced, ended_error, fit, refused_error
from gnomon.counters.perf_spec import NativeCounts, PerfSpec, pmu_of
from gnomon.counters.perf_targets import PerfTarget, has_ended
from gnomon.counters.procfs import read_number
from gnomon.counters.sysfs_pmu import SYSFS, Encoding
from gnomon.errors import KernelError
from gnomon.model.value import Domain, Scope, Value

FEW_TURNS = 10
"""With fewer turns than these, one more or less is a tenth of what a group saw of the run."""

ALWAYS_ENABLED = Event(
    "time enabled",
    EventInfo("time enabled", "kernel", "", "", Scope.THREAD),
    Domain.ALL,
    # It counts nothing; leaving the kernel out is what everybody may do.
    PerfSpec.of(Encoding(1, 9, exclude=_core.EXCLUDE_KERNEL | _core.EXCLUDE_HYPERVISOR)),
    group=0,
)
# Threads come and go while the events of several groups are opened on all of them.
_ATTEMPTS = 5


class MultiplexSession:
    """Events in groups that take turns; meets `component.ExtendableSession`.

    An event is tried when it is added. The groups are formed and opened at the start, once for as
    long as no event comes or goes.
    """

    def __init__(self, target: Target, sysfs: Path | str = SYSFS) -> None:
        self._target = target._replace(sharing=Sharing.NONE, slice_ns=0, limit=0)
        self._maker = get_native_id()
        self._slice_ns = target.slice_ns
        self._limit = target.limit
        self._sysfs = sysfs
        self._events: list[Event] = []
        self._plan: tuple[tuple[int, ...], ...] = ()
        self._parts: list[PerfSession] = []
        self._clock: PerfSession | None = None
        self._rotation = _core.Rotation()
        self._by_kernel_ns = 0

    def add(self, events: Sequence[Event]) -> AddResult:
        """Take more events; say of each that would not open why."""
        kept: list[Event] = []
        refused: list[Refusal] = []
        notes: list[str] = []
        for event in events:
            trial = PerfSession(self._target)
            trial.add([e for e in (*self._events, *kept) if are_braced(e, event)])
            added = trial.add([event])
            trial.close()
            kept.extend(added.events)
            refused.extend(added.refused)
            notes.extend(added.notes)
        self._events.extend(kept)
        self._close_groups()
        return AddResult(tuple(kept), tuple(refused), tuple(notes))

    def remove(self, at: int) -> None:
        """Give up the event at that place."""
        del self._events[at]
        self._close_groups()

    def group(self) -> _core.Group[Value] | None:
        """Return the one kernel group of all events, None if they take turns or are not open."""
        return self._parts[0].group() if len(self._parts) == 1 else None

    def start(self, pid: int | None = None) -> None:
        """Begin at zero.

        Raises:
            KernelError: no thread can be made, the kernel refuses to enable the events, or what is
                to be counted has ended.
        """
        self._open()
        if self._clock is None:
            self._parts[0].start(pid)
            return
        for part in self._parts:
            part.refuse_if_over()
            part.take_natives()
        self._clock.start()
        if self._by_kernel_ns:
            for part in self._parts:
                part.start()
            return
        turns = tuple(part.groups() for part in self._parts)
        try:
            self._rotation.start(turns, self._slice_ns)
        except OSError as error:
            self._clock.stop()
            raise _turn_refused(error) from None

    def read(self) -> tuple[RawCount, ...]:
        """Return the counts since the start."""
        if self._clock is None:
            return self._parts[0].read()
        natives = [part.natives() for part in self._parts]
        return self._joined(natives, self._clock.natives())

    def take(self) -> tuple[RawCount, ...]:
        """Return the counts since the start, and go on from zero."""
        if self._clock is None:
            return self._parts[0].take()
        natives = [part.take_natives() for part in self._parts]
        return self._joined(natives, self._clock.take_natives())

    def stop(self) -> tuple[RawCount, ...]:
        """Stop and return the final counts."""
        if self._clock is None:
            return self._parts[0].stop()
        if self._by_kernel_ns:
            for part in self._parts:
                part.stop()
        else:
            try:
                self._rotation.pause()
            except OSError as error:
                raise _turn_refused(error) from None
        self._clock.stop()
        return self.read()

    def notes(self) -> tuple[str, ...]:
        """Return which events had no turn yet, and which had few."""
        if self._clock is None:
            return ()
        n = len(self._parts)
        slice_ns = self._by_kernel_ns or self._slice_ns
        never: list[str] = []
        few: list[str] = []
        fewest = FEW_TURNS
        for turn, (part, places) in enumerate(zip(self._parts, self._plan, strict=True)):
            ran_ns = min((running for _, _, running in part.natives()), default=0)
            turns = -(-ran_ns // slice_ns)
            if not self._by_kernel_ns:
                turns = max(self._rotation.turns - turn + n - 1, 0) // n
            names = [self._events[place].name for place in places]
            if not ran_ns:
                never.extend(names)
            elif turns < FEW_TURNS:
                few.extend(names)
                fewest = min(fewest, turns)
        each = f"{n} groups of events take turns of {slice_ns / 1e6:g} ms"
        notes = []
        if never:
            notes.append(f"not measured: {', '.join(never)}: {each}, and theirs did not come")
        if few:
            notes.append(
                f"too short to converge: {', '.join(few)} counted for {fewest} of their turns or "
                f"little more ({each}): count for longer, or in shorter turns"
            )
        return tuple(notes)

    def close(self) -> None:
        """Give back every descriptor, and end the thread."""
        self._rotation.close()
        self._close_groups()

    def _joined(self, parts: Sequence[NativeCounts], clock: NativeCounts) -> tuple[RawCount, ...]:
        counts = [RawCount(0, 0, 0)] * len(self._events)
        for part, natives, places in zip(self._parts, parts, self._plan, strict=True):
            timed = natives if self._by_kernel_ns else _timed(natives, clock[0][1])
            specs = [self._events[place].spec for place in places]
            for place, count in zip(places, part.joined(specs, timed), strict=True):
                counts[place] = count
        return tuple(counts)

    def _open(self) -> None:
        if self._parts:
            return
        t = self._target
        is_own = t.pid == 0 and t.granularity is Granularity.THREAD and not t.inherit
        if is_own and get_native_id() != self._maker:
            # Another thread starts what counts the one that made it.
            if has_ended(PerfTarget(self._maker, t.cpu)):
                raise ended_error(self._maker)
            self._target = t._replace(pid=self._maker)
        self._plan = form_groups(self._events, self._limit)
        self._by_kernel_ns = 0 if self._limit else self._kernel_interval_ns()
        if len(self._plan) > 1 and not self._by_kernel_ns:
            self._make_thread()
        for _ in range(_ATTEMPTS):
            for places in self._plan:
                part = PerfSession(self._target)
                self._parts.append(part)
                added = part.add(_braced([self._events[place] for place in places]))
                if added.refused:
                    self._close_groups()
                    raise refused_error(added.refused[0])
            if len(self._plan) == 1:
                return
            self._clock = self._open_clock()
            if len({len(part.groups()) for part in (*self._parts, self._clock)}) == 1:
                break
            self._close_groups()
        else:
            raise KernelError(
                "multiplexing: the threads to be counted end faster than events are opened on "
                "them; count them with `inherit`, from before they begin"
            )

    def _make_thread(self) -> None:
        """Make the thread that changes turns before anything is open that it would inherit.

        Nor is the time that this takes part of what is counted then.
        """
        try:
            self._rotation.prepare()
        except OSError as error:
            raise KernelError(
                f"multiplexing: no thread that rotates the events ({error.strerror}); "
                "raise the limit on processes (ulimit -u), or count without multiplexing"
            ) from None

    def _open_clock(self) -> PerfSession:
        """Open the event that is enabled all the time, in the context of those that take turns.

        `gnomon/rotate.h` says why. Where that fails, values are too small by what programming the
        PMU takes.
        """
        clock = PerfSession(self._target)
        clock.add([ALWAYS_ENABLED])
        guides = [event for event in self._events if event.spec.hardware and not self._by_kernel_ns]
        if guides and clock.add([guides[0]._replace(group=ALWAYS_ENABLED.group)]).events:
            clock.remove(1)
        return clock

    def _close_groups(self) -> None:
        for part in self._parts:
            part.close()
        if self._clock is not None:
            self._clock.close()
        self._parts = []
        self._clock = None

    def _kernel_interval_ns(self) -> int:
        """Return the kernel's interval where all events are of PMUs that it rotates about so."""
        kinds = {term.encoding.type for event in self._events for term in event.spec.terms}
        intervals = {_mux_interval_ns(kind, self._sysfs) for kind in kinds}
        interval = intervals.pop() if len(intervals) == 1 else 0
        hardware = all(event.spec.hardware for event in self._events)
        if hardware and self._slice_ns <= 2 * interval and interval <= 2 * self._slice_ns:
            return interval
        return 0


def _braced(events: Sequence[Event]) -> list[Event]:
    """Put events that count at the same time into one kernel group for each PMU.

    Inherited ones would be independent otherwise, and be enabled one after the other.
    """
    return [e._replace(group=max(pmu_of(term.encoding) for term in e.spec.terms)) for e in events]


def _timed(natives: NativeCounts, enabled: int) -> NativeCounts:
    return tuple((raw, max(enabled, running), running) for raw, _, running in natives)


def _turn_refused(error: OSError) -> KernelError:
    return KernelError(
        f"multiplexing: the kernel refused a turn ({error.strerror}); close the set and open a "
        "new one"
    )


def form_groups(events: Sequence[Event], limit: int = 0) -> tuple[tuple[int, ...], ...]:
    """Return which events count at the same time: places of events, in few groups.

    The constraint tables say which events fit together, and the kernel has the last word.

    Args:
        events: in the order of the set; those of one brace group stay together.
        limit: at most so many native events a group, unless braces or one event hold more; 0 is
            as many as fit.
    """
    if any(event.spec.hardware for event in events):
        from gnomon.counters.allocation import groups

        planned = groups(events, limit or None)
        if all(fit([events[at] for at in group]) for group in planned):
            return planned
    return _first_fit(events, limit)


def _first_fit(events: Sequence[Event], limit: int) -> tuple[tuple[int, ...], ...]:
    bundles: dict[tuple[str, int], list[int]] = {}
    for at, event in enumerate(events):
        key = ("alone", at) if event.group is None else ("braces", event.group)
        bundles.setdefault(key, []).append(at)
    groups: list[list[int]] = []
    for bundle in bundles.values():
        for group in groups:
            together = [*group, *bundle]
            natives = sum(len(events[at].spec.terms) for at in together)
            if (not limit or natives <= limit) and fit([events[at] for at in together]):
                group.extend(bundle)
                break
        else:
            groups.append(list(bundle))
    return tuple(tuple(sorted(group)) for group in groups)


def _mux_interval_ns(kind: int, sysfs: Path | str) -> int:
    from gnomon.counters.sysfs_pmu import core_pmus, find

    of = core_pmus(sysfs)[:1] if kind in (0, 3, 4) else [p for p in find(sysfs) if p.type == kind]
    found = [read_number(pmu.path / "perf_event_mux_interval_ms") for pmu in of]
    return 1_000_000 * ((found[0] if found else None) or 0)
