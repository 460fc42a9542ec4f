"""The groups that `hpmcount` counts, and how a command is measured with them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gnomon.cli.classical.hpm_options import groups_of, guide_errors

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence

    from gnomon.counters.event_resolver import EventResolution
    from gnomon.hpm.environment import Settings
    from gnomon.measurement.event_selection import SelectedGroup
    from gnomon.measurement.measurement import Measurement


def select_groups(
    arguments: argparse.Namespace, chosen: Settings
) -> tuple[tuple[SelectedGroup, ...], EventResolution]:
    """Return the groups that were asked for, and the events of all of them.

    Raises:
        GuideError: there is no such group.
        EventNameError: a name is wrong.
    """
    from gnomon.measurement import event_selection

    extra = [chosen.events] if chosen.events and arguments.event is not None else []
    if not chosen.groups and chosen.events:
        return (), event_selection.select_events([chosen.events])
    words = groups_of(chosen) or [str(event_selection.DEFAULT_GROUP)]
    groups = guide_errors("hpmcount", lambda: event_selection.groups_with_events(words, extra))
    return groups, groups[0].wanted


def measuring_function(
    command: Sequence[str],
    groups: Sequence[SelectedGroup],
    events: EventResolution,
    repeat: int | None,
    slice_ms: int,
) -> Callable[[], list[Measurement]]:
    """Return the measuring function of a command: groups in turns, or with `repeat` apart."""
    from gnomon.count import command_counters, group_schedule

    if len(groups) > 1 and repeat is not None:
        return lambda: group_schedule.run_apart(
            groups, repeat, lambda own: command_counters.run(command, own)
        )
    if len(groups) > 1:
        return lambda: [group_schedule.run_in_turns(command, groups, slice_ms)]

    def repeated() -> list[Measurement]:
        measurements: list[Measurement] = []
        while len(measurements) < (repeat or 1):
            measurements.append(command_counters.run(command, events))
            if measurements[-1].interrupted:
                break
        return measurements

    return repeated
