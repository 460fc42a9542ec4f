"""Shipped aggregators as they are loaded: their reduction, over tasks that a test makes up."""

from __future__ import annotations

import ctypes as c
import math
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import gnomon

PLUGINS = Path(gnomon.__path__[0]) / "lib" / "gnomon" / "plugins"
TIMES = 8
WALL = 0
ROUNDS = 20


class Spread(c.Structure):
    """hpm_spread."""

    _fields_ = (
        ("n", c.c_int), ("minimum", c.c_double), ("maximum", c.c_double),
        ("deviation", c.c_double), ("min_task", c.c_int), ("max_task", c.c_int),
        ("n_bins", c.c_int), ("bins", c.POINTER(c.c_longlong)),
    )  # fmt: skip


class Info(c.Structure):
    """hpm_event_info."""

    _fields_ = (
        ("name", c.c_char_p), ("component", c.c_char_p), ("unit", c.c_char_p),
        ("description", c.c_char_p), ("reason", c.c_char_p), ("value", c.c_double),
        ("enabled_s", c.c_double), ("running_s", c.c_double), ("how", c.c_int),
        ("modes", c.c_int), ("flags", c.c_int), ("spread", c.POINTER(Spread)),
    )  # fmt: skip


class Item(c.Structure):
    """hpm_data_item."""

    _fields_ = (
        ("num_data", c.c_int), ("data", c.POINTER(Info)), ("times", c.c_double * TIMES),
        ("is_mplex_cont", c.c_int), ("is_rusage", c.c_int), ("mpi_task_id", c.c_int),
        ("instr_id", c.c_int), ("count", c.c_int), ("is_exclusive", c.c_int),
        ("xml_element_id", c.c_int), ("description", c.c_char_p), ("xml_descr", c.c_char_p),
        ("label", c.c_char_p), ("group", c.c_char_p), ("file", c.c_char_p),
        ("parent_label", c.c_char_p), ("line", c.c_int), ("parent_id", c.c_int),
        ("thread_id", c.c_int), ("process_id", c.c_int), ("n_tasks", c.c_int),
        ("tasks", c.c_char_p), ("times_spread", c.POINTER(Spread)),
    )  # fmt: skip


class Blob(c.Structure):
    """hpm_blob."""

    _fields_ = (("data", c.c_void_p), ("size", c.c_size_t))


_P = c.POINTER
_PARTIAL = c.CFUNCTYPE(c.c_int, c.c_int, _P(Blob), c.c_int, c.c_int, _P(Item), _P(Blob))
_MERGE = c.CFUNCTYPE(c.c_int, c.c_int, _P(Blob), _P(Blob))
_NEXT = c.CFUNCTYPE(c.c_int, c.c_int, _P(Blob), _P(Blob), _P(c.c_int))
_FINISH = c.CFUNCTYPE(
    c.c_int, _P(Blob), c.c_int, c.c_int, _P(Item), _P(c.c_int), _P(_P(Item)), _P(c.c_int)
)


class _Reduction(c.Structure):
    _fields_ = (("partial", _PARTIAL), ("merge", _MERGE), ("next", _NEXT), ("finish", _FINISH))


class Result(NamedTuple):
    """What one task prints, what it took to find out, and what the items point to."""

    items: list[Item]
    rounds: int
    largest: int
    kept: object


def _free(blob: Blob) -> None:
    libc = c.CDLL(None)
    libc.free.argtypes = [c.c_void_p]
    libc.free(blob.data)
    blob.data, blob.size = None, 0


def events(**counts: float | None) -> list[Info]:
    """Return events with these values; None: not available."""
    return [
        Info(
            name=name.encode(), component=b"kernel", unit=b"", description=b"",
            reason=b"it is not here" if value is None else b"",
            value=math.nan if value is None else value, enabled_s=2, running_s=2,
            how=-1 if value is None else 0, modes=7,
        )
        for name, value in counts.items()
    ]  # fmt: skip


def item(data: Sequence[Info], wall: float = 1.0, **more: Any) -> Item:
    """Return an item whose times but the wall time are not known."""
    made = Item(
        num_data=len(data), data=(Info * len(data))(*data), mpi_task_id=-1, count=1,
        label=b"section", group=b"group", instr_id=1,
    )  # fmt: skip
    made.times[:] = [math.nan] * TIMES
    made.times[WALL] = wall
    for name, value in more.items():
        setattr(made, name, value)
    return made


def usage(task: int) -> Item:
    """Return resource usage: what comes first of every task."""
    return item(events(ru_utime=task / 4, ru_ixrss=None), is_rusage=1, label=None, instr_id=0)


def load(name: str) -> _Reduction:
    """Return the reduction of a shipped plug-in."""
    library = c.CDLL(str(PLUGINS / f"{name}.so"))
    return _Reduction.in_dll(library, "hpm_reduction_of_plugin")


def _total(
    reduction: _Reduction, number: int, parts: dict[int, Blob], shuffle: random.Random | None
) -> tuple[Blob, int]:
    """Merge as the tree does, task t into (t - 1) / 16, or in any order; return it and the size."""
    largest = max(blob.size for blob in parts.values())

    def merge(into: int, other: int) -> None:
        nonlocal largest
        assert reduction.merge(number, c.byref(parts[into]), c.byref(parts[other])) == 0
        _free(parts.pop(other))
        largest = max(largest, parts[into].size)

    if shuffle is None:
        for task in sorted(parts, reverse=True)[:-1]:
            merge(max(t for t in parts if t <= (task - 1) // 16 or t == min(parts)), task)
    while len(parts) > 1:
        assert shuffle is not None
        merge(*shuffle.sample(sorted(parts), 2))
    return parts.popitem()[1], largest


def reduce_items(
    name: str, tasks: Mapping[int, Sequence[Item]], shuffle: random.Random | None = None
) -> dict[int, Result]:
    """Return what each task prints that prints."""
    reduction = load(name)
    vectors = {task: (Item * len(items))(*items) for task, items in tasks.items()}
    known, done, largest, number = Blob(), c.c_int(0), 0, 0
    while not done:
        assert number < ROUNDS
        parts = {}
        for task, items in vectors.items():
            parts[task] = Blob()
            assert not reduction.partial(
                number, c.byref(known), task, len(items), items, c.byref(parts[task])
            )
        total, size = _total(reduction, number, parts, shuffle)
        largest = max(largest, size)
        assert reduction.next(number, c.byref(total), c.byref(known), c.byref(done)) == 0
        _free(total)
        number += 1
    results = {}
    for task, items in vectors.items():
        n, out, prints = c.c_int(0), _P(Item)(), c.c_int(0)
        assert not reduction.finish(
            c.byref(known), task, len(items), items, c.byref(n), c.byref(out), c.byref(prints)
        )
        if prints:
            results[task] = Result(out[: n.value], number, largest, items)
    _free(known)
    return results


def by_name(found: Item) -> dict[str, Info]:
    """Return an item's events by name."""
    return {info.name.decode(): info for info in found.data[: found.num_data]}


def each(tasks: Iterable[int], make: Callable[[int], list[Item]]) -> dict[int, list[Item]]:
    """Return tasks with resource usage and what `make` gives for them."""
    return {task: [usage(task), *make(task)] for task in tasks}
