"""Whether values of sections are shares of the whole program's: of one metric, or of all at once.

Sections that overlap without one being within the other, and times of several threads at once, come
to more than the program has; then there are no shares.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from gnomon.model.array_types import Flags
from gnomon.model.metric import Metric
from gnomon.model.value import How
from gnomon.view import node_values, profile_rows
from gnomon.view.node_values import PathValues
from gnomon.view.run_metadata import Dataset

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
    places = _places(data, list(metrics), location)
    whole, own, executions = {}, {}, {}
    for number, of_roots in profile_rows.rows_of_paths(data, roots).items():
        if number in metrics:
            rows = of_roots.chosen(places[number][of_roots.location])
            paths = node_values.path_values(data, metrics[number], rows)
            if paths.has[roots].any():
                whole[number] = float(paths.inclusive[roots][paths.has[roots]].sum())
                is_own = paths.has & data.is_section
                own[number] = float(np.nansum(paths.exclusive[is_own]))
                executions[number] = rows.executions()
    for number, below in _below_roots(data, {number: places[number] for number in whole}).items():
        own[number] += below / executions[number]
    # Where nothing is known of the whole, there is nothing that parts could be more than.
    return {
        number: number not in whole or _fits(metric, own[number], whole[number])
        for number, metric in metrics.items()
    }


def _fits(metric: Metric, own: float, whole: float) -> bool:
    margin = _MARGIN_COUNTED if metric.how == How.COUNTED.value else _MARGIN
    return own <= whole * (1 + margin)


def _places(data: Dataset, metrics: list[int], location: int) -> dict[int, Flags]:
    """Return the places whose rows count, for each metric.

    CPUs and cores do not where the same was counted for processes or the whole command: of any
    path, be it a root or below.
    """
    every = data.within(location) if location >= 0 else np.ones(len(data.locations), dtype=bool)
    is_who = every & ~data.is_where
    if (is_who == every).all():
        return dict.fromkeys(metrics, every)
    arrays = data.tables.arrays(
        "SELECT DISTINCT metric FROM profile WHERE metric IN (SELECT unnest(?::INTEGER[])) "
        "AND location IN (SELECT unnest(?::INTEGER[])) AND isfinite(inclusive) "
        "AND path IN (SELECT path FROM paths)",
        [metrics, _numbers(data, is_who)],
    )
    of_who = set(arrays["metric"].tolist())
    return {number: is_who if number in of_who else every for number in metrics}


def _below_roots(data: Dataset, places: Mapping[int, Flags]) -> dict[int, float]:
    """Return the totals of all sections at some places for each metric, over all executions."""
    sql = _OWN.format(sections=data.region_kinds.recorded_once())
    # There are two at most: with CPUs and cores, and without.
    metrics_at: dict[tuple[int, ...], list[int]] = {}
    for number, chosen in places.items():
        metrics_at.setdefault(tuple(_numbers(data, chosen)), []).append(number)
    return {
        int(metric): float(value)
        for at, metrics in metrics_at.items()
        for metric, value in data.tables.rows(sql, [metrics, list(at)])
    }


def _numbers(data: Dataset, chosen: Flags) -> list[int]:
    return [one.location for one, wanted in zip(data.locations, chosen, strict=True) if wanted]
