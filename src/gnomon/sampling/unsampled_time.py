"""CPU time that samples could not see: in the kernel, for users without rights.

The kernel counts all of a thread's time, and takes samples in user code alone. What a thread has
beyond its samples is a difference of the two, with the sampling error of these.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gnomon.sampling.sample_file import LOST, SPOILT

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gnomon.sampling.sample_file import SampleFile

NS_PER_S = 1e9
_SAMPLES_LEAST = 100
"""Of a thread with time for fewer, the difference to the few that it has says nothing by itself."""


def unsampled_ns(samples: SampleFile, event: int) -> NDArray[np.float64] | None:
    """Return what each thread used of a clock beyond its samples, by the threads' numbers.

    All of them together have what the program used beyond all samples. Threads with little time
    share what is left of it after the others, in the proportion of their own differences: a sample
    more or less is all that these have.

    Args:
        samples: the samples of a task.
        event: number of the event.

    Returns:
        Nanoseconds; None where the clock was sampled in all modes, or its times are not known
        because the recorder was killed.
    """
    times = samples.times
    if not (samples.events[event]["counts_more"] and samples.cpu_ns and len(times)):
        return None
    n = len(samples.threads)
    # Of a number that came again the last thread stands for all.
    numbers = {thread.number: at for at, thread in enumerate(samples.threads)}
    of_times = np.array([numbers.get(tid, n) for tid in times["tid"].tolist()], np.int64)
    counted: NDArray[np.float64] = np.bincount(
        of_times, times["counted_ns"].astype(np.float64), n + 1
    ).astype(np.float64)
    same = np.array([numbers[thread.number] for thread in samples.threads], np.int64)
    taken = samples.samples[samples.samples["event"] == event]
    weights = taken["weight"].astype(np.float64)
    sampled = np.bincount(same[taken["thread"]], weights, n + 1)
    each = _weight_ns(samples, event)
    is_lost = np.isin(samples.losses["kind"], (LOST, SPOILT))
    lost = float(samples.losses["count"][is_lost].sum()) * each
    whole = max(counted.sum() - weights.sum() - lost, 0.0)
    differences = np.maximum(counted - sampled, 0.0)[:n]
    is_long = counted[:n] >= _SAMPLES_LEAST * each
    result = np.where(is_long, differences, 0.0)
    short = np.where(is_long, 0.0, differences)
    if result.sum() > whole or not short.any():
        return _scaled(result if result.any() else counted[:n], whole)
    return result + _scaled(short, whole - result.sum())


def _scaled(parts: NDArray[np.float64], whole: float) -> NDArray[np.float64]:
    """Return parts that add up to the whole, in the same proportion."""
    total = float(parts.sum())
    return parts * (whole / total) if total else parts


def _weight_ns(samples: SampleFile, event: int) -> float:
    description = samples.events[event]
    period = float(min(max(description["period"], 1), 1 << 62))
    return NS_PER_S / period if description["is_frequency"] else period
