"""Sums by key, of columns of NumPy; where keys are close to each other, without sorting them.

Every sum is formed in the order of the rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

_DENSE_MOST = 1 << 22

Ints = NDArray[Any]
Floats = NDArray[Any]

NOTHING = np.zeros(0, dtype=np.int64)


def distinct_numbers(numbers: Ints) -> Ints:
    """Return each number once, ascending."""
    if not len(numbers):
        return NOTHING
    least = int(numbers.min())
    n = int(numbers.max()) - least + 1
    if n > max(_DENSE_MOST, 4 * len(numbers)):
        # np.unique() looks each one up in a table, which takes ten times as long.
        ordered = np.sort(numbers)
        return ordered[np.concatenate(([True], ordered[1:] != ordered[:-1]))]
    there = np.zeros(n, dtype=bool)
    there[numbers - least] = True
    return np.flatnonzero(there) + least


def sum_by_key(keys: Ints, weights: Any) -> tuple[Ints, Floats, Ints]:  # noqa: ANN401
    """Return each key once, ascending, and the sum of its weights in the order of the rows."""
    if not len(keys):
        return NOTHING, np.zeros(0), NOTHING
    least = int(keys.min())
    n = int(keys.max()) - least + 1
    if n <= max(_DENSE_MOST, 4 * len(keys)):
        places = keys - least
        there = np.zeros(n, dtype=bool)
        there[places] = True
        distinct = np.flatnonzero(there)
        sums = np.bincount(places, weights=weights, minlength=n)[distinct]
        distinct = distinct + least
    else:
        distinct, places = np.unique(keys, return_inverse=True)
        sums = np.bincount(places, weights=weights)
    return distinct, sums, np.zeros(len(distinct), dtype=np.int64)


def sum_and_count(keys: Ints, weights: Floats) -> tuple[Ints, Floats, Ints]:
    """Return each key once, the sum of its weights and how many it has."""
    distinct, sums, _ = sum_by_key(keys, weights)
    return distinct, sums, sum_by_key(keys, np.ones(len(keys)))[1].astype(np.int64)


def number_in_order(keys: Ints) -> tuple[Ints, Ints]:
    """Return each key once, in the order of their first appearance, and which each one is."""
    distinct, first, places = np.unique(keys, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    return distinct[order], rank[places]
