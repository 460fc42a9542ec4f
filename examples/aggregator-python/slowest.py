"""An aggregator of one's own: what the slowest task counted, and how far the others are from it.

    mpirun -n 4 hpmcount -a examples/aggregator-python/slowest.py ./app

With HPM_SLOW_GROUP=GROUP the last task counts another group than the others: the distributor runs
before any variable is read.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from math import isfinite

from gnomon.hpm.ranks import EventInfo, Item, Ranks, Spread

WALLCLOCK = 0

# What travels: the longest wall time with its task, and for each event its least and its greatest
# value with their tasks, and how many tasks have one. Lists and texts are what JSON has.
Extreme = list[float]
Range = tuple[Extreme, Extreme, int]
Partial = tuple[Extreme, dict[str, Range]]


def distributor(environment: MutableMapping[str, str], task: int, tasks: int) -> None:
    """Let the last task count the group of HPM_SLOW_GROUP, where that is set."""
    group = environment.get("HPM_SLOW_GROUP")
    if group and task == tasks - 1:
        environment["HPM_EVENT_SET"] = group


def aggregator(items: list[Item], ranks: Ranks) -> list[Item] | None:
    """Return the items of the task that took longest; the others print nothing."""
    own = [item for item in items if not item.is_rusage]
    seconds = max(item.times[WALLCLOCK] for item in own)
    ranges: dict[str, Range] = {
        place(item, event): ([event.value, ranks.task], [event.value, ranks.task], 1)
        for item in own
        for event in item.data
        if isfinite(event.value)
    }
    # Every task gets the result, because any of them may be the one that prints.
    (_, slowest), total = ranks.allreduce(([seconds, ranks.task], ranges), merged)
    if slowest != ranks.task:
        return None
    spread = {
        name: Spread(n, low[0], high[0], min_task=int(low[1]), max_task=int(high[1]))
        for name, (low, high, n) in total.items()
    }
    words = [f"the slowest of {ranks.tasks} tasks: task {ranks.task}"]
    words += [f"task {gap.first} {gap.why}" for gap in ranks.missing]
    return [
        item._replace(
            description="\n".join(words),
            xml_descr="; ".join(words),
            data=tuple(e._replace(spread=spread.get(place(item, e))) for e in item.data),
        )
        for item in own
    ]


def place(item: Item, event: EventInfo) -> str:
    """Return a name for a value that is the same on every task: section, group, event."""
    return f"{item.label} {item.group} {event.name}"


def merged(one: Partial, other: Partial) -> Partial:
    """Return what two tasks, or two parts of the job, come to; of equals the lower task counts."""
    ranges = {**one[1], **other[1]}
    for name in one[1].keys() & other[1].keys():
        (low, high, n), (their_low, their_high, their_n) = one[1][name], other[1][name]
        ranges[name] = (min(low, their_low), greater(high, their_high), n + their_n)
    return greater(one[0], other[0]), ranges


def greater(one: Extreme, other: Extreme) -> Extreme:
    """Return the greater value with its task."""
    return max(one, other, key=lambda extreme: (extreme[0], -extreme[1]))
