"""`gnomon cost`: what counting costs here."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from gnomon.cli.terminal.argument_help import Parser
from gnomon.counters.overhead import KINDS
from gnomon.errors import UsageError

if TYPE_CHECKING:
    from gnomon.counters.overhead import Cost, EventKind


def parser() -> argparse.ArgumentParser:
    """Return the parser of `gnomon cost`."""
    p = Parser(
        prog="gnomon cost",
        description="Measure the cost of the operations of an event set on this machine, by kind "
        "and number of events, compared with bare system calls on a kernel group of the same "
        "events.",
        epilog="examples:\n  gnomon cost software -n 1,8\n"
        "  gnomon cost -e page-faults,task-clock --distribution\n\n"
        f"kinds: {', '.join(KINDS)}\n\nEach operation is measured one call at a time, from Python, "
        "less the time that the clock takes.",
    )
    p.add_argument("kinds", nargs="*", metavar="KIND", help="only events of these kinds")
    p.add_argument(
        "-e",
        "--events",
        action="append",
        default=[],
        metavar="LIST",
        help="measure a set of these events instead",
    )
    p.add_argument(
        "-i",
        "--iterations",
        type=int,
        default=10_000,
        metavar="N",
        help="measure each operation N times, for a quarter of a second at most (default 10000)",
    )
    p.add_argument(
        "-n", "--numbers", metavar="LIST", default="", help="how many events: 1,4 (default 1,2,4,8)"
    )
    p.add_argument(
        "--distribution", action="store_true", help="also print the distribution of the costs"
    )
    p.add_argument("--json", action="store_true", help="as JSON")
    return p


def run(arguments: argparse.Namespace) -> int:
    """Measure, print and return 0; 1 if no kind of events can be counted here."""
    from gnomon.counters.overhead import costs, kinds, timer_ns

    if arguments.events and arguments.kinds:
        raise UsageError("choose either kinds of events or events (-e), not both")
    wrong = [name for name in arguments.kinds if name not in KINDS]
    if wrong:
        raise UsageError(f"no kind of events '{wrong[0]}'; known kinds: {', '.join(KINDS)}")
    numbers = _numbers(arguments.numbers)
    chosen = kinds(arguments.events, arguments.kinds or KINDS)
    show, done = _progress(len(chosen))
    measured_costs = list(costs(chosen, arguments.iterations, numbers, show))
    done()
    if arguments.json:
        _print_json(chosen, measured_costs, arguments.iterations, timer_ns())
    else:
        _print_tables(chosen, measured_costs, arguments.iterations)
        if arguments.distribution:
            _print_distributions(measured_costs)
    return 0 if measured_costs else 1


def _numbers(text: str) -> tuple[int, ...]:
    words = [word.strip() for word in text.split(",") if word.strip()]
    for word in words:
        if not (word.isascii() and word.isdigit() and len(word) < 4 and int(word)):
            raise UsageError(f"--numbers: '{word}' is not a number of events; write --numbers 1,4")
    return tuple(dict.fromkeys(map(int, words)))


def _progress(kinds: int) -> tuple[Callable[[str], None], Callable[[], None]]:
    """Return the functions that show progress on a terminal and that erase it."""
    if not kinds or not sys.stderr.isatty():
        return (lambda _: None), (lambda: None)

    def show(what: str) -> None:
        print(f"\r\x1b[K[measuring {what}]", end="", file=sys.stderr, flush=True)

    return show, lambda: print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def _print_json(
    chosen: Sequence[EventKind], measured_costs: Sequence[Cost], iterations: int, timer: float
) -> None:
    from gnomon.cli.terminal.to_json import to_jsonable

    rows = [{**to_jsonable(cost), "times": cost.times} for cost in measured_costs]
    document = {
        "iterations": iterations,
        "timer_ns": timer,
        "kinds": [to_jsonable(kind) for kind in chosen],
        "costs": rows,
    }
    print(json.dumps(document, indent=2))


def _print_tables(
    chosen: Sequence[EventKind], measured_costs: Sequence[Cost], iterations: int
) -> None:
    from gnomon.cli.terminal.two_column_text import section, table, terminal_columns

    width = terminal_columns()
    head = ("", "n", "min", "median", "mean", "stddev", "p95", "p99", "bare", "times")
    for kind in chosen:
        rows = [_row(cost) for cost in measured_costs if cost.kind == kind.name]
        if rows:
            turns = f", {kind.turns} turns on the counters" if kind.turns > 1 else ""
            print(section(kind.name, [", ".join(kind.events) + turns], width))
            for line in table(head, rows, width=width, spare=("p95", "stddev", "p99")):
                print(line[1:])
        elif kind.reason:
            lines = [f"not here: {kind.reason}"] + ([f"remedy: {kind.remedy}"] * bool(kind.remedy))
            print(section(kind.name, lines, width))
        else:
            print(section(kind.name, ["no set of so many events"], width))
        print()
    print(
        section(
            "figures",
            [
                f"nanoseconds (us, ms where said) of up to {iterations} calls each from Python, "
                "less what the clock takes; n: events; bare: median of the system calls alone, in "
                "C; times: median over that. Start is held against reset and enable, stop against "
                "read and disable."
            ],
            width,
        )
    )


def _row(cost: Cost) -> list[str]:
    ns = cost.ns
    numbers = (ns.minimum, ns.median, ns.mean, ns.deviation or 0.0, ns.p95, ns.p99)
    bare = _short(cost.raw_ns.median) if cost.raw_ns else ""
    times = f"{cost.times:.2f}" if cost.times else ""
    return [cost.operation, str(cost.events), *map(_short, numbers), bare, times]


def _short(ns: float) -> str:
    """Return nanoseconds in at most five characters and the unit, where it is another one."""
    for limit, factor, unit in ((1e4, 1, ""), (1e7, 1e3, "us"), (1e10, 1e6, "ms")):
        if ns < limit:
            return f"{ns / factor:.0f}{unit}"
    return f"{ns / 1e9:.0f}s"


def _print_distributions(measured_costs: Sequence[Cost]) -> None:
    from gnomon.cli.terminal.histogram_text import bars

    for cost in measured_costs:
        events = "event" if cost.events == 1 else "events"
        print(f"\n{cost.kind}: {cost.operation}, {cost.events} {events}, nanoseconds")
        for line in bars(cost.bins):
            print(line)
