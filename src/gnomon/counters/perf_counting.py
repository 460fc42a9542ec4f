"""Perf-backed events that are open: started, read and stopped, and given up one by one.

Source: perf_event_open(2).
"""

from __future__ import annotations

import errno
import os
from _thread import get_native_id
from collections.abc import Iterator, Sequence

# Where no descriptor is left, an import cannot say so any more: all are up here.
from gnomon import _core
from gnomon.counters import perf_errors
from gnomon.counters.component import (
    NO_COUNT,
    AddResult,
    Event,
    RawCount,
    Refusal,
    Sharing,
    Target,
    make_value,
)
from gnomon.counters.perf_spec import (
    NativeCounts,
    NativeSpec,
    PerfSpec,
    join,
    narrowed,
    native_specs,
    pmu_of,
)
from gnomon.counters.perf_targets import (
    PerfTarget,
    has_ended,
    inheritance,
    spots,
    threads_only_is_known,
)
from gnomon.counters.sysfs_pmu import core_pmus, pmu_name
from gnomon.errors import EventUnavailableError, KernelError, refused
from gnomon.model.value import Domain, Value

_ELSEWHERE = _core.INHERIT | _core.INHERIT_THREADS | _core.ENABLE_ON_EXEC


class _FullError(_core.OpenError):
    """No more events than these can be in one group of the core."""


class PerfSession:
    """Events opened on one or more places; meets `component.ExtendableSession`.

    Where nothing is inherited and the kernel is not to rotate them, all events of a place form one
    kernel group, read by one system call. Otherwise they are independent, but for brace groups.
    """

    def __init__(self, target: Target) -> None:
        self._target = target
        self._flags = inheritance(target)
        self._together = not self._flags and target.sharing is not Sharing.KERNEL
        self._flags |= 0 if self._together else _core.INDEPENDENT
        self._flags |= _core.ENABLE_ON_EXEC if target.command else 0
        self._flags |= _core.PINNED if target.pinned else 0
        self._flags |= _core.EXCLUSIVE if target.exclusive else 0
        self._flags |= _core.CGROUP if target.cgroup >= 0 else 0
        self._groups: list[_core.Group[Value]] = []
        self._spots: list[PerfTarget] = []
        self._is_over = False
        self._events: list[Event] = []
        self._specs: list[PerfSpec] = []

    def add(self, events: Sequence[Event]) -> AddResult:
        """Open more events on every place; say of each that would not open why.

        An event that may not count the kernel is tried in user mode alone and says so.
        """
        kept: list[Event] = []
        refused: list[Refusal] = []
        notes: list[str] = []
        for event in events:
            opened: Event | None = event
            while opened is not None:
                try:
                    self._open(opened)
                    break
                except _core.OpenError as error:
                    refusal_of_it = self._refusal(opened, error)
                is_forbidden = refusal_of_it.errno in (errno.EACCES, errno.EPERM)
                narrower = narrowed(opened) if is_forbidden else None
                if narrower is None:
                    refused.append(refusal_of_it)
                opened = narrower
            if opened is not None:
                kept.append(opened)
                notes.extend(_remarks(event, opened))
        return AddResult(tuple(kept), tuple(refused), tuple(notes))

    def remove(self, index: int) -> None:
        """Close the event at that place. Where it leads others, those are opened anew."""
        first = sum(len(spec.terms) for spec in self._specs[:index])
        rest = self._events[:index] + self._events[index + 1 :]
        leaders = [spec[-1] for spec in native_specs(self._events, together=self._together)[0]]
        own = range(first, first + len(self._specs[index].terms))
        leads = any(leader in own and n not in own for n, leader in enumerate(leaders))
        if rest and leads:
            anew = PerfSession(self._target)
            refused = anew.add(rest).refused
            if refused:
                anew.close()
                raise refused_error(refused[0])
            self.close()
            self._groups, self._spots = anew._groups, anew._spots
        elif rest:
            for group in self._groups:
                for native in reversed(own):
                    group.remove(native)
        else:
            self.close()
        self._events = rest
        self._specs = [event.spec for event in rest]

    def group(self) -> _core.Group[Value] | None:
        """Return the one kernel group whose reading is this counting's, None if it takes more."""
        one = len(self._groups) == 1 and all(spec.is_native for spec in self._specs)
        return self._groups[0] if one and not self._is_over else None

    def notes(self) -> tuple[str, ...]:
        """Return nothing: all was said when the events were opened."""
        return ()

    def start(self, pid: int | None = None) -> None:  # noqa: ARG002
        """Begin at zero; a command's counters have begun by themselves when it was executed.

        Raises:
            KernelError: what is to be counted has ended, or the kernel refuses.
        """
        if self._target.command:
            return
        self.refuse_if_over()
        for group in self._groups:
            group.start()

    def refuse_if_over(self) -> None:
        """Look whether all that is counted has ended, which the kernel starts all the same.

        Raises:
            KernelError: it has, and nothing that it made can have inherited the events. Otherwise
                only the values can tell.
        """
        own = get_native_id()
        # A cgroup has a descriptor in place of a thread's number.
        self._is_over = self._target.cgroup < 0 < len(self._spots) and all(
            spot.pid != own and has_ended(spot) for spot in self._spots
        )

        if self._is_over and not self._flags & _ELSEWHERE:
            raise ended_error(self._spots[0].pid)

    def read(self) -> tuple[RawCount, ...]:
        """Return the counts since the start."""
        return self.joined(self._specs, self.natives())

    def take(self) -> tuple[RawCount, ...]:
        """Return the counts since the start, and go on from zero."""
        return self.joined(self._specs, self.take_natives())

    def stop(self) -> tuple[RawCount, ...]:
        """Stop and return the final counts."""
        return self.joined(self._specs, self.stop_natives())

    def joined(self, specs: Sequence[PerfSpec], natives: NativeCounts) -> tuple[RawCount, ...]:
        """Return the counts of events from those of their native events.

        Where all that is counted had ended, and nothing that inherits ran, there is no count.
        """
        counts = join(specs, natives)
        if not self._is_over:
            return counts
        return tuple(count if count.enabled_ns else NO_COUNT for count in counts)

    def natives(self) -> NativeCounts:
        """Return the counts of the native events, summed over places."""
        return _sums([group.read().counts() for group in self._groups])

    def take_natives(self) -> NativeCounts:
        """Return the same, and go on from zero."""
        return _sums([group.take().counts() for group in self._groups])

    def stop_natives(self) -> NativeCounts:
        """Stop and return the final counts of the native events, summed over places."""
        return _sums([group.stop().counts() for group in self._groups])

    def groups(self) -> tuple[_core.Group[Value], ...]:
        """Return the core's group of each place."""
        return tuple(self._groups)

    def close(self) -> None:
        """Close every descriptor."""
        for group in self._groups:
            group.close()
        self._groups = []
        self._spots = []

    def _open(self, event: Event) -> None:
        """Open an event on every place, or on none of them. Raises OpenError."""
        together = [*self._events, event]
        all_specs, _ = native_specs(together, together=self._together)
        if len(all_specs) > _core.EVENTS_MAX:
            raise _FullError(errno.E2BIG, os.strerror(errno.E2BIG))
        specs = all_specs[len(all_specs) - len(event.spec.terms) :]
        descriptors = (event,) * len(specs)
        self._refuse_unfit(together)
        if not self._groups:
            self._open_first(event, specs, descriptors)
        else:
            self._open_beside(specs, descriptors, len(all_specs) - len(specs))
        self._events.append(event)
        self._specs.append(event.spec)

    def _open_first(
        self, event: Event, specs: list[NativeSpec], descriptors: tuple[Event, ...]
    ) -> None:
        if self._together and _is_one_of_several(event):
            self._flags |= _core.INDEPENDENT
        flags = self._flags
        places = spots(self._target)
        if places == (PerfTarget(0, -1),) and event.spec.hardware and not flags & _ELSEWHERE:
            flags |= _core.USER_READ
        opened: list[_core.Group[Value]] = []
        on: list[PerfTarget] = []
        for spot in places:
            try:
                group = _core.Group(specs, spot.pid, spot.cpu, flags, descriptors, make_value)
            except _core.OpenError as error:
                # A thread that ended since it was listed has nothing left to count.
                if error.errno == errno.ESRCH and len(places) > 1:
                    continue
                for done in opened:
                    done.close()
                raise
            opened.append(group)
            # The calling thread by its number: another one may start the set.
            on.append(spot if spot.pid else spot._replace(pid=get_native_id()))
        if not opened:
            raise _core.OpenError(errno.ESRCH, os.strerror(errno.ESRCH))
        self._groups, self._spots = opened, on

    def _open_beside(
        self, specs: list[NativeSpec], descriptors: tuple[Event, ...], first: int
    ) -> None:
        done: list[_core.Group[Value]] = []
        for group in self._groups:
            try:
                group.add(specs, descriptors)
            except _core.OpenError as error:
                if error.errno == errno.ESRCH and len(self._groups) > 1:
                    continue
                for other in done:
                    for native in reversed(range(first, first + len(specs))):
                        other.remove(native)
                raise
            done.append(group)
        # What a thread counted that has ended since is not lost: a start begins at zero.
        pairs = list(zip(self._groups, self._spots, strict=True))
        for group, _ in pairs:
            if group not in done:
                group.close()
        self._groups = done
        self._spots = [spot for group, spot in pairs if group in done]

    def _refuse_unfit(self, events: Sequence[Event]) -> None:
        """Raise OpenError for events that do not fit at once, where opening them does not tell.

        Independent events are never asked whether they fit; and arm64 kernels leave a leader that
        is off out of their sum (see `open_one` in native/core/perf.c).
        """
        tells = self._together and (self._target.pid == 0 or os.uname().machine != "aarch64")
        if self._target.sharing is Sharing.NONE and not tells and not fit(events):
            raise _core.OpenError(errno.EINVAL, os.strerror(errno.EINVAL))

    def _refusal(self, event: Event, error: _core.OpenError) -> Refusal:
        spec: PerfSpec = event.spec
        number = error.errno or 0
        pmu = pmu_name(spec.terms[0].encoding.type)
        if isinstance(error, _FullError):
            reason = f"a set counts {_core.EVENTS_MAX} native events at most"
            return Refusal(event, reason, "ask for fewer events", number, pmu, conflict=True)
        beside = self._events if self._together or self._target.sharing is Sharing.NONE else [
            one for one in self._events if are_braced(event, one)
        ]  # fmt: skip
        if self._flags & _core.INHERIT_THREADS and not threads_only_is_known():
            reason = "this kernel cannot count a process without its children (Linux 5.13 can)"
            return Refusal(event, reason, "use inherit=True, which counts both", number, pmu)
        if number == errno.EINVAL and spec.hardware and beside and self._opens_alone(event):
            return _conflict(event, beside, number, pmu)
        reason, remedy = perf_errors.explain(
            number, hardware=spec.hardware, tracepoint=spec.tracepoint, cpu=self._target.cpu
        )
        return Refusal(event, reason, remedy, number, pmu)

    def _opens_alone(self, event: Event) -> bool:
        alone = PerfSession(self._target)
        try:
            alone._open(event)
        except _core.OpenError:
            return False
        alone.close()
        return True


def _is_one_of_several(event: Event) -> bool:
    """Return whether events of other core PMUs may come beside one (hybrid CPUs)."""
    kinds = {pmu_of(term.encoding) for term in event.spec.terms} - {0}
    return event.spec.hardware and bool(kinds) and len(core_pmus()) > 1


def _conflict(event: Event, beside: Sequence[Event], number: int, pmu: str) -> Refusal:
    from gnomon.counters.allocation import fits

    why = fits([*beside, event]).why or f"they are {', '.join(one.name for one in beside)}"
    reason = f"does not fit on the PMU together with the other events of this set: {why}"
    remedy = "count it in a set of its own, or let them take turns (multiplex)"
    return Refusal(event, reason, remedy, number, pmu, conflict=True)


def _sums(readings: Sequence[NativeCounts]) -> NativeCounts:
    if len(readings) < 2:
        return readings[0] if readings else ()
    return tuple(
        (sum(c[0] for c in same), sum(c[1] for c in same), sum(c[2] for c in same))
        for same in zip(*readings, strict=True)
    )


def fit(events: Sequence[Event]) -> bool:
    """Return whether events can be on the PMU at the same time, found by opening them so."""
    hardware = [event for event in events if event.spec.hardware]
    if len(hardware) < 2:
        return True
    specs, owners = native_specs(hardware, together=True)
    descriptors = tuple(hardware[owner] for owner in owners)
    try:
        _core.Group(specs, 0, -1, 0, descriptors, make_value).close()
    except _core.OpenError as error:
        return error.errno != errno.EINVAL
    return True


def ended_error(tid: int) -> KernelError:
    """Return the exception for a set whose thread has ended."""
    return KernelError(
        f"the event set counts thread {tid}, which has ended: make a new set, or attach it to a "
        "thread or process that runs"
    )


def refused_error(refusal: Refusal) -> EventUnavailableError:
    """Return the exception that a refusal is."""
    return refused(
        refusal.event.name,
        refusal.reason,
        refusal.remedy,
        refusal.errno,
        refusal.pmu,
        conflict=refusal.conflict,
    )


def _remarks(asked: Event, opened: Event) -> Iterator[str]:
    spec: PerfSpec = asked.spec
    if opened.domain != asked.domain:
        yield f"{asked.name} counts user mode only: the kernel allows no more"
    if (spec.kernel_only or spec.tracepoint) and asked.domain is Domain.USER:
        yield f"{asked.name} happens in the kernel: in user mode it counts 0"
    if not (spec.hardware or spec.every_mode) and asked.domain is Domain.HYPERVISOR:
        yield f"{asked.name} is counted by the kernel: in hypervisor mode it counts 0"
    if spec.every_mode and any(t.encoding.exclude for t in spec.terms):
        yield f"{asked.name} counts every mode: the kernel's clocks tell none apart"


def are_braced(one: Event, other: Event) -> bool:
    """Return whether two events were typed in the same braces."""
    return one.group is not None and one.group == other.group
