"""Nearly all stacks of programs that were built for no profiler lead to where they begin."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from commands import TOOLS, gnomon
from sampled import facts, opened, samples_with, stacks

from gnomon.store.run import Run

SOURCES = Path(__file__).parents[1] / "programs"
NATIVE = Path(__file__).parents[2] / "benchmarks" / "native"
SHARE = 0.99
# So few samples have one that is cut by chance: of a shared library's loading, or a process's end.
LEAST = 300

Compiled = Callable[..., Path]


def recorded(folder: Path, *command: str | Path) -> Run:
    done = gnomon("record", "--name", "r", "--", *command, cwd=folder)
    assert done.returncode == 0, done.stderr
    return opened(folder / "r")


def check_complete(run: Run, beyond_copy: float = 0) -> None:
    """Fail if more than one of a hundred stacks is cut, and say where.

    `beyond_copy`: the share that may go on beyond what the kernel copies, besides.
    """
    said = facts(run)
    cut = [(n, stack) for stack, n in stacks(run).items() if stack[0] == "(truncated)"]
    n_beyond = min(said["beyond_copy"], beyond_copy * said["stacks"])
    assert said["stacks"] >= LEAST, said
    assert said["complete"] + n_beyond >= SHARE * said["stacks"], (said, sorted(cut)[-10:])
    # What is not complete stands below (truncated), and nothing else does.
    assert sum(n for n, _ in cut) == said["stacks"] - said["complete"]
    reasons = ("beyond_copy", "without_rules", "in_bad_memory", "too_deep")
    assert sum(said[reason] for reason in reasons) == said["stacks"] - said["complete"]


def installed(program: str) -> str:
    """Return a program that setup installs, for the machine or beside the tests' Python."""
    path = shutil.which(program, path="/usr/bin:/bin") or shutil.which(program, path=str(TOOLS))
    if path is None:
        pytest.fail(f"{program} is not installed: run `make setup`")
    return path


def test_stacks_of_xz(tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_text("".join(f"{i * i % 9973} {i}\n" for i in range(150_000)))
    check_complete(recorded(tmp_path, installed("xz"), "-k", "-9", text))


def test_stacks_of_sqlite(tmp_path: Path) -> None:
    query = (
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 400000) "
        "SELECT count(DISTINCT printf('%d-%s', i % 1009, hex(i * i))) FROM n"
    )
    check_complete(recorded(tmp_path, installed("sqlite3"), ":memory:", query))


def test_stacks_of_debians_python(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import json, re\n"
        "def collatz(n):\n"
        "    return 0 if n == 1 else 1 + collatz(n // 2 if n % 2 == 0 else 3 * n + 1)\n"
        "for i in range(1, 40000):\n"
        "    collatz(i)\n"
        "    re.sub('(a)(b)', r'\\\\2', 'ab' * 10)\n"
        "    json.loads(json.dumps({'n': [i] * 20}))\n"
        "    sorted(range(30), key=lambda n: -n)\n"
    )
    check_complete(recorded(tmp_path, installed("python3"), program))


def test_stacks_of_node_with_compiled_code(tmp_path: Path) -> None:
    """Its own functions have no unwind information, and use frame pointers half of the time."""
    run = recorded(tmp_path, installed("node"), SOURCES / "script.js", "2")
    check_complete(run)
    # By their instructions, not by searching stacks for what looks like a caller.
    assert facts(run)["guessed"] < 0.1 * facts(run)["stacks"]


def test_stacks_of_calls_fifty_deep(tmp_path: Path) -> None:
    program = tmp_path / "deep"
    subprocess.run(
        ["g++", "-O2", "-fomit-frame-pointer", "-o", program, NATIVE / "deep_calls.cpp"],
        check=True,
    )
    run = recorded(tmp_path, program, "60000")
    check_complete(run)
    assert max(map(len, stacks(run))) > 50


def test_stacks_of_numpy(tmp_path: Path) -> None:
    """Its BLAS is assembly without unwind information, with buffers of 32 KB on the stack."""
    command = ("env", "OPENBLAS_NUM_THREADS=1", sys.executable, SOURCES / "products.py", "2")
    check_complete(recorded(tmp_path, *command))


def test_stacks_of_numpy_in_several_threads(tmp_path: Path) -> None:
    """Each call of its BLAS has room for 64 threads on its stack: 40 KB to 500 KB."""
    run = recorded(tmp_path, sys.executable, SOURCES / "products.py", "3")
    check_complete(run, beyond_copy=0.1)
    counted = stacks(run)
    # From the line of Python to the BLAS's innermost function, which threads of its own call, too.
    by_python = sum(
        n for stack, n in counted.items() if "multiply" in stack and "gemm" in " ".join(stack)
    )
    assert by_python > 100
    assert samples_with(counted, "decompose") > 100
    assert samples_with(counted, "blas_thread_server") > 100
