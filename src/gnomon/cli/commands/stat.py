"""`gnomon stat`: monitor a machine, its CPUs, cgroups or processes."""

from __future__ import annotations

import argparse
from contextlib import closing
from typing import TYPE_CHECKING

from gnomon.cli.terminal.argument_help import Parser, add_presets_option, load_presets
from gnomon.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gnomon.cli.terminal.interval_writers import Destination
    from gnomon.stat.interval_rows import Sample
    from gnomon.stat.interval_table import IntervalTable
    from gnomon.stat.metrics_server import MetricsServer
    from gnomon.stat.monitor import Monitor, MonitorConfig
    from gnomon.stat.watched_events import WatchedEvents

SHORTEST_SECONDS = 0.01
LONGEST_SECONDS = 1e6
_MOST = 10**9

_DESCRIPTION = """\
Monitor the whole machine, like vmstat: one line for each interval with rates per second, from
hardware counters if available, from the kernel's counters and from /proc. The first line is printed
after the first interval and covers that interval; unlike vmstat's, it is not an average since boot.
Ctrl-C ends with a summary."""

_EPILOG = """\
examples:
  gnomon stat 1
  gnomon stat 5 12 --per cpu
  gnomon stat -e cycles,instructions,page-faults 1
  gnomon stat -g CACHE,BRANCH 2
  gnomon stat -p 4711 1
  gnomon stat -G system.slice,user.slice 1
  gnomon stat 1 --json -o node.jsonl -n
  gnomon stat 10 -n --openmetrics /var/lib/node_exporter/gnomon.prom
  gnomon stat 1 --listen 9123 --token-file token"""


def parser() -> argparse.ArgumentParser:
    """Return the parser of `gnomon stat`."""
    p = Parser(
        prog="gnomon stat",
        usage="gnomon stat [options] [interval [count]]",
        description=_DESCRIPTION,
        epilog=_EPILOG,
    )
    p.add_argument(
        "interval", nargs="?", help="seconds, 0.01 at least; without one: 1 s, and one interval"
    )
    p.add_argument("count", nargs="?", help="how many intervals; without it: until Ctrl-C")
    what = p.add_argument_group("what to count")
    what.add_argument(
        "-e", "--event", metavar="LIST", action="append", default=[],
        help="events, separated by commas (see gnomon events)",
    )  # fmt: skip
    what.add_argument(
        "-g", "--group", metavar="LIST", action="append", default=[],
        help="event groups by number or name (see gnomon groups); the hardware events of several "
        "take turns",
    )  # fmt: skip
    add_presets_option(what)
    what.add_argument(
        "--turns", metavar="MS", type=int,
        help="length of a turn of several groups, 10 to 30000 milliseconds (default 100)",
    )  # fmt: skip
    of = p.add_argument_group("what to monitor")
    of.add_argument(
        "--per", choices=("cpu", "core", "node"), default="",
        help="also print a line for each CPU, core or NUMA node (or socket, without NUMA nodes)",
    )  # fmt: skip
    of.add_argument(
        "-A", "--no-aggr", dest="per", action="store_const", const="cpu", help="as --per cpu"
    )
    of.add_argument(
        "-G", "--cgroup", metavar="CGROUP", action="append", default=[],
        help="print a line for each of these cgroups instead of the machine",
    )  # fmt: skip
    of.add_argument(
        "-p", "--pid", metavar="PID", action="append", default=[],
        help="print a line for each of these processes, including processes they create",
    )  # fmt: skip
    out = p.add_argument_group("output")
    out.add_argument("--json", action="store_true", help="write one JSON object per line")
    out.add_argument(
        "-o", "--output", metavar="NAME",
        help="also write to a file: as JSON lines if it ends in .json or .jsonl, CSV if in .csv",
    )  # fmt: skip
    out.add_argument(
        "-u", "--unique", action="store_true",
        help="with -o: insert host, process, date and time into the name",
    )  # fmt: skip
    out.add_argument(
        "-n", "--no-terminal", action="store_true",
        help="with -o, --openmetrics, --listen: nothing on the terminal",
    )  # fmt: skip
    out.add_argument(
        "--openmetrics", metavar="FILE",
        help="write the current state to a file, replaced atomically: for node_exporter's "
        "textfile collector if it ends in .prom, else as OpenMetrics",
    )  # fmt: skip
    out.add_argument(
        "--listen", metavar="[HOST:]PORT",
        help="serve the values to Prometheus, on loopback unless a host is given; port 0: any "
        "free port",
    )  # fmt: skip
    out.add_argument(
        "--token-file", metavar="FILE",
        help="file with the token that clients of --listen must send; created if missing "
        "(default: a new token each time, printed)",
    )  # fmt: skip
    p.add_argument("-l", "--list-groups", action="store_true", help="list event groups and exit")
    p.add_argument("-c", "--list-events", action="store_true", help="list events and exit")
    return p


def run(arguments: argparse.Namespace) -> int:
    """Watch until the end and return 0."""
    load_presets(arguments.presets)
    if arguments.list_groups:
        from gnomon.cli.lists.group_list import print_groups

        return print_groups()
    if arguments.list_events:
        from gnomon.cli.lists.event_lists import print_events

        return print_events([], as_json=arguments.json)
    period_ns, count = timing(arguments.interval, arguments.count, bool(arguments.listen))
    _check(arguments)
    return _watch(arguments, period_ns, count)


def timing(interval: str | None, count: str | None, goes_on: bool = False) -> tuple[int, int]:
    """Return the length of an interval in nanoseconds, and how many there are to be (0: no end).

    Raises:
        UsageError: one of them is no such number.
    """
    if interval is None:
        return 1_000_000_000, 0 if goes_on else 1
    try:
        seconds = float(interval)
    except ValueError:
        seconds = -1
    if not SHORTEST_SECONDS <= seconds <= LONGEST_SECONDS:
        raise UsageError(
            f"interval {interval!a}: must be {SHORTEST_SECONDS:g} to {LONGEST_SECONDS:g} seconds"
        )
    if count is None:
        return round(seconds * 1e9), 0
    times = int(count) if count.isascii() and count.isdigit() and len(count) < 11 else 0
    if not 1 <= times <= _MOST:
        raise UsageError(f"count {count!a}: must be a whole number of intervals, 1 to {_MOST}")
    return round(seconds * 1e9), times


def _check(arguments: argparse.Namespace) -> None:
    if arguments.pid and arguments.cgroup:
        raise UsageError("-p and -G exclude each other; give processes or cgroups")
    if arguments.per and (arguments.pid or arguments.cgroup):
        raise UsageError(
            f"--per {arguments.per}: applies to the whole machine; leave out -p and -G"
        )
    if arguments.output == "" or arguments.openmetrics == "":
        raise UsageError("-o '', --openmetrics '': a file name is missing")
    if arguments.unique and not arguments.output:
        raise UsageError("-u goes with -o NAME")
    elsewhere = arguments.output or arguments.openmetrics or arguments.listen
    if arguments.no_terminal and not elsewhere:
        raise UsageError("-n goes with -o NAME, --openmetrics FILE or --listen PORT")
    if arguments.token_file is not None and not arguments.listen:
        raise UsageError("--token-file goes with --listen [HOST:]PORT")
    if arguments.turns is not None:
        from gnomon.counters.event_set_options import LONGEST_SLICE_MS, SHORTEST_SLICE_MS

        if not SHORTEST_SLICE_MS <= arguments.turns <= LONGEST_SLICE_MS:
            raise UsageError(
                f"--turns {arguments.turns}: a turn must be {SHORTEST_SLICE_MS} to "
                f"{LONGEST_SLICE_MS} ms"
            )
        if len(_words(arguments.group)) < 2:
            raise UsageError("--turns goes with several groups: -g GROUP,GROUP")


def _words(lists: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(word for words in lists for word in words.split(",")))


def _watched(arguments: argparse.Namespace) -> MonitorConfig:
    from gnomon.stat.monitor import MonitorConfig

    pids = []
    for word in _words(arguments.pid):
        number = int(word) if word.isascii() and word.isdigit() and len(word) < 10 else 0
        if number < 1:
            raise UsageError(f"-p {word!a}: a process id must be above 0")
        pids.append(number)
    groups = _words(arguments.cgroup)
    if "" in groups:
        raise UsageError(
            "-G '': a cgroup name is missing; cat /proc/PID/cgroup shows it, / is the whole machine"
        )
    return MonitorConfig(arguments.per, tuple(groups), tuple(pids))


def _watch(arguments: argparse.Namespace, period_ns: int, count: int) -> int:
    from gnomon.cli.terminal.interval_loop import Ending, rounds
    from gnomon.cli.terminal.interval_writers import print_line
    from gnomon.hpm.environment import slice_ms
    from gnomon.measurement.event_selection import check_user_constants
    from gnomon.stat.interval_table import IntervalTable
    from gnomon.stat.monitor import Monitor
    from gnomon.stat.watched_events import choose

    check_user_constants()
    watched = _watched(arguments)
    is_machine = not (watched.cgroups or watched.pids)
    choice = choose(arguments.event, _words(arguments.group), machine=is_machine)
    turn_ms = arguments.turns or slice_ms()
    with closing(Monitor(choice, watched, turn_ms * 1_000_000)) as monitor, Ending() as ending:
        table = IntervalTable(choice, monitor.infos, period_ns)
        places = _destinations(arguments, monitor, table, group_labels(choice))
        server = _serve(arguments, monitor, choice)
        if not (arguments.json or arguments.no_terminal):
            for line in first_lines(monitor, is_default=choice.is_default):
                print_line(line)

        def tell(sample: Sample) -> None:
            for place in places:
                place.tell(sample)
            if sample.number == 1 and table.left_out and not choice.is_default:
                print_line(f"no room for {', '.join(table.left_out)}: a wider terminal, or --json")

        try:
            is_cut = rounds(monitor, period_ns, count, tell, ending)
            if ending.has_come:
                take_rest(monitor)
        finally:
            if server is not None:
                server.close()
    # A second Ctrl-C ends it at once, in the middle of the summary.
    summary = monitor.totals.summary() if is_cut else None
    for place in places:
        place.end(summary)
    return 0


def take_rest(monitor: Monitor) -> None:
    """Count the interval that a signal cut short; not one too short for rates."""
    if monitor.number or monitor.waited_ns() >= SHORTEST_SECONDS * 1e9:
        monitor.take(is_whole=False)


def _destinations(
    arguments: argparse.Namespace, monitor: Monitor, table: IntervalTable, groups: Mapping[str, str]
) -> list[Destination]:
    from gnomon.cli.terminal.interval_writers import GrowingFile, Renderer, Terminal, Textfile
    from gnomon.stat.openmetrics import exposition, families

    destinations: list[Destination] = []
    kind = "json" if arguments.json else "text"
    if arguments.output == "-":
        arguments.output = None
    if not arguments.no_terminal:
        shown = kind if arguments.output is None else "text"
        destinations.append(Terminal(Renderer(monitor, table, shown)))
    if arguments.output is not None:
        name = arguments.output
        if arguments.unique:
            from gnomon.hpm.output_names import unique_name

            name = unique_name(name)
        ending = name.lower().rpartition(".")[2]
        kind = {"json": "json", "jsonl": "json", "csv": "csv"}.get(ending, kind)
        own = table.twin()
        destinations.append(GrowingFile(name, Renderer(monitor, own, kind)))
    if arguments.openmetrics is not None:
        is_open = not arguments.openmetrics.endswith(".prom")

        def text() -> str:
            return exposition(families(monitor.totals, monitor.infos, groups), openmetrics=is_open)

        destinations.append(Textfile(arguments.openmetrics, text))
    return destinations


def _serve(
    arguments: argparse.Namespace, monitor: Monitor, choice: WatchedEvents
) -> MetricsServer | None:
    if not arguments.listen:
        return None
    from gnomon.cli.terminal.interval_writers import print_line
    from gnomon.stat import metrics_server
    from gnomon.stat.openmetrics import exposition, families

    groups = group_labels(choice)

    def text(is_open: bool) -> str:
        return exposition(families(monitor.totals, monitor.infos, groups), openmetrics=is_open)

    host, port = metrics_server.address(arguments.listen)
    if arguments.token_file is not None:
        token, told = metrics_server.read_token(arguments.token_file), ""
    else:
        token = metrics_server.make_token()
        told = f"?token={token}"
    started = metrics_server.MetricsServer(host, port, token, text)
    print_line(f"listening on {started.url}{told}")
    if not started.is_loopback:
        print_line(f"{started.host} is not loopback: token and metrics travel unencrypted")
    return started


def group_labels(choice: WatchedEvents) -> dict[str, str]:
    """Return for each event of an event group the group's name, of several the first."""
    labels: dict[str, str] = {}
    for group in choice.groups:
        for event in group.wanted.events:
            labels.setdefault(event.name, group.name)
    return labels


def first_lines(monitor: Monitor, *, is_default: bool) -> list[str]:
    """Return the notes before the first interval: what is not counted, and why."""
    from gnomon.stat.watched_events import HARDWARE

    by_cause: dict[tuple[str, str], list[str]] = {}
    for one in monitor.unavailable:
        by_cause.setdefault((one.reason, one.remedy), []).append(one.event)
    lines = []
    for (reason, remedy), events in by_cause.items():
        is_hardware = is_default and set(events) <= set(HARDWARE)
        what = "no hardware counters" if is_hardware else f"not counted: {', '.join(events)}"
        lines.append(f"{what}: {reason}; {remedy}")
    return [*lines, *monitor.notes]
