"""Values that one set of tables has more than once for the same place.

The merge keeps the first value of a location, path, metric and repetition: so it is meant where two
capabilities know the same. Where one gives two, what they come to, a sum, a peak or neither, only
that one knows: nothing is added up, it is said.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

import numpy as np

from gnomon.model.tables import Table
from gnomon.named_tuple import NamedTuple
from gnomon.store.keyed_sums import Ints
from gnomon.store.table_numbering import NumberedSet
from gnomon.store.table_rows import RowContext, keys_of


class RepeatedValues(NamedTuple):
    """Values of a metric for places of which the same set has one before.

    Attributes:
        name: of the set.
        metric: its number.
        values: how many there are.
    """

    name: str
    metric: int
    values: int


def repeated_values(
    chunks: Sequence[tuple[NumberedSet, Table]], whole: Table, context: RowContext
) -> tuple[RepeatedValues, ...]:
    """Return the values that named sets repeat themselves.

    Args:
        chunks: rows of the profile of each set.
        whole: all of them, with their numbers.
        context: of the numbers.
    """
    key, metrics = keys_of(whole, context), whole.numbers("metric")
    rows_of: dict[str, list[Ints]] = {}
    begin = 0
    for _, group in groupby(chunks, lambda chunk: id(chunk[0])):
        own = list(group)
        name, end = own[0][0].set.name, begin + sum(len(table) for _, table in own)
        first = np.unique(key[begin:end], return_index=True)[1]
        if name and len(first) < end - begin:
            rows_of.setdefault(name, []).append(np.delete(np.arange(begin, end), first))
        begin = end
    return tuple(
        RepeatedValues(name, int(metric), int(values))
        for name, rows in rows_of.items()
        for metric, values in np.stack(
            np.unique(metrics[np.concatenate(rows)], return_counts=True), axis=1
        )
    )


def notes(repeated: Sequence[RepeatedValues], metrics: Table) -> tuple[str, ...]:
    """Return the notes on them for a run with these metrics."""
    names = metrics.texts("name")
    sums: dict[tuple[str, str], int] = {}
    for name, metric, values in repeated:
        key = (name, names[metric])
        sums[key] = sums.get(key, 0) + values
    return tuple(
        f"{name}: {metric}: {values} duplicate values of a location, path and repetition: the "
        f"first is used; please report this bug of {name}"
        for (name, metric), values in sums.items()
    )
