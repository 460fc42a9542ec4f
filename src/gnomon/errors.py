"""Every exception that Gnomon raises, in one tree.

    GnomonError
    ├── UsageError                  the command or call was put wrongly (exit 2)
    │   └── PresetFileError         a file of presets that cannot be read as one
    ├── EventError
    │   ├── EventNameError          nothing here has that name
    │   │   └── NotPresetError      it is an event, but not a preset
    │   └── EventUnavailableError   the event exists, but not here and now
    ├── EventSetError
    │   ├── ForkedError             a child uses the set of its parent
    │   ├── NotRunningError         stop or read of a set that was not started
    │   └── RunningError            a change to a set while it counts
    ├── EmulationError              the emulated PMU cannot run here
    ├── ProgramError                the program to be measured could not be started
    ├── FormatError                 a file is not what its name says
    ├── FormulaError                a metric's formula cannot be parsed or evaluated
    └── RunDirectoryError           a run directory is missing, taken or unreadable

A message names the thing, the cause and the remedy, in this order.
"""

from __future__ import annotations

from pathlib import Path


class GnomonError(Exception):
    """Root of Gnomon's exceptions; `exit_status` is what the command line returns for it."""

    exit_status = 1


class UsageError(GnomonError):
    """A command line, option or argument that cannot be meant as it stands."""

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
        self.path = Path(path)
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
    """

    papi_name = "PAPI_ENOEVNT"

    def __init__(self, name: str, reason: str, remedy: str, errno: int = 0) -> None:
        self.name = name
        self.reason = reason
        self.remedy = remedy
        self.errno = errno
        super().__init__(f"event '{name}': {reason}; {remedy}")


class EventSetError(GnomonError):
    """An event set was used against its rules."""

    papi_name = "PAPI_EINVAL"


class ForkedError(EventSetError):
    """A child process uses an event set that its parent opened (raised by `gnomon._core`)."""


class NotRunningError(EventSetError):
    """The set is not counting."""

    papi_name = "PAPI_ENOTRUN"


class RunningError(EventSetError):
    """The set is counting, and what was asked for needs it stopped."""

    papi_name = "PAPI_EISRUN"


class EmulationError(GnomonError):
    """The emulated PMU cannot run the program here."""


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
        self.path = Path(path)
        self.offset = offset
        super().__init__(f"{path}: at byte {offset}: {problem}")


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


class RunDirectoryError(GnomonError):
    """A run directory that cannot be made, found or read."""
