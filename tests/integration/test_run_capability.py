"""A capability more for `gnomon run`: it joins through the tuple, and nothing else changes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from gnomon import capabilities
from gnomon.cli.main import main
from gnomon.hpm.running import COUNTERS, SECTIONS
from gnomon.model.collected import Collected, State
from gnomon.model.tables import (
    LOCATIONS,
    METRICS,
    PATHS,
    PROFILE,
    REGIONS,
    Table,
)
from gnomon.view.session import Session


class Weather:
    """A made-up capability: one region with one value, and something that it could not have."""

    name, title, is_default = "weather", "degrees outside", True

    def availability(self) -> State:
        return State(True)

    def environment(self, folder: Path) -> Mapping[str, str]:
        return {"WEATHER_FILE": str(folder / "weather")}

    def collect(self, folder: Path) -> Collected:
        degrees = float((folder / "weather").read_text())
        locations, regions, paths = Table(LOCATIONS), Table(REGIONS), Table(PATHS)
        metrics, profile = Table(METRICS), Table(PROFILE)
        locations.add(location=0, parent=-1, kind="command", host="", rank=-1, pid=-1, tid=-1,
                      name="")  # fmt: skip
        for at, name in enumerate(("", "garden")):
            regions.add(region=at, kind="weather", name=name, module="", file="", line=0)
            paths.add(path=at, parent=at - 1, region=at)
        metrics.add(metric=0, name="temperature", unit="degC", formula="", how="estimated",
                    component="weather", domain="all", scope="node", description="")  # fmt: skip
        profile.add(repetition=0, location=0, path=1, metric=0, inclusive=degrees,
                    exclusive=degrees, calls=1, raw=None, enabled_ns=None,
                    running_ns=None)  # fmt: skip
        return Collected((locations, regions, paths, metrics, profile), (), ("it may rain",))


def test_a_new_capability_joins_through_the_tuple(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(capabilities, "CAPABILITIES", (COUNTERS, SECTIONS, Weather()))
    script = 'echo 21.5 > "$WEATHER_FILE"'
    assert main(["run", "--name", "w", "--", "sh", "-c", script]) == 0
    assert "it may rain" in capfd.readouterr().err
    assert main(["report", "w", "profile", "--by", "region", "-e", "temperature"]) == 0
    assert "garden" in capfd.readouterr().out
    (opened,) = Session().open([str(tmp_path / "w.gnomon")])
    tree = opened.tree("capability")
    names = [tree.text(tree.name, at) for at in range(tree.n)]
    assert "weather" in names
    assert "garden" in names
    metric = next(one.metric for one in opened.data.metrics if one.name == "temperature")
    values = opened.values("capability", metric)
    assert values.inclusive[names.index("garden")] == 21.5
    head = json.loads((tmp_path / "w.gnomon" / "run.json").read_text())
    assert [one["name"] for one in head["capabilities"]] == ["counters", "sections", "weather"]
