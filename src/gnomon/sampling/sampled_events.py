"""The events that are sampled: their names as the user gave them, as the kernel opens them.

Source: perf-list(1) for `{a,b}:S` and the modifier p; perf_event_open(2).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from gnomon import _core
from gnomon.counters import event_resolver
from gnomon.counters.component import Event
from gnomon.counters.perf_spec import PerfSpec, narrowed
from gnomon.errors import GnomonError, UsageError
from gnomon.named_tuple import NamedTuple
from gnomon.sampling import rights

CLOCK = "cpu-clock"
CYCLES = "cycles"
"""What is sampled for branches unless events are named: no clock has any."""
UNSEEN_KERNEL = "[kernel] (not sampled)"
"""The region that stands for CPU time in the kernel where no samples may be taken of it."""
_MOST = 64
_TYPE_SOFTWARE, _TYPE_BREAKPOINT = 1, 5
# PERF_COUNT_SW_CPU_CLOCK and TASK_CLOCK; PAGE_FAULTS, those of both kinds, ALIGNMENT_FAULTS.
_CLOCKS = (0, 1)
_FAULTS = (2, 5, 6, 7)
# PERF_SAMPLE_ADDR, WEIGHT and DATA_SRC; BRANCH_STACK.
_ADDRESS, _LATENCY_AND_SOURCE = 1 << 3, 1 << 14 | 1 << 15
_BRANCH_STACK = 1 << 11
# Behind the last : or /, as native/counters/event_grammar.c knows it.
_PRECISE = re.compile(r"(.*?[:/])([ukhGHI]*)(p{1,3}|P)([ukhGHI]*)")
_PRECISE_MOST = 3
_PERIOD_NS_LEAST = 10_000


TELLS_SWITCHES, IS_OF_WAITS, APART, OF_USER, OF_KERNEL, ONE_IN_N = 1, 2, 4, 8, 16, 32
"""It tells when threads leave a CPU and return; its samples are their stacks when they leave. It
is not enabled, but takes the place of others when there are many waits (APART), or too many
(ONE_IN_N); its samples have the program's part of the stack alone (OF_USER), or the kernel's
(OF_KERNEL)."""


class SampledEvent(NamedTuple):
    """An event that is sampled.

    Attributes:
        event: as resolved.
        period: a sample every so many; with `is_frequency` samples per second.
        is_frequency: whether it is.
        leader: the number of the event at whose samples it is read, its own if it is sampled.
        precise: how close to the event the instruction is to be, 0 to 3 (`:ppp`).
        counts_more: it is a clock that counts the kernel's time, too, and is not sampled there.
        has_branches: its samples have the branches that were taken before them.
        switches: what it has to do with threads that leave a CPU: `TELLS_SWITCHES`,
            `IS_OF_WAITS` and so on, or 0.
    """

    event: Event
    period: int
    is_frequency: bool
    leader: int
    precise: int = 0
    counts_more: bool = False
    has_branches: bool = False
    switches: int = 0

    @property
    def is_clock(self) -> bool:
        """Whether it is a clock of CPU time, in nanoseconds."""
        encoding = self.event.spec.terms[0].encoding
        return encoding.type == _TYPE_SOFTWARE and encoding.config in _CLOCKS

    @property
    def sample_type(self) -> int:
        """What its samples have besides stacks: PERF_SAMPLE_* bits."""
        encoding = self.event.spec.terms[0].encoding
        branches = _BRANCH_STACK if self.has_branches else 0
        if self.precise:
            return _ADDRESS | _LATENCY_AND_SOURCE | branches
        is_fault = encoding.type == _TYPE_SOFTWARE and encoding.config in _FAULTS
        return _ADDRESS if is_fault or encoding.type == _TYPE_BREAKPOINT else branches

    @property
    def is_user_only(self) -> bool:
        """Whether it leaves the kernel out."""
        return self.event.domain == "user"

    def narrowed(self) -> SampledEvent | None:
        """Return the event of user mode alone, None where that would not be it."""
        event = narrowed(self.event)
        if event is None:
            return None
        narrower = self._replace(event=event, counts_more=self.is_clock)
        return narrower.of_user_code()

    def of_user_code(self) -> SampledEvent:
        """Return it with its domain: a clock counts every mode, and is not sampled in each."""
        return self._replace(event=self.event._replace(domain=type(self.event.domain).USER))


class SampledEvents(NamedTuple):
    """What is sampled, and sentences that belong beside it."""

    events: tuple[SampledEvent, ...]
    notes: tuple[str, ...] = ()


def choose(
    lists: Iterable[str], rate_hz: int, period: int | None, *, has_branches: bool = False
) -> SampledEvents:
    """Return the events of event lists, by frequency or, if one is given, by period.

    Tracepoints are sampled each time, unless there is a period. Of a group in braces the first
    event is sampled, and the others are read at its samples; with `has_branches` the first one's
    samples have branches.

    Raises:
        UsageError: a name or list is malformed, or nothing that can be sampled.
        GnomonError: an event is not available here.
    """
    names, precise = _without_precision(list(lists) or [CYCLES if has_branches else CLOCK])
    resolution = event_resolver.resolve(names)
    for missing in resolution.unavailable:
        raise GnomonError(f"{missing.event}: {missing.reason}; {missing.remedy}")
    if len(resolution.events) > _MOST:
        raise UsageError(f"{len(resolution.events)} events: {_MOST} can be sampled at once")
    notes = list(resolution.notes)
    rate = _granted(rate_hz, notes) if period is None else rate_hz
    leaders: dict[int, int] = {}
    events: list[SampledEvent] = []
    for event in resolution.events:
        spec, number = _spec(event), len(events)
        leader = number if event.group is None else leaders.setdefault(event.group, number)
        often, is_frequency = (period, False) if period is not None else (rate, True)
        if period is None and spec.tracepoint:
            often, is_frequency = 1, False
        typed, level = precise.get(event.name, (event.name, 0))
        sampled = SampledEvent(event._replace(name=typed), often, is_frequency, leader, level)
        if level and not spec.hardware:
            raise UsageError(f"{typed}: only events of a PMU can be precise; leave out :p")
        if leader == number:
            _check_period(sampled)
            if has_branches:
                sampled = _with_branches(sampled, typed)
            if sampled.is_clock and spec.terms[0].encoding.exclude & _core.EXCLUDE_KERNEL:
                sampled = sampled.of_user_code()
        events.append(sampled)
    return SampledEvents(tuple(events), tuple(notes))


def _without_precision(lists: Sequence[str]) -> tuple[list[str], dict[str, tuple[str, int]]]:
    """Return event lists without `:p` and `}:S`; and by these names what was typed, how precise."""
    cleaned, precise = [], {}
    for text in lists:
        typed = event_resolver.split(re.sub(r"\}:S(?=\s*(,|$))", "}", text))
        words = []
        for number, name in enumerate(typed):
            base, level = _precision(name.text)
            if level:
                precise[base] = (name.text, level)
            group = name.group
            opens = group is not None and (number == 0 or typed[number - 1].group != group)
            is_last = number + 1 == len(typed) or typed[number + 1].group != group
            words.append(f"{'{' * opens}{base}{'}' * (group is not None and is_last)}")
        cleaned.append(",".join(words))
    return cleaned, precise


def _precision(name: str) -> tuple[str, int]:
    matched = _PRECISE.fullmatch(name)
    if matched is None:
        return name, 0
    before, left, letters, right = matched.groups()
    modifiers = left + right
    base = before + modifiers if modifiers or before.endswith("/") else before[:-1]
    return base, _PRECISE_MOST if letters == "P" else len(letters)


def _with_branches(sampled: SampledEvent, typed: str) -> SampledEvent:
    if not sampled.event.spec.hardware:
        raise UsageError(
            f"{typed}: only events of a PMU have branches; sample one of these ({CYCLES}), or "
            "sample without branches"
        )
    return sampled._replace(has_branches=True)


def _check_period(sampled: SampledEvent) -> None:
    if sampled.is_clock and not sampled.is_frequency and sampled.period < _PERIOD_NS_LEAST:
        raise UsageError(
            f"a period of {sampled.period} ns of {sampled.event.name}: the kernel takes no sample "
            f"more often than every {_PERIOD_NS_LEAST} ns"
        )


def _granted(rate_hz: int, notes: list[str]) -> int:
    """Return a rate, or the highest that the kernel takes."""
    highest = rights.highest_rate()
    if highest is None or rate_hz <= highest:
        return rate_hz
    notes.append(
        f"samples: {highest} a second instead of {rate_hz}: kernel.perf_event_max_sample_rate"
    )
    return highest


def _spec(event: Event) -> PerfSpec:
    spec = event.spec
    if not isinstance(spec, PerfSpec):
        raise UsageError(f"{event.name}: it is read and never overflows, so it cannot be sampled")
    if not spec.is_native:
        raise UsageError(
            f"{event.name}: it is made of several counters; sample one of these (see gnomon "
            f"events {event.name})"
        )
    return spec
