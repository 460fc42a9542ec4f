"""What the profile of MPI adds to calls, beside two floors and other profilers.

MPI_x, PMPI_x and floors take turns in one process (`native/bench_mpi.c`), with the stub and the
wrappers that `gnomon run` gives a program. Other profilers are libraries that are preloaded: their
paths, with ":" between, in GNOMON_BENCH_OPENMPI and GNOMON_BENCH_MPICH, each built with that MPI.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from statistics import median

from benchmarks.mpi_job import compile_program, output_of_job
from benchmarks.table import Grid, verdict

_MPIS = ("openmpi", "mpich")
_ROOT = Path(__file__).parents[1]
_SOURCE = _ROOT / "benchmarks" / "native" / "bench_mpi.c"
_BLOCKS = "2000"
# Nanoseconds more than PMPI_x: a call, and an operation that has a request, with its completion.
_CALL_LIMIT, _OPERATION_LIMIT = 35.0, 60.0
_LIMITS = {
    "Comm_rank": _CALL_LIMIT, "Iprobe": _CALL_LIMIT, "Test": _CALL_LIMIT,
    "Send-to-self": _CALL_LIMIT, "Irecv+Wait": _OPERATION_LIMIT, "Isend+Wait": _OPERATION_LIMIT,
    "Irecv+Test": _OPERATION_LIMIT, "Irecv+Isend+Waitall": _OPERATION_LIMIT,
}  # fmt: skip
_GNOMON, _NOTHING, _FLOOR, _FLOOR_OF_SITES = "gnomon", "none", "floor", "sites"
_FIRST_CALL = "first-call"
_MANY_RANKS, _FINALIZE_ROUNDS, _FINALIZE_LIMIT_MS = 64, 1, 1000.0


def run(rounds: int) -> Grid:
    """Return nanoseconds that are added, by MPI and what is called."""
    columns = ["PMPI_x", _FLOOR, _FLOOR_OF_SITES, _NOTHING, _GNOMON]
    rows: dict[str, dict[str, float]] = {}
    notes: list[str] = []
    for mpi in _MPIS:
        if shutil.which(f"mpicc.{mpi}") is None:
            notes.append(f"{mpi}: not here")
            continue
        with tempfile.TemporaryDirectory() as folder:
            measured = _measured(mpi, Path(folder), max(3, rounds // 4), notes)
        for name, values in measured.items():
            if name == _FIRST_CALL:
                us, plain_us = (1e-3 * values[it] for it in (_GNOMON, _NOTHING))
                notes.append(f"{mpi} {name}: {us:.0f} us of CPU time, else {plain_us:.0f} us")
                continue
            rows[f"{mpi} {name}"] = values
            columns += [it for it in values if it not in columns]
            if name in _LIMITS:
                notes.append(verdict(f"{mpi} {name}", values[_GNOMON], _LIMITS[name], "ns"))
    return Grid("mpi", "ns", columns, rows, notes)


def _measured(mpi: str, folder: Path, rounds: int, notes: list[str]) -> dict[str, dict[str, float]]:
    """Return the columns of each subject, medians of rounds in which all profilers take turns."""
    program = folder / "bench_mpi"
    compile_program(mpi, "-o", program, "-Wno-stringop-overflow", _SOURCE)
    profilers = {_NOTHING: (), _GNOMON: _stub(mpi, folder), **_rivals(mpi, notes)}
    found: dict[str, dict[str, list[float]]] = {}
    for _ in range(rounds):
        for profiler, variables in profilers.items():
            for ranks in (1, 2):
                _round(_run(mpi, ranks, variables, program, folder), profiler, found)
    finalize = {
        profiler: median(
            float(_run(mpi, _MANY_RANKS, profilers[profiler], program, folder))
            for _ in range(_FINALIZE_ROUNDS)
        )
        for profiler in (_NOTHING, _GNOMON)
    }
    what = f"{mpi} MPI_Finalize of {_MANY_RANKS} ranks, {finalize[_NOTHING]:.0f} ms, more"
    added = finalize[_GNOMON] - finalize[_NOTHING]
    notes.append(verdict(what, added, _FINALIZE_LIMIT_MS, "ms"))
    return {
        subject: {column: median(values) for column, values in columns.items()}
        for subject, columns in found.items()
    }


def _round(printed: str, profiler: str, found: dict[str, dict[str, list[float]]]) -> None:
    for line in printed.splitlines():
        name, operations, *ns = line.split()
        plain, profiled, floor, sites = (float(word) for word in ns)
        columns = found.setdefault(name, {})
        added = {
            "PMPI_x": plain,
            _FLOOR: (floor - plain) / int(operations),
            _FLOOR_OF_SITES: (sites - plain) / int(operations),
            profiler: (profiled - plain) / int(operations),
        }
        for column, value in added.items():
            columns.setdefault(column, []).append(value)


def _run(mpi: str, ranks: int, variables: tuple[str, ...], program: Path, folder: Path) -> str:
    """Return the lines that the program prints; a profiler may print others."""
    run = folder / "run"
    shutil.rmtree(run, ignore_errors=True)
    run.mkdir()
    command: list[str | Path] = ["env", *variables, f"GNOMON_RUN_DIR={run}", program, _BLOCKS]
    printed = output_of_job(folder, mpi, ranks, command, is_quiet=False)
    left = len(list(run.glob("*.mpi.totals")))
    if left != (ranks if any("GNOMON_MPI_WRAPPERS" in it for it in variables) else 0):
        raise SystemExit(f"mpi: {left} of {ranks} ranks of {mpi} left a profile")
    lines = [line for line in printed.splitlines() if line.startswith("= ")]
    return "\n".join(line.removeprefix("= ") for line in lines)


def _rivals(mpi: str, notes: list[str]) -> dict[str, tuple[str, ...]]:
    variable = f"GNOMON_BENCH_{mpi.upper()}"
    paths = [path for path in os.environ.get(variable, "").split(":") if path]
    if not paths:
        notes.append(f"other profilers of {mpi}: not here ({variable} names none)")
    return {
        Path(path).name.removeprefix("lib").partition(".")[0]: (f"LD_PRELOAD={path}",)
        for path in paths
    }


def _stub(mpi: str, folder: Path) -> tuple[str, ...]:
    """Return the variables by which a program gets the stub, and the wrappers of an MPI."""
    import gnomon.mpi
    from gnomon.mpi.header import read_header
    from gnomon.mpi.wrapper_build import (
        compile_wrappers,
        installed_parts,
        linked_library,
        wrappers_file,
    )

    compiler = f"mpicc.{mpi}"
    target = wrappers_file(folder, linked_library(compiler, folder).identity)
    compile_wrappers(read_header(compiler), installed_parts(), target, folder)
    stub = Path(gnomon.mpi.__file__).with_name("libgnomon_mpi.so")
    return f"LD_PRELOAD={stub}", f"GNOMON_MPI_WRAPPERS={folder}"
