"""Samples of Python programs on the call paths of their Python functions."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from gnomon.errors import FormatError
from gnomon.launch.recordings import recordings
from gnomon.model.inlining import PYTHON
from gnomon.named_tuple import NamedTuple
from gnomon.sampling import python_records, python_stacks, python_trampolines
from gnomon.sampling.frame_names import maps_in_tmp
from gnomon.sampling.python_records import COMPLETE
from gnomon.sampling.python_samples import stack_of_samples
from gnomon.sampling.sample_file import CUT, FILE, KERNEL, NONE, SIGNALLED, SampleFile
from gnomon.symbols.code_frames import CodeFrame, module_name

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gnomon.sampling.python_records import PythonProcess

_AS_IT_IS = (COMPLETE, python_records.CUT, python_records.OUTSIDE)

WRITER = "python"
"""Who left the record files of Python processes."""


class SampledPaths(NamedTuple):
    """The paths of a task's samples.

    Attributes:
        node_places: the place of each node; those of Python functions follow the task's own.
        node_parents: its parent, which comes before it, or `NONE`.
        of_samples: the node of each sample, or `NONE`.
        python_frames: of the places that follow.
    """

    node_places: NDArray[np.uint32]
    node_parents: NDArray[np.uint32]
    of_samples: NDArray[np.uint32]
    python_frames: Sequence[tuple[CodeFrame, ...]]


class PythonRecordings:
    """What the Python processes of a run recorded.

    Attributes:
        warnings: what cannot be read.
    """

    def __init__(self, folder: Path) -> None:
        """Read the record files of a staging folder."""
        self._folder = folder
        recorded = recordings(folder, WRITER, python_records.KINDS)
        warnings = list(recorded.warnings)
        self._processes: dict[tuple[str, int], list[PythonProcess]] = {}
        for process in recorded.processes:
            for file in process.files:
                try:
                    read = python_records.read_process(file)
                except FormatError as error:
                    warnings.append(f"samples: {file.path.name}: {error}")
                    continue
                self._processes.setdefault((file.host, file.pid), []).append(read)
        self._take_maps()
        self.warnings = (*warnings, *self._notes())

    def _notes(self) -> Iterator[str]:
        every = [one for of_pid in self._processes.values() for one in of_pid]
        unknown = {one.version for one in every if one.state == python_records.UNKNOWN}
        if unknown:
            yield (
                f"samples: of Python {', '.join(sorted(unknown))} the interpreter's own functions "
                "are shown: frames of this version or build are not known; CPython 3.11 to 3.13 "
                "are"
            )
        without = {one.version for one in every if one.state == python_records.READ_INSTEAD}
        if without:
            yield (
                f"samples: Python {', '.join(sorted(without))} has no perf trampolines: its "
                "functions were read as without --python trampoline; CPython 3.12 and newer have "
                "them"
            )
        n_silent = sum(
            one.state == python_records.NAMED and not self.perf_maps(host, pid)
            for (host, pid), of_pid in self._processes.items()
            for one in of_pid
        )
        if n_silent:
            yield (
                f"samples: of {n_silent} Python processes the interpreter's own functions are "
                "shown: they wrote no perf map, as those do not that ignore their environment (-E, "
                "-I) or are built without trampolines; leave out --python trampoline"
            )
        n_refused = sum(one.state == python_records.REFUSED for one in every)
        if n_refused:
            yield (
                f"samples: of {n_refused} Python processes the interpreter's own functions are "
                "shown: they get no signals at samples, which Linux before 5.19 does not have, and "
                "which would stop a program that is traced (strace, gdb) again and again"
            )

    def _take_maps(self) -> None:
        """Take in the maps of a run that was killed: else its observer has."""
        for (host, pid), of_pid in self._processes.items():
            is_named = any(one.state == python_records.NAMED for one in of_pid)
            if is_named and host == os.uname().nodename:
                python_trampolines.take_map(self._folder, host, pid)

    def perf_maps(self, host: str, pid: int) -> Sequence[Path]:
        """Return the maps of what a process compiled, and of whom it was forked from.

        What an interpreter's trampolines run at a fork stands in the parent's map alone.
        """
        maps: list[Path] = []
        seen: set[int] = set()
        while pid and pid not in seen:
            seen.add(pid)
            taken = python_trampolines.taken_map(self._folder, host, pid)
            maps += [path for path in (taken, *maps_in_tmp(host, pid)) if path.is_file()]
            of_pid = self._processes.get((host, pid), ())
            pid = max((one.parent for one in of_pid), default=0)
        return maps

    def facts(self, samples: SampleFile) -> Mapping[str, int]:
        """Return how many samples of a task have Python functions, and how many could have."""
        facts: Counter[str] = Counter()
        for process, rows in self._of_task(samples):
            stack = _stacks(process, samples, rows)
            status = process.status[stack[stack >= 0]]
            facts["python"] += int(np.isin(status, (COMPLETE, python_records.CUT)).sum())
            facts["python_unreadable"] += int((~np.isin(status, _AS_IT_IS)).sum())
            facts["python_cut"] += int((status == python_records.CUT).sum())
        facts["python_processes_unread"] = len(self._unread(samples))
        return facts

    def _unread(self, samples: SampleFile) -> list[int]:
        """Return the processes that ran an interpreter and left no Python functions."""
        of_module = [
            module.kind == FILE and python_stacks.is_interpreter(module_name(module.path))
            for module in samples.modules
        ]
        own = samples.samples[samples.samples["node"] != NONE]
        if not any(of_module) or not len(own):
            return []
        host = samples.host
        of_thread = np.array([thread.process for thread in samples.threads], np.int64)
        pids = np.array([process.number for process in samples.processes], np.int64)
        of_sample = pids[of_thread[own["thread"]]]
        unread = [
            pid
            for pid in np.unique(of_sample).tolist()
            if (host, pid) not in self._processes and not self.perf_maps(host, pid)
        ]
        if not unread:
            return []
        is_python = np.array(of_module, bool)[samples.place_modules[samples.node_places]]
        runs = _is_on_path(samples.node_parents, is_python)[own["node"]]
        return [pid for pid in unread if runs[of_sample == pid].any()]

    def paths(self, samples: SampleFile, frames: Sequence[tuple[CodeFrame, ...]]) -> SampledPaths:
        """Return the paths of a task's samples.

        Args:
            samples: the task's.
            frames: of each of its places, the outermost first.
        """
        node_of_sample = np.full(len(samples.samples), -1, np.int32)
        forests, n_nodes = [], 0
        for process, rows in self._of_task(samples):
            stack = _stacks(process, samples, rows)
            rows, stack = rows[stack >= 0], stack[stack >= 0]
            node = process.node[stack]
            node_of_sample[rows[node >= 0]] = node[node >= 0] + n_nodes
            forests.append(process.paths)
            n_nodes += len(process.paths.parent)
        is_python = np.array([chain[0].module == PYTHON for chain in frames], bool)
        is_python = is_python[samples.node_places] if len(frames) else is_python
        if (node_of_sample < 0).all() and not is_python.any():
            of_samples = samples.samples["node"]
            return SampledPaths(samples.node_places, samples.node_parents, of_samples, ())
        python = python_stacks.joined(forests)
        return _merged(samples, frames, is_python, python, node_of_sample)

    def _of_task(self, samples: SampleFile) -> Iterator[tuple[PythonProcess, NDArray[np.int64]]]:
        """Yield each Python process of a task, and the rows of its samples."""
        own = samples.samples
        if not self._processes or not len(own):
            return
        process_of_thread = np.array([thread.process for thread in samples.threads], np.int64)
        pids = np.array([process.number for process in samples.processes], np.int64)
        pid = pids[process_of_thread[own["thread"]]]
        is_told = (own["flags"] & SIGNALLED) != 0
        for number in np.unique(pid[is_told]).tolist():
            for process in self._processes.get((samples.host, number), ()):
                yield process, np.flatnonzero(is_told & (pid == number))


def _is_on_path(parents: NDArray[np.uint32], is_marked: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return for each node whether it or one above it is marked, by doubling the distance."""
    above = np.where(parents == NONE, -1, parents.astype(np.int64))
    is_below = is_marked.copy()
    rest = np.flatnonzero(above >= 0)
    while len(rest):
        jumps = above[rest]
        marks, further = is_below[jumps], above[jumps]
        is_below[rest] |= marks
        above[rest] = further
        rest = rest[further >= 0]
    return is_below


def unread_note(n_processes: int) -> str:
    """Return what there is to say of processes that did not read their Python functions."""
    what, they = ("process is", "it was") if n_processes == 1 else ("processes are", "they were")
    return (
        f"samples: {n_processes} Python {what} shown with the interpreter's own functions: {they} "
        "not started with Gnomon's library, which reads Python's; start the program by gnomon "
        "record, or CPython 3.12 and newer by python -X perf"
    )


def _stacks(
    process: PythonProcess, samples: SampleFile, rows: NDArray[np.int64]
) -> NDArray[np.int64]:
    own = samples.samples[rows]
    tids = np.array([thread.number for thread in samples.threads], np.int32)
    kinds = np.array([module.kind for module in samples.modules], np.int64)
    node = own["node"]
    has_node = node != NONE
    is_in_kernel = np.zeros(len(own), bool)
    leaf_modules = samples.place_modules[samples.node_places[node[has_node]]]
    is_in_kernel[has_node] = kinds[leaf_modules] == KERNEL
    return stack_of_samples(process, own["time_ns"], tids[own["thread"]], is_in_kernel)


def _merged(
    samples: SampleFile,
    frames: Sequence[tuple[CodeFrame, ...]],
    is_trampoline: NDArray[np.bool_],
    python: python_records.PythonPaths,
    python_of_sample: NDArray[np.int32],
) -> SampledPaths:
    places, nodes = samples.node_places, samples.samples["node"]
    has_node = nodes != NONE
    parents = np.where(samples.node_parents == NONE, -1, samples.node_parents).astype(np.int32)
    names = [chain[0].function for chain in frames]
    modules = [module_name(module.path) for module in samples.modules]
    of_place = samples.place_modules.tolist()
    is_cut = np.array([module.kind == CUT for module in samples.modules], bool)
    native = python_stacks.native_paths(
        parents,
        [modules[of_place[place]] for place in places.tolist()],
        [names[place] for place in places.tolist()],
        is_cut[samples.place_modules[places]] if len(places) else np.empty(0, bool),
        is_trampoline,
    )
    merged = python_stacks.merge(
        native, python, np.where(has_node, nodes, -1).astype(np.int32), python_of_sample
    )
    # A place for each function at each of its lines.
    is_python = merged.python >= 0
    keys = np.stack([python.function, python.line], axis=1)[merged.python[is_python]]
    distinct, of_node = np.unique(keys, axis=0, return_inverse=True)
    python_frames = [
        (CodeFrame(python.functions[function].name, PYTHON, python.functions[function].file, line),)
        for function, line in distinct.tolist()
    ]
    merged_places = np.empty(len(merged.parent), np.uint32)
    merged_places[~is_python] = places[merged.native[~is_python]]
    merged_places[is_python] = len(samples.place_modules) + of_node.reshape(-1)
    return SampledPaths(
        merged_places,
        np.where(merged.parent < 0, NONE, merged.parent).astype(np.uint32),
        np.where(merged.of_sample < 0, NONE, merged.of_sample).astype(np.uint32),
        python_frames,
    )
