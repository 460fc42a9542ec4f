"""Programs with libhpm: compiled, run in folders of their own, and what they wrote."""

from __future__ import annotations

import csv
import os
import subprocess
import sys
from pathlib import Path

import pytest
from building import needs

import gnomon

ROOT = Path(__file__).parents[2]
PACKAGE = Path(gnomon.__path__[0])
GNOMON = Path(sys.executable).parent / "gnomon"

# Programs that count what they are told to, in a folder of their own.
CLEAN = {
    name: value
    for name, value in os.environ.items()
    if not name.startswith(("HPM_", "GNOMON_", "OMPI_", "PMI_"))
}


def run(
    *command: str | Path, folder: Path, status: object = 0, **more: str
) -> subprocess.CompletedProcess[str]:
    """Run a command in a folder; fail with what it said if it ends otherwise than expected."""
    needs(str(command[0]))
    done = subprocess.run(
        command,
        cwd=folder,
        env=CLEAN | more,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != status:
        pytest.fail(f"{command[0]} returned {done.returncode}:\n{done.stdout}\n{done.stderr}")
    return done


def options(*wanted: str, library: str = "hpm") -> list[str]:
    """Return what `gnomon config` gives a compiler."""
    from gnomon.cli.commands.config import _words, parser

    return _words(PACKAGE, parser().parse_args([*wanted, library]))


def compile_c(folder: Path, text: str, *more: str, name: str = "prog") -> Path:
    """Return the program made of a C source."""
    (folder / f"{name}.c").write_text(text)
    run("cc", "-O1", "-Wall", "-Werror", "-D_GNU_SOURCE", f"{name}.c", "-o", name, *more,
        *options("--cflags", "--libs"), folder=folder)  # fmt: skip
    return folder / name


def rows(file: Path) -> list[dict[str, str]]:
    """Return the rows of a .csv file."""
    with file.open(newline="") as lines:
        return list(csv.DictReader(lines))


def value(
    table: list[dict[str, str]], section: int, name: str, *, exclusive: bool = False
) -> float:
    """Return the one value of a section, NaN where it is not available."""
    found = [
        row["value"]
        for row in table
        if row["section"] == str(section)
        and row["name"] == name
        and row["exclusive"] == ("yes" if exclusive else "no")
    ]
    assert len(found) == 1, (section, name, exclusive, found)
    return float(found[0] or "nan")


HELLO = """
#include "libhpm.h"
int main(void)
{
	hpmInit(0, "hello");
	hpmTstart(1, "section");
	hpmTstop(1);
	hpmTerminate(0);
	return hpm_error_count;
}
"""
