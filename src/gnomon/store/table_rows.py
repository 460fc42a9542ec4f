"""The rows of the profile of several sets under one numbering: the second half of their merge.

What a location has on the root beside its parts is its own: `exclusive` of a root is what remains
of it when the values of the paths below are taken off. How these are added up depends on the
metric:

- sums of exclusive values, of sections that each know their own: those of a thread are in its
  process, too;
- times of the same moments, of which several threads of a process have the same ones;
- where some have no exclusive value, inclusive ones of the paths below no other with a value.

All is done by columns of NumPy, and every sum is formed in the order of the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from math import isnan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnomon.model.tables import Table
from gnomon.named_tuple import NamedTuple
from gnomon.store.keyed_sums import (
    NOTHING,
    Floats,
    Ints,
    distinct_numbers,
    number_in_order,
    sum_and_count,
    sum_by_key,
)

_ROUNDING = 1e-9
_KEY_BITS = 62

Flags = NDArray[Any]


class RowContext(NamedTuple):
    """What is known of the numbers in the rows, by number.

    Attributes:
        parents: of locations; -1 for none.
        is_thread, is_rank: of locations.
        above: the parent of each path; -1 for the root, which is path 0.
        is_section: which paths are sections.
        is_ratio: metrics whose values are no sums.
        is_peak: metrics of which several locations have the largest.
    """

    parents: Ints
    is_thread: Flags
    is_rank: Flags
    above: Ints
    is_section: Flags
    is_ratio: Flags
    is_peak: Flags


class SumsBelowRoot(NamedTuple):
    """Sums of the paths below the root at locations.

    Attributes:
        keys: (repetition * metrics + metric) * locations + location, ascending.
        values: the sum of each.
        counts: of how many values it is one, where several are no sum; 0 for a sum.
    """

    keys: Ints
    values: Floats
    counts: Ints


class OtherBatches(NamedTuple):
    """What other batches of rows have that decides about these.

    Attributes:
        not_own: series (repetition * metrics + metric) with a section elsewhere that does not know
            its own value.
        rows: what the command itself has below the root: series and path of each.
    """

    not_own: Ints
    rows: tuple[Ints, Ints]


class RankTotals(NamedTuple):
    """What ranks have of a series on their roots together.

    Attributes:
        series: which.
        inclusive: their sum, NaN where one does not know it; of a peak the largest that is known.
        exclusive: likewise; None where one does not know it.
    """

    series: int
    inclusive: float
    exclusive: float | None


NOBODY = OtherBatches(NOTHING, (NOTHING, NOTHING))


class Rows:
    """Rows of the profile, each combination of repetition, location, path and metric once.

    Args:
        table: the rows; of several of one combination the first counts.
        context: of their numbers.
        known: what other rows have that decides about these.
    """

    def __init__(self, table: Table, context: RowContext, known: OtherBatches = NOBODY) -> None:
        self.context = context
        self.known = known
        self.table = _first_of_each(table, context)
        self.location = self.table.numbers("location").astype(np.int64)
        self.path = self.table.numbers("path").astype(np.int64)
        self.metric = self.table.numbers("metric").astype(np.int64)
        self.series = self.table.numbers("repetition") * np.int64(len(context.is_peak))
        self.series += self.metric
        self.inclusive: Floats = self.table.numbers("inclusive")
        self.exclusive: Floats = self.table.numbers("exclusive")
        self.has_exclusive: Flags = ~self.table.missing("exclusive")

    # --- what is within the root ------------------------------------------------------------------

    @cached_property
    def not_own(self) -> Ints:
        """The series of which a path is no section that knows its own value."""
        is_odd = (self.path != 0) & ~(self.has_exclusive & self.context.is_section[self.path])
        return distinct_numbers(self.series[is_odd])

    @cached_property
    def own(self) -> Ints:
        """The series whose values below the root are taken for sums of sections' own."""
        is_sum = ~self.context.is_ratio[self.metric]
        below = distinct_numbers(self.series[(self.path != 0) & is_sum])
        return np.setdiff1d(below, np.union1d(self.not_own, self.known.not_own))

    def within(self) -> SumsBelowRoot:
        """Return the sums of the paths below the root, at every location that has any."""
        below = self.path != 0
        is_own = below & np.isin(self.series, self.own)
        is_peak = self.context.is_peak[self.metric]
        groups = [
            self._each_alone(np.flatnonzero(is_own & ~is_peak)),
            self._moments(np.flatnonzero(is_own & is_peak)),
            self._outermost(np.flatnonzero(below & ~is_own)),
        ]
        keys, values, counts = (np.concatenate(parts) for parts in zip(*groups, strict=True))
        order = np.argsort(keys, kind="stable")
        return SumsBelowRoot(keys[order], values[order], counts[order])

    def _lines(self, location: Ints) -> Ints:
        """Return locations, and in further columns what they are in; -1 beyond the outermost."""
        return self._all_lines[location]

    @cached_property
    def _all_lines(self) -> Ints:
        # The last one is that of -1, which is in nothing.
        columns = [np.append(np.arange(len(self.context.parents)), -1)]
        while (columns[-1] >= 0).any():
            last = columns[-1]
            columns.append(np.where(last >= 0, self.context.parents[last], -1))
        return np.stack(columns[:-1] or columns, axis=1)

    def _key(self, series: Ints, location: Ints) -> Ints:
        return series * len(self.context.parents) + location

    def _each_alone(self, rows: Ints) -> SumsBelowRoot:
        """Return sums of exclusive values, of each location and all that it is in."""
        lines = self._lines(self.location[rows])
        keys = self._key(self.series[rows][:, None], lines)
        weights = np.broadcast_to(self.exclusive[rows][:, None], lines.shape)
        is_there = lines >= 0
        if is_there.all():
            return SumsBelowRoot(*sum_by_key(keys.ravel(), weights.ravel()))
        return SumsBelowRoot(*sum_by_key(keys[is_there], weights[is_there]))

    def _moments(self, rows: Ints) -> SumsBelowRoot:
        """Return the same of times, of which several threads of a process have the same ones.

        Of each path its longest thread counts. What is below an outermost path comes to no more
        than that; what other threads had at the same time is in it once.
        """
        if not len(rows):
            return SumsBelowRoot(NOTHING, np.zeros(0), NOTHING)
        location, path, series = self.location[rows], self.path[rows], self.series[rows]
        exclusive, inclusive = self.exclusive[rows], self.inclusive[rows]
        is_thread = self.context.is_thread[location]
        threads = SumsBelowRoot(
            *sum_by_key(self._key(series[is_thread], location[is_thread]), exclusive[is_thread])
        )
        home = np.where(is_thread, self.context.parents[location], location)
        # One number for each series and home, and for each of their paths.
        homes, of_home = number_in_order(self._key(series, home))
        n_paths = len(self.context.above)
        pairs, of_pair = number_in_order(of_home * n_paths + path)
        own, whole = np.zeros(len(pairs)), np.zeros(len(pairs))
        # Which thread is the longest nobody knows where the value of one is NaN.
        with np.errstate(invalid="ignore"):
            np.maximum.at(own, of_pair, exclusive)
            np.maximum.at(whole, of_pair, inclusive)
        top = self._tops(pairs % n_paths)
        outer, of_outer = number_in_order(pairs // n_paths * n_paths + top)
        inside = np.bincount(of_outer, weights=own, minlength=len(outer))
        # What has no value itself does not limit what is below.
        limit = np.full(len(outer), np.inf)
        order = np.argsort(pairs, kind="stable")
        place = np.minimum(np.searchsorted(pairs[order], outer), len(pairs) - 1)
        has_limit = pairs[order][place] == outer
        limit[has_limit] = whole[order][place][has_limit]
        inside = np.where(limit < inside, limit, inside)
        values = np.bincount(outer // n_paths, weights=inside, minlength=len(homes))
        n_locations = len(self.context.parents)
        lines = self._lines(homes % n_locations)
        is_there = lines >= 0
        keys = self._key((homes // n_locations)[:, None], lines)[is_there]
        weights = np.broadcast_to(values[:, None], lines.shape)[is_there]
        climbed = sum_and_count(keys, weights)
        return SumsBelowRoot(*map(np.concatenate, zip(threads, climbed, strict=True)))

    def _tops(self, paths: Ints) -> Ints:
        """Return the paths right below the root that paths are below, or are."""
        above = self.context.above
        tops = paths.copy()
        inner = np.flatnonzero(above[tops] != 0)
        while len(inner):
            tops[inner] = above[tops[inner]]
            inner = inner[above[tops[inner]] != 0]
        return tops

    def _outermost(self, rows: Ints) -> SumsBelowRoot:
        """Return sums of inclusive values of the paths that are below no other with a value.

        What a location has of a path includes what those in it have of the path and below. Times
        of one that has some itself are no sums with those of others in it.
        """
        if not len(rows):
            return SumsBelowRoot(NOTHING, np.zeros(0), NOTHING)
        location, path, series = self.location[rows], self.path[rows], self.series[rows]
        is_peak = self.context.is_peak[self.metric[rows]]
        values = np.where(self.context.is_ratio[self.metric[rows]], np.nan, self.inclusive[rows])
        series_elsewhere, paths_elsewhere = self.known.rows
        of_command = self._key(series_elsewhere, np.zeros_like(series_elsewhere))
        timed = np.unique(np.concatenate([self._key(series, location), of_command]))
        numbers = np.concatenate([path, paths_elsewhere])
        keys = np.concatenate([self._key(series, location), of_command])
        values_at = _Pairs(keys, numbers, len(self.context.above))
        lines = self._lines(location)
        is_there = lines >= 0
        going = np.arange(len(rows))
        for step in range(lines.shape[1]):
            place = lines[going, step]
            key = self._key(series[going], place)
            stops = (place < 0) | self._has_above(values_at, key, path[going], is_own=step == 0)
            if step:
                stops |= is_peak[going] & _among(timed, key)
            is_there[going[stops], step:] = False
            going = going[~stops]
        is_sum = np.broadcast_to(~is_peak[:, None], lines.shape).copy()
        is_sum[:, 0] = True
        keys = self._key(series[:, None], lines)
        weights = np.broadcast_to(values[:, None], lines.shape)
        sums = sum_by_key(keys[is_there & is_sum], weights[is_there & is_sum])
        single = sum_and_count(keys[is_there & ~is_sum], weights[is_there & ~is_sum])
        return SumsBelowRoot(*map(np.concatenate, zip(sums, single, strict=True)))

    def _has_above(self, values_at: _Pairs, key: Ints, path: Ints, *, is_own: bool) -> Flags:
        """Return which locations have a value of a path above, or of this one not its own."""
        is_above_any = np.zeros(len(key), dtype=bool) if is_own else values_at.has(key, path)
        above = self.context.above[path]
        left = np.flatnonzero(~is_above_any & (above > 0))
        while len(left):
            is_above = values_at.has(key[left], above[left])
            is_above_any[left[is_above]] = True
            left = left[~is_above]
            above[left] = self.context.above[above[left]]
            left = left[above[left] > 0]
        return is_above_any

    # --- what remains -----------------------------------------------------------------------------

    def settled(self, within: SumsBelowRoot) -> Table:
        """Return the rows, of roots with what is their own."""
        roots = np.flatnonzero(self.path == 0)
        keys = self._key(self.series[roots], self.location[roots])
        if not len(within.keys) or not len(roots):
            return self.table
        place = np.minimum(np.searchsorted(within.keys, keys), len(within.keys) - 1)
        has_parts = within.keys[place] == keys
        roots, place = roots[has_parts], place[has_parts]
        inside = np.where(within.counts[place] <= 1, within.values[place], np.nan)
        inside = np.where(np.isfinite(inside), inside, np.nan)
        own = self.inclusive[roots] - inside
        # Parts that overlap, or that several processes had at a time, are more than it.
        is_known = own >= -_ROUNDING * np.abs(inside)
        exclusive, missing = self.exclusive.copy(), ~self.has_exclusive
        exclusive[roots] = np.where(is_known, np.maximum(own, 0.0), 0.0)
        missing[roots] = ~is_known
        return self.table.replaced(exclusive=exclusive).with_mask("exclusive", missing)

    def below(self) -> tuple[Ints, Ints]:
        """Return the series and path of each row below the root."""
        below = self.path != 0
        return self.series[below], self.path[below]

    def of_ranks(self) -> list[RankTotals]:
        """Return the totals of the ranks on their roots, without ratios."""
        is_wanted = self.context.is_rank[self.location] & (self.path == 0)
        rows = np.flatnonzero(is_wanted & ~self.context.is_ratio[self.metric])
        by_series: dict[int, RankTotals] = {}
        cells = (self.series, self.inclusive, self.exclusive, self.has_exclusive, self.metric)
        for series, inclusive, exclusive, has_own, metric in zip(
            *(column[rows].tolist() for column in cells), strict=True
        ):
            rank_values = RankTotals(series, inclusive, exclusive if has_own else None)
            before = by_series.get(series)
            is_peak = bool(self.context.is_peak[metric])
            by_series[series] = (
                rank_values if before is None else together(before, rank_values, is_peak=is_peak)
            )
        return list(by_series.values())


def together(first: RankTotals, other: RankTotals, *, is_peak: bool) -> RankTotals:
    """Return the total of two groups of ranks."""
    if is_peak:
        most = _largest(first.inclusive, other.inclusive)
        return RankTotals(first.series, most, most)
    is_known = first.exclusive is not None and other.exclusive is not None
    own = (first.exclusive or 0.0) + (other.exclusive or 0.0) if is_known else None
    return RankTotals(first.series, first.inclusive + other.inclusive, own)


def _largest(one: float, other: float) -> float:
    """Return the larger of two values, of which NaN is not known."""
    return one if one >= other or isnan(other) else other


def joined(parts: Sequence[SumsBelowRoot]) -> SumsBelowRoot:
    """Return the results of several batches of rows, in their order."""
    keys, values, counts = (np.concatenate(one) for one in zip(*parts, strict=True))
    distinct, sums, _ = sum_by_key(keys, values)
    return SumsBelowRoot(distinct, sums, sum_by_key(keys, counts)[1].astype(np.int64))


class _Pairs:
    """A set of pairs of a key and the number of a path.

    Args:
        keys: of each pair.
        paths: of each pair.
        n_paths: how many numbers there are.
    """

    def __init__(self, keys: Ints, paths: Ints, n_paths: int) -> None:
        self._keys, of_key = np.unique(keys, return_inverse=True)
        self._n_paths = n_paths
        self._pairs = distinct_numbers(of_key * n_paths + paths)

    def has(self, keys: Ints, paths: Ints) -> Flags:
        """Return which pairs are in the set."""
        place = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        is_key: Flags = self._keys[place] == keys
        is_key &= _among(self._pairs, place * self._n_paths + paths)
        return is_key


def _among(ordered: Ints, wanted: Ints) -> Flags:
    """Return which numbers are among those that ascend."""
    place = np.minimum(np.searchsorted(ordered, wanted), len(ordered) - 1)
    return np.asarray(ordered[place] == wanted)


def keys_of(table: Table, context: RowContext) -> Ints:
    """Return a number for each row: the same for all of one combination of numbers."""
    n = len(table)
    sizes = (len(context.parents), len(context.above), len(context.is_peak))
    key = table.numbers("repetition").astype(np.int64)
    for name, size in zip(("location", "path", "metric"), sizes, strict=True):
        if n and int(key.max()) * size >= 1 << _KEY_BITS:
            key = np.unique(key, return_inverse=True)[1].astype(np.int64)
        key = key * size + table.numbers(name)
    return key


def _first_of_each(table: Table, context: RowContext) -> Table:
    """Return the rows without those whose combination of numbers an earlier one has."""
    n, key = len(table), keys_of(table, context)
    # As they are written, mostly.
    if (key[1:] > key[:-1]).all():
        return table
    first = np.unique(key, return_index=True)[1]
    return table if len(first) == n else table.taken(np.sort(first))
