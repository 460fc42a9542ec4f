"""`gnomon stat` beside perf and vmstat: what they count, and the same windows of time."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from commands import gnomon, run
from watching import ended, first_line, lines, of_machine, until, watched, watching

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


def intervals(file: Path) -> int:
    """Return how many intervals `perf stat -I -x;` has told so far."""
    text = file.read_text() if file.exists() else ""
    return len({line.split(";")[0] for line in text.splitlines() if ";" in line})


@contextmanager
def perf_counts(perf: str, file: Path) -> Iterator[None]:
    """Count with `perf stat -a -I` from before the block to after it, and end within this."""
    command = [perf, "stat", "-a", "-I", "100", "-x;", "-e", ",".join(EVENTS), "-o", str(file)]
    cat = subprocess.Popen([*command, "cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert cat.stdin is not None
    assert cat.stdout is not None
    # Once the program that it runs has answered, perf counts.
    cat.stdin.write(b"here\n")
    cat.stdin.flush()
    assert cat.stdout.readline() == b"here\n"
    yield
    # The interval that the end cuts may not be told: the block is in one before that.
    told = intervals(file)
    until(lambda: intervals(file) >= told + 2)
    cat.stdin.close()
    assert cat.wait(60) == 0
    cat.stdout.close()


def test_totals_lie_between_those_of_windows_inside_and_around(
    perf: str, programs: Programs, tmp_path: Path
) -> None:
    """Counts only grow: a window inside ours has no more, one around ours no less. No tolerance."""
    around, inside = tmp_path / "around.csv", tmp_path / "inside.csv"
    load = f'{programs("pages")} {FAULTS}; exec python3 -c "$0"'
    with perf_counts(perf, around), watching("--json", "-e", ",".join(EVENTS), "0.1") as ours:
        first_line(ours)
        with perf_counts(perf, inside):
            assert run("sh", "-c", load, SWITCHES).returncode == 0
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
    assert cut >= -1e-6
    assert told <= whole
    by_cpu = sum(
        counter["value"]
        for row in summary["rows"]
        for counter in row["counters"]
        if counter["event"] == "context-switches"
    )
    assert by_cpu == whole


def vmstat_totals() -> dict[str, float]:
    """Return what `vmstat -s` has of gnomon's vitals; times in seconds."""
    found: dict[str, float] = {}
    for line in run("vmstat", "-s").stdout.splitlines():
        number, _, text = line.strip().partition(" ")
        for words, vital in OF_VMSTAT.items():
            if text in words:
                scale = 1 / os.sysconf("SC_CLK_TCK") if vital.endswith("_time") else 1
                found[vital] = found.get(vital, 0) + int(number) * scale
    return found


OF_VMSTAT = {
    ("non-nice user cpu ticks", "nice user cpu ticks"): "proc.user_time",
    ("system cpu ticks", "IRQ cpu ticks", "softirq cpu ticks"): "proc.system_time",
    ("idle cpu ticks",): "proc.idle_time",
    ("stolen cpu ticks",): "proc.steal_time",
    ("interrupts",): "proc.interrupts",
    ("CPU context switches",): "proc.context_switches",
    ("forks",): "proc.forks",
}


def test_columns_are_those_of_vmstat(programs: Programs) -> None:
    """As with perf: no less than in a window inside ours, no more than in one around it."""
    before = vmstat_totals()
    with watching("--json", "0.1") as ours:
        text = first_line(ours)
        begin = vmstat_totals()
        run("sh", "-c", f'{programs("pages")} 50000; exec python3 -c "$0"', SWITCHES)
        end = vmstat_totals()
        # What of the last look is in no line is in the summary.
        status, out, _ = ended(ours)
    after = vmstat_totals()
    assert status == 0
    whole = of_machine(lines(text + out)[-1])
    assert set(before) == set(OF_VMSTAT.values())
    for vital in before:
        # A tick more or less: CPUs' times are read one after the other.
        slack = 0.05 if vital.endswith("_time") else 0
        assert end[vital] - begin[vital] - slack <= whole[vital], vital
        assert whole[vital] <= after[vital] - before[vital] + slack, vital
    assert end["proc.context_switches"] - begin["proc.context_switches"] >= 6000
    assert end["proc.forks"] - begin["proc.forks"] >= 3


def test_the_columns_of_a_line_are_vmstats() -> None:
    """us, sy, id, wa and st add up to a whole; r has the programs that run, and not gnomon."""
    busy = subprocess.Popen(["sh", "-c", "while :; do :; done"])
    try:
        line = watched("1", "1")[0]
        text = gnomon("stat", "0.5", "1").stdout.splitlines()
    finally:
        busy.kill()
        busy.wait()
    have = of_machine(line)
    times = [have[f"proc.{one}_time"] for one in ("user", "system", "idle", "iowait", "steal")]
    cpus = os.cpu_count() or 1
    assert sum(times) == pytest.approx(cpus * line["seconds"], rel=0.3)
    assert have["proc.runnable"] >= 1
    head = next(one for one in text if one.startswith("time")).split()
    row = dict(zip(head, next(one for one in text if one[:1].isdigit()).split(), strict=True))
    assert int(row["r"]) >= 1
    assert sum(int(row[one]) for one in ("us", "sy", "id", "wa", "st")) in range(97, 104)
