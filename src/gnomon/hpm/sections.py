"""libhpm's sections in Python: what the hardware counted in parts of a program.

    from gnomon.hpm.sections import hpmInit, hpmTerminate, section

    hpmInit(0, "my program")
    with section(1, "time steps"):
        ...
    hpmTerminate(0)

The functions are those of libhpm.h, with its names, rules and errors: none raises for a wrong
number or an unbalanced stop; `hpm_error_count` says how much went wrong, and a line on stderr what.
A start and a stop take about a microsecond more than in C. Python threads are threads: each needs
sections of its own for `hpmTstart`.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from gnomon.errors import GnomonError

HPM_AUTO_PARENT = -1
HPM_ONLY_EXCLUSIVE = -2
HPM_NO_PARENT = -3

_LIBRARY = Path(__file__).parents[1] / "lib" / "libhpm.so.0"


class _Functions:
    """The library's functions; those that take long let other Python threads run meanwhile."""

    def __init__(self) -> None:
        try:
            quick, slow = ctypes.PyDLL(str(_LIBRARY)), ctypes.CDLL(str(_LIBRARY))
        except OSError as error:
            raise GnomonError(
                f"{_LIBRARY}: cannot be loaded ({error}); install Gnomon again"
            ) from error
        self.init = slow.hpmInit
        self.terminate = slow.hpmTerminate
        self.start, self.start_with_parent = quick.hpmStart, quick.hpmStartx
        self.tstart, self.tstart_with_parent = quick.hpmTstart, quick.hpmTstartx
        self.stop, self.tstop = quick.hpmStop, quick.hpmTstop
        self.read = quick.hpmGetTimeAndCounters
        self.errors = ctypes.c_int.in_dll(quick, "hpm_error_count")
        self.init.argtypes = (ctypes.c_int, ctypes.c_char_p)
        for start in (self.start, self.tstart):
            start.argtypes = (ctypes.c_int, ctypes.c_char_p)
        for start in (self.start_with_parent, self.tstart_with_parent):
            start.argtypes = (ctypes.c_int, ctypes.c_int, ctypes.c_char_p)
        for stop in (self.terminate, self.stop, self.tstop):
            stop.argtypes = (ctypes.c_int,)
        self.read.argtypes = (
            ctypes.c_int, ctypes.POINTER(ctypes.c_double), ctypes.POINTER(ctypes.c_longlong),
        )  # fmt: skip
        for one in (self.init, self.terminate, self.start, self.start_with_parent, self.tstart,
                    self.tstart_with_parent, self.stop, self.tstop, self.read):  # fmt: skip
            one.restype = None


@cache
def _library() -> _Functions:
    return _Functions()


def _encoded(label: str) -> bytes:
    return label.encode("utf-8", "replace")


def hpmInit(taskID: int, progName: str) -> None:  # noqa: N802, N803
    """Begin; `progName` is the name of the output unless HPM_OUTPUT_NAME says otherwise.

    Raises:
        GnomonError: libhpm cannot be loaded.
    """
    _library().init(taskID, _encoded(progName))


def hpmTerminate(taskID: int) -> None:  # noqa: N802, N803
    """Stop what is active and write the output."""
    _library().terminate(taskID)


def hpmStart(instID: int, label: str) -> None:  # noqa: N802, N803
    """Start a section that counts all threads and processes of the program."""
    _library().start(instID, _encoded(label))


def hpmStartx(instID: int, par_ID: int, label: str) -> None:  # noqa: N802, N803
    """Start such a section as the child of another one."""
    _library().start_with_parent(instID, par_ID, _encoded(label))


def hpmStop(instID: int) -> None:  # noqa: N802, N803
    """Stop a section that hpmStart started."""
    _library().stop(instID)


def hpmTstart(instID: int, label: str) -> None:  # noqa: N802, N803
    """Start a section that counts the calling thread."""
    _library().tstart(instID, _encoded(label))


def hpmTstartx(instID: int, par_ID: int, label: str) -> None:  # noqa: N802, N803
    """Start such a section as the child of another one."""
    _library().tstart_with_parent(instID, par_ID, _encoded(label))


def hpmTstop(instID: int) -> None:  # noqa: N802, N803
    """Stop a section that hpmTstart started."""
    _library().tstop(instID)


def hpmGetTimeAndCounters(numCounters: int) -> tuple[float, list[int]]:  # noqa: N802, N803
    """Return seconds since hpmInit and the calling thread's first counts since then.

    A count that there is none of is -1. Seconds are NaN before hpmInit.
    """
    seconds = ctypes.c_double(float("nan"))
    values = (ctypes.c_longlong * max(numCounters, 1))(*[-1] * max(numCounters, 1))
    _library().read(numCounters, ctypes.byref(seconds), values)
    return seconds.value, list(values[: max(numCounters, 0)])


def hpm_error_count() -> int:
    """Return how many calls went wrong so far, whatever language made them."""
    return int(_library().errors.value)


@contextmanager
def section(
    number: int, label: str, *, thread: bool = False, parent: int = HPM_AUTO_PARENT
) -> Iterator[None]:
    """Count what happens within `with`, in all threads or, with `thread`, in the calling one."""
    if thread:
        hpmTstartx(number, parent, label)
    else:
        hpmStartx(number, parent, label)
    try:
        yield
    finally:
        (hpmTstop if thread else hpmStop)(number)
