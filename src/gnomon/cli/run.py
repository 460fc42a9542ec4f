"""`gnomon run`: run a program with all that this machine offers, and leave a run to look at."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from gnomon.cli.delivery import finish, guarded, outliving
from gnomon.cli.output import is_styled, width_of, write, write_lines
from gnomon.cli.parsing import Parser
from gnomon.errors import RunDirectoryError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gnomon.capabilities import Inside, Runner
    from gnomon.cli.gather import Finished, Place
    from gnomon.model.collected import Ended

_DESCRIPTION = """\
Run a program and measure with all that this machine offers: counters, times and memory of the
program and each process and thread, and the sections that it marks with libhpm. What was measured
is left in a run directory NAME.gnomon, and a summary of one screen goes to standard error.
The program's output, exit status and signals stay as they are."""

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
    p.add_argument(
        "--with",
        dest="capabilities",
        metavar="CAPABILITY",
        help="measure with these, too, separated by commas: emulated (exact counts of each "
        "function and line on an emulated PMU, in the counters' place; slow)",
    )
    p.add_argument(
        "--name",
        metavar="NAME",
        help="leave the run directory NAME.gnomon (default: the program's name, date and time)",
    )
    p.add_argument(
        "-r",
        "--repeat",
        metavar="N",
        type=int,
        default=1,
        help="run N times, into one run: its executions are what gnomon compare compares",
    )
    p.add_argument("--force", action="store_true", help="with --name: replace a run of that name")
    p.add_argument("program", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    return p


def run(arguments: argparse.Namespace) -> int:
    """Run the program, leave a run, print the summary; return the program's status.

    Raises:
        UsageError: there is no program, or an option is wrong.
        RunDirectoryError: the run's name is taken, or its folder cannot be written.
        ProgramError: the program cannot be executed.
    """
    command = arguments.program
    if command[:1] == ["--"]:
        command = command[1:]
    if not command:
        raise UsageError("no program to run: gnomon run [options] -- program [arguments]")
    if arguments.name == "":
        raise UsageError("--name '': a run has a name")
    if arguments.repeat < 1:
        raise UsageError(f"-r {arguments.repeat}: a program is run at least once")
    if arguments.force and arguments.name is None:
        raise UsageError("--force goes with --name NAME")
    return outliving(lambda: _measure(arguments, command))


def _measure(arguments: argparse.Namespace, command: Sequence[str]) -> int:
    from gnomon.cli import gather
    from gnomon.launch.signals import SignalForwarder

    runner, inside = gather.choose(arguments.capabilities)
    where = gather.place(command, arguments.name, force=arguments.force)
    folder, where = gather.begin(where, command, (runner, *inside))
    try:
        # From the program's end until what was counted is in our hands Ctrl-C is not for us.
        with SignalForwarder():
            ended = _repeated(arguments.repeat, folder, where, command, runner, inside)
        # A launcher that ends the job must not end us before what was measured is kept.
        usual = signal.signal(signal.SIGTERM, signal.SIG_IGN)
        try:
            guarded(where.name, lambda: _leave(folder, where, ended))
        finally:
            signal.signal(signal.SIGTERM, usual)
    except KeyboardInterrupt:
        why = "interrupted before the run was made; what was measured is kept"
        write(sys.stderr, f"\ngnomon: {why}: gnomon repair {where.name}\n")
    return finish(ended.exit_status, ended.signal)


def _repeated(
    times: int, folder: Path, where: Place, command: Sequence[str], runner: Runner,
    inside: Sequence[Inside],
) -> Ended:  # fmt: skip
    """Run the program so many times, up to one that Ctrl-C ended."""
    from gnomon.cli import gather, repetitions

    if times == 1:
        try:
            return _run_in(folder, command, runner, inside)
        except BaseException:
            gather.withdraw(folder, where.task)
            raise
    found: list[Ended] = []
    try:
        for number in range(times):
            own = repetitions.folder_of(folder, number)
            found.append(_run_in(own, command, runner, inside))
            if found[-1].interrupted:
                break
    except BaseException:
        if not found:
            gather.withdraw(folder, where.task)
        raise
    return repetitions.joined(found, times, command)


def _run_in(
    folder: Path, command: Sequence[str], runner: Runner, inside: Sequence[Inside]
) -> Ended:
    """Run the program with what measures inside it."""
    before = dict(os.environ)
    try:
        for one in inside:
            os.environ.update(one.environment(folder))
        return runner.run(command)
    finally:
        os.environ.clear()
        os.environ.update(before)


def _leave(folder: Path, where: Place, ended: Ended) -> None:
    """Write this task's part; whoever is the last of a job makes the run of all."""
    from gnomon.store import rawfolder

    facts = {
        "pid": ended.pid,
        "exit_status": ended.exit_status,
        "signal": ended.signal,
        "started": ended.started,
        "wall_ns": ended.wall_ns,
    }
    with rawfolder.locked(folder):
        rawfolder.end(folder, where.task, facts, ended.collected)
        if rawfolder.count_of_parts(folder) != where.tasks:
            _tell_of_others(where, ended)
            return
        try:
            made = close(folder, where.name)
        except RunDirectoryError as error:
            kept = f"what was measured is kept: mend that, then: gnomon repair {where.name}"
            raise RunDirectoryError(f"{error}; {kept}") from None
    tell(made)


def close(folder: Path, name: str, *, force: bool = False) -> Finished:
    """Make the run of a raw folder, on a terminal with a line that tells how far it is.

    `force` replaces a run of that name.

    Raises:
        RunDirectoryError: what is there is damaged, or the run cannot be written.
    """
    from gnomon.cli import gather

    if not is_styled(sys.stderr):
        return gather.close(folder, name, force=force)
    try:
        return gather.close(
            folder,
            name,
            lambda what: write(sys.stderr, f"\r\x1b[Kgnomon: {what} ..."),
            force=force,
        )
    finally:
        write(sys.stderr, "\r\x1b[K")


def _tell_of_others(where: Place, ended: Ended) -> None:
    """Say what to do where no other task may come to make the run."""
    if not where.tasks and where.task == 0:
        why = "the launcher does not tell how many tasks there are; when all have ended"
    elif ended.exit_status and ended.signal != signal.SIGTERM:  # which launchers send the others
        why = f"rank {where.rank} failed; the last to end makes the run; if all have and none did"
    else:
        return
    write(sys.stderr, f"gnomon: {why}: gnomon repair {where.name}\n")


def tell(made: Finished) -> None:
    """Print the summary of a run."""
    from gnomon.cli.summary import text

    write_lines(sys.stderr, text(made, width_of(sys.stderr)))
