"""What functions, modules, files and lines have of the metrics of code, as rows of a report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import TYPE_CHECKING, Any

from gnomon.model.inlining import PYTHON
from gnomon.model.metric import Aggregation, is_additive
from gnomon.model.tables import METRICS, Cell
from gnomon.named_tuple import NamedTuple
from gnomon.store import call_paths, moments
from gnomon.store.call_paths import Code
from gnomon.store.code_profile import CodeProfile, CodeSums
from gnomon.store.hotspots import whole
from gnomon.store.reports.analysed import analysed
from gnomon.store.run import Run
from gnomon.store.sample_weights import sample_weights

if TYPE_CHECKING:
    from gnomon.store.path_values import PathRows

SAMPLED = "sampled"


class CodeMetric(NamedTuple):
    """A metric that regions of code have values of, of one execution.

    Attributes:
        number: its number.
        name, unit, how: as its row has them.
        whole: what the program has of it; the sum of what its code has where that is not known.
        samples: how many there are behind that, in all executions; 0 where it is not sampled.
        sampled: the share of `whole` that they stand for; the rest was not sampled.
        spread: how many times as many samples as of one weight would tell as much.
    """

    number: int
    name: str
    unit: str
    how: str
    whole: float
    samples: float
    sampled: float = 1.0
    spread: float = 1.0

    @property
    def is_sampled(self) -> bool:
        """Whether its values stand on samples, whose number is known."""
        return self.how == SAMPLED and self.samples > 0


class CodeRow(NamedTuple):
    """A function, module, file or line, of one execution; None is what is not known.

    Attributes:
        code: what it is.
        metric: name of the metric.
        own: without what is called from there.
        total: with it, each recursion once.
        samples: how many stand behind `own`, in all executions.
    """

    code: Code
    metric: str
    own: float | None
    total: float | None
    samples: float | None

    def as_dict(self) -> dict[str, Any]:
        """Return the row with the keys of `profile` in a report's JSON."""
        return {
            **self.code._asdict(),
            "metric": self.metric,
            "self": whole(self.own),
            "total": whole(self.total),
            "samples": whole(self.samples),
        }


class CodeTable(NamedTuple):
    """The rows of some metrics, each with what is to be known of it."""

    metrics: tuple[CodeMetric, ...]
    rows: Mapping[str, tuple[CodeRow, ...]]
    """By metric, those with most of it first."""
    no_totals: str = ""
    """Why functions and lines have no totals, where they have none."""


NO_CALLS = "no totals of functions and lines: calls were not recorded"
ONLY_ARCS = "no totals of functions and lines here; gnomon callgraph has those of functions"

_COUNTS = """
SELECT p.metric, COUNT(*) FROM profile p
WHERE p.path IN (SELECT path FROM paths JOIN regions USING (region) WHERE {which})
GROUP BY p.metric
"""


def metrics(run: Run, *, code_only: bool = True) -> list[Mapping[str, Cell]]:
    """Return the metrics that code has values of, which add up; that of most values first.

    Args:
        run: the run.
        code_only: not those that only sections and the like have.

    Raises:
        RunDirectoryError: the tables cannot be read.
    """
    which = f"kind IN {run.region_kinds.code()}" if code_only else "parent <> -1"
    counts = dict(run.query(_COUNTS.format(which=which), threads=1))
    listed = [
        row
        for row in run.rows(METRICS)
        if row["metric"] in counts
        and is_additive(str(row["formula"] or ""), str(row["aggregation"]))
    ]
    # Of several sampled events the first one that was asked for.
    sampled = max((counts[row["metric"]] for row in listed if row["how"] == SAMPLED), default=0)

    def rank(row: Mapping[str, Cell]) -> tuple[int, Cell]:
        return -(sampled if row["how"] == SAMPLED else counts[row["metric"]]), row["metric"]

    return sorted(listed, key=rank)


def table(
    run: Run,
    by: str,
    wanted: Sequence[Mapping[str, Cell]],
    given: Mapping[int, PathRows] | None = None,
) -> CodeTable:
    """Return the rows of some metrics.

    Args:
        run: the run.
        by: one of `call_paths.BY`, or `call_paths.PLACE`.
        wanted: metrics that `metrics` returned.
        given: rows of the profile of those metrics that somebody has read, by number.

    Raises:
        RunDirectoryError: the tables cannot be read.
    """
    import numpy as np

    is_elapsed = {
        int(str(row["metric"])): row["aggregation"] == Aggregation.ELAPSED for row in wanted
    }
    read = given or {}
    added = tuple(number for number, one in is_elapsed.items() if not one and number not in read)
    tables = analysed(run, CodeProfile(by, added)) if added else []
    for metric, rows_of_metric in read.items():
        tables += CodeProfile(by, ()).of_rows(run, metric, rows_of_metric)
    for metric, elapsed in is_elapsed.items():
        tables += CodeProfile(by, ()).elapsed(run, metric) if elapsed else []
    sums = {table.metric: table for table in tables}
    groups = np.unique(np.concatenate([table.group for table in tables])) if tables else None
    told = {} if groups is None else call_paths.described(run, groups, by)
    spreads = _spreads(run) if any(row["how"] == SAMPLED for row in wanted) else {}
    times = max(int(run.head["repetitions"]), 1)
    metrics_: list[CodeMetric] = []
    rows: dict[str, tuple[CodeRow, ...]] = {}
    for row in wanted:
        metric = int(str(row["metric"]))
        if metric in sums:
            of_metric = _rows(row, sums[metric], told, 1 if is_elapsed[metric] else times)
            of_all = moments.whole(run, row)
            if of_all is None:
                of_all = sum(code.own or 0.0 for code in of_metric)
            name, unit, how = (str(row[key] or "") for key in ("name", "unit", "how"))
            samples = sum(code.samples or 0.0 for code in of_metric)
            rest = sum(code.own or 0.0 for code in of_metric if code.samples == 0)
            sampled = 1 - rest / of_all if of_all else 1.0
            spread = spreads.get(metric, 1.0)
            metrics_.append(CodeMetric(metric, name, unit, how, of_all, samples, sampled, spread))
            rows[name] = tuple(of_metric)
    is_unknown = any(row.total is None for of_metric in rows.values() for row in of_metric)
    return CodeTable(tuple(metrics_), rows, no_totals(run) if is_unknown else "")


def _rows(
    metric: Mapping[str, Cell], sums: CodeSums, told: Mapping[int, Code], times: int
) -> list[CodeRow]:
    """Return the rows of one metric, of one of so many executions, those with most first."""
    is_sampled = metric["how"] == SAMPLED
    columns = (sums.own / times, sums.total / times, sums.samples)
    rows = [
        CodeRow(
            told[group], str(metric["name"] or ""), _known(own), _known(total),
            _known(samples) if is_sampled else None,
        )
        for group, own, total, samples in zip(
            sums.group.tolist(), *(column.tolist() for column in columns), strict=True
        )
    ]  # fmt: skip
    return sorted(rows, key=lambda row: (-(row.own or 0.0), -(row.total or 0.0), row.code))


def _known(value: float) -> float | None:
    return value if isfinite(value) else None


def module_text(code: Code) -> str:
    """Return what tells functions of one name apart: the module, of Python the file's name."""
    return code.file.rpartition("/")[2] if code.module == PYTHON and code.file else code.module


def _spreads(run: Run) -> dict[int, float]:
    """Return of metrics how many times as many samples as of one weight would tell as much.

    Kish's design effect (Survey Sampling, 1965, 11.7). Samples at a rate weigh what was counted
    since the one before: of rare events very differently.
    """
    return {
        one.metric: one.n * one.squares / one.total**2 for one in sample_weights(run) if one.total
    }


def sampling_error(row: CodeRow, metric: CodeMetric) -> float:
    """Return the standard error of the share that a row has itself, as a share.

    That of a binomial number of as many samples of one weight as tell as much. Half a sample is on
    either side: of few samples no share is certain.
    """
    if not row.own:
        return 0.0
    of = metric.samples / metric.spread
    share = min(row.own / (metric.whole * metric.sampled), 1.0)
    share = (share * of + 0.5) / (of + 1)
    return float(metric.sampled * (share * (1 - share) / (of + 1)) ** 0.5)


def no_totals(run: Run) -> str:
    """Return why functions and lines have no totals where no call paths were recorded.

    Raises:
        RunDirectoryError: the tables cannot be read.
    """
    return ONLY_ARCS if call_paths.has_arcs(run) else NO_CALLS
