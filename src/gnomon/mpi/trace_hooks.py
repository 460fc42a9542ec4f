"""Has a file of Python asked as libmpitrace asks functions of C: GNOMON_MPI_HOOKS.

Executed by libmpitrace (native/mpi/trace/python_hooks.c) in the interpreter of the measured
program, once MPI is up, so that nothing but the standard library is used here. The user's file may
define `MT_trace_event(id)`, `MT_output_trace(rank)` and `MT_output_text()`, and finds what mpt.h
has by the same names: functions, and the IDs of routines. What it raises is told once on stderr,
and then it is asked no more.

Source: the seed, section 4.5.
"""

from __future__ import annotations

import atexit
import ctypes
import os
from contextlib import suppress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

FILE_VARIABLE = "GNOMON_MPI_HOOKS"
HOOKS = ("MT_trace_event", "MT_output_trace", "MT_output_text")
DATA_TYPES = ("COUNTS", "BYTES", "COMMUNICATIONTIME", "STACK", "HEAP", "MAXSTACKFUNC",
              "ELAPSEDTIME", "AVGHOPS")  # fmt: skip
# Source: mpt.h, whose first 45 IDs have no MT_.
_WHOLE = (1, 6)
_IDS_OF_THE_SEED = 45
_ENVIRONMENT = ("mpirank", "xCoord", "yCoord", "zCoord", "xSize", "ySize", "zSize", "procid",
                "ntasks")  # fmt: skip


class _Environment(ctypes.Structure):
    _fields_ = [
        *((name, ctypes.c_int) for name in _ENVIRONMENT),
        ("clockHz", ctypes.c_double),
        ("nmpi", ctypes.c_int),
    ]


class _Summary(ctypes.Structure):
    _fields_ = [
        *((name, ctypes.c_int) for name in ("min_rank", "max_rank", "med_rank")),
        *((f"{name}_result", ctypes.c_void_p) for name in ("min", "max", "med", "avg", "sum")),
        ("all_result", ctypes.c_void_p),
        ("sorted_all_result", ctypes.c_void_p),
        ("sorted_rank", ctypes.POINTER(ctypes.c_int)),
    ]


def names_of(library: ctypes.CDLL) -> dict[str, Any]:
    """Return what a file of hooks finds: functions of mpt.h, data types, and IDs of routines.

    `MT_get_environment()` and `MT_get_allresults(data_type, id)` return dictionaries with the
    fields of their structures; the latter None where C has -1.
    """
    mpt_names: dict[str, Any] = {}
    for name, result, arguments in (
        ("MT_get_mpi_counts", ctypes.c_longlong, (ctypes.c_int,)),
        ("MT_get_mpi_bytes", ctypes.c_double, (ctypes.c_int,)),
        ("MT_get_mpi_time", ctypes.c_double, (ctypes.c_int,)),
        ("MT_get_avg_hops", ctypes.c_double, ()),
        ("MT_get_time", ctypes.c_double, ()),
        ("MT_get_elapsed_time", ctypes.c_double, ()),
    ):
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
        mpt_names[name] = function
    named = library.MT_get_mpi_name
    named.restype, named.argtypes = ctypes.c_char_p, (ctypes.c_int,)

    def mpi_name(number: int) -> str:
        return (named(number) or b"").decode()

    def environment() -> dict[str, float]:
        structure = _Environment()
        library.MT_get_environment(ctypes.byref(structure))
        return {field: getattr(structure, field) for field, *_ in structure._fields_}

    def all_results(data_type: int, number: int) -> dict[str, Any] | None:
        structure = _Summary()
        if library.MT_get_allresults(data_type, number, ctypes.byref(structure)):
            return None
        return _results(structure, data_type, int(environment()["ntasks"]))

    mpt_names |= {
        "MT_get_mpi_name": mpi_name,
        "MT_get_environment": environment,
        "MT_get_allresults": all_results,
        "ALLMPI_ID": 0,
    }
    mpt_names |= {name: number for number, name in enumerate(DATA_TYPES, start=1)}
    for number in range(1, int(environment()["nmpi"]) + 1):
        stem = mpi_name(number).removeprefix("MPI_").upper()
        mpt_names[f"{stem}_ID" if number <= _IDS_OF_THE_SEED else f"MT_{stem}_ID"] = number
    return mpt_names


def _results(structure: _Summary, data_type: int, ranks: int) -> dict[str, Any]:
    kind = ctypes.c_longlong if data_type in _WHOLE else ctypes.c_double

    def values(address: int, of: type[Any], n: int) -> list[Any]:
        return list(ctypes.cast(address, ctypes.POINTER(of))[:n])

    results: dict[str, Any] = {
        name: getattr(structure, name) for name in ("min_rank", "max_rank", "med_rank")
    }
    for name in ("min_result", "max_result", "med_result", "sum_result"):
        results[name] = values(getattr(structure, name), kind, 1)[0]
    results["avg_result"] = values(structure.avg_result, ctypes.c_double, 1)[0]
    for name in ("all_result", "sorted_all_result"):
        results[name] = values(getattr(structure, name), kind, ranks)
    results["sorted_rank"] = list(structure.sorted_rank[:ranks])
    ctypes.CDLL(None).free(ctypes.c_void_p(structure.all_result))
    return results


def guarded(function: Callable[..., Any], say: Callable[[str], None]) -> Callable[..., int]:
    """Return a function that never raises: what it does is told once, and then it returns 1."""
    has_failed = False

    def call(*arguments: int) -> int:
        nonlocal has_failed
        if has_failed:
            return 1
        try:
            return int(function(*arguments) or 0)
        except BaseException as error:
            has_failed = True
            say(f"{function.__name__}: {type(error).__name__}: {error}; it is asked no more")
            return 1

    return call


def load(path: str, library: ctypes.CDLL) -> list[Any]:
    """Read the user's file and hand its hooks over; return what has to live as long as they.

    The caller keeps it from garbage collection: C holds no reference.

    Raises:
        OSError: the file cannot be read.
        Exception: whatever it raises.
    """
    namespace = names_of(library) | {"__name__": "hooks", "__file__": path}
    with open(path, encoding="utf-8") as file:
        exec(compile(file.read(), path, "exec"), namespace)
    kinds = (
        ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int),
        ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int),
        ctypes.CFUNCTYPE(ctypes.c_int),
    )
    callbacks = [
        kind(guarded(namespace[name], _say)) if callable(namespace.get(name)) else kind()
        for name, kind in zip(HOOKS, kinds, strict=True)
    ]
    library.gnomon_mpi_set_hooks(*callbacks)
    return callbacks


def _say(text: str) -> None:
    # The program's own stream may be closed by now, or be another.
    with suppress(OSError):
        os.write(2, f"gnomon: {FILE_VARIABLE}: {text}\n".encode(errors="replace"))


if __name__ == "gnomon_mpi_hooks":
    _library = ctypes.CDLL(None)
    try:
        _callbacks = load(os.environ[FILE_VARIABLE], _library)
        # Nothing else refers to this namespace, so that garbage collection would free them.
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(_callbacks))
    except Exception as error:
        _say(f"{os.environ[FILE_VARIABLE]}: {type(error).__name__}: {error}; nothing of it is used")
    # mpi4py ends MPI when no Python can be called any more.
    atexit.register(_library.gnomon_mpi_finish)
