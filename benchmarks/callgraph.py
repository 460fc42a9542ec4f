"""Reports of gmon.out files beside GNU gprof: a small program, a large one, and many ranks."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from benchmarks import profiled_program
from benchmarks.cost import Cost, cost_of, typical
from benchmarks.table import Row, Table

_GNOMON = str(Path(sys.executable).parent / "gnomon")
# Functions, arcs, files.
_SIZES = ((300, 900, 1), (5_000, 20_000, 1), (5_000, 20_000, 256))


def run(rounds: int) -> Table:
    """Return what the flat profile, call graph and index take, beside gprof and a start alone."""
    few = max(rounds // 4, 3)
    rows: list[Row] = []
    said = []
    for n_functions, n_arcs, n_files in _SIZES:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            program = profiled_program.build(folder, n_functions)
            files = profiled_program.write_files(program, folder, n_files, n_arcs)
            commands: dict[str, tuple[str | Path, ...]] = {
                "gnomon callgraph": (_GNOMON, "callgraph", "-b", program, *files),
                "  gprof": ("gprof", "-b", program, *files),
                "  floor: gnomon --version": (_GNOMON, "--version"),
            }  # fmt: skip
            costs: dict[str, list[Cost]] = {subject: [] for subject in commands}
            for _ in range(few):
                for subject, command in commands.items():
                    costs[subject].append(cost_of(*command))
            medians = {subject: typical(some) for subject, some in costs.items()}
            what = f"{n_files} file{'s' * (n_files > 1)}, {n_functions:,} functions"
            for subject, cost in medians.items():
                rows += cost.rows(f"{subject}, {what}" if subject[0] != " " else subject)
            own, gprof, floor = medians.values()
            said.append(
                f"{what}: {own.seconds / gprof.seconds:.2f} times gprof, "
                f"{own.seconds / floor.seconds:.2f} times the floor; {own.memory:.0f} MB of memory"
            )
    return Table("Call graphs of gmon.out files", "ms", rows, said)
