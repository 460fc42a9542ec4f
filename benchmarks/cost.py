"""What a command costs: wall time, CPU time and memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

from benchmarks.table import Row

_SAID_BYTES = 2000
# The kernel's figure of a process's most memory begins with that of the process that started it: a
# small one, not this one.
_START = """
import json, os, sys, time
begin = time.perf_counter()
pid = os.posix_spawnp(sys.argv[2], sys.argv[2:], os.environ)
_, status, used = os.wait4(pid, 0)
seconds = time.perf_counter() - begin
figures = [status, seconds, used.ru_utime + used.ru_stime, used.ru_maxrss / 1e3]
os.write(int(sys.argv[1]), json.dumps(figures).encode())
"""


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
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as figures:
        number = figures.fileno()
        subprocess.run(
            [sys.executable, "-I", "-S", "-c", _START, str(number), *command],
            cwd=folder, stdout=out, stderr=out, env=environment, pass_fds=[number], check=False,
        )  # fmt: skip
        status, seconds, cpu_seconds, memory = (
            json.loads(text) if (text := os.pread(number, 4096, 0)) else (-1, 0.0, 0.0, 0.0)
        )
        if status:
            out.seek(0)
            said = out.read()[-_SAID_BYTES:].decode(errors="replace")
            words = " ".join(map(str, command))
            raise RuntimeError(f"{words}: status {status}: {said}")
    return Cost(seconds, cpu_seconds, memory)


def typical(costs: Sequence[Cost]) -> Cost:
    """Return the medians of times, and the most memory."""
    return Cost(
        median(one.seconds for one in costs),
        median(one.cpu_seconds for one in costs),
        max(one.memory for one in costs),
    )
