"""What the sampler wrote of one task: its modules, call paths, threads and samples, as arrays.

native/sampling/sample_file.h describes the records. A file is taken for hostile: what its records
refer to by number is there, or the file is refused.
"""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from gnomon.errors import FormatError
from gnomon.measurement.call_paths import NONE as NONE
from gnomon.named_tuple import NamedTuple

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gnomon.store.record_file import RecordFile

KERNEL, CUT, FILE, JIT = range(4)
"""Kinds of modules."""

LOST, THROTTLED, SPOILT, NO_MEMORY, NOT_SAMPLED, SWITCHES = range(6)
"""Kinds of losses."""

COMPLETE, BEYOND_COPY, NO_RULES, BAD_MEMORY, TOO_DEEP = range(5)
"""Ends of stacks: it was unwound to its root, or why it was not (enum gn_unwind_end)."""

GUESSED, SHORTENED, KERNEL_ONLY, SIGNALLED, LOOKED = 1, 2, 4, 8, 16
"""Flags of samples."""

MISPREDICTED, PREDICTED = 1, 2
"""Flags of jumps: with neither it is not known."""

RUNNABLE, BY_INTERRUPT = 1, 2
"""Flags of waits: for nothing but a CPU; ended by an interrupt."""

NEEDED_KINDS = ("setup", "event", "module", "path", "place", "node", "branch", "process", "thread",
                "sample", "loss", "cost", "kernel", "time")  # fmt: skip
_LATER_KINDS = ("value", "data", "jump", "wait", "rest", "span")
_KINDS = (*NEEDED_KINDS, *_LATER_KINDS)

_TEXT_MOST = 1000
# What is looked at after the file was read.
_FIELDS = {
    "sample": ("time_ns", "weight", "thread", "node", "cpu", "event", "end", "flags"),
    "loss": ("count", "kind"),
    "time": ("counted_ns", "tid"),
    "value": ("value", "sample", "event"),
    "data": ("address", "source", "latency", "sample"),
    "jump": ("from_place", "to_place", "sample", "cycles", "flags"),
    "wait": ("woken_ns", "subject", "sample", "waker", "holder", "call", "flags"),
    "rest": ("ns", "n", "thread", "duration", "is_runnable"),
    "span": ("begin_ns", "end_ns", "thread"),
}
# Fields of several bytes.
_BYTES = ("name", "build_id")
_SIGNED = ("pid", "tid", "waker", "holder")
# Files of before have no kinds but those that are needed.
NO_RECORDS = np.dtype(
    [
        (name, np.uint64)
        for name in dict.fromkeys(name for kind in _LATER_KINDS for name in _FIELDS[kind])
    ]
)
_EVENT_KEYS: dict[str, type | tuple[type, ...]] = {
    "name": str,
    "unit": str,
    "factor": (int, float),
    "is_clock": bool,
    "is_frequency": bool,
    "period": int,
    "counts_more": bool,
    "domain": str,
    "scope": str,
    "component": str,
}


class Module(NamedTuple):
    """A program, a library, the kernel, or code without a file.

    Attributes:
        kind: `KERNEL`, `CUT`, `FILE` or `JIT`.
        path: where it was, as the process had it.
        build_id: in hexadecimal, "" if it has none.
        pid: the process that mapped it first.
        inode: of the file, 0 where it is not known.
        file: the same file here, by another path; "" where that is `path`.
    """

    kind: int
    path: str
    build_id: str
    pid: int
    inode: int
    file: str = ""


class Task(NamedTuple):
    """A process or thread: its number, name and, of a thread, its process by the order of all."""

    number: int
    name: str
    process: int = -1


class SampleFile(NamedTuple):
    """The samples of one task.

    Attributes:
        host: where it ran.
        rank: of its process in a job, -1 for none.
        ended: when it was last written, in seconds since 1970.
        stack_bytes: what was copied of each stack.
        epoch_ns: what makes the times of samples nanoseconds since 1970.
        events: what was sampled, by the keys that `sampling_observer.describe` gives.
        modules: by their numbers.
        place_modules, place_offsets: of each place.
        node_places, node_parents: of each node; a root's parent is `NONE`.
        processes, threads: by their numbers.
        samples: with the fields of struct gn_sample_sample.
        values: with those of struct gn_sample_value: what events that are read at samples of
            others counted.
        data: with those of struct gn_sample_data: which data samples were taken at.
        jumps: with those of struct gn_sample_jump: branches that were taken before samples.
        waits: with those of struct gn_sample_wait: of samples that are waits.
        rest: with those of struct gn_sample_rest: waits whose stacks are not known.
        spans: with those of struct gn_sample_span: from when to when threads were measured.
        losses: with those of struct gn_sample_loss.
        cpu_ns: CPU time that reading them took; 0 of a killed `gnomon run`.
        left_out: samples of processes that had events of their own beside those of all.
        kernel_names: of places in the kernel.
        times: with those of struct gn_sample_time.
    """

    host: str
    rank: int
    ended: float
    stack_bytes: int
    epoch_ns: int
    events: tuple[dict[str, Any], ...]
    modules: tuple[Module, ...]
    place_modules: NDArray[np.uint32]
    place_offsets: NDArray[np.uint64]
    node_places: NDArray[np.uint32]
    node_parents: NDArray[np.uint32]
    processes: tuple[Task, ...]
    threads: tuple[Task, ...]
    samples: NDArray[np.void]
    values: NDArray[np.void]
    data: NDArray[np.void]
    jumps: NDArray[np.void]
    waits: NDArray[np.void]
    rest: NDArray[np.void]
    spans: NDArray[np.void]
    losses: NDArray[np.void]
    cpu_ns: int
    left_out: int
    kernel_names: dict[int, str]
    times: NDArray[np.void]


def read_samples(file: RecordFile) -> SampleFile:
    """Return the samples of a record file of the sampler.

    Raises:
        FormatError: records are missing, or refer to what is not there.
    """
    arrays: dict[str, list[NDArray[np.void]]] = {name: [] for name in _KINDS}
    texts: dict[str, dict[int, str]] = {name: {} for name in _KINDS}
    dtypes = {kind.name: kind.dtype for kind in file.kinds}
    # Files are found by their names, whatever these are.
    for kind, records in file.blocks(errors="surrogateescape"):
        if kind.name not in arrays:
            continue
        if isinstance(records, dict):
            texts[kind.name] = records | texts[kind.name]
        else:
            arrays[kind.name].append(records)
    columns = {
        name: np.concatenate(parts) if parts else np.empty(0, dtypes[name])
        for name, parts in arrays.items()
        if dtypes.get(name) is not None
    }
    try:
        return _checked(file, columns, texts)
    except (KeyError, IndexError, ValueError) as error:
        raise FormatError(file.path, 0, f"its records are not those of samples: {error}") from None


def _checked(
    file: RecordFile, columns: dict[str, NDArray[np.void]], texts: dict[str, dict[int, str]]
) -> SampleFile:
    for kind, records in columns.items():
        _check_fields(kind, records.dtype)
    if not len(columns["setup"]):
        raise ValueError("none says how it was sampled")
    setup = columns["setup"][0]
    places, samples = columns["place"], columns["sample"]
    modules = _modules(columns["module"], texts["path"])
    _below("module of a place", places["module"], len(modules))
    node_places = columns["node"]["place"]
    _below("place of a node", node_places, len(places))
    processes = _tasks(columns["process"], "process", "pid")
    threads = _tasks(columns["thread"], "thread", "tid", len(processes))
    _below("thread of a sample", samples["thread"], len(threads))
    events = _events(texts["event"])
    _below("event of a sample", samples["event"], len(events))
    values = _of_samples(columns.get("value"), len(samples))
    _below("event of a value", values["event"], len(events))
    jumps = _jumps(columns.get("jump"), len(samples), len(places))
    nodes = samples["node"]
    _below("node of a sample", nodes[nodes != NONE], len(node_places))
    return SampleFile(
        host=file.host,
        rank=file.rank,
        ended=file.path.stat().st_mtime,
        stack_bytes=int(setup["stack_bytes"]),
        epoch_ns=_small(setup["realtime_ns"]) - _small(setup["monotonic_ns"]),
        events=events,
        modules=modules,
        place_modules=places["module"],
        place_offsets=places["offset"],
        node_places=node_places,
        node_parents=_parents(columns["branch"], len(node_places)),
        processes=processes,
        threads=threads,
        samples=samples,
        values=values,
        data=_of_samples(columns.get("data"), len(samples)),
        jumps=jumps,
        waits=_of_samples(columns.get("wait"), len(samples)),
        rest=_of_threads(columns.get("rest"), len(threads)),
        spans=_of_threads(columns.get("span"), len(threads)),
        losses=columns["loss"],
        cpu_ns=_small(columns["cost"]["cpu_ns"].sum()),
        left_out=_small(columns["cost"]["left_out"].sum()),
        kernel_names=texts["kernel"],
        times=columns["time"],
    )


def _small(ns: np.uint64) -> int:
    return min(int(ns), 1 << 62)


def _below(what: str, numbers: NDArray[Any], n: int) -> None:
    if len(numbers) and int(numbers.max()) >= n:
        raise ValueError(f"the {what} is number {numbers.max()} of {n}")


def _of_samples(records: NDArray[np.void] | None, n: int) -> NDArray[np.void]:
    """Return the records of samples that are there: the last sample may be missing."""
    if records is None:
        return np.empty(0, NO_RECORDS)
    return records[records["sample"] < n]


def _of_threads(records: NDArray[np.void] | None, n: int) -> NDArray[np.void]:
    """Return records of threads, each of which has to be there."""
    if records is None:
        return np.empty(0, NO_RECORDS)
    _below("thread of a record", records["thread"], n)
    return records


def _check_fields(kind: str, dtype: np.dtype[np.void]) -> None:
    """Raise ValueError unless all fields but those of bytes are one whole number each.

    Raises:
        KeyError: one is missing that is looked at later.
    """
    names = dtype.names or ()
    for name in _FIELDS.get(kind, ()):
        if name not in names:
            raise KeyError(name)
    for name in names:
        field = dtype[name]
        if name not in _BYTES and (field.shape or field.kind != ("i" if name in _SIGNED else "u")):
            raise ValueError(f"{name} of a record of kind {kind} is no whole number")


def _jumps(records: NDArray[np.void] | None, n: int, n_places: int) -> NDArray[np.void]:
    """Return the jumps of samples that are there."""
    jumps = _of_samples(records, n)
    for name in ("from_place", "to_place"):
        _below("place of a jump", jumps[name][jumps[name] != NONE], n_places)
    return jumps


def _parents(branches: NDArray[np.void], n: int) -> NDArray[np.uint32]:
    """Return the parents of nodes: each one's is the one before it, or its branch says it."""
    parents = np.arange(n, dtype=np.uint32) - np.uint32(1)
    nodes, of_branch = branches["node"], branches["parent"]
    # The last node may be missing whose branch was written before it.
    is_there = nodes < n
    nodes, of_branch = nodes[is_there], of_branch[is_there]
    if ((of_branch >= nodes) & (of_branch != NONE)).any():
        raise ValueError("a node comes before its parent")
    parents[nodes] = of_branch
    return parents


def _modules(records: NDArray[np.void], paths: dict[int, str]) -> tuple[Module, ...]:
    modules = []
    for number, record in enumerate(records):
        if record["module"] != number or record["kind"] > JIT or record["build_id_bytes"] > 64:
            raise ValueError(f"module {number} is malformed")
        build_id = record["build_id"][: record["build_id_bytes"]].tobytes().hex()
        modules.append(
            Module(
                int(record["kind"]),
                paths.get(number, ""),
                build_id,
                int(record["pid"]),
                int(record["inode"]),
            )
        )
    return tuple(modules)


def _tasks(
    records: NDArray[np.void], kind: str, number: str, processes: int = -1
) -> tuple[Task, ...]:
    """Return processes or threads by their numbers; the last record of each holds."""
    tasks: dict[int, Task] = {}
    for record in records:
        process = -1
        if processes >= 0:
            process = int(record["process"])
            if process >= processes:
                raise ValueError(f"the process of a thread is number {process} of {processes}")
        name = bytes(record["name"]).split(b"\0")[0].decode(errors="replace")
        tasks[int(record[kind])] = Task(int(record[number]), name, process)
    if tasks and max(tasks) >= len(tasks):
        raise ValueError(f"{kind} {max(tasks)} of {len(tasks)}")
    return tuple(tasks[at] for at in range(len(tasks)))


def _events(texts: dict[int, str]) -> tuple[dict[str, Any], ...]:
    events = []
    for number in range(len(texts)):
        event = json.loads(texts[number])
        if not isinstance(event, dict):
            raise ValueError(f"event {number} is malformed")
        for key, kind in _EVENT_KEYS.items():
            value = event.get(key)
            if not isinstance(value, kind) or (isinstance(value, str) and len(value) > _TEXT_MOST):
                raise ValueError(f"event {number} has no {key}")
        if not math.isfinite(event["factor"]):
            raise ValueError(f"event {number} has no factor")
        events.append(event)
    return tuple(events)
