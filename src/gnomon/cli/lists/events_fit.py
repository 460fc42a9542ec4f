"""`gnomon events --fit`: which events count at once, and which can be added to them."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from gnomon.errors import EventError, UsageError

if TYPE_CHECKING:
    from gnomon.counters.allocation import CorePmu, Fit
    from gnomon.counters.allocation.kernel_probe import Verdict
    from gnomon.counters.component import Event, EventInfo

_SOFTWARE = "takes no counter of a core"


def run(arguments: argparse.Namespace) -> int:
    """Print where the events count, why they do not fit, or what fits beside them.

    Returns 0 if they fit (and, with --chooser, something can be added), else 1.
    """
    from gnomon.counters.allocation import at_hand, fits, groups

    if arguments.words and not arguments.chooser:
        raise UsageError(
            f"'{arguments.words[0]}': words can be given with --fit LIST --chooser only"
        )
    if arguments.check or arguments.component:
        raise UsageError("--fit can be combined with --chooser, --pmu and --json only")
    if arguments.one_thread and not arguments.pmu:
        raise UsageError("--one-thread needs --pmu NAME; for this machine it is detected")
    pmus = _asked_for(arguments) if arguments.pmu else at_hand()
    events = _resolve(arguments.fit, pmus[0] if arguments.pmu else None)
    fit = fits(events, pmus)
    if arguments.chooser:
        return _choose(arguments, events, pmus, fit)
    event_groups = groups(events, pmus=pmus)
    kernel = None if arguments.pmu else _kernel(events, len(pmus))
    if arguments.json:
        import json

        print(json.dumps(_document(events, pmus, fit, event_groups, kernel), indent=2))
    else:
        _print(events, pmus, fit, event_groups, kernel)
    return 0 if fit.fits else 1


def _asked_for(arguments: argparse.Namespace) -> tuple[CorePmu, ...]:
    from gnomon.counters.allocation import named

    return (named(arguments.pmu, is_smt=not arguments.one_thread),)


def _resolve(text: str, pmu: CorePmu | None) -> tuple[Event, ...]:
    """Return the events of a list, on this machine or as another one's PMU has them."""
    if pmu is None:
        from gnomon.counters.event_resolver import resolve
        from gnomon.errors import EventUnavailableError

        resolved = resolve(text)
        if resolved.unavailable:
            first = resolved.unavailable[0]
            raise EventUnavailableError(first.event, first.reason, first.remedy, first.errno)
        return resolved.events
    from gnomon.counters.allocation.target_events import resolve_on
    from gnomon.counters.event_resolver import split

    events: dict[str, Event] = {}
    for typed in split(text):
        for event in resolve_on(pmu, typed.text):
            events.setdefault(event.name, event._replace(group=typed.group))
    return tuple(events.values())


def _kernel(events: Sequence[Event], pmus: int) -> Verdict | None:
    """Return the kernel's verdict on the events, None where it cannot be asked at once."""
    from gnomon.counters.allocation import opening_order
    from gnomon.counters.allocation.kernel_probe import Verdict, verdict
    from gnomon.counters.perf_spec import PerfSpec

    counted = [event for event in events if isinstance(event.spec, PerfSpec)]
    if not counted:
        return None
    if pmus > 1:
        return Verdict(None, "no thread is on all kinds of cores of this CPU at once")
    return verdict([counted[at] for at in opening_order(counted)])


def _document(
    events: Sequence[Event],
    pmus: Sequence[CorePmu],
    fit: Fit,
    event_groups: Sequence[Sequence[int]],
    kernel: Verdict | None,
) -> dict[str, Any]:
    return {
        "pmus": [
            {
                "name": pmu.name,
                "title": pmu.title,
                "counters": list(pmu.counter_names(sorted(pmu.available))),
                "nmi_watchdog": pmu.watchdog,
                "source": pmu.family.source,
            }
            for pmu in pmus
        ],
        "fits": fit.fits,
        "events": [
            {
                "event": event.name,
                "takes_counters": index not in fit.unlimited,
                "counters": [list(place.counters) for place in fit.placed if place.event == index],
            }
            for index, event in enumerate(events)
        ],
        "conflict": [events[at].name for at in fit.conflict],
        "why": fit.why,
        "remedy": fit.remedy,
        "groups": [[events[at].name for at in group] for group in event_groups],
        "kernel": None
        if kernel is None
        else {
            "fits": kernel.fits,
            "why": kernel.why,
            "errno": kernel.errno,
            "agrees": None if kernel.fits is None else kernel.fits == fit.fits,
        },
        "notes": list(fit.notes),
    }


def _print(
    events: Sequence[Event],
    pmus: Sequence[CorePmu],
    fit: Fit,
    event_groups: Sequence[Sequence[int]],
    kernel: Verdict | None,
) -> None:
    for pmu in pmus:
        names = _short(pmu.counter_names(sorted(pmu.available)))
        dog = "; the NMI watchdog holds one" if pmu.watchdog else ""
        _say(f"{pmu.name}: {pmu.title}", "  ")
        _say(f"counters: {names}{dog}", "  ")
    if pmus:
        print()
    width = max((len(event.name) for event in events), default=0)
    for at, event in enumerate(events):
        places = ["+".join(place.counters) for place in fit.placed if place.event == at]
        if at in fit.unlimited:
            print(f"{event.name:<{width}}  {_SOFTWARE}")
        elif fit.fits:
            print(f"{event.name:<{width}}  {', '.join(places)}")
    if fit.fits:
        print("\nthey fit: all count at once" if len(events) > 1 else "\nit fits")
    else:
        if fit.unlimited:
            print()
        _say(f"they do not fit: {fit.why}", "  ")
        _say(f"remedy: {fit.remedy}", "  ")
        print(f"in turns, in {len(event_groups)} group{'s' * (len(event_groups) != 1)}:")
        for number, group in enumerate(event_groups, start=1):
            _say(f"  {number}  {', '.join(events[at].name for at in group)}", "     ")
    for note in fit.notes:
        _say(f"note: {note}", "  ")
    if kernel is not None:
        _print_kernel(kernel, fit)


def _print_kernel(kernel: Verdict, fit: Fit) -> None:
    if kernel.fits is None:
        _say(f"the kernel could not be asked: {kernel.why}", "  ")
    elif kernel.fits == fit.fits:
        _say(f"the kernel agrees{': ' * bool(kernel.why)}{kernel.why}", "  ")
    elif kernel.fits:
        print("the kernel does NOT agree: it counts them all at once")
    else:
        _say(f"the kernel does NOT agree: {kernel.why}", "  ")
        print("others may be using the PMU: see gnomon doctor")


def _say(text: str, indent: str) -> None:
    from gnomon.cli.terminal.two_column_text import filled

    print("\n".join(filled(text, indent)))


def _choose(
    arguments: argparse.Namespace, events: Sequence[Event], pmus: Sequence[CorePmu], fit: Fit
) -> int:
    from gnomon.counters.allocation import addable

    if not fit.fits:
        raise UsageError(f"nothing can be added to what does not fit: {fit.why}; {fit.remedy}")
    wanted = [word.lower() for word in arguments.words]
    listed_names = {event.name for event in events}
    rows: list[tuple[str, str]] = []
    candidates: list[Event] = []
    for info in _listed(pmus[0] if arguments.pmu else None):
        text = f"{info.name} {info.description}".lower()
        if info.name in listed_names or not all(word in text for word in wanted):
            continue
        try:
            resolved = _resolve(info.name, pmus[0] if arguments.pmu else None)
        except EventError:
            continue  # it stands in a list, and is not to be had as it stands
        for event in resolved:
            rows.append((event.name, info.description))
            candidates.append(event)
    free = addable(events, candidates, pmus)
    if arguments.json:
        import json

        listed = [{"event": rows[at][0], "description": rows[at][1]} for at in free]
        document = {"chosen": [e.name for e in events], "tried": len(rows), "addable": listed}
        print(json.dumps(document, indent=2))
        return 0 if free else 1
    for at in free:
        print(f"{rows[at][0]:<40}  {rows[at][1]}")
    if free:
        print()
    _say(
        f"{len(free)} of {len(rows)} events{' that match' if wanted else ''} can be added to "
        f"{', '.join(e.name for e in events)}; software events and tracepoints always can",
        "  ",
    )
    if not pmus:
        from gnomon.counters.perf_errors import no_pmu

        reason, remedy = no_pmu()
        _say(f"not here: {reason}", "  ")
        _say(f"remedy: {remedy}; or ask about another CPU: --pmu NAME", "  ")
    return 0 if free else 1


def _listed(pmu: CorePmu | None) -> Iterator[EventInfo]:
    """Yield what could be counted on a core PMU: presets, generic names, the PMU's own events."""
    from gnomon.counters import presets
    from gnomon.counters.component import EventInfo
    from gnomon.counters.components import component
    from gnomon.counters.libpfm import libpfm_pmus
    from gnomon.model.value import Scope

    if pmu is None:
        defined = presets.of_this_machine()
    else:
        family = presets.by_pmu().get(pmu.name)
        defined = presets.family(family).presets if family is not None else ()
    for preset in defined:
        if preset.events:
            yield EventInfo(preset.name, "cpu", preset.description, "", Scope.THREAD)
    if pmu is None:
        yield from component("cpu").events()
        return
    for known in libpfm_pmus():
        if known.name == pmu.name:
            yield from known.events()


def _short(names: Sequence[str]) -> str:
    """Return counters in few words: "PMC0 to PMC3, FIXED0"."""
    parts: list[list[str]] = []
    for name in names:
        stem = name.rstrip("0123456789")
        if parts and parts[-1][-1].rstrip("0123456789") == stem:
            parts[-1].append(name)
        else:
            parts.append([name])
    return ", ".join(p[0] if len(p) == 1 else f"{p[0]} to {p[-1]}" for p in parts)
