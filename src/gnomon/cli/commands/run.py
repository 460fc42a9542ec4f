"""`gnomon run`: run a program with all that this machine offers, and leave a run to look at."""

from __future__ import annotations

import argparse
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gnomon.cli.terminal.argument_help import Parser
from gnomon.cli.terminal.capability_commands import add_options
from gnomon.cli.terminal.report_output import finish, guarded, outliving
from gnomon.cli.terminal.streams import is_styled, width_of, write, write_lines
from gnomon.errors import FormatError, RunDirectoryError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gnomon.launch.capability import Capability
    from gnomon.launch.capability_selection import Selection
    from gnomon.launch.process_result import ObservedExecution, ProcessResult
    from gnomon.launch.run_assembly import AssembledRun
    from gnomon.launch.run_part import RunPart

# Between the names of a capability and its option; no option's own name has it.
_MARK = ":"
_DESCRIPTION = """\
Measure a program with everything this machine offers: counters, times and memory of
the program and of each process and thread, and sections marked with libhpm. The result
is stored in the run directory NAME.gnomon, and a short summary is printed on standard error.
The program's output, exit status and signals are unchanged."""

_EPILOG = """\
examples:
  gnomon run -- ./app -n 100
  gnomon run --name first -r 10 -- ./app
  gnomon run --with emulated -- ./app -n 1
  gnomon run -- mpirun -n 4 ./app
  mpirun -n 4 gnomon run -- ./app

Then: gnomon view NAME. After a kill: gnomon repair NAME.
The status is the program's own; 127 if it is not found, 126 if it cannot be executed."""


def parser() -> argparse.ArgumentParser:
    """Return the parser of `gnomon run`."""
    p = Parser(
        prog="gnomon run",
        usage="gnomon run [options] [--] program [arguments]",
        description=_DESCRIPTION,
        epilog=_EPILOG,
    )
    from gnomon.capabilities import CAPABILITIES

    p.add_argument(
        "--with",
        dest="capabilities",
        metavar="CAPABILITY",
        help="also use these capabilities, separated by commas: "
        + ", ".join(each.name for each in CAPABILITIES if not each.is_default),
    )
    p.add_argument(
        "--without",
        metavar="CAPABILITY",
        help="do not use these capabilities: "
        + ", ".join(each.name for each in CAPABILITIES if each.is_default),
    )
    add_name(p)
    add_repeat(p)
    for each in CAPABILITIES:
        _add_options(p, each)
    p.add_argument("program", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    return p


def add_name(p: argparse.ArgumentParser) -> None:
    """Add the options that say where a run goes."""
    p.add_argument(
        "--name",
        metavar="NAME",
        help="write the run directory NAME.gnomon (default: the program's name, date and time)",
    )
    p.add_argument("--force", action="store_true", help="with --name: replace an existing run")


def add_repeat(p: argparse.ArgumentParser) -> None:
    """Add the option for several executions."""
    p.add_argument(
        "-r",
        "--repeat",
        metavar="N",
        type=int,
        default=1,
        help="run the program N times and store all executions in one run (see gnomon compare)",
    )


def capability_parser(
    name: str, description: str, epilog: str, *, without: str
) -> argparse.ArgumentParser:
    """Return the parser of a command that runs a program with one capability.

    Args:
        name: of the capability, and the command.
        description: of the command.
        epilog: likewise.
        without: the names of others that `gnomon run` has by default.
    """
    p = Parser(
        prog=f"gnomon {name}",
        usage=f"gnomon {name} [options] [--] program [arguments]",
        description=description,
        epilog=epilog,
    )
    add_name(p)
    add_repeat(p)
    p.add_argument("program", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    # What `gnomon run` takes, so that both do the same.
    p.set_defaults(capabilities=name, without=without, spelled={})
    return p


def run_capability(name: str, arguments: argparse.Namespace) -> int:
    """Run the program of such a command as `gnomon run` does; return the program's status.

    Raises:
        UsageError: there is no program, or an option is wrong.
        RunDirectoryError: the run's name is taken, or its folder cannot be written.
        ProgramError: the program cannot be executed.
    """
    if not program_of(arguments):
        raise UsageError(f"no program to run: gnomon {name} [options] -- program [arguments]")
    return run(arguments)


def _add_options(p: argparse.ArgumentParser, capability: Capability) -> None:
    """Add what a capability offers to the help, and its options to the parser."""
    used = "" if capability.is_default else f" (--with {capability.name}, or any of its options)"
    group = p.add_argument_group(capability.name, f"{capability.title}{used}")
    add_options(group, capability.options, f"{capability.name}-", f"{capability.name}{_MARK}")


def run(arguments: argparse.Namespace) -> int:
    """Run the program, leave a run, print the summary; return the program's status.

    Raises:
        UsageError: there is no program, or an option is wrong.
        RunDirectoryError: the run's name is taken, or its folder cannot be written.
        ProgramError: the program cannot be executed.
    """
    command = program_of(arguments)
    if not command:
        raise UsageError("no program to run: gnomon run [options] -- program [arguments]")
    check_name(arguments)
    if arguments.repeat < 1:
        raise UsageError(f"-r {arguments.repeat}: the number of repetitions must be at least 1")
    return outliving(lambda: _measure(arguments, command))


def program_of(arguments: argparse.Namespace) -> list[str]:
    """Return the program and its arguments, as typed."""
    words: list[str] = arguments.program
    return words[1:] if words[:1] == ["--"] else words


def check_name(arguments: argparse.Namespace) -> None:
    """Check the options that say where the run goes.

    Raises:
        UsageError: they do not fit together.
    """
    if arguments.name == "":
        raise UsageError("--name '': the name is empty")
    if arguments.force and arguments.name is None:
        raise UsageError("--force goes with --name NAME")


def _measure(arguments: argparse.Namespace, command: Sequence[str]) -> int:
    from gnomon.capabilities import CAPABILITIES, TIMES
    from gnomon.launch.capability_selection import select
    from gnomon.launch.run_part import create_staging, plan_part
    from gnomon.launch.signals import SignalForwarder

    selection = select(
        CAPABILITIES, arguments.capabilities, arguments.without, typed_options(arguments), TIMES,
        spelled=getattr(arguments, "spelled", None),
    )  # fmt: skip
    part = plan_part(command, arguments.name, force=arguments.force)
    used = [capability.name for capability in selection.capabilities]
    folder, part = create_staging(part, command, used)
    try:
        # From the program's end until what was counted is in our hands Ctrl-C is not for us.
        with SignalForwarder():
            observed = _repeated(arguments.repeat, folder, part, command, selection)
        # A launcher that ends the job must not end us before what was measured is kept.
        usual = signal.signal(signal.SIGTERM, signal.SIG_IGN)
        try:
            guarded(part.name, lambda: _leave(folder, part, observed))
        finally:
            signal.signal(signal.SIGTERM, usual)
    except KeyboardInterrupt:
        why = "interrupted before the run was assembled; the measured data is kept"
        write(sys.stderr, f"\ngnomon: {why}: gnomon repair {part.name}\n")
    return finish(observed.process.exit_status, observed.process.signal)


def typed_options(arguments: argparse.Namespace) -> dict[str, dict[str, Any]]:
    """Return the options of capabilities that were typed, by the names of both."""
    typed: dict[str, dict[str, Any]] = {}
    for key, value in vars(arguments).items():
        name, mark, option = key.partition(_MARK)
        if mark and value is not None:
            typed.setdefault(name, {})[option] = value
    return typed


def _repeated(
    times: int, folder: Path, part: RunPart, command: Sequence[str], selection: Selection
) -> ObservedExecution:
    """Run the program so many times, up to one that Ctrl-C ended."""
    from gnomon.launch import repetitions
    from gnomon.launch.executions import observe
    from gnomon.launch.run_part import discard_staging

    executions: list[ObservedExecution] = []
    try:
        if times == 1:
            return observe(command, selection, folder)
        for number in range(times):
            own = repetitions.folder_of(folder, number)
            executions.append(observe(command, selection, own))
            if executions[-1].process.interrupted:
                break
    except BaseException:
        if not executions:
            discard_staging(folder, part.task)
        raise
    return repetitions.join_executions(executions, times, command)


def _leave(folder: Path, part: RunPart, observed: ObservedExecution) -> None:
    """Write this rank's part; the last rank of a job assembles the run."""
    from gnomon.store import staging

    process = observed.process
    facts = {
        "pid": process.pid,
        "exit_status": process.exit_status,
        "signal": process.signal,
        "started": process.started,
        "wall_ns": process.wall_ns,
    }
    with staging.locked(folder):
        staging.end(folder, part.task, facts, observed.collected)
        if not staging.have_all_ended(folder, part.tasks, part.task):
            _tell_of_others(part, process)
            return
        try:
            assembled = close_run(folder, part.name)
        except (FormatError, RunDirectoryError) as error:
            kept = f"the measured data is kept; solve this, then: gnomon repair {part.name}"
            raise RunDirectoryError(f"{error}; {kept}") from None
    print_summary(assembled)


def close_run(folder: Path, name: str, *, force: bool = False) -> AssembledRun:
    """Make the run of a staging folder, on a terminal with a line that tells how far it is.

    `force` replaces a run of that name.

    Raises:
        RunDirectoryError: what is there is damaged, or the run cannot be written.
    """
    from gnomon.capabilities import CAPABILITIES
    from gnomon.launch.run_assembly import assemble_run

    if not is_styled(sys.stderr):
        return assemble_run(folder, name, CAPABILITIES, force=force)
    try:
        return assemble_run(
            folder,
            name,
            CAPABILITIES,
            lambda what: write(sys.stderr, f"\r\x1b[Kgnomon: {what} ..."),
            force=force,
        )
    finally:
        write(sys.stderr, "\r\x1b[K")


def _tell_of_others(part: RunPart, process: ProcessResult) -> None:
    """Print the remedy where no other rank may be left to assemble the run."""
    if not part.tasks and part.task == 0:
        why = "the launcher does not tell the number of tasks; when all have ended"
    elif (
        process.exit_status and process.signal != signal.SIGTERM
    ):  # which launchers send the others
        why = (
            f"rank {part.rank} failed; the last rank to end assembles the run; if all have "
            "ended and none did"
        )
    else:
        return
    write(sys.stderr, f"gnomon: {why}: gnomon repair {part.name}\n")


def print_summary(assembled: AssembledRun) -> None:
    """Print the summary of a run."""
    from gnomon.capabilities import CAPABILITIES
    from gnomon.store.reports.run_summary import render_run_summary
    from gnomon.store.run import Run

    run, width = Run(assembled.path, assembled.head), width_of(sys.stderr)
    told = [
        line
        for capability in CAPABILITIES
        if capability.name in run.capabilities
        for line in capability.summary_lines(run, width)
    ]
    write_lines(sys.stderr, render_run_summary(run, assembled.tables, width, told))
