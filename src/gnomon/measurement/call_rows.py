"""Rows of the profile for calls of processes, gathered metric by metric."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gnomon.model.metric import Aggregation
from gnomon.model.tables import METRICS, Table
from gnomon.model.value import Domain, How, Scope
from gnomon.named_tuple import NamedTuple
from gnomon.store.path_sums import sums_on_paths

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from gnomon.measurement.call_sites import CallSites
    from gnomon.model.tables import Schema

CALLS_MOST = 1 << 50
"""What is larger is nonsense."""


class Measure(NamedTuple):
    """A metric: its name, unit and the rest of its row."""

    name: str
    unit: str
    description: str
    how: How = How.COUNTED
    aggregation: Aggregation = Aggregation.SUM


def metrics_table(measures: Sequence[Measure], component: str) -> Table:
    """Return the metrics of measures, numbered as they come."""
    table = Table(METRICS)
    for number, measure in enumerate(measures):
        table.add(
            metric=number,
            name=measure.name,
            unit=measure.unit,
            formula="",
            how=measure.how.value,
            component=component,
            domain=Domain.ALL.value,
            scope=Scope.PROCESS.value,
            description=measure.description,
            aggregation=measure.aggregation.value,
            absent_is_zero=True,
            reproducible=False,
            dilated=False,
        )
    return table


class CallRows:
    """The rows of a process, of one file or several.

    Args:
        sites: which have the paths.
        with_calls: the metrics whose rows say how many calls there were.
    """

    def __init__(self, sites: CallSites, with_calls: Sequence[int]) -> None:
        self._sites = sites
        self._with_calls = np.array(with_calls, np.int64)
        self._parts: list[tuple[int, NDArray[np.int64], NDArray[Any], NDArray[Any]]] = []
        self._greatest: dict[int, list[tuple[NDArray[np.int64], NDArray[Any]]]] = {}

    def add(
        self, metric: int, paths: NDArray[np.int64], values: NDArray[Any],
        calls: NDArray[np.int64] | None = None,
    ) -> None:  # fmt: skip
        """Take in values that add up, also on the paths above theirs."""
        if calls is None:
            calls = np.zeros(len(paths), np.int64)
        is_some = (values > 0) | (calls > 0)
        weights = values[is_some].astype(np.float64)
        self._parts.append((metric, paths[is_some], weights, calls[is_some]))

    def add_greatest(self, metric: int, paths: NDArray[np.int64], values: NDArray[Any]) -> None:
        """Take in values of which the greatest on a path counts, and none above it."""
        self._greatest.setdefault(metric, []).append((paths, values))

    def columns(self, location: int) -> dict[str, NDArray[Any]]:
        """Return the rows of the profile as columns, `calls` with -1 where it is not known."""
        tree = self._sites.paths
        metrics = np.concatenate([np.full(len(part[1]), part[0]) for part in self._parts])
        paths, values, calls = (
            np.concatenate([part[at] for part in self._parts]) for at in (1, 2, 3)
        )
        sums = sums_on_paths(tree.parents, tree.depths, metrics, paths, values, calls)
        is_counted = np.isin(sums.keys, self._with_calls) & self._sites.has_calls[sums.paths]
        parts = [
            (sums.keys, sums.paths, sums.inclusive, sums.exclusive,
             np.where(is_counted, sums.counts, -1))
        ]  # fmt: skip
        for metric, several in self._greatest.items():
            own, greatest = _greatest(several)
            n = len(own)
            parts.append((np.full(n, metric), own, greatest, greatest, np.full(n, -1)))
        keys, paths, inclusive, exclusive, counts = (
            np.concatenate([part[at] for part in parts]) for at in range(5)
        )
        return {
            "location": np.full(len(keys), location),
            "path": paths,
            "metric": keys,
            "inclusive": inclusive,
            "exclusive": exclusive,
            "calls": counts,
        }


def _greatest(
    several: Sequence[tuple[NDArray[np.int64], NDArray[Any]]],
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    paths, inverse = np.unique(np.concatenate([part[0] for part in several]), return_inverse=True)
    greatest = np.zeros(len(paths))
    np.maximum.at(greatest, inverse.reshape(-1), np.concatenate([part[1] for part in several]))
    return paths, greatest


def whole(numbers: NDArray[np.uint64], most: int = CALLS_MOST) -> NDArray[np.int64]:
    """Return numbers of calls that sums have room for; what is larger is nonsense."""
    return np.minimum(numbers, np.uint64(most)).astype(np.int64)


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
