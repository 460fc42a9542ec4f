"""`gnomon record --branches`: branches where the PMU records them, elsewhere the reason."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from commands import gnomon
from sampled import opened

from gnomon.errors import ObserverError
from gnomon.sampling.sampled_events import SampledEvents, choose
from gnomon.sampling.sampling_observer import SamplingObserver, SamplingOptions


def check_refusal(folder: Path, said: str) -> None:
    """Fail if there is more or less than a line with the remedy, or if a run is left."""
    (line,) = said.splitlines()
    assert line.startswith("gnomon: ")
    assert line.endswith("or sample without branches")
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("events", ["cpu-clock", "cpu-clock,cycles", "page-faults"])
def test_what_no_pmu_counts_has_no_branches(tmp_path: Path, events: str) -> None:
    done = gnomon("record", "--branches", "-e", events, "--", "true", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "only events of a PMU have branches" in done.stderr
    check_refusal(tmp_path, done.stderr)


@pytest.mark.parametrize(
    "words", [["record", "--branches"], ["run", "--samples-branches"]], ids=["record", "run"]
)
def test_branches_are_recorded_or_the_reason_is_told(tmp_path: Path, words: list[str]) -> None:
    """Without events cycles are sampled: a machine's PMU has branches with these, or none."""
    loop = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done"
    done = gnomon(*words, "--name", "r", "--", "sh", "-c", loop, cwd=tmp_path)
    if done.returncode:
        assert (done.returncode, done.stdout) == (1, "")
        assert "cycles with branches: " in done.stderr
        check_refusal(tmp_path, done.stderr)
        return
    ((rows, taken),) = opened(tmp_path / "r").query("SELECT COUNT(*), SUM(taken) FROM branches")
    assert 0 < rows <= taken
    report = gnomon("report", "r", "branches", cwd=tmp_path)
    assert report.returncode == 0, report.stderr
    assert "branches were recorded" in report.stdout


def test_the_kernel_knows_what_it_is_asked_for(tmp_path: Path) -> None:
    """Of a clock it refuses branches as such (EOPNOTSUPP), and not how they are asked for."""
    (clock,) = choose(["cpu-clock:u"], 99, None).events
    events = SampledEvents((clock._replace(has_branches=True),))
    observer = SamplingObserver(tmp_path, SamplingOptions(events, 8, 8), is_running=True)
    with pytest.raises(ObserverError) as error:
        observer.attach(os.getpid())
    observer.close()
    told = str(error.value)
    assert told.startswith("samples: cpu-clock:u with branches: ")
    assert "no core PMU" in told or "its PMU records no branches" in told
    assert told.endswith("or sample without branches")
    assert list(tmp_path.iterdir()) == []
