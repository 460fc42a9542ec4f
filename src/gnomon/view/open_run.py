"""An open run, .viz file or combination: the answers to requests, each computed once."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

import numpy as np

from gnomon.callgraph.inputs import GmonFiles
from gnomon.errors import UsageError
from gnomon.metrics.formula import Formula
from gnomon.model.metric import Metric
from gnomon.named_tuple import NamedTuple
from gnomon.view import (
    distribution,
    metric_coverage,
    node_values,
    profile_rows,
    sample_times,
    section_shares,
    tree_builders,
)
from gnomon.view.callers_tree import CallersTree
from gnomon.view.derived_metrics import FormulaInputs
from gnomon.view.distribution import Distribution
from gnomon.view.metric_coverage import MetricCoverage
from gnomon.view.node_values import NodeValues, PathValues
from gnomon.view.path_names import Names
from gnomon.view.profile_rows import ProfileRows
from gnomon.view.run_metadata import Dataset
from gnomon.view.sample_times import SampledTime
from gnomon.view.tree import CALLERS, GROUPINGS, Tree

T = TypeVar("T")
# Rows of metrics, and values of nodes, that are kept; the least recently used go first.
_KEPT_BYTES = 1 << 29
_KEPT_ANSWERS = 64


class MergedPart(NamedTuple):
    """A run that a combination is made of.

    Attributes:
        location: of the combination, that is all of this run: the `location` of its values.
    """

    id: str
    title: str
    location: int


class OpenRun:
    """One of the runs that are open; its methods may be called from any thread.

    One with a `base` has the paths, trees and names of that.
    """

    def __init__(
        self, number: str, kind: str, path: str, title: str, data: Dataset,
        parts: tuple[MergedPart, ...] = (), base: OpenRun | None = None,
        gmon: GmonFiles | None = None,
    ) -> None:  # fmt: skip
        self.id = number
        self.kind = kind
        self.path = path
        self.title = title
        self.data = data
        self.parts = parts
        self.gmon = gmon
        self.combined: tuple[OpenRun, ...] = ()
        self._base = base
        self.inputs = FormulaInputs(data)
        self._lock = threading.RLock()
        self._rows: OrderedDict[int, ProfileRows] = OrderedDict()
        self._answers: OrderedDict[Hashable, Any] = OrderedDict()
        self._trees: dict[str, Tree] = {}
        self._callers: CallersTree | None = None
        self._known_names: Names | None = None

    @property
    def is_window(self) -> bool:
        """Whether it is a part of the time of another one."""
        return self._base is not None

    def metric(self, number: int) -> Metric:
        """Return a metric by its number.

        Raises:
            UsageError: there is none.
        """
        metric = self.data.metric_of.get(number)
        if metric is None:
            raise UsageError(f"{self.title}: there is no metric {number}")
        return metric

    def location(self, number: int | None) -> int:
        """Return a location's position, -1 for all locations.

        Raises:
            UsageError: there is none of that number.
        """
        if number is None or number == -1:
            return -1
        position = self.data.location_at.get(number)
        if position is None:
            raise UsageError(f"{self.title}: there is no location {number}")
        return position

    def rows(self, metric: int) -> ProfileRows:
        """Return a metric's rows of the profile."""
        with self._lock:
            rows = self._rows.pop(metric, None) or profile_rows.read_profile_rows(self.data, metric)
            self._rows[metric] = rows
            while len(self._rows) > 1 and self._size() > _KEPT_BYTES:
                self._rows.popitem(last=False)
            return rows

    def _size(self) -> int:
        return sum(column.nbytes for rows in self._rows.values() for column in rows)

    def known(self) -> dict[int, MetricCoverage]:
        """Return the coverage of each metric, by number."""
        return self.once("known", self._known)

    def _known(self) -> dict[int, MetricCoverage]:
        coverage = metric_coverage.recorded(self.data)
        for metric in self.data.metrics:
            formula = self._recomputed(metric)
            if formula is not None:
                inputs = [coverage[each.metric] for each in self.inputs.needed(formula)]
                coverage[metric.metric] = coverage[metric.metric].derived(inputs)
        return coverage

    def sample_weight(self, metric: int) -> float | None:
        """Return what one sample adds to a metric's values; None for those that are not sampled."""
        return self.once("weights", lambda: metric_coverage.sample_weights(self.data)).get(metric)

    def sampled_time(self) -> SampledTime:
        """Return the time in which the run has samples.

        Raises:
            UsageError: it has none with a time, or is several runs.
            RunDirectoryError: the tables cannot be read.
        """
        if self._base is not None:
            return self._base.sampled_time()
        if self.parts:
            raise UsageError(f"{self.title}: runs that were combined have no time in common")
        time = self.once("time", lambda: sample_times.sampled_time(self.data))
        if time is None:
            raise UsageError(
                f"{self.title}: it has no samples with a time; measure with gnomon record"
            )
        return time

    def first_metric(self) -> int:
        """Return the metric to show first: one that parts of the program have, if any; or -1."""
        coverage = self.known()
        with_regions = [number for number, one in coverage.items() if one.has_regions]
        if self.data.has_call_paths:
            # Most of what there is are functions; what sections were counted they do not have.
            with_code = [number for number in with_regions if coverage[number].has_code]
            with_regions = with_code or with_regions
        # Beside counts that are exact, as of an emulated PMU, others say less, and times nothing.
        exact = [at for at in with_regions if self.metric(at).is_exact]
        return next(iter(exact or with_regions or coverage), -1)

    def _recomputed(self, metric: Metric) -> Formula | None:
        """Return a formula that gives the run's own value for the whole program."""
        formula = self.inputs.formula(metric) if metric.is_derived else None
        if formula is None:
            return None
        recorded = self._whole(metric)
        inputs = {one.metric: np.array([self._whole(one)]) for one in self.inputs.needed(formula)}
        (again,) = self.inputs.evaluate(formula, inputs, 1).tolist()
        # Over repetitions the mean of ratios is not the ratio of means, but near it.
        tolerance = 1e-9 if self.data.repetitions == 1 and not self.parts else 0.5
        is_right = np.isnan(recorded) or abs(again - recorded) <= tolerance * abs(recorded)
        return formula if is_right else None

    def _whole(self, metric: Metric) -> float:
        rows = self.rows(metric.metric)
        paths = node_values.path_values(self.data, metric, rows)
        roots = paths.inclusive[(self.data.paths.parent < 0) & paths.has]
        return float(roots.sum()) if len(roots) else float("nan")

    def tree(self, by: str) -> Tree:
        """Return the tree of a grouping.

        Raises:
            UsageError: there is no such grouping.
            RunDirectoryError: the tables cannot be read.
        """
        if by not in GROUPINGS and by != tree_builders.FUNCTION:
            raise UsageError(f"by {by[:40]!a}: there are {', '.join(GROUPINGS)}")
        if self._base is not None:
            return self._base.tree(by)
        with self._lock:
            if by == CALLERS:
                return self._callers_tree().tree()
            if by not in self._trees:
                self._trees[by] = tree_builders.build(self.data, by, self._names())
            return self._trees[by]

    def grown(self, by: str, node: int) -> Tree:
        """Return the tree of a grouping after the nodes below one of its nodes were added.

        Raises:
            UsageError: there is no such grouping or node.
            RunDirectoryError: the tables cannot be read.
        """
        if self._base is not None:
            return self._base.grown(by, node)
        tree = self.tree(by)
        if not 0 <= node < tree.n:
            raise UsageError(f"there is no node {node} in the tree by {by}")
        if by != CALLERS:
            return tree
        with self._lock:
            callers = self._callers_tree()
            callers.grow(node)
            return callers.tree()

    def _callers_tree(self) -> CallersTree:
        if self._callers is None:
            named = tree_builders.named_paths(self.data, CALLERS, self._names())
            self._callers = CallersTree(named)
        return self._callers

    def _names(self) -> Names:
        if self._known_names is None:
            self._known_names = Names(self.data, self._weights())
        return self._known_names

    def _weights(self) -> NodeValues:
        number = self.first_metric()
        if number < 0:
            none = np.full(len(self.data.paths.number), np.nan)
            return NodeValues(none, none)
        paths = self.path_values(number, -1)
        return NodeValues(paths.inclusive, paths.exclusive)

    def path_values(self, number: int, location: int) -> PathValues:
        """Return a metric's values of each path, by its number and a location's position, or -1.

        Raises:
            RunDirectoryError: the tables cannot be read.
        """

        def work() -> PathValues:
            metric = self.metric(number)
            return node_values.path_values(self.data, metric, self.rows(number), location)

        return self.once(("paths", number, location), work)

    def values(
        self, by: str, metric: int, location: int = -1, which: str = "total",
        nodes: tuple[int, int] | None = None,
    ) -> NodeValues:  # fmt: skip
        """Return a metric's values of each node of a tree.

        Args:
            by: the grouping.
            metric: number of the metric.
            location: position of the only location that is wanted, -1 for all.
            which: one of `STATISTICS`.
            nodes: the first and the one behind the last of a tree that grows; None for all.

        Raises:
            UsageError: there is no such grouping, metric, statistic or node.
            RunDirectoryError: the tables cannot be read.
        """
        tree = self.tree(by)
        begin, end = nodes or (0, tree.n)
        if not 0 <= begin <= end <= tree.n:
            raise UsageError(f"nodes {begin} to {end}: the tree by {by} has {tree.n}")
        key = (by, metric, location, which, begin, end)
        return self.once(key, lambda: self._values(by, metric, location, which, (begin, end)))

    def told(self, metric: int, location: int, which: str) -> str:
        """Return which value of several places those of nodes are, "" for their sum."""
        if which != "total":
            return f"{which} of locations"
        return node_values.told(self.data, self.metric(metric), location)

    def is_shared(self, by: str, metric: int, location: int, which: str) -> bool:
        """Return whether a node's value is a part of the root's.

        Of times of ranks each has its own, and a tree of these has no whole.
        """
        if by == "rank" and self.told(metric, location, which):
            return False
        if by == "rank" or which != "total":
            return True
        return self._is_shared(metric, location)

    def _is_shared(self, number: int, location: int) -> bool:
        metric = self.metric(number)
        if not metric.is_additive or not self.data.has_sections:
            return metric.is_additive

        def work() -> bool:
            paths = self.path_values(number, location)
            return section_shares.is_shared(self.data, metric, paths)

        return self.once(("shared", number, location), work)

    def shared(self, by: str, location: int) -> dict[int, bool]:
        """Return `is_shared` of the total of every metric, by number.

        Raises:
            RunDirectoryError: the tables cannot be read.
        """
        if by == "rank" or not self.data.has_sections:
            return {at: self.is_shared(by, at, location, "total") for at in self.data.metric_of}
        return self.once(("all shared", location), lambda: self._shared(location))

    def _shared(self, location: int) -> dict[int, bool]:
        sums = {
            number: one
            for number, one in self.data.metric_of.items()
            if one.is_additive and not one.is_elapsed
        }
        others = self.data.metric_of.keys() - sums.keys()
        found = {number: self._is_shared(number, location) for number in others}
        return found | section_shares.of_sums(self.data, sums, location)

    def _values(
        self, by: str, number: int, location: int, which: str, nodes: tuple[int, int]
    ) -> NodeValues:
        metric = self.metric(number)
        tree = self.tree(by)
        if nodes != (0, tree.n):
            tree = tree.part(*nodes)
        # Nodes that are added one after the other ask for the same values of paths.
        of_paths = self.path_values(number, location) if by == CALLERS else None
        recorded = node_values.statistic(
            self.data, tree, metric, self.rows(number), location, which, of_paths
        )
        if not self.known()[number].recomputed:
            return recorded
        formula = self.inputs.formula(metric)
        assert formula is not None
        if which != "total" and by != "rank":
            return self._of_places(tree, formula, location, which)
        inputs = {
            one.metric: self.values(by, one.metric, location, "total", nodes)
            for one in self.inputs.needed(formula)
        }
        again = [
            self.inputs.evaluate(formula, {at: one[column] for at, one in inputs.items()}, tree.n)
            for column in (0, 1)
        ]
        # What the run itself has is what its own report prints.
        return NodeValues(
            np.where(np.isnan(recorded.inclusive), again[0], recorded.inclusive), again[1]
        )

    def _of_places(self, tree: Tree, formula: Formula, location: int, which: str) -> NodeValues:
        """Return a statistic over places at each of which a formula is worked out."""
        inputs = {
            one.metric: node_values.per_location(self.data, tree, self.rows(one.metric), location)
            for one in self.inputs.needed(formula)
        }
        columns = []
        for column in (0, 1):
            node, place, inputs_at = node_values.aligned(
                {at: two[column] for at, two in inputs.items()}
            )
            again = self.inputs.evaluate(formula, inputs_at, len(node))
            columns.append(
                node_values.reduced(node_values.NodeCells(node, place, again), tree.n, which)
            )
        return NodeValues(columns[0], columns[1])

    def spread(self, by: str, metric: int, node: int, location: int = -1) -> Distribution:
        """Return a metric's values of a node at each of the innermost places that have any.

        Args:
            by: the grouping.
            metric: number of the metric.
            node: number of the node in the tree.
            location: position of the only location that is wanted, with what is in it; -1 for all.

        Raises:
            UsageError: there is no such node, or there are too many places.
            RunDirectoryError: the tables cannot be read.
        """
        tree, measured = self.tree(by), self.metric(metric)
        formula = self.inputs.formula(measured) if self.known()[metric].recomputed else None
        if formula is None:
            at_places = distribution.per_location(
                self.data, tree, measured, self.rows(metric), node, location
            )
            return distribution.grid(self.data, *at_places)
        needed = self.inputs.needed(formula)
        inputs = {
            each.metric: distribution.per_location(
                self.data, tree, each, self.rows(each.metric), node, location
            )
            for each in needed
        }
        places = np.unique(np.concatenate([found.place for found in inputs.values()]))
        again = [
            self.inputs.evaluate(
                formula,
                {at: distribution.moved(found, column, places) for at, found in inputs.items()},
                len(places),
            )
            for column in ("inclusive", "exclusive")
        ]
        there = ~np.isnan(again[0]) | ~np.isnan(again[1])
        return distribution.grid(self.data, places[there], again[0][there], again[1][there])

    def once(self, key: Hashable, work: Callable[[], T]) -> T:
        """Return the cached result of a function; called again only after it left the cache."""
        with self._lock:
            if key in self._answers:
                self._answers.move_to_end(key)
                found: T = self._answers[key]
                return found
            answer = self._answers[key] = work()
            while len(self._answers) > 1 and (
                len(self._answers) > _KEPT_ANSWERS
                or sum(map(_bytes, self._answers.values())) > _KEPT_BYTES
            ):
                self._answers.popitem(last=False)
            return answer

    def source_files(self) -> list[str]:
        """Return the source files that the run names, in the order of their names."""
        return self.once(
            "files", lambda: sorted({str(file) for file in self.data.regions.file if file})
        )

    def close(self) -> None:
        """Forget it."""
        self.data.tables.close()


def _bytes(answer: object) -> int:
    return (
        sum(array.nbytes for array in answer) if isinstance(answer, NodeValues | PathValues) else 0
    )
