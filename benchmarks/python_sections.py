"""What sections cost a Python program; benchmarks/sections.py runs it.

python python_sections.py ROUNDS    lines of: hpmTstart and hpmTstop, `with` a section,
    `with` a section that is looked up by its label; in ns
"""

from __future__ import annotations

import sys
import timeit
from statistics import median

from gnomon import hpm

_BATCHES = 20
_CALLS = 100
_STATEMENTS = (
    "start(1, 'thread'); stop(1)",
    "with one: pass",
    "with section('by label'): pass",
)


def main() -> None:
    """Print the lines."""
    hpm.init("python_sections")
    names = {
        "start": hpm.hpmTstart,
        "stop": hpm.hpmTstop,
        "one": hpm.section("with"),
        "section": hpm.section,
    }
    timers = [timeit.Timer(statement, globals=names) for statement in ("pass", *_STATEMENTS)]
    for _ in range(int(sys.argv[1])):
        taken: list[list[float]] = [[] for _ in timers]
        for _ in range(_BATCHES):
            for timer, batch in zip(timers, taken, strict=True):
                batch.append(1e9 * timer.timeit(_CALLS) / _CALLS)
        loop, *others = map(median, taken)
        print(*(f"{other - loop:.1f}" for other in others))
    hpm.check()


if __name__ == "__main__":
    main()
