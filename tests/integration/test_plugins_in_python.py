"""Aggregators in Python for programs with sections, on four ranks of each MPI."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from mpi import BOTH, Mpi, launch
from ranks_program import EVENTS, Programs, one, reports, rows, start

pytestmark = pytest.mark.parametrize("mpi", BOTH, ids=str)


SCRIPT = """
import os
import time

def distributor(environment, task, tasks):
    environment["GNOMON_EVENTS"] = "page-faults" if tasks == 4 else "task-clock"

def aggregator(items, ranks):
    (event,) = items[1].data
    if os.environ.get("HOW") == "raises" and ranks.task == 2:
        raise KeyError("no such thing")
    if os.environ.get("HOW") == "hangs":
        time.sleep(60)
    total = ranks.allreduce(event.value, lambda one, other: one + other)
    if ranks.task:
        return None
    words = f"sum over {ranks.tasks} tasks; missing: {[gap.first for gap in ranks.missing]}"
    return [items[1]._replace(data=(event._replace(value=total),), description=words)]
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    """Return a plug-in in Python, which adds up."""
    (tmp_path / "own.py").write_text(SCRIPT)
    return tmp_path / "own.py"


def test_a_script_in_a_program_in_c(
    mpi: Mpi, ranks_programs: Programs, tmp_path: Path, script: Path
) -> None:
    start(mpi, ranks_programs[mpi], tmp_path, script, HPM_PYTHON=sys.executable)
    assert reports(tmp_path) == ["ranks.csv"]
    (row,) = [row for row in rows(tmp_path / "ranks.csv") if row["kind"] == "event"]
    assert (row["name"], row["value"]) == ("page-faults", "1000")
    assert "sum over 4 tasks; missing: []" in (tmp_path / "ranks.hpm").read_text()


def test_a_script_in_a_program_that_knows_no_python(
    mpi: Mpi, ranks_programs: Programs, tmp_path: Path, script: Path
) -> None:
    done = start(mpi, ranks_programs[mpi], tmp_path, script, status=None)
    assert "own.py is written in Python, but this program has no Python to run it; " in done.err
    assert "Set HPM_PYTHON" in done.err
    assert len(reports(tmp_path)) == 4


@pytest.mark.parametrize("how", ["raises", "hangs"])
def test_a_script_that_goes_wrong(
    mpi: Mpi, ranks_programs: Programs, tmp_path: Path, script: Path, how: str
) -> None:
    # It is the time, too, that four interpreters have to start on a busy machine.
    seconds = {"raises": "60", "hangs": "8"}[how]
    done = start(mpi, ranks_programs[mpi], tmp_path, script, status=None, HPM_PYTHON=sys.executable,
                 HPM_AGGREGATE_TIMEOUT=seconds, HOW=how)  # fmt: skip
    if how == "raises":
        assert "HPM ERROR - the aggregator failed: KeyError: 'no such thing'" in done.err
        assert "HPM ERROR - the aggregator failed: it says why above; " in done.err
        assert one(rows(tmp_path / "ranks_2.csv"), "page-faults")["value"] == "300"
        assert one(rows(tmp_path / "ranks.csv"), "page-faults")["value"] == "700"
        assert "missing: [2]" in (tmp_path / "ranks.hpm").read_text()
    else:
        assert "the aggregator failed: it did not return within 10 s (" in done.err
        values = [one(rows(tmp_path / n), "page-faults")["value"] for n in reports(tmp_path)]
        assert sorted(values) == ["100", "200", "300", "400"]


def test_sections_in_python(mpi: Mpi, tmp_path: Path, script: Path) -> None:
    """A program without MPI that is started as several tasks; its Python runs the plug-in."""
    (tmp_path / "prog.py").write_text(
        "import mmap\nfrom gnomon import hpm\nroom = mmap.mmap(-1, 4096 * 100)\n"
        "with hpm.section('part'):\n    for at in range(0, len(room), 4096): room[at] = 1\n"
    )
    variables = EVENTS | {"HPM_AGGREGATE": str(script)}
    launch(mpi, 4, sys.executable, tmp_path / "prog.py", folder=tmp_path, variables=variables)
    assert reports(tmp_path) == ["prog.csv"]
    (row,) = [row for row in rows(tmp_path / "prog.csv") if row["kind"] == "event"]
    assert (row["name"], row["label"]) == ("page-faults", "part")
    assert float(row["value"]) >= 400
