"""An hpmcount that runs another in the tasks of a job: each has a report of its own."""

from __future__ import annotations

from pathlib import Path

from commands import HPMCOUNT
from mpi import MPICH, launch


def test_the_inner_one_takes_nothing_from_the_outer_one(tmp_path: Path) -> None:
    options = ("-n", "-a", "average", "-e", "page-faults")
    inner = [HPMCOUNT, *options, "-o", "inner", "true"]
    outer = [HPMCOUNT, *options, "-o", "outer", *inner]
    job = launch(MPICH, 3, *outer, folder=tmp_path, variables={"TMPDIR": str(tmp_path)})
    reports = {path.name: path.read_text() for path in tmp_path.iterdir()}
    assert sorted(reports) == ["inner.hpm", "outer.hpm"], job.said
    for report in reports.values():
        assert "average over 3 tasks: 0-2" in report
