"""The C core's own tests: as they are, under valgrind, and built with the sanitizers."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from building import DEBUG, run, sanitized

from gnomon.store.raw import RawFile, read_raw

ROOT = Path(__file__).parents[2]

# In percent. What is slowed down 20 times finds the same errors in less work.
WORK = {"plain": "100", "sanitized": "30", "valgrind": "5"}
AT_ONCE = "3"  # those that take longest wait for tasks of theirs

Build = Callable[[str], Path]


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Build:
    """Return a function that gives the folder of a build, which is made at its first use."""
    folder = tmp_path_factory.mktemp("native")

    def build_once(kind: str) -> Path:
        if kind == "sanitized":
            return sanitized(tmp_path_factory.getbasetemp())
        made = folder / kind
        if not made.exists():
            run("ninja", "--version")
            options = ["-DGNOMON_PYTHON=OFF", "-DGNOMON_TESTS=ON"]
            run("cmake", "-S", ROOT, "-B", made, "-G", "Ninja", *DEBUG, *options)
            run("cmake", "--build", made)
        return made

    return build_once


@pytest.mark.parametrize("kind", ["plain", "sanitized"])
def test_ctest(build: Build, kind: str) -> None:
    said = run("ctest", "-j", AT_ONCE, "--test-dir", build(kind), "--no-tests=error",
               "--output-on-failure", GNOMON_TEST_WORK=WORK[kind])  # fmt: skip
    assert "100% tests passed" in said


def test_the_sanitizers_find_what_is_lost(tmp_path: Path) -> None:
    """For valgrind does not look for it: that takes it four times as long as all the rest."""
    (tmp_path / "lost.c").write_text(
        "#include <stdlib.h>\nchar *volatile p;\n"
        "int main(void) { p = malloc(77); p = NULL; return 0; }\n"
    )
    run("cc", "-fsanitize=address,undefined", "-o", tmp_path / "lost", tmp_path / "lost.c")
    done = subprocess.run([tmp_path / "lost"], capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "77 byte(s) leaked" in done.stderr


def test_valgrind(build: Build) -> None:
    listed = json.loads(run("ctest", "--test-dir", build("plain"), "--show-only=json-v1"))
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


def payload_of(kind: int, number: int) -> bytes:
    return number.to_bytes(8, sys.byteorder) + bytes([kind]) * (number % 50)


def check_records(raw: RawFile) -> None:
    records = [(found.type, bytes(found.payload)) for found in raw.records()]
    for kind in (1, 2):
        expected = [payload_of(kind, number) for number in range(1000)]
        assert [payload for found, payload in records if found == kind] == expected
    assert records[-1] == (9, b"end")
    assert len(records) == 2001
    assert raw.skipped == 1


@pytest.mark.parametrize("end", ["close", "kill", "leave"])
def test_python_reads_what_c_writes(build: Build, tmp_path: Path, end: str) -> None:
    path = tmp_path / "process.gnraw"
    before = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW), time.time_ns()
    process = subprocess.Popen([build("plain") / "native" / "tests" / "write_raw", path, end])
    assert process.wait() == (-9 if end == "kill" else 0)
    after = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW), time.time_ns()
    raw = read_raw(path)
    assert raw.closed == (end == "close")
    assert raw.pid == process.pid
    assert raw.host == socket.gethostname()
    assert raw.byte_order == sys.byteorder
    assert raw.clock_source in ("tsc", "cntvct", "vdso")
    assert before[0] <= raw.raw_ns <= after[0]
    assert before[1] <= raw.realtime_ns <= after[1]
    assert raw.capacity_bytes == 1 << 20
    assert (raw.stop_error, raw.lost) == (0, 0)
    check_records(raw)
