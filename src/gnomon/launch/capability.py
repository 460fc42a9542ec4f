"""What `gnomon run` can measure with: an object for each capability, all of them in one tuple.

A capability says what it offers; `observe` gives an `Observer` for each execution, `collect` reads
what was left in the staging folder. Each writes what it needs; what stands here does nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from gnomon.counters.component import Availability
from gnomon.launch.observer import Observer
from gnomon.model.collected import Collected

if TYPE_CHECKING:
    from gnomon.store.report_part import ReportPart
    from gnomon.store.run_files import Reader


class Option(NamedTuple):
    """An option of a capability: `--CAPABILITY-NAME VALUE` of `gnomon run`.

    Attributes:
        name: without the capability's, e.g. "rate" for `--toy-rate`.
        help: what it does, for the help.
        metavar: what its value is called there; "" for a switch without a value.
        convert: makes the value of the word that was typed; raises ValueError, which says why.
        default: the value where it is not given.
        many: it may be given several times; its value is a tuple of all.
    """

    name: str
    help: str
    metavar: str = ""
    convert: Callable[[str], object] = str
    default: object = None
    many: bool = False


class Execution(NamedTuple):
    """One execution of a program that a capability is to observe.

    Attributes:
        command: program and arguments.
        folder: absolute path of the staging folder, for files of the program's processes and of
            the observer; other capabilities and, in a job, other ranks use it, too.
        options: values of the capability's options by name; of a switch whether it was given.
    """

    command: tuple[str, ...]
    folder: Path
    options: Mapping[str, Any]


class Capability:
    """One way of measuring a program.

    Attributes:
        name: as `--with` has it, and the beginning of its options.
        title: what it measures, in one line.
        is_default: it is used without `--with`.
        excludes: other capabilities that cannot observe the same execution, and why.
        gives_times: its observer hands over the program's times and resource usage.
        options: its options of `gnomon run`.
        report_parts: what it adds to `gnomon report RUN PART`.
        readers: of files in formats of its own, which are then runs wherever one is named.
    """

    name: str
    title: str
    is_default: bool = False
    gives_times: bool = False
    excludes: Mapping[str, str] = {}
    options: tuple[Option, ...] = ()
    report_parts: tuple[ReportPart, ...] = ()
    readers: tuple[Reader, ...] = ()

    def availability(self) -> Availability:
        """Return whether it works on this machine; if not, why and what to do."""
        return Availability(True)

    def observe(self, execution: Execution) -> Observer:
        """Return what observes an execution, with all open that can be before it begins.

        Raises:
            GnomonError: it cannot be observed.
        """
        return Observer()

    def collect(self, folder: Path) -> Collected:
        """Return what is in the staging folder, after the program or, by `gnomon repair`, a kill.

        What cannot be read costs a warning in what is returned, no exception.
        """
        return Collected()
