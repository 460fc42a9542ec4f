"""`gnomon count`: run a program, or watch one that runs, and count."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence

from gnomon.cli.terminal.argument_help import Parser, add_presets_option, load_presets
from gnomon.cli.terminal.report_output import Delivery, finish, outliving, undisturbed
from gnomon.cli.terminal.streams import is_styled, write
from gnomon.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gnomon.counters.event_resolver import EventResolution
    from gnomon.measurement.event_selection import SelectedGroup
    from gnomon.measurement.measurement import Measurement

_PER_TASK = ("thread", "process")

_DESCRIPTION = """\
Run a program, like `time`, and print times, counters and metrics; for each counter that is not
available, the reason and a remedy. Threads and child processes are included. The program's output,
exit status, signals and terminal are unchanged."""

_EPILOG = """\
examples:
  gnomon count -- ./app -n 100
  gnomon count -e cycles,instructions,page-faults -- ./app
  gnomon count -g CACHE,BRANCH -x -r 5 -- ./app
  gnomon count --per thread --json -o app.json -- ./app
  gnomon count -p 4711 -d 10
  gnomon count -I 500 -- ./app
  gnomon count -a -A -- sleep 1
  gnomon count --pmu emulated --name app -- ./app -n 1

The status is the program's own; 127 if it is not found, 126 if it cannot be executed."""


def parser() -> argparse.ArgumentParser:
    """Return the parser of `gnomon count`."""
    p = Parser(
        prog="gnomon count",
        usage="gnomon count [options] [--] program [arguments]\n"
        "       gnomon count [options] {-p PID|-a|-G CGROUP} [[--] command]",
        description=_DESCRIPTION,
        epilog=_EPILOG,
    )
    what = p.add_argument_group("what to count")
    what.add_argument(
        "-e",
        "--event",
        metavar="LIST",
        action="append",
        default=[],
        help="events, separated by commas: perf, libpfm4 and PAPI names, tracepoints, "
        "component:::event; {a,b} are always counted together (see gnomon events)",
    )
    what.add_argument(
        "-g",
        "--group",
        metavar="LIST",
        action="append",
        default=[],
        help="event groups by number or name (see gnomon groups)",
    )
    add_presets_option(what)
    what.add_argument(
        "--pmu",
        choices=("native", "emulated"),
        default="native",
        help="emulated: run the program on a simulated CPU, without hardware counters: exact "
        "instructions, loads, stores and conditional branches, simulated cache and branch misses, "
        "per function and line; slow (docs: Counters without a PMU)",
    )
    what.add_argument(
        "--cache",
        metavar="SPEC",
        action="append",
        default=[],
        help="with --pmu emulated: level=size,ways,line of a cache to simulate, such as "
        "D1=32K,8,64 or LL=8M,16,64 (default: that of this machine)",
    )
    per = what.add_mutually_exclusive_group()
    per.add_argument(
        "--per",
        choices=("thread", "process", "core", "cpu"),
        default="",
        help="also print a table with a row for each thread or process, including those that have "
        "ended, or for each core or CPU",
    )
    per.add_argument(
        "-A", "--no-aggr", dest="per", action="store_const", const="cpu", help="as --per cpu"
    )
    what.add_argument(
        "-r",
        "--repeat",
        metavar="N",
        type=int,
        help="run N times and print mean, deviation and 95 %% confidence; with several groups "
        "(-g) each repetition runs the program once for each group",
    )
    what.add_argument("-p", "--pid", metavar="PID", type=int, help="count a running process")
    what.add_argument(
        "-a", "--all-cpus", action="store_true", help="count everything that runs on the machine"
    )
    what.add_argument("-G", "--cgroup", metavar="CGROUP", help="count the processes of a cgroup")
    what.add_argument(
        "-d",
        "--duration",
        metavar="S",
        type=float,
        help="with -p, -a, -G: stop after S seconds (default: at the end of the process, command "
        "or Ctrl-C)",
    )
    when = p.add_argument_group("when")
    when.add_argument(
        "--turns",
        metavar="MS",
        type=int,
        help="several groups (-g) take turns of MS milliseconds, 10 to 30000",
    )
    when.add_argument(
        "-D",
        "--delay",
        metavar="MS",
        type=int,
        default=0,
        help="start counting MS milliseconds after the program",
    )
    when.add_argument(
        "-I",
        "--interval-print",
        metavar="MS",
        type=int,
        default=0,
        help="print counts every MS milliseconds (at least 10); with --json one object per line",
    )
    when.add_argument(
        "--interval-count",
        "--count",
        metavar="N",
        type=int,
        default=0,
        help="with -I: stop printing after N intervals; print the totals at the end",
    )
    add_output_options(p)
    p.add_argument("-l", "--list-groups", action="store_true", help="list event groups and exit")
    p.add_argument("-c", "--list-events", action="store_true", help="list events and exit")
    p.add_argument("program", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    return p


def add_output_options(p: argparse.ArgumentParser) -> None:
    """Add the options that say how and where the report is written."""
    out = p.add_argument_group("the report")
    out.add_argument(
        "--all", action="store_true", help="print every counter and metric, and getrusage(2)"
    )
    out.add_argument("-x", "--formulas", action="store_true", help="print the metrics' formulas")
    out.add_argument("--json", action="store_true", help="as JSON (docs: Count a program)")
    out.add_argument(
        "-o",
        "--output",
        metavar="NAME",
        help="also write the report to this file: as JSON if it ends in .json, as CSV if in .csv; "
        "'-' is stdout",
    )
    out.add_argument(
        "-u",
        "--unique",
        action="store_true",
        help="with -o, --name: insert host, process or MPI rank, date and time into the name",
    )
    out.add_argument(
        "-n", "--no-terminal", action="store_true", help="with -o: write only to the file"
    )
    out.add_argument("--name", metavar="NAME", help="write the run directory NAME.gnomon")
    # What it was called before: scripts have it.
    out.add_argument("--run", dest="name", metavar="NAME", help=argparse.SUPPRESS)
    out.add_argument("--force", action="store_true", help="with --name: replace an existing run")


def run(arguments: argparse.Namespace) -> int:
    """Count and report; return the program's status, or end as it did."""
    load_presets(arguments.presets)
    if arguments.list_groups:
        from gnomon.cli.lists.group_list import print_groups

        return print_groups()
    if arguments.list_events:
        from gnomon.cli.lists.event_lists import print_events

        return print_events([], as_json=arguments.json)
    command = arguments.program
    if command[:1] == ["--"]:
        command = command[1:]
    _check(arguments, command)
    count = _emulate if arguments.pmu == "emulated" else _count
    return outliving(lambda: count(arguments, command)) if command else count(arguments, command)


def _check(arguments: argparse.Namespace, command: Sequence[str]) -> None:
    if arguments.cgroup == "":
        raise UsageError(
            "-G '': a cgroup name is missing; cat /proc/PID/cgroup shows it, / is the whole machine"
        )
    elsewhere = arguments.all_cpus or arguments.cgroup
    if not command and arguments.pid is None and not elsewhere:
        raise UsageError("no program to count: gnomon count [options] -- program [arguments]")
    if arguments.repeat is not None and arguments.repeat < 1:
        raise UsageError(f"-r {arguments.repeat}: the number of repetitions must be at least 1")
    if arguments.pid is not None:
        if arguments.pid < 1:
            raise UsageError(f"-p {arguments.pid}: a process id must be above 0")
        if arguments.repeat is not None and arguments.repeat > 1:
            raise UsageError("-r and -p: a running process cannot be run again")
        if arguments.per in _PER_TASK:
            raise UsageError(
                f"--per {arguments.per} and -p: threads can only be counted separately from their "
                "start"
            )
    if arguments.duration is not None:
        if arguments.pid is None and not elsewhere:
            raise UsageError("-d goes with -p, -a and -G; to limit a program: timeout S program")
        if not 0 < arguments.duration < 1e9:
            raise UsageError(
                f"-d {arguments.duration}: a duration must be above 0 s and at most 1e9 s"
            )
    if arguments.unique and not (arguments.output or arguments.name):
        raise UsageError("-u goes with -o NAME or --name NAME")
    if arguments.force and not arguments.name:
        raise UsageError("--force goes with --name NAME")
    if arguments.no_terminal and not arguments.output:
        raise UsageError("-n goes with -o NAME")
    if arguments.turns is not None and len(_group_words(arguments)) < 2:
        raise UsageError("--turns goes with several groups: -g GROUP,GROUP")
    if arguments.turns is not None and arguments.per in _PER_TASK:
        raise UsageError(
            f"--turns and --per {arguments.per}: counts per thread must not be interrupted; leave "
            "one of them out"
        )
    if arguments.cache and arguments.pmu != "emulated":
        raise UsageError("--cache goes with --pmu emulated")
    if _is_live(arguments):
        from gnomon.cli.terminal.count_mode_options import check

        check(arguments)
    if arguments.pmu == "emulated":
        if arguments.pid is not None:
            raise UsageError(
                "--pmu emulated and -p: the emulated PMU counts only programs that it starts"
            )
        if arguments.per == "thread":
            raise UsageError(
                "--pmu emulated and --per thread: the emulated PMU counts processes, not threads; "
                "use --per process"
            )


def _is_live(arguments: argparse.Namespace) -> bool:
    """Return whether it takes more than the whole counts of one program."""
    return bool(
        arguments.all_cpus
        or arguments.cgroup
        or arguments.delay
        or arguments.interval_print
        or arguments.interval_count
        or arguments.pid is not None
        or arguments.per in ("core", "cpu")
    )


def _count(arguments: argparse.Namespace, command: Sequence[str]) -> int:
    from gnomon.measurement import event_selection
    from gnomon.measurement.report_style import ReportOptions

    event_selection.check_user_constants()
    apart: tuple[SelectedGroup, ...] = ()
    in_turns = arguments.turns is not None
    groups = _group_words(arguments)
    # Threads of several executions are not the same: there all groups are counted at once.
    is_apart = arguments.repeat is not None and arguments.per not in _PER_TASK
    if (in_turns or is_apart) and len(groups) > 1:
        from gnomon.measurement.event_selection import groups_with_events

        apart = groups_with_events(groups, arguments.event)
    names = _names(arguments)
    wanted = event_selection.select_events(
        names or event_selection.events_of_groups([str(event_selection.DEFAULT_GROUP)])
    )
    if not names and (arguments.all_cpus or arguments.cgroup):
        wanted = event_selection.without_processes(wanted)
    options = ReportOptions(
        brief=not arguments.all,
        default_events=not names,
        formulas=arguments.formulas,
        per=arguments.per,
    )
    with Delivery(arguments, options, sys.stderr) as delivery:
        measure = _measure(arguments, command, delivery)
        times = arguments.repeat or 1
        if apart and in_turns:
            from gnomon.count.group_schedule import run_in_turns

            turns = arguments.turns
            measurements = _repeated(times, lambda: run_in_turns(command, apart, turns))
        elif apart:
            from gnomon.count.group_schedule import run_apart

            measurements = run_apart(apart, times, measure)
        else:
            measurements = _repeated(times, lambda: measure(wanted))
        if names or _is_live(arguments):
            measurements = [_with_typed_remedy(one, arguments) for one in measurements]
        with undisturbed():
            delivery.deliver(measurements)
    return _ended(measurements)


def _with_typed_remedy(measurement: Measurement, arguments: argparse.Namespace) -> Measurement:
    """Return a measurement whose remedies repeat the options that were typed.

    Of the events that no PMU here counts, the emulated one may count some, all or none; it counts
    whole programs alone.
    """
    if not measurement.unavailable:
        return measurement
    from gnomon.counters.emulation.events import emulated_event
    from gnomon.counters.event_grammar import modifiers
    from gnomon.counters.perf_errors import ON_EMULATED

    refused = [lost for lost in measurement.unavailable if lost.remedy.endswith(ON_EMULATED)]
    if not refused:
        return measurement
    lacking = [lost.event for lost in refused if emulated_event(modifiers(lost.event)[0]) is None]
    typed = [
        *(f"-g {words}" for words in arguments.group),
        *(f"-e {words}" for words in arguments.event),
    ]
    instead = f"{ON_EMULATED} {' '.join(typed)}"
    if _is_live(arguments) or len(lacking) == len(refused):
        instead = ""
    elif lacking:
        instead += f", without {', '.join(lacking)}"
    unavailable = tuple(
        lost._replace(remedy=lost.remedy.removesuffix(ON_EMULATED) + instead)
        if lost in refused
        else lost
        for lost in measurement.unavailable
    )
    return measurement._replace(unavailable=unavailable)


def _measure(
    arguments: argparse.Namespace, command: Sequence[str], delivery: Delivery
) -> Callable[[EventResolution], Measurement]:
    """Return the function that makes one measurement of some events."""
    if _is_live(arguments):
        from gnomon.cli.terminal.count_mode_options import measurer

        return measurer(arguments, command, delivery)
    from gnomon.count import command_counters

    by_task = bool(arguments.per)
    return lambda wanted: command_counters.run(command, wanted, by_task=by_task)


def _emulate(arguments: argparse.Namespace, command: Sequence[str]) -> int:
    from gnomon.count import emulated_counters
    from gnomon.count.progress_line import Progress
    from gnomon.counters.emulation import caches
    from gnomon.measurement.report_style import ReportOptions

    wanted = emulated_counters.resolve(_names(arguments))
    simulated = caches.choose(arguments.cache)
    emulated_counters.check_wanted(command, wanted)
    engine = emulated_counters.usable()
    options = ReportOptions(brief=not arguments.all, formulas=arguments.formulas, per=arguments.per)
    with Delivery(arguments, options, sys.stderr) as delivery:
        progress = None
        if sys.stderr is not None and delivery.terminal_is_for_people:
            write(sys.stderr, f"gnomon: {emulated_counters.announcement(engine)}\n")
            progress = Progress(sys.stderr, "emulated for") if is_styled(sys.stderr) else None
        measurements = _repeated(
            arguments.repeat or 1,
            lambda: emulated_counters.run(command, wanted, engine, simulated, progress),
        )
        with undisturbed():
            delivery.deliver(measurements)
    return _ended(measurements)


def _names(arguments: argparse.Namespace) -> list[str]:
    from gnomon.measurement import event_selection

    groups = _group_words(arguments)
    return [*arguments.event, *(event_selection.events_of_groups(groups) if groups else ())]


def _group_words(arguments: argparse.Namespace) -> list[str]:
    return [word for words in arguments.group for word in words.split(",")]


def _repeated(times: int, measure: Callable[[], Measurement]) -> list[Measurement]:
    """Return measurements, the last of which says if there should have been more."""
    measurements = []
    for _ in range(times):
        measurements.append(measure())
        if measurements[-1].interrupted:
            break
    if len(measurements) < times:
        note = f"interrupted: {len(measurements)} of {times} repetitions"
        last = measurements[-1]
        measurements[-1] = last._replace(notes=(*last.notes, note))
    return measurements


def _ended(measurements: Sequence[Measurement]) -> int:
    # Of several executions the first that failed says how it went.
    last = next((one for one in measurements if one.exit_status), measurements[-1])
    return finish(last.exit_status, last.signal)
