"""What `gnomon run` gets of a program by this capability: counters, sections, emulated counts.

Each object meets the Protocol in `gnomon.capabilities`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gnomon.errors import GnomonError, ProgramError
from gnomon.model.collected import Collected, Ended, State
from gnomon.model.value import Unavailable

if TYPE_CHECKING:
    from gnomon.hpm.measurement import Measurement
    from gnomon.model.tables import Table


class Counters:
    """Counters, times and resource usage, of all and of each process and thread."""

    name = "counters"
    title = "counters, times and memory of the program, its processes and threads"
    is_default = True

    def availability(self) -> State:
        """Return that it works: times and resource usage are known everywhere."""
        return State(True)

    def run(self, command: Sequence[str]) -> Ended:
        """Run the program and count.

        Raises:
            ProgramError: it cannot be executed.
        """
        from gnomon.hpm import analyse, command_counters

        wanted = analyse.wanted(analyse.events_of_groups([str(analyse.DEFAULT_GROUP)]))
        try:
            return _ended(command_counters.run(command, wanted, by_task=True))
        except ProgramError:
            raise
        except GnomonError as error:
            # Refused before the program was started: the totals are there all the same.
            note = f"processes and threads are not told apart: {error}"
            return _ended(command_counters.run(command, wanted), note)


class Sections:
    """What programs with libhpm mark."""

    name = "sections"
    title = "sections that the program marks with libhpm"
    is_default = True

    def availability(self) -> State:
        """Return that it works; a program without libhpm has no sections."""
        return State(True)

    def environment(self, folder: Path) -> Mapping[str, str]:
        """Return where libhpm leaves what it measures, beside what the program writes itself."""
        from gnomon.hpm.section_tables import VARIABLE

        return {VARIABLE: str(folder)}

    def collect(self, folder: Path) -> Collected:
        """Return the sections of every process, of killed ones as far as they had come."""
        from gnomon.hpm import section_tables

        return section_tables.collect(folder)


class EmulatedCounts:
    """Exact and simulated counts of each function and line, on an emulated PMU."""

    name = "emulated"
    title = "instructions, caches and branches of each function and line, on an emulated PMU"
    is_default = False

    def availability(self) -> State:
        """Return whether there is an engine."""
        from gnomon.hpm import emulate

        try:
            emulate.usable()
        except GnomonError as error:
            reason, _, remedy = str(error).partition("; ")
            return State(False, reason, remedy)
        return State(True)

    def run(self, command: Sequence[str]) -> Ended:
        """Run the program on the emulated PMU.

        Raises:
            ProgramError: it cannot be executed.
            EmulationError: nothing can be written where the counts are to go.
        """
        from gnomon.counters.emulation import caches
        from gnomon.hpm import emulate

        wanted = emulate.resolve([])
        emulate.check_wanted(command, wanted)
        one = emulate.run(command, wanted, emulate.usable(), caches.choose([]))
        return _ended(one, "times are those of the emulation, of sections too")


# Of any rank the same words, which are then said once.
_NO_PEAK = "the peak was not above that of the process that executed the program"
_LESS = "start it without LD_PRELOAD and LD_AUDIT"

# Of getrusage(2), what every run has.
_RECORDED = ("ru_utime", "ru_stime", "ru_maxrss")

COUNTERS, SECTIONS, EMULATED = Counters(), Sections(), EmulatedCounts()


def _ended(one: Measurement, *notes: str) -> Ended:
    from gnomon.hpm.tables import PEAK_MEMORY, rows_of
    from gnomon.launch.host import this_host

    host = this_host()
    tables = rows_of([one], host)
    missing = one.unavailable + tuple(
        Unavailable(PEAK_MEMORY, _NO_PEAK, _LESS) for row in one.rusage if row.remark
    )
    collected = Collected(_with_usage(tables, one), missing, (*notes, *one.notes))
    return Ended(
        one.pid, one.exit_status, one.signal, one.started, one.wall_ns, collected, one.interrupted
    )


def _with_usage(tables: Sequence[Table], one: Measurement) -> tuple[Table, ...]:
    """Return the tables with the rest of getrusage(2) as metrics of the command."""
    by_name = {table.schema.name: table for table in tables}
    metrics, profile = by_name["metrics"], by_name["profile"]
    for row in one.rusage:
        if row.value is None or row.field in _RECORDED:
            continue
        metric = metrics.add(
            metric=len(metrics), name=row.field, unit=row.unit, formula="", how="counted",
            component="rusage", domain="all", scope="process", description=row.description,
        )  # fmt: skip
        profile.add(
            repetition=0, location=0, path=0, metric=metric, inclusive=row.value,
            exclusive=row.value, calls=1, raw=None, enabled_ns=None, running_ns=None,
        )  # fmt: skip
    return tuple(tables)
