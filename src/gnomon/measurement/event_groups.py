"""The event groups that were asked for, with their events as they are counted here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from gnomon.counters.event_resolver import Resolved
from gnomon.measurement import measurement_metrics


class WantedGroup(NamedTuple):
    """A group that was asked for, and its events as they are counted here."""

    number: int
    name: str
    description: str
    wanted: Resolved


def wanted_groups(words: Iterable[str], extra: Sequence[str] = ()) -> tuple[WantedGroup, ...]:
    """Return the groups of numbers, names or files, each once, in the order asked for.

    Args:
        words: numbers, names or files.
        extra: event lists that are counted with every group.

    Raises:
        UsageError: there is no such group, or a name of an event is wrong.
    """
    return tuple(
        WantedGroup(
            g.number, g.name, g.description, measurement_metrics.wanted([*extra, *g.events])
        )
        for g in dict.fromkeys(measurement_metrics.chosen(words))
    )
