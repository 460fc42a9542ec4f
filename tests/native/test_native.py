"""The C core's own tests with the sanitizers; `make test-long`: as they are, and under valgrind."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from building import plain, run, sanitized

from gnomon.store.record_file import RecordFile, open_records

# In percent. What is slowed down 20 times finds the same errors in less work.
WORK = {"plain": "100", "sanitized": "30", "valgrind": "5"}
AT_ONCE = "3"  # those that take longest wait for tasks of theirs


def test_ctest_with_the_sanitizers() -> None:
    pass_all(sanitized(), "sanitized")


@pytest.mark.long
def test_ctest() -> None:
    pass_all(plain(), "plain")


def pass_all(folder: Path, kind: str) -> None:
    """Fail if one of the C tests of a build does not pass."""
    said = run("ctest", "-j", AT_ONCE, "--test-dir", folder, "--no-tests=error",
               "--output-on-failure", GNOMON_TEST_WORK=WORK[kind])  # fmt: skip
    assert "100% tests passed" in said


@pytest.mark.long
def test_a_million_operations_through_each_stack_of_io_modules(tmp_path: Path) -> None:
    program = plain() / "native" / "tests" / "test_mio_differential"
    subprocess.run([program, "1000000"], cwd=tmp_path, check=True)


@pytest.mark.long
def test_valgrind() -> None:
    listed = json.loads(run("ctest", "--test-dir", plain(), "--show-only=json-v1"))
    commands = [test["command"] for test in sorted(listed["tests"], key=cost, reverse=True)]
    assert commands
    valgrind = ["valgrind", "--quiet", "--leak-check=no", "--error-exitcode=1"]

    def check(command: list[str]) -> None:
        run(*valgrind, *command, GNOMON_TEST_WORK=WORK["valgrind"])

    with ThreadPoolExecutor(2) as two:
        list(two.map(check, commands))


def cost(test: dict[str, Any]) -> float:
    """Return what native/tests/CMakeLists.txt says of a test: those that take longest go first."""
    return sum(float(one["value"]) for one in test["properties"] if one["name"] == "COST")


def check_records(file: RecordFile) -> None:
    records = file.columns("record")
    for thread in (1, 2):
        own = records[records["thread"] == thread]
        assert own["number"].tolist() == list(range(1000))
        expected = (thread + own["number"][:, None] * 3 + np.arange(24)) % 256
        assert (own["rest"] == expected).all()
    assert len(records) == 2000
    named = {100 * thread + number for thread in (1, 2) for number in range(100)}
    assert file.texts("name") == {
        number: f"{number:0{number % 100}d}"[: number % 100] for number in named
    }


@pytest.mark.parametrize("end", ["close", "kill", "leave"])
def test_python_reads_what_c_writes(tmp_path: Path, end: str) -> None:
    program = sanitized("write_records") / "native" / "tests" / "write_records"
    path = tmp_path / "process.gnrec"
    before = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW), time.time_ns()
    process = subprocess.Popen([program, path, end])
    assert process.wait() == (-9 if end == "kill" else 0)
    after = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW), time.time_ns()
    file = open_records(path)
    assert file.closed == (end == "close")
    assert (file.pid, file.rank, file.writer) == (process.pid, 3, "test")
    assert file.host == socket.gethostname()
    assert file.byte_order == sys.byteorder
    assert file.clock_source in ("tsc", "cntvct", "vdso")
    assert before[0] <= file.raw_ns <= after[0]
    assert before[1] <= file.realtime_ns <= after[1]
    assert file.capacity_bytes == 1 << 20
    assert (file.stop_error, file.lost) == (0, 0)
    check_records(file)
