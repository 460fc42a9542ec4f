"""Small perf.data files of every kind, as what is damaged."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from perf_data_files import (
    ADDR,
    BRANCHES,
    CALLCHAIN,
    CONTEXT_KERNEL,
    CONTEXT_USER,
    DATA_SRC,
    ID,
    KERNEL,
    KSYMBOL,
    LOST,
    READ,
    REGS_USER,
    ROUND,
    STACK_USER,
    START,
    USUAL,
    WEIGHT,
    Event,
    PerfData,
)

BASE = 0x400000
REGISTERS = 0xFF01FF


def everything(order: str, *, is_pipe: bool = False) -> bytes:
    """Return a small file that has all that is looked at."""
    first = Event(USUAL | ADDR | ID | CALLCHAIN | BRANCHES | WEIGHT | DATA_SRC, ids=(1, 2),
                  branch_type=1 << 11, name="cycles")  # fmt: skip
    second = Event(USUAL | ADDR | ID | READ | CALLCHAIN | BRANCHES | REGS_USER | STACK_USER,
                   ids=(3,), registers=REGISTERS, read_format=4 | 8, name="faults")  # fmt: skip
    data = PerfData(first, second, order=order)
    data.mmap(-1, 0xFFFFFFFF81000000, 0x1000000, "[kernel.kallsyms]_text", misc=KERNEL,
              offset=0xFFFFFFFF81000000)  # fmt: skip
    data.comm(1, "app")
    data.mmap2(1, BASE, 0x10000, "/made/app", build_id=bytes(20))
    data.mmap2(1, 0x7F0000000000, 0x100000, sys.executable)
    data.mmap2(1, 0x7F1000000000, 0x1000, "//anon")
    data.fork(2, 1, START + 3)
    data.other(KSYMBOL, data.pack("QI2H", (1 << 64) - 8192, 9, 1, 0) + b"made\0", START)
    data.other(LOST, data.pack("2Q", 1, 5), START + 2)
    data.add(ROUND)
    branches = data.branch(BASE + 8, BASE + 16, mispredicted=True, cycles=3)
    for number in range(3):
        data.sample(BASE + 4, callchain=(CONTEXT_KERNEL, (1 << 64) - 8190, CONTEXT_USER, BASE + 9),
                    branches=branches * 2, addr=number, weight=7, time=START + number)  # fmt: skip
        registers = (2, *(0x7F0000001000 + number for _ in range(17)))
        data.sample(0x7F0000001000, event=1, pid=2, read=(2, 9, 1, 8 + number, 3), stack=bytes(256),
                    branches=branches, registers=registers, time=START + 9)  # fmt: skip
    data.add(ROUND)
    return data.pipe() if is_pipe else data.file()


def recorded(folder: Path) -> dict[str, bytes]:
    """Return files that perf has recorded here, if it can."""
    files = {}
    for name, options in (("clock", ("-g",)), ("stacks", ("--call-graph", "dwarf,1024")),
                          ("compressed", ("-z",))):  # fmt: skip
        path = folder / name
        command = ["perf", "record", "-q", "-B", "-N", "-F", "10000", "-e", "cpu-clock:u", *options,
                   "-o", str(path), "--", "true"]  # fmt: skip
        done = shutil.which("perf") and subprocess.run(command, capture_output=True, check=False)
        if done and not done.returncode and path.stat().st_size < 200_000:
            files[name] = path.read_bytes()
    return files


def profiles(folder: Path) -> dict[str, bytes]:
    return recorded(folder) | {
        "little": everything("<"), "big": everything(">"),
        "pipe": everything("<", is_pipe=True), "big pipe": everything(">", is_pipe=True),
    }  # fmt: skip
