"""Programs with all kinds of I/O: what they say of themselves is what strace sees of them."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from corpus import (
    FORTIFIED_PROGRAMS,
    NOT_HERE,
    PROGRAMS,
    Program,
    Row,
    left_in,
    table,
)
from counted_io import (
    counted,
    differences_from_strace,
    differences_from_table,
    differences_with_gnomon,
    run_in,
)
from strace_counts import Counts, Tally, Traced, below, traced

# What the C library asks of the kernel for its streams.
WITHIN_STDIO = {"open", "close", "read", "write", "lseek", "fstat", "fcntl", "dup3"}
WRITERS = {"fwrite", "fputs", "fputc", "putc", "fprintf", "vfprintf", "dprintf", "vdprintf"}
WRITING = {"write", "writev", "pwrite", "pwritev", "pwritev2", "sendfile", "copy_file_range"}
KINDS = pytest.mark.parametrize("program", PROGRAMS, ids=str)


def differences(rows: list[Row], counts: Counts) -> list[str]:
    """Return where a program's table and strace disagree."""
    of_stdio = {row.path for row in rows if row.layer == "stdio"}
    wanted = {(row.path, row.name): row for row in rows if row.layer != "stdio"}
    problems = []
    for key, row in wanted.items():
        seen = counts.get(key, Tally())
        is_shared = row.path in of_stdio and row.name in WITHIN_STDIO
        has_bytes = row.bytes_asked in (None, seen.bytes_asked) and row.bytes in (None, seen.bytes)
        if seen.calls < row.calls if is_shared else seen.calls != row.calls or not has_bytes:
            problems.append(f"{row}: strace saw {seen}")
    for path, name in counts:
        within_stdio = path in of_stdio and name in WITHIN_STDIO
        if (path, name) not in wanted and not within_stdio:
            problems.append(f"{path}: strace saw {name} {counts[path, name]}")
    for path in of_stdio:
        told = sum(row.bytes or 0 for row in rows if row.path == path and row.name in WRITERS)
        written = counts.get((path, "write"), Tally()).bytes
        # What is never flushed is lost.
        if told != written and path != "lost":
            problems.append(f"{path}: strace saw {written} bytes written, not {told}")
    return problems


def traced_counts(
    program: Program, command: list[str | Path], tmp_path: Path
) -> tuple[Traced, list[Row], Counts]:
    """Run a program under strace; return what it left, its own table, and strace's counts."""
    folder = tmp_path / "traced"
    folder.mkdir()
    seen = traced(command, folder, tmp_path / "log")
    if seen.status == NOT_HERE:
        pytest.skip(f"{program}: the file system of {tmp_path} cannot do this: set TMPDIR")
    rows = table(command, tmp_path) if program.has_table else []
    return seen, rows, below(seen.counts, folder, {row.path for row in rows})


@KINDS
def test_a_program_says_what_strace_sees(
    program: Program, compiled: Callable[..., Path], tmp_path: Path
) -> None:
    command = program.command(compiled)
    seen, rows, counts = traced_counts(program, command, tmp_path)
    assert seen.status == program.status, seen.out
    assert seen.out.startswith(f"{Path(program.source).stem}:")
    if program.has_table:
        assert rows
        assert differences(rows, counts) == []
        return
    # Whatever runtimes do: no file is there that was not opened, and all bytes came by calls.
    for path, left in left_in(tmp_path / "traced").items():
        if isinstance(left.content, bytes):
            assert any(at == path and name == "open" for at, name in counts) or "/" in path
            written = sum(
                tally.bytes
                for (at, name), tally in counts.items()
                if at == path and name in WRITING
            )
            assert written >= len(left.content) or (path, "mmap") in counts, path


@KINDS
def test_gnomon_counts_what_the_program_calls(
    program: Program, compiled: Callable[..., Path], tmp_path: Path
) -> None:
    command = program.command(compiled)
    _, rows, counts = traced_counts(program, command, tmp_path)
    assert differences_with_gnomon(program, command, rows, counts, tmp_path) == []


@KINDS
def test_a_program_says_and_leaves_the_same_each_time(
    program: Program, compiled: Callable[..., Path], tmp_path: Path
) -> None:
    command = program.command(compiled)
    first, second = (run_in(tmp_path / name, *command) for name in ("first", "second"))
    assert first.status in (program.status, NOT_HERE)
    assert first == second


@pytest.mark.parametrize("program", FORTIFIED_PROGRAMS, ids=str)
def test_a_fortified_program_calls_what_checks_sizes(
    program: Program, compiled: Callable[..., Path]
) -> None:
    command = program.command(compiled)
    symbols = subprocess.run(["nm", "-D", command[0]], capture_output=True, text=True, check=True)
    checked = set(re.findall(r"__(\w+?)(?:_chk|_2)\b", symbols.stdout))
    if program.source == "fortified.c":
        assert checked >= {"open", "open64", "openat", "read", "pread", "pread64", "readlink"}
    else:
        assert checked >= {"fprintf", "vfprintf", "fgets", "fread", "dprintf", "vdprintf"}


def test_lines_are_read_by_each_of_the_functions(compiled: Callable[..., Path]) -> None:
    """The header's own getline, which is another function, would otherwise be the only one."""
    command = Program("lines.c").command(compiled)
    symbols = subprocess.run(["nm", "-D", command[0]], capture_output=True, text=True, check=True)
    names = {line.split()[-1].partition("@")[0] for line in symbols.stdout.splitlines()}
    assert names >= {"getline", "getdelim", "__getdelim", "getc", "fgetc", "fwrite"}


# --- what compares is itself tried ----------------------------------------------------------------

ROWS = [Row("data", "read", "posix", 2, 20, 15), Row("text", "fgets", "stdio", 3, None, 12)]
DOCUMENT = {
    "files": [
        {
            "path": "/a/data",
            "operations": [
                {"name": "read", "layer": "posix", "calls": 2, "bytes_asked": 20, "bytes": 15,
                 "seconds": 0.5},
            ],
        },
        {
            "path": "/a/text",
            "operations": [
                {"name": "fgets", "layer": "stdio", "calls": 3, "bytes_asked": 96, "bytes": 12,
                 "seconds": 0.5},
            ],
        },
        {
            "path": "/elsewhere/data",
            "operations": [
                {"name": "read", "layer": "posix", "calls": 9, "bytes_asked": 9, "bytes": 9,
                 "seconds": 0.5},
            ],
        },
    ]
}  # fmt: skip


def test_counts_that_are_as_expected_do_not_differ() -> None:
    sums = counted(DOCUMENT, Path("/a"))
    assert differences_from_table(ROWS, sums) == []
    assert differences(ROWS[:1], {("data", "read"): Tally(2, 20, 15)}) == []
    assert len(differences(ROWS[:1], {("data", "read"): Tally(2, 20, 14)})) == 1
    assert len(differences(ROWS[:1], {("data", "read"): Tally(3, 20, 15)})) == 1
    assert len(differences([], {("data", "read"): Tally(2, 20, 15)})) == 1


@pytest.mark.parametrize(
    ("key", "tally"),
    [
        (("data", "posix", "read"), Tally(3, 20, 15)),
        (("data", "posix", "read"), Tally(2, 21, 15)),
        (("data", "posix", "read"), Tally(2, 20, 14)),
        (("text", "stdio", "fgets"), Tally(3, 96, 11)),
        # The C library's own call for its stream.
        (("text", "posix", "read"), Tally(1, 4096, 12)),
        (("other", "posix", "open"), Tally(1)),
    ],
)
def test_a_count_too_many_or_too_few_is_found(key: tuple[str, str, str], tally: Tally) -> None:
    sums = counted(DOCUMENT, Path("/a")) | {key: tally}
    assert len(differences_from_table(ROWS, sums)) == 1


def test_counts_of_runtimes_are_held_against_strace() -> None:
    sums = {("text", "stdio", "fopen"): Tally(1), ("text", "posix", "write"): Tally(1, 5, 5)}
    counts = {("text", "open"): Tally(1), ("text", "write"): Tally(1, 5, 5)}
    assert differences_from_strace(counts, sums) == []
    assert len(differences_from_strace(counts | {("text", "close"): Tally(1)}, sums)) == 1
    assert len(differences_from_strace({("text", "open"): Tally(1)}, sums)) == 1
