"""Values that are no sums of several places: ratios, peaks, what is of the whole machine."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from view_runs import Place, Quantity, Region, Value, write

from gnomon.view import distribution
from gnomon.view.session import Session


def test_what_does_not_add_up_has_no_value_of_several_places(tmp_path: Path) -> None:
    """What is of the whole machine is the same for every rank; peaks are not at the same time."""
    places = [Place(-1, "process", 0), Place(-1, "process", 1)]
    metrics = [Quantity("idle CPUs"), Quantity("peak memory", "bytes"), Quantity("own", "", "",
               aggregation="none"), Quantity("steps")]  # fmt: skip
    values_ = [
        Value(place, path, metric, 3.0 + place, 3.0 + place)
        for place in (0, 1) for path in (0, 1) for metric in range(4)
    ]  # fmt: skip
    regions = [Region(-1, "hpm", "app"), Region(0, "hpm", "f")]
    (run,) = Session().open([str(write(tmp_path / "r", places, regions, metrics, values_))])
    for metric in range(3):
        assert not run.metric(metric).is_additive
        for by in ("region", "file"):
            assert np.isnan(run.values(by, metric, -1).inclusive).all()
            assert not run.is_shared(by, metric, -1, "total")
        assert np.isnan(run.values("rank", metric, -1).inclusive[0])
        assert run.values("region", metric, 1).inclusive.tolist() == [4, 4]
        assert run.values("region", metric, -1, "max").inclusive.tolist() == [4, 4]
        spread_ = run.spread("region", metric, 0, -1)
        summary = distribution.summary(
            run.data, run.metric(metric), spread_.location, spread_.inclusive
        )
        assert summary is not None
        assert (summary["min"], summary["max"], summary["total"]) == (3, 4, None)
    assert run.values("region", 3, -1).inclusive.tolist() == [7, 7]
