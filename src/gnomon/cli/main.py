"""Choosing the command, and turning what goes wrong into one line and a status."""

from __future__ import annotations

import errno
import gc
import io
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress

from gnomon import __version__
from gnomon.errors import GnomonError, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from typing import Any, NoReturn, Protocol

    class Command(Protocol):
        """What each command's module offers."""

        def parser(self) -> argparse.ArgumentParser:
            """Return the parser of the command's arguments."""

        def run(self, arguments: argparse.Namespace) -> int:
            """Do it and return the exit status."""


# What one wants to do: the commands for it, each with what it does in one line.
COMMAND_GROUPS = {
    "measure": {
        "run": "measure a program with all this machine offers; store a run",
        "record": "sample where a program, process or the machine spends its time",
        "mpi": "measure the MPI calls of a program, of every rank and call site",
        "io": "record what a program does to its files: calls, bytes, seeks, time",
        "count": "run a program, or attach to one, and count events",
        "stat": "monitor a machine, its CPUs, cgroups or processes",
        "import": "convert a file, such as a .viz file, to a run",
        "repair": "complete the output of a killed program or gnomon run",
    },
    "look": {
        "view": "show runs and .viz files in the browser",
        "report": "print the contents of a run",
        "callgraph": "print who calls whom, as gprof does, of gmon.out files and runs",
        "annotate": "print a function's source or machine code with values beside it",
        "runs": "list, tag, annotate and delete the runs of a directory",
        "bundle": "pack a run and its sources in one file, for another machine",
        "export": "write a run as CSV, JSON, .viz, for speedscope or as OpenMetrics",
    },
    "compare": {
        "compare": "find significant differences between runs",
    },
    "explore this machine": {
        "doctor": "find what limits measuring on this machine, with remedies",
        "events": "list and search the events of this machine",
        "presets": "list PAPI's presets and whether they can be counted here",
        "groups": "list the event groups and their metrics",
        "components": "list the sources of events, and why one does not work here",
        "hardware": "show the hardware: caches, TLBs, NUMA nodes, PMUs",
        "clockres": "measure the resolution and cost of each timer",
        "cost": "measure the cost of starting, reading and stopping counters",
    },
    "set up": {
        "config": "print compiler and linker options for libhpm and libgnomon",
        "completion": "print shell completion for bash or zsh",
    },
}
COMMANDS = {name: line for group in COMMAND_GROUPS.values() for name, line in group.items()}
# A module cannot be called as this one is.
_MODULES = {"import": "import_file"}
OTHER_NAMES = ("hpmcount", "hpmstat", "peekperf", "xprofiler")
"""Commands of their own, each with a parser like the others."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run `gnomon` with the given arguments and return its exit status."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if not words or words[0] in ("-h", "--help", "help"):
        if len(words) > 1 and words[1] in all_commands():
            return _guarded("gnomon", lambda: _execute(words[1], ["--help"]))
        return _guarded("gnomon", lambda: _print_help(0 if words else UsageError.exit_status))
    if words[0] in ("-V", "--version"):
        return _guarded("gnomon", lambda: _print(f"gnomon {__version__}"))
    return _guarded("gnomon", lambda: _execute(words[0], words[1:]))


def hpmcount(arguments: Sequence[str] | None = None) -> int:
    """Run `hpmcount`, the classical name of `gnomon count`, and return its exit status."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    return _guarded("hpmcount", lambda: _execute("hpmcount", words))


def hpmstat(arguments: Sequence[str] | None = None) -> int:
    """Run `hpmstat`, the classical name of `gnomon stat`, and return its exit status."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    return _guarded("hpmstat", lambda: _execute("hpmstat", words))


def peekperf(arguments: Sequence[str] | None = None) -> int:
    """Run `peekperf`, the classical name of `gnomon view`, and return its exit status."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    return _guarded("peekperf", lambda: _execute("peekperf", words))


def xprofiler(arguments: Sequence[str] | None = None) -> int:
    """Run `xprofiler`, the classical name of the call graph's page, and return its exit status."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    return _guarded("xprofiler", lambda: _execute("xprofiler", words))


def gnomon_script() -> NoReturn:
    """Be the `gnomon` command."""
    _run_and_exit(main)


def hpmcount_script() -> NoReturn:
    """Be the `hpmcount` command."""
    _run_and_exit(hpmcount)


def hpmstat_script() -> NoReturn:
    """Be the `hpmstat` command."""
    _run_and_exit(hpmstat)


def peekperf_script() -> NoReturn:
    """Be the `peekperf` command."""
    _run_and_exit(peekperf)


def xprofiler_script() -> NoReturn:
    """Be the `xprofiler` command."""
    _run_and_exit(xprofiler)


def _run_and_exit(command: Callable[[], int]) -> NoReturn:
    # A command is short: collecting garbage costs it 3 ms, taking the interpreter apart 10 ms.
    gc.disable()
    # NumPy's BLAS would start a thread for each CPU, which no command has work for. The program has
    # the environment of before (os.environ, launch/process.py).
    os.putenv("OPENBLAS_NUM_THREADS", "1")
    if sys.stderr is None:  # its descriptor was closed when we were started
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    if sys.stdout is None:
        # What is written there fails, as on a descriptor that is closed.
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC), "w")
    # Arguments and file names may hold what the terminal's encoding has not: shown as escapes.
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        status = command()
    except SystemExit as error:  # argparse's, for --help and for usage
        status = error.code if isinstance(error.code, int) else UsageError.exit_status
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(status)


def parser(name: str) -> argparse.ArgumentParser:
    """Return the argument parser of a command.

    Raises:
        UsageError: there is no such command.
    """
    return _module(name).parser()


def all_commands() -> dict[str, str]:
    """Return every command, those of capabilities too, each with what it does in one line."""
    from gnomon.cli.terminal.capability_commands import commands

    return COMMANDS | {name: command.help for name, command in commands().items()}


def _execute(name: str, words: Sequence[str]) -> int:
    module = _module(name)
    from gnomon.cli.terminal.argument_help import CommandLineError

    try:
        arguments = _parse(module.parser(), words)
    except CommandLineError as error:
        from gnomon.cli.terminal.usage_errors import explain

        raise UsageError(explain(error.parser, str(error), words, parser)) from None
    return module.run(arguments)


def _parse(p: argparse.ArgumentParser, words: Sequence[str]) -> argparse.Namespace:
    """Return the arguments; options may stand between words, but not in those of a program."""
    from argparse import PARSER, REMAINDER

    if any(action.nargs in (PARSER, REMAINDER) for action in p._actions):
        return p.parse_args(words)
    return p.parse_intermixed_args(words)


def _module(name: str) -> Command:
    if name not in COMMANDS and name not in OTHER_NAMES:
        from gnomon.cli.terminal.capability_commands import CapabilityCommand, commands

        added = commands()
        if name in added:
            return CapabilityCommand(added[name])
        import difflib

        close = difflib.get_close_matches(name, [*COMMANDS, *added], n=1)
        hint = f"did you mean {close[0]}?" if close else "see gnomon --help"
        raise UsageError(f"no command '{name}'; {hint}")
    from importlib import import_module

    module: Any = import_module(f"gnomon.cli.commands.{_MODULES.get(name, name)}")
    command: Command = module
    return command


def _guarded(tool: str, do: Callable[[], int]) -> int:
    try:
        status = do()
        sys.stdout.flush()
    except GnomonError as error:
        _complain(f"{tool}: {error}")
        return error.exit_status
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # Whoever read our output has seen enough; Python must not complain of it at its exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except MemoryError:
        _complain(
            f"{tool}: not enough memory; raise the limit if one is set (ulimit -v), or request "
            "less at once"
        )
        return GnomonError.exit_status
    except OSError as error:
        if error.errno == errno.EMFILE:
            _complain(
                f"{tool}: the limit of open files ({os.sysconf('SC_OPEN_MAX')}) is reached; raise "
                "it: ulimit -n 1024"
            )
        elif error.errno == errno.EBADF and not error.filename:
            _complain(f"{tool}: standard output is closed; open it")
        else:
            _complain(f"{tool}: {error.filename or 'output'}: {error.strerror}")
        return GnomonError.exit_status
    return status


def _complain(line: str) -> None:
    from gnomon.units import printable

    with suppress(OSError):
        # A name that was typed may hold what moves the cursor or changes colours.
        print("\n".join(printable(one) for one in line.split("\n")), file=sys.stderr)


def _print(text: str) -> int:
    print(text)
    return 0


def _print_help(status: int) -> int:
    from gnomon.cli.terminal.capability_commands import commands

    groups = {title: dict(lines) for title, lines in COMMAND_GROUPS.items()}
    for name, command in commands().items():
        groups.setdefault(command.group, {})[name] = command.help
    width = max(len(name) for lines in groups.values() for name in lines)
    print("usage: gnomon COMMAND [options]\n")
    print("Measures where a program's time, cache misses, messages and bytes go.\n")
    for title, lines in groups.items():
        print(f"{title}:")
        for name, line in lines.items():
            print(f"  {name:<{width}}  {line}")
        print()
    print("See gnomon COMMAND --help for each command; gnomon --version.")
    print("A first try:  gnomon count -- ls -l")
    return status
