"""Sections: floor is one bare read of the group, peer PAPI's high-level regions."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from os import environ
from pathlib import Path
from statistics import median

from benchmarks.build import program
from benchmarks.table import Row, Table, verdict

_EVENTS = "task-clock,context-switches,page-faults,minor-faults"
_PAPI_EVENTS = "perf::TASK-CLOCK,perf::CONTEXT-SWITCHES,perf::PAGE-FAULTS,perf::MINOR-FAULTS"
# hpmTstart and hpmTstop together, in bare reads of their group
_LIMIT = 2.2
# Nanoseconds that Python takes above C: the functions, `with` a section, by its label
_ABOVE_C = (100, 200, 250)
_PYTHON = Path(__file__).parent / "python_sections.py"
_TURNS = 5


def run(rounds: int) -> Table:
    """Return nanoseconds for a start and a stop on 4 software events."""
    lines: list[list[float]] = []
    in_runs: list[list[float]] = []
    by_path: list[list[float]] = []
    python: list[list[float]] = []
    for _ in range(_TURNS):
        lines += _measured([program("bench_sections")], -(-rounds // _TURNS))
        in_runs += _measured([program("bench_sections")], -(-rounds // _TURNS), is_run=True)
        by_path += _measured(
            [program("bench_sections")], -(-rounds // _TURNS), is_run=True, HPM_CALL_PATHS="yes"
        )
        python += _measured([sys.executable, str(_PYTHON)], -(-rounds // _TURNS))
    bare, thread, process, papi = zip(*lines, strict=True)
    rows = [
        Row("read(2) of the group of 4 events", "floor", median(bare)),
        Row("hpmTstart and hpmTstop", "", median(thread)),
        Row("hpmStart and hpmStop", "", median(process)),
        Row("hpmTstart and hpmTstop in gnomon run", "", median(ns for _, ns, *_ in in_runs)),
        Row("the same by call path", "", median(ns for _, ns, *_ in by_path)),
    ]
    names = ("hpmTstart and hpmTstop", "with section", "with hpm.section('label')")
    in_python = [
        (f"{name} in Python", median(ns))
        for name, ns in zip(names, zip(*python, strict=True), strict=True)
    ]
    rows += [Row(name, "", ns) for name, ns in in_python]
    ratio = median(one / other for one, other in zip(thread, bare, strict=True))
    limits = [verdict("hpmTstart and hpmTstop ÷ read", ratio, _LIMIT, "×")]
    limits += [
        verdict(f"{name} above C", ns - median(thread), limit, "ns")
        for (name, ns), limit in zip(in_python, _ABOVE_C, strict=True)
    ]
    if any(papi):
        rows.append(Row("PAPI_hl_region_begin and _end", "peer", median(papi)))
    else:
        limits.append("PAPI's high-level regions: not measured, as libpapi is not installed")
    limits.append("LIKWID's markers: not measured, as LIKWID counts hardware events only")
    return Table("sections", "ns", rows, limits)


def _measured(
    bench: list[str], rounds: int, *, is_run: bool = False, **variables: str
) -> list[list[float]]:
    with tempfile.TemporaryDirectory() as folder:
        printed = subprocess.run(
            [*bench, str(rounds)],
            cwd=folder,
            env={
                **environ,
                "GNOMON_EVENTS": _EVENTS,
                "PAPI_EVENTS": _PAPI_EVENTS,
                "PAPI_REPORT": "0",
                "PAPI_OUTPUT_DIRECTORY": str(Path(folder) / "papi"),
                **({"GNOMON_RUN_DIR": folder} if is_run else {}),
                **variables,
            },
            capture_output=True,
            text=True,
            check=True,
        ).stdout
    # PAPI prints what it thinks, too.
    figures = [line for line in printed.splitlines() if line[:1].isdigit()]
    return [[float(word) for word in line.split()] for line in figures]
