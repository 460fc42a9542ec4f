"""A perf.data file as a run: what native/perf_data reads of it becomes samples as of the sampler.

Source: tools/perf/Documentation/perf.data-file-format.txt of Linux; perf_event_open(2).
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from gnomon.errors import RunDirectoryError
from gnomon.sampling import python_call_paths, sample_tables
from gnomon.sampling._perf_data import FileError, PerfFile
from gnomon.sampling.frame_names import FrameNames
from gnomon.sampling.perf_data.header_features import HeaderFeatures, read_features
from gnomon.sampling.perf_data.kernel_names import kernel_names, recorded_kernel
from gnomon.sampling.perf_data.module_files import find_file
from gnomon.sampling.perf_data.recorded_events import (
    RecordedEvent,
    descriptions,
    names_of,
    program_of,
    recorded_command,
)
from gnomon.sampling.perf_data.run_tables import with_command
from gnomon.sampling.sample_facts import facts_of, notes
from gnomon.sampling.sample_file import (
    FILE,
    KERNEL,
    NO_RECORDS,
    THROTTLED,
    Module,
    SampleFile,
    Task,
)
from gnomon.store.profile_files import profile_file
from gnomon.store.unpacked_run import run_of_tables

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gnomon.model.tables import Table
    from gnomon.model.value import Unavailable
    from gnomon.store.run import Run

FORMAT = "perf.data"
_THROTTLE, _AUX, _AUXTRACE = 5, 11, 71
_NS = 1e9
_MACHINES = {"x86_64": 0, "aarch64": 1}
# Rows of native/perf_data/profile_reader.h.
_PLACE = np.dtype([("module", "u4"), ("zero", "u4"), ("offset", "u8")])
_NODE = np.dtype([("parent", "u4"), ("place", "u4"), ("first_child", "u4"), ("last_child", "u4")])
_PROCESS = np.dtype([("pid", "i4"), ("name", "S16")])
_THREAD = np.dtype([("tid", "i4"), ("process", "u4"), ("name", "S16")])
_SAMPLE = np.dtype([("time_ns", "u8"), ("weight", "u8"), ("thread", "u4"), ("node", "u4"),
                    ("cpu", "u2"), ("event", "u2"), ("end", "u1"), ("flags", "u1"),
                    ("zero", "u2")])  # fmt: skip
_VALUE = np.dtype([("value", "u8"), ("sample", "u4"), ("event", "u4")])
_DATA = np.dtype([("address", "u8"), ("source", "u8"), ("latency", "u8"), ("sample", "u4"),
                  ("zero", "u4")])  # fmt: skip
_JUMP = np.dtype([("from_place", "u4"), ("to_place", "u4"), ("sample", "u4"), ("cycles", "u2"),
                  ("flags", "u1"), ("zero", "u1")])  # fmt: skip
_LOSS = np.dtype([("count", "u8"), ("kind", "u4")])


def open_perf_data(path: Path) -> Run:
    """Return a perf.data file as a run.

    Raises:
        RunDirectoryError: it cannot be read, or is damaged; names the byte.
    """
    return run_of_tables(path, partial(read_perf_data, path))


def read_perf_data(path: Path, file: IO[bytes]) -> tuple[dict[str, Any], Iterator[Table]]:
    """Return the head of the run that a perf.data file stands for, and its tables.

    Args:
        path: to be named in errors.
        file: the content.

    Raises:
        RunDirectoryError: it cannot be read, or is damaged; names the byte.
    """
    return _Reader(path, file.fileno()).result()


class _Reader:
    def __init__(self, path: Path, descriptor: int) -> None:
        self._path, self._descriptor = path, descriptor
        self._warnings: list[str] = []
        self._unavailable: list[Unavailable] = []

    def result(self) -> tuple[dict[str, Any], Iterator[Table]]:
        with tempfile.TemporaryFile() as unpacked:
            try:
                perf_file = PerfFile(self._descriptor, unpacked.fileno())
                self._file_facts = perf_file.facts()
                features = self._features(perf_file)
                modules = self._modules(perf_file, features)
                columns = perf_file.read(_MACHINES.get(features.arch, -1))
            except FileError as error:
                offset, problem = error.args
                profile_file.refuse(self._path, offset, problem, FORMAT)
        samples = self._samples(perf_file, features, modules, columns)
        del perf_file
        if not len(samples.samples):
            facts = self._file_facts
            lost = max(facts["lost"], facts["lost_samples"])
            raise RunDirectoryError(
                f"{self._path}: it has no samples: {lost:,} were lost; record with fewer a second "
                "(-F), smaller stacks (--call-graph dwarf,4096) or larger buffers (-m)"
                if lost
                else f"{self._path}: perf record took no samples; record longer, with more samples "
                "a second (-F), or another event (-e cpu-clock)"
            )
        self._say(columns)
        command = recorded_command(features.command)
        program = program_of(command)
        tables = self._tables(samples, program, command)
        times = samples.samples["time_ns"]
        begin, end = (samples.epoch_ns + min(int(time), 1 << 62)
                      for time in (times.min(), times.max()))  # fmt: skip
        head = profile_file.head(
            command or features.command or (program,), features.host,
            producer=f"perf {features.version}".rstrip(), started=max(begin, 0) / _NS,
            wall_seconds=min((end - begin) / _NS, 1e10), warnings=self._warnings,
        )  # fmt: skip
        head["unavailable"] = [one._asdict() for one in self._unavailable]
        return head, tables

    # --- the file ---------------------------------------------------------------------------------

    def _features(self, perf_file: PerfFile) -> HeaderFeatures:
        is_native_little = np.little_endian
        order = "<" if is_native_little != self._file_facts["swaps"] else ">"
        return read_features(self._descriptor, perf_file.notes(), order)

    def _ended(self) -> float:
        return os.fstat(self._descriptor).st_mtime

    def _modules(self, perf_file: PerfFile, features: HeaderFeatures) -> tuple[Module, ...]:
        """Return the modules, and tell where their files are here."""
        of_paths = {one.path: one.build_id for one in features.build_ids}
        is_here = features.host == os.uname().nodename
        ended = self._ended()
        modules = []
        for number, (kind, raw, raw_id, inode, pid) in enumerate(perf_file.modules()):
            path = os.fsdecode(raw)
            build_id = raw_id.hex() or (of_paths.get(path, "") if kind == FILE else "")
            file = ""
            if kind == FILE and path.startswith("/"):
                place = find_file(path, build_id, ended, inode=inode if is_here else 0)
                if place is not None:
                    perf_file.place(number, os.fsencode(place.path), place.segments)
                    build_id = build_id or place.build_id
                    file = "" if place.path == path else place.path
            modules.append(Module(kind, path, build_id, pid, inode if is_here else 0, file))
        return tuple(modules)

    def _samples(
        self, perf_file: PerfFile, features: HeaderFeatures, modules: Sequence[Module],
        columns: dict[str, Any],
    ) -> SampleFile:  # fmt: skip
        places = np.frombuffer(columns["place"], _PLACE)
        nodes = np.frombuffer(columns["node"], _NODE)
        samples = np.frombuffer(columns["sample"], _SAMPLE)
        events = [RecordedEvent(*one) for one in perf_file.events()]
        names = names_of(events, features)
        return SampleFile(
            host=features.host,
            rank=-1,
            ended=self._ended(),
            stack_bytes=0,
            epoch_ns=self._epoch_ns(features, samples["time_ns"]),
            events=tuple(descriptions(events, names)),
            modules=tuple(modules),
            place_modules=places["module"].copy(),
            place_offsets=places["offset"].copy(),
            node_places=nodes["place"].copy(),
            node_parents=nodes["parent"].copy(),
            processes=tuple(_tasks(np.frombuffer(columns["process"], _PROCESS))),
            threads=tuple(_tasks(np.frombuffer(columns["thread"], _THREAD))),
            samples=samples,
            values=np.frombuffer(columns["value"], _VALUE),
            data=np.frombuffer(columns["data"], _DATA),
            jumps=np.frombuffer(columns["jump"], _JUMP),
            waits=np.empty(0, NO_RECORDS),
            rest=np.empty(0, NO_RECORDS),
            spans=np.empty(0, NO_RECORDS),
            losses=np.array([(self._file_facts["records"][_THROTTLE], THROTTLED)], _LOSS),
            cpu_ns=0,
            left_out=0,
            kernel_names=self._kernel_names(perf_file, features, modules, places),
            times=np.empty(0, NO_RECORDS),
        )

    def _epoch_ns(self, features: HeaderFeatures, times: NDArray[np.uint64]) -> int:
        """Return what makes times nanoseconds since 1970.

        Without what `perf record -k` tells of its clock the last sample is taken for as old as the
        file, as perf report has it ("captured on").
        """
        if features.clock_offset_ns is not None:
            return features.clock_offset_ns
        self._warnings.append(
            "times of day are those of the file: perf record does not tell them without -k "
            "CLOCK_MONOTONIC"
        )
        last = min(int(times.max(initial=0)), 1 << 62)
        return os.fstat(self._descriptor).st_mtime_ns - last

    def _kernel_names(
        self, perf_file: PerfFile, features: HeaderFeatures, modules: Sequence[Module],
        places: NDArray[np.void],
    ) -> dict[int, str]:  # fmt: skip
        is_kernel = np.array([one.kind == KERNEL for one in modules], bool)
        own = np.flatnonzero(is_kernel[places["module"]] & (places["offset"] >> np.uint64(63) > 0))
        kernel = recorded_kernel(
            features, self._file_facts["kernel_symbol"].decode(errors="replace"),
            self._file_facts["kernel_start"], perf_file.symbols(), modules[0].build_id,
        )  # fmt: skip
        kernel_own = kernel_names(kernel, np.unique(places["offset"][own]))
        if kernel_own.missing is not None:
            self._unavailable.append(kernel_own.missing)
        addresses = places["offset"][own].tolist()
        return {
            place: kernel_own.names[address]
            for place, address in zip(own.tolist(), addresses, strict=True)
            if address in kernel_own.names
        }

    # --- the run ----------------------------------------------------------------------------------

    def _tables(self, samples: SampleFile, program: str, command: Sequence[str]) -> Iterator[Table]:
        # Nothing but their perf maps is known of Python processes.
        with tempfile.TemporaryDirectory(prefix="gnomon-perf-") as none:
            python = python_call_paths.PythonRecordings(Path(none))
        names = FrameNames(python.perf_maps)
        names.add(samples)
        self._unavailable += names.resolve()
        self._warnings += notes({**facts_of(samples), **python.facts(samples)})
        task = sample_tables.TaskTables(samples, names, python)
        root = (program, command[0] if command else "")
        return with_command(task.tables(), root, samples.host)

    def _say(self, columns: dict[str, Any]) -> None:
        """Say what is missing."""
        self._warnings += _losses(self._file_facts)
        self._warnings += _left_out(self._file_facts, columns)


def _tasks(rows: NDArray[np.void]) -> Iterator[Task]:
    has_process = "process" in (rows.dtype.names or ())
    for row in rows.tolist():
        name = row[-1].split(b"\0")[0].decode(errors="replace")
        yield Task(row[0], name, row[1] if has_process else -1)


def _losses(facts: dict[str, Any]) -> Iterator[str]:
    if facts["is_cut"] or facts["is_unfinished"]:
        yield (
            "the file ends early, as of a perf record that was killed: what was written is read, "
            "and names of events, build ids and the command may be missing"
        )
    if facts["lost"] and facts["lost"] == facts["lost_samples"]:
        yield (
            f"{facts['lost']:,} samples were lost because the program made them faster than they "
            "were read; record less (-F), or with larger buffers (-m)"
        )
        return
    if facts["lost"]:
        yield (
            f"{facts['lost']:,} records were lost because the program made them faster than they "
            "were read; record less (-F), or with larger buffers (-m)"
        )
    if facts["lost_samples"]:
        yield (
            f"{facts['lost_samples']:,} samples were lost because there was no room for them in "
            "the kernel's buffers; record less (-F), or with larger buffers (-m)"
        )


def _left_out(facts: dict[str, Any], columns: dict[str, Any]) -> Iterator[str]:
    if facts["records"][_AUXTRACE] or facts["records"][_AUX]:
        yield (
            "traces of the processor (AUX: Intel PT, ARM SPE or CoreSight) are left out: perf "
            "script decodes them"
        )
    if facts["unknown_ids"]:
        yield f"{facts['unknown_ids']:,} samples are of events that the file does not describe"
    if facts["odd_records"]:
        yield f"{facts['odd_records']:,} records are of kinds that this Gnomon does not know"
    if columns["without_user"]:
        yield (
            f"{columns['without_user']:,} samples lack the call chain of user code, which the "
            "kernel was to write later"
        )
    if columns["left_out_maps"]:
        yield (
            f"{columns['left_out_maps']:,} mappings of code are left out: there are more than "
            "processes have"
        )
