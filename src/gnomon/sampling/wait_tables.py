"""Waits as rows of the model's tables: on the call path, and below it what was waited for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from gnomon.measurement.call_paths import CallPaths, call_paths, used_nodes
from gnomon.model.tables import EVENTS, SAMPLES, Table
from gnomon.named_tuple import NamedTuple
from gnomon.sampling.sample_file import NONE
from gnomon.store.path_sums import profile_of, sums_on_paths
from gnomon.symbols.code_frames import CodeFrame

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from gnomon.sampling.python_call_paths import SampledPaths
    from gnomon.sampling.sample_file import SampleFile
    from gnomon.sampling.wait_rows import WaitRows

DESCRIPTION = (
    "from when threads left a CPU until they ran again, as the scheduler told; on call paths by "
    "the stacks that were taken then"
)
_NS = 1e-9
_MOMENT_MOST = np.uint64(1 << 62)


class WaitPaths(NamedTuple):
    """Call paths with waits.

    Attributes:
        paths: all of them.
        of_waits: the path of each wait, below its call path.
        regions: those that are what was waited for.
    """

    paths: CallPaths
    of_waits: NDArray[np.int64]
    regions: frozenset[int]


def is_wait(samples: SampleFile) -> NDArray[np.bool_]:
    """Return which samples are waits."""
    marks = np.zeros(len(samples.samples), bool)
    marks[samples.waits["sample"].astype(np.int64)] = True
    return marks


def _event_of_waits(samples: SampleFile) -> int | None:
    return next((number for number, one in enumerate(samples.events) if "is_wait" in one), None)


def has_spans(samples: SampleFile) -> bool:
    """Return whether the run is to have from when to when there were threads.

    Only where waits were asked for: threads are not what who looks at the events of another
    capability looks for.
    """
    event = _event_of_waits(samples)
    return event is not None and bool(samples.events[event].get("has_spans") and len(samples.spans))


def paths_with_waits(
    samples: SampleFile,
    sampled: SampledPaths,
    waits: WaitRows,
    frames: Sequence[Sequence[int]],
    regions: dict[CodeFrame, int],
    root: int,
) -> WaitPaths:
    """Return the call paths of samples and waits, without what only waits have of the kernel.

    Args:
        samples: of a task.
        sampled: its nodes.
        waits: its waits.
        frames: the regions of each place of the nodes.
        regions: numbers of regions, to which those of waits are added.
        root: the program's path and region.
    """
    paths = _used(sampled, is_wait(samples), waits, frames, root)
    has_node = waits.nodes != NONE
    above = np.full(len(waits.nodes), root, np.int64)
    above[has_node] = paths.of_nodes[waits.nodes[has_node]]
    own = [regions.setdefault(CodeFrame(why, ""), len(regions) + 1) for why in waits.reasons]
    paths, of_waits = paths.with_leaves(above, np.array(own, np.int64))
    return WaitPaths(paths, of_waits, frozenset(own))


def _used(
    sampled: SampledPaths,
    marks: NDArray[np.bool_],
    waits: WaitRows,
    frames: Sequence[Sequence[int]],
    root: int,
) -> CallPaths:
    places, parents = sampled.node_places, sampled.node_parents
    if not marks.any():
        return call_paths(places, parents, frames, root)
    of_samples = np.concatenate((sampled.of_samples[~marks], waits.nodes))
    is_used = used_nodes(parents, of_samples)
    numbers = np.cumsum(is_used) - 1
    parents = parents[is_used]
    is_root = parents == NONE
    parents = np.where(is_root, NONE, numbers[np.where(is_root, 0, parents)]).astype(np.uint32)
    paths = call_paths(places[is_used], parents, frames, root)
    of_nodes = np.zeros(len(is_used), np.int64)
    of_nodes[is_used] = paths.of_nodes
    return paths._replace(of_nodes=of_nodes)


def wait_tables(
    samples: SampleFile,
    waits: WaitRows,
    paths: WaitPaths,
    locations: NDArray[np.int64],
    first: int,
    thread_region: int,
) -> Iterator[Table]:
    """Yield where threads waited, when and how long; and from when to when there were threads.

    Args:
        samples: of a task.
        waits: its waits.
        paths: their paths.
        locations: of each thread.
        first: the number of the first path and metric in the tables.
        thread_region: the region that stands for a thread.
    """
    if has_spans(samples):
        yield _spans(samples, locations, thread_region)
    event = _event_of_waits(samples)
    if event is not None:
        yield _profile(waits, paths, locations, first, first + event)
        yield _samples(samples, waits, paths, locations, first, first + event)


def _spans(samples: SampleFile, locations: NDArray[np.int64], region: int) -> Table:
    spans = samples.spans
    begins, ends = (
        np.minimum(spans[name], _MOMENT_MOST).astype(np.int64) for name in ("begin_ns", "end_ns")
    )
    none = np.zeros(len(spans), np.int64)
    return Table.of(
        EVENTS,
        {
            "repetition": none,
            "location": locations[spans["thread"].astype(np.int64)],
            "region": none + region,
            "path": none - 1,
            "start_ns": samples.epoch_ns + begins,
            "duration_ns": np.maximum(ends - begins, 0),
            "bytes": none,
            "file": none - 1,
        },
        {"bytes": np.ones(len(spans), bool)},
    )


def _profile(
    waits: WaitRows, paths: WaitPaths, locations: NDArray[np.int64], first: int, metric: int
) -> Table:
    sums = sums_on_paths(
        paths.paths.parents,
        paths.paths.depths,
        locations[waits.threads],
        paths.of_waits,
        waits.ns * _NS,
        waits.counts,
    )
    metrics = np.full(len(sums.keys), metric)
    return profile_of(sums.rows(sums.keys, first + sums.paths, metrics))


def _samples(
    samples: SampleFile,
    waits: WaitRows,
    paths: WaitPaths,
    locations: NDArray[np.int64],
    first: int,
    metric: int,
) -> Table:
    rows = np.flatnonzero(waits.samples >= 0)
    none, missing = np.zeros(len(rows), np.int64), np.ones(len(rows), bool)
    return Table.of(
        SAMPLES,
        {
            "repetition": none,
            "location": locations[waits.threads[rows]],
            "path": first + paths.of_waits[rows],
            "metric": none + metric,
            "time_ns": samples.epoch_ns
            + np.minimum(waits.start_ns[rows], _MOMENT_MOST).astype(np.int64),
            "address": none,
            "weight": waits.ns[rows] * _NS,
            "data_address": none,
            "data_source": [""] * len(rows),
            "latency": none,
            "woken_by": [waits.woken_by[row] for row in rows.tolist()],
            "held_by": [waits.held_by[row] for row in rows.tolist()],
        },
        {"address": missing, "data_address": missing, "latency": missing},
    )
