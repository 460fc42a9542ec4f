"""Sums of a profile's values, and which of them count: what a process has, its threads have too."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce

from gnomon.named_tuple import NamedTuple

Key = tuple[str, str, str, int]


class Sum(NamedTuple):
    """A row of the small table: values of one metric under one key, over the locations of a part.

    Attributes:
        key: of what; see `Profile`.
        kind: of the locations: thread, process, command, cpu or core; several kinds, joined by
            `AND`, where each has calls of its own.
        metric: its number.
        locations: how many have values (each repetition's count).
        total: of all of them.
        least, most: of one of them.
        calls: how often the regions were entered, of a place the program; None where not known.
        parts: regions below a program have a part in it.
        whole: a program's value with all below it has.
        is_mixed: it is a sum of what does not add up, which is no value.
        inclusive: of all of them, with what is called from there: that of the outermost path of the
            key, within which others may be. None where it is not known.
        is_code: there are functions or lines in it.
        has_calls: some of these are called from another.
        together: of a time of several places at once, that of one execution over all of them; None
            where values add up.
        inclusive_together: likewise, with what is called from there.
        once: whether it is of calls that are recorded once: not (`MIXED`, there are others in it),
            all of them (`ONCE`), or those among the ones of a mixed sum (`ONCE_OF_MIXED`).
    """

    key: Key
    kind: str
    metric: int
    locations: int
    total: float
    least: float
    most: float
    calls: int | None
    parts: bool
    whole: bool
    is_mixed: bool
    inclusive: float | None = None
    is_code: bool = False
    has_calls: bool = False
    together: float | None = None
    inclusive_together: float | None = None
    once: int = 0


MIXED, ONCE, ONCE_OF_MIXED = range(3)
AND = " and "
"""Between kinds of locations."""


def each_once(sums: Iterable[Sum], by: str, *, of_regions: bool) -> list[Sum]:
    """Return each value once: what a process has, its threads and the command have too.

    Of places, those whose value is of all that ran there come first: the sums of threads or,
    where there are none, those of processes, else of the command, else of CPUs. By rank, what
    is known of a whole rank comes before; by thread, what sections of threads have comes before
    what only the command has.

    What functions and lines have with all that they call is not known where no call of one
    from another is: the rows of each are then of what it has itself.

    Calls that are recorded once, each at one location (`RegionKinds.recorded_once`), are at no
    other: those of processes and of threads are added up.

    Of regions and lines, what a program has without its sections is the value of places that
    have the sections, too. Where it is known of no such place, it is not in the result.

    Args:
        sums: those of a profile, over all its parts.
        by: one of `profile_query.BY`, or "path".
        of_regions: their keys are regions, lines, ..., not places.
    """
    rows = list(sums)
    with_parts: dict[int, str] = {}
    if of_regions:
        for row in rows:
            widest = with_parts.get(row.metric, "")
            if row.parts and _place(_WIDEST, row.kind) < _place(_WIDEST, widest):
                with_parts[row.metric] = row.kind
    with_calls = {row.metric for row in rows if row.has_calls}
    kept = [
        row._replace(inclusive=None) if row.is_code and row.metric not in with_calls else row
        for row in rows
        if not row.is_mixed
    ]
    best: dict[tuple[Key, int], tuple[int, int]] = {}
    orders = [
        _order(row, with_parts.get(row.metric, ""), by, of_regions=of_regions) for row in kept
    ]
    # A place whose program has a value has them in that.
    whole = () if of_regions else {_group(row, by) for row in kept if row.whole}
    can_add = by not in ("process", "thread")
    of_others = [row.once == MIXED or not can_add or _group(row, by) in whole for row in kept]
    for row, order, is_other in zip(kept, orders, of_others, strict=True):
        if is_other:
            best[_group(row, by)] = min(best.get(_group(row, by), order), order)
    chosen = [
        row
        for row, order, is_other in zip(kept, orders, of_others, strict=True)
        if is_other
        and best[_group(row, by)] == order
        and not (row.whole and row.metric in with_parts)
    ]
    if all(of_others):
        return chosen
    return _with_once(
        chosen, [row for row, is_other in zip(kept, of_others, strict=True) if not is_other]
    )


def _order(row: Sum, with_parts: str, by: str, *, of_regions: bool) -> tuple[int, int]:
    """Return the sort key by which the sums that stand for a value are chosen."""
    if of_regions:
        if not with_parts:
            return 0, _place(_FINEST, row.kind)
        return int(row.whole), _place((with_parts, *_WIDEST), row.kind)
    if row.kind == by == "rank":
        return -1, 0
    if by == "thread" and row.kind == "command":
        return 2, 0
    if by in ("process", "thread"):
        return int(not row.whole), _place(_OF_THREADS, row.kind)
    return int(not row.whole), _place(_FINEST if row.whole else _WIDEST, row.kind)


def _group(row: Sum, by: str) -> tuple[Key, int]:
    return (("", "", "", 0) if by in ("process", "thread") else row.key), row.metric


def _with_once(chosen: Sequence[Sum], once: Sequence[Sum]) -> list[Sum]:
    """Return the sums that were chosen of each key, and what is recorded once, in one sum each."""
    has = {(row.key, row.kind, row.metric, row.whole) for row in chosen}
    by_key: dict[tuple[Key, int], list[Sum]] = {}
    for row in chosen:
        by_key.setdefault((row.key, row.metric), []).append(row)
    for row in once:
        if row.once == ONCE or (row.key, row.kind, row.metric, row.whole) not in has:
            by_key.setdefault((row.key, row.metric), []).append(row)
    return [_over_kinds(rows) for rows in by_key.values()]


def _over_kinds(rows: Sequence[Sum]) -> Sum:
    whole = reduce(both, rows)
    kinds = sorted({row.kind for row in rows}, key=lambda kind: _place(_WIDEST, kind))
    return whole._replace(kind=AND.join(kinds))


_FINEST = ("thread", "process", "command", "core", "cpu")
_OF_THREADS = ("thread", "process", "rank", "core", "cpu")
_WIDEST = ("rank", "command", "process", "thread", "core", "cpu")


def _place(order: tuple[str, ...], kind: str) -> int:
    return order.index(kind) if kind in order else len(order)


def both(first: Sum, other: Sum) -> Sum:
    """Return the sum over the locations of both."""
    calls = None if first.calls is None and other.calls is None else 0
    return first._replace(
        locations=first.locations + other.locations,
        total=first.total + other.total,
        least=min(first.least, other.least),
        most=max(first.most, other.most),
        calls=calls if calls is None else (first.calls or 0) + (other.calls or 0),
        parts=first.parts or other.parts,
        is_mixed=first.is_mixed or other.is_mixed,
        inclusive=_both_known(first.inclusive, other.inclusive),
        is_code=first.is_code or other.is_code,
        has_calls=first.has_calls or other.has_calls,
    )


def _both_known(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one + other
