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


def test_a_narrow_terminal(tmp_path: Path) -> None:
    """At 60 columns the summary, the list of runs and lines without sources fit, too."""
    narrow = {"cwd": tmp_path, "env": os.environ | {"COLUMNS": "60"}}
    script = "exec true; : more"
    done = gnomon("run", "--with", "emulated", "--", "sh", "-c", script, **narrow)
    told = [done.stderr, gnomon("runs", **narrow).stdout]
    told += [gnomon("report", "sh", "--per", "line", **narrow).stdout]
    assert "file:line" in told[-1]
    done = gnomon("run", "--", "sh", "-c", script, **narrow)
    gnomon("runs", "tag", done.stderr.split()[-1].removesuffix(".gnomon"), "a-tag", **narrow)
    told += [done.stderr, gnomon("runs", **narrow).stdout]
    assert "a-tag" in told[-1]
    for text in told:
        # The line that says how to look at the run has its name in full.
        lines = [line for line in text.splitlines() if not line.startswith("look at it")]
        assert [line for line in lines if len(line) > 60] == []


def test_values_of_functions_stand_below_their_headings(tmp_path: Path) -> None:
    environment = os.environ | {"COLUMNS": "80"}
    done = gnomon("run", "--with", "emulated", "--", "true", cwd=tmp_path, env=environment)
    lines = done.stderr.splitlines()
    at = next(at for at, line in enumerate(lines) if "top functions" in line)
    assert lines[at].endswith(" of total     exclusive")
    row = lines[at + 1] + " "
    assert row[len(lines[at]) - 1].isdigit()
    assert row[len(lines[at])] == " "
