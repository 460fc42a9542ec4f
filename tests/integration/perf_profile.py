"""What `perf record` finds in a program: samples of user code by module and unwind entry.

An oracle for Gnomon's own samples that shares nothing with them but the kernel: perf's recorder and
its script, and readelf's list of unwind entries.
"""

from __future__ import annotations

import re
import subprocess
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

_MAPPING = re.compile(
    r"\s*(-?\d+) +[\d.]+: PERF_RECORD_MMAP2 .*: \[0x([0-9a-f]+)\(0x([0-9a-f]+)\) @ (0x[0-9a-f]+|0) "
    r".*\]: \S+ (.*)"
)
_SAMPLE = re.compile(r"\s*(-?\d+)(?:/\d+)? +[\d.]+: +([0-9a-f]+)\s*")
_LOAD = re.compile(r"\s+LOAD\s+0x([0-9a-f]+)\s+0x([0-9a-f]+)\s+0x[0-9a-f]+\s+0x([0-9a-f]+)")
_ENTRY = re.compile(r".* FDE .* pc=([0-9a-f]+)\.\.([0-9a-f]+)")

Function = tuple[str, int]
"""Base name of a module, and the address in it where the function's unwind entry begins."""


@cache
def _segments(module: str) -> tuple[tuple[int, int, int], ...]:
    """Return offset in the file, address and size of each loaded segment."""
    text = _readelf("-lW", module)
    return tuple(
        (int(match[1], 16), int(match[2], 16), int(match[3], 16))
        for match in map(_LOAD.match, text.splitlines())
        if match
    )


@cache
def _entries(module: str) -> tuple[int, ...]:
    """Return where the unwind entries of a module begin, in order."""
    text = _readelf("--debug-dump=frames-interp", module)
    starts = (_ENTRY.match(line) for line in text.splitlines())
    return tuple(sorted({int(match[1], 16) for match in starts if match}))


def _readelf(option: str, module: str) -> str:
    done = subprocess.run(
        ["readelf", option, module], capture_output=True, text=True, check=False, timeout=120
    )
    return done.stdout


def function(module: str, address: int) -> Function:
    """Return the function that an address in a module is in, 0 before the first one."""
    entries = _entries(module)
    place = bisect_right(entries, address)
    return Path(module).name, entries[place - 1] if place else 0


def functions(command: Sequence[str], folder: Path, event: str, hertz: int) -> Counter[Function]:
    """Return the samples of each function of a command, as perf takes them.

    Args:
        command: program and arguments.
        folder: for perf's file.
        event: what is sampled.
        hertz: how often.
    """
    data = folder / "perf.data"
    subprocess.run(
        ["perf", "record", "-q", "-F", str(hertz), "-e", event, "-o", data, "--", *command],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=True, timeout=120,
    )  # fmt: skip
    script = subprocess.run(
        ["perf", "script", "-i", data, "-F", "tid,time,ip", "--show-mmap-events"],
        capture_output=True, text=True, check=True, timeout=120,
    )  # fmt: skip
    return Counter(_located(script.stdout.splitlines()))


def _located(lines: Iterable[str]) -> Iterable[Function]:
    mappings: list[tuple[int, int, int, str]] = []
    for line in lines:
        if match := _MAPPING.match(line):
            start, length, offset = (int(match[group], 16) for group in (2, 3, 4))
            mappings.append((start, length, offset, match[5].strip()))
        elif match := _SAMPLE.fullmatch(line):
            yield _place(int(match[2], 16), mappings)


def _place(address: int, mappings: Sequence[tuple[int, int, int, str]]) -> Function:
    for start, length, offset, module in reversed(mappings):
        if start <= address < start + length:
            in_file = address - start + offset
            for begin, virtual, size in _segments(module) if module.startswith("/") else ():
                if begin <= in_file < begin + size:
                    return function(module, in_file - begin + virtual)
            return Path(module).name, 0
    return "", 0
