"""This process as a task of its job, which the others know of as long as it lives."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import re
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from gnomon.hpm.ranks.plugin_process import ABOVE
from gnomon.launch import launcher_standin
from gnomon.launch.launcher_standin import ProgramEnd
from gnomon.named_tuple import NamedTuple
from gnomon.units import signal_name

_ROOM = 4096
_ENDED, _DEPARTED = "ended.", "departed."
_LOOK_S = 0.01
# Who has one, or waits for it. Source: proc_locks(5).
_LOCK = re.compile(r" FLOCK +\S+ +\S+ +([1-9][0-9]*) ")
# A task's file in the job's directory, which was made by another name; /proc keeps the one or the
# other, and says of a name that is gone that it is deleted.
_PRESENCE = re.compile(r"(here|new)\.[0-9]+(\.[0-9]+)?( \(deleted\))?")
_LIBRARY = "libhpm_plugin.so.0"


class JobMembership(NamedTuple):
    """A task's place in its job.

    Attributes:
        fd: locked until this task has told what it counted.
        folder_fd: the job's directory; its lock is shared by all tasks that have yet to report.
        variables: tell a child of it.
        end: leaves the job; the last task removes its directory.
    """

    fd: int
    folder_fd: int
    variables: Mapping[str, str]
    end: Callable[[], object]

    def end_others(self) -> None:
        """End the other tasks on this node, as the launcher would, but without its haste.

        A launcher that kills the job when this process ends would lose what the others counted,
        and they may wait for this task's program for ever.
        """
        stand_in = launcher_standin.current()
        mark = self._folder / f"{_ENDED}{stand_in.pid if stand_in else os.getpid()}"
        with suppress(OSError):
            mark.touch(mode=0o600)
        for pid, pidfd in self._others():
            with suppress(OSError):
                if self._is_task(pid):
                    signal.pidfd_send_signal(pidfd, signal.SIGTERM)
            os.close(pidfd)

    def leave(self, wait_s: float) -> None:
        """Tell the other tasks on this node that this one has reported, and wait until they have.

        A task that ends badly makes launchers kill the others at once, wherever they are.
        """
        end = time.monotonic() + wait_s
        self.end()
        with suppress(OSError):
            fcntl.flock(self.folder_fd, fcntl.LOCK_UN)
            while time.monotonic() < end:
                with suppress(BlockingIOError):
                    fcntl.flock(self.folder_fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    fcntl.flock(self.folder_fd, fcntl.LOCK_UN)
                    return
                time.sleep(_LOOK_S)

    def let_go_first(self, pids: Sequence[int], wait_s: float) -> None:
        """Wait until the launcher has seen the end of the tasks that have ended this one.

        It names the first that it sees, and has its status for that of the job.
        """
        end = time.monotonic() + wait_s
        # A process that nobody has waited for is there still.
        for pid in pids:
            with suppress(ProcessLookupError):
                while time.monotonic() < end:
                    os.kill(pid, 0)
                    time.sleep(_LOOK_S)

    def tell_departure(self, task: int, end: ProgramEnd) -> None:
        """Leave word that a task has ended so, as far as its launcher knows."""
        with suppress(OSError):
            (self._folder / f"{_DEPARTED}{task}").symlink_to(_words_of(end))

    def departures(self) -> tuple[tuple[int, str], ...]:
        """Return the tasks that have left word, and how they ended."""
        departed = []
        with suppress(OSError):
            for path in self._folder.iterdir():
                if path.name.startswith(_DEPARTED):
                    departed.append((int(path.name.removeprefix(_DEPARTED)), str(path.readlink())))
        return tuple(sorted(departed))

    def ended_by(self) -> tuple[int, ...]:
        """Return the processes of the tasks that have ended this one, () for the launcher."""
        try:
            names = [path.name for path in self._folder.iterdir()]
        except OSError:
            return ()
        found = (name.removeprefix(_ENDED) for name in names if name.startswith(_ENDED))
        return tuple(int(number) for number in found if number.isdecimal())

    @property
    def _folder(self) -> Path:
        return Path(self.variables["HPM_JOB_DIR"])

    def _others(self) -> Iterator[tuple[int, int]]:
        """Yield the processes that hold locks of the same kind as ours, with descriptors."""
        try:
            locks = Path("/proc/locks").read_text()
        except OSError:
            return
        found = set(map(int, _LOCK.findall(locks)))
        for pid in sorted(found - {os.getpid()}):
            with suppress(OSError, ValueError):
                yield pid, os.pidfd_open(pid)

    def _is_task(self, pid: int) -> bool:
        """Return whether a process has its file in the job's directory open, as its tasks have."""
        # The last one removes the directory, after it has given it another name.
        begin = str(self._folder.parent)
        for link in Path(f"/proc/{pid}/fd").iterdir():
            with suppress(OSError):
                file = link.readlink()
                if str(file).startswith(begin) and _PRESENCE.fullmatch(file.name):
                    return True
        return False

    def beats(self) -> int:
        """Return something that changes while a child of this task waits for others."""
        return os.fstat(self.fd).st_mtime_ns


def _words_of(end: ProgramEnd) -> str:
    if end.killed_by:
        return f"was killed by {signal_name(end.killed_by)}"
    return f"ended with exit status {end.exit_status}"


def library(folder: Path) -> ctypes.CDLL:
    """Return the library of reductions.

    Raises:
        OSError: it cannot be loaded.
    """
    return ctypes.CDLL(str(folder / _LIBRARY), use_errno=True)


def join(folder: Path) -> tuple[JobMembership | None, str]:
    """Make this process a task of its job, for as long as it lives.

    Returns the place, or None without a job; and why there is none where a launcher started it as
    one of several tasks, else "".
    """
    try:
        functions = library(folder)
    except OSError as error:
        return None, f"{folder / _LIBRARY}: cannot be loaded: {error}; install Gnomon again"
    where = ctypes.create_string_buffer(_ROOM)
    fd = functions.hpm_job_join(b"count", where, ctypes.c_size_t(_ROOM))
    said = os.fsdecode(where.value)
    if fd >= 0:
        # No other descriptor of a child has its number.
        fd = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, ABOVE)
        try:
            folder_fd = os.open(said, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            return None, f"{said}: cannot be opened: {error.strerror}; set HPM_AGGREGATE_DIR"
        with suppress(OSError):  # a network's file system may have no such locks
            fcntl.flock(folder_fd, fcntl.LOCK_SH)
        variables = {"HPM_JOB_FD": str(fd), "HPM_JOB_DIR": said}
        return JobMembership(fd, folder_fd, variables, functions.hpm_job_end), ""
    if -fd == errno.ENODATA:
        return None, ""
    return None, said or os.strerror(-fd)
