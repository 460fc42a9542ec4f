"""Whether values of sections are shares of the whole program's: of one metric, or of all at once.

Sections that overlap without one being within the other, and times of several threads at once, come
to more than the program has; then there are no shares.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from gnomon.model.array_types import Flags, Ints
from gnomon.model.metric import Metric
from gnomon.model.value import How
from gnomon.view import node_values, profile_rows
from gnomon.view.node_values import PathValues
from gnomon.view.run_metadata import Dataset, positions

# The program and its sections are counted by counters of their own.
_MARGIN_COUNTED = 1e-6
# By how much parts may come to more than the whole where both are estimates.
_MARGIN = 0.05
# What sections have without those in them; a section that has none in it, all that it has.
_OWN = """
WITH sections AS (
    SELECT t.path, t.path NOT IN (SELECT COALESCE(parent, -1) FROM paths) AS is_leaf
    FROM paths t JOIN regions r USING (region)
    WHERE {sections}
), added AS (
    SELECT metric, path, SUM(inclusive) AS inclusive,
           CASE WHEN BOOL_AND(COALESCE(isfinite(exclusive), false)) THEN SUM(exclusive) END AS own
    FROM profile p
    WHERE metric IN (SELECT unnest(?::INTEGER[])) AND isfinite(inclusive)
        AND location IN (SELECT unnest(?::INTEGER[]))
    GROUP BY metric, path
)
SELECT metric, COALESCE(SUM(COALESCE(own, CASE WHEN is_leaf THEN inclusive END)), 0) AS own
FROM added JOIN sections USING (path) GROUP BY metric
"""


def is_shared(data: Dataset, metric: Metric, paths: PathValues) -> bool:
    """Return whether the values of a metric's sections are shares of the program's.

    Args:
        data: the run.
        metric: the metric.
        paths: all of its values.
    """
    is_root = (data.paths.parent < 0) & paths.has
    if not is_root.any():
        return True
    own = float(np.nansum(paths.exclusive[paths.has & data.is_section]))
    return _fits(metric, own, float(paths.inclusive[is_root].sum()))


def of_sums(data: Dataset, metrics: Mapping[int, Metric], location: int) -> dict[int, bool]:
    """Return `is_shared` of several metrics by number, from one look at all of their rows.

    Args:
        data: the run.
        metrics: those whose values of several places are added up, by number.
        location: position of the only location that is wanted, with what is in it; -1 for all.

    Raises:
        RunDirectoryError: the tables cannot be read.
    """
    roots = np.flatnonzero(data.paths.parent < 0).astype(np.int32)
    whole, own, executions = {}, {}, {}
    for number, rows in profile_rows.rows_of_paths(data, roots).items():
        if number in metrics:
            paths = node_values.path_values(data, metrics[number], rows, location)
            if paths.has[roots].any():
                whole[number] = float(paths.inclusive[roots][paths.has[roots]].sum())
                is_own = paths.has & data.is_section
                own[number] = float(np.nansum(paths.exclusive[is_own]))
                executions[number] = rows.executions()
    for number, below in _below_roots(data, list(whole), location).items():
        own[number] += below / executions[number]
    # Where nothing is known of the whole, there is nothing that parts could be more than.
    return {
        number: number not in whole or _fits(metric, own[number], whole[number])
        for number, metric in metrics.items()
    }


def _fits(metric: Metric, own: float, whole: float) -> bool:
    margin = _MARGIN_COUNTED if metric.how == How.COUNTED.value else _MARGIN
    return own <= whole * (1 + margin)


def _below_roots(data: Dataset, metrics: list[int], location: int) -> dict[int, float]:
    """Return the totals of all sections for each metric, over all executions."""
    if not metrics:
        return {}
    numbers = np.array([one.location for one in data.locations], dtype=np.int32)
    has_rows = _with_rows(data, metrics, numbers)
    if location >= 0:
        has_rows &= data.within(location)
    if (has_rows & ~data.is_where).any():
        has_rows &= ~data.is_where
    sql = _OWN.format(sections=data.region_kinds.recorded_once())
    asked = [metrics, numbers[has_rows].tolist()]
    return {int(metric): float(value) for metric, value in data.tables.rows(sql, asked)}


def _with_rows(data: Dataset, metrics: list[int], numbers: Ints) -> Flags:
    """Return which locations have rows of paths below the roots."""
    arrays = data.tables.arrays(
        "SELECT DISTINCT location FROM profile "
        "WHERE location IS NOT NULL AND metric IN (SELECT unnest(?::INTEGER[])) "
        "AND path NOT IN (SELECT path FROM paths WHERE COALESCE(parent, -1) = -1)",
        [metrics],
    )
    has_rows = np.zeros(len(numbers), dtype=bool)
    at = positions(numbers, arrays["location"])
    has_rows[at[at >= 0]] = True
    return has_rows
