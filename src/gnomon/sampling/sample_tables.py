"""Samples as rows of the model's tables: code, threads, their profile and the samples."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gnomon.errors import FormatError
from gnomon.launch.recordings import recordings
from gnomon.measurement.call_paths import CallPaths
from gnomon.model.capability_result import Collected
from gnomon.model.metric import CPU_TIME, WAITING_TIME, Aggregation
from gnomon.model.region_kinds import THREAD, WAIT
from gnomon.model.tables import (
    LOCATIONS,
    METRICS,
    MODULES,
    PATHS,
    REGIONS,
    SAMPLES,
    Table,
)
from gnomon.model.value import Domain, How
from gnomon.named_tuple import NamedTuple
from gnomon.sampling import wait_tables
from gnomon.sampling.branch_tables import TaskNumbers, branch_table
from gnomon.sampling.data_sources import words
from gnomon.sampling.frame_names import FrameNames
from gnomon.sampling.interposed_calls import MPI, with_calls
from gnomon.sampling.python_call_paths import PythonRecordings
from gnomon.sampling.sample_facts import facts_of, notes
from gnomon.sampling.sample_file import FILE, NEEDED_KINDS, NONE, SampleFile, read_samples
from gnomon.sampling.sampled_events import UNSEEN_KERNEL
from gnomon.sampling.unsampled_time import unsampled_ns
from gnomon.sampling.wait_rows import read_waits
from gnomon.store.path_sums import profile_of, sums_on_paths
from gnomon.store.record_file import RecordFile
from gnomon.symbols.code_frames import CodeFrame, module_name

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gnomon.model.tables import Cells

_NS = 1e-9
_KERNEL = "[kernel]"
_ROWS_AT_ONCE = 500_000
_PROGRAM = 0
"""The region and path of the program, from which all paths come."""


def collect(folder: Path) -> Collected:
    """Return the samples that the tasks of a run left in its staging folder."""
    recorded = recordings(folder, "samples", NEEDED_KINDS)
    warnings = list(recorded.warnings)
    facts: Counter[str] = Counter()
    python = PythonRecordings(folder)
    names = FrameNames(python.perf_maps)
    warnings += python.warnings
    files = [file for process in recorded.processes for file in process.files]
    readable: list[tuple[RecordFile, SampleFile | None]] = []
    for file in files:
        try:
            samples = read_samples(file)
        except FormatError as error:
            warnings.append(f"samples: {file.path.name}: {error}")
            continue
        facts.update(facts_of(samples))
        facts.update(python.facts(samples))
        names.add(samples)
        # Of many tasks one is in memory at a time.
        readable.append((file, samples if len(files) == 1 else None))
    unavailable = names.resolve()
    return Collected(
        _tables(readable, names, python),
        unavailable,
        (*warnings, *notes(facts)),
        {name: facts[name] for name in facts},
    )


def _tables(
    files: Sequence[tuple[RecordFile, SampleFile | None]],
    names: FrameNames,
    python: PythonRecordings,
) -> Iterator[Table]:
    first = 0
    for file, samples in files:
        tables = TaskTables(samples or read_samples(file), names, python, first)
        yield from tables.tables()
        first = tables.next_number


# --- tables ---------------------------------------------------------------------------------------


class TaskTables:
    """The tables of one task, with numbers of their own from `first` on.

    Attributes:
        next_number: the first number that none of the tables has.
    """

    def __init__(
        self, samples: SampleFile, names: FrameNames, python: PythonRecordings, first: int = 0
    ) -> None:
        self._samples = samples
        self._first = first
        self._regions: dict[CodeFrame, int] = {}
        self._frames = names.of_places(samples)
        self._sampled, self._calls = with_calls(
            samples, python.paths(samples, self._frames), self._frames
        )
        self._waits = read_waits(samples, self._frames, self._sampled)
        self._unsampled = {
            event: ns
            for event in range(len(samples.events))
            if "is_wait" not in samples.events[event]
            and (ns := unsampled_ns(samples, event)) is not None
        }
        self._paths = self._call_paths()
        self._locations, self._location_of_thread = self._make_locations()
        self.next_number = first + max(
            len(self._paths.parents), len(self._regions) + 2, len(self._locations),
            len(samples.events),
        )  # fmt: skip

    def tables(self) -> Iterator[Table]:
        """Yield the tables."""
        yield self._locations
        yield from self._code()
        yield self._metrics()
        yield self._modules()
        yield from self._values()
        yield from wait_tables.wait_tables(
            self._samples,
            self._waits,
            self._wait_paths,
            np.array(self._location_of_thread, np.int64),
            self._first,
            self._thread_region,
        )
        if len(self._samples.jumps):
            yield branch_table(self._samples, self._numbers())

    def _call_paths(self) -> CallPaths:
        numbers = [
            tuple(self._regions.setdefault(frame, len(self._regions) + 1) for frame in frames)
            for frames in (*self._frames, *self._sampled.python_frames)
        ]
        self._wait_paths = wait_tables.paths_with_waits(
            self._samples, self._sampled, self._waits, numbers, self._regions, _PROGRAM
        )
        paths = self._wait_paths.paths
        if not self._unsampled:
            return paths
        kernel = CodeFrame(UNSEEN_KERNEL, _KERNEL)
        return paths.extended(self._regions.setdefault(kernel, len(self._regions) + 1))

    def _code(self) -> Iterator[Table]:
        first = self._first
        yield Table(
            REGIONS,
            [
                (first, "hpm", "", "", "", 0, None),
                *(
                    (first + number, *self._cells(frame, number))
                    for frame, number in self._regions.items()
                ),
                *(
                    [(self._thread_region, THREAD, "thread", "", "", 0, None)]
                    if wait_tables.has_spans(self._samples)
                    else []
                ),
            ],
        )
        paths = self._paths
        yield Table.of(
            PATHS,
            {
                "path": first + np.arange(len(paths.parents)),
                "parent": np.where(paths.parents >= 0, first + paths.parents, -1),
                "region": first + paths.regions,
            },
        )

    def _cells(self, frame: CodeFrame, number: int) -> tuple[str | int | bool | None, ...]:
        if frame in self._calls:
            return MPI, *frame[:4], None
        return WAIT if number in self._wait_paths.regions else "cpu", *frame

    @property
    def _thread_region(self) -> int:
        return self._first + len(self._regions) + 1

    def _make_locations(self) -> tuple[Table, list[int]]:
        """Return the locations, and that of each thread: numbers of tasks come again."""
        samples, table = self._samples, Table(LOCATIONS)
        rank, host = samples.rank, samples.host
        numbers: dict[tuple[int, int], int] = {}

        def place(pid: int, tid: int, name: str, parent: int) -> int:
            if (pid, tid) not in numbers:
                numbers[pid, tid] = self._first + len(numbers)
                kind = "process" if tid < 0 else "thread"
                table.append((numbers[pid, tid], parent, kind, host, rank, pid, tid, name))
            return numbers[pid, tid]

        of_thread = []
        for thread in samples.threads:
            process = samples.processes[thread.process]
            parent = place(process.number, -1, process.name, -1)
            of_thread.append(place(process.number, thread.number, thread.name, parent))
        return table, of_thread

    def _numbers(self) -> TaskNumbers:
        innermost = [self._regions[frames[-1]] for frames in self._frames]
        return TaskNumbers(
            self._first,
            np.array(self._location_of_thread, np.int64),
            self._first + np.array(innermost, np.int64),
        )

    def _metrics(self) -> Table:
        table = Table(METRICS)
        for number, event in enumerate(self._samples.events):
            table.add(
                metric=self._first + number,
                name=_metric_name(event),
                unit="s" if event["is_clock"] or "is_wait" in event else event["unit"],
                formula="",
                how=(How.COUNTED if "is_wait" in event else How.SAMPLED).value,
                component="samples",
                domain=Domain.ALL.value if number in self._unsampled else event["domain"],
                scope="thread",
                description=_description(event, has_rest=number in self._unsampled),
                aggregation=Aggregation.SUM.value,
                absent_is_zero=True,
                reproducible=False,
                dilated=False,
            )
        return table

    def _modules(self) -> Table:
        return Table(
            MODULES,
            [
                (module_name(module.path), module.path, module.build_id)
                for module in self._samples.modules
                if module.kind == FILE
            ],
        )

    def _values(self) -> Iterator[Table]:
        values, first = self._samples.values, self._first
        is_wait = wait_tables.is_wait(self._samples)
        # Of many samples a copy takes room.
        kept = ~is_wait if is_wait.any() else slice(None)
        samples, of_samples = self._samples.samples[kept], self._sampled.of_samples[kept]
        n = len(samples)
        nodes = samples["node"]
        number_of = np.cumsum(~is_wait) - 1
        of_values = number_of[values["sample"].astype(np.int64)]
        has_node = nodes != NONE
        # Of a sample that has nothing but frames which are left out it is the program's.
        has_path = of_samples != NONE
        paths = np.zeros(n, np.int64)
        paths[has_path] = self._paths.of_nodes[of_samples[has_path]]
        # What was read at a sample is a row of its own, behind that of the sample.
        row = order = np.arange(n)
        if len(values):
            of_row = np.concatenate([row, of_values])
            order = np.argsort(of_row, kind="stable")
            row = of_row[order]
        events = np.concatenate([samples["event"], values["event"]])[order].astype(np.int64)
        factors = np.array([_factor(event) for event in self._samples.events])
        weights = np.concatenate([samples["weight"], values["value"]])[order].astype(np.float64)
        weights *= factors[events]
        locations = np.array(self._location_of_thread, np.int64)[samples["thread"]][row]
        n_events = len(self._samples.events)
        rest = self._rest()
        sums = sums_on_paths(
            self._paths.parents,
            self._paths.depths,
            np.concatenate((locations, rest.locations)) * n_events
            + np.concatenate((events, rest.events)),
            np.concatenate((paths[row], np.full(len(rest.events), len(self._paths.parents) - 1))),
            np.concatenate((weights, rest.seconds)),
            np.repeat([1, 0], [len(row), len(rest.events)]),
        )
        yield profile_of(
            sums.rows(sums.keys // n_events, first + sums.paths, first + sums.keys % n_events)
        )
        data = self._data(n, number_of)
        # Texts of so many rows at a time: they take more room than samples do in their file.
        for begin in range(0, max(len(row), 1), _ROWS_AT_ONCE):
            part = slice(begin, begin + _ROWS_AT_ONCE)
            rows = row[part]
            columns, masks = _data_columns(data, order[part], n)
            yield Table.of(
                SAMPLES,
                {
                    "repetition": np.zeros(len(rows), np.int32),
                    "location": locations[part],
                    "path": np.where(has_node[rows], first + paths[rows], -1),
                    "metric": first + events[part],
                    "time_ns": self._samples.epoch_ns
                    + np.minimum(samples["time_ns"][rows], np.uint64(1 << 62)).astype(np.int64),
                    "address": self._addresses(nodes[rows], has_node[rows]),
                    "weight": weights[part],
                    **columns,
                },
                {"address": ~has_node[rows], **masks},
            )

    def _rest(self) -> _UnsampledTime:
        """Return what threads used of clocks beyond their samples."""
        rows = [
            (self._location_of_thread[thread], event, ns[thread] * _NS)
            for event, ns in self._unsampled.items()
            for thread in np.flatnonzero(ns).tolist()
        ]
        locations, events, seconds = zip(*rows, strict=True) if rows else ((), (), ())
        return _UnsampledTime(
            np.array(locations, np.int64), np.array(events, np.int64), np.array(seconds, float)
        )

    def _data(self, n: int, number_of: NDArray[np.int64]) -> _Accesses:
        """Return what samples accessed; of a sample that says nothing of it, zeros.

        Args:
            n: how many samples there are that are no waits.
            number_of: the number of each sample among these.
        """
        data = self._samples.data
        if not len(data):
            # One for all.
            return _Accesses(*(np.zeros(1, np.uint64) for _ in range(3)))
        addresses, sources, latencies = (np.zeros(n, np.uint64) for _ in range(3))
        of_sample = number_of[data["sample"].astype(np.int64)]
        addresses[of_sample], latencies[of_sample] = data["address"], data["latency"]
        sources[of_sample] = data["source"]
        return _Accesses(addresses, sources, latencies)

    def _addresses(
        self, nodes: NDArray[np.uint32], has_node: NDArray[np.bool_]
    ) -> NDArray[np.int64]:
        addresses = np.zeros(len(nodes), np.uint64)
        places = self._samples.node_places[nodes[has_node]]
        addresses[has_node] = self._samples.place_offsets[places]
        return addresses.view(np.int64)


class _Accesses(NamedTuple):
    """Data addresses, how they were accessed (perf_mem_data_src) and latencies, of samples."""

    addresses: NDArray[np.uint64]
    sources: NDArray[np.uint64]
    latencies: NDArray[np.uint64]


def _data_columns(
    data: _Accesses, order: NDArray[np.int64], n: int
) -> tuple[dict[str, Cells], dict[str, NDArray[np.bool_]]]:
    """Return the columns of what was accessed, and where they have no value.

    Args:
        data: of the samples, or of one that stands for all.
        order: of each row the number of its sample, from n on for what was read at one.
        n: how many samples there are.
    """
    is_sample = order < n
    own = np.where(is_sample & (len(data.sources) > 1), order, 0)
    said, of_own = np.unique(data.sources[own], return_inverse=True)
    # The last one is that of rows that are no samples.
    texts = [*(words(int(source)) for source in said), ""]
    of_row = np.where(is_sample, of_own.reshape(-1), len(texts) - 1)
    columns: dict[str, Cells] = {
        "data_address": data.addresses.view(np.int64)[own],
        "data_source": [texts[number] for number in of_row.tolist()],
        "latency": np.minimum(data.latencies[own], np.uint64(1 << 62)).astype(np.int64),
        "woken_by": [""] * len(order),
        "held_by": [""] * len(order),
    }
    return columns, {
        "data_address": ~is_sample | (data.addresses[own] == 0),
        "latency": ~is_sample | (data.latencies[own] == 0),
    }


class _UnsampledTime(NamedTuple):
    """CPU time beyond the samples: parallel columns of where, of which event, and how much."""

    locations: NDArray[np.int64]
    events: NDArray[np.int64]
    seconds: NDArray[np.float64]


def _metric_name(event: Mapping[str, Any]) -> str:
    if "is_wait" in event:
        return WAITING_TIME
    return CPU_TIME if event["is_clock"] else f"{event['name']} (sampled)"


def _factor(event: Mapping[str, Any]) -> float:
    return _NS if event["is_clock"] else float(event["factor"])


def _description(event: Mapping[str, Any], *, has_rest: bool) -> str:
    if "is_wait" in event:
        return wait_tables.DESCRIPTION
    unit = " ns" if event["is_clock"] else ""
    if event["is_frequency"]:
        often = f"{event['period']} times per second"
    else:
        often = "each time" if event["period"] == 1 else f"every {event['period']}{unit}"
    mode = " of user code" if event["domain"] == "user" else ""
    leader = event.get("read_with")
    if leader is not None:
        return f"{event['name']}{mode} counted up to samples of {leader}, these {often}"
    rest = f"; the rest of CPU time is {UNSEEN_KERNEL}" if has_rest else ""
    return f"samples of {event['name']}{mode}, {often}{rest}"
