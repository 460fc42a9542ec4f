"""Counting through perf_event_open(2): what the perf-backed components share.

Source: perf_event_open(2).
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from gnomon import _core
from gnomon.counters.component import Event, RawCount
from gnomon.counters.sysfs_pmu import Encoding
from gnomon.model.value import Domain
from gnomon.named_tuple import NamedTuple

NativeSpec = tuple[int, int, int, int, int, int, int]
"""What `_core.Group` wants for one native event."""

NativeCounts = tuple[tuple[int, int, int], ...]
"""Raw count and both times of each native event."""

# Of enum perf_type_id: hardware and cache events; software events and tracepoints; raw events.
_GENERIC_TYPES = (0, 3)
_KERNELS_TYPES = (1, 2)
_RAW_TYPE = 4
_X86 = ("x86_64", "i686", "i386")
COMPONENTS = {
    _core.COMPONENT_CPU: "cpu",
    _core.COMPONENT_KERNEL: "kernel",
    _core.COMPONENT_TSC: "tsc",
}
"""The components that are written in C, by their numbers there."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gnomon.counters.preset_formula import Formula


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


def flags_of(flags: int) -> tuple[bool, bool, bool, bool]:
    """Decode the flags of an event: the fields of `PerfSpec` from `hardware` on.

    A PMU that counts in every mode, and refuses to leave one out, is no clock of the kernel: a set
    with a domain cannot have its events.
    """
    hardware = bool(flags & _core.EVENT_HARDWARE)
    return (
        hardware,
        bool(flags & _core.EVENT_TRACEPOINT),
        bool(flags & _core.EVENT_KERNEL_ONLY),
        bool(flags & _core.EVENT_EVERY_MODE) and not hardware,
    )


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


def join(specs: Sequence[PerfSpec], natives: NativeCounts) -> tuple[RawCount, ...]:
    """Return the counts of events from those of their native events, which follow each other."""
    result: list[RawCount] = []
    first_native = 0
    for spec in specs:
        n = len(spec.terms)
        if spec.is_native:
            result.append(RawCount(*natives[first_native]))
        else:
            result.append(combine(spec, natives[first_native : first_native + n]))
        first_native += n
    return tuple(result)


def native_specs(events: Sequence[Event], *, together: bool) -> tuple[list[NativeSpec], list[int]]:
    """Return the arguments of `_core.Group` for events, and the event of each native one.

    `together` puts all into one kernel group, or, on hybrid CPUs, into one for each PMU, which is
    as far as groups go; otherwise only brace groups stay together.
    """
    specs: list[NativeSpec] = []
    owners: list[int] = []
    leader_of: dict[int, int] = {}
    leader_on: dict[int, int] = {}
    for owner, event in enumerate(events):
        for term in event.spec.terms:
            own = len(specs)
            leader = own
            if together:
                pmu = pmu_of(term.encoding)
                leader = leader_on.setdefault(pmu, own if leader_on else 0) if pmu else 0
            elif event.group is not None:
                leader = leader_of.setdefault(event.group, own)
            e = term.encoding
            specs.append((e.type, e.config, e.config1, e.config2, e.config3, e.exclude, leader))
            owners.append(owner)
    return specs, owners


def pmu_of(encoding: Encoding) -> int:
    """Return the type of the PMU that an event says it counts on, 0 where it may be any.

    Source: PERF_PMU_TYPE_SHIFT of perf_event_open(2): hybrid CPUs' generic events name theirs in
    the upper half of the configuration. PERF_TYPE_RAW is the number of x86's core PMU, and nobody's
    elsewhere.
    """
    if encoding.type in _GENERIC_TYPES:
        return encoding.config >> 32
    if encoding.type == _RAW_TYPE:
        return _RAW_TYPE if os.uname().machine in _X86 else 0
    return 0 if encoding.type in _KERNELS_TYPES else encoding.type


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
