"""Perf events whose samples signal their threads, for Python programs: as the recorder opens them.

The recorder reads native stacks of such samples, too; here only the program's own records count.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import platform
import shutil
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

import gnomon
from gnomon.sampling.python_records import PythonProcess, read_process
from gnomon.store.record_file import open_records

LIBRARY = Path(gnomon.__file__).parent / "sampling" / "libgnomon_sampling.so"

_SIGNAL_DATA = 0x676E6F6D6F6E0001
_BEGIN = 1
_DISABLE = 0x2401
_CPU_CLOCK = (1, 0)
_PERF_EVENT_OPEN = {"x86_64": 298, "aarch64": 241}[platform.machine()]
_CLOSE_ON_EXEC = 8
# inherit, exclude_hv, inherit_thread, remove_on_exec, sigtrap
_FLAGS = 1 << 1 | 1 << 6 | 1 << 35 | 1 << 36 | 1 << 37
_ATTR_BYTES = 128
_PYENV = ("3.11.7", "3.12.1", "3.13.0")

_libc = ctypes.CDLL(None, use_errno=True)


def interpreters() -> list[str]:
    """Return the Python that is installed, and those of pyenv that are there."""
    folders = [
        Path(folder) for folder in (os.environ.get("PYENV_ROOT", ""), Path.home() / ".pyenv")
    ]
    others = [
        str(path)
        for version in _PYENV
        for path in {folder / "versions" / version / "bin" / "python3" for folder in folders}
        if path.is_file()
    ]
    own = shutil.which("python3", path="/usr/bin:/bin") or sys.executable
    return [own, *others]


def shared_interpreter() -> Path:
    """Return the installed library of a Python that frames are read of; fail if there is none."""
    libraries = sorted(Path("/usr/lib").glob("*/libpython3.1[123].so.1.0"))
    if not libraries:
        pytest.fail("no libpython of Python 3.11 to 3.13 below /usr/lib: install python3-dev")
    return libraries[0]


def _attributes(hz: int) -> bytes:
    attr = bytearray(_ATTR_BYTES)
    kind, config = _CPU_CLOCK
    struct.pack_into("=IIQQQQQ", attr, 0, kind, len(attr), config, 10**9 // hz, 1, 0, _FLAGS)
    struct.pack_into("=Q", attr, _ATTR_BYTES - 8, _SIGNAL_DATA)
    return bytes(attr)


@contextmanager
def _address(folder: Path) -> Iterator[str]:
    """Give the socket of a folder, whose path may be longer than an address."""
    descriptor = os.open(folder, os.O_PATH)
    try:
        yield f"/proc/self/fd/{descriptor}/python.socket"
    finally:
        os.close(descriptor)


class Opener(threading.Thread):
    """Opens and stops events for the processes that ask for it.

    Attributes:
        requests: (process, what it asked for).
    """

    def __init__(self, folder: Path, hz: int) -> None:
        super().__init__(daemon=True)
        self._hz = hz
        self._open: dict[int, list[int]] = {}
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with _address(folder) as address:
            self._socket.bind(address)
        self._socket.listen(64)
        self.requests: list[tuple[int, int]] = []

    def run(self) -> None:
        while True:
            connection, _ = self._socket.accept()
            with connection:
                peer = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
                (pid, _, _) = struct.unpack("3i", peer)
                request = connection.recv(4)
                if not request:
                    return
                self.requests.append((pid, struct.unpack("I", request)[0]))
                connection.send(struct.pack("i", self._answer(*self.requests[-1])))

    def end(self, folder: Path) -> None:
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as last:
            with _address(folder) as address:
                last.connect(address)
            last.shutdown(socket.SHUT_WR)
            self.join()
        self._socket.close()
        for descriptors in self._open.values():
            for descriptor in descriptors:
                os.close(descriptor)

    def _answer(self, pid: int, request: int) -> int:
        if request != _BEGIN:
            for descriptor in self._open.get(pid, ()):
                fcntl.ioctl(descriptor, _DISABLE, 0)
            return 0
        attr = _attributes(self._hz)
        for task in Path(f"/proc/{pid}/task").iterdir():
            for cpu in os.sched_getaffinity(0):
                descriptor = _libc.syscall(
                    _PERF_EVENT_OPEN, attr, int(task.name), cpu, -1, _CLOSE_ON_EXEC
                )
                if descriptor < 0:
                    return -ctypes.get_errno()
                self._open.setdefault(pid, []).append(descriptor)
        return 0


@contextmanager
def opener(folder: Path, hz: int) -> Iterator[Opener]:
    """Open events in a staging folder."""
    events = Opener(folder, hz)
    events.start()
    try:
        yield events
    finally:
        events.end(folder)


def sampled(
    folder: Path, command: Sequence[str], hz: int = 997, *, more: Mapping[str, str] | None = None
) -> tuple[subprocess.CompletedProcess[str], list[PythonProcess], list[tuple[int, int]]]:
    """Run a program with samples; return how it ended, what its processes read, and requests."""
    folder.mkdir(exist_ok=True)
    variables = {"GNOMON_RUN_DIR": str(folder), "LD_PRELOAD": str(LIBRARY)}
    variables["GNOMON_PYTHON_SOCKET"] = "python.socket"
    with opener(folder, hz) as events:
        done = subprocess.run(
            command,
            env=os.environ | variables | dict(more or {}),
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
    files = sorted(folder.glob("*.python.gnrec"))
    return done, [read_process(open_records(file)) for file in files], events.requests


def stack(process: PythonProcess, node: int) -> list[tuple[str, str, int, bool]]:
    """Return the functions of a path from its leaf: name, file, line and whether C called it."""
    paths, functions = process.paths, []
    while node >= 0:
        function = paths.functions[paths.function[node]]
        functions.append(
            (function.name, function.file, int(paths.line[node]), bool(paths.is_entry[node]))
        )
        node = int(paths.parent[node])
    return functions
