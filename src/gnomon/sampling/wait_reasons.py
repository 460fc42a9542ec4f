"""What a thread waits for, by the functions it is in: of the kernel, of the C library, of runtimes.

Source: Linux, names of system calls' functions; glibc's exported names; libgomp, CPython's
Python/ceval_gil.c.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from gnomon.named_tuple import NamedTuple
from gnomon.sampling.python_stacks import is_interpreter

CPU = "[waiting for a CPU]"
UNKNOWN = "[waiting]"
NO_STACK = "[waiting, stack not taken]"
LOCK = "[lock]"
_FUTEX, _SLEEP, _POLL, _READ, _WRITE = "[futex]", "[sleep]", "[poll]", "[read]", "[write]"
_STOPPED = "[stopped]"
_CHILD, _SYNC, _FAULT = "[child process]", "[sync]", "[page fault]"
_CONDITION, _SEMAPHORE = "[condition variable]", "[semaphore]"
_GIL, _TEAM, _MPI = "[GIL]", "[OpenMP team]", "[MPI]"

# enum gn_wait_call of native/sampling/waits.h.
_OF_CALLS = (UNKNOWN, UNKNOWN, _FUTEX, _SLEEP, _POLL, _READ, _WRITE, _CHILD, _SYNC, _FAULT)

# enum gn_wait_file, likewise.
_KINDS = {1: "pipe", 2: "socket", 3: "terminal", 4: "file"}

_CALL = re.compile(r"(?:__(?:x64|arm64|ia32|se|do)_|k)?(?:__)?sys_(?!call)(\w+)")
_CALLS = {
    **dict.fromkeys(("futex", "futex_waitv", "futex_wait", "futex_time32"), _FUTEX),
    **dict.fromkeys(("nanosleep", "clock_nanosleep", "pause", "rt_sigsuspend"), _SLEEP),
    **dict.fromkeys(("poll", "ppoll", "select", "pselect6", "epoll_wait", "epoll_pwait",
                     "epoll_pwait2", "io_getevents", "io_uring_enter", "rt_sigtimedwait"), _POLL),
    **dict.fromkeys(("read", "readv", "pread64", "preadv", "preadv2", "recvfrom", "recvmsg",
                     "recvmmsg", "accept", "accept4"), _READ),
    **dict.fromkeys(("write", "writev", "pwrite64", "pwritev", "pwritev2", "sendto", "sendmsg",
                     "sendmmsg", "sendfile64", "connect"), _WRITE),
    **dict.fromkeys(("wait4", "waitid"), _CHILD),
    **dict.fromkeys(("fsync", "fdatasync", "msync", "sync", "syncfs", "sync_file_range"), _SYNC),
}  # fmt: skip
_FAULTS = frozenset(
    ("exc_page_fault", "asm_exc_page_fault", "do_user_addr_fault", "do_page_fault",
     "handle_mm_fault", "do_anonymous_page")
)  # fmt: skip
_STOPS = re.compile(r"do_signal_stop|do_jobctl_trap|ptrace_stop|ptrace_do_notify")
_OF_FILES = (
    ("pipe", re.compile(r"(anon_)?pipe_(read|write|wait)\w*")),
    ("socket", re.compile(r"(sock|tcp|udp|inet6?|unix|__skb|__sys_(recv|send|accept|connect))_?"
                          r"\w*")),
    ("terminal", re.compile(r"(n_)?tty_\w+")),
    ("file", re.compile(r"io_schedule\w*|folio_wait\w*|filemap_\w+|generic_file_\w+|ext4_\w+|"
                        r"xfs_\w+|btrfs_\w+|nfs_\w+|ovl_\w+|blkdev_\w+|fuse_\w+")),
)  # fmt: skip
_LIBRARY_OF_C = re.compile(r"(libc|libpthread|ld-linux|ld-musl|libc\.musl)\b.*|\[vdso\]")
_OF_LIBRARY = (
    (_CONDITION, re.compile(r"_*pthread_cond_\w*wait\w*")),
    (LOCK, re.compile(r"_*pthread_(mutex_\w*lock|rwlock_\w*lock)\w*|__lll_lock_wait\w*")),
    (_SEMAPHORE, re.compile(r"_*(new_)?sem_\w*wait\w*")),
    ("[end of a thread]", re.compile(r"_*pthread_\w*join\w*")),
    ("[barrier]", re.compile(r"_*pthread_barrier_wait")),
)
# What the C library calls a system call's function, where neither the kernel nor /proc told of it.
_FUNCTION_OF_CALL = re.compile(r"_*(?:libc_|GI_)?_*(\w+?)(?:_nocancel|_2|64)?")
_MPI_CALL = re.compile(r"P?MPI_[A-Z]\w+|p?mpi_\w+_")
_OPENMP = re.compile(r"lib(gomp|omp|iomp5)\b.*")
_OPENMP_LOCK = re.compile(
    r"GOMP_(critical|atomic)\w*|omp_set_\w*lock|__kmpc_(critical|set_lock)\w*"
)


class WaitFrame(NamedTuple):
    """A function that a thread waits in, and the program or library it is in."""

    function: str
    module: str


def reason_of(kernel: Sequence[str], frames: Sequence[WaitFrame], call: int) -> str:
    """Return what a thread waits for that is not ready to run.

    Args:
        kernel: the functions of the kernel, innermost first; none where they are not known.
        frames: those of the program, innermost first.
        call: what /proc told of its system call, as `enum gn_wait_call` and, in the upper four
            bits, `enum gn_wait_file`; 0: nothing.
    """
    if any(_MPI_CALL.fullmatch(frame.function) for frame in frames):
        return _MPI
    reason = _of_kernel(kernel)
    if reason == UNKNOWN and call & 15 < len(_OF_CALLS):
        reason = _with_kind(_OF_CALLS[call & 15], _KINDS.get(call >> 4, ""))
    if reason == UNKNOWN:
        return _of_program(frames) or _of_function(frames) or reason
    return (_of_program(frames) or reason) if reason == _FUTEX else reason


def estimated(reason: str) -> str:
    """Return what stands for waits that were added up, and given to stacks of others."""
    return f"{reason[:-1]}, estimated]"


def _with_kind(reason: str, kind: str) -> str:
    """Return the reason with the kind of file, where it reads or writes."""
    return f"{reason[:-1]}: {kind}]" if kind and reason in (_READ, _WRITE) else reason


def _of_kernel(functions: Sequence[str]) -> str:
    """Return the reason that the kernel's functions tell, `UNKNOWN` if they tell none."""
    if any(_STOPS.fullmatch(function) for function in functions):
        return _STOPPED
    for function in functions:
        matched = _CALL.fullmatch(function)
        if matched is None:
            continue
        name = matched[1]
        reason = _CALLS.get(name)
        if reason is None:
            return f"[{name.removesuffix('64')}]"
        return _with_kind(reason, _file_kind(functions))
    if not _FAULTS.isdisjoint(functions):
        return _FAULT
    return UNKNOWN


def _of_function(frames: Sequence[WaitFrame]) -> str:
    """Return the reason that the name of the innermost function tells, "" if it tells none."""
    if not frames or not _LIBRARY_OF_C.fullmatch(frames[0].module):
        return ""
    matched = _FUNCTION_OF_CALL.fullmatch(frames[0].function)
    return _CALLS.get(matched[1], "") if matched else ""


def _file_kind(functions: Sequence[str]) -> str:
    for kind, pattern in _OF_FILES:
        if any(pattern.fullmatch(function) for function in functions):
            return kind
    return ""


def _of_program(frames: Sequence[WaitFrame]) -> str:
    """Return what a thread waits for in a futex, "" if its functions do not tell."""
    inner = 0
    while inner < len(frames) and _LIBRARY_OF_C.fullmatch(frames[inner].module):
        inner += 1
    reason = next(
        (
            reason
            for frame in frames[:inner]
            for reason, pattern in _OF_LIBRARY
            if pattern.fullmatch(frame.function)
        ),
        "",
    )
    caller = frames[inner] if inner < len(frames) else WaitFrame("", "")
    if is_interpreter(caller.module):
        # Locks of Python are semaphores.
        return {_CONDITION: _GIL, _SEMAPHORE: LOCK}.get(reason, reason)
    if _OPENMP.fullmatch(caller.module):
        is_lock = any(_OPENMP_LOCK.fullmatch(frame.function) for frame in frames)
        return LOCK if is_lock else _TEAM
    return reason
