"""`gnomon count` and the real `perf stat` on the same events and the same program."""

from __future__ import annotations

import subprocess
import sysconfig
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from commands import counted, perf_counted, values

EVENTS = (
    "task-clock",
    "page-faults",
    "context-switches",
    "cpu-migrations",
    "minor-faults",
    "major-faults",
    "sched:sched_switch",
    "raw_syscalls:sys_enter",
)
RUNS = 5
INPUT_BYTES = 600_000


class Bound(NamedTuple):
    """How far apart the ranges of two tools' runs may lie: a factor, and a plain number."""

    factor: float
    slack: float


# What differs from run to run of perf itself. The factors are not tolerances of counting: they
# allow for a machine whose load changes while the tools take turns.
SPREADS = {
    "task-clock": Bound(1.5, 0),
    "page-faults": Bound(1.01, 16),
    "minor-faults": Bound(1.01, 16),
    "major-faults": Bound(2, 64),
    "context-switches": Bound(4, 50),
    "sched:sched_switch": Bound(4, 50),
    "cpu-migrations": Bound(4, 20),
}


def agree(ours: list[float], theirs: list[float], bound: Bound) -> bool:
    """Return whether two ranges, each made wider by the bound, meet."""

    def wider(numbers: list[float]) -> tuple[float, float]:
        return (
            min(numbers) / bound.factor - bound.slack,
            max(numbers) * bound.factor + bound.slack,
        )

    (our_low, our_high), (their_low, their_high) = wider(ours), wider(theirs)
    return our_low <= their_high and their_low <= our_high


pytestmark = pytest.mark.usefixtures("perf", "tracepoints")


@pytest.fixture(scope="module")
def compressed(
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[dict[str, list[float]], dict[str, list[float]]]:
    """Return what gnomon and perf counted of `xz -k -c FILE`, taking turns."""
    folder = tmp_path_factory.mktemp("xz")
    library = Path(sysconfig.get_path("stdlib"))
    text = b"".join(path.read_bytes() for path in sorted(library.glob("*.py")))
    file = folder / "library"
    file.write_bytes(text[:INPUT_BYTES])
    assert file.stat().st_size == INPUT_BYTES
    # Single-threaded whatever the version of xz: 5.6 and later use all CPUs if not told.
    command = ("xz", "-T1", "-k", "-c", file)
    ours: dict[str, list[float]] = {event: [] for event in EVENTS}
    theirs: dict[str, list[float]] = {event: [] for event in EVENTS}
    # Where it writes into a pipe that is full it makes other calls: it waits for the reader.
    streams: dict[str, Any] = {
        "capture_output": False,
        "stdout": subprocess.DEVNULL,
        "stderr": subprocess.PIPE,
    }
    for _ in range(RUNS):
        counts = values(counted(folder, "-e", ",".join(EVENTS), "--", *command, **streams))
        for event in EVENTS:
            ours[event].append(counts[event])
        of_perf = perf_counted(folder, EVENTS, *command, **streams)
        for event in EVENTS:
            theirs[event].append(of_perf[event])
    return ours, theirs


def test_system_calls_equal_perfs(
    compressed: tuple[dict[str, list[float]], dict[str, list[float]]],
) -> None:
    """A single-threaded xz makes the same system calls every time."""
    ours, theirs = (counts["raw_syscalls:sys_enter"] for counts in compressed)
    assert len(set(theirs)) == 1, f"not deterministic here: perf itself counted {theirs}"
    assert ours == theirs
    assert ours[0] > 50


@pytest.mark.parametrize("event", SPREADS)
def test_counts_are_within_the_spread_of_perfs(
    event: str, compressed: tuple[dict[str, list[float]], dict[str, list[float]]]
) -> None:
    ours, theirs = (counts[event] for counts in compressed)
    assert agree(ours, theirs, SPREADS[event]), f"{event}: gnomon {ours}, perf {theirs}"


def test_switches_are_the_same_event_twice(
    compressed: tuple[dict[str, list[float]], dict[str, list[float]]],
) -> None:
    """The software event and the tracepoint count the same thing, so they agree in every run."""
    ours, _ = compressed
    pairs = zip(ours["context-switches"], ours["sched:sched_switch"], strict=True)
    assert all(abs(switches - points) <= 1 for switches, points in pairs), ours


def test_faults_are_minor_and_major(
    compressed: tuple[dict[str, list[float]], dict[str, list[float]]],
) -> None:
    ours, _ = compressed
    kinds = zip(ours["minor-faults"], ours["major-faults"], strict=True)
    assert [minor + major for minor, major in kinds] == ours["page-faults"]
    # xz at its default level fills a dictionary of some megabytes: nothing else would count that.
    assert min(ours["page-faults"]) > 1000


def test_task_clock_agrees_with_resource_usage(tmp_path: Path) -> None:
    """The kernel's scheduler and its accounting saw the same program in the same run."""
    document = counted(
        tmp_path, "-e", "task-clock", "--", "sh", "-c", "i=0; while [ $i -lt 99999 ]; do "
        "i=$((i+1)); done"
    )  # fmt: skip
    used = document["user_seconds"] + document["system_seconds"]
    assert values(document)["task-clock"] / 1e9 == pytest.approx(used, rel=0.25, abs=0.03)


@pytest.mark.parametrize(
    ("ours", "theirs", "met"),
    [
        ([10, 12], [11, 13], True),
        ([10, 12], [19, 30], True),
        ([10, 12], [50, 60], False),
        ([50, 60], [10, 12], False),
    ],
)
def test_the_comparison_can_fail(ours: list[float], theirs: list[float], met: bool) -> None:
    assert agree(ours, theirs, Bound(1.25, 1)) is met
