"""Which event set counts where: one for each component and thread, or CPU.

Two at once would share the counters of a PMU, each for half the time. A set of a process is in the
way of those of its threads, and they in its. Sets are known weakly: one that is dropped while it
counts is gone.
"""

from __future__ import annotations

import os
from _thread import RLock, get_native_id
from collections.abc import Collection, Iterable
from weakref import WeakValueDictionary

from gnomon.counters.component import Granularity, Target
from gnomon.counters.perf_targets import threads
from gnomon.errors import RunningError

Place = tuple[str, int]
"""What is counted: a kind of thing, and its number."""

Key = tuple[int, str, Place]
"""The process that counts, the component, and what is counted."""

_counting: WeakValueDictionary[Key, object] = WeakValueDictionary()
# Threads start their sets at the same time. Reentrant, as a set that is dropped may be
# finalized, and released, within `claim`.
_lock = RLock()


def _renew_lock() -> None:
    """Replace a lock that another thread of the parent may have held when it forked."""
    global _lock
    _lock = RLock()


os.register_at_fork(after_in_child=_renew_lock)


def place(target: Target) -> Place | None:
    """Return a target's thread, process or CPU; None for a command, which does not exist yet."""
    if target.command:
        return None
    pid = target.pid or 0
    if target.granularity is Granularity.SYSTEM:
        return ("system", 0)
    if target.granularity is Granularity.CPU or pid == -1:
        return ("cpu", target.cpu)
    if target.granularity is Granularity.THREAD:
        return ("task", pid or get_native_id())
    return (target.granularity, pid or os.getpid())


def claim(events: object, components: Collection[str], where: Place) -> tuple[Key, ...]:
    """Note that a set counts events of these components there; return what to `release`.

    `events` is the set, named in messages by its text.

    Raises:
        RunningError: another set does, there or in a place that overlaps; the message names it.
    """
    # A child has its parent's table, but what stands in it counts the parent.
    keys = tuple((os.getpid(), component, where) for component in components)
    with _lock:
        for key, other in list(_counting.items()):
            is_ours = key[0] == os.getpid() and key[1] in components and other is not events
            if is_ours and _overlap(where, key[2]):
                raise RunningError(
                    f"{other} counts events of component '{key[1]}' here already: "
                    "stop it first, or add the events to it"
                )
        for key in keys:
            _counting[key] = events
    return keys


def _overlap(one: Place, other: Place) -> bool:
    return one == other or _is_within(one, other) or _is_within(other, one)


def _is_within(inner: Place, outer: Place) -> bool:
    (kind, number), (around, of) = inner, outer
    if around == "system":
        return kind == "cpu"
    if around == Granularity.PROCESS_GROUP:
        group = _group_of(of) if kind in ("task", Granularity.PROCESS) else None
        return group is not None and _group_of(number) == group
    if around == Granularity.PROCESS:
        return kind == "task" and number in threads(of)
    return False


def _group_of(pid: int) -> int | None:
    try:
        return os.getpgid(pid)
    except ProcessLookupError:
        return None


def release(keys: Iterable[Key]) -> None:
    """Forget what a set counts."""
    with _lock:
        for key in keys:
            _counting.pop(key, None)
