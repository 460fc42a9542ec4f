"""`gnomon count -p PID`: a process that was there before, with all its threads."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from commands import GNOMON, counted, gnomon, run, values
from watching import counts

Programs = Callable[[str], Path]
GETPPID = "syscalls:sys_enter_getppid"
pytestmark = pytest.mark.usefixtures("tracepoints")


class Server:
    """The program `served`, which does N system calls in each of three tasks when asked to."""

    def __init__(self, program: Path, folder: Path) -> None:
        self.requests, self.answers = folder / "requests", folder / "answers"
        os.mkfifo(self.requests)
        os.mkfifo(self.answers)
        self.process = subprocess.Popen(
            [program, self.requests, self.answers], stdin=subprocess.DEVNULL
        )
        self.pid = self.process.pid

    def asking(self, n: int) -> str:
        """Return the shell command that lets it do N calls three times, and waits for that."""
        return f"echo {n} > '{self.requests}'; cat '{self.answers}'"

    def ask(self, n: int) -> None:
        assert run("sh", "-c", self.asking(n)).stdout == "done\n"

    def finish(self) -> None:
        self.requests.write_text("-1")
        assert self.process.wait() == 0


@pytest.fixture
def server(programs: Programs, tmp_path: Path) -> Iterator[Server]:
    found = Server(programs("served"), tmp_path)
    found.ask(1)  # so that its first thread is there
    yield found
    if found.process.poll() is None:
        found.process.kill()
        found.process.wait()


class Attached:
    """A gnomon that counts a server, from the moment its counters are open."""

    def __init__(self, server: Server, folder: Path) -> None:
        self.file = folder / "attached.json"
        self.process = subprocess.Popen(
            [GNOMON, "count", "-n", "-o", self.file, "-e", GETPPID, "-p", str(server.pid)],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        while not counts(self.process.pid):
            assert self.process.poll() is None
            time.sleep(0.01)
        # Should counting begin a moment later still, this may be counted or not.
        server.ask(50)

    def ended(self) -> dict[str, Any]:
        out, said = self.process.communicate()
        assert (self.process.returncode, out, said) == (0, "", "")
        document: dict[str, Any] = json.loads(self.file.read_text())
        assert document["attached"]
        assert document["exit_status"] is None
        assert document["rusage"] == []
        assert document["user_seconds"] is document["system_seconds"] is None
        return document


def test_counts_while_a_command_runs(server: Server, tmp_path: Path) -> None:
    """Threads there before, threads made later and new processes; nothing before or after."""
    server.ask(700)
    document = counted(
        tmp_path, "-e", GETPPID, "-p", str(server.pid), "--", "sh", "-c", server.asking(1000)
    )
    server.ask(600)
    assert values(document)[GETPPID] == 3000
    assert document["pid"] == server.pid
    assert document["command"] == []
    server.finish()


def test_the_command_itself_is_not_counted(
    server: Server, programs: Programs, tmp_path: Path
) -> None:
    document = counted(
        tmp_path, "-e", GETPPID, "-p", str(server.pid), "--", programs("calls"), "5000"
    )
    assert values(document)[GETPPID] == 0
    server.finish()


def test_counts_until_the_end_of_the_process(server: Server, tmp_path: Path) -> None:
    attached = Attached(server, tmp_path)
    server.ask(1000)
    server.finish()
    document = attached.ended()
    assert 3000 <= values(document)[GETPPID] <= 3150
    assert not document["interrupted"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["SIGINT", "SIGTERM"])
def test_counts_until_a_signal(number: int, server: Server, tmp_path: Path) -> None:
    """Ctrl-C ends the counting with a report; the process counted goes on."""
    attached = Attached(server, tmp_path)
    server.ask(1000)
    attached.process.send_signal(number)
    document = attached.ended()
    assert 3000 <= values(document)[GETPPID] <= 3150
    assert document["interrupted"] == (number == signal.SIGINT)
    server.ask(10)
    server.finish()


def test_counts_for_a_duration(server: Server, tmp_path: Path) -> None:
    document = counted(tmp_path, "-e", GETPPID, "-p", str(server.pid), "-d", "0.2")
    assert values(document)[GETPPID] == 0
    assert document["wall_seconds"] >= 0.2
    server.finish()


def test_text_says_that_it_was_attached(server: Server) -> None:
    done = gnomon("count", "-e", GETPPID, "-p", str(server.pid), "-d", "0.01")
    assert f"gnomon count: process {server.pid}  [attached]" in done.stderr
    server.finish()


def test_process_that_does_not_exist() -> None:
    # No process ever has this number: they are below it.
    nobody = Path("/proc/sys/kernel/pid_max").read_text().strip()
    done = gnomon("count", "-p", nobody, "-e", "task-clock")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"gnomon: process {nobody}: no such process; see ps\n"


def test_command_that_does_not_exist(server: Server) -> None:
    done = gnomon("count", "-p", str(server.pid), "-e", "task-clock", "--", "/does/not/exist")
    assert (done.returncode, done.stdout) == (127, "")
    assert done.stderr == "gnomon: /does/not/exist: command not found\n"
    server.finish()


@pytest.mark.parametrize(
    "arguments",
    [("-p", "0"), ("-p", "-5"), ("-p", "1", "-r", "2"), ("-p", "1", "--per", "thread"),
     ("-p", "1", "-d", "0"), ("-p", "1", "-d", "nan"), ("-d", "1", "--", "true"), ("-p", "x")],
    ids=" ".join,
)  # fmt: skip
def test_options_that_do_not_go_together(arguments: tuple[str, ...]) -> None:
    done = gnomon("count", "-e", "task-clock", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr
    assert "Traceback" not in done.stderr
