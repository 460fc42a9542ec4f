"""Where the report of a counted program goes, and how the command ends afterwards."""

from __future__ import annotations

import argparse
import os
import stat
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext

from gnomon.cli.terminal.streams import (
    complain,
    format_of,
    is_styled,
    open_for_writing,
    width_of,
    write,
    write_alone,
)
from gnomon.errors import GnomonError, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import IO

    from gnomon.measurement.measurement import Measurement
    from gnomon.measurement.report_style import ReportOptions


class Delivery:
    """The destinations that one command line names; files are opened before the program runs.

    Once the program has run its status is what counts: a destination that fails then costs a line
    on stderr, and the others get their report.
    """

    def __init__(
        self,
        arguments: argparse.Namespace,
        options: ReportOptions,
        terminal: IO[str],
        suffix: str = "",
    ) -> None:
        """Open what is to be written.

        Raises:
            UsageError: a name is none.
            GnomonError: a file or run directory cannot be written.
        """
        self._options = options
        self._terminal: IO[str] | None = terminal
        self._json = arguments.json
        self._file_kind = "text"
        self._mute = arguments.no_terminal
        self._file: IO[str] | None = None
        self._is_whole = False
        self._in_lines = False
        self._run: str | None = arguments.name
        self._force: bool = arguments.force
        if arguments.output == "":
            raise UsageError("-o '': a file name is missing")
        if arguments.output == "-":
            self._terminal = sys.stdout
        elif arguments.output is not None:
            name = _unique(arguments.output) if arguments.unique else arguments.output
            self._file_kind = format_of(name, as_json=self._json)
            # JSON that was asked for and has a file to go to leaves the terminal to people.
            self._json = False
            is_csv = self._file_kind == "csv"
            self._file = open_for_writing(name + suffix, newline="" if is_csv else None)
        if self._run is not None:
            from gnomon.store.run_directory import check_free

            self._run = _unique(self._run) if arguments.unique else self._run
            check_free(self._run, force=self._force)
        if self._terminal is None and terminal is not sys.stderr:
            raise GnomonError("standard output is closed; write the report to a file: -o NAME")

    @property
    def terminal_is_for_people(self) -> bool:
        """Whether a report in words, and not JSON, goes to the terminal."""
        return self._terminal is not None and not self._json and not self._mute

    def __enter__(self) -> Delivery:
        return self

    def __exit__(self, *error: object) -> None:
        """Close the file; half a report is none, so it is removed."""
        if self._file is None:
            return
        name, is_file = self._file.name, stat.S_ISREG(os.fstat(self._file.fileno()).st_mode)
        try:
            self._file.close()
        except OSError:
            self._is_whole = False
        if is_file and not self._is_whole:
            from pathlib import Path

            Path(name).unlink()

    def tell(self, rendered: Callable[[bool], str]) -> None:
        """Write something while the program runs; JSON is one object a line from then on.

        Args:
            rendered: returns it as text, or as JSON for True.
        """
        self._in_lines = True
        if self._terminal is not None and not (self._mute and self._file is not None):
            terminal = self._terminal
            guarded("the intervals", lambda: write(terminal, rendered(self._json)))
        # A file of CSV has one table: that of the end.
        if self._file is not None and self._file_kind != "csv":
            file = self._file
            guarded(file.name, lambda: write(file, rendered(self._file_kind == "json")))

    def deliver(self, measurements: Sequence[Measurement]) -> None:
        """Write the report to each destination."""
        from gnomon.count import count_report
        from gnomon.launch.run_environment import this_host

        host = this_host()

        def rendered(as_json: bool, stream: IO[str] | None = None) -> str:
            if as_json:
                import json

                from gnomon.measurement.measurement_json import document

                indent = None if self._in_lines else 2
                return json.dumps(document(measurements, host), indent=indent) + "\n"
            options = self._options
            if stream is not None:
                options = options._replace(styled=is_styled(stream), width=width_of(stream))
            return count_report.render_measurements(measurements, host, options)

        def to_terminal(stream: IO[str]) -> None:
            text = rendered(self._json, stream)
            if stream is sys.stdout and not (self._json and self._in_lines):
                write_alone(text)
            else:
                write(stream, text if self._json else "\n" + text)

        def to_file(file: IO[str]) -> None:
            if self._file_kind == "csv":
                from gnomon.hpm import viz_csv

                of = viz_csv.blocks(measurements, "", apart=False)
                write(file, viz_csv.csv(host, measurements, of))
            else:
                write(file, rendered(self._file_kind == "json"))
            self._is_whole = True

        def to_run(name: str) -> None:
            from gnomon.count.run_tables import save

            path = save(name, measurements, host, rendered(False), force=self._force)
            if not self._mute:
                write(sys.stderr, f"run directory: {path}\n")

        terminal, file, run = self._terminal, self._file, self._run
        if terminal is not None and not (self._mute and file is not None):
            written = guarded("the report", lambda: to_terminal(terminal))
            if not written and terminal is sys.stdout:
                # What is left in its buffer must not fail again when the command ends.
                os.dup2(os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC), terminal.fileno())
        if file is not None:
            guarded(file.name, lambda: to_file(file))
        if run is not None:
            guarded(run, lambda: to_run(run))


def _unique(name: str) -> str:
    from gnomon.hpm.output_names import unique_name

    return unique_name(name)


def guarded(name: str, do: Callable[[], None]) -> bool:
    """Do it and return whether it could be done; say so if not."""
    try:
        do()
    except OSError as error:
        complain(f"{name}: cannot be written: {error.strerror}")
    except GnomonError as error:
        complain(str(error))
    except Exception as error:
        # The program has run, and its status must stand whatever is wrong with us.
        complain(f"{name}: internal error: {type(error).__name__}: {error}; please report this bug")
    else:
        return True
    return False


def outliving(work: Callable[[], int]) -> int:
    """Do the work of a command that runs a program, and return its status or end as it did.

    What a launcher started as a task of a job stands in for a child that does the work, and which
    the launcher does not kill with the program.
    """
    from gnomon.launch import launcher_standin

    end = launcher_standin.split()
    return work() if end is None else finish(end.exit_status, end.killed_by)


def undisturbed() -> AbstractContextManager[object]:
    """Let a launcher that ends the job not end us before the report is written."""
    from gnomon.launch import launcher_standin
    from gnomon.launch.signals import SignalForwarder

    return nullcontext() if launcher_standin.current() is None else SignalForwarder()


def finish(exit_status: int | None, killed_by: int) -> int:
    """Return the program's status, or die of the signal that killed it, as it did."""
    if killed_by:
        import resource
        import signal

        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
        # The program has left its core already; ours would only hide it.
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if killed_by not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(killed_by, signal.SIG_DFL)
        os.kill(os.getpid(), killed_by)
    return exit_status or 0
