"""A program that was built with -pg, of as many functions as is asked for, and its gmon.out files.

The files are synthesised: they hold what a program of that size leaves, without the time it takes.
"""

from __future__ import annotations

import random
import subprocess
from pathlib import Path

import numpy as np

from gnomon.store.profile_files.gmon import function_times, gmon_sum
from gnomon.store.profile_files.gmon.gmon_file import GmonArrays, Histogram

_BATCH = 1000


def build(folder: Path, n_functions: int, *, has_debug: bool = True) -> Path:
    """Return a program of so many functions, some of them static."""
    objects = []
    for first in range(0, n_functions, _BATCH):
        source = folder / f"part{first}.c"
        source.write_text(
            "".join(
                f"{'static ' if number % 4 == 0 else ''}__attribute__((noinline, used)) int "
                f"function_{number}(int x)\n{{\n\tfor (int i = 0; i < x; i++)\n"
                f"\t\tx += i * {number + 3};\n\treturn x;\n}}\n"
                for number in range(first, min(first + _BATCH, n_functions))
            )
        )
        objects.append(source)
    main = folder / "main.c"
    main.write_text("int main(void)\n{\n\treturn 0;\n}\n")
    program = folder / f"program{'' if has_debug else '.plain'}"
    debug = ["-g"] if has_debug else []
    subprocess.run(["gcc", "-pg", "-O1", *debug, "-o", program, main, *objects], check=True)
    return program


def write_files(program: Path, folder: Path, n_files: int, n_arcs: int) -> list[Path]:
    """Return so many gmon.out files of a program, each with so many arcs, mostly downwards."""
    own = function_times.program_of(program)
    starts = [
        int(start)
        for start, name in zip(own.symbols.start, own.symbols.names, strict=True)
        if name.startswith("function_")
    ]
    low, high = int(own.symbols.start[0]), int(own.symbols.end[-1]) // 4 * 4 + 4
    chance = random.Random(1)
    pairs = [sorted(chance.sample(range(len(starts)), 2)) for _ in range(n_arcs)]
    # One of a thousand calls goes back up: cycles. Ranks of a job make the same calls.
    pairs = [pair[::-1] if chance.random() < 0.001 else pair for pair in pairs]
    files = []
    for number in range(n_files):
        bins = np.random.default_rng(number).poisson(0.3, (high - low) // 4).astype(np.uint32)
        nothing = np.zeros(0, np.uint64)
        file = GmonArrays(
            own.layout, (Histogram(low, high, 100, "seconds", "s", bins),),
            np.array([starts[caller] + 8 for caller, _ in pairs], np.uint64),
            np.array([starts[callee] for _, callee in pairs], np.uint64),
            np.array([chance.randint(1, 10_000) for _ in pairs], np.int64),
            nothing, nothing.astype(np.int64),
        )  # fmt: skip
        path = folder / f"gmon.{number}"
        path.write_bytes(gmon_sum.gmon_bytes(file))
        files.append(path)
    return files
