"""Counting by taking differences of numbers that the kernel keeps in files.

A snapshot is what some files of /proc or /sys hold at one moment, ordered by unit: a disk, a
network link, a memory node, a process. `SnapshotSession` takes one at the start, another when it
is read, and gives the differences; of gauges (resident memory, say) it gives the present value.

What is not certain is not given: a counter that went backwards without a known width to wrap at, a
unit that vanished, that another one replaced, that was not there to be read at the start or a
number beyond the 64 bits of a count, all become "not measured" (`running_ns` 0).

Two snapshots cannot tell one turn of a counter from several. Where a counter with a known width can
go round more than once between them, `sensing.Totals` follows it on the way; events counted here
are of 64 bits, or their description must say how soon they turn.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType

from gnomon.counters.component import RawCount, Target
from gnomon.counters.gauge_sampler import GaugeSampler
from gnomon.counters.procfs import ProcessFiles
from gnomon.errors import EventSetError, NotRunningError
from gnomon.model.value import Scope
from gnomon.named_tuple import NamedTuple

_MOST = 1 << 63


class Unit(NamedTuple):
    """The numbers of one unit at one moment.

    Attributes:
        numbers: value of each field.
        identity: differs between units that bore the same name one after the other, and grows
            from older units to newer ones (a link's ifindex, a disk's diskseq); 0 if unknown.
        summed: whether sums over units include this one.
        wraps: fields whose numbers start again at 0 when they reach the given one. One turn between
            two snapshots is seen, further ones are not: the difference is then short by a whole
            range each, so that the description of such an event says how long it may run.
    """

    numbers: Mapping[str, int]
    identity: int = 0
    summed: bool = True
    wraps: Mapping[str, int] = MappingProxyType({})


Snapshot = Mapping[str, Unit]
"""Units by name; a process has the name ""."""

PROCESS = ""
"""Name of the unit that is the process itself."""


class CountedField(NamedTuple):
    """What one event counts: a field of one unit, or the sum of that field over units.

    Attributes:
        fields: the fields of the unit that are added up.
        unit: the unit, None for the sum over all units that count in sums.
        scope: `Scope.PROCESS` for what is read from a process, `Scope.NODE` for the rest.
        gauge: the present value is wanted, not what was added since the start.
        highest: of a gauge, the highest value seen is wanted rather than the last.
        factor: multiplies the number into the event's unit.
    """

    fields: tuple[str, ...]
    unit: str | None
    scope: Scope
    gauge: bool = False
    highest: bool = False
    factor: int = 1


class Sources(NamedTuple):
    """Where snapshots come from.

    Attributes:
        node: takes a snapshot of the machine.
        attach: opens the files of a process. Raises OSError if it does not exist.
        process: takes a snapshot of the given fields of a process.
    """

    node: Callable[[], Snapshot]
    attach: Callable[[int], ProcessFiles]
    process: Callable[[ProcessFiles, frozenset[str]], Snapshot]


class SnapshotSession:
    """Events counted as differences between snapshots; meets `component.CounterSession`.

    For a command, what belongs to the machine is first read here, at construction, because the
    program runs already when `start` is called; a process that has been executed by then counts
    from its birth, because all that it did belongs to the command; and gauges of the process are
    sampled until `stop`, because a process that has ended has none (`GaugeSampler`).
    """

    def __init__(
        self,
        tallies: Sequence[CountedField],
        target: Target,
        sources: Sources,
        files: ProcessFiles | None = None,
    ) -> None:
        """Prepare to count `tallies` on `target`; `files` are those of its process, if it lives."""
        self._tallies = tuple(tallies)
        self._target = target
        self._sources = sources
        self._files = files
        self._has_node = any(t.scope is not Scope.PROCESS for t in tallies)
        self._fields = _process_fields(tallies, gauges=False)
        self._gauges = _process_fields(tallies, gauges=True)
        self._base: Snapshot = {}
        self._base_node: Snapshot | None = None
        self._from_birth = False
        self._awaits_exec = False
        self._sampler: GaugeSampler | None = None
        self._final: tuple[RawCount, ...] | None = None
        self._is_running = False
        self._started_ns = self._node_started_ns = _now_ns()
        if target.command and self._has_node:
            self._base_node = sources.node()

    def start(self, pid: int | None = None) -> None:
        """Begin at zero; `pid` is the process just spawned if the target is a command.

        Raises:
            EventSetError: a command without its process.
        """
        self._end_sampling()
        self._sampler = None
        self._final = None
        if self._fields or self._gauges:
            if self._target.command:
                self._attach(pid)
            self._base = self._process(self._fields) if not self._from_birth else {}
        if self._has_node and (self._base_node is None or not self._target.command):
            self._node_started_ns = _now_ns()
            self._base_node = self._sources.node()
        self._started_ns = _now_ns()
        self._is_running = True
        if self._target.command and self._gauges and self._files is not None:
            highest = tuple(t.highest for t in self._tallies)
            self._sampler = GaugeSampler(self._sample, highest)
            self._sampler.start()

    def read(self) -> tuple[RawCount, ...]:
        """Return the counts since `start`; after `stop`, its result.

        Raises:
            NotRunningError: `start` was never called.
        """
        if self._final is not None:
            return self._final
        if not self._is_running:
            raise NotRunningError("counting has not begun: start it before reading")
        return self._count()

    def stop(self) -> tuple[RawCount, ...]:
        """Stop counting and return the final counts.

        Raises:
            NotRunningError: it is not counting.
        """
        if not self._is_running:
            raise NotRunningError("counting has not begun or has been stopped")
        self._end_sampling()
        self._final = self._count()
        self._is_running = False
        self._base_node = None
        return self._final

    def close(self) -> None:
        """Give back every descriptor."""
        self._end_sampling()
        self._is_running = False
        if self._files is not None:
            self._files.close()
            self._files = None

    def _attach(self, pid: int | None) -> None:
        if pid is None:
            raise EventSetError("a command is counted: start needs the process that was spawned")
        if self._files is not None:
            self._files.close()
        try:
            self._files = self._sources.attach(pid)
        except OSError:
            self._files = None
        self._awaits_exec = self._files is not None and self._files.awaits_exec()
        self._from_birth = self._files is not None and not self._awaits_exec

    def _process(self, fields: frozenset[str]) -> Snapshot:
        if self._files is None or not fields:
            return {}
        return self._sources.process(self._files, fields)

    def _sample(self) -> tuple[int | None, ...]:
        """Return the value of each gauge, None for what is not one or cannot be read now.

        Until the program has been executed its memory is still a copy of ours.
        """
        if self._awaits_exec:
            if self._files is None or self._files.awaits_exec():
                return (None,) * len(self._tallies)
            self._awaits_exec = False
        now = self._process(self._gauges)
        return tuple(
            current(tally, now) if tally.gauge and tally.scope is Scope.PROCESS else None
            for tally in self._tallies
        )

    def _end_sampling(self) -> None:
        """Stop the sampler; what it has seen stays readable until the next start."""
        if self._sampler is not None:
            self._sampler.stop()

    def _count(self) -> tuple[RawCount, ...]:
        now = self._process(self._fields)
        now_node = self._sources.node() if self._has_node else {}
        seen = self._sampler.look() if self._sampler is not None else self._sample()
        now_ns = _now_ns()
        counts = []
        for tally, gauge in zip(self._tallies, seen, strict=True):
            if tally.scope is Scope.PROCESS:
                elapsed_ns = max(now_ns - self._started_ns, 1)
                if tally.gauge:
                    raw = gauge
                elif self._from_birth:
                    raw = current(tally, now)
                else:
                    raw = difference(tally, self._base, now)
            else:
                elapsed_ns = max(now_ns - self._node_started_ns, 1)
                if tally.gauge:
                    raw = current(tally, now_node)
                else:
                    raw = difference(tally, self._base_node or {}, now_node)
            if raw is None or not -_MOST <= raw < _MOST:
                counts.append(RawCount(0, elapsed_ns, 0))
            else:
                counts.append(RawCount(raw, elapsed_ns, elapsed_ns))
        return tuple(counts)


def current(tally: CountedField, now: Snapshot) -> int | None:
    """Return the present value of a tally, None if it is not there."""
    units = (
        [now.get(tally.unit)] if tally.unit is not None else [u for u in now.values() if u.summed]
    )
    numbers = [unit.numbers.get(f) if unit else None for unit in units for f in tally.fields]
    return _total(numbers, tally.factor)


def difference(tally: CountedField, base: Snapshot, now: Snapshot) -> int | None:
    """Return a tally's increase between two snapshots, None where that is not certain.

    A unit that appeared in between counts in full if its identity is newer than all that were
    there before, for then its counters began at 0 after the start.
    """
    if tally.unit is not None:
        names: Iterable[str] = (tally.unit,)
    else:
        names = {n for both in (base, now) for n, unit in both.items() if unit.summed}
    newest = max((unit.identity for unit in base.values()), default=0)
    steps = [
        _step(base.get(name), now.get(name), field_name, newest)
        for name in names
        for field_name in tally.fields
    ]
    return _total(steps, tally.factor)


def _step(base: Unit | None, now: Unit | None, field_name: str, newest: int) -> int | None:
    after = now.numbers.get(field_name) if now is not None else None
    if now is None or after is None:
        return None
    if base is None:
        return after if now.identity > newest else None
    before = base.numbers.get(field_name)
    if before is None or base.identity != now.identity:
        return None
    if after >= before:
        return after - before
    # More than half of the range in one step is a counter that was set back, not one that wrapped.
    modulus = now.wraps.get(field_name, 0)
    wrapped = after - before + modulus
    return wrapped if before < modulus and wrapped < modulus // 2 else None


def _total(numbers: Sequence[int | None], factor: int) -> int | None:
    """Return the sum times the factor; None if there is nothing to add or any part is missing."""
    total = 0
    for number in numbers:
        if number is None:
            return None
        total += number
    return total * factor if numbers else None


def _process_fields(tallies: Sequence[CountedField], *, gauges: bool) -> frozenset[str]:
    return frozenset(
        name
        for tally in tallies
        if tally.scope is Scope.PROCESS and tally.gauge is gauges
        for name in tally.fields
    )


def _now_ns() -> int:
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
