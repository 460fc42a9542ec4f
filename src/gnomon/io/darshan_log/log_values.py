"""Values of metrics that come out of the counters of a Darshan log."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gnomon.named_tuple import NamedTuple

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gnomon.io.darshan_log.log_content import Counters

_NS = 1e9


class Values(NamedTuple):
    """Values of a metric, one for each record of a module.

    Attributes:
        metric: its name.
        kind: of the region: one of `io_metrics`.
        child: what stands below the file, the call or the program.
        values: -1 where they are not known, 0 where there is none.
        owner: the region above, "" for the file of each record.
    """

    metric: str
    kind: str
    child: str
    values: NDArray[np.float64]
    owner: str = ""


class RecordCounters:
    """The counters of a module's records.

    Attributes:
        prefix: that their names begin with.
    """

    prefix: str

    def __init__(self, counters: Counters) -> None:
        self._counters = counters

    def count(self, name: str) -> NDArray[np.float64]:
        """Return a counter, -1 where it is not known, and where logs of this age have none."""
        own = self._counters.counts.get(f"{self.prefix}_{name}")
        if own is None:
            return np.full(len(self._counters.files), -1.0)
        return np.maximum(own.astype(np.float64), -1.0)

    def ns(self, name: str) -> NDArray[np.float64]:
        """Return a time in nanoseconds, -1 where it is not known."""
        own = self._counters.times.get(f"{self.prefix}_F_{name}_TIME")
        if own is None:
            return np.full(len(self._counters.files), -1.0)
        return np.where(np.isfinite(own) & (own >= 0), own * _NS, -1.0)
