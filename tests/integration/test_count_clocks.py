"""What follows from the clocks of whole CPUs (nothing) and from those of a cgroup."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from commands import counted, gnomon, values

Programs = Callable[[str], Path]


@pytest.mark.parametrize("option", [("-a",), ("-a", "-A"), ("-a", "--per", "core")], ids=" ".join)
def test_an_idle_machine_is_not_said_to_be_busy(option: tuple[str, ...], tmp_path: Path) -> None:
    """The clocks of whole CPUs run while those idle, and the program's times are not theirs."""
    events = ("-e", "task-clock,context-switches,page-faults")
    document = counted(tmp_path, *option, *events, "--", "sleep", "0.2")
    # Rates are per second of elapsed time, which the machine has too; nothing else follows.
    assert {metric["name"] for metric in document["metrics"]} == {
        "context_switch_rate", "page_fault_rate",
    }  # fmt: skip
    done = gnomon("count", *option, *events, "-d", "0.1")
    assert "the time CPUs were watched, busy or idle" in done.stderr
    assert "utilis" not in done.stderr


def test_the_clock_of_a_cgroup_is_cpu_time(programs: Programs, tmp_path: Path) -> None:
    document = counted(tmp_path, "-G", "/", "-e", "task-clock", "--", programs("pages"), "20000")
    found = {metric["name"]: metric["value"] for metric in document["metrics"]}
    seconds = values(document)["task-clock"] / 1e9
    utilised = seconds / document["wall_seconds"]
    if "cpus_utilised" in found:
        assert found["cpus_utilised"] == pytest.approx(utilised)
    else:  # clocks of CPUs that are all busy may come to more than there are: no value is shown
        assert utilised > len(os.sched_getaffinity(0))
