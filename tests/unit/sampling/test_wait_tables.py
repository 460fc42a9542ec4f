"""Waits of record files that are written here: what for, on which paths, and what is estimated."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import sample_records
from sample_records import CLOCK, NONE

from gnomon.model.capability_result import rows_of
from gnomon.sampling import sample_tables
from gnomon.sampling.sample_file import read_samples
from gnomon.sampling.wait_reasons import WaitFrame, reason_of
from gnomon.store.record_file import open_records

WAIT = {
    **CLOCK,
    "name": "context-switches",
    "unit": "",
    "is_clock": False,
    "is_wait": True,
    "has_spans": True,
}
LOOKED, FUTEX, READ = 16, 2, 5
RUNNABLE, BY_INTERRUPT = 1, 2
EPOCH = 1_700_000_000_000_000_000
MS = 1_000_000


def write(folder: Path) -> Path:
    """Write waits of two threads: one is woken, one is preempted; of others no stacks are known."""
    rows = sample_records.records()
    rows["event"].append((1, json.dumps(WAIT)))
    # Begin, duration, thread, node, CPU, event, end, flags.
    rows["sample"] += [
        (10 * MS, 8 * MS, 0, 2, 0, 1, 0, 0),
        (20 * MS, 2 * MS, 0, 1, 0, 1, 0, 0),
        (10 * MS, 32 * MS, 1, 5, 0, 1, 0, LOOKED),
    ]
    # Woken, subject, sample, waker, holder, call, flags.
    rows["wait"] = [
        (16 * MS, 0, 4, 51, 0, 0, 0),
        (0, 0, 5, 0, 0, 0, RUNNABLE),
        (30 * MS, 0x1000, 6, 0, 50, READ, BY_INTERRUPT),
    ]
    # Nanoseconds, number, thread, duration, whether runnable: as long as the first wait; as the
    # other thread's; as none.
    rows["rest"] = [
        (12 * MS, 2, 0, 22, 0), (40 * MS, 2, 0, 24, 0), (7, 1, 1, 2, 0), (5 * MS, 4, 1, 20, 1),
    ]  # fmt: skip
    rows["span"] = [(5 * MS, 105 * MS, 0), (6 * MS, 56 * MS, 1)]
    return sample_records.write(folder / "n.1.2.samples.gnrec", rows)


@pytest.fixture
def tables(tmp_path: Path) -> list[Any]:
    write(tmp_path)
    return list(sample_tables.collect(tmp_path).tables)


def waits(tables: list[Any]) -> dict[tuple[str, ...], float]:
    """Return the milliseconds that each thread waited by itself on each path."""
    regions = {row["region"]: row["name"] for row in rows_of(tables, "regions")}
    paths = {row["path"]: row for row in rows_of(tables, "paths")}
    names = {row["location"]: row["name"] for row in rows_of(tables, "locations")}
    (metric,) = (
        row["metric"] for row in rows_of(tables, "metrics") if row["name"] == "Waiting time"
    )

    def stack(path: Any) -> tuple[str, ...]:
        row = paths[path]
        above = stack(row["parent"]) if row["parent"] != -1 else ()
        return (*above, str(regions[row["region"]]))

    return {
        (str(names[row["location"]]), *stack(row["path"])[1:]): float(row["exclusive"] or 0) * 1e3
        for row in rows_of(tables, "profile")
        if row["metric"] == metric and row["exclusive"]
    }


def test_each_wait_stands_below_what_was_waited_for(tables: list[Any]) -> None:
    found = waits(tables)
    outer, inner = (str(rows_of(tables, "regions")[number]["name"]) for number in (1, 2))
    # The kernel's function is not on the path; what remained after it was woken was for a CPU.
    assert found["app", outer, inner, "[waiting]"] == pytest.approx(6)
    assert found["app", outer, inner, "[waiting for a CPU]"] == pytest.approx(4)
    assert found["worker", outer, "[jit]", "[read]"] == pytest.approx(20)
    assert found["worker", outer, "[jit]", "[waiting for a CPU]"] == pytest.approx(12)


def test_waits_without_stacks_go_to_those_that_took_as_long(tables: list[Any]) -> None:
    found = waits(tables)
    outer, inner = (str(rows_of(tables, "regions")[number]["name"]) for number in (1, 2))
    # Of the same thread; of another one of the process; nowhere.
    assert found["app", outer, inner, "[waiting, estimated]"] == pytest.approx(12)
    assert found["app", outer, "[jit]", "[read, estimated]"] == pytest.approx(40)
    assert found["worker", "[waiting, stack not taken]"] == pytest.approx(7e-6, abs=1e-6)
    cpu = sum(value for path, value in found.items() if path[-1].startswith("[waiting for a CPU"))
    assert cpu == pytest.approx(4 + 12 + 5)
    assert sum(found.values()) == pytest.approx(8 + 2 + 32 + 12 + 40 + 5, abs=1e-4)


def test_samples_have_the_begin_of_each_part_and_who_ended_it(tables: list[Any]) -> None:
    taken = [
        (row["time_ns"], round(1e3 * float(row["weight"] or 0), 3), row["woken_by"], row["held_by"])
        for row in rows_of(tables, "samples")
        if row["address"] is None
    ]
    assert sorted(taken) == [
        (EPOCH + 10 * MS, 6, "worker (51)", ""), (EPOCH + 10 * MS, 20, "interrupt", ""),
        (EPOCH + 16 * MS, 2, "", ""), (EPOCH + 20 * MS, 2, "", ""), (EPOCH + 30 * MS, 12, "", ""),
    ]  # fmt: skip


def test_threads_have_their_begin_and_duration(tables: list[Any]) -> None:
    spans = [(row["start_ns"], row["duration_ns"]) for row in rows_of(tables, "events")]
    assert spans == [(EPOCH + 5 * MS, 100 * MS), (EPOCH + 6 * MS, 50 * MS)]


def test_samples_of_clocks_are_as_without_waits(tmp_path: Path, tables: list[Any]) -> None:
    other = tmp_path / "other"
    other.mkdir()
    sample_records.write(other / "n.1.2.samples.gnrec", sample_records.records())
    alone = list(sample_tables.collect(other).tables)
    clock = rows_of(alone, "metrics")[0]["metric"]
    for name, columns in (("profile", ("inclusive", "exclusive", "raw")), ("samples", ("weight",))):
        with_waits, without = (
            sorted(
                tuple(float(row[column] or 0) for column in columns)
                for row in rows_of(every, name)
                if row["metric"] == clock
            )
            for every in (tables, alone)
        )
        assert with_waits == without


@pytest.mark.parametrize(
    ("kind", "row"),
    [
        ("wait", (0, 0, NONE, 0, 0, 0, 0)),
        ("wait", (1 << 63, 0, 4, -1, -1, 255, 255)),
        ("rest", ((1 << 64) - 1, NONE, 1, 0xFFFF, 255)),
        ("span", (1 << 63, 0, 0)),
    ],
)
def test_nonsense_is_no_crash(kind: str, row: tuple[int, ...], tmp_path: Path) -> None:
    path = write(tmp_path)
    rows = sample_records.records()
    rows["event"].append((1, json.dumps(WAIT)))
    rows["sample"].append((1 << 63, 1 << 63, 0, NONE, 0, 1, 9, 0xFF))
    rows[kind] = [row]
    path.unlink()
    sample_records.write(path, rows)
    tables = list(sample_tables.collect(tmp_path).tables)
    assert rows_of(tables, "locations")


def test_a_record_of_a_thread_that_is_not_there_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path)
    path.unlink()
    sample_records.write(path, {**sample_records.records(), "rest": [(1, 1, 9, 0, 0)]})
    with pytest.raises(Exception, match="thread of a record is number 9 of 2"):
        read_samples(open_records(path))


LIBC = "libc.so.6"
SYSCALL = ("do_syscall_64", "entry_SYSCALL_64_after_hwframe")


@pytest.mark.parametrize(
    ("kernel", "frames", "call", "reason"),
    [
        (("schedule", "futex_wait", "__x64_sys_futex", *SYSCALL),
         (("__lll_lock_wait", LIBC), ("pthread_mutex_lock", LIBC), ("f", "app")), 0, "[lock]"),
        (("schedule", "do_futex", "__x64_sys_futex", "x64_sys_call", *SYSCALL),
         (("__futex_abstimed_wait_common", LIBC), ("pthread_cond_wait", LIBC), ("f", "app")), 0,
         "[condition variable]"),
        ((), (("libc.so.6+0x1", LIBC), ("pthread_cond_timedwait", LIBC),
              ("python3.11+0x2", "python3.11")), FUTEX, "[GIL]"),
        ((), (("sem_clockwait", LIBC), ("PyThread_acquire_lock_timed", "libpython3.11.so.1.0")),
         FUTEX, "[lock]"),
        ((), (("sem_wait", LIBC), ("f", "app")), FUTEX, "[semaphore]"),
        ((), (("syscall", LIBC), ("libgomp.so.1+0x1", "libgomp.so.1.0.0"), ("GOMP_barrier",
              "libgomp.so.1.0.0")), FUTEX, "[OpenMP team]"),
        ((), (("syscall", LIBC), ("libgomp.so.1+0x1", "libgomp.so.1.0.0"), ("GOMP_critical_start",
              "libgomp.so.1.0.0")), FUTEX, "[lock]"),
        (("schedule", "anon_pipe_read", "vfs_read", "ksys_read", *SYSCALL), (("read", LIBC),), 0,
         "[read: pipe]"),
        (("schedule", "unix_stream_read_generic", "sock_recvmsg", "__sys_recvfrom",
          "__x64_sys_recvfrom", *SYSCALL), (), 0, "[read: socket]"),
        (("io_schedule", "folio_wait_bit_common", "filemap_read", "ksys_read", *SYSCALL), (), 0,
         "[read: file]"),
        (("schedule", "ep_poll", "do_epoll_wait", "__arm64_sys_epoll_pwait", "el0_svc"), (), 0,
         "[poll]"),
        (("schedule", "do_nanosleep", "__x64_sys_clock_nanosleep", *SYSCALL), (), 0, "[sleep]"),
        (("schedule", "do_wait", "kernel_wait4", "__do_sys_wait4", *SYSCALL), (), 0,
         "[child process]"),
        (("io_schedule", "handle_mm_fault", "do_user_addr_fault", "exc_page_fault"), (), 0,
         "[page fault]"),
        (("schedule", "do_signal_stop", "get_signal", "irqentry_exit_to_user_mode",
          "asm_exc_page_fault"), (), 0, "[stopped]"),
        (("schedule", "x64_sys_call", *SYSCALL), (), READ, "[read]"),
        ((), (), READ | 2 << 4, "[read: socket]"),
        ((), (), READ | 15 << 4, "[read]"),
        ((), (), FUTEX | 1 << 4, "[futex]"),
        (("schedule", "__x64_sys_getrandom", *SYSCALL), (), 0, "[getrandom]"),
        ((), (("poll", LIBC), ("opal_progress", "libopen-pal.so.40"), ("PMPI_Recv", "libmpi.so.40"),
              ("main", "app")), 4, "[MPI]"),
        # Names of the kernel's functions are not known: to users, and after a kill.
        (("[kernel]", "[kernel]"), (("__clock_nanosleep", LIBC), ("f", "app")), 0, "[sleep]"),
        (("[kernel]",), (("__libc_read", LIBC), ("f", "app")), 0, "[read]"),
        (("[kernel]",), (("__GI___poll", LIBC), ("f", "app")), 0, "[poll]"),
        (("[kernel]",), (("__lll_lock_wait", LIBC), ("pthread_mutex_lock", LIBC)), 0, "[lock]"),
        (("[kernel]",), (("read", "app"),), 0, "[waiting]"),
        ((), (), 0, "[waiting]"),
        ((), (), 255, "[waiting]"),
    ],
)  # fmt: skip
def test_reasons(
    kernel: tuple[str, ...], frames: tuple[tuple[str, str], ...], call: int, reason: str
) -> None:
    assert reason_of(kernel, [WaitFrame(*frame) for frame in frames], call) == reason
