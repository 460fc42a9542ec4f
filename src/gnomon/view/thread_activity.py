"""How much of a metric there was when, no thread running and waiting for longer than time passes.

A sample of CPU time says when a thread ran for the last part of what the sample stands for; the
rest lies before it, where the thread did not wait. Waits have their begins and ends.
"""

from __future__ import annotations

import numpy as np

from gnomon.model.array_types import Floats
from gnomon.model.metric import Metric
from gnomon.model.value import How, Scope
from gnomon.view.run_metadata import Dataset
from gnomon.view.sample_times import BinnedSamples, SampledTime, in_bins, lasts
from gnomon.view.traced_time import TimeSpan

_THREADS_AT_ONCE = 4096


def activity(
    data: Dataset, metric: Metric, time: SampledTime, span: TimeSpan, bins: int, location: int
) -> Floats:
    """Return what a metric comes to in each of so many equal parts of a span.

    Args:
        data: the run.
        metric: of which metric.
        time: that of the run.
        span: within it.
        bins: how many parts.
        location: position of the only location that is wanted, with what is in it; -1 for all.

    Raises:
        RunDirectoryError: the tables cannot be read.
    """
    samples = in_bins(data, metric, time, span, bins, location)
    value = np.bincount(samples.bin, weights=samples.value, minlength=bins).astype(np.float64)
    if not lasts(metric) or metric.how != How.SAMPLED.value:
        return value
    waits = [
        in_bins(data, other, time, span, bins, location)
        for other in data.metrics
        if other.metric in time.metrics and lasts(other) and other.how != How.SAMPLED.value
    ]
    # What is known of processes alone may be of many threads at once.
    is_thread = np.array([one.kind == Scope.THREAD.value for one in data.locations], bool)
    threads = np.unique(samples.location[is_thread[samples.location]])
    each = span.length_ns / bins / 1e9
    for begin in range(0, len(threads), _THREADS_AT_ONCE):
        some = threads[begin : begin + _THREADS_AT_ONCE]
        free = each - sum((_of_threads(one, some, bins) for one in waits), np.zeros(1))
        used = _of_threads(samples, some, bins)
        shape = used.shape
        value += (within(used, np.broadcast_to(np.maximum(free, 0), shape)) - used).sum(axis=0)
    return np.maximum(value, 0)


def within(used: Floats, free: Floats) -> Floats:
    """Return times of threads where they fit: what is too much for a part lies before it.

    Args:
        used: seconds of each thread (row) in each part of the time (column).
        free: no more than these.

    Returns:
        The same seconds of each thread in all, as far as its free time goes; what does not fit
        before it lies in the first parts that are free.
    """
    fitted = np.empty_like(used)
    left = np.zeros(len(used))
    n = used.shape[1]
    for column in range(n - 1, -1, -1):
        left += used[:, column]
        fitted[:, column] = np.minimum(left, free[:, column])
        left -= fitted[:, column]
    for column in range(n if left.any() else 0):
        more = np.minimum(left, free[:, column] - fitted[:, column])
        fitted[:, column] += more
        left -= more
    return fitted


def _of_threads(samples: BinnedSamples, threads: np.ndarray, bins: int) -> Floats:
    """Return what each thread has in each part."""
    row = np.searchsorted(threads, samples.location)
    row[row == len(threads)] = 0
    own = threads[row] == samples.location
    cell = row[own] * bins + samples.bin[own]
    sums = np.bincount(cell, weights=samples.value[own], minlength=len(threads) * bins)
    return sums.reshape(len(threads), bins).astype(np.float64)
