"""The tasks of a job, for aggregators in Python: values go up a tree and are merged on the way.

Values are what JSON has: numbers, texts, lists, dictionaries with texts for keys; tuples arrive as
lists. Nothing is ever executed of what another task sends.
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, cast

from gnomon.errors import GnomonError
from gnomon.hpm.ranks.job_membership import library
from gnomon.hpm.ranks.plugin import ENDING
from gnomon.launch.job import job
from gnomon.named_tuple import NamedTuple

T = TypeVar("T")


class Gap(NamedTuple):
    """Tasks that are no part of the totals, or of which something else is to be said.

    Attributes:
        first, last: the tasks.
        is_in: they are a part of the totals: only to be mentioned.
        why: a predicate: "was killed by SIGSEGV".
    """

    first: int
    last: int
    is_in: bool
    why: str


class _Blob(ctypes.Structure):
    _fields_ = (("data", ctypes.c_void_p), ("size", ctypes.c_size_t))


class _Gap(ctypes.Structure):
    _fields_ = (
        ("first", ctypes.c_int), ("last", ctypes.c_int), ("is_in", ctypes.c_int),
        ("why", ctypes.c_char_p),
    )  # fmt: skip


if TYPE_CHECKING:
    _Blobs = ctypes._Pointer[_Blob]

_BLOB = ctypes.POINTER(_Blob)
_MERGE = ctypes.CFUNCTYPE(ctypes.c_int, _BLOB, _BLOB, ctypes.c_void_p)


class Ranks:
    """The tasks of this job. All tasks make the same calls in the same order.

    The tasks meet at the first reduction: an aggregator that makes none needs no job. Without a
    job there is one task, number 0, and every reduction gives its own value.
    """

    def __init__(self, folder: Path) -> None:
        """Prepare for the job's tasks.

        Args:
            folder: where Gnomon's libraries are.
        """
        own = job()
        self._folder = folder
        self._task = own.task if own else 0
        self._tasks = own.tasks if own and own.tasks else 1
        self._tree: ctypes.c_void_p | None = None
        self._c: ctypes.CDLL | None = None
        self._libc = ctypes.CDLL(None)
        self._libc.malloc.restype = ctypes.c_void_p
        self._libc.malloc.argtypes = (ctypes.c_size_t,)
        self._libc.free.argtypes = (ctypes.c_void_p,)

    @property
    def task(self) -> int:
        """This task's number, its rank in MPI_COMM_WORLD."""
        return self._task

    @property
    def tasks(self) -> int:
        """How many tasks the job has."""
        return self._tasks

    @property
    def missing(self) -> tuple[Gap, ...]:
        """Tasks that are not in the last reduction: known at the root, elsewhere after `share`."""
        tree = self._open()
        gaps = ctypes.POINTER(_Gap)()
        number = self._library.hpm_tree_missing(tree, ctypes.byref(gaps))
        return tuple(
            Gap(gaps[i].first, gaps[i].last, bool(gaps[i].is_in), (gaps[i].why or b"").decode())
            for i in range(max(number, 0))
        )

    @property
    def is_root(self) -> bool:
        """Whether this task has the result of `reduce`: task 0, or the lowest that came."""
        return bool(self._library.hpm_tree_is_root(self._open()))

    @property
    def own_gap(self) -> str:
        """Why this task's value is not in the totals: "was killed by SIGSEGV"; "" if it is."""
        said = self._library.hpm_tree_own_gap(self._open())
        return said.decode(errors="replace") if said else ""

    def reduce(self, value: T, merge: Callable[[T, T], T]) -> T | None:
        """Return the values of all ranks merged at the root, None elsewhere.

        Args:
            value: this task's.
            merge: merges two values; the order in which values are merged must not matter,
                as with sums, extremes and lists whose order says nothing.

        Raises:
            GnomonError: the tasks could not be asked.
        """
        tree = self._open()
        raised: list[BaseException] = []

        def merged(into: _Blobs, other: _Blobs, _context: object) -> int:
            try:
                both = merge(cast(T, self._value(into[0])), cast(T, self._value(other[0])))
                self._put(into[0], both)
            except BaseException as error:  # it cannot pass through C, and is raised below
                raised.append(error)
                return errno.EINVAL
            return 0

        blob = _Blob()
        self._put(blob, value)
        failed = self._library.hpm_tree_reduce(tree, ctypes.byref(blob), _MERGE(merged), None)
        if raised:
            raise raised[0]
        self._check(failed)
        try:
            return cast(T, self._value(blob)) if self.is_root else None
        finally:
            self._libc.free(blob.data)

    def share(self, value: T | None) -> T:
        """Return the root's value everywhere.

        Raises:
            GnomonError: this task came too late, or the tasks could not be asked.
        """
        blob = _Blob()
        if self.is_root:
            self._put(blob, value)
        self._check(self._library.hpm_tree_share(self._open(), ctypes.byref(blob)))
        try:
            return cast(T, self._value(blob))
        finally:
            self._libc.free(blob.data)

    def allreduce(self, value: T, merge: Callable[[T, T], T]) -> T:
        """Return the values of all ranks merged, on every rank.

        Raises:
            GnomonError: as `reduce` and `share`.
        """
        return self.share(self.reduce(value, merge))

    def be_patient(self) -> None:
        """Outlive what ended the program, so that the others learn what it counted."""
        # Python's handlers would wait for the end of a call that waits for others.
        hurry = ctypes.cast(self._library.hpm_job_hurry, ctypes.c_void_p)
        self._libc.signal.argtypes = (ctypes.c_int, ctypes.c_void_p)
        self._libc.signal.restype = ctypes.c_void_p
        for number in ENDING:
            self._libc.signal(number, hurry)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)

    def close(self) -> None:
        """Leave the others, who wait for this task no more."""
        if self._tree is not None:
            self._library.hpm_tree_close(self._tree)
            self._tree = None
        if self._c is not None:
            self._c.hpm_job_end()

    @property
    def _library(self) -> ctypes.CDLL:
        if self._c is None:
            try:
                self._c = library(self._folder)
            except OSError as error:
                raise GnomonError(f"the library of reductions cannot be loaded: {error}") from None
            self._c.hpm_tree_error.restype = ctypes.c_char_p
            self._c.hpm_tree_own_gap.restype = ctypes.c_char_p
        return self._c

    def _open(self) -> ctypes.c_void_p:
        if self._tree is None:
            tree = ctypes.c_void_p()
            self._check(self._library.hpm_tree_open(ctypes.byref(tree)))
            self._tree = tree
            self._task = max(self._library.hpm_tree_task(tree), 0)
            self._tasks = self._library.hpm_tree_tasks(tree)
        return self._tree

    def _check(self, failed: int) -> None:
        if failed:
            said = self._library.hpm_tree_error()
            raise GnomonError(said.decode(errors="replace") if said else os.strerror(failed))

    def _put(self, blob: _Blob, value: object) -> None:
        """Put a value into a blob in the place of what it has."""
        content = json.dumps(value).encode()
        copy = self._libc.malloc(len(content))
        if not copy:
            raise MemoryError
        ctypes.memmove(copy, content, len(content))
        self._libc.free(blob.data)
        blob.data, blob.size = copy, len(content)

    def _value(self, blob: _Blob) -> object:
        return json.loads(ctypes.string_at(blob.data, blob.size)) if blob.data else None
