"""Answers about the time of a run: how much there was when, and what threads did in which order."""

from __future__ import annotations

from starlette.responses import Response

from gnomon.errors import UsageError
from gnomon.view import request_params, thread_activity
from gnomon.view.open_run import OpenRun
from gnomon.view.request_params import LONGEST, QueryParams
from gnomon.view.sample_times import SampledTime
from gnomon.view.time_order import BINS_MOST, time_order
from gnomon.view.traced_time import TimeSpan
from gnomon.view.tree_answers import location_numbers, numbers, packed

_BINS = 1024


def sampled_ns(opened: OpenRun) -> int:
    """Return for how long a run has samples, 0 where it has none with a time."""
    try:
        return opened.sampled_time().length_ns
    except UsageError:
        return 0


def activity(opened: OpenRun, asked: QueryParams) -> Response:
    """Return what a metric comes to in each of many parts of the run's time, or of a window."""
    time = opened.sampled_time()
    metric = opened.metric(request_params.integer(asked, "metric"))
    location = opened.location(request_params.integer(asked, "location", -1))
    bins = max(1, min(request_params.integer(asked, "bins", _BINS), BINS_MOST))
    span = _span(asked, time)
    value = thread_activity.activity(opened.data, metric, time, span, bins, location)
    header = {
        "n": bins, "metric": metric.metric, "unit": metric.unit, "beginNs": span.begin_ns,
        "endNs": span.end_ns, "metrics": list(time.metrics),
    }  # fmt: skip
    return packed(header, {"value": value})


def order(opened: OpenRun, asked: QueryParams) -> Response:
    """Return the frames of threads in the order of time."""
    time = opened.sampled_time()
    span = _span(asked, time)
    metrics = request_params.integers(asked, "metrics") or [opened.first_metric()]
    location = opened.location(request_params.integer(asked, "location", -1))
    bins = request_params.integer(asked, "bins", _BINS)
    frames = time_order(opened, metrics, span, bins, location)
    header = {
        "n": len(frames.node), "beginNs": span.begin_ns, "endNs": span.end_ns, "bins": frames.bins,
        "lanes": numbers(location_numbers(opened), frames.lanes).tolist(),
        "leftOut": frames.left_out,
    }  # fmt: skip
    names = ("lane", "depth", "first", "last", "node", "value")
    return packed(header, {name: getattr(frames, name) for name in names})


def _span(asked: QueryParams, time: SampledTime) -> TimeSpan:
    return time.span(
        request_params.integer(asked, "begin", 0, LONGEST),
        request_params.integer(asked, "end", time.length_ns, LONGEST),
    )
