"""What samples carry beside their stacks: counts of a group's other events, and data addresses."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import pytest
from commands import GNOMON, gnomon, run
from sampled import facts, opened, samples_with, stacks

from gnomon.store.run import Run

Compiled = Callable[..., Path]

PAGES, THREADS = 16000, 3
# What a thread has counted since its last sample is in none: a millisecond of page faults, and
# what its start and end cost.
LEFT_OVER = 1800
GROUP = "{cpu-clock,page-faults,context-switches}"
FAULTS = "page-faults (sampled)"

needs_groups = pytest.mark.skipif(
    tuple(map(int, os.uname().release.split("-")[0].split(".")[:2])) < (6, 13),
    reason="samples of inherited groups need Linux 6.13 or newer",
)


class Part(NamedTuple):
    """What a thread of tests/programs/touched.c touched."""

    tid: int
    start: int
    end: int


@pytest.fixture(scope="module")
def touched(compiled: Compiled) -> Path:
    """Return a program that touches known pages."""
    return compiled("gcc", "touched.c", "-O2", "-fomit-frame-pointer", "-pthread")


def recorded(folder: Path, program: Path, *words: str, threads: int = 1) -> tuple[Run, list[Part]]:
    """Return the run of `touched`, and its parts, the smallest first."""
    done = gnomon("record", "--name", "r", *words, "--", program, str(PAGES), str(threads),
                  cwd=folder)  # fmt: skip
    assert done.returncode == 0, done.stderr
    parts = [Part(*(int(word, 0) for word in line.split())) for line in done.stdout.splitlines()]
    return opened(folder / "r"), sorted(parts, key=lambda part: part.end - part.start)


def weights(run: Run, metric: str) -> dict[tuple[int, str], float]:
    """Return what the samples of a metric come to, by thread and innermost function."""
    return {
        (tid, name): weight
        for tid, name, weight in run.query(
            "SELECT tid, r.name, SUM(weight) FROM samples JOIN metrics m USING (metric) "
            "JOIN locations USING (location) JOIN paths USING (path) JOIN regions r USING (region) "
            f"WHERE m.name = '{metric}' GROUP BY ALL"
        )
    }


# --- groups ---------------------------------------------------------------------------------------


@needs_groups
@pytest.mark.parametrize("spelled", [GROUP, f"{GROUP}:S"])
def test_samples_carry_what_the_other_events_of_their_group_counted(
    tmp_path: Path, touched: Path, spelled: str
) -> None:
    run, parts = recorded(tmp_path, touched, "-e", spelled, threads=THREADS)
    units = dict(run.query("SELECT name, unit FROM metrics WHERE component = 'samples'"))
    assert units == {"CPU time": "s", FAULTS: "", "context-switches (sampled)": ""}
    ((description,),) = run.query(f"SELECT description FROM metrics WHERE name = '{FAULTS}'")
    assert description == (
        "page-faults counted up to samples of cpu-clock, these 997 times per second"
    )
    # Of each thread by itself, on whichever CPUs it ran.
    for number, part in enumerate(parts, start=1):
        found = sum(n for (tid, _), n in weights(run, FAULTS).items() if tid == part.tid)
        assert number * PAGES - LEFT_OVER <= found <= number * PAGES + LEFT_OVER
    # What only computes has none but those of the moment when it began.
    faults, time = stacks(run, FAULTS), stacks(run)
    assert samples_with(time, "compute") > 30
    computing = sum(n for (_, name), n in weights(run, FAULTS).items() if name == "compute")
    assert computing <= THREADS * LEFT_OVER
    assert set(faults) <= set(time)


@needs_groups
def test_a_groups_values_are_rows_beside_their_sample(tmp_path: Path, touched: Path) -> None:
    recorded(tmp_path, touched, "-e", GROUP)
    done = gnomon("report", "r", "samples", "--json", cwd=tmp_path)
    rows = json.loads(done.stdout)["rows"]
    taken = {(row["tid"], row["time_ns"]): row for row in rows if row["metric"] == "CPU time"}
    read = [row for row in rows if row["metric"] == FAULTS]
    assert read
    assert len(taken) == facts(opened(tmp_path / "r"))["samples"]
    for row in read:
        assert row["path"] == taken[row["tid"], row["time_ns"]]["path"]
        assert row["weight"] == int(row["weight"]) > 0


@needs_groups
def test_a_group_is_read_in_a_python_program(tmp_path: Path) -> None:
    script = tmp_path / "grow.py"
    script.write_text(
        "def grow():\n    return [b'x' * (1 << 20) for _ in range(300)]\n"
        "def churn():\n    return sum(i * i for i in range(3_000_000))\n"
        "kept = grow()\nchurn()\n"
    )
    done = gnomon("record", "--name", "r", "-e", "{cpu-clock,page-faults}", "--", "python3", script,
                  cwd=tmp_path)  # fmt: skip
    assert done.returncode == 0, done.stderr
    run = opened(tmp_path / "r")
    assert samples_with(stacks(run), "churn") > 50
    inclusive = dict(
        run.query(
            "SELECT r.name, SUM(inclusive) FROM profile JOIN metrics m USING (metric) "
            "JOIN paths USING (path) JOIN regions r USING (region) "
            f"WHERE m.name = '{FAULTS}' GROUP BY r.name"
        )
    )
    # A page of 4 KB of each megabyte that is written is one fault.
    assert inclusive["grow"] > 0.9 * 300 * 256
    assert inclusive.get("churn", 0) < LEFT_OVER


def test_groups_and_precision_that_make_no_sense(tmp_path: Path) -> None:
    for events, why in {
        "{cpu-clock,page-faults": "a brace is not closed",
        "{cpu-clock,page-faults}:X": "unexpected",
        "cpu-clock:p": "only events of a PMU can be precise; leave out :p",
        "{cpu-clock,minor-faults:pp}": "only events of a PMU can be precise",
    }.items():
        done = gnomon("record", "-e", events, "--", "true", cwd=tmp_path)
        assert done.returncode == 2, (events, done.stderr)
        (line,) = done.stderr.splitlines()
        assert why in line or why == "unexpected", line
    assert not list(tmp_path.iterdir())


# --- data addresses -------------------------------------------------------------------------------


def test_page_faults_have_the_addresses_that_were_touched(tmp_path: Path, touched: Path) -> None:
    period = 100
    run, parts = recorded(tmp_path, touched, "-e", "page-faults", "-c", str(period), "--stack", "1",
                          threads=THREADS)  # fmt: skip
    for number, part in enumerate(parts, start=1):
        rows = run.query(
            "SELECT data_address, weight FROM samples JOIN locations USING (location) "
            "JOIN paths USING (path) JOIN regions r USING (region) "
            f"WHERE tid = {part.tid} AND r.name = 'touch' ORDER BY time_ns"
        )
        addresses = [address for address, _ in rows]
        assert {weight for _, weight in rows} == {period}
        # On each CPU that the thread was on some faults wait for the next sample.
        assert abs(len(rows) - number * PAGES / period) <= 2 + len(os.sched_getaffinity(0))
        assert all(part.start <= address < part.end for address in addresses)
        # One after the other, every so many pages.
        steps = [(after - before) // 4096 for before, after in pairwise(addresses)]
        assert min(steps) > 0
        assert steps.count(period) > 0.9 * len(steps)


def test_events_without_addresses_have_none(tmp_path: Path, touched: Path) -> None:
    run, _ = recorded(tmp_path, touched, "-e", "cpu-clock,page-faults")
    n = dict(
        run.query(
            "SELECT m.name, COUNT(data_address) FROM samples JOIN metrics m USING (metric) "
            "GROUP BY m.name"
        )
    )
    assert n["CPU time"] == 0
    assert n[FAULTS] > 0
    text = gnomon("report", "r", "samples", "--top", "0", cwd=tmp_path).stdout
    assert "data_address" in text.splitlines()[1]
    assert " 0x7f" in text


@pytest.mark.parametrize("words", [["-e", "page-faults", "-c", "1"], ["-e", "faults"]])
def test_addresses_of_the_whole_machine(tmp_path: Path, touched: Path, words: list[str]) -> None:
    done = run(GNOMON, "record", "-a", "--name", "r", *words, "--", touched, "2000", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    ((n,),) = opened(tmp_path / "r").query("SELECT COUNT(data_address) FROM samples")
    assert n > 0
