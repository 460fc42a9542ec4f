"""What covers a whole node is counted by one task of each node, not by every one of them.

Power, uncore counters, the network and disks have one value for all that runs: read by every task
of a job they would be added up or averaged as if each task had its own.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from gnomon.counters.event_resolver import EventResolution
from gnomon.launch.job import Job, job
from gnomon.model.value import Scope, Unavailable

# Read where the program runs, it costs nothing, and it is the clock of each task.
_EVERYBODYS = ("tsc",)


def only_first_rank_of_node(
    wanted: EventResolution, environment: Mapping[str, str] = os.environ
) -> EventResolution:
    """Return the requested events that this rank is to count.

    Of events that cover a node, all but the first task of each node say who counts them. Where the
    launcher does not tell who that is, every task counts them, and a note says so.
    """
    own = job(environment)
    covering = [
        event
        for event in wanted.events
        if event.info.scope is Scope.NODE and event.info.component not in _EVERYBODYS
    ]
    if own is None or own.tasks == 1 or not covering:
        return wanted
    if own.local_task is None:
        names = ", ".join(event.name for event in covering)
        note = (
            f"{names}: covers the whole node, and every task counted it: the launcher does not "
            "tell which is the first of its node"
        )
        return wanted._replace(notes=(*wanted.notes, note))
    if own.local_task == 0:
        return wanted
    missing = tuple(Unavailable(event.name, _who(own), "") for event in covering)
    events = tuple(event for event in wanted.events if event not in covering)
    return wanted._replace(
        events=events, unavailable=wanted.unavailable + missing, order=wanted.names
    )


def _who(own: Job) -> str:
    if own.nodes == 1 or (own.tasks is not None and own.local_tasks == own.tasks):
        return "counted by task 0, the first on this node"
    return "counted by the first task on this node"
