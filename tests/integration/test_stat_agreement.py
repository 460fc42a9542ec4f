"""`gnomon stat` beside perf and vmstat: what they count, and the same windows of time."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from commands import run
from watching import ended, first_line, lines, of_machine, watched, watching

Programs = Callable[[str], Path]
EVENTS = ("page-faults", "context-switches", "cpu-migrations", "minor-faults")
FAULTS = 20_000
# Two threads that hand a byte to and fro switch at least once for each way.
SWITCHES = """
import os, sys
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
there, back = os.pipe(), os.pipe()
if os.fork():
    for _ in range(3000):
        os.write(there[1], b'.'); os.read(back[0], 1)
else:
    for _ in range(3000):
        os.read(there[0], 1); os.write(back[1], b'.')
    os._exit(0)
os.wait()
"""


def perf_total(text: str) -> dict[str, float]:
    """Return the sums over the intervals of `perf stat -I -x;`."""
    found: dict[str, float] = {}
    for line in text.splitlines():
        fields = line.split(";")
        if len(fields) > 3 and not line.startswith("#"):
            found[fields[3]] = found.get(fields[3], 0) + float(fields[1])
    return found


@contextmanager
def perf_all_around(perf: str, file: Path) -> Iterator[None]:
    """Count with `perf stat -a -I` from before the block to after it."""
    command = [perf, "stat", "-a", "-I", "100", "-x;", "-e", ",".join(EVENTS), "-o", str(file)]
    cat = subprocess.Popen([*command, "cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert cat.stdin is not None
    assert cat.stdout is not None
    # Once the program that it runs has answered, perf counts.
    cat.stdin.write(b"here\n")
    cat.stdin.flush()
    assert cat.stdout.readline() == b"here\n"
    yield
    cat.stdin.close()
    assert cat.wait(60) == 0
    cat.stdout.close()


def test_totals_lie_between_those_of_windows_inside_and_around(
    perf: str, programs: Programs, tmp_path: Path
) -> None:
    """Counts only grow: a window inside ours has no more, one around ours no less. No tolerance."""
    around, inside = tmp_path / "around.csv", tmp_path / "inside.csv"
    command = [perf, "stat", "-a", "-I", "100", "-x;", "-e", ",".join(EVENTS), "-o", str(inside)]
    load = f'{programs("pages")} {FAULTS}; exec python3 -c "$0"'
    with perf_all_around(perf, around), watching("--json", "-e", ",".join(EVENTS), "0.1") as ours:
        first_line(ours)
        assert run(*command, "sh", "-c", load, SWITCHES).returncode == 0
        status, out, err = ended(ours)
    assert (status, err) == (0, "")
    found = lines(out)
    assert found[-1]["schema"] == "gnomon/stat-summary"
    whole = of_machine(found[-1])
    least, most = perf_total(inside.read_text()), perf_total(around.read_text())
    for event in EVENTS:
        assert least[event] <= whole[event] <= most[event], event
    assert least["page-faults"] >= FAULTS
    assert least["context-switches"] >= 6000
    # The same counters, read by two programs, in windows whose edges lie milliseconds apart: most
    # of what there was, both have seen.
    assert whole["page-faults"] <= 1.5 * least["page-faults"] + 20_000


def test_intervals_add_up_to_the_summary() -> None:
    with watching("--json", "-A", "-e", "page-faults,context-switches", "0.05") as ours:
        first = first_line(ours)
        for _ in range(5):
            first += first_line(ours)
        status, out, _ = ended(ours, signal.SIGTERM)
    *intervals, summary = lines(first + out)
    assert status == 0
    assert [one["interval"] for one in intervals] == list(range(1, len(intervals) + 1))
    whole = of_machine(summary)["context-switches"]
    told = sum(of_machine(one)["context-switches"] for one in intervals)
    # The rest is of the interval that the signal cut short, which the summary has and no line.
    cut = summary["seconds"] - sum(one["seconds"] for one in intervals)
    assert 0 <= cut < 0.1
    assert told <= whole
    by_cpu = sum(
        counter["value"]
        for row in summary["rows"]
        for counter in row["counters"]
        if counter["event"] == "context-switches"
    )
    assert by_cpu == whole


def test_columns_are_those_of_vmstat() -> None:
    """The same files of /proc over the same 2 seconds, but for the edges."""
    theirs = subprocess.Popen(
        ["vmstat", "-n", "2", "2"], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True
    )
    ours = watched("2", "1")[0]
    text = theirs.communicate()[0].splitlines()
    row = dict(zip(text[1].split(), map(float, text[-1].split()), strict=True))
    have = of_machine(ours)
    seconds = ours["seconds"]
    times = {name: have[f"proc.{name}_time"]
             for name in ("user", "system", "idle", "iowait", "steal")}  # fmt: skip
    whole = sum(times.values())
    # The tick is 10 ms, the edges are some tens of milliseconds apart: a few percent of 2 s.
    for column, name in (("us", "user"), ("sy", "system"), ("id", "idle"), ("st", "steal")):
        assert 100 * times[name] / whole == pytest.approx(row[column], abs=12), column
    for column, event in (("cs", "proc.context_switches"), ("in", "proc.interrupts")):
        assert have[event] / seconds == pytest.approx(row[column], rel=0.4, abs=200), column
    # The two ways that the kernel counts switches.
    assert have["context-switches"] == pytest.approx(have["proc.context_switches"], rel=0.1, abs=50)
    assert whole == pytest.approx(seconds * len(watched("-A", "0.05", "1")[0]["rows"]), rel=0.1)
