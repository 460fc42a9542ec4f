"""What `gnomon run` can measure with: an object for each capability, all of them in one tuple.

A capability says what it offers; `observe` gives an `Observer` for each execution, `collect` reads
what was left in the staging folder. Each writes what it needs; what stands here does nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from gnomon.named_tuple import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    from gnomon.counters.check import Check
    from gnomon.counters.component import Availability
    from gnomon.launch.observer import Observer
    from gnomon.launch.options import Option
    from gnomon.model.capability_result import Collected
    from gnomon.model.region_kinds import RegionKind
    from gnomon.model.view_pages import ViewPage
    from gnomon.store.reports.report_part import ReportPart
    from gnomon.store.run import Run
    from gnomon.store.run_files import Reader


class Command(NamedTuple):
    """A command that a capability adds: `gnomon NAME [options] [words]`.

    Attributes:
        name: of the command.
        group: what one wants to do, as `gnomon --help` groups commands: "look", for example.
        help: what it does, in one line.
        render: returns what is printed, given the values of the options and the other words.
        options: `--NAME` of each.
        words: what the other words are called in its usage, e.g. "RUN"; "" where it takes none.
        words_help: what they are, for its help.
    """

    name: str
    group: str
    help: str
    render: Callable[[Mapping[str, Any], Sequence[str]], str]
    options: tuple[Option, ...] = ()
    words: str = ""
    words_help: str = ""


class Execution(NamedTuple):
    """One execution of a program that a capability is to observe.

    Attributes:
        command: program and arguments.
        folder: absolute path of the staging folder, for files of the program's processes and of
            the observer; other capabilities and, in a job, other ranks use it, too.
        options: values of the capability's options by name; of a switch whether it was given.
        is_asked: the user asked for the capability. One that is merely used by default does
            without where it cannot observe, and says so.
        prepared: what its `prepare` returned.
    """

    command: tuple[str, ...]
    folder: Path
    options: Mapping[str, Any]
    is_asked: bool = True
    prepared: Any = None


class Capability:
    """One way of measuring a program.

    Attributes:
        name: as `--with` has it, and the beginning of its options.
        title: what it measures, in one line.
        is_default: it is used without `--with`.
        excludes: other capabilities that cannot observe the same execution, and why.
        knows_ranks: its rows have the ranks of processes from MPI itself, whatever the environment
            says.
        gives_times: its observer hands over the program's times and resource usage.
        options: its options of `gnomon run`.
        readers: of files in formats of its own, which are then runs wherever one is named.
        commands: the commands that it adds.
        region_kinds: kinds of regions that its tables have and Gnomon's own are not.
        pages: the pages that it adds to `gnomon view`.
    """

    name: str
    title: str
    is_default: bool = False
    knows_ranks: bool = False
    gives_times: bool = False
    excludes: Mapping[str, str] = {}
    options: tuple[Option, ...] = ()
    readers: tuple[Reader, ...] = ()
    commands: tuple[Command, ...] = ()
    region_kinds: tuple[RegionKind, ...] = ()
    pages: tuple[ViewPage, ...] = ()

    @property
    def report_parts(self) -> tuple[ReportPart, ...]:
        """What it adds to `gnomon report RUN PART`, loaded when a report is asked for."""
        return ()

    def summary_lines(self, run: Run, width: int) -> Iterable[str]:
        """Return what the summary of `gnomon run` says of it, a line or two; none without values.

        Raises:
            RunDirectoryError: the tables cannot be read.
        """
        return ()

    def availability(self) -> Availability:
        """Return whether it works on this machine; if not, why and what to do."""
        from gnomon.counters.component import Availability

        return Availability(True)

    def prepare(self, execution: Execution) -> object:
        """Do what takes processes of its own, before there is an observer that would see them.

        Raises:
            GnomonError: the execution cannot be observed.
        """

    def observe(self, execution: Execution) -> Observer:
        """Return the observer of an execution, with everything open that can be before it begins.

        Raises:
            GnomonError: it cannot be observed.
        """
        from gnomon.launch.observer import Observer

        return Observer()

    def collect(self, folder: Path) -> Collected:
        """Return the results in the staging folder, after the program's end or, in repair, a kill.

        What cannot be read costs a warning in what is returned, no exception.
        """
        from gnomon.model.capability_result import Collected

        return Collected()

    def files_to_keep(self, folder: Path) -> Mapping[str, Path]:
        """Return files of the staging folder that stay in the run, by the names they get there.

        They are in `files/NAME/` of the run, of several executions in `repetition.N/` there.
        """
        return {}

    def checks(self) -> Iterable[Check]:
        """Return the checks of `gnomon doctor` for this capability."""
        return ()
