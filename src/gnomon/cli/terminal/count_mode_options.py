"""Options of `gnomon count` for CPUs, cgroups, a delay and intervals."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from gnomon.errors import UsageError

if TYPE_CHECKING:
    from gnomon.cli.terminal.report_output import Delivery
    from gnomon.counters.event_resolver import EventResolution
    from gnomon.measurement.intervals import Interval
    from gnomon.measurement.measurement import Measurement

# perf's own limit: below it the reading would be most of what is read.
_SHORTEST_MS = 10
_LONGEST_MS = 1_000_000_000


def check(arguments: argparse.Namespace) -> None:
    """Check that the options make sense together.

    Raises:
        UsageError: they do not.
    """
    if arguments.pmu == "emulated" and arguments.pid is None:
        raise UsageError(
            "--pmu emulated counts one whole program; leave out -a, -A, -G, -D, -I and --per core"
        )
    if arguments.pid is not None and (arguments.all_cpus or arguments.cgroup):
        raise UsageError("-p excludes -a and -G; give one of them")
    if arguments.all_cpus and arguments.cgroup:
        raise UsageError("-a and -G exclude each other; give one of them")
    if arguments.per in ("thread", "process"):
        others = arguments.all_cpus or arguments.cgroup or arguments.delay
        if others or arguments.interval_print:
            raise UsageError(
                f"--per {arguments.per}: the kernel reports counts of the program's threads when "
                "they end; leave out -a, -G, -D and -I, or use --per cpu"
            )
    if arguments.turns is not None:
        raise UsageError("--turns counts one whole program; leave out -p, -a, -A, -G, -D and -I")
    if not 0 <= arguments.delay <= _LONGEST_MS:
        raise UsageError(f"-D {arguments.delay}: a delay must be 0 to {_LONGEST_MS} ms")
    if arguments.interval_print and not _SHORTEST_MS <= arguments.interval_print <= _LONGEST_MS:
        raise UsageError(
            f"-I {arguments.interval_print}: an interval must be {_SHORTEST_MS} to {_LONGEST_MS} ms"
        )
    if arguments.interval_count and not arguments.interval_print:
        raise UsageError("--interval-count goes with -I MS")
    if arguments.interval_count < 0:
        raise UsageError(f"--interval-count {arguments.interval_count}: must be at least 1")
    if arguments.interval_print and (arguments.repeat or 1) > 1:
        raise UsageError(
            "-r and -I exclude each other: intervals belong to one execution; leave one of them out"
        )


def measurer(
    arguments: argparse.Namespace, command: Sequence[str], delivery: Delivery
) -> Callable[[EventResolution], Measurement]:
    """Return the function that makes one measurement of some events with these options."""
    from gnomon.count import attach, count_modes
    from gnomon.measurement import intervals

    told = None
    if arguments.interval_print:
        delivery.tell(lambda as_json: "" if as_json else intervals.heading() + "\n")
        told = intervals.Intervals(
            arguments.interval_print * 1_000_000,
            arguments.interval_count,
            lambda one: delivery.tell(lambda as_json: _rendered(one, as_json=as_json)),
        )
    mode = count_modes.Mode(
        machine=arguments.all_cpus,
        cgroup=arguments.cgroup or "",
        per=arguments.per if arguments.per in ("core", "cpu") else "",
        delay_ns=arguments.delay * 1_000_000,
        intervals=told,
    )
    elsewhere = arguments.all_cpus or arguments.cgroup
    if arguments.pid is None and command and not (elsewhere and arguments.duration):
        return lambda wanted: count_modes.run(command, wanted, mode)
    return lambda wanted: attach.attach(
        arguments.pid or 0, wanted, seconds=arguments.duration, command=command, mode=mode
    )


def _rendered(interval: Interval, *, as_json: bool) -> str:
    from gnomon.measurement import intervals

    if not as_json:
        return intervals.render_interval(interval)
    import json

    return json.dumps(intervals.document(interval)) + "\n"
