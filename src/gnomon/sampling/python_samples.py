"""Which Python stack belongs to which sample.

The signal of a sample comes when its thread next runs in user mode: at once, or, if the sample was
taken in the kernel, when the kernel's work is done. So a stack that a thread read belongs to all
samples since the stack before it, of which only the first may have been taken in user mode.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gnomon.sampling.python_records import PythonProcess


def stack_of_samples(
    process: PythonProcess,
    time_ns: NDArray[np.uint64],
    tid: NDArray[np.int32],
    is_in_kernel: NDArray[np.bool_],
) -> NDArray[np.int64]:
    """Return the row of the process's Python samples for each sample of it, -1: it has none.

    Args:
        process: what it recorded.
        time_ns: CLOCK_MONOTONIC of each sample of the process, in any order.
        tid: its thread.
        is_in_kernel: whether it was taken in the kernel.
    """
    rows = np.full(len(time_ns), -1, np.int64)
    for thread in np.unique(tid).tolist():
        own = np.flatnonzero(tid == thread)
        own = own[np.argsort(time_ns[own], kind="stable")]
        read = np.flatnonzero(process.tid == thread)
        rows[own] = _of_thread(time_ns[own], is_in_kernel[own], process.time_ns[read], read)
    return rows


def _of_thread(
    times: NDArray[np.uint64],
    is_in_kernel: NDArray[np.bool_],
    read_times: NDArray[np.uint64],
    rows: NDArray[np.int64],
) -> NDArray[np.int64]:
    index = np.searchsorted(read_times, times)
    is_followed = index < len(read_times)
    # The thread was in user mode again before: its signal is lost.
    never = np.uint64(2**64 - 1)
    in_user_mode = np.where(is_in_kernel, never, times)
    next_in_user_mode = np.append(np.minimum.accumulate(in_user_mode[::-1])[::-1][1:], never)
    read = read_times[np.minimum(index, max(len(read_times) - 1, 0))] if len(read_times) else times
    belongs = is_followed & (read <= next_in_user_mode)
    within = np.minimum(index, max(len(rows) - 1, 0))
    return np.where(belongs, rows[within], -1) if len(rows) else np.full(len(times), -1, np.int64)
