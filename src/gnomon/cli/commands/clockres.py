"""`gnomon clockres`: what each timer resolves and costs."""

from __future__ import annotations

import argparse
import json
import textwrap
from typing import TYPE_CHECKING

from gnomon import units
from gnomon.cli.terminal.argument_help import Parser

if TYPE_CHECKING:
    from gnomon.counters.clockres import Resolution, Steadiness


def parser() -> argparse.ArgumentParser:
    """Return the parser of `gnomon clockres`."""
    p = Parser(
        prog="gnomon clockres",
        description="Measure the resolution of each timer, the cost of a call from C and from "
        "Python, whether it ever runs backwards, and how steady the clock is. The kernel's clocks "
        "and a system call are included for comparison.",
    )
    p.add_argument(
        "-i",
        "--iterations",
        type=int,
        default=100_000,
        metavar="N",
        help="readings of each timer (default 100000)",
    )
    p.add_argument(
        "--distribution",
        action="store_true",
        help="also print the distribution of the steps of each timer",
    )
    p.add_argument("--json", action="store_true", help="as JSON")
    return p


def run(arguments: argparse.Namespace) -> int:
    """Measure, print and return 0; 1 if a timer ran back."""
    from gnomon.counters.clockres import resolutions, steadiness

    measured = resolutions(arguments.iterations)
    steady = steadiness()
    ran_back = steady.backward > 0 or any(one.backward for one in measured)
    if arguments.json:
        from gnomon.cli.terminal.to_json import to_jsonable

        print(json.dumps({"clock": to_jsonable(steady), "timers": to_jsonable(measured)}, indent=2))
        return 1 if ran_back else 0
    _print_clock(steady)
    print()
    _print_timers(measured, steady)
    if arguments.distribution:
        _print_distributions(measured, arguments.iterations)
    return 1 if ran_back else 0


def _print_clock(steady: Steadiness) -> None:
    from gnomon.cli.lists.hardware_report import hertz
    from gnomon.cli.terminal.two_column_text import section, terminal_columns

    counter = "no time counter of constant rate: times come from the kernel (no cycles)"
    if steady.hertz is not None:
        counter = f"{steady.source}, {hertz(steady.hertz)}"
        counter += f"; rates of short intervals lie {units.number(steady.apart_ppm)} ppm apart"
    moved = "CPU" if steady.cpus == 1 else "CPUs"
    lines = {
        "counter": counter,
        "time": f"real_ns is within {units.duration(steady.offset_ns)} of CLOCK_MONOTONIC_RAW; "
        + ("never ran back" if not steady.backward else f"RAN BACK {steady.backward} times")
        + f" while moved over {steady.cpus} {moved}",
        "kernel": _kernel(steady),
        "system call": units.duration(steady.system_call_ns),
    }
    width = terminal_columns()
    for title, line in lines.items():
        print(section(title, [line], width))


def _kernel(steady: Steadiness) -> str:
    clock = steady.kernel
    others = ", ".join(name for name in clock.available if name != clock.current)
    said = f"clock source {clock.current or 'unknown'}" + (f" (also {others})" if others else "")
    if clock.is_tsc_steady is not None:
        said += (
            "; the TSC runs at one rate and never stops"
            if clock.is_tsc_steady
            else "; the TSC is not steady (no constant_tsc and nonstop_tsc)"
        )
    return said


def _print_timers(measured: tuple[Resolution, ...], steady: Steadiness) -> None:
    from gnomon.cli.terminal.two_column_text import table, terminal_columns

    head = ("", "resolution", "min", "median", "mean", "max", "Python", "")
    rows = []
    missing: dict[str, list[str]] = {}
    calls: list[str] = []
    for timer in measured:
        if timer.cost_ns is None:
            rows.append([timer.name, "not here", "", "", "", "", "", ""])
            missing.setdefault(timer.unavailable, []).append(timer.name)
            continue
        cost = timer.cost_ns
        resolution = units.duration(timer.resolution_ns, "none seen")
        if timer.resolution is None and timer.claimed_ns:
            resolution = f"{units.duration(timer.claimed_ns)} told"
        notes = []
        if timer.unit == "cycles" and timer.resolution is not None:
            notes.append(f"{timer.resolution} cycles")
        if timer.backward:
            notes.append(f"RAN BACK {timer.backward} times")
        if cost.median > 0.75 * steady.system_call_ns:
            calls.append(timer.name)
        numbers = (cost.minimum, cost.median, cost.mean, cost.maximum)
        rows.append(
            [timer.name, resolution, *map(_short, numbers),
             "" if timer.python_ns is None else _short(timer.python_ns), ", ".join(notes)]
        )  # fmt: skip
    print(f"{'':20}  smallest   nanoseconds a call")
    for line in table(head, rows, width=terminal_columns(), spare=("max", "mean", "Python")):
        print(line[1:])
    print()
    told = [one.name for one in measured if one.cost_ns and one.resolution is None]
    lines = [f"{', '.join(calls)}: each call is a system call"] if calls else []
    lines += [f"{', '.join(told)}: never moved; told by the kernel"] if told else []
    lines += [f"not here: {', '.join(names)}: {reason}" for reason, names in missing.items()]
    for line in lines:
        print(textwrap.fill(line, terminal_columns(), subsequent_indent="  "))


def _short(ns: float) -> str:
    return f"{ns:.1f}" if ns < 99.95 else f"{ns:.0f}"


def _print_distributions(measured: tuple[Resolution, ...], iterations: int) -> None:
    from itertools import pairwise

    from gnomon.cli.terminal.histogram_text import bars
    from gnomon.counters.clockres import readings
    from gnomon.counters.sample_statistics import histogram

    for timer in measured:
        if timer.steps is None:
            continue
        values = readings(timer.name, iterations)
        steps = [float(after - before) for before, after in pairwise(values)]
        print(f"\n{timer.name}: steps between readings, {timer.unit}")
        for line in bars(histogram(steps)):
            print(line)
