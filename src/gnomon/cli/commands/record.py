"""`gnomon record`: sample a program, a running process or the machine, and leave a run."""

from __future__ import annotations

import argparse
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from gnomon.cli.commands import run as run_command
from gnomon.cli.terminal.argument_help import Parser
from gnomon.cli.terminal.report_output import guarded, outliving
from gnomon.errors import GnomonError, UsageError
from gnomon.sampling.capability import BRANCHES_HELP
from gnomon.sampling.stack_size import STACK_KB, STACK_KB_MOST

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gnomon.launch.attach import Attachment
    from gnomon.launch.run_part import RunPart
    from gnomon.sampling.sampling_observer import SamplingObserver

RATE_HZ = 997
"""A prime: what a program does over and over is not met at the same point each time."""

_DESCRIPTION = """\
Sample where a program spends its time: the call paths of all its processes and threads, as it is,
without marks or a new build. The result is stored in the run directory NAME.gnomon.
With -p or -a sample what runs already: until it ends, Ctrl-C, -d, or the end of a command."""

_EPILOG = """\
examples:
  gnomon record -- ./app -n 100
  gnomon record -e page-faults,cpu-clock -- ./app
  gnomon record --off-cpu -- ./app -n 100
  gnomon record -p 4711 -d 10
  gnomon record -a -- sleep 5
  mpirun -n 4 gnomon record --name job -- ./app

Then: gnomon report NAME profile, gnomon view NAME. After a kill: gnomon repair NAME."""


def parser() -> argparse.ArgumentParser:
    """Return the parser of `gnomon record`."""
    p = Parser(
        prog="gnomon record",
        usage="gnomon record [options] [--] program [arguments]\n"
        "       gnomon record [options] {-p PID|-a} [[--] command]",
        description=_DESCRIPTION,
        epilog=_EPILOG,
    )
    run_command.add_name(p)
    what = p.add_mutually_exclusive_group()
    what.add_argument("-p", "--pid", metavar="PID", type=int, help="sample a running process")
    what.add_argument("-a", "--all-cpus", action="store_true", help="sample the whole machine")
    p.add_argument("-d", "--duration", metavar="S", type=float, help="with -p, -a: stop after S s")
    often = p.add_mutually_exclusive_group()
    often.add_argument(
        "-F",
        "--frequency",
        dest="samples:rate",
        metavar="HZ",
        default=str(RATE_HZ),
        help=f"samples per second of CPU time, or of an event (default: {RATE_HZ})",
    )
    often.add_argument(
        "-c",
        "--period",
        dest="samples:period",
        metavar="N",
        help="a sample every N events; of a clock, every N nanoseconds",
    )
    p.add_argument(
        "-e",
        "--event",
        dest="samples:event",
        metavar="LIST",
        action="append",
        help="sample these events, separated by commas (default: cpu-clock; see gnomon events); of "
        "{a,b} sample a and read b with it",
    )
    p.add_argument(
        "--stack",
        dest="samples:stack",
        metavar="KB",
        help="copy so many kilobytes of stack with each sample (default: "
        f"{STACK_KB}, of Python processes {STACK_KB_MOST})",
    )
    p.add_argument(
        "--python",
        dest="samples:python",
        metavar="HOW",
        help="how Python functions are told: frames, read at each sample (the default), or "
        "trampoline, of CPython 3.12 and newer",
    )
    p.add_argument(
        "--branches",
        dest="samples:branches",
        action="store_const",
        const=True,
        help=BRANCHES_HELP,
    )
    p.add_argument(
        "--off-cpu",
        dest="samples:off-cpu",
        action="store_const",
        const="yes",
        default="no",
        help="also record where threads wait, for how long, for what, and what wakes them",
    )
    p.add_argument(
        "--keep-stacks",
        dest="samples:keep-stacks",
        metavar="MB",
        help="keep the registers and stacks of samples in the run, until they are so many "
        "megabytes: for bug reports and tests of the unwinder",
    )
    p.add_argument("program", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    spelled = {
        action.dest.removeprefix("samples:"): action.option_strings[0]
        for action in p._actions
        if action.dest.startswith("samples:")
    }
    # What `gnomon run` takes, so that both do the same.
    p.set_defaults(
        capabilities="samples",
        without="counters,sections,mpi",
        repeat=1,
        spelled={"samples": spelled},
    )
    return p


def run(arguments: argparse.Namespace) -> int:
    """Sample, leave a run, print the summary; return the program's status.

    Raises:
        UsageError: there is nothing to sample, or an option is wrong.
        RunDirectoryError: the run's name is taken, or its folder cannot be written.
        ProgramError: the program cannot be executed.
        GnomonError: the kernel does not let it be sampled.
    """
    is_running = arguments.pid is not None or arguments.all_cpus
    command = run_command.program_of(arguments)
    if not is_running:
        if arguments.duration is not None:
            raise UsageError("-d goes with -p and -a; to limit a program: timeout S program")
        if not command:
            raise UsageError("no program to run: gnomon record [options] -- program [arguments]")
        _check_available()
        return run_command.run(arguments)
    if getattr(arguments, "samples:python") is not None:
        raise UsageError("--python goes with a program: one that runs already is as it was started")
    if arguments.pid is not None and arguments.pid < 1:
        raise UsageError(f"-p {arguments.pid}: a process id must be above 0")
    if arguments.duration is not None and not 0 < arguments.duration < 1e9:
        raise UsageError(f"-d {arguments.duration}: a duration must be above 0 s, at most 1e9 s")
    if arguments.all_cpus and not command and arguments.duration is None:
        raise UsageError("-a: for how long? give -d S or a command: gnomon record -a -- sleep 10")
    run_command.check_name(arguments)
    return outliving(lambda: _sample_running(arguments, command))


def _check_available() -> None:
    """Raise why nothing can be sampled here, before there is a run."""
    from gnomon.capabilities import SAMPLES

    state = SAMPLES.availability()
    if not state.available:
        raise GnomonError(f"samples: {state.reason}; {state.remedy}")


def _sample_running(arguments: argparse.Namespace, command: Sequence[str]) -> int:
    from gnomon.capabilities import SAMPLES
    from gnomon.launch.attach import check_running, observe_running
    from gnomon.launch.options import option_values
    from gnomon.launch.run_part import create_staging, discard_staging, plan_part
    from gnomon.sampling.sampling_observer import SamplingObserver, SamplingOptions

    typed = run_command.typed_options(arguments).get(SAMPLES.name, {})
    options = SamplingOptions.of(
        option_values("--", SAMPLES.options, typed, arguments.spelled[SAMPLES.name])
    )
    pid = arguments.pid or 0
    if pid:
        check_running(pid)
    words = [_program(pid), *(["-p", str(pid)] if pid else [])]
    part = plan_part(words, arguments.name, force=arguments.force)
    folder, part = create_staging(part, words, [SAMPLES.name])
    with closing(SamplingObserver(folder, options, is_running=True)) as observer:
        try:
            attached = observe_running(pid, observer, seconds=arguments.duration, command=command)
        except BaseException:
            observer.close()
            discard_staging(folder, part.task)
            raise
        guarded(part.name, lambda: _leave(folder, part, pid, attached, observer))
    return 0


def _leave(
    folder: Path, part: RunPart, pid: int, attached: Attachment, observer: SamplingObserver
) -> None:
    from gnomon.model.capability_result import Collected
    from gnomon.store import staging

    facts = {
        "pid": pid,
        "exit_status": None,
        "signal": 0,
        "started": attached.started,
        "wall_ns": attached.wall_ns,
    }
    with staging.locked(folder):
        staging.end(folder, part.task, facts, Collected(warnings=observer.notes))
        assembled = run_command.close_run(folder, part.name)
    run_command.print_summary(assembled)


def _program(pid: int) -> str:
    """Return what a process is called, or the machine."""
    if not pid:
        return "machine"
    name = Path(f"/proc/{pid}/comm").read_text(errors="replace").strip()
    return name.replace("/", "-") or "process"
