"""The matrix of messages, senders by receivers, as cells that a screen has room for.

Senders and receivers are put into one order, in groups or not; an axis shows a part of it, divided
into its groups, or where it is within one, into blocks of as many ranks each.
"""

from __future__ import annotations

import numpy as np

from gnomon.errors import UsageError
from gnomon.model.array_types import Flags, Floats, Ints, Longs
from gnomon.named_tuple import NamedTuple
from gnomon.view.messages import BYTES, Messages, Pairs

BLOCK, HOST, COMMUNITY = "block", "host", "community"
DIVISIONS = (BLOCK, HOST, COMMUNITY)
"""By what senders and receivers are put together: consecutive ranks, hosts, communities."""

CELLS_MOST = 256
"""More rows or columns than this no screen shows."""


class Order(NamedTuple):
    """Senders and receivers in the order of a matrix.

    Attributes:
        place: where each of them stands, by its position in `Messages.locations`.
        begins: where each group begins; [0] without groups.
        names: of groups; [] without any.
    """

    place: Ints
    begins: Longs
    names: list[str]

    @property
    def n(self) -> int:
        """How many senders and receivers there are."""
        return len(self.place)


class Axis(NamedTuple):
    """A part of an order, divided.

    Attributes:
        edges: where each cell begins, and at the end where the last one ends.
        names: of each cell.
    """

    edges: Longs
    names: list[str]

    @property
    def n(self) -> int:
        """How many cells there are."""
        return len(self.edges) - 1


class Cells(NamedTuple):
    """The cells of a matrix that have any messages.

    Attributes:
        cell: number of the row times the number of columns, plus that of the column.
        bytes, messages: sums.
        pairs: how many senders and receivers there are of these.
        heaviest: the position of the pair that has most, in `Pairs`.
        top: the pairs that have most of all cells, most first.
    """

    cell: Ints
    bytes: Floats
    messages: Floats
    pairs: Ints
    heaviest: Longs
    top: Longs


def ordered(group: Ints, names: list[str]) -> Order:
    """Return senders and receivers by group, and in each by rank.

    Args:
        group: number of each one's group, in the order of ranks.
        names: of the groups.
    """
    order = np.argsort(group, kind="stable")
    place = np.empty(len(order), dtype=np.int32)
    place[order] = np.arange(len(order), dtype=np.int32)
    begins = np.flatnonzero(np.diff(group[order], prepend=-1))
    return Order(place, begins, [names[at] for at in group[order][begins].tolist()])


def in_ranks(messages: Messages) -> Order:
    """Return senders and receivers as they are, by rank."""
    return Order(np.arange(messages.n, dtype=np.int32), np.zeros(1, dtype=np.int64), [])


def axis(messages: Messages, order: Order, begin: int, end: int, most: int) -> Axis:
    """Return the part of an order from one place to before another, in so many cells at most.

    Raises:
        UsageError: there is no such part.
    """
    if not order.n:
        return Axis(np.zeros(1, dtype=np.int64), [])
    if not 0 <= begin < end <= order.n:
        raise UsageError(
            f"from {begin} to {end}: there are {order.n} senders and receivers, from 0 on"
        )
    first = int(np.searchsorted(order.begins, begin, side="right")) - 1
    last = int(np.searchsorted(order.begins, end, side="left"))
    at_place = np.argsort(order.place)
    if order.names and last - first > 1:
        step = -(-(last - first) // most)
        starts = np.maximum(order.begins[first:last:step], begin)
        groups = range(first, last, step)
        names = [_group_name(order, group, min(group + step, last)) for group in groups]
        return Axis(np.append(starts, end), names)
    step = 1
    while (end - begin) / step > most:
        step *= 2
    # At multiples of their size, blocks stay what they are when the part is another.
    base = int(order.begins[first])
    starts = np.arange(base + (begin - base) // step * step, end, step)
    edges = np.append(np.maximum(starts, begin), end)
    names = [
        _block_name(messages, at_place[low:high])
        for low, high in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)
    ]
    return Axis(edges, names)


def _group_name(order: Order, first: int, end: int) -> str:
    if end - first == 1:
        return order.names[first]
    return f"{order.names[first]} to {order.names[end - 1]}"


def _block_name(messages: Messages, members: Longs) -> str:
    ranks = messages.rank[members]
    if ranks.min() < 0:
        first = int(members[0])
        return f"{len(members)} places" if len(members) > 1 else messages.titles[first]
    if len(members) == 1:
        return f"rank {ranks[0]}"
    low, high = int(ranks[0]), int(ranks[-1])
    if high - low == len(members) - 1:
        return f"ranks {low} to {high}"
    return f"{len(members)} of the ranks {low} to {high}"


def cells(pairs: Pairs, order: Order, rows: Axis, columns: Axis, measure: str, top: int) -> Cells:
    """Return what the cells of a matrix have.

    Args:
        pairs: those of the run.
        order: of senders and receivers.
        rows: senders.
        columns: receivers.
        measure: one of `MEASURES`: what is most of it comes first.
        top: of how many pairs to tell.
    """
    row, column = (_cell_of_each(order, one) for one in (rows, columns))
    both = np.where(
        (row[pairs.sender] >= 0) & (column[pairs.receiver] >= 0),
        row[pairs.sender].astype(np.int64) * columns.n + column[pairs.receiver],
        -1,
    )
    here: Flags = both >= 0
    n = rows.n * columns.n
    cell = both[here]
    count = np.bincount(cell, minlength=n)
    amount, messages = (
        np.asarray(np.bincount(cell, weights=column[here], minlength=n), np.float64)
        for column in (pairs.bytes, pairs.messages)
    )
    by_measure = np.flatnonzero(here) if measure == BYTES else pairs.by_messages
    if measure != BYTES:
        by_measure = by_measure[here[by_measure]]
    heaviest = np.zeros(n, dtype=np.int64)
    # Of several that are put into one cell the last stays: the one that has most.
    heaviest[both[by_measure]] = by_measure
    used = np.flatnonzero(count)
    return Cells(
        used.astype(np.int32), amount[used], messages[used], count[used].astype(np.int32),
        heaviest[used], by_measure[::-1][:top],
    )  # fmt: skip


def _cell_of_each(order: Order, part: Axis) -> Ints:
    """Return the cell in which each sender or receiver is, -1 for none."""
    cell = np.searchsorted(part.edges, order.place, side="right") - 1
    is_inside = (order.place >= part.edges[0]) & (order.place < part.edges[-1])
    return np.where(is_inside, cell, -1).astype(np.int32)
