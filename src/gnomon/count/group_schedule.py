"""Several groups of events: in turns during one execution, or each in executions of its own.

Source: HPM Toolkit User's Guide 3.2.2, sections 2.4 (turns) and 2.7.4 (what joins them).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from typing import TYPE_CHECKING

from gnomon import _core
from gnomon.count.command_counters import CountingObserver, measure
from gnomon.counters.component import Event, Sharing, Target, make_value
from gnomon.counters.event_resolver import EventResolution
from gnomon.counters.event_set_options import LONGEST_SLICE_MS, SHORTEST_SLICE_MS, SLICE_MS
from gnomon.counters.multiplex import ALWAYS_ENABLED, FEW_TURNS
from gnomon.counters.open_components import OpenComponents
from gnomon.counters.perf_counting import PerfSession
from gnomon.counters.perf_spec import NativeCounts, PerfSpec, join
from gnomon.errors import UsageError
from gnomon.launch.clock import raw_clock_ns
from gnomon.launch.timer_queue import TimerQueue
from gnomon.measurement.event_selection import SelectedGroup
from gnomon.measurement.measurement import GroupPart, Measurement, PlaceRow
from gnomon.model.contention import Contention
from gnomon.model.value import How, Unavailable, Value
from gnomon.units import duration

if TYPE_CHECKING:
    from gnomon.launch.process_result import ProcessResult


# --- each group in executions of its own ------------------------------------------------------


def run_apart(
    groups: Sequence[SelectedGroup],
    times: int,
    measure: Callable[[EventResolution], Measurement],
) -> list[Measurement]:
    """Return `times` measurements, each joined from one execution for each group.

    Fewer where the user interrupts them; what was not measured then is missing.
    """
    joined: list[Measurement] = []
    for _ in range(times):
        executions: list[Measurement] = []
        for group in groups:
            executions.append(measure(group.wanted))
            if executions[-1].interrupted:
                break
        joined.append(_joined(groups[: len(executions)], executions))
        if joined[-1].interrupted:
            break
    executed, meant = sum(len(one.parts) for one in joined), len(groups) * times
    notes = [
        f"one group an execution: {len(groups)} groups × {times} = {meant} executions; times are "
        "the mean over the groups"
    ]
    if executed < meant:
        notes.append(f"interrupted: {executed} of {meant} executions")
    last = joined[-1]
    joined[-1] = last._replace(notes=(*notes, *last.notes))
    return joined


def _joined(groups: Sequence[SelectedGroup], executions: Sequence[Measurement]) -> Measurement:
    values: dict[str, Value] = {}
    missing: dict[str, Unavailable] = {}
    for execution in executions:
        for value in execution.values:
            values.setdefault(value.event, value)
        for lacking in execution.unavailable:
            missing.setdefault(lacking.event, lacking)
    failed = next((one for one in executions if one.exit_status), executions[-1])
    return failed._replace(
        wall_ns=_mean([one.wall_ns for one in executions]) or 0,
        user_ns=_mean([one.user_ns for one in executions]),
        system_ns=_mean([one.system_ns for one in executions]),
        values=tuple(values.values()),
        unavailable=tuple(one for name, one in missing.items() if name not in values),
        notes=tuple(dict.fromkeys(note for one in executions for note in one.notes)),
        interrupted=any(one.interrupted for one in executions),
        places=_joined_places(executions),
        contention=_joined_contention(executions),
        parts=tuple(
            GroupPart(
                group.number, group.name, group.description, execution.values,
                execution.wall_ns, execution.user_ns, execution.system_ns, 0,
                execution.unavailable,
            )
            for group, execution in zip(groups, executions, strict=True)
        ),
    )  # fmt: skip


def _joined_contention(executions: Sequence[Measurement]) -> Contention | None:
    contentions = [one.contention for one in executions if one.contention is not None]
    if len(contentions) < len(executions):
        return None
    return Contention(
        _mean([one.waited_ns for one in contentions]),
        _mean([one.others_ns for one in contentions]) or 0,
        _mean([one.idle_ns for one in contentions]) or 0,
        _mean([one.stolen_ns for one in contentions]) or 0,
    )


def _joined_places(executions: Sequence[Measurement]) -> tuple[PlaceRow, ...] | None:
    rows: dict[tuple[int, ...], PlaceRow] = {}
    for row in (row for one in executions for row in one.places or ()):
        known = rows.get(row.cpus)
        values = row.values if known is None else {**row.values, **known.values}
        rows[row.cpus] = row._replace(values=values)
    return None if executions[0].places is None else tuple(rows.values())


def _mean(numbers: Sequence[int | None]) -> int | None:
    known = [number for number in numbers if number is not None]
    return round(sum(known) / len(known)) if len(known) == len(numbers) else None


# --- in turns -----------------------------------------------------------------------------------


def run_in_turns(
    command: Sequence[str], groups: Sequence[SelectedGroup], slice_ms: int = SLICE_MS
) -> Measurement:
    """Return the measurement of one execution in which the groups take turns.

    Args:
        command: program and arguments.
        groups: in the order of their turns; the first begins when the program is executed.
        slice_ms: how long a turn is.

    Raises:
        UsageError: turns are too short or too long.
        ProgramError: the program cannot be executed; has the shell's status for that.
    """
    if not SHORTEST_SLICE_MS <= slice_ms <= LONGEST_SLICE_MS:
        raise UsageError(
            f"a turn of {slice_ms} ms: groups take turns of {SHORTEST_SLICE_MS} to "
            f"{LONGEST_SLICE_MS} ms"
        )
    with closing(_TurnCounts(groups, slice_ms)) as counts:
        return measure(command, counts)


class _Turns:
    """The perf-backed events of one group, on and off."""

    def __init__(self, group: SelectedGroup) -> None:
        self.group = group
        self._counting: PerfSession | None = None
        self.events: tuple[Event, ...] = ()
        self.natives: list[list[int]] = []
        self.refused: tuple[Unavailable, ...] = ()
        self.notes: tuple[str, ...] = ()
        self.wall_ns = 0
        self.turns = 0

    def open(self, pid: int, *, begins: bool) -> None:
        """Open them on a process: on from its execve, or off."""
        target = Target(pid=pid, inherit=True, command=begins, sharing=Sharing.KERNEL)
        self._counting = PerfSession(target)
        wanted = self.group.wanted.events
        added = self._counting.add([e for e in wanted if isinstance(e.spec, PerfSpec)])
        self.events = added.events
        self.natives = [[0, 0, 0] for event in self.events for _ in event.spec.terms]
        self.refused = tuple(
            Unavailable(one.event.name, one.reason, one.remedy, one.errno) for one in added.refused
        )
        self.notes = added.notes

    def start(self) -> None:
        """Begin a turn."""
        for group in self._groups():
            group.start()

    def stop(self) -> None:
        """End a turn and add up what it counted."""
        index = 0
        for group in self._groups():
            for count in group.stop().counts():
                for field, number in enumerate(count):
                    self.natives[index][field] += number
                index += 1

    def values(self, enabled_ns: int | None = None) -> tuple[Value, ...]:
        """Return the counts of the turns; of the whole if its time is given, extrapolated."""
        natives: NativeCounts = tuple(
            (raw, on if enabled_ns is None else max(enabled_ns, ran), ran)
            for raw, on, ran in self.natives
        )
        counts = join([event.spec for event in self.events], natives)
        return tuple(
            make_value(event, *count) for event, count in zip(self.events, counts, strict=True)
        )

    @property
    def on_ns(self) -> int:
        """For how long the program's threads ran in these turns."""
        return max((on for _, on, _ in self.natives), default=0)

    def close(self) -> None:
        """Give back every descriptor."""
        if self._counting is not None:
            self._counting.close()

    def _groups(self) -> tuple[_core.Group[Value], ...]:
        return self._counting.groups() if self._counting is not None else ()


class _TurnCounts(CountingObserver):
    """Groups that take turns on one command.

    What is no perf event (bytes of files, of the network) is counted all the time.
    """

    def __init__(self, groups: Sequence[SelectedGroup], slice_ms: int) -> None:
        self._groups = tuple(groups)
        self._slice_ns = slice_ms * 1_000_000
        self._turns = [_Turns(group) for group in groups]
        self._takers: list[_Turns] = []
        self._clock = PerfSession(Target())
        self._at = 0
        self._since_ns = 0
        self._whole_ns = 0
        self._timers = TimerQueue()
        rest: dict[str, Event] = {}
        for group in groups:
            rest.update(
                (e.name, e) for e in group.wanted.events if not isinstance(e.spec, PerfSpec)
            )
        self._rest = OpenComponents(Target(inherit=True, command=True))
        refused = self._rest.add(tuple(rest.values()), strict=False) if rest else ()
        self._rest_values: dict[str, Value] = {}
        unavailable = [one for group in groups for one in group.wanted.unavailable]
        unavailable += [
            Unavailable(one.event.name, one.reason, one.remedy, one.errno) for one in refused
        ]
        self.unavailable = tuple({one.event: one for one in unavailable}.values())

    def attach(self, pid: int) -> None:
        """Open everything on the process, which has not executed the command yet."""
        for turns in self._turns:
            turns.open(pid, begins=not self._takers)
            if turns.events:
                self._takers.append(turns)
        missing = {one.event: one for turns in self._turns for one in turns.refused}
        self.unavailable += tuple(missing.values())
        self._clock = PerfSession(Target(pid=pid, inherit=True, command=True))
        self._clock.add([ALWAYS_ENABLED])
        self._rest.counting().start(pid)

    def begin(self) -> None:
        """Begin the first turn with the program."""
        self._since_ns = raw_clock_ns()
        if self._takes_turns:
            self._takers[0].turns = 1
            self._timers.every(self._slice_ns, self._next)

    def due_ms(self) -> float | None:
        """Return when a turn ends."""
        return self._timers.due_ms()

    def drain(self) -> None:
        """End a turn and begin the next."""
        self._timers.run_due()

    def finish(self) -> None:
        """Read the counts of the process, which has ended, extrapolated to all of it."""
        if self._takers:
            self._end_turn()
        clock = self._clock.stop()
        self._whole_ns = clock[0].enabled_ns if clock else 0
        final = self._rest.counting().stop()
        self._rest_values = {
            event.name: make_value(event, *count)
            for event, count in zip(self._rest.events, final, strict=True)
        }
        by_event: dict[str, Value] = dict(self._rest_values)
        for value in (value for turns in self._takers for value in turns.values(self._whole_ns)):
            known = by_event.get(value.event)
            by_event[value.event] = value if known is None else _of_both(known, value)
        order = [event.name for group in self._groups for event in group.wanted.events]
        self.values = tuple(by_event[name] for name in dict.fromkeys(order) if name in by_event)

    def notes(self) -> tuple[str, ...]:
        """Return sentences that belong beside the counts."""
        said: list[str] = []
        if self._takes_turns:
            each = f"{len(self._takers)} groups take turns of {duration(self._slice_ns)}"
            said.append(f"{each}: what is joined to counts of the whole run is extrapolated")
            never = [turns.group.name for turns in self._takers if not turns.turns]
            few = [turns.group.name for turns in self._takers if 0 < turns.turns < FEW_TURNS]
            advice = "run it longer, in shorter turns, or each group by itself (-r 1)"
            if never:
                said.append(f"not measured: {', '.join(never)}: their turn did not come; {advice}")
            if few:
                said.append(f"few turns: {', '.join(few)}: fewer than {FEW_TURNS}; {advice}")
        notes = [
            note for turns in self._turns for note in (*turns.notes, *turns.group.wanted.notes)
        ]
        return tuple(dict.fromkeys([*said, *notes, *self._rest.notes]))

    def close(self) -> None:
        """Give back every descriptor."""
        for turns in self._turns:
            turns.close()
        self._clock.close()
        self._rest.close()

    def measurement(self, process: ProcessResult) -> Measurement:
        """Return the measurement of an execution, with a part for each group in its turns."""
        measured = super().measurement(process)
        if self._takers:
            # The first turn began when the program was executed, which only the whole time tells.
            others = sum(turns.wall_ns for turns in self._takers[1:])
            self._takers[0].wall_ns = max(measured.wall_ns - others, 0)
        return measured._replace(parts=tuple(self._part(turns, measured) for turns in self._turns))

    def _part(self, turns: _Turns, measured: Measurement) -> GroupPart:
        group = turns.group
        names = [event.name for event in group.wanted.events]
        if turns in self._takers and self._takes_turns:
            # What counts all the time is left out: beside it every ratio would be wrong.
            values = {value.event: value for value in turns.values()} if turns.turns else {}
            share = min(turns.on_ns / self._whole_ns, 1.0) if self._whole_ns else 0.0
            wall_ns = turns.wall_ns
        else:
            values = {value.event: value for value in measured.values}
            share, wall_ns = 1.0, measured.wall_ns
        return GroupPart(
            group.number,
            group.name,
            group.description,
            tuple(values[name] for name in names if name in values),
            wall_ns,
            None if measured.user_ns is None else round(share * measured.user_ns),
            None if measured.system_ns is None else round(share * measured.system_ns),
            turns.turns,
            tuple(
                missing
                for missing in measured.unavailable
                if missing.event in names or missing in group.wanted.unavailable
            ),
        )

    @property
    def _takes_turns(self) -> bool:
        return len(self._takers) > 1

    def _next(self) -> bool:
        self._end_turn()
        self._at = (self._at + 1) % len(self._takers)
        turns = self._takers[self._at]
        turns.turns += 1
        self._since_ns = raw_clock_ns()
        turns.start()
        return True

    def _end_turn(self) -> None:
        turns = self._takers[self._at]
        turns.stop()
        now = raw_clock_ns()
        turns.wall_ns += now - self._since_ns
        self._since_ns = now


def _of_both(first: Value, other: Value) -> Value:
    """Return the count of an event that two groups counted, each in its turns."""
    if first.is_derived:
        # What formulas come to does not add up: the one that saw more of the program counts.
        return max(first, other, key=lambda value: value.running_ns)
    running_ns = min(first.running_ns + other.running_ns, first.enabled_ns)
    how = How.COUNTED if running_ns == first.enabled_ns else first.how
    return first._replace(raw=first.raw + other.raw, running_ns=running_ns, how=how)
