"""Has a program's calls on files recorded: by a library that it preloads."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping, Sequence
from pathlib import Path

from gnomon.errors import ObserverError
from gnomon.io import module_files
from gnomon.io.fault_counter import FaultCounter
from gnomon.io.module_files import DEFAULTS, FILES, ModuleFiles, of_environment
from gnomon.io.trace_options import TRACE_MB
from gnomon.io.uring_counter import UringCounter
from gnomon.launch import preloads
from gnomon.launch.observer import Observer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gnomon.launch.capability import Execution

_LIBRARY = Path(__file__).with_name("libgnomon_io.so")
# Source: native/io/event_file.h.
_TRACE_VARIABLE = "GNOMON_IO_TRACE"


def problem() -> str:
    """Return why no program can load the library, "" where it can."""
    if not os.access(_LIBRARY, os.R_OK):
        return f"there is no library for {platform.machine()}"
    if not preloads.can_be_named(str(_LIBRARY)):
        return f"{_LIBRARY}: a path with a space or a colon cannot be preloaded"
    return ""


class IoObserver(Observer):
    """What one execution of a program gets.

    Raises:
        ObserverError: I/O was asked for, and the program cannot load the library.
    """

    # What the program calls is seen before another tool's library makes other calls of it.
    preloads_first = True

    def __init__(self, execution: Execution) -> None:
        program = execution.command[0]
        why = problem()
        if not why and preloads.is_for_other_machine(program):
            why = f"{program} is for another kind of machine"
        if why and execution.is_asked:
            raise ObserverError(f"io: {why}")
        self._is_used = not why
        self._folder = execution.folder
        self._uring, self._faults = UringCounter(), FaultCounter()
        own = execution.options
        megabytes = own["trace-mb"] or (TRACE_MB if own["trace"] else 0)
        self._trace_bytes = megabytes << 20
        self._files: ModuleFiles = own["files"] or of_environment()

    def environment(self) -> Mapping[str, str]:
        """Return how many bytes of events a process may leave, and which modules files get."""
        variables = {}
        if self._trace_bytes or _TRACE_VARIABLE in os.environ:
            variables[_TRACE_VARIABLE] = str(self._trace_bytes)
        if self._files.files:
            variables[FILES] = self._files.files
        if self._files.files and self._files.defaults:
            variables[DEFAULTS] = self._files.defaults
        return variables

    def preloads(self) -> Sequence[str]:
        """Return the library."""
        return (str(_LIBRARY),) if self._is_used else ()

    def attach(self, pid: int) -> None:
        """Count what no library sees, where that is allowed and disturbs no other observer."""
        if self.may_inherit:
            self._uring.attach(pid)
            self._faults.attach(pid)

    def descriptors(self) -> Sequence[int]:
        """Return those of page faults."""
        return self._faults.descriptors()

    def due_ms(self) -> float | None:
        """Return in how many milliseconds their records are to be taken."""
        return self._faults.due_ms()

    def drain(self) -> None:
        """Take the records of page faults."""
        self._faults.drain()

    def finish(self) -> None:
        """Leave the counts for `collect`."""
        self._uring.finish(self._folder)
        self._faults.finish(self._folder)
        module_files.note(self._folder, self._files)

    def close(self) -> None:
        """Give back the descriptors."""
        self._uring.close()
        self._faults.close()
