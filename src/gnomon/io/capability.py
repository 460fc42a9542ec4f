"""The capability of this folder: calls on files, of every process."""

from __future__ import annotations

from gnomon.io.darshan_log.reader import DarshanReader
from gnomon.io.module_files import FILES_HELP, named
from gnomon.io.trace_options import TRACE_HELP, TRACE_MB_HELP, TRACE_MB_MOST
from gnomon.launch.capability import Capability, Execution
from gnomon.launch.options import Option, whole_number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from gnomon.counters.component import Availability
    from gnomon.launch.observer import Observer
    from gnomon.model.capability_result import Collected
    from gnomon.store.reports.report_part import ReportPart
    from gnomon.store.run import Run


class Io(Capability):
    """Calls of POSIX and stdio on files."""

    name = "io"
    title = "I/O: calls, time, bytes and access patterns by file, call site, size and process"
    knows_ranks = True
    readers = (DarshanReader(),)
    options = (
        Option("trace", TRACE_HELP),
        Option("trace-mb", TRACE_MB_HELP, "MB",
               whole_number(1, TRACE_MB_MOST, f"{TRACE_MB_MOST} MB at most")),
        Option("files", FILES_HELP, "FILES", named),
    )  # fmt: skip

    @property
    def report_parts(self) -> tuple[ReportPart, ...]:
        """`gnomon report RUN io`."""
        from gnomon.io.io_part import IoCalls

        return (IoCalls(),)

    def summary_lines(self, run: Run, width: int) -> Iterable[str]:
        """Return how much was moved in how long, and the files with most of the time."""
        from gnomon.io import io_summary

        return io_summary.lines(run, width)

    def availability(self) -> Availability:
        """Return whether the library is there."""
        from gnomon.counters.component import Availability
        from gnomon.io.io_observer import problem

        why = problem()
        return Availability(not why, why, "install Gnomon for this machine" if why else "")

    def observe(self, execution: Execution) -> Observer:
        """Return what has the program's calls recorded."""
        from gnomon.io.io_observer import IoObserver

        return IoObserver(execution)

    def collect(self, folder: Path) -> Collected:
        """Return the calls of every process, of killed ones as far as they had come."""
        if not any(".io." in path.name for path in folder.iterdir()):
            from gnomon.io.uring_counter import counts_in

            return super().collect(folder)._replace(facts=counts_in(folder))
        from gnomon.io import io_tables

        return io_tables.collect(folder)


IO = Io()
