"""The calls of one process as rows of the profile and of messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gnomon.model.metric import Aggregation
from gnomon.model.tables import Table
from gnomon.model.value import How
from gnomon.mpi import mpi_metrics
from gnomon.named_tuple import NamedTuple
from gnomon.store.path_sums import sums_on_paths

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gnomon.measurement.call_sites import CallSites
    from gnomon.measurement.totals_file import TotalsFile
    from gnomon.model.tables import Schema

_NS = 1e9
_CALLS_MOST, _BYTES_MOST = 1 << 50, 1 << 62
_ROOT = np.zeros(1, np.int64)
"""The program's path."""


class Measure(NamedTuple):
    """A metric: its name, unit and the rest of its row."""

    name: str
    unit: str
    description: str
    how: How = How.COUNTED
    aggregation: Aggregation = Aggregation.SUM


MEASURES = (
    Measure(mpi_metrics.TIME, "ns", "in calls of MPI"),
    Measure(mpi_metrics.SENT, "bytes", "what calls of MPI sent"),
    Measure(mpi_metrics.RECEIVED, "bytes", "what calls of MPI received"),
    Measure(
        mpi_metrics.LONGEST, "ns", "the longest call of all from a place",
        aggregation=Aggregation.MAX,
    ),
    Measure(
        mpi_metrics.COMPLETION, "ns", "in calls that completed what was started here: a part of "
        "their MPI time",
    ),
    Measure(
        mpi_metrics.WAITING, "ns", "until the last rank had come to a collective operation: a part "
        "of its MPI time",
    ),
    Measure(
        mpi_metrics.ELAPSED, "ns", "of a process that did not finalize up to its last call",
        aggregation=Aggregation.ELAPSED,
    ),
    Measure(
        mpi_metrics.OVERHEAD, "ns", "calls times what the profile was measured to add to one",
        How.ESTIMATED,
    ),
    Measure(mpi_metrics.TIME_BY_SIZE, "ns", "in calls of MPI, by the size of what they moved"),
    Measure(mpi_metrics.BYTES_BY_SIZE, "bytes", "sent or received, by the size of what was moved"),
    Measure(mpi_metrics.TIME_BY_COMMUNICATOR, "ns", "in calls of MPI, by communicator"),
    Measure(
        mpi_metrics.BYTES_BY_COMMUNICATOR, "bytes", "sent and received together, by communicator"
    ),
)  # fmt: skip
(_TIME, _SENT, _RECEIVED, _LONGEST, _COMPLETION, _WAITING, _ELAPSED, _OVERHEAD, _TIME_BY_SIZE,
 _BYTES_BY_SIZE, _TIME_BY_COMMUNICATOR, _BYTES_BY_COMMUNICATOR) = range(len(MEASURES))  # fmt: skip
_WITH_CALLS = (_TIME, _TIME_BY_SIZE, _TIME_BY_COMMUNICATOR)


class ProcessRows:
    """The rows of a process, of one file or several."""

    def __init__(self, sites: CallSites) -> None:
        self._sites = sites
        self._parts: list[tuple[int, NDArray[np.int64], NDArray[Any], NDArray[Any]]] = []
        self._longest: list[tuple[NDArray[np.int64], NDArray[np.float64]]] = []
        self._messages: list[tuple[NDArray[np.int64], ...]] = []

    def add(self, file: TotalsFile) -> None:
        """Take in what a file has.

        Args:
            file: one that `sites` has been told of, too.
        """
        ns = _NS / file.ticks_hz
        own, paths = file.sites, self._sites.of_sites(file)
        calls = whole(own["calls"])
        self._add(_TIME, paths, own["ticks"] * ns, calls)
        self._add(_SENT, paths, own["sent"])
        self._add(_RECEIVED, paths, own["received"])
        self._add(_COMPLETION, paths, own["completion_ticks"] * ns)
        self._longest.append((paths, own["most_ticks"] * ns))
        of_communicators = self._sites.of_objects(file)
        self._add(_TIME_BY_COMMUNICATOR, of_communicators, own["ticks"] * ns, calls)
        moved = own["sent"].astype(float) + own["received"]
        self._add(_BYTES_BY_COMMUNICATOR, of_communicators, moved)
        sizes, of_sizes = file.sizes, self._sites.of_sizes(file)
        self._add(_TIME_BY_SIZE, of_sizes, sizes["ticks"] * ns, whole(sizes["calls"]))
        self._add(_BYTES_BY_SIZE, of_sizes, sizes["bytes"])
        waits = _paths_of_places(file, file.waiting["site"], paths)
        self._add(_WAITING, np.maximum(waits, _ROOT[0]), file.waiting["ticks"] * ns)
        self._add(_ELAPSED, _ROOT, np.array([file.up_ticks * ns]))
        self._add(_OVERHEAD, _ROOT, np.array([overhead_ns(file)]))
        messages = file.messages
        self._messages.append(
            (
                _paths_of_places(file, messages["site"], paths),
                messages["peer"].astype(np.int64),
                whole(messages["messages"]),
                whole(messages["bytes"], _BYTES_MOST),
            )
        )

    def _add(
        self, metric: int, paths: NDArray[np.int64], values: NDArray[Any],
        calls: NDArray[np.int64] | None = None,
    ) -> None:  # fmt: skip
        if calls is None:
            calls = np.zeros(len(paths), np.int64)
        is_some = (values > 0) | (calls > 0)
        weights = values[is_some].astype(np.float64)
        self._parts.append((metric, paths[is_some], weights, calls[is_some]))

    def profile(self, location: int) -> dict[str, NDArray[Any]]:
        """Return the rows of the profile as columns, `calls` with -1 where it is not known."""
        tree = self._sites.paths
        metrics = np.concatenate([np.full(len(one[1]), one[0]) for one in self._parts])
        paths, values, calls = (
            np.concatenate([one[at] for one in self._parts]) for at in (1, 2, 3)
        )
        sums = sums_on_paths(tree.parents, tree.depths, metrics, paths, values, calls)
        is_counted = np.isin(sums.keys, _WITH_CALLS) & self._sites.has_calls[sums.paths]
        longest_paths, longest = self._longest_calls()
        return {
            "location": np.full(len(sums.keys) + len(longest), location),
            "path": np.concatenate((sums.paths, longest_paths)),
            "metric": np.concatenate((sums.keys, np.full(len(longest), _LONGEST))),
            "inclusive": np.concatenate((sums.inclusive, longest)),
            "exclusive": np.concatenate((sums.exclusive, longest)),
            "calls": np.concatenate(
                (np.where(is_counted, sums.counts, -1), np.full(len(longest), -1))
            ),
        }

    def _longest_calls(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        paths, inverse = np.unique(
            np.concatenate([one[0] for one in self._longest]), return_inverse=True
        )
        longest = np.zeros(len(paths))
        np.maximum.at(
            longest, inverse.reshape(-1), np.concatenate([one[1] for one in self._longest])
        )
        return paths, longest

    def messages(
        self, sender: int, first: int, ranks: NDArray[np.int64]
    ) -> dict[str, NDArray[Any]]:
        """Return the rows of messages as columns, -1 where something is not known.

        Args:
            sender: the location of this process's rank; -1: MPI was never up.
            first: that of the first one of `ranks`.
            ranks: all that have locations, ascending.
        """
        paths, peers, n_messages, n_bytes = (
            np.concatenate([one[at] for one in self._messages]) for at in range(4)
        )
        n_paths = len(self._sites.paths.parents) + 1
        keys, inverse = np.unique((peers + 1) * n_paths + paths + 1, return_inverse=True)
        inverse = inverse.reshape(-1)
        sums = [np.zeros(len(keys), np.int64) for _ in range(2)]
        for own, values in zip(sums, (n_messages, n_bytes), strict=True):
            np.add.at(own, inverse, values)
        receivers = keys // n_paths - 1
        is_known = (receivers >= 0) & (sender >= 0)
        return {
            "sender": np.full(len(keys), sender),
            "receiver": np.where(is_known, first + np.searchsorted(ranks, receivers), -1),
            "messages": sums[0],
            "bytes": sums[1],
            "path": keys % n_paths - 1,
        }


def overhead_ns(file: TotalsFile) -> float:
    """Return what the profile added to a process, estimated; 0 where no cost was measured."""
    calls = whole(file.sites["calls"])
    with_requests = calls[file.sites["completion_ticks"] > 0]
    ticks = float(calls.sum()) * file.cost_ticks_call
    return (ticks + float(with_requests.sum()) * file.cost_ticks_nonblocking) * _NS / file.ticks_hz


def whole(numbers: NDArray[np.uint64], most: int = _CALLS_MOST) -> NDArray[np.int64]:
    """Return numbers of calls that sums have room for; what is larger is nonsense."""
    return np.minimum(numbers, np.uint64(most)).astype(np.int64)


def _paths_of_places(
    file: TotalsFile, places: NDArray[np.uint32], paths: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the paths of sites by their places among all records; -1: there is none."""
    if not len(paths):
        return np.full(len(places), -1)
    sites = np.minimum(np.searchsorted(file.site_places, places), len(paths) - 1)
    return np.where(file.site_places[sites] == places, paths[sites], -1)


class TableParts:
    """Rows of a bulk table, gathered until they are many.

    Attributes:
        n: how many there are.
    """

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._parts: list[dict[str, NDArray[Any]]] = []
        self.n = 0

    def add(self, columns: dict[str, NDArray[Any]]) -> None:
        """Take in rows; a column that may miss values has -1 there."""
        self._parts.append(columns)
        self.n += len(next(iter(columns.values())))

    def table(self) -> Table:
        """Return them, and begin anew; columns that nobody gave miss all values."""
        parts, n = self._parts, self.n
        self._parts, self.n = [], 0
        columns: dict[str, Any] = {}
        masks: dict[str, NDArray[np.bool_]] = {}
        for column in self._schema.columns:
            if column.name in parts[0]:
                columns[column.name] = np.concatenate([part[column.name] for part in parts])
                if column.nullable and (columns[column.name] < 0).any():
                    masks[column.name] = columns[column.name] < 0
            else:
                columns[column.name] = np.zeros(n, np.int64)
                if column.nullable:
                    masks[column.name] = np.ones(n, bool)
        return Table.of(self._schema, columns, masks)
