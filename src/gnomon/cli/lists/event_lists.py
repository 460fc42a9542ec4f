"""Lists of events and of counters, which several commands print."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from gnomon.cli.terminal.streams import width_of

if TYPE_CHECKING:
    from gnomon.counters.component import Availability, EventInfo
    from gnomon.counters.presets import Preset


def print_counters() -> int:
    """Print each component, how many of its events count at once, and why it does not work."""
    from gnomon.counters.components import COMPONENTS
    from gnomon.terminal_text import filled

    width = width_of(sys.stdout)
    print("counters")
    for source in COMPONENTS:
        state = source.availability()
        n = source.counters()
        how_many = "any number of events at once" if n is None else f"{n} counters"
        text = how_many if state.available else f"not here: {state.reason}"
        print("\n".join(filled(text, width, f"  {source.name:<10}  ", " " * 14)))
    print("\nevents")
    return 0


def print_events(words: Iterable[str], *, as_json: bool, components: Sequence[str] = ()) -> int:
    """Print the events of this machine that contain all the words, by component."""
    import json

    from gnomon.counters.components import COMPONENTS
    from gnomon.terminal_text import wrapped_table

    wanted = [word.lower() for word in words]

    def matches(info: EventInfo) -> bool:
        text = f"{info.name} {info.description}".lower()
        return all(word in text for word in wanted)

    # A listed event that cannot be counted here must not look like one that can.
    states = {source.name: source.availability() for source in COMPONENTS}

    with_presets = not components or "cpu" in components
    rows = _presets() if with_presets else ()  # a broken file is refused before anything is printed

    def events_with_states() -> Iterable[tuple[EventInfo, Availability]]:
        for source in COMPONENTS:
            if components and source.name not in components:
                continue
            if source.name == "cpu":
                for info, preset in rows:
                    if matches(info):
                        yield info, _state(preset, states)
            yield from ((info, states[source.name]) for info in source.events() if matches(info))

    missing = {name for name in components if not states[name].available}
    if as_json:
        listed = [
            {
                "event": info.name,
                "component": info.component,
                "available": state.available,
                "unit": info.unit,
                "scope": info.scope.value,
                "how": info.how.value,
                "description": info.description,
            }
            for info, state in events_with_states()
        ]
        missing |= {str(row["component"]) for row in listed if not row["available"]}
        reasons = [
            {"component": name, "reason": states[name].reason, "remedy": states[name].remedy}
            for name in sorted(missing)
            if not states[name].available
        ]
        print(json.dumps({"events": listed, "unavailable": reasons}, indent=2))
        return 0 if listed else 1
    table = []
    for info, state in events_with_states():
        unit = f" [{info.unit}]" if info.unit else ""
        here = "yes" if state.available else "no"
        table.append((info.name, here, info.component, f"{info.description}{unit}"))
        if not state.available and not states[info.component].available:
            missing.add(info.component)
    if table:
        width = width_of(sys.stdout)
        head = ("event", "here", "component", "description")
        for lines in wrapped_table(head, table, width, (0, len(head) - 1)):
            print("\n".join(lines))
    else:
        print("no event matches; gnomon events lists all, gnomon components their sources")
    for name in sorted(missing):
        print()
        _print_filled(f"not here: events of component {name}: {states[name].reason}")
        _print_filled(f"remedy: {states[name].remedy}")
    return 0 if table else 1


def _print_filled(text: str) -> None:
    from gnomon.cli.terminal.two_column_text import filled

    print("\n".join(filled(text, "  ")))


def _presets() -> tuple[tuple[EventInfo, Preset], ...]:
    """Return the presets as rows of the list, those that are missing with the reason."""
    from gnomon.counters import presets
    from gnomon.counters.component import EventInfo
    from gnomon.model.value import Scope

    rows = []
    for preset in presets.of_this_machine():
        description = preset.description or preset.definition
        if not preset.events:
            description += f" (not here: {preset.reason})"
        info = EventInfo(preset.name, "cpu", description, preset.unit, Scope.THREAD)
        rows.append((info, preset))
    return tuple(rows)


def _state(preset: Preset, states: Mapping[str, Availability]) -> Availability:
    """Return whether a preset can be counted; without a PMU only users' own need to be tried."""
    from gnomon.counters import presets

    if preset.events and not preset.is_users and not states["cpu"].available:
        return states["cpu"]
    return presets.availability(preset)
