"""From event lists as people type them to events that components can open.

The grammar is perf's where perf has one (`perf-list(1)`), plus PAPI's `component:::event`:

    list      = item { "," item }            commas inside /.../ do not separate
    item      = name | "{" list "}"          braces: always counted together
    name      = base [ ":" modifiers ] | pmu "/" terms "/" [ modifiers ]
    modifiers = { "u" | "k" | "h" | "G" | "H" | "I" }

Lists are taken apart here, single names in C: native/counters/event_grammar.c.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Sequence

from gnomon.counters.component import Component, Event
from gnomon.counters.component_registry import is_disabled, source, sources, sources_of
from gnomon.counters.event_grammar import modifiers, pmu_terms
from gnomon.errors import (
    ComponentNameError,
    EventNameError,
    EventUnavailableError,
    UsageError,
)
from gnomon.model.value import Unavailable
from gnomon.named_tuple import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gnomon.counters.preset_resolver import PresetResolution

_PRESET = "PAPI_"
_COUNTER_OF_LIKWID = r"[A-Z]+[0-9]*[A-Z0-9]*(?::\S+)?"  # what `gnomon.metrics.likwid` leaves


class ParsedName(NamedTuple):
    """One name of an event list.

    Attributes:
        text: as typed.
        group: number of its brace group, None outside braces.
    """

    text: str
    group: int | None = None


class EventResolution(NamedTuple):
    """The events of a list of names, and the names that exist but are not available here.

    Attributes:
        events: those that can be counted.
        unavailable: those that cannot.
        notes: sentences that belong beside the counts.
        order: all names in their order where some of the first events became unavailable.
    """

    events: tuple[Event, ...]
    unavailable: tuple[Unavailable, ...]
    notes: tuple[str, ...] = ()
    order: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """All names, in an order that does not depend on which task of a job this is."""
        found = (*(one.name for one in self.events), *(one.event for one in self.unavailable))
        return self.order or found


Resolved = EventResolution  # the name by which scripts import it


def resolve(names: str | Iterable[str]) -> EventResolution:
    """Return the events of an event list (or several), in order, each once by whichever name.

    Raises:
        EventNameError: a name that nothing here answers to; carries the nearest right ones.
        UsageError: the list itself is malformed.
    """
    lists = [names] if isinstance(names, str) else list(names)
    events: list[Event] = []
    unavailable: list[Unavailable] = []
    notes: list[str] = []
    groups = 0
    for text in lists:
        typed = split(text)
        for name in typed:
            try:
                resolved = _one(name.text)
            except EventUnavailableError as error:
                unavailable.append(Unavailable(name.text, error.reason, error.remedy, error.errno))
                continue
            group = None if name.group is None else groups + name.group
            for event in resolved.events:
                counted = twin(event, events)
                if counted is None:
                    events.append(event._replace(group=group))
                elif counted.name != event.name:
                    notes.append(f"{event.name} is {counted.name}, which is counted once")
            unavailable.extend(resolved.unavailable)
        groups += 1 + max((name.group or 0 for name in typed), default=0)
    return EventResolution(tuple(events), tuple(unavailable), tuple(notes))


def split(text: str) -> tuple[ParsedName, ...]:
    """Return the names of an event list, in order.

    Raises:
        UsageError: unbalanced braces or slashes, or an empty name.
    """
    names: list[ParsedName] = []
    word: list[str] = []
    group: int | None = None
    groups = 0
    in_terms = False

    def finish(column: int) -> None:
        name = "".join(word).strip()
        word.clear()
        if name:
            names.append(ParsedName(name, group))
        elif column == 0 or text[column - 1] not in "}":
            raise UsageError(f"event list '{text}': an empty name at column {column + 1}")

    for column, char in enumerate(text):
        if char == "/":
            in_terms = not in_terms and "/" not in word
        if in_terms or char not in "{},":
            word.append(char)
        elif char == "{":
            if group is not None or "".join(word).strip():
                raise UsageError(f"event list '{text}': unexpected '{{' at column {column + 1}")
            group, groups = groups, groups + 1
        elif char == "}":
            if group is None:
                raise UsageError(f"event list '{text}': unexpected '}}' at column {column + 1}")
            finish(column)
            group = None
        else:
            finish(column)
    if group is not None or in_terms:
        unclosed = "brace" if group is not None else "slash"
        raise UsageError(f"event list '{text}': a {unclosed} is not closed")
    finish(len(text))
    return tuple(names)


def twin(event: Event, others: Iterable[Event]) -> Event | None:
    """Return the one of several events that an event is, by the same name or by another.

    `faults` is another name of `page-faults`; a preset is not what it is made of. Modifiers are to
    be the same: a set's domain is for names that have none.
    """
    for other in others:
        is_alias = (
            event.info.component == other.info.component
            and event.info.name == other.info.name
            and _letters(event.name) == _letters(other.name)
            and event.unit_factor == other.unit_factor
            and event.spec == other.spec
        )
        if is_alias or event.name == other.name:
            return other
    return None


def tracepoint_number(name: str) -> int:
    """Return the number of a tracepoint; 0 where there is none, or this user may not have it."""
    try:
        resolution = resolve([name])
    except EventNameError:
        return 0
    if resolution.unavailable:
        return 0
    (term,) = resolution.events[0].spec.terms
    return int(term.encoding.config)


def _letters(name: str) -> str:
    return name[len(modifiers(name)[0]) :]


def by_another_name(name: str, events: Sequence[Event]) -> Event | None:
    """Return the one of several events that a name means which none of them has."""
    try:
        events_of_name = resolve(name).events
    except UsageError:
        return None
    return twin(events_of_name[0], events) if len(events_of_name) == 1 else None


def one(name: str) -> tuple[Event, ...]:
    """Return the event(s) of one name.

    Raises:
        EventNameError: nothing here answers to it.
        EventUnavailableError: it exists, but not on this machine.
    """
    return _one(name).events


def _one(name: str) -> EventResolution:
    if _has_users_presets() or name[: len(_PRESET)].upper() == _PRESET:
        preset_events = _preset(name)
        disabled = [e.info.component for e in preset_events.events if is_disabled(e.info.component)]
        if disabled:
            raise ComponentNameError(name, f"component '{disabled[0]}' was disabled")
        if preset_events.events:
            return EventResolution(*preset_events)
    events = next(filter(None, (component.resolve(name) for component in sources_of(name))), ())
    if not events:
        if re.fullmatch(_COUNTER_OF_LIKWID, name.partition("@")[2]):
            raise EventUnavailableError(
                name,
                "LIKWID's words for event and counter: no event here is known to be that",
                "write a group of your own with events of this machine (gnomon events)",
            )
        raise _unknown(name)
    return EventResolution(events, ())


def _has_users_presets() -> bool:
    return (
        bool(os.environ.get("GNOMON_PRESETS"))
        or "gnomon.counters.presets.user_presets" in sys.modules
    )


def _preset(name: str) -> PresetResolution:
    """Return the events of a preset; the users' files are read only where there may be some."""
    if _has_users_presets():
        from gnomon.counters import presets

        return presets.find(name)
    from gnomon.counters import preset_resolver

    return preset_resolver.find(name)


def owner(event: Event) -> Component:
    """Return the component that an event belongs to."""
    return source(event.info.component)


def _unknown(name: str) -> EventNameError:
    from gnomon.counters.name_suggestions import nearest

    prefix = name.partition(":::")[0]
    if ":::" in name:
        names = [one.name for one in sources()]
        if is_disabled(prefix):
            return ComponentNameError(name, f"component '{prefix}' was disabled")
        if prefix in names:
            return EventNameError(
                name,
                f"component '{prefix}' has no event of that name; `gnomon events --component "
                f"{prefix}` lists those it has",
            )
        return ComponentNameError(
            name,
            f"there is no component '{prefix}'",
            tuple(f"{n}:::" for n in nearest(prefix, names)),
        )
    terms = pmu_terms(name) if "/" in name else None
    if terms is not None:
        from gnomon.counters import sysfs_pmu

        pmus = [one.name for one in sysfs_pmu.find()]
        if terms.pmu in pmus:
            return EventNameError(name, f"no component of this version counts PMU '{terms.pmu}'")
        return EventNameError(
            name, f"this machine has no PMU '{terms.pmu}'", tuple(nearest(terms.pmu, pmus))
        )
    from gnomon.counters import presets

    names = list(presets.known_names())
    for one_source in sources():
        names.extend(info.name for info in one_source.events())
    return EventNameError(
        name,
        "no event, preset or tracepoint of that name (see gnomon events)",
        nearest(name, names),
    )
