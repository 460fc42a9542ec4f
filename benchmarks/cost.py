"""What a command costs: wall time, CPU time and memory."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

from benchmarks.table import Row

_SAID_BYTES = 2000


class Cost(NamedTuple):
    """Seconds and CPU seconds of a command, and its most memory in MB."""

    seconds: float
    cpu_seconds: float
    memory: float

    def rows(self, name: str) -> list[Row]:
        """Return the rows of a table in milliseconds."""
        return [
            Row(name, "", 1e3 * self.seconds),
            Row("  its CPU time", "", 1e3 * self.cpu_seconds),
        ]


def cost_of(
    *command: str | Path, folder: Path | None = None, environment: Mapping[str, str] | None = None
) -> Cost:
    """Execute a command once and return what it cost.

    Raises:
        RuntimeError: it failed; with the end of what it said.
    """
    with tempfile.TemporaryFile() as out:
        begin = time.perf_counter()
        child = subprocess.Popen(command, cwd=folder, stdout=out, stderr=out, env=environment)
        _, status, used = os.wait4(child.pid, 0)
        seconds = time.perf_counter() - begin
        child.returncode = status
        if status:
            out.seek(0)
            said = out.read()[-_SAID_BYTES:].decode(errors="replace")
            words = " ".join(map(str, command))
            raise RuntimeError(f"{words}: status {status}: {said}")
    return Cost(seconds, used.ru_utime + used.ru_stime, used.ru_maxrss / 1e3)


def typical(costs: Sequence[Cost]) -> Cost:
    """Return the medians of times, and the most memory."""
    return Cost(
        median(one.seconds for one in costs),
        median(one.cpu_seconds for one in costs),
        max(one.memory for one in costs),
    )
