"""Has a program's calls on files recorded: by a library that it preloads."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from pathlib import Path

from gnomon.errors import ObserverError
from gnomon.launch import preloads
from gnomon.launch.observer import Observer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gnomon.launch.capability import Execution

_LIBRARY = Path(__file__).with_name("libgnomon_io.so")


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

    def preloads(self) -> Sequence[str]:
        """Return the library."""
        return (str(_LIBRARY),) if self._is_used else ()
