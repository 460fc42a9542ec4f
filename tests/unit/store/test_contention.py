"""What the machine did to a program: kept with each execution, and no fault of the program's."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from repeated_runs import repeated_run, times

from gnomon.cli import main
from gnomon.count import command_counters, run_tables
from gnomon.counters.event_resolver import resolve
from gnomon.launch.run_environment import this_host
from gnomon.model.contention import IDLE, OTHERS, STOLEN, WAITED
from gnomon.store.comparison.engine import compare
from gnomon.store.comparison.model import Comparison, ComparisonOptions, ComparisonRow
from gnomon.store.comparison.samples import side

UNITS = {WAITED: "ns", STOLEN: "ns", OTHERS: "CPUs", IDLE: "CPUs"}
CPUS = 4
FORMULAS = {"cpus_utilised": "1e-9 * task_clock / wall_seconds"}
QUIET = [0.02, 0.03, 0.02, 0.04, 0.02, 0.03, 0.02, 0.03, 0.02, 0.02]
BUSY = [3.5, 3.45, 3.52, 3.4, 3.5, 3.55, 3.48, 3.5, 3.47, 3.51]
NOTHING = [0.0] * 10


def row(of: Comparison, metric: str) -> ComparisonRow:
    return next(one for one in of.whole if one.metric == metric)


def a_run(
    folder: Path, name: str, own: Sequence[float], *, waited: Sequence[float] = NOTHING,
    others: Sequence[float] = QUIET, stolen: Sequence[float] = NOTHING, knows: bool = True,
    switches: list[float] | None = None,
) -> Path:  # fmt: skip
    """Return a run whose executions took their own time and for so long waited for a CPU."""
    wall = [time + wait for time, wait in zip(own, waited, strict=True)]
    whole = {
        "wall time": wall, "task-clock": list(own), OTHERS: list(others), STOLEN: list(stolen),
        IDLE: [max(CPUS - 1 - used, 0.0) for used in others],
        "cpus_utilised": [time / every for time, every in zip(own, wall, strict=True)],
    }  # fmt: skip
    if knows:
        whole[WAITED] = list(waited)
    if switches:
        whole["context-switches"] = switches
    return repeated_run(folder, name, whole, unit=UNITS, formula=FORMULAS)


def compared(*names: Path, **options: Any) -> Comparison:
    found, _ = compare([side(str(name)) for name in names], ComparisonOptions(**options))
    return found[0]


# --- judged ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("knows", [True, False], ids=["waits are known", "others only"])
def test_time_that_others_took_is_the_machines(
    tmp_path: Path, knows: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    waits = [50e6 + 1e6 * at for at in range(10)]
    a = a_run(tmp_path, "a", times(), knows=knows)
    b = a_run(tmp_path, "b", times(), waited=waits, others=BUSY, knows=knows)
    found = compared(a, b)
    wall = row(found, "wall time")
    assert wall.change == pytest.approx(0.545, abs=0.01)
    assert (wall.verdict, wall.is_sure) == ("machine", False)
    assert wall.measured_p is not None
    assert wall.measured_p < 0.01
    # What follows from it is the machine's too, and what others did is no row of the program's.
    assert row(found, "cpus_utilised").verdict == "machine"
    assert row(found, "task-clock").verdict == ""
    assert {one.metric for one in found.whole}.isdisjoint(UNITS)
    assert main(["compare", str(a), str(b), "--fail-on", "5%"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "wall time +54.5 % is explained by other load: " in said
    assert "others used 3.49 CPUs, 0.03 before" in said
    assert ("the program waited for a CPU 35.3 % of the time, 0 % before" in said) is knows
    assert "no significant difference beyond 2 % is left" in said
    assert main(["compare", str(a), str(b), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["comparisons"][0]
    (of_wall,) = (one for one in told["metrics"] if one["metric"] == "wall time")
    assert (of_wall["verdict"], of_wall["sure"]) == ("machine", False)
    assert of_wall["own_change"] == pytest.approx(0, abs=0.02)
    assert told["machine"]["others_cpus"] == pytest.approx([0.025, 3.49], abs=0.01)


@pytest.mark.parametrize("knows", [True, False], ids=["waits are known", "others only"])
def test_a_slow_down_of_5_percent_is_the_programs(tmp_path: Path, knows: bool) -> None:
    """On a quiet machine, and in the midst of waiting that is known."""
    quiet = compared(
        a_run(tmp_path, "a", times(), knows=knows),
        a_run(tmp_path, "b", times(1.05), others=QUIET[::-1], knows=knows),
    )
    assert row(quiet, "wall time").is_sure
    assert row(quiet, "wall time").verdict == "worse"
    assert row(quiet, "task-clock").verdict == "worse"
    if not knows:
        return
    # The same load on both sides, but it was waited for unequally long.
    loaded = compared(
        a_run(tmp_path, "c", times(), waited=[9e7] * 10, others=BUSY),
        a_run(tmp_path, "d", times(1.05), waited=[1e6] * 10, others=BUSY),
    )
    assert row(loaded, "wall time").change == pytest.approx(-0.44, abs=0.01)
    assert row(loaded, "wall time").verdict == "machine"
    assert row(loaded, "task-clock").verdict == "worse"


def test_a_slow_down_beyond_what_others_took_fails(tmp_path: Path) -> None:
    a = a_run(tmp_path, "a", times(), knows=False)
    b = a_run(tmp_path, "b", times(3), others=[0.2] * 10, knows=False)
    assert main(["compare", str(a), str(b), "--fail-on", "wall time=50%"]) == 3
    assert row(compared(a, b), "wall time").verdict == "worse"


def test_what_the_host_took_is_the_machines(tmp_path: Path) -> None:
    """Steal is in CPU time too, and nobody waits for a CPU that is not there."""
    a = a_run(tmp_path, "a", times())
    b = a_run(tmp_path, "b", times(1.3), stolen=[32e6] * 10)
    found = compared(a, b)
    assert {one.metric: one.verdict for one in found.whole if one.verdict} == {
        "wall time": "machine", "task-clock": "machine",
    }  # fmt: skip


def test_switches_that_others_force_are_the_machines(tmp_path: Path) -> None:
    few, many = ([base + at % 3 for at in range(10)] for base in (4.0, 300.0))
    a = a_run(tmp_path, "a", times(), switches=few)
    b = a_run(tmp_path, "b", times(), others=BUSY, switches=many)
    c = a_run(tmp_path, "c", times(), switches=many)
    assert row(compared(a, b), "context-switches").verdict == "machine"
    assert row(compared(a, c), "context-switches").verdict == "more"


def test_runs_of_several_a_side_are_judged_likewise(tmp_path: Path) -> None:
    rng = random.Random(5)

    def runs(label: str, wait: float, others: list[float]) -> Path:
        names = []
        for at in range(4):
            waits = [wait * rng.uniform(0.9, 1.1) for _ in range(10)]
            names.append(str(a_run(tmp_path, f"{label}{at}", times(), waited=waits, others=others)))
        return Path(",".join(names))

    found = compared(runs("a", 0.0, QUIET), runs("b", 4e7, BUSY))
    assert row(found, "wall time").samples == (4, 4)
    assert row(found, "wall time").verdict == "machine"


def test_runs_without_evidence_are_judged_as_before(tmp_path: Path) -> None:
    a = repeated_run(tmp_path, "a", {"wall time": times()})
    b = a_run(tmp_path, "b", times(1.1), others=BUSY)
    assert row(compared(a, b), "wall time").verdict == "worse"


# --- kept -----------------------------------------------------------------------------------------


def test_what_waits_before_the_program_is_there_is_not_the_program() -> None:
    """Between the opening of its gate and execve its process may wait for a CPU, too."""
    usual = os.sched_getaffinity(0)
    (cpu, *_) = usual
    script = f"import os\nos.sched_setaffinity(0, {{{cpu}}})\nprint(flush=True)\nwhile True: pass"
    command = [sys.executable, "-S", "-c", script]
    with ExitStack() as stack:
        for _ in range(3):
            busy = stack.enter_context(subprocess.Popen(command, stdout=subprocess.PIPE))
            stack.callback(busy.kill)
            assert busy.stdout is not None
            busy.stdout.readline()
        stack.callback(os.sched_setaffinity, 0, usual)
        os.sched_setaffinity(0, {cpu})
        found = [command_counters.run(["true"], resolve("task-clock")) for _ in range(10)]
    for one in found:
        assert one.contention is not None
        if one.contention.waited_ns is not None:
            assert one.contention.waited_ns + one.values[0].raw <= 1.01 * one.wall_ns


def test_a_run_keeps_what_others_did() -> None:
    """Of a program of one thread the kernel tells for how long it waited."""
    script = "import os\nos.sched_setaffinity(0, {min(os.sched_getaffinity(0))})\n"
    script += "pid = os.fork()\nfor _ in range(3_000_000): pass\n"
    script += "if pid == 0: os._exit(0)\nos.waitpid(pid, 0)"
    measurement = command_counters.run([sys.executable, "-c", script], resolve("task-clock"))
    contention = measurement.contention
    assert contention is not None
    # Half of the work is its child's, of which nothing can be read any more.
    assert contention.waited_ns is None
    assert contention.others_ns >= 0
    alone = command_counters.run(
        [sys.executable, "-c", "for _ in range(3_000_000): pass"], resolve("task-clock")
    )
    assert alone.contention is not None
    waited = alone.contention.waited_ns
    assert waited is not None
    # Its own time and what it waited for fit into the time that there was.
    assert 0 <= waited <= alone.wall_ns
    assert waited + (alone.user_ns or 0) + (alone.system_ns or 0) <= 1.05 * alone.wall_ns + 5e6
    rows = run_tables.measurement_tables([alone], this_host())
    names = {
        one["name"] for table in rows if table.schema.name == "metrics" for one in table.dicts()
    }
    assert names >= {WAITED, OTHERS, STOLEN}
