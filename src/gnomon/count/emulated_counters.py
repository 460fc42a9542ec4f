"""Run a program on the emulated PMU, and count."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from gnomon.count.command_counters import CountingObserver, measure
from gnomon.count.progress_line import Progress
from gnomon.counters.component import Event, make_value
from gnomon.counters.emulation.caches import Caches
from gnomon.counters.emulation.engine import EmulatedCount, EmulatedRun, Engine
from gnomon.counters.emulation.engines import engine as usable_engine
from gnomon.counters.emulation.events import DEFAULT, event_of, sums
from gnomon.counters.event_resolver import EventResolution, split
from gnomon.errors import EmulationError, EventUnavailableError, GnomonError, UsageError
from gnomon.launch.process import Invocation, check
from gnomon.measurement.measurement import Emulation, Measurement
from gnomon.model.value import Unavailable

if TYPE_CHECKING:
    from gnomon.launch.process_result import ProcessResult

_WORTH_SAYING = 0.02
# No other code has nearly as many branches as instructions.
_ROUNDS = 0.9
_LOOK_MS = 50


def resolve(names: Iterable[str]) -> EventResolution:
    """Return the emulated events of event lists, in order, each once; all of them if none.

    Raises:
        EventNameError: a name that nothing answers to.
        UsageError: a list is malformed.
    """
    events: dict[str, Event] = {}
    unavailable = []
    for name in [typed.text for text in names for typed in split(text)] or DEFAULT:
        try:
            event = event_of(name)
        except EventUnavailableError as error:
            unavailable.append(Unavailable(name, error.reason, error.remedy, error.errno))
        else:
            events.setdefault(event.name, event)
    return EventResolution(tuple(events.values()), tuple(unavailable))


def usable() -> Engine:
    """Return the engine to run programs with.

    Raises:
        EmulationError: there is none; says why, and the remedy.
    """
    engine = usable_engine()
    state = engine.availability()
    if not state.available:
        raise EmulationError(f"--pmu emulated: {state.reason}; {state.remedy}")
    return engine


def announcement(engine: Engine) -> str:
    """Return the notes to print before the program runs."""
    return f"running on {engine.title}: expect it to take {engine.slowdown}"


def check_wanted(command: Sequence[str], wanted: EventResolution) -> None:
    """Check, before a long run, that it can be made and will give something.

    Raises:
        ProgramError: the program would not be executed.
        UsageError: none of the events can be counted.
    """
    check(command[0])
    if not wanted.events:
        first = wanted.unavailable[0]
        raise UsageError(
            f"--pmu emulated: nothing to count: {first.event}: {first.reason}; choose other events "
            "(gnomon events --component emulated)"
        )


def run(
    command: Sequence[str],
    wanted: EventResolution,
    engine: Engine,
    caches: Caches,
    progress: Progress | None = None,
) -> Measurement:
    """Return the measurement of one execution of a command on the emulated PMU.

    Args:
        command: program and arguments; the program is found through PATH.
        wanted: emulated events.
        engine: runs it.
        caches: what to simulate.
        progress: is told now and then how long it takes.

    Raises:
        ProgramError: the program cannot be executed; has the shell's status for that.
        EmulationError: nothing can be written where the counts are to go.
    """
    check(command[0])
    with closing(EmulatedCounters(wanted, engine, caches, progress)) as counters:
        return measure(command, counters)


class EmulatedCounters(CountingObserver):
    """The counts of one command, which the engine leaves in a folder."""

    is_whole = False
    watches_orphans = False

    def __init__(
        self,
        wanted: EventResolution,
        engine: Engine,
        caches: Caches,
        progress: Progress | None = None,
    ) -> None:
        """Make the folder.

        Raises:
            EmulationError: nothing can be written where the counts are to go.
        """
        self.unavailable = wanted.unavailable
        self._events = wanted.events
        self._engine = engine
        self._caches = caches
        self._progress = progress
        self._pid = 0
        try:
            self._folder = Path(tempfile.mkdtemp(prefix="gnomon-emulated-"))
        except OSError as error:
            raise EmulationError(
                f"--pmu emulated: no temporary folder can be made: {error.strerror}; "
                "set TMPDIR to one with space"
            ) from None

    def wrap(self, invocation: Invocation) -> Invocation:
        """Return the command that runs the program under the engine."""
        prepared = self._engine.prepare(
            self._caches, self._folder, invocation.command, invocation.environment
        )
        wrapped = invocation.with_variables(prepared.environment)
        return wrapped._replace(command=(*prepared.words, *invocation.command))

    def attach(self, pid: int) -> None:
        """Remember the process."""
        self._pid = pid

    def begin(self) -> None:
        """Begin to show how long it takes."""
        if self._progress is not None:
            self._progress.begin()

    def due_ms(self) -> float | None:
        """Return when to look how far it is."""
        return None if self._progress is None else _LOOK_MS

    def drain(self) -> None:
        """Show how long it takes."""
        if self._progress is not None:
            self._progress.look(self._pid, self._written)

    def finish(self) -> None:
        """Show nothing any more."""
        if self._progress is not None:
            self._progress.end()

    def close(self) -> None:
        """Remove the folder."""
        shutil.rmtree(self._folder, ignore_errors=True)

    def _written(self) -> int:
        """Return how many bytes the engine has written so far."""
        with suppress(OSError), os.scandir(self._folder) as entries:
            return sum(entry.stat().st_size for entry in entries if entry.is_file())
        return 0

    def measurement(self, process: ProcessResult) -> Measurement:
        """Return the measurement of an execution from the files that the engine left."""
        measurement = super().measurement(process)
        engine, caches = self._engine, self._caches
        try:
            emulated = engine.harvest(self._folder)
        except (GnomonError, OSError) as error:
            # The program has run: its status counts, and what it did is said to be unknown.
            emulated = EmulatedRun((), (f"the counts cannot be read: {error}",))
        emulation = Emulation(
            engine.title,
            caches.levels,
            tuple(event.name for event in self._events),
            sums((event.spec for event in self._events), engine.quantities),
            emulated.processes,
            emulated.doubt,
        )
        notes = [
            *_remarks(emulation, engine.quantities),
            *emulated.notes,
            f"emulated by {engine.title}: {engine.exactness}",
            "simulated caches: "
            + "; ".join(f"{level} {cache}" for level, cache in emulation.caches.items()),
            *caches.remarks,
        ]
        why = engine.explain(self._folder, measurement.signal) if measurement.exit_status else ""
        unavailable = measurement.unavailable
        if emulated.processes:
            values = tuple(
                make_value(event, total, measurement.wall_ns, measurement.wall_ns)
                for event, total in zip(self._events, self._totals(emulation), strict=True)
            )
        else:
            values = ()
            reason = "the emulator left no counts of the program"
            remedy = "see what it says on standard error, and the notes below"
            unavailable += tuple(Unavailable(e.name, reason, remedy) for e in self._events)
        return measurement._replace(
            values=values,
            unavailable=unavailable,
            notes=(*((why,) if why else ()), *notes),
            rusage=(),
            emulation=emulation,
            contention=None,
        )

    @staticmethod
    def _totals(emulation: Emulation) -> list[int]:
        each = [emulation.of(process.totals) for process in emulation.processes]
        return [sum(column) for column in zip(*each, strict=True)]


def _remarks(emulation: Emulation, quantities: Sequence[EmulatedCount]) -> Iterable[str]:
    """Yield remarks on how far to trust a profile, from its lines themselves."""
    instructions = quantities.index(EmulatedCount.INSTRUCTIONS)
    branches = quantities.index(EmulatedCount.CONDITIONAL_BRANCHES)
    whole = unnamed = rounds = 0
    for process in emulation.processes:
        for line, counts in process.lines.items():
            work = counts[instructions]
            whole += work
            unnamed += 0 if line.function else work
            rounds += work if counts[branches] > work * _ROUNDS else 0
    if unnamed > whole * _WORTH_SAYING:
        yield (
            f"{100 * unnamed / whole:.0f} % of the instructions are in code without symbols "
            "(stripped programs and libraries): install their debug symbols, or build with -g"
        )
    if rounds > whole * _WORTH_SAYING:
        yield (
            f"{100 * rounds / whole:.0f} % of the instructions are rounds of repeated string "
            "instructions (rep movs and its like, mostly memcpy and memset): emulated, each round "
            "is an instruction, a load or store and a branch; a processor counts one for all"
        )
