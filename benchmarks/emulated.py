"""The emulated PMU: CPU time beside the bare Valgrind command (peer) and the program (floor)."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from benchmarks.table import Row, Table, interleaved, verdict

_GNOMON = [str(Path(sys.executable).parent / "gnomon"), "count", "--pmu", "emulated"]
_LIMIT = 1.1
_PIPELINE = "for i in 1 2 3 4 5 6 7 8; do seq 500 | sort -r | head -2; (:); done"


def run(rounds: int) -> Table:
    """Return CPU times of a long, a short and a forking program: bare, Valgrind's and ours."""
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "data"
        data.write_bytes(b"".join(b"%d\n" % (at * at % 10007) for at in range(60_000)))
        programs = {
            "xz": ["xz", "-k", "-c", "-6", str(data)],
            "true": ["true"],
            "pipelines": ["sh", "-c", _PIPELINE],
        }
        valgrind = [
            "valgrind", "--tool=cachegrind", "--cache-sim=yes", "--branch-sim=yes",
            "--trace-children=yes", f"--cachegrind-out-file={folder}/counts.%p",
            f"--log-file={folder}/log.%p",
        ]  # fmt: skip
        ours = [*_GNOMON, "-n", "-o", f"{folder}/report", "--"]
        medians = interleaved(
            max(3, rounds // 6),
            {
                f"{name}: {how}": partial(_cpu_ms, [*words, *program])
                for name, program in programs.items()
                for how, words in (("native", []), ("valgrind", valgrind), ("gnomon", ours))
            },
        )
    rows = [
        Row(name, {"xz: native": "floor", "xz: valgrind": "peer"}.get(name, ""), value)
        for name, value in medians.items()
    ]
    start = medians["true: gnomon"] - medians["true: valgrind"]
    ratio = (medians["xz: gnomon"] - start) / medians["xz: valgrind"]
    forks = (medians["pipelines: gnomon"] - start) / medians["pipelines: valgrind"]
    return Table(
        "emulated",
        "ms CPU",
        rows,
        [
            f"start-up (true, above Valgrind's): {start:.0f} ms CPU",
            verdict("xz, less start-up, ÷ Valgrind", ratio, _LIMIT, "times"),
            f"pipelines (32 forks, 24 of them execute), less start-up, ÷ Valgrind: {forks:.2f}",
        ],
    )


def _cpu_ms(command: Sequence[str]) -> float:
    """Run a command, its output thrown away, and return its and its children's CPU time in ms."""
    started = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL
    )
    _, status, usage = os.wait4(started.pid, 0)
    started.returncode = os.waitstatus_to_exitcode(status)
    if started.returncode:
        raise RuntimeError(f"{command[0]} ended with status {started.returncode}")
    return 1e3 * (usage.ru_utime + usage.ru_stime)
