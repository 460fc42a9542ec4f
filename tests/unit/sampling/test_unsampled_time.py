"""What threads used of a clock beyond their samples: it adds up, and none has less than nothing."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest
import sample_records
from sample_records import Row

from gnomon.sampling.sample_file import SampleFile, read_samples
from gnomon.sampling.unsampled_time import unsampled_ns
from gnomon.store.record_file import open_records

MS = 1_000_000


def recorded(
    folder: Path, sampled: Mapping[int, int], counted: Sequence[tuple[int, int]], lost: int = 0
) -> SampleFile:
    """Return threads with samples of so many milliseconds, and what they counted in ns."""
    clock = {**sample_records.CLOCK, "period": 1000, "counts_more": True}
    rows: dict[str, list[Row]] = sample_records.records()
    rows |= {
        "event": [(0, json.dumps(clock))],
        "thread": [(at, 0, tid, b"t") for at, tid in enumerate(sampled)],
        "sample": [
            (at, n * MS, at, sample_records.NONE, 0, 0, 0, 0)
            for at, n in enumerate(sampled.values())
            if n
        ],
        "loss": [(0, lost, 0, 0)] if lost else [],
        "time": [(ns, tid) for tid, ns in counted],
    }
    return read_samples(open_records(sample_records.write(folder / "s.gnrec", rows)))


def test_long_threads_have_their_own_difference(tmp_path: Path) -> None:
    # The times of one thread on two CPUs; the other was in user code all the time.
    samples = recorded(
        tmp_path, {50: 200, 51: 300}, [(50, 400 * MS), (50, 100 * MS), (51, 299 * MS)]
    )
    rest = unsampled_ns(samples, 0)
    assert rest is not None
    assert rest.tolist() == pytest.approx([299 * MS, 0])


def test_short_threads_share_what_is_left(tmp_path: Path) -> None:
    """A sample stands for more than such a thread has: the difference alone would be too much."""
    n = 60
    sampled = {100 + at: at % 2 for at in range(n)}
    counted = [(tid, MS // 2) for tid in sampled]
    rest = unsampled_ns(recorded(tmp_path, {50: 200, **sampled}, [(50, 300 * MS), *counted]), 0)
    assert rest is not None
    # They had as much as their samples say; the long one keeps its own.
    assert rest[0] == pytest.approx(100 * MS)
    assert rest[1:].sum() == pytest.approx(0)
    in_kernel = unsampled_ns(recorded(tmp_path, sampled, [(tid, 2 * MS) for tid in sampled]), 0)
    assert in_kernel is not None
    assert in_kernel.sum() == pytest.approx(n * 2 * MS - n // 2 * MS)
    assert (in_kernel > 0).all()


def test_what_was_lost_is_not_the_kernels(tmp_path: Path) -> None:
    rest = unsampled_ns(recorded(tmp_path, {50: 200}, [(50, 300 * MS)], lost=60), 0)
    assert rest is not None
    assert rest.tolist() == pytest.approx([40 * MS])
    none = unsampled_ns(recorded(tmp_path, {50: 200}, [(50, 150 * MS)]), 0)
    assert none is not None
    assert none.tolist() == [0]


def test_it_is_not_known_without_times_or_after_a_kill(tmp_path: Path) -> None:
    samples = recorded(tmp_path, {50: 10}, [(50, 20 * MS)])
    assert unsampled_ns(samples._replace(cpu_ns=0), 0) is None
    assert unsampled_ns(samples._replace(times=samples.times[:0]), 0) is None
    # Times of a thread of which nothing else is known are somebody's.
    strange = unsampled_ns(recorded(tmp_path, {50: 10}, [(50, 20 * MS), (77, 5 * MS)]), 0)
    assert strange is not None
    assert np.isclose(strange.sum(), 15 * MS)
