"""What a run has values of, metric by metric, and what one sample of a metric stands for."""

from __future__ import annotations

from collections.abc import Iterable

from gnomon.model.value import How
from gnomon.named_tuple import NamedTuple
from gnomon.view.run_metadata import Dataset


class MetricCoverage(NamedTuple):
    """What is known of a metric beside its row in the table.

    Attributes:
        has_regions: it has values below the whole program.
        has_code: it has values of functions or lines.
        has_locations: it has values of single processes, threads, cores or CPUs.
        recomputed: its formula can be worked out anew for any node.
    """

    has_regions: bool
    has_code: bool
    has_locations: bool
    recomputed: bool

    def derived(self, inputs: Iterable[MetricCoverage]) -> MetricCoverage:
        """Return that of a metric that is also worked out from others."""
        of_inputs = list(inputs)
        return MetricCoverage(
            self.has_regions or all(each.has_regions for each in of_inputs),
            self.has_code or all(each.has_code for each in of_inputs),
            self.has_locations or all(each.has_locations for each in of_inputs),
            recomputed=True,
        )


def recorded(data: Dataset) -> dict[int, MetricCoverage]:
    """Return what the profile has of each metric of the table, by number.

    Raises:
        RunDirectoryError: the tables cannot be read.
    """
    # Roots are few: what is on none of them is below the whole program.
    arrays = data.tables.arrays(
        "SELECT metric, BOOL_OR(path NOT IN (SELECT path FROM paths LEFT JOIN regions "
        "USING (region) WHERE parent = -1 "
        f"OR COALESCE(kind, '') IN {data.region_kinds.divisions()})) AS below, "
        "BOOL_OR(path IN (SELECT path FROM paths JOIN regions USING (region) "
        f"WHERE kind IN {data.region_kinds.code()})) AS code, "
        "BOOL_OR(location NOT IN (SELECT location FROM locations "
        "WHERE parent = -1 OR kind = 'run' OR kind = 'command')) AS inside "
        "FROM profile WHERE isfinite(inclusive) AND metric IS NOT NULL "
        "AND path IS NOT NULL AND location IS NOT NULL GROUP BY metric"
    )
    coverage = {one.metric: MetricCoverage(False, False, False, False) for one in data.metrics}
    columns = (arrays[name].tolist() for name in ("metric", "below", "code", "inside"))
    for metric, below, code, inside in zip(*columns, strict=True):
        # A damaged profile has values of metrics that nothing describes: nobody can ask for these.
        if metric in coverage:
            coverage[metric] = MetricCoverage(bool(below), bool(code), bool(inside), False)
    return coverage


def sample_weights(data: Dataset) -> dict[int, float]:
    """Return the value of a sample for each metric that was sampled, in the mean of executions.

    A value that is a sum of such has a standard error of the square root of the two's product.

    Raises:
        RunDirectoryError: the tables cannot be read.
    """
    sampled = [one.metric for one in data.metrics if one.how == How.SAMPLED.value]
    rows = data.tables.rows(
        "SELECT metric, SUM(inclusive), SUM(raw), COUNT(DISTINCT COALESCE(repetition, 0)) "
        "FROM profile WHERE path IN (SELECT path FROM paths WHERE parent = -1) "
        "AND metric IN (SELECT unnest(?::INTEGER[])) AND isfinite(inclusive) AND raw > 0 "
        "GROUP BY metric",
        [sampled],
    )
    return {
        int(metric): float(value) / float(samples) / int(executions)
        for metric, value, samples, executions in rows
        if value > 0
    }
