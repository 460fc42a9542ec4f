"""A C program of many functions that call each other, so that samples have many addresses."""

from __future__ import annotations

import subprocess
from pathlib import Path
from random import Random

_FUNCTIONS, _LOOPS, _CALLEES, _SEED = 300, 6, 3, 5
_MAIN = """
int main(int argc, char **argv)
{
	unsigned long x = 1, n = argc > 1 ? strtoul(argv[1], NULL, 10) : 1;
	struct timespec now;

	for (unsigned long i = 0; i < n; i++)
		x ^= i % 2 ? f0(x + i, 12) : f1(x + i, 11);
	sink = x;
	clock_gettime(CLOCK_MONOTONIC, &now);
	printf("%lld\\n", now.tv_sec * 1000000000ll + now.tv_nsec);
	return 0;
}
"""


def build(program: Path) -> None:
    """Compile it: `PROGRAM N` calls N times, and prints CLOCK_MONOTONIC at its end, in ns."""
    random = Random(_SEED)
    lines = ["#include <stdio.h>", "#include <stdlib.h>", "#include <time.h>",
             "volatile unsigned long sink;"]  # fmt: skip
    names = [f"f{number}" for number in range(_FUNCTIONS)]
    lines += [f"unsigned long {name}(unsigned long x, int depth);" for name in names]
    for name in names:
        lines.append(f"__attribute__((noinline)) unsigned long {name}(unsigned long x, int depth)")
        lines.append("{")
        for _ in range(_LOOPS):
            rounds, factor, shift = random.randint(3, 40), random.randrange(3, 99_999, 2), 7
            lines.append(f"for (int i = 0; i < {rounds}; i++) x = x * {factor}ul + (x >> {shift});")
        lines.append("if (depth <= 0) return x;")
        lines.append(f"switch (x % {_CALLEES}) {{")
        lines += [
            f"{f'case {at}' if at else 'default'}: x += {callee}(x, depth - 1); break;"
            for at, callee in enumerate(random.sample(names, _CALLEES))
        ]
        lines.append("}\nreturn x + sink;\n}")
    source = program.with_suffix(".c")
    source.write_text("\n".join(lines) + _MAIN)
    subprocess.run(["cc", "-g", "-O1", "-o", program, source], check=True)
