"""Sums of samples on their call paths and on all paths above these, by columns of NumPy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gnomon.model.tables import PROFILE, Table
from gnomon.named_tuple import NamedTuple

if TYPE_CHECKING:
    from numpy.typing import NDArray


class PathSums(NamedTuple):
    """Sums on paths, of each place and metric: parallel columns.

    Attributes:
        keys: the number of a place and metric.
        paths: of each.
        inclusive: weight of the path with all below it.
        exclusive: of the path alone.
        counts: samples in `inclusive`.
    """

    keys: NDArray[np.int64]
    paths: NDArray[np.int64]
    inclusive: NDArray[np.float64]
    exclusive: NDArray[np.float64]
    counts: NDArray[np.int64]

    def rows(
        self, locations: NDArray[np.int64], paths: NDArray[np.int64], metrics: NDArray[np.int64]
    ) -> ProfileRows:
        """Return them as rows of the profile, with the numbers that a run has for all three."""
        return ProfileRows(locations, paths, metrics, self.inclusive, self.exclusive, self.counts)


class ProfileRows(NamedTuple):
    """Rows of the profile: parallel columns; `raw` is how many samples a row stands for."""

    location: NDArray[np.int64]
    path: NDArray[np.int64]
    metric: NDArray[np.int64]
    inclusive: NDArray[np.float64]
    exclusive: NDArray[np.float64]
    raw: NDArray[np.int64]


def profile_of(rows: ProfileRows, is_counted: NDArray[np.bool_] | None = None) -> Table:
    """Return the profile of rows of which neither calls nor times of a counter are known.

    Args:
        rows: what is known.
        is_counted: of each row whether `raw` is; None: of all.
    """
    none, missing = np.zeros(len(rows.metric), np.int64), np.ones(len(rows.metric), bool)
    masks = {"calls": missing, "enabled_ns": missing, "running_ns": missing}
    if is_counted is not None:
        masks["raw"] = ~is_counted
    unknown = {"repetition": none, "calls": none, "enabled_ns": none, "running_ns": none}
    return Table.of(PROFILE, {**rows._asdict(), **unknown}, masks)


def sums_on_paths(
    parents: NDArray[np.int64],
    depth_of_paths: NDArray[np.int64],
    keys: NDArray[np.int64],
    of_samples: NDArray[np.int64],
    weights: NDArray[np.float64],
    numbers: NDArray[np.int64],
) -> PathSums:
    """Return the sums of samples on their paths and all above these.

    Args:
        parents: of each path; that of a root is -1.
        depth_of_paths: 0 for a root.
        keys: of each sample the number of its place and metric.
        of_samples: its path.
        weights: its weight.
        numbers: how many samples it is: 0 of what was not sampled.
    """
    n = len(parents)
    own, inverse = np.unique(keys * n + of_samples, return_inverse=True)
    inverse = inverse.reshape(-1)
    exclusive = np.bincount(inverse, weights, len(own))
    counts = np.bincount(inverse, numbers, len(own))
    depths = depth_of_paths[own % n]
    levels: list[tuple[Any, Any, Any, Any]] = []
    # Of the level below: keys, inclusive sums and counts, by the paths above them.
    below: tuple[Any, Any, Any] = (np.empty(0, np.int64), np.empty(0), np.empty(0, np.int64))
    for depth in range(int(depths.max(initial=-1)), -1, -1):
        here = depths == depth
        joined, rows = np.unique(np.concatenate((own[here], below[0])), return_inverse=True)
        rows, split = rows.reshape(-1), int(here.sum())
        alone = np.bincount(rows[:split], exclusive[here], len(joined))
        sums = alone + np.bincount(rows[split:], below[1], len(joined))
        n_samples = np.bincount(rows[:split], counts[here], len(joined)) + np.bincount(
            rows[split:], below[2], len(joined)
        )
        levels.append((joined, sums, alone, n_samples))
        above = parents[joined % n]
        below = (joined // n * n + above, sums, n_samples)
    if not levels:
        nothing = np.empty(0, np.int64)
        return PathSums(nothing, nothing, np.empty(0), np.empty(0), nothing)
    levels.reverse()
    columns: list[Any] = [np.concatenate(parts) for parts in zip(*levels, strict=True)]
    joined, inclusive, alone, counted = columns
    return PathSums(joined // n, joined % n, inclusive, alone, counted.astype(np.int64))
