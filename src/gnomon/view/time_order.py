"""What threads did one after the other: frames that are adjacent in time, as rectangles.

A span of time is divided into equal parts, no more than a picture has pixels; of a thread each is
of the call path that has most of it. A frame goes on for as long as the parts beside it have the
same frame below the same callers.
"""

from __future__ import annotations

import numpy as np

from gnomon.model.array_types import Cells, Flags, Floats, Ints, Longs
from gnomon.named_tuple import NamedTuple
from gnomon.view.open_run import OpenRun
from gnomon.view.sample_times import BinnedSamples, in_bins, lasts
from gnomon.view.traced_time import TimeSpan
from gnomon.view.tree import Tree

BINS_MOST = 4096
LANES_MOST = 64
_SAMPLES_EACH = 4


class TimeOrder(NamedTuple):
    """Frames over time, by lane, from the outermost to the innermost.

    Attributes:
        bins: how many parts the span was divided into.
        lanes: positions of the locations, in the order of these.
        left_out: how many others there are, which have less.
        lane: of each frame, the number of its lane.
        depth: of each frame, 0 for the program.
        first: the part that it begins in.
        last: the one behind its last part.
        node: the node of the top-down tree.
        value: what the metric has there.
    """

    bins: int
    lanes: Ints
    left_out: int
    lane: Ints
    depth: Ints
    first: Ints
    last: Ints
    node: Ints
    value: Floats


def time_order(
    opened: OpenRun, metrics: list[int], span: TimeSpan, bins: int, location: int
) -> TimeOrder:
    """Return what each thread did within a span.

    Args:
        opened: the run.
        metrics: of which metrics the samples are that say it.
        span: a part of the run's time.
        bins: into how many parts it is divided at most.
        location: position of the only location that is wanted, with what is in it; -1 for all.

    Raises:
        UsageError: the run has no samples with a time.
        RunDirectoryError: the tables cannot be read.
    """
    time = opened.sampled_time()
    tree = opened.tree("region")
    wanted = [opened.metric(number) for number in metrics]
    bins = max(1, min(bins, BINS_MOST))
    samples = _joined([in_bins(opened.data, one, time, span, bins, location) for one in wanted])
    lanes, left_out = _lanes(samples)
    if not any(map(lasts, wanted)) and len(samples.bin):
        # Samples that do not last would leave gaps: parts are so large that most have some.
        threads = max(len(lanes) + left_out, 1)
        bins = max(1, min(bins, len(samples.bin) // (threads * _SAMPLES_EACH)))
        samples = _joined([in_bins(opened.data, one, time, span, bins, location) for one in wanted])
    lane_of = np.full(len(opened.data.locations), -1, dtype=np.int32)
    lane_of[lanes] = np.arange(len(lanes), dtype=np.int32)
    node_of = _nodes(tree, len(opened.data.paths.number))
    is_shown = (lane_of[samples.location] >= 0) & (node_of[samples.path] >= 0)
    place = lane_of[samples.location[is_shown]].astype(np.int64) * bins + samples.bin[is_shown]
    node = node_of[samples.path[is_shown]]
    cells, leaf, value = _largest(place, node, samples.value[is_shown], tree.n)
    return TimeOrder(bins, lanes, left_out, *_runs(tree, cells, leaf, value, bins))


def _joined(parts: list[BinnedSamples]) -> BinnedSamples:
    return BinnedSamples(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def _lanes(samples: BinnedSamples) -> tuple[Ints, int]:
    """Return the locations that have most, in their order, and how many others there are."""
    sums = np.bincount(samples.location, weights=samples.value)
    present = np.unique(samples.location)
    most = present[np.argsort(-sums[present], kind="stable")][:LANES_MOST]
    return np.sort(most).astype(np.int32), len(present) - len(most)


def _nodes(tree: Tree, n: int) -> Ints:
    """Return the node that each path is in."""
    node_of = np.full(n, -1, dtype=np.int32)
    for pairs in (tree.inclusive, tree.exclusive):
        node_of[pairs.path] = pairs.node
    return node_of


def _largest(place: Longs, node: Ints, value: Floats, n: int) -> tuple[Longs, Ints, Floats]:
    """Return the places that have a value, the node that has most of each, and all of it."""
    key, of_key = np.unique(place * n + node, return_inverse=True)
    sums = np.bincount(of_key, weights=value, minlength=len(key))
    order = np.lexsort((sums, key // n))
    places = (key // n)[order]
    is_last = np.ones(len(order), dtype=bool)
    is_last[:-1] = places[1:] != places[:-1]
    cells = places[is_last]
    whole = np.bincount(np.searchsorted(cells, key // n), weights=sums, minlength=len(cells))
    return cells, (key % n)[order][is_last].astype(np.int32), whole.astype(np.float64)


def _runs(tree: Tree, cells: Longs, leaf: Ints, value: Floats, bins: int) -> list[Cells]:
    """Return the frames of cells: adjacent ones of one node are one frame."""
    depth_of = _depths(tree)
    depth = depth_of[leaf]
    node = leaf.copy()
    levels: list[list[Cells]] = []
    for level in range(int(depth.max(initial=-1)), -1, -1):
        inside = np.flatnonzero(depth >= level)
        runs = _begins(cells[inside], node[inside], bins)
        begins = np.flatnonzero(runs)
        ends = np.append(begins[1:], len(inside)) - 1
        first = cells[inside[begins]]
        last = cells[inside[ends]] % bins + 1
        levels.append([
            first // bins, np.full(len(begins), level), first % bins, last, node[inside[begins]],
            np.add.reduceat(value[inside], begins),
        ])  # fmt: skip
        up = inside[depth_of[node[inside]] == level]
        node[up] = tree.parent[node[up]]
    columns: list[Cells] = [np.concatenate(parts) for parts in zip(*levels, strict=True)] or [
        np.zeros(0)
    ] * 6
    # As a walk over each lane meets them: those that begin first, the outer before the inner.
    order = np.lexsort((columns[1], columns[2], columns[0]))
    ordered: list[Cells] = [column[order].astype(np.int32) for column in columns[:5]]
    return [*ordered, columns[5][order].astype(np.float64)]


def _depths(tree: Tree) -> Ints:
    depth = np.zeros(tree.n, dtype=np.int32)
    open_ends: list[int] = []
    for node, end in enumerate(tree.end.tolist()):
        while open_ends and open_ends[-1] <= node:
            open_ends.pop()
        depth[node] = len(open_ends)
        open_ends.append(end)
    return depth


def _begins(cells: Longs, node: Ints, bins: int) -> Flags:
    """Return which cells are not the continuation of the cell before them."""
    begins = np.ones(len(cells), dtype=bool)
    begins[1:] = (np.diff(cells) != 1) | (node[1:] != node[:-1]) | (cells[1:] % bins == 0)
    return begins
