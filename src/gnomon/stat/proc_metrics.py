"""What /proc and the cgroups tell of a machine, a CPU, a cgroup and a process.

Source: proc_stat(5), proc_meminfo(5), proc_vmstat(5), proc_pid_stat(5), proc_pid_statm(5);
Documentation/admin-guide/cgroup-v2.rst, cgroup-v1/cpuacct.rst.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress

from gnomon.counters.component import EventInfo
from gnomon.counters.procfs import stat_fields, whole
from gnomon.model.value import How, Scope
from gnomon.named_tuple import NamedTuple

COMPONENT = "proc"
_TICK_NS = 1_000_000_000 // os.sysconf("SC_CLK_TCK")
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_CHUNK_BYTES = 1 << 16

Numbers = dict[str, int]
"""What was read at one moment, by the name of the vital, in its unit divided by its factor."""


class ProcMetric(NamedTuple):
    """One number that is read; `factor` multiplies it into the unit of `info`."""

    info: EventInfo
    factor: float = 1


def _vital(name: str, unit: str, text: str, factor: float = 1, *, gauge: bool = False,
           how: How = How.COUNTED) -> tuple[str, ProcMetric]:  # fmt: skip
    name = f"{COMPONENT}.{name}"
    return name, ProcMetric(EventInfo(name, COMPONENT, text, unit, Scope.NODE, how, gauge), factor)


def _time(name: str, text: str) -> tuple[str, ProcMetric]:
    return _vital(name, "s", text, 1e-9, how=How.SAMPLED)


PROC_METRICS: Mapping[str, ProcMetric] = dict(
    (
        _time("user_time", "CPU time in user mode, guests included, by the kernel's tick"),
        _time("system_time", "CPU time in the kernel, interrupts included, by the kernel's tick"),
        _time("idle_time", "CPU time idle, by the kernel's tick"),
        _time("iowait_time", "CPU time idle while a task of the CPU waited for a disk"),
        _time("steal_time", "time that the hypervisor gave to others"),
        _vital("runnable", "", "tasks that run or wait for a CPU", gauge=True),
        _vital("blocked", "", "tasks that wait for a disk", gauge=True),
        _vital("context_switches", "", "context switches"),
        _vital("interrupts", "", "interrupts"),
        _vital("forks", "", "processes and threads created"),
        _vital("available_memory", "bytes", "memory that programs can still get", 1024, gauge=True),
        _vital("swap_in", "bytes", "read from swap", _PAGE_BYTES),
        _vital("swap_out", "bytes", "written to swap", _PAGE_BYTES),
        _vital("resident_memory", "bytes", "memory in use", gauge=True),
        _vital("threads", "", "threads", gauge=True),
    )
)
"""Every vital by name; whether a row has one depends on what it is a row of."""

USER_TIME, SYSTEM_TIME = f"{COMPONENT}.user_time", f"{COMPONENT}.system_time"
CPU_TIMES = tuple(
    f"{COMPONENT}.{name}_time" for name in ("user", "system", "idle", "iowait", "steal")
)
_OF_STAT = {
    b"ctxt": "proc.context_switches",
    b"processes": "proc.forks",
    b"procs_running": "proc.runnable",
    b"procs_blocked": "proc.blocked",
    b"intr": "proc.interrupts",
}

# Fields of proc_pid_stat(5), and what multiplies them.
_OF_PROCESS = (
    ("proc.user_time", 14, _TICK_NS),
    ("proc.system_time", 15, _TICK_NS),
    ("proc.threads", 20, 1),
    ("proc.resident_memory", 24, _PAGE_BYTES),
)


class _File:
    """A file of /proc or a cgroup that stays open; what it holds now, b"" if it cannot be read."""

    def __init__(self, path: str, directory: int | None = None) -> None:
        self._fd = -1
        with suppress(OSError):
            self._fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC, dir_fd=directory)

    def read(self) -> bytes:
        if self._fd < 0:
            return b""
        parts = []
        offset = 0
        with suppress(OSError):
            while part := os.pread(self._fd, _CHUNK_BYTES, offset):
                parts.append(part)
                offset += len(part)
        return b"".join(parts)

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


class MachineMetrics:
    """/proc/stat and other files about the whole machine."""

    def __init__(self, proc: str = "/proc", *, times_only: bool = False) -> None:
        """Open the files; `times_only` leaves everything but CPU times out."""
        self._times_only = times_only
        self._stat = _File(f"{proc}/stat")
        self._memory = _File("" if times_only else f"{proc}/meminfo")
        self._paging = _File("" if times_only else f"{proc}/vmstat")

    def read(self) -> tuple[Numbers, dict[int, Numbers]]:
        """Return the numbers of the machine, and of each CPU that is online."""
        machine: Numbers = {}
        cpus: dict[int, Numbers] = {}
        for line in self._stat.read().split(b"\n"):
            name, _, rest = line.partition(b" ")
            if name[:3] == b"cpu":
                times = _cpu_times(rest)
                if name == b"cpu":
                    machine.update(times)
                elif (number := whole(name[3:].decode("ascii", "replace"))) is not None:
                    cpus[number] = times
            elif self._times_only:
                break
            elif name in _OF_STAT:
                # The line of interrupts goes on with thousands of them.
                found = _number(rest.split(b" ", 1)[0])
                if found is not None:
                    machine[_OF_STAT[name]] = found
        if self._times_only:
            return machine, cpus
        # That the reading itself runs is no news, and vmstat leaves itself out, too.
        if "proc.runnable" in machine:
            machine["proc.runnable"] = max(machine["proc.runnable"] - 1, 0)
        _find(machine, self._memory.read(), b"\nMemAvailable:", "proc.available_memory")
        paging = self._paging.read()
        _find(machine, paging, b"\npswpin ", "proc.swap_in")
        _find(machine, paging, b"\npswpout ", "proc.swap_out")
        return machine, cpus

    def close(self) -> None:
        """Close the files."""
        for file in (self._stat, self._memory, self._paging):
            file.close()


class ProcessMetrics:
    """CPU time, memory and threads of a process."""

    def __init__(self, pid: int, proc: str = "/proc", *, times_only: bool = False) -> None:
        """Open the file; `times_only` leaves everything but CPU times out."""
        self._fields = _OF_PROCESS[: 2 if times_only else None]
        self._file = _File(f"{proc}/{pid}/stat")

    def read(self) -> Numbers:
        """Return the numbers, {} if the process is gone."""
        fields = stat_fields(self._file.read().decode("utf-8", "replace"))
        if len(fields) < 25:
            return {}
        numbers: Numbers = {}
        for name, at, factor in self._fields:
            number = whole(fields[at])
            if number is not None:
                numbers[name] = number * factor
        return numbers

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class CgroupMetrics:
    """CPU time and memory of a cgroup, as far as its controllers tell."""

    def __init__(self, directory: int, *, times_only: bool = False) -> None:
        """Open the files; `times_only` leaves everything but CPU times out."""
        self._times = _File("cpu.stat", directory)
        self._memory = _File("" if times_only else "memory.current", directory)

    def read(self) -> Numbers:
        """Return the numbers, {} if the cgroup is gone or has none."""
        numbers: Numbers = {}
        text = b"\n" + self._times.read()
        for name, key in (("user_time", b"\nuser_usec "), ("system_time", b"\nsystem_usec ")):
            number = _after(text, key)
            if number is not None:
                numbers[f"proc.{name}"] = number * 1000
        used = _number(self._memory.read().strip())
        if used is not None:
            numbers["proc.resident_memory"] = used
        return numbers

    def close(self) -> None:
        """Close the files."""
        self._times.close()
        self._memory.close()


def _cpu_times(text: bytes) -> Numbers:
    """Return user (with nice), system (with interrupts), idle, iowait and steal of a line."""
    numbers = [(_number(word) or 0) * _TICK_NS for word in text.split()]
    user, nice, system, idle, iowait, irq, softirq, steal = (numbers + [0] * 8)[:8]
    return {
        "proc.user_time": user + nice,
        "proc.system_time": system + irq + softirq,
        "proc.idle_time": idle,
        "proc.iowait_time": iowait,
        "proc.steal_time": steal,
    }


def _number(text: bytes) -> int | None:
    return int(text) if text.isdigit() and len(text) < 20 else None


def _find(into: Numbers, text: bytes, key: bytes, name: str) -> None:
    number = _after(text, key)
    if number is not None:
        into[name] = number


def _after(text: bytes, key: bytes) -> int | None:
    position = text.find(key)
    if position < 0:
        return None
    line = text[position + len(key) : position + len(key) + 64].split(b"\n", 1)[0]
    return _number(line.strip().split(b" ", 1)[0])
