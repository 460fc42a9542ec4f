"""`hpmstat -a PLUGIN`: what the tasks of a job saw of their machines goes to a plug-in.

Source: HPM Toolkit User's Guide 3.2.2, sections 2.7 and 4.2.
"""

from __future__ import annotations

import argparse
import os
from contextlib import closing
from typing import TYPE_CHECKING

from gnomon.cli.classical.hpm_options import HPMSTAT_CLOCK
from gnomon.cli.classical.hpmcount_mpi import apply_changes, pass_on, print_complaint, with_options
from gnomon.cli.terminal.interval_loop import Ending, rounds
from gnomon.cli.terminal.interval_writers import Reports
from gnomon.count.count_report import render_measurements
from gnomon.hpm.environment import read_settings
from gnomon.hpm.output_names import unique_name
from gnomon.hpm.ranks import aggregate_report as rank_report
from gnomon.hpm.ranks import plugin as plugins
from gnomon.hpm.ranks.job_membership import join
from gnomon.installation import LIBRARY_FOLDER
from gnomon.launch.job import Job, job
from gnomon.launch.run_environment import this_host
from gnomon.launch.signals import SignalForwarder
from gnomon.measurement.measurement import Measurement
from gnomon.measurement.measurement_items import rank_file
from gnomon.measurement.report_style import ReportOptions
from gnomon.model.value import Unavailable
from gnomon.stat.hpmstat_format import measurement
from gnomon.stat.monitor import Monitor, MonitorConfig

if TYPE_CHECKING:
    from collections.abc import Callable

    from gnomon.hpm.environment import Settings
    from gnomon.launch.run_environment import Host
    from gnomon.measurement.items import RankFile
    from gnomon.stat.interval_rows import Sample
    from gnomon.stat.watched_events import WatchedEvents


def watch(
    arguments: argparse.Namespace,
    period_ns: int,
    count: int,
    name: str,
    choose: Callable[[Settings], WatchedEvents],
) -> int:
    """Watch, let the plug-in aggregate all intervals of all tasks, report; return 0.

    What goes wrong with the plug-in costs a line on stderr, and this task then reports what it
    saw itself.

    Args:
        arguments: of the command line.
        period_ns: how long an interval is.
        count: how many; 0 until a signal comes.
        name: the plug-in's.
        choose: returns what is to be counted.
    """
    source = "HPM_AGGREGATE=" if arguments.plugin is None else "-a "
    seen = with_options(os.environ, arguments, name)
    joined, why_not = join(LIBRARY_FOLDER)
    if why_not:
        print_complaint(f"the other tasks of the job cannot be reached: {why_not}")
    plugin, changes = plugins.find_plugin(name, seen, source)
    pass_on(changes)
    apply_changes(changes, seen)
    chosen = read_settings(seen)
    choice = choose(chosen)
    own, host = job(), this_host()
    if chosen.name and chosen.unique:
        chosen = chosen._replace(name=unique_hpmstat_name(chosen.name))
    elif own is not None and own.task and chosen.name:
        # Two tasks may print, each for its group: task 0 has the name as it is.
        chosen = chosen._replace(name=f"{chosen.name}_{own.task}")
    options = ReportOptions(
        tool="hpmstat", formulas=chosen.formulas, every_usage_row=True, parts=True, guide_names=True
    )
    slice_ns = chosen.slice_ms * 1_000_000
    with closing(Monitor(choice, MonitorConfig(), slice_ns)) as monitor:
        with Ending() as ending:
            rounds(monitor, period_ns, count, _nothing, ending)
        whole = monitor.totals.summary() or monitor.take()
    watched = measurement(whole, monitor, choice)
    if own is not None and own.local_task and "HPM_EVENT_SET" not in changes.variables:
        watched = _counted_by_the_first(watched, own)
    group = choice.groups[0] if len(choice.groups) == 1 else None
    file = rank_file(
        watched,
        f"{group.number} {group.name}" if group else "",
        task=own.task if own else None,
        size=own.tasks if own else None,
        host=host.name,
    )._replace(program="hpmstat", command=watched.covers, exit_status=0)
    with SignalForwarder() as signals:
        aggregated = plugins.run_aggregator(
            plugin, file, seen, joined, signals, hurried=ending.has_come
        )
    pass_on(aggregated)
    if aggregated.complaint or aggregated.file is not None:
        _report(chosen, watched, None if aggregated.complaint else aggregated.file, host, options)
    if joined is not None:
        joined.leave(0.0)
    return 0


def _report(
    chosen: Settings,
    watched: Measurement,
    aggregate_file: RankFile | None,
    host: Host,
    options: ReportOptions,
) -> None:
    def rendered(width: int, styled: bool) -> str:
        own = options._replace(width=width, styled=styled)
        return (
            render_measurements([watched], host, own)
            if aggregate_file is None
            else rank_report.render_aggregate_report(aggregate_file, host, own)
        )

    reports = Reports(chosen.name, lambda _: rendered, prints=prints(chosen))
    reports.write(rendered)
    reports.end(None)


def unique_hpmstat_name(name: str) -> str:
    """Return the name with host, process, date and time in it; the time has colons."""
    return unique_name(name, process=os.getpid(), clock=HPMSTAT_CLOCK)


def prints(chosen: Settings) -> bool:
    """Return whether standard output gets the report: only what has a copy may be silent."""
    return not (chosen.silent and chosen.name)


def _counted_by_the_first(watched: Measurement, own: Job) -> Measurement:
    """Return a task's view of a machine that another task has watched, too."""
    who = "counted by the first task on this node"
    if own.nodes == 1 or (own.tasks is not None and own.local_tasks == own.tasks):
        who = "counted by task 0, the first on this node"
    missing = tuple(Unavailable(value.event, who, "") for value in watched.values)
    kept = tuple(
        part._replace(values=(), unavailable=tuple(
            Unavailable(value.event, who, "") for value in part.values) + part.unavailable)
        for part in watched.parts
    )  # fmt: skip
    return watched._replace(
        values=(),
        unavailable=missing + watched.unavailable,
        parts=kept,
        user_ns=None,
        system_ns=None,
    )


def _nothing(_: Sample) -> None:
    """Print nothing for an interval: only the totals over all intervals are aggregated."""
