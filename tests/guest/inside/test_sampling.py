"""Samples by the PMU's own overflows, and stacks that the unwinder has from this processor."""

from __future__ import annotations

from pathlib import Path

from sampled import check_shares, facts, opened, samples_with, stacks

from guest.inside.conftest import FigureOf
from guest.inside.work import BIN, run

# tests/programs/shares.c says what is on its stacks.
SHARES = {"half": 0.5, "third": 0.3, "fifth": 0.2}
ROUNDS = 800
# Of cycles, of which these machines have one in a nanosecond, and of the clock: 10 ms.
PERIOD = 10_000_000
METRICS = ("cycles (sampled)", "CPU time")


def test_cycles_and_the_clock_are_sampled(tmp_path: Path, figure: FigureOf) -> None:
    name = tmp_path / "r"
    done = run(
        BIN / "gnomon", "record", "-e", "cycles,cpu-clock", "-c", PERIOD, "--name", name,
        "--", BIN / "shares", ROUNDS,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    found = opened(name)
    for metric in METRICS:
        counted = stacks(found, metric)
        check_shares(counted, SHARES)
        total = samples_with(counted, "work")
        for function in SHARES:
            # Who called whom, down from the start of the program.
            whole = [
                stack for stack in counted if stack[-5:] == (
                    "main", "deal", "recurse", function, "work"
                )
            ]  # fmt: skip
            assert sum(counted[stack] for stack in whole) > 0.9 * samples_with(counted, function)
        figure(
            f"`gnomon record -c {PERIOD}`, {metric}: planted shares of 50, 30 and 20 %",
            ", ".join(f"{100 * samples_with(counted, name) / total:.1f} %" for name in SHARES)
            + f" of {total} samples",
        )
    said = facts(found)
    assert said["lost"] == said["without_memory"] == 0
    assert said["complete"] >= 0.99 * said["stacks"]
    figure("`gnomon record`: complete stacks", f"{said['complete']} of {said['stacks']}")
    weights = {weight for (weight,) in found.query(
        "SELECT weight FROM samples JOIN metrics m USING (metric) "
        f"WHERE m.name = '{METRICS[0]}'"
    )}  # fmt: skip
    assert weights == {PERIOD}
