"""Which nodes of a call tree differ between two runs: as `gnomon compare` judges functions.

Values of samples have the error of their number, so that one execution of each is enough; of others
the repetitions say how much they vary. p-values are adjusted over all nodes that are compared.
"""

from __future__ import annotations

import numpy as np

from gnomon.errors import UsageError
from gnomon.metrics.significance import (
    TRIM,
    Difference,
    benjamini_hochberg,
    centre,
    difference,
    sampled_difference,
)
from gnomon.model.array_types import Floats, Ints
from gnomon.model.metric import Metric
from gnomon.named_tuple import NamedTuple
from gnomon.store.comparison.engine import AT_LEAST_EMULATED, AT_LEAST_ONE_RUN
from gnomon.store.sample_weights import QUERY, SampleWeights
from gnomon.view import node_values
from gnomon.view.open_run import OpenRun

NODES_MOST = 20_000


class NodeDifferences(NamedTuple):
    """Values of nodes in two runs, one pair at each position.

    Attributes:
        before: in the baseline, inclusive; 0 where it has no such node.
        after: in the other run.
        p: how probable such values are if nothing differs, NaN where nobody can say.
    """

    before: Floats
    after: Floats
    p: Floats


def node_differences(
    baseline: OpenRun, other: OpenRun, metric: str, nodes_before: Ints, nodes_after: Ints
) -> NodeDifferences:
    """Return what differs between nodes of the top-down trees of two runs.

    Args:
        baseline: the first run.
        other: what is compared with it.
        metric: name of a metric that both have, and whose values add up.
        nodes_before: of each pair, the node in the tree of the baseline; -1 for none.
        nodes_after: of each pair, the node in the tree of the other run.

    Raises:
        UsageError: a run lacks the metric or a node, values do not add up, or there are too many.
        RunDirectoryError: the tables cannot be read.
    """
    if len(nodes_before) != len(nodes_after) or len(nodes_after) > NODES_MOST:
        raise UsageError(f"pairs of nodes to compare: there are {NODES_MOST} at most")
    sides = (baseline, other)
    metrics = [_metric(run, metric) for run in sides]
    before, after = (
        _repeated(run, one, nodes)
        for run, one, nodes in zip(sides, metrics, (nodes_before, nodes_after), strict=True)
    )
    weights = [_weight(run, one) for run, one in zip(sides, metrics, strict=True)]
    is_exact = all(one.reproducible for one in metrics)
    margin = AT_LEAST_EMULATED if is_exact else AT_LEAST_ONE_RUN
    p = np.full(len(nodes_after), np.nan)
    for pair in range(len(nodes_after)):
        values = before[:, pair].tolist(), after[:, pair].tolist()
        change = _difference(*values, weights, is_exact=is_exact)
        if change is not None:
            p[pair] = change.p_beyond(margin)
    judged = np.flatnonzero(~np.isnan(p))
    p[judged] = benjamini_hochberg(p[judged].tolist())
    return NodeDifferences(_centres(before), _centres(after), p)


def _metric(run: OpenRun, name: str) -> Metric:
    for metric in run.data.metrics:
        if metric.name == name and metric.is_additive:
            return metric
    raise UsageError(f"{run.title}: it has no metric {name[:80]!a} whose values add up")


def _repeated(run: OpenRun, metric: Metric, nodes: Ints) -> Floats:
    """Return the inclusive values of nodes in each execution: a row for each."""
    tree = run.tree("region")
    if len(nodes) and not -1 <= nodes.min() <= nodes.max() < tree.n:
        raise UsageError(f"{run.title}: there is no node {int(nodes.max())} in its tree")
    rows = run.rows(metric.metric)
    executions = []
    for repetition in np.unique(rows.repetition).tolist() or [0]:
        own = rows.chosen(rows.repetition == repetition)
        values = node_values.node_values(run.data, tree, metric, own, -1).inclusive
        executions.append(np.where(nodes >= 0, np.nan_to_num(values[nodes]), 0.0))
    return np.array(executions)


def _weight(run: OpenRun, metric: Metric) -> float | None:
    """Return how much a sample of a metric stands for, None for one that is not sampled."""
    for row in run.data.tables.rows(QUERY):
        weights = SampleWeights(*row)
        if weights.metric == metric.metric and weights.total > 0:
            return weights.squares / weights.total
    weight = run.sample_weight(metric.metric)
    return None if weight is None else weight * run.data.repetitions


def _difference(
    before: list[float], after: list[float], weights: list[float | None], *, is_exact: bool
) -> Difference | None:
    first, second = weights
    if first is not None and second is not None:
        return sampled_difference(before, after, (first, second))
    if min(len(before), len(after)) < 2:
        return None
    return difference(before, after, exact=is_exact, trim=TRIM)


def _centres(values: Floats) -> Floats:
    return np.array([centre(column.tolist()) for column in values.T])
