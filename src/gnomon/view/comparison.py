"""Two open runs compared, with the statistics of `gnomon compare`."""

from __future__ import annotations

from gnomon.errors import UsageError
from gnomon.store.comparison.comparison_json import ComparisonDocument, document
from gnomon.store.comparison.engine import compare
from gnomon.store.comparison.model import ComparisonOptions
from gnomon.store.comparison.samples import PLACES, Side
from gnomon.view.open_run import OpenRun
from gnomon.view.recorded_run import recorded_run

PER = ("", *PLACES)


def compare_runs(
    baseline: OpenRun, other: OpenRun, per: str, metric: str = ""
) -> ComparisonDocument:
    """Return the document that `gnomon compare ONE OTHER --json` prints.

    Args:
        baseline: the baseline.
        other: what is compared with it.
        per: which places to compare too, "" for the whole command alone.
        metric: the metric of places, "" for the first that they have.

    Raises:
        UsageError: one of them is a combination, or there are no such places.
        GnomonError: a run cannot be read.
    """
    if per not in PER:
        raise UsageError(f"per {per[:40]!a}: there are {', '.join(PER[1:])}")
    if baseline.id == other.id:
        raise UsageError(f"{baseline.title}: a run is not compared with itself")
    for each in (baseline, other):
        if each.kind == "combined":
            raise UsageError(f"{each.title}: a combination has no repetitions to compare")
    sides = [Side(each.title, (recorded_run(each),)) for each in (baseline, other)]
    found, _ = compare(sides, ComparisonOptions(per=per, metrics=(metric,) if metric else ()))
    return document(found)
