"""Python stacks and the samples whose signals read them."""

from __future__ import annotations

import numpy as np

from gnomon.sampling.python_records import PythonPaths, PythonProcess
from gnomon.sampling.python_samples import stack_of_samples


def process(*read: tuple[int, int]) -> PythonProcess:
    """Return a process in which stacks were read: (time, thread)."""
    nothing = np.empty(0, np.int32)
    return PythonProcess(
        pid=1,
        version="3.11.2",
        state=0,
        parent=0,
        paths=PythonPaths((), nothing, nothing, nothing, np.empty(0, bool)),
        time_ns=np.array([time for time, _ in read], np.uint64),
        tid=np.array([tid for _, tid in read], np.int32),
        node=np.zeros(len(read), np.int32),
        status=np.zeros(len(read), np.uint32),
    )


def rows(read: PythonProcess, *samples: tuple[int, int, bool]) -> list[int]:
    time, tid, in_kernel = zip(*samples, strict=True)
    stacks = stack_of_samples(
        read, np.array(time, np.uint64), np.array(tid, np.int32), np.array(in_kernel, bool)
    )
    return [int(row) for row in stacks]


def test_each_sample_has_the_stack_that_is_read_next_in_its_thread() -> None:
    read = process((12, 1), (13, 2), (22, 1), (23, 2))
    assert rows(read, (11, 2, False), (10, 1, False), (20, 1, False), (21, 2, False)) == [
        1,
        0,
        2,
        3,
    ]


def test_samples_in_the_kernel_have_the_stack_that_is_read_when_it_is_left() -> None:
    read = process((12, 1), (50, 1))
    assert rows(read, (10, 1, False), (20, 1, True), (30, 1, True), (40, 1, True)) == [0, 1, 1, 1]


def test_a_sample_whose_signal_is_lost_has_no_stack() -> None:
    read = process((12, 1), (32, 1))
    assert rows(read, (10, 1, False), (20, 1, False), (30, 1, False)) == [0, -1, 1]
    assert rows(read, (20, 1, True), (30, 1, False)) == [-1, 1]


def test_samples_after_the_last_stack_have_none() -> None:
    assert rows(process((12, 1)), (10, 1, False), (20, 1, True)) == [0, -1]
    assert rows(process(), (10, 1, False)) == [-1]
    assert rows(process((12, 2)), (10, 1, False)) == [-1]
