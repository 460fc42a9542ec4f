"""The capabilities of this folder: counters of a program, emulated counts, and times alone."""

from __future__ import annotations

from gnomon.errors import GnomonError
from gnomon.launch.capability import Capability, Execution
from gnomon.launch.options import Option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from gnomon.counters.check import Check
    from gnomon.counters.component import Availability
    from gnomon.launch.observer import Observer

_LIST = "events, separated by commas (see gnomon events)"


class Counters(Capability):
    """Counters, times and resource usage, of all and of each process and thread."""

    name = "counters"
    title = "counters, times and memory of the program, its processes and threads"
    is_default = True
    gives_times = True
    options = (
        Option("event", f"count these instead of the default group: {_LIST}", "LIST", many=True),
        Option("group", "count these groups, by number, name or file (see gnomon groups)", "LIST",
               many=True),
    )  # fmt: skip

    def observe(self, execution: Execution) -> Observer:
        """Return the counters; without those of single threads where the kernel has none.

        Raises:
            UsageError: there is no such event or group.
        """
        from gnomon.count.command_counters import CommandCounters
        from gnomon.measurement import event_selection

        events: Sequence[str] = execution.options["event"]
        groups = [name for words in execution.options["group"] for name in words.split(",")]
        if not events and not groups:
            groups = [str(event_selection.DEFAULT_GROUP)]
        wanted = event_selection.select_events([*events, *event_selection.events_of_groups(groups)])
        try:
            return CommandCounters(wanted, by_task=True)
        except GnomonError as error:
            counters = CommandCounters(wanted, by_task=False)
            counters.remarks = (f"processes and threads are not told apart: {error}",)
            return counters

    def checks(self) -> Iterable[Check]:
        """Return the checks of what counting depends on here."""
        from gnomon.counters.doctor import diagnose

        return diagnose()


class Times(Capability):
    """Times and resource usage alone, where nobody who gives them observes."""

    name = "times"
    title = "times and memory of the program"
    gives_times = True

    def observe(self, execution: Execution) -> Observer:
        """Return what has no counters."""
        del execution
        from gnomon.count.command_counters import CountingObserver

        return CountingObserver()


class EmulatedCounts(Capability):
    """Exact and simulated counts of each function and line, on an emulated PMU."""

    name = "emulated"
    title = "instructions, caches and branches of each function and line, on an emulated PMU"
    gives_times = True
    excludes: Mapping[str, str] = {
        "counters": "counters would count the emulator, not the program",
    }
    options = (
        Option("event", f"emulate only these: {_LIST}", "LIST", many=True),
        Option("cache", "simulate this cache: level=size,ways,line, such as D1=32K,8,64 or "
        "LL=8M,16,64 (default: that of this machine)", "SPEC", many=True),
    )  # fmt: skip

    def availability(self) -> Availability:
        """Return whether there is an engine."""
        from gnomon.counters.emulation.engines import engine

        return engine().availability()

    def observe(self, execution: Execution) -> Observer:
        """Return the observer that runs the program on the emulated PMU.

        Raises:
            ProgramError: it would not be executed.
            UsageError: none of the events can be counted, or a cache cannot be.
            EmulationError: nothing can be written where the counts are to go.
        """
        from gnomon.count import emulated_counters
        from gnomon.counters.emulation import caches

        wanted = emulated_counters.resolve(execution.options["event"])
        emulated_counters.check_wanted(execution.command, wanted)
        simulated = caches.choose(execution.options["cache"], option="--emulated-cache")
        counters = emulated_counters.EmulatedCounters(wanted, emulated_counters.usable(), simulated)
        counters.remarks = ("times are those of the emulation, of sections too",)
        return counters

    def checks(self) -> Iterable[Check]:
        """Return whether there is an engine."""
        from gnomon.counters.tool_checks import valgrind

        return (valgrind(),)


COUNTERS, EMULATED, TIMES = Counters(), EmulatedCounts(), Times()
