"""A watch that ends within its first interval: what it has seen by then is told."""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from watching import HPMSTAT, counts, ended, lines, until, watching

LONG_S = "1000"


@contextmanager
def within_the_first(*arguments: str | Path, **tool: str) -> Iterator[subprocess.Popen[str]]:
    """Watch in long intervals; the first has gone on for a while."""
    with watching("-e", "page-faults", *arguments, LONG_S, **tool) as process:
        until(lambda: counts(process.pid))
        # An interval shorter than the shortest that can be asked for is not told.
        time.sleep(0.05)
        yield process


def test_a_table_has_the_part_of_an_interval() -> None:
    with within_the_first() as ours:
        status, out, _ = ended(ours)
    assert status == 0
    heading, *_, mean = out.splitlines()
    assert re.fullmatch(r"--- \S+ m?s, less than an interval ---", heading)
    assert mean.startswith("mean ")
    assert "faults" in out


def test_json_and_csv_begin_with_what_an_interval_begins_with(tmp_path: Path) -> None:
    with within_the_first("--json", "-o", tmp_path / "x.csv") as ours:
        status, out, _ = ended(ours)
    assert status == 0
    assert "less than an interval" in out
    head, *values = (tmp_path / "x.csv").read_text().splitlines()
    assert head.startswith("time,")
    assert any("page-faults" in line for line in values)
    with within_the_first("--json", "-e", "cycles") as ours:
        _, out, _ = ended(ours)
    (summary,) = lines(out)
    assert summary["schema"] == "gnomon/stat-summary"
    assert summary["seconds"] >= 0.01
    assert "page-faults" in [one["event"] for one in summary["counters"]]


def test_hpmstat_reports_the_part_of_an_interval(tmp_path: Path) -> None:
    with within_the_first("-o", tmp_path / "x", tool=HPMSTAT) as ours:
        status, out, _ = ended(ours)
    assert status == 0
    for report in (out, (tmp_path / "x").read_text()):
        assert report.count("hpmstat: the whole machine") == 1
        assert re.search(r"^ +page-faults +[\d ]+", report, re.MULTILINE)
