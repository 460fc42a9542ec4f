"""Stacks that samples were made of, kept, and unwound again by gdb: frame by frame the same."""

from __future__ import annotations

import platform
import re
import struct
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from commands import gnomon, run
from core_file import write_core

from gnomon.errors import FormatError
from gnomon.sampling.kept_stacks import (
    BY_CODE,
    BY_FRAME_POINTER,
    GUESSED,
    SIGNAL,
    KeptStack,
    Mapping,
    read_kept_stacks,
)
from gnomon.store import run_directory

Compiled = Callable[..., Path]

STACKS = 40
WITHOUT_RULES = GUESSED | SIGNAL | BY_CODE | BY_FRAME_POINTER
# From tests/programs.
SCRIPT = Path(__file__).parents[1] / "programs" / "script.js"
DEEP = "../../benchmarks/native/deep_calls.cpp"
_SQL = (
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<400000) "
    "SELECT count(DISTINCT printf('%d-%s', i % 1009, hex(i*i))) FROM n;"
)
_PYTHON = """
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)
print(sorted((fib(i % 21) for i in range(3000)), key=lambda x: -x)[0])
"""
# Its own BLAS has no rules: what is in it is in test_blas_stacks.py.
_NUMPY = """
import numpy
random = numpy.random.default_rng(1)
for _ in range(40):
    a = numpy.sort(random.standard_normal(200_000))
    numpy.fft.rfft(a)
    numpy.exp(a[::2]).astype("f4").sum()
    numpy.einsum("i,i->", a, a)
    numpy.unique(a.astype(int))
"""
# One gdb for all cores of a process: what it has read of the files stays.
_SCRIPT = """
import gdb
for number in range({n}):
    gdb.execute("core-file {folder}/%d.core" % number)
    print("core %d" % number)
    try:
        frame = gdb.newest_frame()
        while frame:
            # A function that jumped to another one has no frame; gdb infers it from call sites.
            if frame.type() not in (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME):
                print("pc %x" % frame.pc())
            frame = frame.older()
    except gdb.error as error:
        print("end", error)
"""


def kept(folder: Path, *words: str | Path) -> tuple[KeptStack, ...]:
    """Return the stacks that are kept of a command."""
    done = gnomon("record", "--name", "r", *words, cwd=folder)
    assert done.returncode == 0, done.stderr
    (file,) = run_directory.find(str(folder / "r")).kept("samples")
    return read_kept_stacks(file)


def bias(mapping: Mapping) -> int:
    """Return how far from the addresses that it was linked to a file is loaded."""
    with Path(mapping.path).open("rb") as file:
        header = file.read(64)
        offset, size, n = struct.unpack_from("<Q", header, 32)[0], *struct.unpack_from(
            "<HH", header, 54
        )  # fmt: skip
        file.seek(offset)
        programs = file.read(size * n)
    for number in range(n):
        kind, _, at, address, _, length = struct.unpack_from("<IIQQQQ", programs, number * size)
        if kind == 1 and at <= mapping.file_offset + mapping.length and (
            mapping.file_offset < at + length
        ):  # fmt: skip
            return mapping.start - mapping.file_offset - int(address - at)
    raise AssertionError(f"{mapping.path}: no segment is at {mapping.file_offset}")


def frames_of_gdb(folder: Path, stacks: Iterable[KeptStack]) -> list[list[int]]:
    """Return the program counters that gdb finds in each of the stacks of one process."""
    every = list(stacks)
    for number, stack in enumerate(every):
        write_core(folder / f"{number}.core", stack)
    script = folder / "frames.py"
    script.write_text(_SCRIPT.format(n=len(every), folder=folder))
    # Where it was loaded: node maps its builtins a second time, above that.
    files: dict[str, Mapping] = {}
    for one in (one for stack in every for one in stack.mappings if one.path[:1] == "/"):
        files.setdefault(one.path, one)
    loaded = [f"add-symbol-file {path} -o {bias(one)}" for path, one in files.items()]
    done = run("gdb", "-nx", "-batch", "-iex", "set debuginfod enabled off",
               "-ex", "set confirm off", "-ex", "set auto-solib-add off",
               "-ex", "set trust-readonly-sections on", "-ex", "set backtrace past-main on",
               "-ex", "set backtrace past-entry on", "-ex", "set backtrace limit 5000",
               *(word for command in loaded for word in ("-ex", command)), "-x", script,
               timeout=120)  # fmt: skip
    frames: list[list[int]] = []
    for line in done.stdout.splitlines():
        if re.match(r"core \d+$", line):
            frames.append([])
        elif found := re.match(r"pc ([0-9a-f]+)$", line):
            frames[-1].append(int(found[1], 16))
    assert len(frames) == len(every), done.stdout + done.stderr
    return frames


def comparable(stack: KeptStack) -> int:
    """Return of how many frames both unwinders have the rules, from the innermost on."""
    code = [one for one in stack.mappings if one.path.startswith("/")]
    for number, (address, flags) in enumerate(zip(stack.frames, stack.flags, strict=True)):
        is_in_file = any(one.start <= address < one.start + one.length for one in code)
        if not is_in_file or flags & WITHOUT_RULES:
            return number
    return len(stack.frames)


@pytest.mark.skipif(platform.machine() != "x86_64", reason="core files are those of x86-64")
@pytest.mark.parametrize(
    "program",
    ["deep C++", *(pytest.param(name, marks=pytest.mark.long) for name in
                   ("xz", "sqlite3", "python3", "node", "NumPy"))],
)  # fmt: skip
def test_stacks_are_those_that_gdb_finds(tmp_path: Path, compiled: Compiled, program: str) -> None:
    (tmp_path / "text").write_text("".join(f"{i * i % 9973} {i}\n" for i in range(120_000)))
    (tmp_path / "fib.py").write_text(_PYTHON)
    (tmp_path / "arrays.py").write_text(_NUMPY)
    commands: dict[str, list[str | Path]] = {
        "deep C++": [compiled("g++", DEEP, "-O2", "-fomit-frame-pointer"), "20000"],
        "xz": ["xz", "-k", "-6", tmp_path / "text"],
        "sqlite3": ["sqlite3", ":memory:", _SQL],
        "python3": ["/usr/bin/python3", tmp_path / "fib.py"],
        "node": ["node", SCRIPT, "1"],
        "NumPy": [sys.executable, tmp_path / "arrays.py"],
    }
    # The interpreter's own frames are the processor's, whoever reads Python's.
    stacks = kept(tmp_path, "--keep-stacks", "12", "--stack", "63", "--", *commands[program])
    assert len(stacks) > STACKS
    chosen = stacks[:: len(stacks) // STACKS][:STACKS]
    # A later program of the process has other addresses than the one before it.
    last = chosen[-1].mappings
    chosen = tuple(stack for stack in chosen if stack.mappings == last)
    assert len(chosen) > STACKS / 2
    n_compared = n_whole = n_with_rules = 0
    for stack, expected in zip(chosen, frames_of_gdb(tmp_path, chosen), strict=True):
        n = min(comparable(stack), len(expected))
        assert [hex(pc) for pc in stack.frames[:n]] == [hex(pc) for pc in expected[:n]]
        n_compared += n
        n_with_rules += comparable(stack) == len(stack.frames)
        n_whole += n == len(stack.frames) == len(expected)
    print(f"{program}: {len(chosen)} stacks, {n_compared} frames as gdb has them, {n_whole} whole")
    assert n_compared > 3 * len(chosen)
    # Most stacks of node have generated code and builtins without rules, of which gdb knows less.
    assert program == "node" or n_with_rules > 0.9 * len(chosen)
    assert n_whole >= 0.8 * n_with_rules


# --- the option -----------------------------------------------------------------------------------


def test_only_what_is_asked_for_is_kept(tmp_path: Path, compiled: Compiled) -> None:
    shares = compiled("gcc", "shares.c", "-O2", "-fomit-frame-pointer", "-pthread")
    done = gnomon("record", "--name", "r", "--keep-stacks", "1", "--", shares, "12000",
                  cwd=tmp_path)  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = run_directory.find(str(tmp_path / "r"))
    (file,) = found.kept("samples")
    assert file.name.endswith(".stacks.gnrec")
    assert file.stat().st_size < 3 << 20
    n = len(read_kept_stacks(file))
    assert n > 10
    notes = [note for note in found.head["warnings"] if "are kept" in note]
    assert notes
    assert f"registers and stacks of {n:,} of " in notes[0]
    done = gnomon("record", "--name", "s", "--", shares, "1000", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert not run_directory.find(str(tmp_path / "s")).kept("samples")


@pytest.mark.parametrize("size", ["0", "-1", "x", "200000"])
def test_sizes_that_make_no_sense(tmp_path: Path, size: str) -> None:
    done = gnomon("record", "--keep-stacks", size, "--", "true", cwd=tmp_path)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert not list(tmp_path.iterdir())


def test_damaged_files_are_refused(tmp_path: Path, compiled: Compiled) -> None:
    shares = compiled("gcc", "shares.c", "-O2", "-fomit-frame-pointer", "-pthread")
    done = gnomon("record", "--name", "r", "--keep-stacks", "1", "--", shares, "2000", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (file,) = run_directory.find(str(tmp_path / "r")).kept("samples")
    whole = file.read_bytes()
    n = len(read_kept_stacks(file))
    broken = tmp_path / "broken.gnrec"
    n_refused = n_read = 0
    # Its header is refused if it is cut; of blocks that are cut off the others are read.
    for size in range(0, min(len(whole), 60_000), 4099):
        broken.write_bytes(whole[:size])
        try:
            stacks = read_kept_stacks(broken)
        except FormatError:
            n_refused += 1
        else:
            n_read += 1
            assert len(stacks) <= n
    assert n_refused
    (samples,) = (tmp_path / "r.gnomon").glob("samples.parquet")
    with pytest.raises(FormatError):
        read_kept_stacks(samples)
