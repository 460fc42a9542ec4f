"""How often the nodes of a tree were entered."""

from __future__ import annotations

import numpy as np

from gnomon.model.array_types import Floats
from gnomon.model.metric import Aggregation
from gnomon.mpi import mpi_metrics
from gnomon.view import node_values
from gnomon.view.open_run import OpenRun
from gnomon.view.tree import CALLERS


def node_calls(opened: OpenRun, by: str) -> Floats:
    """Return how often each node of a grouping's tree was entered, NaN where that is not known.

    Raises:
        UsageError: there is no such grouping.
        RunDirectoryError: the tables cannot be read.
    """
    tree = opened.tree(by)
    calls = np.full(tree.n, np.nan)
    if by == CALLERS:
        # How often a function was entered is not how often each of its callers called it.
        return calls
    # Functions and sections may have no metric in common.
    known = opened.known()
    others = [number for number, one in known.items() if one.has_regions]
    # Calls of MPI have no metric in common with either.
    of_mpi = [one.metric for one in opened.data.metrics if one.name == mpi_metrics.TIME]
    for number in dict.fromkeys([opened.first_metric(), *others[:1], *of_mpi]):
        if number < 0:
            continue
        rows = opened.rows(number)
        counted = rows.chosen(~np.isnan(rows.calls))
        counted = counted._replace(inclusive=counted.calls, exclusive=counted.calls)
        plain = opened.metric(number)._replace(
            name="calls", formula="", aggregation=Aggregation.SUM.value, absent_is_zero=False
        )
        found = node_values.node_values(opened.data, tree, plain, counted, -1).exclusive
        calls = np.where(np.isnan(calls) & (found > 0), found, calls)
    return calls
