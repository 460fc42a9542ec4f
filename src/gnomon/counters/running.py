"""Which event set counts where: one for each component and thread.

Two at once would share the counters of a PMU without saying so. Sets are known weakly: one that is
dropped while it counts is gone.
"""

from __future__ import annotations

import os
from _thread import get_native_id
from collections.abc import Iterable
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from gnomon.counters.component import Granularity, Target
from gnomon.errors import RunningError

if TYPE_CHECKING:
    from gnomon.counters.composition import Composition

Place = tuple[str, int]
"""What is counted: a kind of thing, and its number."""

Key = tuple[int, str, Place]
"""The process that counts, the component, and what is counted."""

_counting: WeakValueDictionary[Key, Composition] = WeakValueDictionary()


def place(target: Target) -> Place | None:
    """Return what a target counts; None for a command, which does not exist yet."""
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


def claim(events: Composition, components: Iterable[str], where: Place) -> tuple[Key, ...]:
    """Note that a set counts events of these components there; return what to `release`.

    Raises:
        RunningError: another set does; the message names it.
    """
    # A child has its parent's table, but what stands in it counts the parent.
    keys = tuple((os.getpid(), component, where) for component in components)
    for key in keys:
        other = _counting.get(key)
        if other is not None and other is not events:
            raise RunningError(
                f"{other} counts events of component '{key[1]}' here already: stop it first, or "
                "add the events to it"
            )
    for key in keys:
        _counting[key] = events
    return keys


def release(keys: Iterable[Key]) -> None:
    """Forget what a set counts."""
    for key in keys:
        _counting.pop(key, None)
