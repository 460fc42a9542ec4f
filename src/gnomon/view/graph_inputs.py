"""What an open run has of calls, as `gnomon callgraph` reads it."""

from __future__ import annotations

from gnomon.callgraph.call_profile import Sources
from gnomon.callgraph.inputs import GraphInput, gmon_input, runs_input
from gnomon.store.run import Run
from gnomon.view import request_params
from gnomon.view.open_run import OpenRun
from gnomon.view.recorded_run import recorded_run
from gnomon.view.request_params import QueryParams


def graph_input(
    opened: OpenRun, asked: QueryParams, *, by_file: bool = False, with_unused: bool = False
) -> GraphInput:
    """Return the call profile of an open run.

    Args:
        opened: the run.
        asked: its parameter `metric` is the number of one, the first one if it is absent.
        by_file: keep what each of its files says of functions, too.
        with_unused: functions without a value or a call have a source file, too.

    Raises:
        UsageError: it has no functions, or not that metric; or runs of a combination have others.
        RunDirectoryError: a file cannot be read.
    """
    number = request_params.integer(asked, "metric", -1)
    metric = opened.metric(number).name if number >= 0 else ""

    def read() -> GraphInput:
        if opened.gmon is None:
            return runs_input(recorded_runs(opened), metric, by_file=by_file)
        # Its samples are of one quantity, whichever name the run has for it.
        sources = Sources.OF_ALL if with_unused else Sources.OF_USED
        return gmon_input(opened.gmon, by_file=by_file, sources=sources)

    return opened.once(("graph input", metric, by_file, with_unused), read)


def recorded_runs(opened: OpenRun) -> list[Run]:
    """Return the runs that a combination is made of, or the one that is open.

    Raises:
        RunDirectoryError: one cannot be read any more.
    """
    return [recorded_run(part) for part in opened.combined or (opened,)]
