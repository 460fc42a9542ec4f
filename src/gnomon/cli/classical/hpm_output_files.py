"""Where hpmcount's report goes: standard output, NAME.hpm, NAME.viz and NAME.csv."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from gnomon.cli.terminal.atomic_file import WholeFile
from gnomon.cli.terminal.report_output import guarded
from gnomon.cli.terminal.streams import is_styled, width_of, write, write_alone
from gnomon.count.count_report import render_measurements
from gnomon.errors import GnomonError
from gnomon.hpm import viz_csv
from gnomon.hpm.output_names import unique_name
from gnomon.launch.run_environment import this_host
from gnomon.units import printable

if TYPE_CHECKING:
    from gnomon.hpm.environment import Settings
    from gnomon.measurement.measurement import Measurement
    from gnomon.measurement.report_style import ReportOptions


class Output:
    """The destinations; files are opened before the program runs, and are whole or not there.

    Once the program has run its status is what counts: a destination that fails then costs a line
    on stderr, and the others get their report.
    """

    def __init__(self, settings: Settings, options: ReportOptions, group: str) -> None:
        """Open what is to be written.

        Args:
            settings: what to write, and where.
            options: how the text is to look.
            group: the group that is counted, as "2 BRANCH"; "" for several, or none.

        Raises:
            GnomonError: a file cannot be written.
        """
        self._options = options
        self._group = group
        self._files: dict[str, WholeFile] = {}
        if settings.name:
            # One moment for all of them, so that they belong together.
            name = unique_name(settings.name) if settings.unique else settings.name
            try:
                for ending in settings.formats:
                    self._files[ending] = WholeFile(f"{name}.{ending}")
            except GnomonError:
                self._close()
                raise
        # Without a file the report would be lost: the guide silences only what has a copy.
        self._prints = not (settings.silent and self._files)

    def __enter__(self) -> Output:
        return self

    def __exit__(self, *error: object) -> None:
        self._close()

    def deliver(self, measurements: Sequence[Measurement]) -> None:
        """Write the report to each destination."""
        host = this_host()

        def blocks() -> tuple[viz_csv.Block, ...]:
            return viz_csv.blocks(measurements, self._group, apart=self._options.parts)

        self.write(
            lambda options: render_measurements(measurements, host, options),
            {
                "viz": lambda: viz_csv.viz("hpmcount", host, measurements, blocks()),
                "csv": lambda: viz_csv.csv(host, measurements, blocks()),
            },
        )

    def write(
        self, report: Callable[[ReportOptions], str], rendered: Mapping[str, Callable[[], str]]
    ) -> None:
        """Write what is rendered to each destination.

        Args:
            report: returns the text.
            rendered: return the other formats, by the endings of their files.
        """
        options = self._options
        if self._prints:
            styled = options._replace(width=width_of(sys.stdout), styled=is_styled(sys.stdout))
            printed = guarded("the report", lambda: write_alone(report(styled)))
            if not printed:
                # What is left in its buffer must not fail again when the command ends.
                os.dup2(os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC), sys.stdout.fileno())
            options = options._replace(width=styled.width)
        contents = {"hpm": lambda: report(options), **rendered}
        for ending, file in self._files.items():

            def to_file(ending: str = ending, file: WholeFile = file) -> None:
                write(file.text, contents[ending]())
                if file.is_of_another():
                    _warn_of_another(file.name)
                file.keep()

            guarded(file.name, to_file)

    def _close(self) -> None:
        """Close the files; half a report is none, so it is removed."""
        for file in self._files.values():
            file.drop()
        self._files = {}


def _warn_of_another(name: str) -> None:
    """Say that a file is lost: of libhpm in the program, say, or of another task of an MPI job."""
    if sys.stderr is not None:
        write(
            sys.stderr,
            f"HPM WARNING - {printable(name)}, written by another process in the meantime, is "
            "replaced; give another name with -o, or set HPM_UNIQUE_FILE_NAME=1\n",
        )
