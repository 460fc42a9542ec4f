"""Programs that are hard to follow, each beside `perf stat`: what they did is known exactly."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from commands import GNOMON, counted, gnomon, perf_counted, run, task_sum, values

GETPPID = "syscalls:sys_enter_getppid"
SYSTEM_CALLS = "raw_syscalls:sys_enter"
FORKS = "sched:sched_process_fork"
EXITS = "sched:sched_process_exit"
KNOWN = (GETPPID, SYSTEM_CALLS, FORKS, EXITS)
CHILDREN = 6000
WORKERS = 64

Programs = Callable[[str], Path]
pytestmark = pytest.mark.usefixtures("perf", "tracepoints")


def both(
    folder: Path, events: tuple[str, ...], *command: str | Path, **how: Any
) -> tuple[dict[str, Any], dict[str, float]]:
    """Return what gnomon and what perf counted of a command that ends with the same status."""
    ours = values(counted(folder, "-e", ",".join(events), "--", *command, **how))
    return ours, perf_counted(folder, events, *command, **how)


def each_signal(*names: str) -> pytest.MarkDecorator:
    """Return the mark of a test that is tried with each of the signals as its `number`."""
    return pytest.mark.parametrize(
        "number", [int(signal.Signals[name]) for name in names], ids=names
    )


def lacks_rows(document: dict[str, Any]) -> bool:
    """Return whether a document says that some of its rows are missing or not known."""
    return any("lost" in note and "rows below" in note for note in document["notes"])


# --- counts that are known beforehand -------------------------------------------------------------


def test_calls_more_are_counted_more(tmp_path: Path, programs: Programs) -> None:
    few, of_perf = both(tmp_path, KNOWN, programs("calls"), "1000")
    many = values(counted(tmp_path, "-e", ",".join(KNOWN), "--", programs("calls"), "124456"))
    assert few == of_perf
    assert (few[GETPPID], many[GETPPID]) == (1000, 124456)
    assert many[SYSTEM_CALLS] - few[SYSTEM_CALLS] == 123456
    assert (few[FORKS], few[EXITS]) == (0, 1)


def test_pages_more_are_faults_more(
    tmp_path: Path, programs: Programs, same_layout: tuple[str, ...]
) -> None:
    events = ("page-faults", "minor-faults", "major-faults")
    few, of_perf = both(tmp_path, events, programs("pages"), "1000", under=same_layout)
    many, _ = both(tmp_path, events, programs("pages"), "8000", under=same_layout)
    # How many pages of the program's file one fault brings depends on the page cache.
    assert few == pytest.approx(of_perf, abs=4)
    assert many["page-faults"] - few["page-faults"] == pytest.approx(7000, abs=4)
    assert many["minor-faults"] - few["minor-faults"] == pytest.approx(7000, abs=4)


def test_fork_bomb(tmp_path: Path, programs: Programs, same_layout: tuple[str, ...]) -> None:
    events = (*KNOWN, "page-faults")
    command = (programs("forks"), str(CHILDREN), "3")
    ours, of_perf = both(tmp_path, events, *command, under=same_layout)
    assert ours[GETPPID] == 3 * CHILDREN
    assert ours[FORKS] == CHILDREN
    assert ours[EXITS] == CHILDREN + 1
    assert ours[SYSTEM_CALLS] == of_perf[SYSTEM_CALLS]
    assert ours["page-faults"] == pytest.approx(of_perf["page-faults"], rel=0.001)
    assert ours["page-faults"] > CHILDREN


def test_many_threads(tmp_path: Path, programs: Programs) -> None:
    ours, of_perf = both(tmp_path, KNOWN, programs("threads"), str(WORKERS), "500", "7")
    work = sum(500 + 7 * number for number in range(WORKERS))
    assert ours[GETPPID] == of_perf[GETPPID] == work
    assert ours[FORKS] == of_perf[FORKS] == WORKERS
    assert ours[EXITS] == of_perf[EXITS] == WORKERS + 1


def test_program_that_execs_another(tmp_path: Path, programs: Programs) -> None:
    calls = programs("calls")
    ours, of_perf = both(tmp_path, KNOWN, calls, "40", calls, "2", calls, "0", calls, "300")
    assert ours[GETPPID] == 342
    assert ours == of_perf
    assert (ours[FORKS], ours[EXITS]) == (0, 1)


def test_pipeline_of_a_shell(tmp_path: Path, programs: Programs) -> None:
    calls = programs("calls")
    script = f"{calls} 10 | {calls} 20; {calls} 3 & wait; ({calls} 400)"
    ours, of_perf = both(tmp_path, KNOWN, "sh", "-c", script)
    # A shell asks once who started it.
    alone = values(counted(tmp_path, "-e", GETPPID, "--", "sh", "-c", ":"))
    assert ours[GETPPID] == of_perf[GETPPID] == alone[GETPPID] + 433
    assert ours[FORKS] == of_perf[FORKS]


# --- how programs end -----------------------------------------------------------------------------


@each_signal("SIGSEGV", "SIGKILL", "SIGABRT", "SIGTERM")
def test_killed_program(number: int, tmp_path: Path, programs: Programs) -> None:
    calls, die = programs("calls"), programs("die")
    command = (calls, "250", die, str(int(number)))
    document = counted(tmp_path, "-e", ",".join(KNOWN), "--", *command, status=-number)
    assert values(document) == perf_counted(tmp_path, KNOWN, *command, status=None)
    assert values(document)[GETPPID] == 250
    assert document["signal"] == signal.Signals(number).name
    assert document["exit_status"] == 128 + number


@each_signal("SIGSEGV", "SIGKILL")
def test_a_shell_sees_the_signal(number: int, tmp_path: Path, programs: Programs) -> None:
    line = f"'{GNOMON}' count -e task-clock -n -o '{tmp_path}/out' -- '{programs('die')}' {number}"
    done = run("sh", "-c", f"{line}; echo status $?")
    assert done.stdout == f"status {128 + number}\n"


@pytest.mark.parametrize("status", [0, 1, 3, 255])
def test_exit_status_is_the_programs(status: int, tmp_path: Path) -> None:
    document = counted(
        tmp_path, "-e", "task-clock", "--", "sh", "-c", f"exit {status}", status=status
    )
    assert document["exit_status"] == status
    assert document["signal"] is None


@pytest.mark.parametrize("status", [0, 1])
def test_status_with_repetitions_is_the_first_failures(status: int, tmp_path: Path) -> None:
    script = f"test -e '{tmp_path}/once' && exit {status}; touch '{tmp_path}/once'; exit 7"
    document = counted(tmp_path, "-r", "2", "-e", "task-clock", "--", "sh", "-c", script, status=7)
    assert [one["exit_status"] for one in document["repetitions"]] == [7, status]


class Started:
    """A gnomon that runs `await`, from the moment the program is ready for signals."""

    def __init__(self, program: Path, folder: Path, *caught: int) -> None:
        self.file = folder / "count.json"
        self.process = subprocess.Popen(
            [GNOMON, "count", "-n", "-o", str(self.file), "-e", "task-clock", "--", str(program),
             *map(str, caught)],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            start_new_session=True,
        )  # fmt: skip
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == "ready\n"

    def ended(self) -> tuple[int, dict[str, Any], str]:
        """Return gnomon's status, its document and what it said on stderr."""
        _, said = self.process.communicate()
        return self.process.returncode, json.loads(self.file.read_text()), said


@each_signal("SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2")
@pytest.mark.parametrize("caught", [True, False], ids=["caught", "deadly"])
def test_signals_are_forwarded(
    number: int, caught: bool, tmp_path: Path, programs: Programs
) -> None:
    started = Started(programs("await"), tmp_path, *[number] * caught)
    started.process.send_signal(number)
    status, document, said = started.ended()
    assert status == (40 if caught else -number)
    assert document["exit_status"] == (40 if caught else 128 + number)
    assert not document["interrupted"]
    assert said == ""


@each_signal("SIGINT", "SIGQUIT")
@pytest.mark.parametrize("caught", [True, False], ids=["caught", "deadly"])
def test_keys_of_the_terminal_are_the_programs_business(
    number: int, caught: bool, tmp_path: Path, programs: Programs
) -> None:
    """Ctrl-C reaches the whole process group: the report still comes, with the status."""
    started = Started(programs("await"), tmp_path, *[number] * caught)
    os.killpg(started.process.pid, number)
    status, document, said = started.ended()
    assert status == (40 if caught else -number)
    assert document["interrupted"]
    assert values(document)["task-clock"] > 0
    assert said == ""


@pytest.mark.parametrize("per", [(), ("--per", "thread")], ids=["totals", "per"])
def test_signal_at_any_moment_ends_both(per: tuple[str, ...], programs: Programs) -> None:
    """Also before the program runs: no program stays, and the status is the signal's."""
    assert gnomon("count", *per, "-e", "task-clock", "--", "true").returncode == 0
    for milliseconds in range(0, 160, 16):
        with subprocess.Popen(
            [GNOMON, "count", *per, "-e", "task-clock", "--", str(programs("await"))],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        ) as process:  # fmt: skip
            time.sleep(milliseconds / 1000)
            process.terminate()
            # The output ends when everybody who could write it has ended.
            out, said = process.communicate()
        assert process.returncode == -signal.SIGTERM
        assert out in ("", "ready\n")
        assert "Traceback" not in said


def test_interrupt_ends_the_repetitions(tmp_path: Path, programs: Programs) -> None:
    file = tmp_path / "count.json"
    with subprocess.Popen(
        [GNOMON, "count", "-n", "-o", str(file), "-r", "1000", "-e", "task-clock", "--",
         str(programs("await")), str(int(signal.SIGINT))],
        stdout=subprocess.PIPE, text=True, start_new_session=True,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        os.killpg(process.pid, signal.SIGINT)
        assert process.stdout.read() == ""
        assert process.wait() == 40
    assert file.exists()


def test_killed_gnomon_leaves_the_program_alone(tmp_path: Path, programs: Programs) -> None:
    """Where gnomon itself is killed there is no count, and the program goes on."""
    started = Started(programs("await"), tmp_path, signal.SIGUSR1)
    children = Path(f"/proc/{started.process.pid}/task/{started.process.pid}/children")
    program = int(children.read_text())
    started.process.kill()
    assert started.process.wait() == -signal.SIGKILL
    os.kill(program, 0)
    os.kill(program, signal.SIGUSR1)
    assert started.file.read_text() == ""
    assert started.process.stdout is not None
    # The end of the output is the end of the program, which has no other parent to tell.
    assert started.process.stdout.read() == ""
    started.process.communicate()


# --- daemons --------------------------------------------------------------------------------------


class Daemon:
    """A program that leaves a daemon behind, and the means to let that end."""

    def __init__(self, folder: Path) -> None:
        self.fifo = folder / "fifo"
        self.result = folder / "result"
        os.mkfifo(self.fifo)

    def finish(self) -> tuple[int, int]:
        """Let the daemon go, once it has written what it is; return its pid and session."""
        with self.fifo.open("wb"):
            while not (self.result.exists() and self.result.read_text().endswith("\n")):
                time.sleep(0.01)
            pid, session = map(int, self.result.read_text().split())
            os.kill(pid, 0)
        return pid, session


@pytest.mark.parametrize("per", ["", "thread", "process"])
def test_daemon_lives_on(per: str, tmp_path: Path, programs: Programs) -> None:
    daemon = Daemon(tmp_path)
    options = ["--per", per] if per else []
    document = counted(
        tmp_path, *options, "-e", ",".join((GETPPID, FORKS)), "--",
        programs("daemonise"), daemon.fifo, daemon.result,
    )  # fmt: skip
    # gnomon has returned, and the daemon is what it would have been.
    pid, session = daemon.finish()
    assert session not in (pid, os.getsid(0))
    found = values(document)
    assert found[FORKS] == 2
    assert found[GETPPID] in range(10, 16)
    if not per:
        return
    rows = {row["pid"]: row for row in document["processes"]}
    assert rows[document["pid"]]["values"] == {GETPPID: 10, FORKS: 1}
    assert rows[session]["values"] == {GETPPID: 0, FORKS: 1}
    assert rows[pid]["values"] == {GETPPID: None, FORKS: None}
    assert rows[pid]["ppid"] == session
    assert len(rows) == len(document["threads"]) == 3


def test_daemon_is_said_to_run(tmp_path: Path, programs: Programs) -> None:
    daemon = Daemon(tmp_path)
    done = gnomon("count", "--per", "thread", "-e", GETPPID, "--", programs("daemonise"),
                  daemon.fifo, daemon.result)  # fmt: skip
    pid, _ = daemon.finish()
    (line,) = (line for line in done.stderr.splitlines() if line.split()[:2] == [str(pid)] * 2)
    assert "still running" in line


# --- each process and thread apart ----------------------------------------------------------------


def test_rows_of_a_fork_bomb_add_up(tmp_path: Path, programs: Programs) -> None:
    events = (GETPPID, SYSTEM_CALLS, "page-faults")
    document = counted(
        tmp_path, "--per", "process", "-e", ",".join(events), "--", programs("forks"),
        str(CHILDREN), "3",
    )  # fmt: skip
    found = values(document)
    assert found[GETPPID] == 3 * CHILDREN
    assert len(document["threads"]) == len(document["processes"]) == CHILDREN + 1
    for event in events:
        assert task_sum(document, "threads", event) == found[event]
        assert task_sum(document, "processes", event) == found[event]
    children = [row for row in document["processes"] if row["pid"] != document["pid"]]
    assert len(children) == CHILDREN
    assert {row["ppid"] for row in children} == {document["pid"]}
    assert {row["values"][GETPPID] for row in children} == {3}
    assert {row["name"] for row in document["processes"]} == {"forks"}


def test_rows_of_threads_are_each_ones_own(tmp_path: Path, programs: Programs) -> None:
    events = (GETPPID, SYSTEM_CALLS, "page-faults")
    document = counted(
        tmp_path, "--per", "thread", "-e", ",".join(events), "--", programs("threads"),
        str(WORKERS), "500", "7", "in-turn",
    )  # fmt: skip
    found = values(document)
    calls = {row["name"]: row["values"][GETPPID] for row in document["threads"]}
    assert calls == {"threads": 0} | {f"worker {n}": 500 + 7 * n for n in range(WORKERS)}
    (process,) = document["processes"]
    assert process["threads"] == WORKERS + 1
    assert process["values"] == found
    for event in events:
        assert task_sum(document, "threads", event) == found[event]


def test_rows_of_threads_that_end_together(tmp_path: Path, programs: Programs) -> None:
    """The kernel may lose records of threads that exit at once: then the report says so."""
    for _ in range(5):
        document = counted(
            tmp_path, "--per", "thread", "-e", f"{GETPPID},page-faults", "--",
            programs("threads"), str(WORKERS), "500", "7",
        )  # fmt: skip
        found = values(document)
        # The totals do not depend on records.
        assert found[GETPPID] == sum(500 + 7 * n for n in range(WORKERS))
        if not lacks_rows(document):
            for event in (GETPPID, "page-faults"):
                assert task_sum(document, "threads", event) == found[event]


def test_rows_of_a_pipeline_have_the_names_of_its_programs(
    tmp_path: Path, programs: Programs
) -> None:
    calls, pages = programs("calls"), programs("pages")
    events = (GETPPID, SYSTEM_CALLS, "page-faults")
    for _ in range(10):
        document = counted(
            tmp_path, "--per", "process", "-e", ",".join(events), "--", "sh", "-c",
            f"{calls} 11 | {pages} 3000; {calls} 7; exit 0",
        )  # fmt: skip
        # The two of a pipeline may end at once: see above.
        if not lacks_rows(document):
            break
    found = values(document)
    shell = values(counted(tmp_path, "-e", GETPPID, "--", "sh", "-c", ":"))[GETPPID]
    assert found[GETPPID] == 18 + shell
    for event in events:
        assert task_sum(document, "processes", event) == found[event]
    rows = [(row["name"], row["values"][GETPPID]) for row in document["processes"]]
    assert sorted(rows) == [("calls", 7), ("calls", 11), ("pages", 0), ("sh", shell)]
    (row,) = (row for row in document["processes"] if row["name"] == "pages")
    assert row["values"]["page-faults"] >= 3000
