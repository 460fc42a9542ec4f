"""Which events are watched: those asked for, or some that tell much of any machine."""

from __future__ import annotations

from collections.abc import Sequence

from gnomon.counters.component import Event
from gnomon.counters.event_resolver import EventResolution, resolve
from gnomon.counters.perf_spec import PerfSpec
from gnomon.counters.sysfs_pmu import core_pmus
from gnomon.errors import EventNameError
from gnomon.measurement.event_selection import SelectedGroup, groups_with_events
from gnomon.model.value import Unavailable
from gnomon.named_tuple import NamedTuple
from gnomon.stat.targets import TargetSelection

SOFTWARE = ("context-switches", "cpu-migrations", "page-faults", "major-faults")
HARDWARE = ("cycles", "instructions", "cache-misses", "branch-misses")
NODE_WIDE = (
    "io:::disk_read_bytes",
    "io:::disk_write_bytes",
    "network:::rx_bytes",
    "network:::tx_bytes",
)
"""What is counted where nobody says what: eight events on each CPU, and what belongs to none."""


class WatchedEvents(NamedTuple):
    """What will be counted, and what not.

    Attributes:
        chosen: the events.
        groups: the event groups that were asked for.
        unavailable: events that exist but cannot be counted on this machine.
        is_default: the user chose no events.
        names: the events in the order asked for.
    """

    chosen: TargetSelection
    groups: tuple[SelectedGroup, ...]
    unavailable: tuple[Unavailable, ...]
    is_default: bool
    names: tuple[str, ...]


def choose(events: Sequence[str], groups: Sequence[str], *, machine: bool) -> WatchedEvents:
    """Return the events to count.

    Args:
        events: event lists.
        groups: numbers, names or files of event groups; of several the hardware events take
            turns, what the kernel counts is counted all the time.
        machine: the whole machine is watched, and not processes or cgroups.

    Raises:
        UsageError: there is no such group, or an event list is wrong.
        EventNameError: nothing here answers to a name.
    """
    if not events and not groups:
        return _default(machine=machine)
    wanted = groups_with_events(groups) if groups else ()
    extra = resolve(events) if events else EventResolution((), ())
    chosen: dict[str, Event] = {event.name: event for event in extra.events}
    missing = {one.event: one for one in extra.unavailable}
    turns: list[tuple[Event, ...]] = []
    names = list(chosen)
    for group in wanted:
        own = []
        for event in group.wanted.events:
            names.append(event.name)
            takes_turns = len(wanted) > 1 and isinstance(event.spec, PerfSpec)
            if takes_turns and event.spec.hardware and event.name not in chosen:
                own.append(event)
            else:
                chosen.setdefault(event.name, event)
        # One that several groups have counts in the first one's turns.
        taken = {event.name for turn in turns for event in turn}
        turns.append(tuple(event for event in own if event.name not in taken))
        missing.update((one.event, one) for one in group.wanted.unavailable)
    turns = [turn for turn in turns if turn]
    if len(turns) == 1:
        chosen.update((event.name, event) for event in turns.pop())
    perf = tuple(event for event in chosen.values() if isinstance(event.spec, PerfSpec))
    rest = tuple(event for event in chosen.values() if event not in perf)
    return WatchedEvents(
        TargetSelection(perf, tuple(turns), rest, vitals=False),
        wanted,
        tuple(missing.values()),
        is_default=False,
        names=tuple(dict.fromkeys(names)),
    )


def _default(*, machine: bool) -> WatchedEvents:
    events: list[Event] = []
    missing: list[Unavailable] = []
    hardware = HARDWARE if core_pmus() else HARDWARE[:1]
    for name in (*SOFTWARE, *hardware, *(NODE_WIDE if machine else ())):
        try:
            resolved = resolve(name)
        except EventNameError:
            continue
        events += resolved.events
        missing += resolved.unavailable
    perf = tuple(event for event in events if isinstance(event.spec, PerfSpec))
    rest = tuple(event for event in events if event not in perf)
    names = tuple(event.name for event in events)
    return WatchedEvents(
        TargetSelection(perf, (), rest), (), tuple(missing), is_default=True, names=names
    )
