"""The I/O library is clean of errors in memory and of undefined behaviour, whatever it is in."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from building import DEBUG, built
from corpus import NOT_HERE, PROGRAMS, Program
from counted_io import Ran, run_in
from random_io import build_players, check

from gnomon.measurement.totals_file import read_totals

pytestmark = pytest.mark.long

# Leaks are the program's; signals that end it are its own.
# Without the last one it calls setrlimit, which is the library's, before that may be.
OPTIONS = (
    "detect_leaks=0:handle_segv=0:handle_sigbus=0:handle_abort=0:exitcode=99:disable_coredump=0"
)
FINDINGS = ("Sanitizer", "runtime error")


@pytest.fixture(scope="module")
def environment() -> dict[str, str]:
    """Return the variables by which a program has the library with the sanitizers."""
    folder = built(
        "sanitized-io", *DEBUG, "-DGNOMON_PYTHON=OFF", "-DSKBUILD=2", "-DGNOMON_SANITIZE=ON",
        target="gnomon-in-program-io",
    )  # fmt: skip
    command = ["cc", "-print-file-name=libasan.so"]
    sanitizer = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    return {
        "LD_PRELOAD": f"{sanitizer} {folder / 'libgnomon_io.so'}",
        "ASAN_OPTIONS": OPTIONS,
        "UBSAN_OPTIONS": "print_stacktrace=1",
    }


def run_sanitized(
    folder: Path, environment: dict[str, str], *command: str | Path
) -> tuple[Ran, str]:
    """Return what came of a program with the library, and what was said on stderr."""
    said, totals = folder.with_suffix(".err"), folder.with_suffix(".run")
    totals.mkdir()
    variables = (f"{name}={value}" for name, value in environment.items())
    under = ("env", *variables, f"GNOMON_RUN_DIR={totals}", "setarch", "-R",
             "sh", "-c", f"exec \"$@\" 2>'{said}'", "sh")  # fmt: skip
    ran = run_in(folder, *command, under=under)
    assert any(read_totals(path).sites["calls"].sum() for path in totals.iterdir())
    return ran, said.read_text(errors="replace")


@pytest.mark.parametrize(
    "program", [p for p in PROGRAMS if not p.is_static and not p.has_small_stacks], ids=str
)
def test_a_program_of_the_corpus(
    program: Program, compiled: Callable[..., Path], environment: dict[str, str], tmp_path: Path
) -> None:
    command = program.command(compiled)
    plain = run_in(tmp_path / "plain", *command)
    if plain.status == NOT_HERE:
        pytest.skip(f"{program}: the file system of {tmp_path} cannot do this: set TMPDIR")
    ran, said = run_sanitized(tmp_path / "under", environment, *command)
    assert not any(word in said for word in FINDINGS), said
    assert ran == plain


def test_random_operations(environment: dict[str, str], tmp_path: Path) -> None:
    # What a thread of several forked waits for the allocator of the sanitizers, which another one
    # may have had.
    check(tmp_path, build_players(tmp_path), range(20, 50), 2000, ("unforked",), **environment)


def test_an_error_is_found(environment: dict[str, str], tmp_path: Path) -> None:
    """What the sanitizer says of a program's error is found, so that of the library's would be."""
    source, program = tmp_path / "error.c", tmp_path / "error"
    source.write_text(
        "#include <stdlib.h>\n#include <string.h>\n#include <unistd.h>\n"
        "int main(int n, char **words)\n{\n\tchar *text = malloc(8);\n\n"
        "\t(void)words;\n\tmemset(text, 0, 1000 * n);\n\treturn (int)write(1, text, 1);\n}\n"
    )
    subprocess.run(["cc", "-O1", "-fno-builtin", "-w", "-o", program, source], check=True)
    folder = tmp_path / "run"
    folder.mkdir()
    done = subprocess.run(
        ["setarch", "-R", program],
        env=os.environ | environment | {"GNOMON_RUN_DIR": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 99
    assert any(word in done.stderr for word in FINDINGS)
