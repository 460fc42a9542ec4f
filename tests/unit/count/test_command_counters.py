"""Running a program from within: what is changed for that is undone, for it and for us."""

from __future__ import annotations

import ctypes
import mmap
import os
import resource
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from gnomon import _core
from gnomon.count import attach, command_counters
from gnomon.counters.event_resolver import EventResolution, resolve
from gnomon.errors import GnomonError, ProgramError
from gnomon.hpm.output_names import unique_name
from gnomon.launch.resource_usage import usage_rows
from gnomon.measurement.measurement import Measurement, split_cpu_time
from gnomon.measurement.measurement_metrics import repeat_statistics
from gnomon.measurement.process_counts import process_rows
from gnomon.model.value import Domain, How, Scope, Value

EVENTS = "task-clock,page-faults,minor-faults,major-faults,page-faults:u,minor-faults:u"
HANDLED = (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1,
           signal.SIGUSR2, signal.SIGCHLD)  # fmt: skip


def measured(command: list[str], wanted: EventResolution, *, by_task: bool = False) -> Measurement:
    """Return the measurement; a kernel that cannot tell threads apart is no fault of ours."""
    try:
        return command_counters.run(command, wanted, by_task=by_task)
    except GnomonError as error:
        if "does not report the counts of exiting threads" in str(error):
            pytest.skip(str(error))
        raise


def descriptors() -> set[str]:
    return {entry.name for entry in Path("/proc/self/fd").iterdir() if entry.exists()}


def children() -> set[str]:
    """Return the children that this process has; multiprocessing keeps some of an earlier test."""
    found = (thread / "children" for thread in Path("/proc/self/task").iterdir())
    return {pid for file in found for pid in file.read_text().split()}


@pytest.fixture
def few_files() -> Iterator[int]:
    """Allow few open files: fewer than telling threads apart by six events takes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    taken = descriptors()
    few = max(max(map(int, taken)) + 1, len(taken) + 14)
    resource.setrlimit(resource.RLIMIT_NOFILE, (few, hard))
    yield few
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


# Two threads take turns on one CPU, in a program that counts itself with inherited events.
SELF_COUNTING = """
import os, threading
from gnomon.counters import EventSet
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
def work():
    for _ in range(300):
        sum(range(1000))
        os.sched_yield()
with EventSet(["page-faults", "context-switches"], inherit=True) as inner:
    thread = threading.Thread(target=work)
    thread.start()
    work()
    thread.join()
    print(*inner.stop())
"""


def test_a_program_that_counts_itself_is_told_apart_by_thread(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(SELF_COUNTING)
    for _ in range(4):
        one = measured([sys.executable, str(tmp_path / "own.py")], resolve(EVENTS), by_task=True)
        assert (one.exit_status, one.unavailable) == (0, ())
        clock, faults = (value.raw for value in one.values[:2])
        used_ns = (one.user_ns or 0) + (one.system_ns or 0)
        assert clock == pytest.approx(used_ns, rel=0.2, abs=20_000_000)
        (used,) = (row.value for row in one.rusage if row.field == "ru_minflt")
        assert faults == pytest.approx(used, rel=0.2)


@pytest.mark.parametrize(
    ("clock", "faults", "is_mixed"),
    [
        (500_000_000, 2000, False),
        (420_000_000, 2000, False),
        (900_000_000, 900_000, False),  # of children that nobody waited for, too
        (300_000_000, 2000, True),
        (500_000_000, 30_000_000, True),
        (20_000, 480_000_000, True),
    ],
)
def test_counts_that_cannot_be_the_commands_are_recognised(
    clock: int, faults: int, is_mixed: bool
) -> None:
    values = [
        Value(event, "perf", raw, 1, 1, "", 1.0, Domain.ALL, Scope.THREAD, How.COUNTED)
        for event, raw in (("task-clock", clock), ("page-faults", faults))
    ]
    assert command_counters.is_mixed_up(values, 480_000_000, 20_000_000, 2000) == is_mixed
    assert not command_counters.is_mixed_up((), 480_000_000, 20_000_000, 2000)


@pytest.mark.parametrize("by_task", [True, False])
def test_limit_of_open_files_is_the_programs_own(
    by_task: bool, few_files: int, tmp_path: Path
) -> None:
    command = ["sh", "-c", f"ulimit -Sn > {tmp_path}/limit; ulimit -Hn >> {tmp_path}/limit"]
    measurement = measured(command, resolve(EVENTS), by_task=by_task)
    assert measurement.exit_status == 0
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    soft, seen_hard = (tmp_path / "limit").read_text().split()
    assert int(soft) == few_files
    assert seen_hard == ("unlimited" if hard == resource.RLIM_INFINITY else str(hard))
    assert (measurement.tasks is not None) is by_task


@pytest.mark.parametrize("by_task", [True, False])
def test_nothing_is_left_behind(by_task: bool) -> None:
    before = [signal.getsignal(number) for number in HANDLED]
    wakeup = signal.set_wakeup_fd(-1)
    open_before, children_before = descriptors(), children()
    for status in (0, 3):
        measurement = measured(["sh", "-c", f"exit {status}"], resolve(EVENTS), by_task=by_task)
        assert measurement.exit_status == status
    assert descriptors() == open_before
    assert [signal.getsignal(number) for number in HANDLED] == before
    assert signal.set_wakeup_fd(wakeup) == -1
    assert children() == children_before


def test_nothing_is_left_behind_by_what_does_not_run() -> None:
    before = [signal.getsignal(number) for number in HANDLED]
    open_before, children_before = descriptors(), children()
    for by_task in (True, False):
        with pytest.raises(ProgramError) as caught:
            measured(["/no/such/program"], resolve(EVENTS), by_task=by_task)
        assert caught.value.exit_status == 127
    with pytest.raises(GnomonError):
        attach.attach(int(Path("/proc/sys/kernel/pid_max").read_text()), resolve(EVENTS))
    assert descriptors() == open_before
    assert [signal.getsignal(number) for number in HANDLED] == before
    assert children() == children_before


def test_environment_that_was_changed_meanwhile(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("GNOMON_TEST_ADDED", "yes")
    monkeypatch.delenv("PATH")
    script = f'echo $GNOMON_TEST_ADDED > {tmp_path}/seen; test -z "$(env | grep ^GNOMON_X)"'
    measurement = measured(["/bin/sh", "-c", script], resolve("task-clock"))
    assert (tmp_path / "seen").read_text() == "yes\n"
    assert measurement.command[0] == "/bin/sh"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL], ids=["SIGTERM", "SIGKILL"])
def test_process_killed_at_its_gate_has_a_beginning(number: int) -> None:
    """Otherwise its wall time would be that of the machine."""
    pid, gate = _core.spawn([b"sleep", b"60"], [b"PATH=/bin:/usr/bin"], (), -1)
    os.kill(pid, number)
    if number == signal.SIGKILL:
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    before = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
    started, used, schedule = _core.release(pid, gate)
    assert min(used) >= 0
    assert schedule == b""
    assert before <= started <= time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
    _, status = os.waitpid(pid, 0)
    assert os.WTERMSIG(status) == number


def test_process_does_not_run_before_its_gate_is_opened(tmp_path: Path) -> None:
    marker = tmp_path / "ran"
    pid, gate = _core.spawn([b"touch", os.fsencode(marker)], [b"PATH=/bin:/usr/bin"], (), -1)
    os.close(gate)  # as if whoever started it had died
    _, status = os.waitpid(pid, 0)
    assert os.WEXITSTATUS(status) == 127
    assert not marker.exists()


def test_rows_add_up_to_processes() -> None:
    measurement = measured(["sh", "-c", "true; (true); exit 2"], resolve(EVENTS), by_task=True)
    assert measurement.tasks is not None
    rows = process_rows(measurement)
    assert [row.pid for row in rows].count(measurement.pid) == 1
    assert sum(row.threads or 0 for row in rows) == len(measurement.tasks)
    for at, event in enumerate(measurement.task_values):
        (total,) = (value for value in measurement.values if value.event == event)
        assert total.value is not None
        known = [row.values[at] for row in rows]
        # Of threads that exit at the same instant the kernel may lose records; it says so.
        if None in known:
            assert any("lost records" in note for note in measurement.notes)
            assert sum(one or 0 for one in known) <= total.value
        else:
            assert sum(one or 0 for one in known) == total.value
    assert [value.event for value in measurement.values] == EVENTS.split(",")


def test_spread_of_runs_is_of_what_all_have() -> None:
    runs = [measured(["true"], resolve("task-clock,page-faults")) for _ in range(3)]
    names = [spread.name for spread in repeat_statistics(runs)]
    assert names[0] == "wall time"
    # What the kernel cannot tell apart of a moment is of no run.
    assert "user time" not in names
    assert {"task-clock", "page-faults"} <= set(names)
    assert all(spread.summary.n == 3 for spread in repeat_statistics(runs))
    assert "page-faults" not in {
        s.name for s in repeat_statistics([runs[0], runs[1]._replace(values=())])
    }


def test_peak_memory_that_is_our_own_is_not_the_programs() -> None:
    """A process has its parent's memory until it executes its program, and the kernel keeps it."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    for own_kib, known in ((usage.ru_maxrss + 1, False), (0, True)):
        rows = {row.field: row for row in usage_rows(usage, {"ru_minflt": 5}, own_kib)}
        assert (rows["ru_maxrss"].value is not None) is known
        assert rows["ru_nswap"].value is None
        # What the process did before that is not the program's either.
        assert rows["ru_minflt"].value == usage.ru_minflt - 5
        assert rows["ru_majflt"].value == usage.ru_majflt


def test_peak_memory_is_that_of_programs_far_smaller_than_gnomon() -> None:
    """What executes them has given back what it had of this process, which is large."""
    peaks = []
    for size in ("3M", "8M"):
        command = ["dd", "if=/dev/zero", "of=/dev/null", f"bs={size}", "count=1"]
        measurement = measured(command, resolve("task-clock"))
        (peak,) = (row for row in measurement.rusage if row.field == "ru_maxrss")
        assert isinstance(peak.value, int)
        assert (peak.unit, peak.remark) == ("KiB", "")
        peaks.append(peak.value)
    assert 3072 <= peaks[0] < 7168
    assert 8192 <= peaks[1] < 12288


def test_peak_memory_is_the_programs_however_many_mappings_there_are_here() -> None:
    """More of them than are given back one by one."""
    page, pages = mmap.PAGESIZE, 2000
    with mmap.mmap(-1, page * pages, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as memory:
        first = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        libc = ctypes.CDLL(None, use_errno=True)
        for number in range(0, pages, 2):  # each second one is a mapping of its own
            address = ctypes.c_void_p(first + number * page)
            assert libc.mprotect(address, ctypes.c_size_t(page), mmap.PROT_READ) == 0
        command = ["dd", "if=/dev/zero", "of=/dev/null", "bs=3M", "count=1"]
        measurement = measured(command, resolve("task-clock"))
    (peak,) = (row for row in measurement.rusage if row.field == "ru_maxrss")
    assert isinstance(peak.value, int), peak.remark
    assert 3072 <= peak.value < 7168


def test_what_executes_a_program_keeps_what_a_preloaded_library_may_need(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("LD_PRELOAD", "libm.so.6")
    measurement = measured(["true"], resolve("task-clock"))
    (peak,) = (row for row in measurement.rusage if row.field == "ru_maxrss")
    assert (measurement.exit_status, peak.value) == (0, None)
    assert "that the process used before" in peak.remark


def test_unique_names() -> None:
    moment = time.struct_time((2026, 3, 9, 4, 5, 6, 0, 68, 0))
    for name, made in {
        "out": "out_node7_42_09.03.2026_04.05.06",
        "out.txt": "out_node7_42_09.03.2026_04.05.06.txt",
        "dir.d/out": "dir.d/out_node7_42_09.03.2026_04.05.06",
        "a.b.c": "a.b_node7_42_09.03.2026_04.05.06.c",
        ".out": "node7_42_09.03.2026_04.05.06.out",
    }.items():
        assert unique_name(name, host="node7.example.org", process=42, moment=moment) == made


# Sleeps of no length: the kernel's accounts of them have the switching, a counter has not.
SLEEPER = "import time\nfor _ in range(3000): time.sleep(1e-6)"


@pytest.mark.parametrize(
    ("user", "system", "counted", "expected"),
    [
        (60, 20, None, (60, 20)),
        (60, 20, 90, (60, 20)),
        # A program has no more user time than CPU time.
        (60, 20, 40, (30, 10)),
        (60, 20, 9, (None, None)),
        (6, 3, 20, (None, None)),
        (0, 20, 15, (0, 15)),
    ],
)
def test_user_and_system_time_are_no_more_than_the_cpu_time(
    user: int, system: int, counted: int | None, expected: tuple[int | None, int | None]
) -> None:
    ms = 1_000_000
    found = split_cpu_time(user * ms, system * ms, None if counted is None else counted * ms)
    assert found == tuple(None if one is None else one * ms for one in expected)


def test_times_do_not_contradict_the_cpu_time_that_was_counted() -> None:
    found = measured([sys.executable, "-c", SLEEPER], resolve("task-clock"))
    (clock,) = (value.raw for value in found.values)
    times = [ns for ns in (found.user_ns, found.system_ns) if ns is not None]
    assert sum(times) <= clock
