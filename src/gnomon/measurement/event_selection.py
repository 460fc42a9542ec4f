"""The events and groups that were asked for, as they are counted here."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from gnomon.counters.event_resolver import EventResolution
from gnomon.errors import GnomonError
from gnomon.measurement.measurement_metrics import core_models
from gnomon.metrics import user_definitions
from gnomon.metrics.user_constants import read_user_constants
from gnomon.model.value import Scope
from gnomon.named_tuple import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gnomon.metrics.groups import Group

DEFAULT_GROUP = 0


def events_of_groups(wanted: Iterable[str]) -> tuple[str, ...]:
    """Return the event names of groups given by number, name or file, each once.

    Raises:
        UsageError: there is no such group, a file of groups is wrong, or a number that the
            environment states is none.
    """
    return tuple(dict.fromkeys(event for group in select_groups(wanted) for event in group.events))


def select_groups(wanted: Iterable[str]) -> tuple[Group, ...]:
    """Return the groups of numbers, names or files.

    Raises:
        UsageError: as `events_of_groups`.
    """
    check_user_constants()
    return user_definitions.select_groups(wanted, core_models, is_event)


def select_events(names: str | Iterable[str]) -> EventResolution:
    """Return the events of event lists as a task of a job counts them, which most programs are not.

    Raises:
        EventNameError: a name that nothing here answers to; carries the nearest right ones.
        UsageError: the list itself is malformed.
    """
    from gnomon.counters.event_resolver import resolve

    resolved = resolve(names)
    if all(event.info.scope is not Scope.NODE for event in resolved.events):
        return resolved
    from gnomon.measurement.per_node import only_first_rank_of_node

    return only_first_rank_of_node(resolved)


def without_processes(wanted: EventResolution) -> EventResolution:
    """Return the events that no process needs to be named for: those of CPUs and the machine."""
    kept = tuple(event for event in wanted.events if event.info.scope is not Scope.PROCESS)
    return wanted._replace(events=kept)


def check_user_constants() -> None:
    """Check the numbers that the environment states, before the program runs and not after.

    Raises:
        UsageError: one of them is none.
    """
    read_user_constants(os.environ)


def is_event(event: str) -> bool:
    """Return whether there is an event of such a name on this machine."""
    from gnomon.counters.event_resolver import one

    try:
        return bool(one(event))
    except GnomonError:
        return False


class SelectedGroup(NamedTuple):
    """A group that was asked for, and its events as they are counted here."""

    number: int
    name: str
    description: str
    wanted: EventResolution


def groups_with_events(
    words: Iterable[str], extra: Sequence[str] = ()
) -> tuple[SelectedGroup, ...]:
    """Return the groups of numbers, names or files, each once, in the order asked for.

    Args:
        words: numbers, names or files.
        extra: event lists that are counted with every group.

    Raises:
        UsageError: there is no such group, or a name of an event is wrong.
    """
    return tuple(
        SelectedGroup(g.number, g.name, g.description, select_events([*extra, *g.events]))
        for g in dict.fromkeys(select_groups(words))
    )
