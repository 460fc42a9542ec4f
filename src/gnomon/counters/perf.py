"""Counting through perf_event_open(2): what the perf-backed components share.

Source: perf_event_open(2).
"""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from gnomon import _core
from gnomon.counters import refusal
from gnomon.counters.component import (
    Availability,
    Event,
    Opened,
    RawCount,
    Refusal,
    Target,
    make_value,
)
from gnomon.counters.pmu import Encoding
from gnomon.errors import UsageError
from gnomon.model.value import Domain, Value

if TYPE_CHECKING:
    from gnomon.counters.presets.formula import Formula


class Term(NamedTuple):
    """One native event of an event, and the factor its count enters with."""

    factor: int
    encoding: Encoding


class PerfSpec(NamedTuple):
    """How a perf-backed event is opened.

    Attributes:
        terms: native events whose counts, times their factors, add up to the event's.
        hardware: counts on a PMU, so that no PMU or a full one can be the reason of a refusal.
        tracepoint: is one.
        kernel_only: happens in the kernel, so that counting only user mode would read 0.
        every_mode: is a clock, which counts every mode whatever it is asked to leave out.
        formula: what the value is of the native events' counts, where it is not their sum; the
            factors of the terms then mean nothing.
    """

    terms: tuple[Term, ...]
    hardware: bool = False
    tracepoint: bool = False
    kernel_only: bool = False
    every_mode: bool = False
    formula: Formula | None = None

    @classmethod
    def of(
        cls,
        encoding: Encoding,
        *,
        hardware: bool = False,
        tracepoint: bool = False,
        kernel_only: bool = False,
        every_mode: bool = False,
    ) -> PerfSpec:
        """Return the spec of an event that is one native event."""
        return cls((Term(1, encoding),), hardware, tracepoint, kernel_only, every_mode)

    @property
    def is_native(self) -> bool:
        """Whether the count is one native event's, as it is."""
        return len(self.terms) == 1 and self.terms[0].factor == 1 and self.formula is None


def combine(spec: PerfSpec, counts: Sequence[tuple[int, int, int]]) -> RawCount:
    """Return the count of an event made of several native ones, or the value of its formula.

    Terms that were multiplexed apart are scaled one by one; the result then carries the
    shortest running time, so that it shows as scaled and scales to the right value.

    Args:
        spec: how the event was opened.
        counts: raw count, enabled and running nanoseconds of each native event.
    """
    terms = spec.terms
    enabled = max(count[1] for count in counts)
    running = min(count[2] for count in counts)
    if spec.formula is not None:
        if not running:
            return RawCount(0, enabled, 0)
        scaled = [raw if on == ran else raw * on / ran for raw, on, ran in counts]
        return RawCount(0, enabled, running, spec.formula.evaluate(scaled, enabled / 1e9))
    if all(count[1:] == counts[0][1:] for count in counts):
        raw = sum(t.factor * c[0] for t, c in zip(terms, counts, strict=True))
        return RawCount(raw, enabled, running)
    if running == 0:
        return RawCount(0, enabled, 0)
    total = sum(t.factor * c[0] * (c[1] / c[2]) for t, c in zip(terms, counts, strict=True))
    return RawCount(round(total * running / enabled), enabled, running)


class PerfCounting:
    """Events opened on one or more threads; meets `component.Counting`."""

    def __init__(
        self, groups: Sequence[_core.Group[Value]], events: Sequence[Event], on_exec: bool
    ) -> None:
        self._groups = tuple(groups)
        self._specs = tuple(event.spec for event in events)
        self._on_exec = on_exec

    def group(self) -> _core.Group[Value] | None:
        """Return the one kernel group whose reading is this counting's, None if it takes more."""
        one = len(self._groups) == 1 and all(spec.is_native for spec in self._specs)
        return self._groups[0] if one else None

    def start(self, pid: int | None = None) -> None:  # noqa: ARG002
        """Begin at zero; a command's counters have begun by themselves when it was executed."""
        if not self._on_exec:
            for group in self._groups:
                group.start()

    def reset(self) -> None:
        """Go on from zero."""
        for group in self._groups:
            group.reset()

    def read(self) -> tuple[RawCount, ...]:
        """Return the counts since the start."""
        return self._join([group.read().counts() for group in self._groups])

    def stop(self) -> tuple[RawCount, ...]:
        """Stop and return the final counts."""
        return self._join([group.stop().counts() for group in self._groups])

    def close(self) -> None:
        """Close every descriptor."""
        for group in self._groups:
            group.close()

    def _join(self, readings: list[tuple[tuple[int, int, int], ...]]) -> tuple[RawCount, ...]:
        first = readings[0]
        if len(readings) > 1:
            first = tuple(
                (sum(c[0] for c in same), sum(c[1] for c in same), sum(c[2] for c in same))
                for same in zip(*readings, strict=True)
            )
        result: list[RawCount] = []
        at = 0
        for spec in self._specs:
            n = len(spec.terms)
            if spec.is_native:
                result.append(RawCount(*first[at]))
            else:
                result.append(combine(spec, first[at : at + n]))
            at += n
        return tuple(result)


def native_specs(
    events: Sequence[Event], *, together: bool
) -> tuple[list[tuple[int, int, int, int, int, int, int]], list[int]]:
    """Return what `_core.Group` wants for events, and which event each native one belongs to.

    `together` puts all into one kernel group; otherwise only brace groups stay together.
    """
    specs: list[tuple[int, int, int, int, int, int, int]] = []
    owners: list[int] = []
    leader_of: dict[int, int] = {}
    for owner, event in enumerate(events):
        for term in event.spec.terms:
            own = len(specs)
            leader = own
            if together:
                leader = 0
            elif event.group is not None:
                leader = leader_of.setdefault(event.group, own)
            e = term.encoding
            specs.append((e.type, e.config, e.config1, e.config2, e.config3, e.exclude, leader))
            owners.append(owner)
    return specs, owners


def narrowed(event: Event) -> Event | None:
    """Return the event opened for user mode only, None where that would not measure it."""
    spec: PerfSpec = event.spec
    bits = _core.EXCLUDE_KERNEL | _core.EXCLUDE_HYPERVISOR
    if spec.kernel_only or spec.tracepoint or event.domain not in (Domain.ALL, Domain.USER_KERNEL):
        return None
    if all(t.encoding.exclude & bits == bits for t in spec.terms):
        return None
    terms = tuple(
        Term(t.factor, t.encoding._replace(exclude=t.encoding.exclude | bits)) for t in spec.terms
    )
    domain = event.domain if spec.every_mode else Domain.USER
    return event._replace(domain=domain, spec=spec._replace(terms=terms))


def open_events(events: Sequence[Event], target: Target) -> Opened:
    """Open perf-backed events on a target and say of each that would not open why.

    An event that may not count the kernel is tried in user mode alone and says so. Without
    `target.inherit` all events form one kernel group, read by one system call; with it they
    are independent, so that the kernel can multiplex them.

    Raises:
        UsageError: more events than one group of the core holds.
    """
    keep = list(events)
    refused: list[Refusal] = []
    notes: list[str] = []
    flags = 0
    if target.inherit:
        flags |= _core.INHERIT
    if target.command:
        flags |= _core.ENABLE_ON_EXEC
    elif target.pid == 0 and not target.inherit:
        flags |= _core.USER_READ
    while keep:
        specs, owners = native_specs(keep, together=not target.inherit)
        if len(specs) > _core.EVENTS_MAX:
            raise UsageError(
                f"{len(specs)} events at once: at most {_core.EVENTS_MAX} can be counted together; "
                "ask for fewer"
            )
        try:
            groups = _open_threads(specs, target, flags, tuple(keep[o] for o in owners))
        except _core.OpenError as error:
            at = owners[error.index]
            event = keep[at]
            number = error.errno or 0
            narrower = narrowed(event) if number in (errno.EACCES, errno.EPERM) else None
            if narrower is not None:
                keep[at] = narrower
                continue
            keep.pop(at)
            beside = [one for one in keep if not target.inherit or _are_braced(event, one)]
            refused.append(_refusal(event, number, alone=not beside))
            continue
        for before in events:
            if any(e.name == before.name and e.domain != before.domain for e in keep):
                notes.append(f"{before.name} counts user mode only: the kernel allows no more")
            in_kernel = before.spec.kernel_only or before.spec.tracepoint
            if in_kernel and before.domain is Domain.USER:
                notes.append(f"{before.name} happens in the kernel: in user mode it counts 0")
            if before.spec.every_mode and any(t.encoding.exclude for t in before.spec.terms):
                notes.append(
                    f"{before.name} counts every mode: the kernel's clocks tell none apart"
                )
        counting = PerfCounting(groups, keep, target.command)
        return Opened(counting, tuple(keep), tuple(refused), tuple(notes))
    return Opened(None, (), tuple(refused), tuple(notes))


def availability(event: Event) -> Availability:
    """Return whether an event opens on the calling thread, found by trying."""
    opened = open_events([event], Target())
    if opened.counting is not None:
        opened.counting.close()
        return Availability(True)
    refused = opened.refused[0]
    return Availability(False, refused.reason, refused.remedy, refused.errno)


def _open_threads(
    specs: list[tuple[int, int, int, int, int, int, int]],
    target: Target,
    flags: int,
    descriptors: tuple[Event, ...],
) -> list[_core.Group[Value]]:
    pid = 0 if target.command or target.pid is None else target.pid
    threads = _threads(pid) if pid and target.inherit else [pid]
    groups: list[_core.Group[Value]] = []
    for thread in threads:
        try:
            groups.append(_core.Group(specs, thread, target.cpu, flags, descriptors, make_value))
        except _core.OpenError as error:
            # A thread that ended since it was listed has nothing left to count.
            if error.errno == errno.ESRCH and len(threads) > 1:
                continue
            raise
    if not groups:
        gone = _core.OpenError(errno.ESRCH, os.strerror(errno.ESRCH))
        gone.index = 0
        raise gone
    return groups


def _threads(pid: int) -> list[int]:
    try:
        return sorted(int(entry.name) for entry in Path(f"/proc/{pid}/task").iterdir())
    except OSError:
        return [pid]


def _are_braced(one: Event, other: Event) -> bool:
    return one.group is not None and one.group == other.group


def _refusal(event: Event, number: int, *, alone: bool) -> Refusal:
    spec: PerfSpec = event.spec
    if number == errno.EINVAL and spec.hardware and not alone:
        reason = "does not fit on the PMU together with the other events of this set"
        remedy = "count it in a set of its own"
    else:
        reason, remedy = refusal.explain(number, hardware=spec.hardware, tracepoint=spec.tracepoint)
    return Refusal(event, reason, remedy, number)
