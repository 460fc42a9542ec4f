"""What is said where nothing was sampled, and the CPU time that it is about."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

from gnomon.sampling import no_samples
from gnomon.sampling.sampled_events import choose


def said(event: str, pid: int, used_ns: int | None, *, has_waits: bool = False) -> str:
    events = choose([event], 1000, None).events
    return no_samples.note(events, pid, used_ns, has_waits=has_waits)


@pytest.mark.parametrize(
    ("pid", "used_ns", "reason"),
    [
        (7, 0, "process 7 did not run, it waited all the time; "),
        (7, 999_000, "process 7 used 999 µs of CPU time, less than a sample stands for (1 ms); "),
        (7, 3_000_000, "of the 3 ms of CPU time that process 7 used, none fell on a sample; "),
        (7, None, "process 7 used less CPU time than a sample stands for (1 ms); "),
        (0, None, "the program used less CPU time than a sample stands for (1 ms); "),
    ],
)
def test_no_samples_of_cpu_time(pid: int, used_ns: int | None, reason: str) -> None:
    assert said("cpu-clock", pid, used_ns).startswith(f"samples: none was taken: {reason}")


def test_waits_are_a_remedy_where_they_were_not_recorded() -> None:
    assert "off-cpu" in said("cpu-clock", 0, None)
    assert "off-cpu" not in said("cpu-clock", 0, None, has_waits=True)


def test_user_code_alone_is_said() -> None:
    assert "none in user code fell on a sample" in said("cpu-clock:u", 7, 3_000_000)


def test_no_samples_of_an_event() -> None:
    assert ": there were too few page-faults for one; " in said("page-faults", 7, 5_000_000)


def test_cpu_time_of_a_process() -> None:
    before = time.process_time_ns()
    own = no_samples.cpu_time_ns(os.getpid())
    after = time.process_time_ns()
    assert own is not None
    assert before <= own <= after


def test_cpu_time_of_an_ended_process() -> None:
    with subprocess.Popen([sys.executable, "-c", "print(sum(range(100_000)))"],
                          stdout=subprocess.DEVNULL) as program:  # fmt: skip
        os.waitid(os.P_PID, program.pid, os.WEXITED | os.WNOWAIT)
        assert no_samples.cpu_time_ns(program.pid)
    assert no_samples.cpu_time_ns(program.pid) is None
