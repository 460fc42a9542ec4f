"""A capability more for `gnomon run`: it joins through the tuple, and nothing else changes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from weather import weather_run

from gnomon.cli.main import main
from gnomon.view.session import Session


def test_a_new_capability_joins_through_the_tuple(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert weather_run(tmp_path, "w", garden=(21.5, 40), cellar=(12, 80)) == 0
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


def test_its_regions_are_compared(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    weather_run(tmp_path, "cold", garden=(10, 40), cellar=(12, 80))
    weather_run(tmp_path, "warm", garden=(20, 40), cellar=(12, 80))
    capfd.readouterr()
    sides = [str(tmp_path / name) for name in ("cold", "warm")]
    assert main(["compare", *sides, "--per", "region", "-e", "temperature", "--json"]) == 0
    (found,) = json.loads(capfd.readouterr().out)["comparisons"]
    assert {row["place"]["name"]: row["change"] for row in found["places"]} == {
        "garden": pytest.approx(1), "cellar": pytest.approx(0),
    }  # fmt: skip
    assert {"temperature", "humidity"} <= set(found["place_metrics"])
