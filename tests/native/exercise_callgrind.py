"""Reads damaged files of callgrind by gnomon._core.Callgrind; test_extension.py runs it."""

from __future__ import annotations

import sys
from pathlib import Path
from random import Random

from exercise_steps import check_leaks, run

from gnomon import _core

WHOLE = Path(__file__).with_name("callgrind.out").read_bytes() + b"totals: 40 7\n"
WORDS = (b"-1", b"9" * 30, b"0x", b"(1)", b"(2)'(1)", b"\n", b"\0", b"fn=", b"*", b"+", b"calls=",
         b"events: A B C D E F G H\n")  # fmt: skip


def damaged(random: Random) -> bytes:
    content = bytearray(WHOLE)
    for _ in range(random.choice((1, 1, 2, 5))):
        begin = random.randrange(len(content) + 1)
        end = min(begin + random.choice((0, 1, 4, 40)), len(content))
        content[begin:end] = random.choice((random.choice(WORDS), random.randbytes(end - begin)))
    return bytes(content)


def read(content: bytes) -> bool:
    """Read a file to its end, ask for all that is in it, and return whether it is whole."""
    scan = _core.Callgrind(content, 1000)
    try:
        while scan.scan(64):
            scan.samples()
    except ValueError:
        return False
    finally:
        scan.samples()
        for ask in (scan.parts, scan.headers, scan.events, scan.negative, scan.places, scan.texts,
                    scan.functions, scan.lines):  # fmt: skip
            ask()
        for take in (scan.costs, scan.inclusive):
            begin = 0
            while True:
                _, end = take(begin, 1 << 10)
                if end == begin:
                    break
                begin = end
        scan.arcs(0, 1 << 20)
    return True


def whole_file() -> None:
    assert read(WHOLE)
    for size in range(len(WHOLE)):
        read(WHOLE[:size])


def damaged_files() -> None:
    random = Random(3)
    outcomes = [read(damaged(random)) for _ in range(5000)]
    assert 500 < sum(outcomes) < 4500, sum(outcomes)


def nothing_leaks() -> None:
    random = Random(4)
    contents = [damaged(random) for _ in range(50)]

    def all_of_them() -> None:
        for content in contents:
            read(content)

    all_of_them()
    check_leaks(all_of_them, 20, __file__)


if __name__ == "__main__":
    sys.exit(run(whole_file, damaged_files, nothing_leaks))
