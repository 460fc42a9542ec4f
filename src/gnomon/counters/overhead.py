"""What an event set costs: every operation, by number and kind of events, above the bare calls.

Each call is measured alone, by `gnomon._core.clock_ns`, less the median of what reading the clock
twice takes. Beside it stand the bare system calls on a kernel group of the same events, made in C:
the difference is what Gnomon and Python add.
"""

from __future__ import annotations

import gc
from array import array
from collections.abc import Callable, Iterator, Sequence

from gnomon import _core
from gnomon.counters.component import Event
from gnomon.counters.eventset import EventSet
from gnomon.counters.perf_spec import PerfSpec, native_specs
from gnomon.counters.sample_statistics import Bin, SampleStatistics, histogram, spread
from gnomon.errors import EventError, EventSetError, UsageError
from gnomon.model.value import Unavailable
from gnomon.named_tuple import NamedTuple

ITERATIONS = 10_000
FEWEST, MOST = 10, 10_000_000
COUNTS = (1, 2, 4, 8)
_TURNS = 2
LONGEST_NS = 250_000_000
"""After so long an operation has been measured often enough, whatever the iterations asked for:
closing a tracepoint takes the kernel tens of milliseconds."""

_SOFTWARE = (
    "page-faults", "context-switches", "cpu-migrations", "minor-faults", "major-faults",
    "alignment-faults", "emulation-faults", "task-clock",
)  # fmt: skip
_TRACEPOINTS = (
    "sched:sched_switch", "sched:sched_wakeup", "sched:sched_process_fork",
    "sched:sched_process_exec", "sched:sched_process_exit", "sched:sched_migrate_task",
    "sched:sched_wakeup_new", "sched:sched_process_wait",
)  # fmt: skip
_HARDWARE = (
    "instructions", "cycles", "branches", "branch-misses", "cache-references", "cache-misses",
    "ref-cycles", "bus-cycles",
)  # fmt: skip

KINDS = ("software", "tracepoint", "hardware", "derived", "multiplexed")
_EVENTS = {"software": _SOFTWARE, "tracepoint": _TRACEPOINTS, "hardware": _HARDWARE}


class EventKind(NamedTuple):
    """A kind of events whose cost is measured.

    Attributes:
        name: "software", "tracepoint", "hardware", "multiplexed", "derived" or "given".
        events: those that can be counted together here, in the order in which they are taken.
        numbers: how many of them are taken.
        reason, remedy: why there are none.
        turns: the events take so many turns on the counters, 1 where all are on them always.
    """

    name: str
    events: tuple[str, ...]
    numbers: tuple[int, ...]
    reason: str = ""
    remedy: str = ""
    turns: int = 1


class Cost(NamedTuple):
    """What one operation costs, in nanoseconds.

    Attributes:
        kind: name of the kind of events.
        operation: "read", "start", ...
        events: how many events the set has.
        ns: where the costs lie.
        bins: how they are spread.
        raw_ns: where the costs of the bare system calls lie; None where there are none to compare.
    """

    kind: str
    operation: str
    events: int
    ns: SampleStatistics
    bins: tuple[Bin, ...]
    raw_ns: SampleStatistics | None

    @property
    def times(self) -> float | None:
        """The median over that of the bare calls, None without these."""
        return self.ns.median / self.raw_ns.median if self.raw_ns and self.raw_ns.median else None


def kinds(given: Sequence[str] = (), wanted: Sequence[str] = KINDS) -> tuple[EventKind, ...]:
    """Return kinds of events to measure, those too that cannot be counted here.

    Args:
        given: event lists; they alone are measured then, all together.
        wanted: names of kinds. Others are not even tried: to close a tracepoint takes long.

    Raises:
        EventError: one of the events given cannot be counted.
    """
    if given:
        with EventSet(given) as events:
            names = tuple(event.name for event in events.events)
        return (EventKind("given", names, (len(names),)),)
    return tuple(_kind(name) for name in KINDS if name in wanted)


def _kind(name: str) -> EventKind:
    if name == "derived":
        return _derived()
    if name in _EVENTS:
        return _usable(name, _EVENTS[name])
    shared = _usable(name, _SOFTWARE)
    numbers = tuple(n for n in shared.numbers if n >= _TURNS)
    return shared._replace(numbers=numbers, turns=_TURNS)


def costs(
    chosen: Sequence[EventKind],
    iterations: int = ITERATIONS,
    numbers: Sequence[int] = (),
    told: Callable[[str], None] = lambda _: None,
) -> Iterator[Cost]:
    """Yield the cost of every operation, kind by kind.

    Args:
        chosen: kinds of events.
        iterations: how often each operation is measured at most; `LONGEST_NS` ends it earlier.
        numbers: sizes of the event sets; () for those of each kind.
        told: is told what is measured next.

    Raises:
        UsageError: the number of iterations is not in 10 to 10 million.
        EventUnavailableError: the kernel refuses an event that it took before.
    """
    if not FEWEST <= iterations <= MOST:
        raise UsageError(f"{iterations} iterations of an operation: {FEWEST} to {MOST} make sense")
    for kind in chosen:
        for n in numbers or kind.numbers:
            if n <= len(kind.events) and n >= kind.turns:
                yield from _Bench(kind, kind.events[:n], iterations, told).costs()


def timer_ns(samples: int = 10_000) -> float:
    """Return the cost of measuring nothing: the median of reading the clock twice."""
    return spread(_timed(None, samples)).median


class _Bench:
    """The measurements of one event set."""

    def __init__(
        self, kind: EventKind, names: Sequence[str], iterations: int, told: Callable[[str], None]
    ) -> None:
        self._kind = kind
        self._names = list(names)
        self._iterations = iterations
        self._told = told
        self._timer_ns = timer_ns()
        self._raw_timer_ns = 0.0
        self._raw: _core.Group[object] | None = None
        self._specs: list[tuple[int, int, int, int, int, int, int]] = []

    def costs(self) -> Iterator[Cost]:
        """Yield the cost of each operation."""
        events = self._new()
        try:
            events.open()
            self._open_raw(events.events)
            yield from self._running(events)
            yield from self._stopped(events)
        finally:
            events.close()
            if self._raw is not None:
                self._raw.close()
        yield from self._opening()

    def _running(self, events: EventSet) -> Iterator[Cost]:
        events.start()
        # What replaces itself at the start is looked up once, as a program in a hurry does.
        read, each = events.read, range(len(events))
        yield self._cost("read", read, "read")
        yield self._cost("read, values", lambda: [taken[at] for taken in (read(),) for at in each])
        yield self._cost("read with time", events.read_at, "read")
        so_far = events.accumulate()
        yield self._cost("accumulate", lambda: events.accumulate(so_far), "accumulate")
        yield self._cost("reset", events.reset, "reset")
        events.stop()

    def _stopped(self, events: EventSet) -> Iterator[Cost]:
        yield self._cost("start", events.start, "start", after=events.stop)
        yield self._cost("stop", events.stop, "stop", before=events.start)

    def _opening(self) -> Iterator[Cost]:
        events = self._new()
        last = self._names[-1]
        try:
            events.open()
            remove, add = (lambda: events.remove(last)), (lambda: events.add(last))
            if len(self._names) > 1:
                yield self._cost("remove", remove, after=add)
                yield self._cost("add", add, before=remove)
        finally:
            events.close()

        def set_up() -> None:
            one = self._new()
            one.open()
            one.close()

        raw = None
        if self._specs:
            self._told(f"{self._kind.name}, {len(self._names)}: bare open and close")
            specs = self._specs
            raw = spread(_bare(lambda n: _core.raw_open_costs(specs, n), self._iterations, 0))
        found = self._cost("open and close", set_up)
        yield found._replace(raw_ns=raw)

    def _cost(
        self,
        operation: str,
        call: Callable[[], object],
        raw: str = "",
        *,
        before: Callable[[], object] | None = None,
        after: Callable[[], object] | None = None,
    ) -> Cost:
        self._told(f"{self._kind.name}, {len(self._names)}: {operation}")
        taken = _less(_timed(call, self._iterations, before, after), self._timer_ns)
        bare = None
        if raw and self._raw is not None:
            fds, timer = self._raw.fds, self._raw_timer_ns
            bare = spread(_bare(lambda n: _core.raw_costs(fds, raw, n), self._iterations, timer))
        return Cost(
            self._kind.name, operation, len(self._names), spread(taken), histogram(taken), bare
        )

    def _new(self) -> EventSet:
        if self._kind.turns == 1:
            return EventSet(self._names)
        limit = -(-len(self._names) // self._kind.turns)
        return EventSet(self._names, multiplex=True, limit=limit)

    def _open_raw(self, events: Sequence[Event]) -> None:
        """Open the same events as one kernel group, where they are perf's and take no turns."""
        if self._kind.turns > 1 or not all(isinstance(e.spec, PerfSpec) for e in events):
            return
        specs, _ = native_specs(events, together=True)
        try:
            self._raw = _core.Group(specs, 0, -1, 0, tuple(range(len(specs))), _ignore)
        except OSError:
            return
        self._specs = specs
        nothing = _words(_core.raw_costs(self._raw.fds, "nothing", 10_000))
        self._raw_timer_ns = spread(nothing).median


def _ignore(*_: object) -> object:
    return None


def _timed(
    call: Callable[[], object] | None,
    samples: int,
    before: Callable[[], object] | None = None,
    after: Callable[[], object] | None = None,
) -> Sequence[int]:
    """Return the nanoseconds that each call took, with reading the clock twice."""
    taken = array("Q")
    clock = _core.clock_ns
    last = clock() + LONGEST_NS
    is_collecting = gc.isenabled()
    gc.disable()
    try:
        for _ in range(samples):
            if before is not None:
                before()
            if call is None:
                begun = clock()
                ended = clock()
            else:
                begun = clock()
                call()
                ended = clock()
            taken.append(ended - begun)
            if after is not None:
                after()
            if ended > last and len(taken) >= FEWEST:
                break
    finally:
        if is_collecting:
            gc.enable()
    return taken


def _bare(measure: Callable[[int], bytes], samples: int, timer: float) -> list[float]:
    """Return the costs of bare calls: as many as asked for, or as fit into `LONGEST_NS`."""
    few = _words(measure(FEWEST))
    fit = int(LONGEST_NS / max(sum(few) / len(few), 1))
    more = min(samples, fit) - FEWEST
    return _less([*few, *(_words(measure(more)) if more > 0 else ())], timer)


def _less(taken: Sequence[int], timer: float) -> list[float]:
    return [max(ns - timer, 0.0) for ns in taken]


def _words(raw: bytes) -> Sequence[int]:
    words = array("Q")
    words.frombytes(raw)
    return words


def _usable(name: str, wanted: Sequence[str]) -> EventKind:
    """Return the kind of those events that can be counted together here, or why none can."""
    usable: list[str] = []
    refused: Unavailable | None = None
    for name_of_event in wanted:
        try:
            with EventSet([*usable, name_of_event]):
                usable.append(name_of_event)
        except EventError as error:
            refused = refused or _refusal(error)
    if not usable and refused is not None:
        return EventKind(name, (), (), refused.reason, refused.remedy)
    return EventKind(name, tuple(usable), tuple(n for n in COUNTS if n <= len(usable)))


def _refusal(error: EventError) -> Unavailable:
    reason, remedy = getattr(error, "reason", str(error)), getattr(error, "remedy", "")
    return Unavailable(getattr(error, "name", ""), reason, remedy)


def _derived() -> EventKind:
    """Return the presets that are made of several native events and can be counted here."""
    from gnomon.counters import presets
    from gnomon.counters.event_resolver import one

    reason, remedy = "no preset of this machine is made of several native events", ""
    for preset in presets.of_this_machine():
        try:
            events = one(preset.name)
            if len(events) > 1 or events[0].spec.is_native:
                continue
            with EventSet([preset.name]):
                return EventKind("derived", (preset.name,), (1,))
        except (EventError, EventSetError) as error:
            refused = _refusal(error) if isinstance(error, EventError) else None
            if refused is not None and refused.remedy:
                reason, remedy = refused.reason, refused.remedy
    return EventKind("derived", (), (), reason, remedy)
