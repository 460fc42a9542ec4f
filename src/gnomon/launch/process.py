"""Start the target with unmodified environment, signals, limits and descriptors; wait for it.

The calls of fork and execve are in native/python/process.c.

Source: execve(2), signal(7), getrlimit(2), PEP 538 (what Python adds to an environment).
"""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping, Sequence

from gnomon import _core
from gnomon.errors import ProgramError
from gnomon.launch import launcher_standin
from gnomon.named_tuple import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gnomon.launch.signals import SignalForwarder

_AMOUNTS = ("ru_minflt", "ru_majflt", "ru_inblock", "ru_oublock", "ru_nvcsw", "ru_nivcsw")
_COERCED_LOCALES = (b"C.UTF-8", b"C.utf8", b"UTF-8")


class Invocation(NamedTuple):
    """What execve gets.

    Attributes:
        command: program and arguments; the program is found through PATH.
        environment: entries "NAME=value".
    """

    command: tuple[str, ...]
    environment: tuple[bytes, ...]

    def with_variables(self, variables: Mapping[str, str]) -> Invocation:
        """Return it with variables set; all other entries stay as they are."""
        if not variables:
            return self
        ours = {os.fsencode(name): os.fsencode(value) for name, value in variables.items()}
        kept = (entry for entry in self.environment if entry.partition(b"=")[0] not in ours)
        return self._replace(
            environment=(*kept, *(name + b"=" + value for name, value in ours.items()))
        )


def invocation(command: Sequence[str]) -> Invocation:
    """Return a command's invocation with nothing added."""
    return Invocation(tuple(command), tuple(environment()))


def spawn(target: Invocation, signals: SignalForwarder) -> tuple[int, int]:
    """Return (pid, gate) of a process that will execute its command once `exec_target` is called.

    Args:
        target: command and environment.
        signals: ours, whose traces are removed from the process.

    Raises:
        ProgramError: no process can be made, or the launcher has ended the job.
    """
    try:
        pid, gate = _core.spawn(
            [os.fsencode(word) for word in target.command],
            list(target.environment),
            signals.dispositions(),
            _limit_of_target(),
        )
    except OSError as error:
        raise _not_started(target.command[0], error) from None
    stand_in = launcher_standin.current()
    if stand_in is not None:
        stand_in.take(pid)
    return pid, gate


# The soft limit of open files that we were started with, and what we have raised it to.
_nofile: tuple[int, int] | None = None


def raise_nofile(needed: int) -> None:
    """Raise our limit of open files if needed; programs that we start get the one we had."""
    global _nofile
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or needed <= soft:
        return
    raised = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (raised, hard))
    _nofile = (soft if _nofile is None or _nofile[1] != soft else _nofile[0], raised)


def _limit_of_target() -> int:
    """Return the soft limit of open files that a program must get; -1 for ours as it is."""
    if _nofile is None:
        return -1
    import resource

    own, raised = _nofile
    return own if resource.getrlimit(resource.RLIMIT_NOFILE)[0] == raised else -1


def check(program: str) -> None:
    """Check that a program would be executed, where something else is to execute it for us.

    Raises:
        ProgramError: it would not; has the shell's status for that.
    """
    if "/" in program:
        places = [program]
    else:
        places = [f"{folder or '.'}/{program}" for folder in os.get_exec_path()]
    from pathlib import Path

    refused: int = errno.ENOENT
    for place in places:
        if Path(place).is_file() and os.access(place, os.X_OK):
            return
        if Path(place).exists():
            refused = errno.EACCES
    raise _not_started(program, OSError(refused, os.strerror(refused)))


class PreExecUsage(NamedTuple):
    """What a process had used up when it executed its program, and when that was.

    Attributes:
        at_ns: CLOCK_MONOTONIC_RAW.
        used: amounts by field of getrusage(2), times in seconds; `ru_maxrss` is not among them,
            because a peak cannot be taken off another.
        peak_kib: its peak resident memory: a program's that is not above this is not known.
        schedule: what /proc/PID/schedstat said of it, b"" if that is not known.
    """

    at_ns: int
    used: dict[str, int | float]
    peak_kib: int
    schedule: bytes


def exec_target(command: Sequence[str], pid: int, gate: int) -> PreExecUsage:
    """Let a spawned process execute its command; return its resource usage just before.

    Raises:
        ProgramError: it cannot be executed; has the shell's status for that.
    """
    try:
        at_ns, (utime_us, stime_us, *amounts, peak_kib), schedule = _core.release(pid, gate)
    except OSError as error:
        raise _not_started(command[0], error) from None
    used: dict[str, int | float] = {"ru_utime": utime_us / 1e6, "ru_stime": stime_us / 1e6}
    used.update(zip(_AMOUNTS, amounts, strict=True))
    return PreExecUsage(at_ns, used, peak_kib, schedule)


def environment() -> list[bytes]:
    """Return our environment without what Python added to it by itself (LC_CTYPE, PEP 538)."""
    ours = dict(os.environb)
    try:
        with open("/proc/self/environ", "rb") as file:
            entries = file.read().split(b"\0")[:-1]
    except OSError:
        entries = []
    first: dict[bytes, bytes] = {}
    for key, equals, value in (entry.partition(b"=") for entry in entries):
        if equals:
            first.setdefault(key, value)
    if ours.get(b"LC_CTYPE") in _COERCED_LOCALES and b"LC_CTYPE" in first:
        ours[b"LC_CTYPE"] = first[b"LC_CTYPE"]
    elif ours.get(b"LC_CTYPE") in _COERCED_LOCALES:
        del ours[b"LC_CTYPE"]
    # An unchanged environment is passed on as it is, with whatever oddities it has.
    if ours == first:
        return entries
    return [key + b"=" + value for key, value in ours.items()]


def _not_started(program: str, error: OSError) -> ProgramError:
    from pathlib import Path

    if error.errno == errno.ENOENT:
        if "/" in program and Path(program).exists():
            return ProgramError(f"{program}: its interpreter (first line) does not exist", 127)
        return ProgramError(f"{program}: command not found", 127)
    if Path(program).is_dir():
        return ProgramError(f"{program}: is a directory", 126)
    if error.errno == errno.EACCES:
        return ProgramError(
            f"{program}: permission denied; to make it executable: chmod +x {program}", 126
        )
    return ProgramError(f"{program}: cannot be executed: {error.strerror}", 126)
