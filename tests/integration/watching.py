"""Running `gnomon stat` as its users do, and reading what it says."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from commands import GNOMON, TOOLS, gnomon
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from gnomon.measurement.intervals import SCHEMA

HPMSTAT = str(TOOLS / "hpmstat")
Line = dict[str, Any]
_SECONDS = 300  # only there to end what hangs


def lines(text: str) -> list[Line]:
    """Return JSON lines, each of which the schema allows."""
    schema = json.loads(SCHEMA.read_text())
    Draft202012Validator.check_schema(schema)
    found = [json.loads(line) for line in text.splitlines()]
    for one in found:
        problems = Draft202012Validator(schema).iter_errors(one)
        assert [error.message for error in problems] == []
    return found


def watched(*arguments: str | Path) -> list[Line]:
    """Return the lines of `gnomon stat --json` that ends by itself."""
    done = gnomon("stat", "--json", *arguments)
    assert done.returncode == 0, done.stderr
    return lines(done.stdout)


@contextmanager
def watching(*arguments: str | Path, tool: str = GNOMON) -> Iterator[subprocess.Popen[str]]:
    """Start `gnomon stat` (or another tool) with pipes; it is ended at last if it is there yet."""
    command = [tool, *(["stat"] if tool == GNOMON else []), *map(str, arguments)]
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        with process:
            pass


def ended(
    process: subprocess.Popen[str], by: signal.Signals = signal.SIGINT
) -> tuple[int, str, str]:
    """End a process by a signal; return its status and what it still wrote."""
    process.send_signal(by)
    return the_rest(process)


def the_rest(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    """Return the status of a process that ends, and what of its output was not read yet.

    What `communicate` returns lacks what `readline` has read ahead.
    """
    assert process.stdout is not None
    assert process.stderr is not None
    out, err = process.stdout.read(), process.stderr.read()
    return process.wait(_SECONDS), out, err


def first_line(process: subprocess.Popen[str]) -> str:
    """Return the first line of a process's output, waiting for it."""
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line, f"it ended: {process.stderr.read() if process.stderr else ''}"
    return line


def of_machine(line: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of the machine's counters by event."""
    return {one["event"]: one["value"] for one in line["counters"]}


def of_row(line: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return the values of a row's counters by event."""
    row = next(row for row in line["rows"] if row["name"] == name)
    return {one["event"]: one["value"] for one in row["counters"]}


def total(found: list[Line], event: str) -> float:
    """Return the sum of an event of the machine over intervals."""
    return float(sum(of_machine(line)[event] for line in found if "interval" in line))


def counts(pid: int) -> bool:
    """Return whether a Gnomon has opened counters and waits, which it does only once they count."""
    proc = Path(f"/proc/{pid}")
    try:
        opened = any("perf_event" in str(one.readlink()) for one in (proc / "fd").iterdir())
        return opened and (proc / "stat").read_text().rpartition(")")[2].split()[0] == "S"
    except OSError:  # one that was closed meanwhile
        return False


def until(true: Any, seconds: float = _SECONDS) -> None:
    """Return when a condition holds; fail if it does not in time."""
    end = time.monotonic() + seconds
    while not true():
        if time.monotonic() > end:
            pytest.fail(f"it did not come to be within {seconds} s")
        time.sleep(0.02)
