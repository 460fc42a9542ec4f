"""Has the calls of MPI in a program measured: by a stub that it preloads, and wrappers for that.

The stub (`native/`) has MPI's names and nothing else; wrappers of the program's own MPI are opened
by it in processes that call MPI. Whatever is in the way costs a warning, unless MPI was asked for.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping, Sequence
from pathlib import Path

from gnomon.errors import MpiError
from gnomon.launch import preloads
from gnomon.launch.job import job
from gnomon.launch.observer import Observer
from gnomon.model.capability_result import Collected
from gnomon.mpi.wrapper_cache import Wrappers, prepare
from gnomon.named_tuple import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gnomon.launch.capability import Execution
    from gnomon.launch.process_result import ProcessResult

_LIBRARY = Path(__file__).with_name("libgnomon_mpi.so")
# Source: native/wrapper_library.h, native/mpi/profile.h.
_WRAPPERS_VARIABLE = "GNOMON_MPI_WRAPPERS"
_BARRIER_VARIABLE = "GNOMON_MPI_BARRIER"
# Source: native/mpi/trace/python_hooks.h.
_HOOKS_VARIABLE, _LOADER_VARIABLE = "GNOMON_MPI_HOOKS", "GNOMON_MPI_HOOKS_LOADER"
_LOADER = str(Path(__file__).with_name("trace_hooks.py"))


class Preparation(NamedTuple):
    """What a program gets.

    Attributes:
        is_used: it gets any library at all.
        wrappers: those that are ready for it.
        trace_library: the libmpitrace.so that asks a file of hooks; "" where none is named.
    """

    is_used: bool
    wrappers: Wrappers = Wrappers()
    trace_library: str = ""


def preparation(execution: Execution) -> Preparation:
    """Return what a program gets, with wrappers compiled if they have to be.

    Raises:
        MpiError: MPI was asked for, and there are none for a program that seems to need them.
    """
    program = execution.command[0]
    why = ""
    if not preloads.can_be_named(str(_LIBRARY)):
        why = f"{_LIBRARY}: a path with a space or a colon cannot be preloaded"
    elif not os.access(_LIBRARY, os.R_OK):
        why = f"there is no library for {platform.machine()}"
    elif preloads.is_for_other_machine(program):
        why = f"{program} is for another kind of machine"
    if why and execution.is_asked:
        raise MpiError(f"mpi: {why}")
    if why:
        return Preparation(False)
    wrappers = prepare(execution.command, in_job=job() is not None, spare_folder=execution.folder)
    if wrappers.problem and execution.is_asked:
        raise MpiError(f"mpi: {wrappers.problem}")
    return Preparation(True, wrappers, _trace_library(wrappers))


def _trace_library(wrappers: Wrappers) -> str:
    """Return the libmpitrace.so that asks a file of hooks, "" where none is named; MpiError."""
    hooks = os.environ.get(_HOOKS_VARIABLE)
    if not hooks:
        return ""
    from gnomon.mpi.trace_library import shared_library_of

    if not os.access(hooks, os.R_OK):
        raise MpiError(f"{_HOOKS_VARIABLE}: {hooks} cannot be read; name a file of Python")
    library = shared_library_of(wrappers.identity) if wrappers.identity else None
    if library is None:
        raise MpiError(
            f"{_HOOKS_VARIABLE}: there is no libmpitrace.so for the program's MPI; compile it with "
            "gnomon config --libs mpi, and name its compiler: MPICC=mpicc"
        )
    return str(library)


class MpiObserver(Observer):
    """What one execution of a program gets."""

    # Of several tools for MPI the first is called, and then what it calls: ours calls the next one.
    preloads_first = True
    leaves_a_file = False

    def __init__(self, execution: Execution) -> None:
        self._has_barrier = bool(execution.options.get("barrier"))
        ready: Preparation = execution.prepared
        self._is_used, self._wrappers, self._trace_library = ready

    def environment(self) -> Mapping[str, str]:
        """Return where the wrappers lie, and what is asked of them."""
        if not self._is_used:
            return {}
        variables = {_WRAPPERS_VARIABLE: ":".join(self._wrappers.folders)}
        if self._trace_library:
            variables[_LOADER_VARIABLE] = _LOADER
        if self._has_barrier:
            variables[_BARRIER_VARIABLE] = "1"
        return variables

    def preloads(self) -> Sequence[str]:
        """Return the stubs: the common one comes last, so that what follows it is another's."""
        hooked = (self._trace_library,) if self._trace_library else ()
        return (*self._wrappers.stubs, str(_LIBRARY), *hooked) if self._is_used else ()

    def result(self, process: ProcessResult) -> Collected:  # noqa: ARG002
        """Return why MPI is not measured, if so."""
        problem = self._wrappers.problem
        return Collected(warnings=(f"mpi: not measured: {problem}",) if problem else ())
