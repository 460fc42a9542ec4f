"""What `gnomon compare --json` says of a comparison, as types; the view's page has them, too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from gnomon.store.comparison.model import SURE, Comparison, ComparisonRow
from gnomon.store.comparison.samples import Side, described
from gnomon.store.hotspots import whole


class ComparedSide(TypedDict):
    """One of the runs, or several that are taken as one."""

    name: str
    runs: list[str]
    """Where they are."""
    executions: int
    command: list[str]


class ComparedMetric(TypedDict):
    """A metric on both sides; null is what is not known, or no finite number."""

    metric: str
    unit: str
    how: str
    """Empty if the sides disagree."""
    worse_is: str
    """more or less; empty where nobody can say."""
    before: float | None
    after: float | None
    samples: list[int]
    """Of the baseline, and of the other side."""
    change: float | None
    """A share: 0.05 for 5 %."""
    low: float | None
    high: float | None
    """Ends of the 95 % interval of the change."""
    p: float | None
    """Adjusted for the number of comparisons."""
    at_least: float
    """Smaller changes count as none."""
    measured_p: float | None
    """Likewise, of the change as it was measured, whatever the machine did."""
    own_change: float | None
    """What is left to the program where others on the machine may have made some of it."""
    verdict: str
    """What the change is: worse, better, machine, ...; empty where no difference is shown."""
    sure: bool
    not_judged: str
    """Why it was not judged; empty where it was."""


class ComparedPlace(ComparedMetric):
    """A metric of a place, such as a region or a rank, on both sides."""

    place: dict[str, str | int]
    """Program or kind, name, file and line, where it has them."""


class ComparedMachine(TypedDict):
    """What the rest of the machine did, on both sides; null where it is not known."""

    others_cpus: list[float] | None
    """CPUs that others used."""
    waited: list[float] | None
    """The part of its wall time that the program waited for a CPU."""


class ComparedRuns(TypedDict):
    """One side compared with the baseline."""

    side: ComparedSide
    metrics: list[ComparedMetric]
    places: list[ComparedPlace]
    place_metrics: list[str]
    """Metrics that places have values of."""
    places_left_out: int
    notes: list[str]
    machine: ComparedMachine


class ComparisonDocument(TypedDict):
    """What `gnomon compare --json` says."""

    baseline: ComparedSide
    comparisons: list[ComparedRuns]


def document(comparisons: Sequence[Comparison]) -> ComparisonDocument:
    """Return the comparisons for JSON; what is no number is None."""
    return {
        "baseline": _side(comparisons[0].baseline),
        "comparisons": [
            {
                "side": _side(comparison.other),
                "metrics": [_metric(row) for row in comparison.whole],
                "places": [
                    {"place": described(row.place, comparison.per), **_metric(row)}
                    for row in comparison.places
                ],
                "place_metrics": list(comparison.with_places),
                "places_left_out": comparison.small,
                "notes": list(comparison.notes),
                "machine": {
                    "others_cpus": None if comparison.others is None else list(comparison.others),
                    "waited": None if comparison.waited is None else list(comparison.waited),
                },
            }
            for comparison in comparisons
        ],
    }


def rows(comparison_document: ComparisonDocument) -> list[Mapping[str, Any]]:
    """Return the rows of a document one after the other, each with what it compares."""
    return [
        {"baseline": comparison_document["baseline"]["name"], "side": one["side"]["name"], **row}
        for one in comparison_document["comparisons"]
        for row in (*one["metrics"], *one["places"])
    ]


def _side(side: Side) -> ComparedSide:
    return {
        "name": side.label,
        "runs": [str(run.path) for run in side.runs],
        "executions": side.repetitions,
        "command": list(side.runs[0].head["command"]),
    }


def _metric(row: ComparisonRow) -> ComparedMetric:
    low, high = row.found.interval if row.found else (None, None)
    return {
        "metric": row.metric,
        "unit": row.unit,
        "how": row.how,
        "worse_is": row.worse,
        "before": whole(row.before),
        "after": whole(row.after),
        "samples": list(row.samples),
        "change": row.change,
        "low": low,
        "high": high,
        "p": row.p,
        "at_least": row.margin,
        "measured_p": row.measured_p,
        "own_change": None if row.own is None else row.own.change,
        "verdict": row.verdict,
        "sure": row.p is not None and row.p < SURE,
        "not_judged": row.unjudged,
    }
