"""Requests of io_uring, which no library sees: the kernel's tracepoint counts them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from commands import GNOMON, WITHOUT_RIGHTS, run
from corpus import Program
from counted_io import report

NOT_COUNTED = "requests of io_uring were not counted"


@pytest.fixture(scope="module")
def program(compiled: Callable[..., Path]) -> str | Path:
    """Return a program that says how many writes, reads and requests it made."""
    return Program("uring.c").command(compiled)[0]


def played(folder: Path, *command: str | Path) -> tuple[list[float], dict[str, Any], str]:
    """Run a command that leaves the run r; return what it said, its coverage, and the report."""
    done = run(*command, cwd=folder)
    assert done.returncode == 0, done.stderr
    said = [float(word) for word in done.stdout.splitlines()[0].split()]
    text = run(GNOMON, "report", "r", "io", cwd=folder, env=None).stdout
    return said, report(folder)["coverage"], " ".join(text.split())


def test_requests_are_counted_in_every_process(program: str | Path, tmp_path: Path) -> None:
    said, coverage, text = played(tmp_path, GNOMON, "io", "--name", "r", "--", program)
    counted = [coverage[f"uring_{name}"] for name in ("writes", "reads", "requests")]
    assert counted == said
    # All zero where the kernel refuses rings: then nothing passes by either.
    assert coverage["is_complete"] is not any(said)
    assert ("whose files and bytes are not known" in text) is any(said)
    assert NOT_COUNTED not in text


def test_repetitions_are_of_one_execution(program: str | Path, tmp_path: Path) -> None:
    command = (GNOMON, "run", "--with", "io", "--without", "counters", "--repeat", "3")
    said, coverage, _ = played(tmp_path, *command, "--name", "r", "--", program)
    assert [coverage[f"uring_{name}"] for name in ("writes", "reads", "requests")] == said


def test_without_rights_it_is_not_known(program: str | Path, tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    command = (*WITHOUT_RIGHTS, GNOMON, "io", "--name", "r", "--", program)
    _, coverage, text = played(tmp_path, *command)
    assert coverage["uring_requests"] is None
    assert NOT_COUNTED in text


def test_it_does_not_disturb_counters_of_threads(program: str | Path, tmp_path: Path) -> None:
    # The kernel exchanges the counts of threads one by one: no other event may be among them.
    command = (GNOMON, "run", "--with", "io", "--name", "r", "--", program)
    _, coverage, text = played(tmp_path, *command)
    assert coverage["uring_requests"] is None
    assert NOT_COUNTED in text
