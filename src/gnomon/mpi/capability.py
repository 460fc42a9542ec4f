"""The capability of this folder: the calls of MPI, of every rank."""

from __future__ import annotations

from gnomon.launch.capability import Capability, Execution
from gnomon.launch.options import Option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from gnomon.counters.component import Availability
    from gnomon.launch.observer import Observer
    from gnomon.model.capability_result import Collected
    from gnomon.mpi.mpi_observer import Preparation
    from gnomon.store.reports.report_part import ReportPart
    from gnomon.store.run import Run

BARRIER_HELP = (
    "before each collective operation wait for all ranks, and tell this wait apart from the "
    "operation: measured, where it is otherwise estimated; the program may take longer"
)


# Kinds that native/entry_points.c has code for, as uname(2) calls them.
_MACHINES = ("x86_64", "aarch64")


class Mpi(Capability):
    """Calls of MPI; a program without MPI has none."""

    name = "mpi"
    title = "MPI: calls, time and bytes by routine, call site, rank and receiver"
    is_default = True
    knows_ranks = True
    options = (Option("barrier", BARRIER_HELP),)

    @property
    def report_parts(self) -> tuple[ReportPart, ...]:
        """`gnomon report RUN mpi`."""
        from gnomon.mpi.mpi_part import MpiCalls

        return (MpiCalls(),)

    def summary_lines(self, run: Run, width: int) -> Iterable[str]:
        """Return which part of the time was in MPI, and the site with most of it, or several."""
        is_alone = run.capabilities == (self.name,)
        # Most programs have no MPI, and end the sooner; who asked for nothing else is told.
        if self.name not in run.head.get("facts", {}):
            return ("  MPI: no process called it",) if is_alone else ()
        from gnomon.mpi import mpi_summary

        return mpi_summary.lines(run, width, with_sites=is_alone)

    def availability(self) -> Availability:
        """Return whether there is code for this kind of machine."""
        import platform

        from gnomon.counters.component import Availability

        machine = platform.machine()
        if machine in _MACHINES:
            return Availability(True)
        return Availability(
            False,
            f"calls of MPI cannot be intercepted on {machine}",
            f"use a machine of {' or '.join(_MACHINES)}",
        )

    def prepare(self, execution: Execution) -> Preparation:
        """Return the libraries for the program, with wrappers for its MPI compiled.

        Raises:
            MpiError: MPI was asked for, and there are none for a program that seems to need them.
        """
        from gnomon.mpi.mpi_observer import preparation

        return preparation(execution)

    def observe(self, execution: Execution) -> Observer:
        """Return what has the program's calls measured."""
        from gnomon.mpi.mpi_observer import MpiObserver

        return MpiObserver(execution)

    def collect(self, folder: Path) -> Collected:
        """Return the calls of every process, of killed ones as far as they had come."""
        if not any(".mpi." in path.name for path in folder.iterdir()):
            return super().collect(folder)
        from gnomon.mpi import mpi_tables

        return mpi_tables.collect(folder)


MPI = Mpi()
