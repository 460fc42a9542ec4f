"""Every exception that Gnomon raises, in one tree.

    GnomonError
    ├── UsageError                  the command or call was put wrongly (exit 2)
    │   ├── ComponentError          no component of that name, or a second one
    │   └── PresetFileError         a file of presets that cannot be read as one
    ├── EventError
    │   ├── EventNameError          nothing here has that name
    │   │   └── ComponentNameError  no component has that name
    │   │   └── NotPresetError      it is an event, but not a preset
    │   └── EventUnavailableError   the event exists, but not here and now
    │       ├── ConflictError           not beside the other events of the set
    │       ├── EventPermissionError    the kernel does not allow it
    │       ├── EventUnsupportedError   the PMU or the kernel cannot do it
    │       ├── DescriptorsError        no descriptor is left for it
    │       └── EventSystemError        the kernel refused for another reason
    ├── EventSetError               an event set was used against its rules
    │   ├── EmptySetError           nothing in it to count
    │   ├── NotInSetError           an event that the set does not have
    │   ├── AttachedError           attached already, or detached without
    │   ├── OptionError             an option that makes no sense
    │   ├── DomainError             an invalid domain, or one that cannot be separated
    │   ├── FeatureError            an option that a component cannot honour
    │   ├── WriteError              counters of the kernel cannot be written
    │   ├── ClosedError             the set was closed
    │   ├── ForkedError             a child uses the set of its parent
    │   ├── NotRunningError         stop or read of a set that was not started
    │   ├── RunningError            a change to a set while it counts, or a second set
    │   ├── CountersLostError       others have the counters of a pinned set
    │   ├── ComponentUsedError      a component is disabled too late
    │   └── KernelError             the kernel refused for another reason
    ├── EmulationError              the emulated PMU cannot run here
    ├── SectionError                a section of a program that cannot be as it is asked for
    ├── TimerError                  a timer that this machine does not have
    ├── ProgramError                the program to be measured could not be started
    ├── FormatError                 a file is not what its name says
    ├── ConstraintFileError         a table of counters and their constraints is broken
    ├── FormulaError                a metric's formula cannot be parsed or evaluated
    ├── MpiError                    an MPI, its header or the standard's data is not usable
    ├── ViewError                   the page in the browser cannot be served
    └── RunDirectoryError           a run directory is missing, taken or unreadable

A message names the thing, the cause and the remedy, in this order.
"""

from __future__ import annotations

import errno

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path


def _error_name(number: int) -> str:
    # Python knows this one by its other name.
    return "EOPNOTSUPP" if number == errno.EOPNOTSUPP else errno.errorcode.get(number, "")


def _path(name: Path | str) -> Path:
    from pathlib import Path  # whoever sees no error need not wait for it

    return Path(name)


class GnomonError(Exception):
    """Root of Gnomon's exceptions; `exit_status` is what the command line returns for it."""

    exit_status = 1


class UsageError(GnomonError):
    """Invalid command line, option or argument."""

    exit_status = 2


class PresetFileError(UsageError):
    """A file of presets that is missing, broken or not what its name says.

    Attributes:
        path: the file.
        line: the line at fault, 0 where the file as a whole is.
        problem: what is wrong with it.
        papi_name: what PAPI calls this condition.
    """

    papi_name = "PAPI_EINVAL"

    def __init__(self, path: Path | str, line: int, problem: str) -> None:
        self.path = _path(path)
        self.line = line
        self.problem = problem
        place = f"{path}:{line}" if line else str(path)
        super().__init__(f"{place}: {problem}")


class EventError(GnomonError):
    """Something about an event."""


class EventNameError(EventError, UsageError):
    """A name that no component, PMU, preset or tracepoint here answers to.

    Attributes:
        name: the name as it was typed.
        suggestions: the nearest names that do exist, best first.
        papi_name: what PAPI calls this condition.
    """

    papi_name = "PAPI_ENOEVNT"

    def __init__(self, name: str, reason: str, suggestions: tuple[str, ...] = ()) -> None:
        self.name = name
        self.suggestions = suggestions
        nearest = f"; did you mean {' or '.join(suggestions)}?" if suggestions else ""
        super().__init__(f"event '{name}': {reason}{nearest}")


class ComponentError(UsageError):
    """A component that does not exist, or whose name is taken or none."""

    papi_name = "PAPI_ENOCMP"


class ComponentNameError(EventNameError):
    """The name of an event whose component does not exist, or was disabled."""

    papi_name = "PAPI_ENOCMP"


class NotPresetError(EventNameError):
    """The name of an event where only that of a preset is meant."""

    papi_name = "PAPI_ENOTPRESET"


class EventUnavailableError(EventError):
    """An event that exists but cannot be counted here.

    Attributes:
        name: the event.
        reason: why the kernel or the machine refused, in words.
        remedy: what to do about it.
        errno: the kernel's error number, 0 where none was involved.
        pmu: the kernel's name of the PMU that was asked, "" where none was.
    """

    papi_name = "PAPI_ENOEVNT"

    def __init__(self, name: str, reason: str, remedy: str, errno: int = 0, pmu: str = "") -> None:
        self.name = name
        self.reason = reason
        self.remedy = remedy
        self.errno = errno
        self.pmu = pmu
        where = f" on PMU '{pmu}'" if pmu else ""
        # Without a PMU it is no refusal by the kernel: libraries have numbers of their own.
        word = _error_name(errno) if pmu else ""
        code = f" ({word})" if word and word not in reason else ""
        super().__init__(f"event '{name}'{where}: {reason}{code}; {remedy}")


class ConflictError(EventUnavailableError):
    """An event that cannot be counted together with the others of its set, or twice in it."""

    papi_name = "PAPI_ECNFLCT"


class EventPermissionError(EventUnavailableError):
    """An event that this user may not count (EPERM, EACCES)."""

    papi_name = "PAPI_EPERM"


class EventUnsupportedError(EventUnavailableError):
    """An event that the PMU or the kernel cannot count so (ENODEV, EOPNOTSUPP)."""

    papi_name = "PAPI_ENOSUPP"


class DescriptorsError(EventUnavailableError):
    """An event for which no descriptor is left (EMFILE, ENFILE)."""

    papi_name = "PAPI_ECOUNT"


class EventSystemError(EventUnavailableError):
    """An event that the kernel refused for a reason that none of the others is."""

    papi_name = "PAPI_ESYS"


_REFUSALS: dict[int, type[EventUnavailableError]] = {
    errno.ENOENT: EventUnavailableError,
    errno.EPERM: EventPermissionError,
    errno.EACCES: EventPermissionError,
    errno.ENODEV: EventUnsupportedError,
    errno.ENXIO: EventUnsupportedError,
    errno.EOPNOTSUPP: EventUnsupportedError,
    errno.EMFILE: DescriptorsError,
    errno.ENFILE: DescriptorsError,
    errno.EBUSY: ConflictError,
    errno.ENOSPC: ConflictError,
}


def refused(
    name: str, reason: str, remedy: str, number: int, pmu: str = "", *, conflict: bool = False
) -> EventUnavailableError:
    """Return the exception that a refusal by the kernel is.

    Args:
        name: the event.
        reason: why, in words.
        remedy: what to do about it.
        number: the error number, 0 where none was involved.
        pmu: the PMU that was asked, "" where none was.
        conflict: alone the event would have been taken.
    """
    if conflict:
        kind: type[EventUnavailableError] = ConflictError
    elif number == 0:
        kind = EventUnavailableError
    else:
        kind = _REFUSALS.get(number, EventSystemError)
    return kind(name, reason, remedy, number, pmu)


class EventSetError(GnomonError):
    """An event set was used against its rules."""

    papi_name = "PAPI_EINVAL"


class EmptySetError(EventSetError):
    """A set without events is to count.

    `papi_name` is PAPI_ENOCMP where it never had any, so that no component is involved at all,
    and PAPI_EINVAL where all were taken out.
    """

    def __init__(self, message: str, *, never_had_any: bool) -> None:
        self.papi_name = "PAPI_ENOCMP" if never_had_any else "PAPI_EINVAL"
        super().__init__(message)


class NotInSetError(EventSetError):
    """An event that is not in the set; to take it out is PAPI_EINVAL, to ask for it is not."""

    def __init__(self, message: str, papi_name: str) -> None:
        self.papi_name = papi_name
        super().__init__(message)


class AttachedError(EventSetError):
    """The set is attached already, or is to be detached and is not attached."""


class OptionError(EventSetError, UsageError):
    """An option of an event set that does not exist, is out of range or contradicts another."""


class DomainError(EventSetError, UsageError):
    """A domain that does not exist, or that this event cannot be counted in alone."""

    papi_name = "PAPI_EINVAL_DOM"


class FeatureError(EventSetError):
    """An option of an event set that the component of one of its events cannot honour."""

    papi_name = "PAPI_ECMP"


class MixedOverflowError(EventSetError):
    """Some events of a set overflow by a timer, others by themselves (raised by `gnomon._core`)."""

    papi_name = "PAPI_ECNFLCT"


class WriteError(EventSetError):
    """Counters of the kernel cannot be set to a number."""

    papi_name = "PAPI_ENOSUPP"


class ClosedError(EventSetError):
    """The set was closed: its handle is dead."""

    papi_name = "PAPI_ENOEVST"


class ForkedError(EventSetError):
    """A child process uses an event set that its parent opened (also raised by `gnomon._core`)."""

    papi_name = "PAPI_ENOEVST"


class NotRunningError(EventSetError):
    """The set is not counting."""

    papi_name = "PAPI_ENOTRUN"


class RunningError(EventSetError):
    """The set is counting and must be stopped first, or another set is in the way."""

    papi_name = "PAPI_EISRUN"


class CountersLostError(EventSetError):
    """A pinned set did not get its counters, or lost them (raised by `gnomon._core`)."""

    papi_name = "PAPI_ECLOST"


class ComponentUsedError(EventSetError):
    """A component that was used already is to be disabled."""

    papi_name = "PAPI_ENOINIT"


class KernelError(EventSetError):
    """The kernel refused to start, read or stop what it had opened (also raised by `_core`)."""

    papi_name = "PAPI_ESYS"


class GuideError(UsageError):
    """A mistake that HPM's guide has a message for: that message, then ours on a line of its own.

    Attributes:
        guide: the guide's message, as it has it.
        remedy: the thing, the cause and the remedy.
    """

    def __init__(self, guide: str, remedy: str) -> None:
        self.guide = guide
        self.remedy = remedy
        super().__init__(f"{guide}\n{remedy}")


class EmulationError(GnomonError):
    """The emulated PMU cannot run the program here."""


class SectionError(UsageError):
    """A section of a program that cannot be as it is asked for (also raised by `_libhpm`)."""


class TimerError(GnomonError):
    """A timer that this machine does not have (raised by `gnomon._core`)."""

    papi_name = "PAPI_ECMP"


class ObserverError(GnomonError):
    """What observes a program cannot do so, or not together with another."""


class ProgramError(GnomonError):
    """The program could not be started; `exit_status` is the shell's own for that (126, 127)."""

    def __init__(self, message: str, exit_status: int) -> None:
        self.exit_status = exit_status
        super().__init__(message)


class FormatError(GnomonError):
    """A file whose content is truncated, damaged, hostile or of another kind.

    Attributes:
        path: the file.
        offset: the byte at which reading stopped making sense.
    """

    def __init__(self, path: Path | str, offset: int, problem: str) -> None:
        self.path = _path(path)
        self.offset = offset
        super().__init__(f"{path}: at byte {offset}: {problem}")


class ConstraintFileError(GnomonError):
    """A table of a PMU's counters that is missing, broken or senseless.

    Attributes:
        path: the file.
        place: the entry at fault, "" where the file as a whole is.
        problem: what is wrong with it.
    """

    def __init__(self, path: Path | str, place: str, problem: str) -> None:
        self.path = _path(path)
        self.place = place
        self.problem = problem
        super().__init__(f"{path}: {place}: {problem}" if place else f"{path}: {problem}")


class FormulaError(GnomonError):
    """A formula that cannot be parsed or evaluated; names where it stands.

    Attributes:
        source: the file (or option) that the formula comes from.
        line: line in that file, 1 for formulas that are not in a file.
        column: 1-based column within the formula.
    """

    def __init__(self, source: str, line: int, column: int, problem: str) -> None:
        self.source = source
        self.line = line
        self.column = column
        super().__init__(f"{source}:{line}:{column}: {problem}")


class MpiError(GnomonError):
    """An MPI whose compiler or header cannot be used, or data of the standard that cannot."""


class ViewError(GnomonError):
    """The page in the browser cannot be served."""


class RunDirectoryError(GnomonError):
    """A run directory that cannot be made, found or read."""
