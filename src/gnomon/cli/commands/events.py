"""`gnomon events`: the events of this machine."""

from __future__ import annotations

import argparse

from gnomon.cli.lists import event_lists
from gnomon.cli.terminal.argument_help import Parser, add_presets_option, load_presets
from gnomon.errors import UsageError


def parser() -> argparse.ArgumentParser:
    """Return the parser of `gnomon events`."""
    p = Parser(
        prog="gnomon events",
        description="List the events of this machine whose name or description contains all the "
        "words. With --check, test whether events can be opened here. With --fit, show on which "
        "counters they count at the same time, or why they cannot and in which groups they would "
        "take turns.",
        epilog="examples:\n  gnomon events cache miss\n  gnomon events --component kernel sched:\n"
        "  gnomon events --check cycles,page-faults\n"
        "  gnomon events --fit cycles,instructions,cache-misses\n"
        "  gnomon events --fit PAPI_DP_OPS,PAPI_TOT_CYC --pmu skx\n"
        "  gnomon events --fit cycles,branches --chooser cache",
    )
    p.add_argument("words", nargs="*", metavar="WORD", help="what to look for, in any case")
    p.add_argument(
        "--component",
        metavar="LIST",
        default="",
        help="only events of these components (see gnomon components)",
    )
    p.add_argument(
        "--check",
        action="store_true",
        help="treat the words as event lists and test whether each opens here",
    )
    p.add_argument(
        "--fit", metavar="LIST", help="test whether these events fit on the counters together"
    )
    p.add_argument(
        "--chooser",
        action="store_true",
        help="with --fit: list the events that can still be added (those with all the words)",
    )
    p.add_argument(
        "--pmu",
        metavar="PMU",
        help="with --fit: on the PMU of another CPU, by libpfm4's name (skx, power9, arm_n1)",
    )
    p.add_argument(
        "--one-thread",
        action="store_true",
        help="with --pmu: hyperthreading is off",
    )
    add_presets_option(p)
    p.add_argument("--json", action="store_true", help="as JSON")
    return p


def run(arguments: argparse.Namespace) -> int:
    """Print the events; return 0, or 1 if none matched or one does not open."""
    load_presets(arguments.presets)
    if arguments.fit is not None:
        from gnomon.cli.lists import events_fit

        return events_fit.run(arguments)
    for option in ("chooser", "pmu", "one_thread"):
        if getattr(arguments, option):
            raise UsageError(f"--{option.replace('_', '-')} needs --fit LIST: which events?")
    if arguments.check:
        return _check(arguments)
    names = [name for name in arguments.component.split(",") if name]
    _check_components(names)
    return event_lists.print_events(arguments.words, as_json=arguments.json, components=names)


def _check_components(names: list[str]) -> None:
    from gnomon.counters.components import COMPONENTS

    component_names = [source.name for source in COMPONENTS]
    for name in names:
        if name not in component_names:
            raise UsageError(f"no component '{name}'; there are {', '.join(component_names)}")


def _check(arguments: argparse.Namespace) -> int:
    from gnomon.counters.eventset import EventSet

    if not arguments.words:
        raise UsageError("--check needs events: gnomon events --check cycles,page-faults")
    events = EventSet(arguments.words, strict=False)
    if events.events:
        events.open()
    rows = [
        {"event": event.name, "available": True, "domain": event.domain.value, "reason": "",
         "remedy": ""}
        for event in events.events
    ] + [
        {"event": one.event, "available": False, "domain": "", "reason": one.reason,
         "remedy": one.remedy}
        for one in events.unavailable
    ]  # fmt: skip
    events.close()
    if arguments.json:
        import json

        print(json.dumps({"events": rows}, indent=2))
    else:
        for row in rows:
            if row["available"]:
                print(f"{row['event']:<32}  opens, counting {row['domain']} modes")
            else:
                _print_refusal(str(row["event"]), str(row["reason"]), str(row["remedy"]))
    return 0 if all(row["available"] for row in rows) else 1


def _print_refusal(event: str, reason: str, remedy: str) -> None:
    from gnomon.cli.terminal.two_column_text import filled

    lead = " " * 34
    first, *rest = filled(f"{event:<32}  does not open: {reason}", lead)
    for line in (first, *rest, *filled(f"{lead}remedy: {remedy}", lead)):
        print(line)
