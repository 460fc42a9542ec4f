"""What /proc tells: read as it is, and whatever it holds."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnomon.counters.component import Target
from gnomon.counters.composite_counters import ResettingSession
from gnomon.counters.event_resolver import resolve
from gnomon.counters.snapshot_counters import CountedField, SnapshotSession, Sources, Unit
from gnomon.model.value import Domain, How, Scope, Value
from gnomon.stat.cpu_groups import places
from gnomon.stat.interval_rows import (
    CGROUP,
    MACHINE,
    NODE,
    SOCKET,
    Derivation,
    IntervalRow,
    Sample,
    vital_values,
)
from gnomon.stat.proc_metrics import CPU_TIMES, PROC_METRICS, MachineMetrics, ProcessMetrics
from gnomon.stat.targets import grown
from gnomon.stat.totals import Totals

STAT = b"""cpu  20 10 30 40 5 1 2 7 0 0
cpu0 10 10 10 10 5 1 2 7 0 0
cpu7 10 0 20 30 0 0 0 0 0 0
intr 123 4 5 6
ctxt 456
btime 1
processes 78
procs_running 3
procs_blocked 1
"""


def proc(folder: Path, **files: bytes) -> str:
    for name, data in files.items():
        (folder / name).write_bytes(data)
    return str(folder)


def test_numbers_of_the_files(tmp_path: Path) -> None:
    root = proc(
        tmp_path,
        stat=STAT,
        meminfo=b"MemTotal: 9 kB\nMemFree: 1 kB\nMemAvailable:   2048 kB\n",
        vmstat=b"nr_free_pages 1\npswpin 3\npswpout 4\n",
    )
    vitals = MachineMetrics(root)
    machine, cpus = vitals.read()
    vitals.close()
    tick_ns = 10**9 // os.sysconf("SC_CLK_TCK")
    assert [machine[name] / tick_ns for name in CPU_TIMES] == [30, 33, 40, 5, 7]
    assert sorted(cpus) == [0, 7]
    assert cpus[7]["proc.system_time"] == 20 * tick_ns
    assert machine["proc.interrupts"] == 123
    assert machine["proc.runnable"] == 2  # without ourselves
    assert machine["proc.available_memory"] == 2048
    assert (machine["proc.swap_in"], machine["proc.swap_out"]) == (3, 4)
    assert set(machine) <= set(PROC_METRICS)
    assert vitals.read() == ({}, {})


@given(st.binary(max_size=400), st.binary(max_size=60), st.integers(0, len(STAT)))
def test_rubbish_is_left_out(tmp_path: Path, rubbish: bytes, other: bytes, cut: int) -> None:
    """Truncated, huge or nonsensical: never an exception, never a negative number."""
    text = STAT[:cut] + rubbish + b"\ncpu" + other + b"\nctxt " + other + b"\nintr \n"
    root = proc(tmp_path, stat=text, meminfo=b"\nMemAvailable:" + other, vmstat=rubbish)
    vitals = MachineMetrics(root)
    machine, cpus = vitals.read()
    vitals.close()
    assert set(machine) <= set(PROC_METRICS)
    assert all(number >= 0 for number in machine.values())
    assert all(number >= 0 for cpu in cpus.values() for number in cpu.values())
    (tmp_path / "7").mkdir(exist_ok=True)
    (tmp_path / "7" / "stat").write_bytes(b"7 (" + rubbish + b") S " + other)
    process = ProcessMetrics(7, root)
    assert all(number >= 0 for number in process.read().values())
    process.close()


def test_our_own_time_is_seen() -> None:
    vitals = ProcessMetrics(os.getpid())
    before = vitals.read()
    end = time.process_time() + 0.2
    while time.process_time() < end:
        pass
    now = vitals.read()
    vitals.close()
    grown = {v.event: v for v in vital_values(before, now, 10**9)}
    spent = (grown["proc.user_time"].value or 0) + (grown["proc.system_time"].value or 0)
    assert spent == pytest.approx(0.2, abs=0.06)
    assert grown["proc.user_time"].how is How.SAMPLED
    assert (grown["proc.resident_memory"].value or 0) > 1 << 20


def test_a_time_that_goes_back_is_no_time() -> None:
    """The kernel's iowait does, now and then."""
    (value,) = vital_values({"proc.iowait_time": 50}, {"proc.iowait_time": 40}, 1)
    assert value.value == 0
    # What was not there before has no difference; a gauge needs none.
    values = vital_values({}, {"proc.idle_time": 40, "proc.runnable": 2}, 1)
    assert [(v.event, v.value) for v in values] == [("proc.runnable", 2)]


def test_nodes_and_sockets(tmp_path: Path) -> None:
    for node, cpus in (("node0", "0,2\n"), ("node1", "1,3\n"), ("node2", "\n"), ("nodes", "5\n")):
        folder = tmp_path / "devices" / "system" / "node" / node
        folder.mkdir(parents=True)
        (folder / "cpulist").write_text(cpus)
    # One that has memory only has no row; a CPU that is offline is in none.
    nodes = places("node", (0, 1, 2), str(tmp_path))
    assert nodes == {(NODE, "0"): (0, 2), (NODE, "1"): (1,)}
    # Without nodes there are sockets, and without those nothing.
    for cpu, socket in ((0, 1), (1, 0), (2, 1)):
        folder = tmp_path / "devices" / "system" / "cpu" / f"cpu{cpu}" / "topology"
        folder.mkdir(parents=True)
        (folder / "physical_package_id").write_text(f"{socket}\n")
    shutil.rmtree(tmp_path / "devices" / "system" / "node")
    assert places("node", (0, 1, 2), str(tmp_path)) == {(SOCKET, "0"): (1,), (SOCKET, "1"): (0, 2)}
    assert places("node", (9,), str(tmp_path)) == {}


def value(raw: int, enabled_ns: int, running_ns: int, factor: float = 1) -> Value:
    how = How.COUNTED if enabled_ns == running_ns else How.SCALED
    return Value("x", "cpu", raw, enabled_ns, running_ns, "", factor, Domain.ALL, Scope.NODE, how)


@given(
    st.lists(
        st.tuples(st.integers(0, 10**12), st.integers(1, 10**10), st.floats(0, 1)),
        min_size=1,
        max_size=8,
    )
)
def test_totals_are_the_sums_of_what_was_told(intervals: list[tuple[int, int, float]]) -> None:
    totals = Totals(Derivation(()))
    told: list[float] = []
    for number, (raw, span_ns, share) in enumerate(intervals, 1):
        one = value(raw, span_ns, round(share * span_ns))
        told.append(one.value or 0)
        row = IntervalRow(MACHINE, "", (one,))
        totals.add(Sample(number, 0, span_ns, 0.0, (row,)))
    total = totals.rows[MACHINE, ""]["x"]
    assert total.sum == pytest.approx(sum(told))
    summary = totals.summary()
    assert summary is not None
    (whole,) = summary.rows[0].values
    assert (whole.value or 0) == pytest.approx(sum(told), rel=1e-6, abs=len(told) * 2e10)
    assert summary.span_ns == sum(span for _, span, _ in intervals)


def test_a_value_that_was_not_measured_adds_nothing() -> None:
    totals = Totals(Derivation(()))
    for number, one in enumerate((value(5, 10, 10), value(0, 10, 0), value(6, 10, 10)), 1):
        totals.add(Sample(number, 0, 10, 0.0, (IntervalRow(MACHINE, "", (one,)),)))
    assert totals.rows[MACHINE, ""]["x"].sum == 11


def test_a_summary_has_the_mean_of_a_gauge_over_time() -> None:
    totals = Totals(Derivation(()))
    for number, span_ns in ((3, 10**9), (6, 3 * 10**9)):
        (gauge,) = vital_values({}, {"proc.runnable": number}, span_ns)
        totals.add(Sample(1, 0, span_ns, 0.0, (IntervalRow(MACHINE, "", (gauge,)),)))
    summary = totals.summary()
    assert summary is not None
    assert summary.rows[0].values[0].value == pytest.approx(5.25)
    # What is served meanwhile is the present value.
    assert totals.rows[MACHINE, ""]["proc.runnable"].last.value == 6


def test_a_summary_is_of_as_many_cpus_as_its_intervals() -> None:
    span_ns, cpus = 10**9, (os.cpu_count() or 1) + 1
    clock = Value("task-clock", "kernel", span_ns // 2, span_ns, span_ns, "ns", 1, Domain.ALL,
                  Scope.CPU, How.COUNTED)  # fmt: skip
    derive = Derivation(())
    totals = Totals(derive)
    gone = IntervalRow(CGROUP, "c", (), gap="offline")
    for row in (IntervalRow(CGROUP, "c", (clock,), derive.of((clock,), span_ns, cpus)), gone):
        totals.add(Sample(1, 0, span_ns, 0.0, (row,)))
    summary = totals.summary()
    assert summary is not None
    found = {metric.name: metric.value for metric in summary.rows[0].metrics}
    # Half of one CPU in one of two seconds.
    assert found["machine_utilisation"] == pytest.approx(25 / cpus)


def test_a_disk_that_came_and_went_counts_nothing_backwards() -> None:
    there = {"a": Unit({"n": 1}, 1)}
    sources = Sources(
        lambda: dict(there), lambda _pid: pytest.fail("no process"), lambda _f, _n: {}
    )
    counting = ResettingSession(
        SnapshotSession([CountedField(("n",), None, Scope.NODE)], Target(), sources), [False]
    )
    counting.start()
    events = resolve("io:::disk_read_bytes").events
    there["b"] = Unit({"n": 1000}, 2)
    (came,) = grown(events, counting.take()).values()
    assert (came.raw, came.running_ns > 0) == (1000, True)
    del there["b"]
    (went,) = grown(events, counting.take()).values()
    assert (went.raw, went.running_ns) == (0, 0)
    assert went.enabled_ns > 0
