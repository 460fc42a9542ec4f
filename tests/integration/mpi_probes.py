"""Calls of MPI and their bytes by uprobes in the MPI's own library: a count without our wrappers.

The kernel tells each entry of a routine, with the number of elements and the size of their type out
of the registers. What an MPI calls of itself by its exported names is told, too.
"""

from __future__ import annotations

import os
import platform
import re
import struct
import subprocess
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest
from mpi import MPICH, OPEN_MPI, Mpi

TRACING = Path("/sys/kernel/tracing")
BUFFER_KB = 200_000
# Registers of a call's arguments. Source: System V ABI of x86-64, 3.2.3.
REGISTERS = ("%di", "%si", "%dx", "%cx", "%r8", "%r9")
# Which arguments are the number of elements and their type, of what a call sends; the peer if it
# may be MPI_PROC_NULL. Source: MPI 4.0, the bindings of each routine.
SENDS = dict.fromkeys(
    ("Send", "Ssend", "Bsend", "Rsend", "Isend", "Issend", "Ibsend", "Irsend", "Sendrecv",
     "Sendrecv_replace"), (1, 2, 3),
)  # fmt: skip
BUFFERS = (
    SENDS
    | dict.fromkeys(("Gather", "Allgather", "Put", "Accumulate"), (1, 2, None))
    | dict.fromkeys(("Reduce", "Allreduce", "Scan", "Iallreduce"), (2, 3, None))
    | dict.fromkeys(("File_write_at", "File_write_at_all"), (3, 4, None))
    | dict.fromkeys(("File_write", "File_write_all"), (2, 3, None))
)
# Those whose counts have 64 bits, where the MPI has them.
BUFFERS |= {f"{name}_c": places for name, places in BUFFERS.items()}
# Bcast's, Scatter's and Alltoall's bytes depend on who the root is, or how many ranks there are.
OTHERS = (
    "Init", "Init_thread", "Finalize", "Abort", "Recv", "Irecv", "Mrecv", "Wait", "Waitall",
    "Waitany", "Waitsome", "Bcast", "Barrier", "Alltoall", "Alltoallv", "Alltoallw", "Scatter",
    "Gatherv", "Allgatherv", "Reduce_scatter", "Exscan", "Ibcast", "Ibarrier", "Comm_dup",
    "Comm_split", "Comm_create", "Comm_free", "Comm_spawn", "Intercomm_create", "Cart_create",
    "Win_create", "Win_fence", "Get", "Win_free", "File_open", "File_close", "File_read_at",
    "File_set_view", "Wtime", "Type_commit", "Send_init", "Recv_init", "Start", "Startall",
    "Request_free", "Comm_rank", "Comm_size", "Type_contiguous", "Type_vector", "Comm_group",
    "Get_count", "Pack", "Unpack", "Recv_c",
)  # fmt: skip
# Negative in both. Source: mpi.h of Open MPI and of MPICH.
PROC_NULL = {OPEN_MPI: -2, MPICH: -1}
_LINE = re.compile(r"\s(\w+): \(0x[0-9a-f]+\)(.*)$")
_FIELD = re.compile(r"(\w+)=(-?\w+)")


class Probed(NamedTuple):
    """What the library was asked for: calls by routine, and bytes of those that tell them."""

    calls: Counter[str]
    sent: Counter[str]


def library(mpi: Mpi) -> Path:
    """Return the file that has an MPI's routines."""
    return Path("/usr/lib/x86_64-linux-gnu") / mpi.library


def need_probes(mpi: Mpi) -> None:
    """Skip a test where the kernel has no uprobes for this user, or calls are made otherwise."""
    if platform.machine() != "x86_64" or not library(mpi).exists():
        pytest.skip("arguments are in other registers here, or the library is elsewhere")
    if not os.access(TRACING / "uprobe_events", os.W_OK):
        pytest.skip("no right to set uprobes: packaging/setup.sh tracefs mounts what has them")


def _offsets(file: Path) -> dict[str, int]:
    """Return where in a file each routine's code is."""
    listed = subprocess.run(["nm", "-D", file], capture_output=True, text=True, check=True).stdout
    code = file.resolve().read_bytes()
    (headers,) = struct.unpack_from("<Q", code, 32)
    size, number = struct.unpack_from("<HH", code, 54)
    parts = [struct.unpack_from("<IIQQQQ", code, headers + i * size) for i in range(number)]
    offsets = {}
    for line in listed.splitlines():
        address, _, name = line.rpartition(" ")
        if name.startswith("PMPI_") and " T" in address:
            where = int(address.split()[0], 16)
            offsets[name.removeprefix("PMPI_")] = next(
                where - begin + offset
                for kind, _, offset, begin, _, length in parts
                if kind == 1 and begin <= where < begin + length
            )
    return offsets


def _definition(mpi: Mpi, routine: str, offset: int, group: str) -> str:
    words = [f"p:{group}/{routine} {library(mpi).resolve()}:{offset:#x}"]
    if routine in BUFFERS:
        count, datatype, peer = BUFFERS[routine]
        words.append(f"count={REGISTERS[count]}:{'s64' if routine.endswith('_c') else 's32'}")
        # Open MPI's types are addresses of an opal_datatype_t: behind an opal_object_t of 16 bytes,
        # two numbers of 16 bits and one of 32 its size. MPICH's have theirs in the handle.
        where = REGISTERS[datatype]
        words.append(f"type=+24({where}):u64" if mpi is OPEN_MPI else f"type={where}:u32")
        words += [f"peer={REGISTERS[peer]}:s32"] if peer is not None else []
    return " ".join(words)


def _define(lines: Iterable[str]) -> None:
    # Not by open(), which asks for the end of a file that has none; without O_APPEND all others go.
    descriptor = os.open(TRACING / "uprobe_events", os.O_WRONLY | os.O_APPEND)
    try:
        for line in lines:
            os.write(descriptor, f"{line}\n".encode())
    finally:
        os.close(descriptor)


@contextmanager
def probes(mpi: Mpi) -> Iterator[Probed]:
    """Set probes; when the block ends, what processes that it started called is filled in."""
    offsets = _offsets(library(mpi))
    routines = [name for name in (*BUFFERS, *OTHERS) if name in offsets]
    group = f"gnomon_{mpi}_{os.getpid()}"
    instance = TRACING / "instances" / group
    probed = Probed(Counter(), Counter())
    instance.mkdir()
    try:
        (instance / "buffer_size_kb").write_text(str(BUFFER_KB // (os.cpu_count() or 1)))
        _define(_definition(mpi, routine, offsets[routine], group) for routine in routines)
        # This process and what it starts: other jobs are on the machine.
        (instance / "options" / "event-fork").write_text("1")
        (instance / "set_event_pid").write_text(str(os.getpid()))
        (instance / "events" / group / "enable").write_text("1")
        try:
            yield probed
        finally:
            (instance / "events" / group / "enable").write_text("0")
        _read(mpi, instance, probed)
    finally:
        instance.rmdir()
        _define(f"-:{group}/{routine}" for routine in routines)


def _read(mpi: Mpi, instance: Path, probed: Probed) -> None:
    for stats in (instance / "per_cpu").glob("cpu*/stats"):
        lost = [line for line in stats.read_text().splitlines() if "overrun" in line]
        assert all(line.endswith(" 0") for line in lost), f"the kernel lost calls: {lost}"
    with (instance / "trace").open() as trace:
        for line in trace:
            match = _LINE.search(line)
            if match is None:
                continue
            name = f"MPI_{match[1]}"
            probed.calls[name] += 1
            if match[1] in BUFFERS:
                probed.sent[name] += _bytes(mpi, match[2])


def _bytes(mpi: Mpi, text: str) -> int:
    fields = {name: int(value, 0) for name, value in _FIELD.findall(text)}
    if fields.get("peer") == PROC_NULL[mpi]:
        return 0
    size = fields["type"]
    if mpi is MPICH:
        # Source: MPICH 4.0, src/include/mpir_objects.h, mpir_datatype.h: kind 1 is predefined.
        assert size >> 30 == 1, "a derived type, whose size is not in its handle"
        size = size >> 8 & 0xFF
    return fields["count"] * size


def compare(probed: Probed, calls: dict[str, int], sent: dict[str, int],
            without: Sequence[str] = ()) -> list[str]:  # fmt: skip
    """Return in what a profile differs from what the library was asked for.

    Args:
        probed: of another execution of the same program.
        calls: of the profile, by routine.
        sent: bytes of the profile, by routine.
        without: routines whose calls differ each time, or that the MPI calls itself.
    """
    asked = {f"MPI_{name}" for name in (*BUFFERS, *OTHERS)} - set(without)
    wrong = [
        f"{name}: {calls.get(name, 0)} calls, {probed.calls[name]} in the library"
        for name in sorted(asked)
        if calls.get(name, 0) != probed.calls[name]
    ]
    return wrong + [
        f"{name}: {sent.get(name, 0)} bytes, {probed.sent[name]} in the library"
        for name in sorted(set(probed.sent) - set(without))
        if sent.get(name, 0) != probed.sent[name]
    ]
