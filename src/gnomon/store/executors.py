"""Who does the work of merges and analyses: threads, processes, MPI ranks or a Dask cluster.

Each is an executor of `concurrent.futures`, and the work is shared out in the same way for all, so
that results are the same to the last digit.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from gnomon.errors import GnomonError, UsageError

if TYPE_CHECKING:
    from concurrent.futures import Executor

WORDS = "threads[:N], processes[:N], mpi or dask:ADDRESS"
"""What executors are called."""

HELP = (
    "run in parallel by threads (default) or processes, each also with a number (processes:4), by "
    "mpi (the ranks of mpirun -n N gnomon ...), or by dask:ADDRESS (the workers of that scheduler)"
)
_WORKERS_MOST = 1024
_DASK_SECONDS = 10
_CURRENT: ContextVar[Executor | None] = ContextVar("executor", default=None)


def current() -> Executor | None:
    """Return the executor that was chosen, None if none was."""
    return _CURRENT.get()


@contextmanager
def is_chosen(word: str) -> Iterator[bool]:
    """Let an executor do the work meanwhile.

    Args:
        word: one of `WORDS`; "" for none.

    Yields:
        Whether this process directs the work; an MPI rank that does not has done its share by then.

    Raises:
        UsageError: the word is none of them.
        GnomonError: it cannot be used here.
    """
    if not word:
        yield True
        return
    with _opened(word) as executor:
        token = _CURRENT.set(executor)
        try:
            yield executor is not None
        finally:
            _CURRENT.reset(token)


def _opened(word: str) -> AbstractContextManager[Executor | None]:
    kind, _, rest = word.partition(":")
    if kind in ("threads", "processes") and (kind == word or rest):
        return _local(kind, _number(word, rest))
    if word == "mpi":
        return _mpi()
    if kind == "dask" and rest:
        return _dask(rest)
    raise UsageError(f"--executor {word}: must be {WORDS}")


def _number(word: str, digits: str) -> int:
    """Return how many workers are wanted: as many as there are CPUs for "".

    Raises:
        UsageError: it is no such number.
    """
    if not digits:
        return len(os.sched_getaffinity(0))
    if not re.fullmatch("[0-9]+", digits):
        raise UsageError(
            f"--executor {word}: '{digits}' is not a number; workers are 1 to {_WORKERS_MOST}"
        )
    if not 0 < int(digits[:9]) <= _WORKERS_MOST:
        raise UsageError(f"--executor {word}: workers are 1 to {_WORKERS_MOST}")
    return int(digits)


def _local(kind: str, n: int) -> Executor:
    from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

    if kind == "threads":
        return ThreadPoolExecutor(n)
    from multiprocessing import get_context

    # A child of a process with threads, as DuckDB's, must be executed anew.
    return ProcessPoolExecutor(n, mp_context=get_context("spawn"))


@contextmanager
def _mpi() -> Iterator[Executor | None]:
    """Yield an executor to rank 0, and None to the others when they have done their work."""
    try:
        from mpi4py import MPI
        from mpi4py.futures import MPICommExecutor
    except ImportError as error:
        raise GnomonError(
            f"--executor mpi: mpi4py cannot be used ({error}); install gnomon[mpi], with an MPI"
        ) from None
    own: AbstractContextManager[Any] = MPICommExecutor(MPI.COMM_WORLD, root=0)
    try:
        with own as executor:
            yield executor
    finally:
        # Commands end without what Python does at the end.
        MPI.Finalize()


@contextmanager
def _dask(address: str) -> Iterator[Executor]:
    try:
        import distributed
    except ImportError as error:
        raise GnomonError(
            f"--executor dask: Dask cannot be used ({error}); install gnomon[dask]"
        ) from None
    try:
        client: Any = distributed.Client(address, timeout=_DASK_SECONDS)  # type: ignore[no-untyped-call]
    except (OSError, ValueError, TypeError) as error:
        raise GnomonError(
            f"--executor dask:{address}: no scheduler of Dask answers there: {error}; "
            "start one: dask scheduler"
        ) from None
    with client, client.get_executor() as executor:
        yield executor
