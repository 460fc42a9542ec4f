"""`hpmstat -a` over the tasks of an MPI job, each of which watches its node."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from commands import run
from mpi import BOTH, Mpi, launch
from watching import HPMSTAT

both = pytest.mark.parametrize("mpi", BOTH, ids=str)


def reports(text: str) -> list[str]:
    return [f"hpmstat:{part}" for part in re.split(r"^hpmstat:", text, flags=re.MULTILINE)[1:]]


@both
def test_a_node_is_counted_once(mpi: Mpi, tmp_path: Path) -> None:
    command = [HPMSTAT, "-a", "average", "-e", "page-faults,context-switches", "0.2", "2"]
    job = launch(mpi, 2, *command, folder=tmp_path)
    (report,) = reports(job.out)
    assert "average over 2 tasks: 0,1" in report
    for event in ("page-faults", "context-switches"):
        row = re.search(rf"^  {event} +([\d ]+?)  .*\n.*1 of 2 tasks have it", report, re.MULTILINE)
        assert row is not None, report
        assert int(row[1].replace(" ", "")) >= 0
    assert "HPM ERROR" not in job.err


@both
def test_groups_are_shared_out(mpi: Mpi, tmp_path: Path) -> None:
    command = [HPMSTAT, "-a", "statistics", "-g", "SCHED,PAGEFAULTS", "0.2", "1"]
    # Launchers pass on what two tasks print at once in pieces, not report by report.
    job = launch(mpi, 2, *command, folder=tmp_path, apart=True)
    found = reports("".join(job.outs))
    assert len(found) == 2, job.said
    assert sorted(re.findall(r"^group (\d \w+)$", "".join(found), re.MULTILINE)) == [
        "5 SCHED", "6 PAGEFAULTS"]  # fmt: skip
    with_faults = next(one for one in found if "group 6" in one)
    assert re.search(r"^  page-faults +\d", with_faults, re.MULTILINE)


def test_without_a_job_and_without_such_a_plug_in(tmp_path: Path) -> None:
    alone = run(HPMSTAT, "-a", "average", "-o", "x.txt", "0.1", "1", cwd=tmp_path)
    assert (alone.returncode, alone.stderr) == (0, "")
    assert "page-faults" in alone.stdout
    assert (tmp_path / "x.txt").read_text().startswith("hpmstat: ")
    none = run(HPMSTAT, "-a", "no-such-plug-in", "0.1", "1")
    assert none.returncode == 2
    assert none.stderr.startswith("HPM ERROR - Dynamic link error at dlopen():\nno-such-plug-in:")
