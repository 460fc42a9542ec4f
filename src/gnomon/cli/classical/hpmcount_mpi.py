"""`hpmcount -a PLUGIN`: what a task of a job measured goes to a plug-in, which says what to print.

Source: HPM Toolkit User's Guide 3.2.2, section 2.7.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from gnomon.cli.classical.hpm_output_files import Output
from gnomon.cli.classical.hpmcount_groups import measuring_function, select_groups
from gnomon.cli.terminal.report_output import finish
from gnomon.cli.terminal.streams import write
from gnomon.errors import UsageError
from gnomon.hpm.environment import read_settings
from gnomon.hpm.ranks import plugin as plugins
from gnomon.hpm.ranks.job_membership import join
from gnomon.installation import LIBRARY_FOLDER
from gnomon.launch import launcher_standin
from gnomon.launch.job import job, launcher_ends_job
from gnomon.launch.run_environment import this_host
from gnomon.launch.signals import SignalForwarder
from gnomon.measurement.measurement_items import rank_file
from gnomon.measurement.report_style import ReportOptions
from gnomon.units import printable

if TYPE_CHECKING:
    from gnomon.hpm.ranks.job_membership import JobMembership
    from gnomon.launch.job import Job
    from gnomon.measurement.items import RankFile
    from gnomon.measurement.measurement import Measurement

_PATIENCE_S = 10.0
_LAUNCHER, _USER, _OTHER = "the launcher", "the user", "another task failed, which"
_DEPARTURES = 3
_OTHERS_REPORT_S = 3.0
# A task that waits for others is gone for its launcher after that, and for a script around it.
_DEPARTS_S, _LEAVES_SCRIPT_S = 1.0, 10.0


def count(arguments: argparse.Namespace, command: Sequence[str], name: str) -> int:
    """Count, let the plug-in aggregate, report; return the program's status, or end as it did.

    What goes wrong with the plug-in costs a line on stderr, and this task then reports what it
    measured itself.
    """
    source = "HPM_AGGREGATE=" if arguments.plugin is None else "-a "
    if arguments.repeat is not None:
        raise UsageError(
            f"-r and {source}{name}: tasks are aggregated over one execution; leave one of them out"
        )
    # Whoever has joined may be told to end, and reports all the same.
    with SignalForwarder() as early:
        joined, why_not = join(LIBRARY_FOLDER)
        if why_not:
            print_complaint(f"the other tasks of the job cannot be reached: {why_not}")
        others_s = 0.0
        first: tuple[int, ...] = ()
        try:
            measurement, first = _counted(arguments, command, name, source, joined, early)
            others_s = _OTHERS_REPORT_S if measurement.exit_status else 0.0
        finally:
            if joined is not None:
                joined.leave(0.0 if first else others_s)
                joined.let_go_first(first, _OTHERS_REPORT_S)
    return finish(measurement.exit_status, measurement.signal)


def _counted(
    arguments: argparse.Namespace,
    command: Sequence[str],
    name: str,
    source: str,
    joined: JobMembership | None,
    early: SignalForwarder,
) -> tuple[Measurement, tuple[int, ...]]:
    """Count, let the plug-in aggregate, report; return whose end is to be seen before ours, too."""
    seen = with_options(os.environ, arguments, name)
    plugin, changes = plugins.find_plugin(name, seen, source)
    if early.interrupted:
        raise KeyboardInterrupt
    pass_on(changes)
    apply_changes(changes, seen)
    chosen = read_settings(seen)
    groups, events = select_groups(arguments, chosen)
    measure = measuring_function(command, groups, events, None, chosen.slice_ms)
    group = f"{groups[0].number} {groups[0].name}" if len(groups) == 1 else ""
    order = [name for one in groups for name in one.wanted.names] or list(events.names)
    own = job()
    if own is not None and own.task and chosen.name and not chosen.unique:
        # Two tasks may print, each for its group: task 0 has the name as it is.
        chosen = chosen._replace(name=f"{chosen.name}_{own.task}")
    options = ReportOptions(
        tool="hpmcount",
        formulas=chosen.formulas,
        every_usage_row=True,
        parts=True,
        guide_names=True,
    )
    with Output(chosen, options, group) as output:
        (measurement,) = measure()
        with SignalForwarder() as signals:
            first = joined.ended_by() if joined is not None and measurement.terminated else ()
            by, is_over = _ended_by(measurement, ended_by_task=bool(first)), _is_over(measurement)
            stand_in = launcher_standin.current()
            if stand_in is not None:
                stand_in.hang_up()
            file = _of_task(measurement, group, own, by, joined, order)
            patience_s = None if by else _patience_s(file)
            aggregated = plugins.run_aggregator(
                plugin, file, seen, joined, signals,
                hurried=by in (_LAUNCHER, _USER) and not is_over, is_over=is_over,
                patience_s=patience_s,
                aside=_departure(file, joined) if not by and patience_s is None else None,
            )  # fmt: skip
            pass_on(aggregated)
            if aggregated.complaint:
                output.deliver([measurement])
            elif aggregated.file is not None:
                _deliver(output, aggregated.file._replace(exit_status=measurement.exit_status or 0))
    return measurement, first


def with_options(
    environment: Mapping[str, str], arguments: argparse.Namespace, plugin: str
) -> dict[str, str]:
    """Return variables with those in them that options set: what a distributor sees."""
    seen = {**environment, "HPM_AGGREGATE": plugin}
    texts = {
        "HPM_OUTPUT_NAME": arguments.output,
        "HPM_EVENT_SET": arguments.group,
        "GNOMON_EVENTS": arguments.event,
        "HPM_UNIQUE_FILE_NAME": "yes" if arguments.unique else None,
        "HPM_STDOUT": "no" if arguments.no_terminal else None,
        "HPM_PRINT_FORMULA": "yes" if arguments.formulas else None,
    }
    seen.update({variable: text for variable, text in texts.items() if text is not None})
    if arguments.event is not None and arguments.group is None:
        seen.pop("HPM_EVENT_SET", None)
    return seen


def apply_changes(changes: plugins.EnvironmentChanges, seen: dict[str, str]) -> None:
    """Make what a distributor changed hold for us and for the program, but not what options set."""
    for variable, value in changes.variables.items():
        for environment in (seen, os.environ):
            if value is None:
                environment.pop(variable, None)
            else:
                environment[variable] = value


def _patience_s(file: RankFile) -> float | None:
    """Return how long the other tasks may go on once this task's program has ended as it did.

    A launcher that ends a job when a task fails, because the others may wait for it for ever, does
    so when this process ends, which waits for the others. None where it would let them go on.
    """
    if launcher_ends_job(killed=bool(file.signal), status=file.exit_status):
        return 0.0 if file.signal else _PATIENCE_S
    return None


def _departure(
    file: RankFile, joined: JobMembership | None
) -> tuple[float, Callable[[], None]] | None:
    """Return when the launcher is to see this task's end though the others are waited for, and how.

    It ends the job where that was before MPI_Finalize, which only it can tell.
    """
    stand_in = launcher_standin.current()
    if joined is None or stand_in is None or not stand_in.can_depart():
        return None
    end = launcher_standin.ProgramEnd(file.exit_status, file.signal)

    def depart() -> None:
        joined.tell_departure(file.task, end)
        stand_in.depart(end)

    return _DEPARTS_S if stand_in.is_known else _LEAVES_SCRIPT_S, depart


def _ended_by(measurement: Measurement, *, ended_by_task: bool) -> str:
    """Return who ended the program before its time; "" if nobody did."""
    if measurement.interrupted:
        return _USER
    if measurement.terminated:
        return _OTHER if ended_by_task else _LAUNCHER
    return _LAUNCHER if _is_over(measurement) else ""


def _is_over(measurement: Measurement) -> bool:
    """Return whether the launcher has killed the program: there is no need for haste any more."""
    stand_in = launcher_standin.current()
    return measurement.signal == signal.SIGKILL and stand_in is not None and stand_in.was_killed()


def _of_task(
    measurement: Measurement,
    group: str,
    own: Job | None,
    by: str,
    joined: JobMembership | None,
    order: Sequence[str],
) -> RankFile:
    task, size = (own.task, own.tasks) if own else (None, None)
    file = rank_file(measurement, group, task=task, size=size, host=this_host().name, order=order)
    if by:
        # That is no fault of this task, whose counts are as good as those of the others.
        lines = [f"{by} ended the job; counts are those up to then"]
        if by == _LAUNCHER and joined is not None:
            lines += [
                f"task {task} {how} before that; launchers end a job if a task ends before "
                f"MPI_Finalize"
                for task, how in joined.departures()[:_DEPARTURES]
            ]
        file = file._replace(signal=0, exit_status=0, notes="\n".join([file.notes, *lines]).strip())
    return file


def _deliver(output: Output, file: RankFile) -> None:
    from gnomon.hpm.ranks import aggregate_report, aggregate_viz_csv

    host = this_host()
    output.write(
        lambda options: aggregate_report.render_aggregate_report(file, host, options),
        {
            "viz": lambda: aggregate_viz_csv.viz("hpmcount", host, file),
            "csv": lambda: aggregate_viz_csv.csv(host, file),
        },
    )


def pass_on(result: plugins.EnvironmentChanges | plugins.AggregateResult) -> None:
    """Print what a plug-in said, or why it failed."""
    if result.complaint:
        print_complaint(result.complaint)
    elif result.said and sys.stderr is not None:
        with suppress(OSError):
            write(sys.stderr, result.said)


def print_complaint(line: str) -> None:
    """Print a line in the way of the guide's messages."""
    if sys.stderr is not None:
        with suppress(OSError):
            write(sys.stderr, f"HPM ERROR - {printable(line)}\n")
