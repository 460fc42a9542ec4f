"""The calls of one process as rows of the profile and of messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gnomon.measurement.call_rows import CallRows, Measure, whole
from gnomon.model.metric import Aggregation
from gnomon.model.value import How
from gnomon.mpi import mpi_metrics

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gnomon.measurement.call_sites import CallSites
    from gnomon.measurement.totals_file import TotalsFile

_NS = 1e9
_BYTES_MOST = 1 << 62
_ROOT = np.zeros(1, np.int64)
"""The program's path."""


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
        self._rows = CallRows(sites, _WITH_CALLS)
        self._messages: list[tuple[NDArray[np.int64], ...]] = []

    def add(self, file: TotalsFile) -> None:
        """Take in what a file has.

        Args:
            file: one that `sites` has been told of, too.
        """
        ns = _NS / file.ticks_hz
        own, paths = file.sites, self._sites.of_sites(file)
        calls = whole(own["calls"])
        self._rows.add(_TIME, paths, own["ticks"] * ns, calls)
        self._rows.add(_SENT, paths, own["sent"])
        self._rows.add(_RECEIVED, paths, own["received"])
        self._rows.add(_COMPLETION, paths, own["completion_ticks"] * ns)
        self._rows.add_greatest(_LONGEST, paths, own["most_ticks"] * ns)
        of_communicators = self._sites.of_objects(file)
        self._rows.add(_TIME_BY_COMMUNICATOR, of_communicators, own["ticks"] * ns, calls)
        moved = own["sent"].astype(float) + own["received"]
        self._rows.add(_BYTES_BY_COMMUNICATOR, of_communicators, moved)
        sizes, of_sizes = file.sizes, self._sites.of_sizes(file)
        self._rows.add(_TIME_BY_SIZE, of_sizes, sizes["ticks"] * ns, whole(sizes["calls"]))
        self._rows.add(_BYTES_BY_SIZE, of_sizes, sizes["bytes"])
        waits = _paths_of_places(file, file.waiting["site"], paths)
        self._rows.add(_WAITING, np.maximum(waits, _ROOT[0]), file.waiting["ticks"] * ns)
        self._rows.add(_ELAPSED, _ROOT, np.array([file.up_ticks * ns]))
        self._rows.add(_OVERHEAD, _ROOT, np.array([overhead_ns(file)]))
        messages = file.messages
        self._messages.append(
            (
                _paths_of_places(file, messages["site"], paths),
                messages["peer"].astype(np.int64),
                whole(messages["messages"]),
                whole(messages["bytes"], _BYTES_MOST),
            )
        )

    def profile(self, location: int) -> dict[str, NDArray[Any]]:
        """Return the rows of the profile as columns, `calls` with -1 where it is not known."""
        return self._rows.columns(location)

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


def _paths_of_places(
    file: TotalsFile, places: NDArray[np.uint32], paths: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the paths of sites by their places among all records; -1: there is none."""
    if not len(paths):
        return np.full(len(places), -1)
    sites = np.minimum(np.searchsorted(file.site_places, places), len(paths) - 1)
    return np.where(file.site_places[sites] == places, paths[sites], -1)
