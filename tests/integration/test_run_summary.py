"""The tables of the summary of `gnomon run`: each value stands below its heading."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from commands import gnomon
from hpm_programs import run as run_program
from run_programs import EXAMPLES, flags


@pytest.mark.parametrize("columns", [80, 100])
def test_values_of_regions_stand_below_their_headings(tmp_path: Path, columns: int) -> None:
    """Whatever the title says of ranks and threads, in 80 columns and more."""
    program = tmp_path / "relax"
    run_program("cc", "-O2", "-g", "-fopenmp", "-o", str(program),
                str(EXAMPLES / "hpm-c" / "relax.c"), *flags(), "-lm", folder=tmp_path)  # fmt: skip
    environment = os.environ | {"OMP_NUM_THREADS": "2", "COLUMNS": str(columns)}
    done = gnomon("run", "--name", "r", "--", program, "100", "3", cwd=tmp_path, env=environment)
    lines = done.stderr.splitlines()
    assert max(map(len, lines)) <= columns
    (heads,) = (line for line in lines if line.endswith(" exclusive  inclusive     calls"))
    (row,) = (line for line in lines if " one thread's share of a sweep " in line)
    assert re.search(r"\d +relax\.c:\d+$", row)
    assert row.rindex("  relax.c") == len(heads)


def test_values_of_functions_stand_below_their_headings(tmp_path: Path) -> None:
    environment = os.environ | {"COLUMNS": "80"}
    done = gnomon("run", "--with", "emulated", "--", "true", cwd=tmp_path, env=environment)
    lines = done.stderr.splitlines()
    at = next(at for at, line in enumerate(lines) if "top functions" in line)
    assert lines[at].endswith(" of total     exclusive")
    row = lines[at + 1] + " "
    assert row[len(lines[at]) - 1].isdigit()
    assert row[len(lines[at])] == " "
