"""Damaged profiles of other tools: each is read, or refused with one line that names the file."""

from __future__ import annotations

import gzip
import marshal
import os
import re
import sys
import tracemalloc
from pathlib import Path
from random import Random
from typing import IO, Any

import numpy as np
import pytest
from sampled_runs import Frame, Stack, write

from gnomon.errors import RunDirectoryError
from gnomon.model.tables import Table
from gnomon.store import exports, run_directory
from gnomon.store.profile_files.callgrind import fill_callgrind, open_callgrind
from gnomon.store.profile_files.collapsed import open_collapsed, read_collapsed
from gnomon.store.profile_files.pprof import open_pprof, read_pprof
from gnomon.store.profile_files.pstats import open_pstats, read_pstats
from gnomon.store.profile_files.speedscope import open_speedscope, read_speedscope
from gnomon.store.run_head import problem_of

FORMATS = ("collapsed", "speedscope", "pprof", "callgrind", "pstats")


def read_callgrind(path: Path, file: IO[bytes]) -> tuple[dict[str, Any], list[Table]]:
    """Return the head and tables of a file, the pieces of each table joined."""
    pieces: dict[str, list[Table]] = {}
    head = fill_callgrind(
        path, file, lambda one: pieces.setdefault(one.schema.name, []).append(one)
    )
    return head, [
        Table(some[0].schema, [row for one in some for row in one.rows]) for some in pieces.values()
    ]


READ = {"collapsed": read_collapsed, "speedscope": read_speedscope, "pprof": read_pprof,
        "callgrind": read_callgrind, "pstats": read_pstats}  # fmt: skip
# Of so many damaged files one is opened as a run, which takes much longer than to read it.
AS_RUNS = 100
OPENERS = {"collapsed": open_collapsed, "speedscope": open_speedscope, "pprof": open_pprof,
           "callgrind": open_callgrind, "pstats": open_pstats}  # fmt: skip
STACKS = (
    Stack((Frame("main", 12), Frame("solve", 40)), 3, 100),
    Stack((Frame("main", 12), Frame("solve", 40), Frame("__memcpy", 0, "", "libc.so.6")), 2, 101),
    Stack((Frame("<module>", 1, "/src/app.py", "python"), Frame("f", 3, "/src/app.py", "python")),
          1, 101),
)  # fmt: skip
CALLGRIND = (Path(__file__).parents[2] / "native" / "callgrind.out").read_bytes()
_SOLVE, _MAIN = ("app.py", 3, "solve"), ("app.py", 9, "<module>")
PSTATS = {
    _MAIN: (1, 1, 0.25, 1.5, {}),
    _SOLVE: (7, 9, 1.25, 1.25, {_MAIN: (7, 7, 1.0, 1.25), _SOLVE: (2, 0, 0.25, 0.25)}),
    ("~", 0, "<built-in method time.sleep>"): (2, 2, 0.5, 0.5, {_SOLVE: 2}),
}
# Words that a reader of text may stumble over.
WORDS = (b"-1", b"NaN", b"Infinity", b"1e999", b"9" * 30, b"null", b"[]", b"{}", b'"', b";", b" ",
         b"\n", b"\0", b"\xff", b"_[k]", b"evented", b"true", b"\\ud800", b"fn=",
         b"(1)", b"0x")  # fmt: skip
NUMBERS = (0, 1, 127, 128, 1 << 31, (1 << 32) - 1, 1 << 62, (1 << 63) - 1, (1 << 64) - 1)


def profiles(folder: Path) -> dict[str, bytes]:
    """Return a file of each format, those that are compressed unpacked."""
    run = run_directory.find(str(write(folder / "whole.gnomon", STACKS, {"faults": 3.0})))
    return {
        "collapsed": "".join(exports.collapsed(run, threads=True)).encode(),
        "speedscope": "".join(exports.speedscope(run)).encode(),
        "pprof": gzip.decompress(b"".join(exports.pprof(run))),
        "callgrind": CALLGRIND,
        "pstats": marshal.dumps(PSTATS),
    }


def varint(value: int) -> bytes:
    """Return a number as a profile of pprof has it."""
    written = b""
    while value >= 0x80:
        written += bytes([value & 0x7F | 0x80])
        value >>= 7
    return written + bytes([value])


def damaged(random: Random, whole: bytes) -> bytes:
    """Return a file of which some bytes, a word or a number are others, or which ends early."""
    content = bytearray(whole)
    for _ in range(random.choice((1, 1, 2, 4))):
        at = random.randrange(len(content) + 1)
        end = min(at + random.choice((0, 1, 1, 4, 30)), len(content))
        how = random.randrange(7)
        if how == 0:
            content[at:end] = random.randbytes(end - at)
        elif how == 1:
            content[at:end] = random.choice(WORDS)
        elif how == 2:
            content[at:end] = varint(random.choice(NUMBERS))
        elif how == 3:
            content[at:end] = b""
        elif how == 4:
            begin = random.randrange(len(content) + 1)
            content[at:at] = content[begin : begin + random.choice((1, 8, 100))]
        elif how == 5:
            content[at:end] = bytes([byte ^ 1 << random.randrange(8) for byte in content[at:end]])
        else:
            del content[random.choice((at, len(content))) :]
    return bytes(content)


def refusal(path: Path, name: str) -> str:
    """Return why a damaged file is not read, "" if it is: every number then has its place."""
    try:
        with path.open("rb") as file:
            head, tables = READ[name](path, file)
    except RunDirectoryError as error:
        return str(error)
    assert not problem_of(head)
    by_name = {table.schema.name: table for table in tables}
    profile = by_name["profile"]
    assert len(profile)
    for table in tables:
        for column in table.schema.columns:
            if column.refers:
                numbers = table.numbers(column.name)
                assert -1 <= numbers.min() <= numbers.max() < len(by_name[column.refers])
    for name_of_values in ("inclusive", "exclusive"):
        values = profile.numbers(name_of_values)
        assert np.isfinite(values).all()
        assert (values >= 0).all()
    return ""


def outcomes(folder: Path, name: str, n: int, seed: int) -> tuple[int, int]:
    """Return how many of n damaged files of a format were read, and how many refused."""
    whole, random = profiles(folder)[name], Random(seed)
    path = folder / "damaged"
    n_read = 0
    for number in range(n):
        content = damaged(random, whole)
        # Compressed, the damage is in what is unpacked; now and then it is in the compression.
        if name == "pprof" and number % 3 == 0:
            content = gzip.compress(content, 1)
            content = damaged(random, content) if number % 9 == 0 else content
        path.write_bytes(content)
        reason = refusal(path, name)
        assert not reason or (reason.startswith(f"{path}: ") and reason.isprintable())
        n_read += not reason
        if not reason and number % AS_RUNS == 0:
            run = OPENERS[name](path)
            joined = (
                "SELECT COUNT(*) FROM profile JOIN locations USING (location) "
                "JOIN paths USING (path) JOIN regions USING (region) JOIN metrics USING (metric)"
            )
            assert run.query(joined) == run.query("SELECT COUNT(*) FROM profile")
    return n_read, n - n_read


@pytest.mark.parametrize("name", FORMATS)
def test_damaged_files_are_read_or_refused(name: str, tmp_path: Path) -> None:
    counted = outcomes(tmp_path, name, 1000, 3)
    # Damage is neither all that there is nor nothing.
    assert min(counted) > 60, counted


@pytest.mark.long
@pytest.mark.parametrize("name", FORMATS)
def test_very_many_damaged_files(name: str, tmp_path: Path) -> None:
    assert sum(outcomes(tmp_path, name, 150_000, 1)) == 150_000


# How a file of each format begins that is large, and ends in zeros.
STARTS = {
    "gmon.out": b"gmon\1\0\0\0" + bytes(12),
    "callgrind.out.1": CALLGRIND,
    "large.prof": marshal.dumps(PSTATS),
    "large.collapsed": b"main;solve 3\n",
    "perf.data": b"PERFILE2" + (104).to_bytes(8, "little") + bytes(88),
    "piped.data": b"PERFILE2" + (16).to_bytes(8, "little"),
    "large.speedscope.json": b'{"$schema":"https://www.speedscope.app/file-format-schema.json"',
    "large.pprof": b"\x0a\x04\x08\x01\x10\x02",
}


@pytest.mark.parametrize("name", STARTS)
def test_files_of_two_gigabytes_are_not_read_to_be_refused(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / name
    path.write_bytes(STARTS[name])
    os.truncate(path, 2 << 30)
    monkeypatch.setenv("GNOMON_PROGRAM", sys.executable)
    tracemalloc.start()
    with pytest.raises(RunDirectoryError, match=re.escape(str(path))):
        run_directory.find(str(path)).query("SELECT COUNT(*) FROM profile")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 200 << 20
