"""Runs of programs with MPI by `gnomon mpi`, and what stands in them of calls and bytes."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from commands import GNOMON
from mpi import OPEN_MPI, Mpi, environment

from gnomon.store import run_directory
from gnomon.store.run import Run

_SUMS = """
    SELECT r.name, m.name, sum(v.inclusive), sum(v.calls)
    FROM profile v JOIN metrics m USING (metric) JOIN paths p USING (path)
    JOIN regions r ON r.region = p.region WHERE r.kind = 'mpi' GROUP BY ALL
"""


class MeasuredJob(NamedTuple):
    """A job under `gnomon mpi`.

    Attributes:
        status: of the launcher.
        out: what the ranks printed.
        err: standard error, the summary included.
        run: the run that was made.
        calls: by routine, over all ranks.
        sent: bytes, likewise.
        received: bytes, likewise.
    """

    status: int
    out: str
    err: str
    run: Run
    calls: dict[str, int]
    sent: dict[str, int]
    received: dict[str, int]


def measured(
    mpi: Mpi, ranks: int, *command: str | Path, folder: Path,
    variables: Mapping[str, str] | None = None,
) -> MeasuredJob:  # fmt: skip
    """Run a command as `ranks` tasks under `gnomon mpi`, which makes r.gnomon in a folder."""
    launcher = [mpi.command("mpirun"), *(["--oversubscribe"] if mpi is OPEN_MPI else [])]
    done = subprocess.run(
        [GNOMON, "mpi", "--name", "r", "--", *launcher, "-n", str(ranks), *map(str, command)],
        cwd=folder,
        env=environment(mpi) | dict(variables or {}),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (folder / "r.gnomon").is_dir(), done.stderr
    run = run_directory.find(str(folder / "r.gnomon"))
    sums: dict[str, dict[str, int]] = {"MPI bytes sent": {}, "MPI bytes received": {}}
    calls: dict[str, int] = {}
    for routine, metric, value, n_calls in run.query(_SUMS):
        if metric == "MPI time":
            calls[routine] = int(n_calls)
        elif metric in sums:
            sums[metric][routine] = int(value)
    return MeasuredJob(done.returncode, done.stdout, done.stderr, run, calls, *sums.values())
