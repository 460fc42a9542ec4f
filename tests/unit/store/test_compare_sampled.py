"""Comparisons of sampled runs: single ones, with the error of their samples."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import stack_samples
from stack_samples import Frame, Sample

from gnomon.cli import main

SHARES = {"solve": 1500, "output": 400, "setup": 100, "rare": 8}


def sampled(path: Path, seed: int, **more: float) -> Path:
    """Write a run with a random number of samples of each function, as many on average."""
    chance = np.random.default_rng(seed)
    main_ = Frame("main", "m.c", 1)
    samples = [
        Sample((main_, Frame(name, f"{name}.c", 7)))
        for name, mean in SHARES.items()
        for _ in range(chance.poisson(mean * more.get(name, 1.0)))
    ]
    return stack_samples.write(path, samples)


def places(capsys: pytest.CaptureFixture[str], *runs: Path) -> dict[str, dict[str, Any]]:
    assert main(["compare", *map(str, runs), "--per", "function", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    return {row["place"]["name"]: row for row in document["comparisons"][0]["places"]}


def test_single_runs_of_one_program_do_not_differ(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    alarms = tried = 0
    before = sampled(tmp_path / "before", 0)
    for seed in range(1, 26):
        rows = places(capsys, before, sampled(tmp_path / f"after{seed}", seed))
        assert not any(row["not_judged"] for row in rows.values())
        tried += len(rows)
        alarms += sum(bool(row["verdict"]) for row in rows.values())
    assert tried >= 75
    assert alarms <= 2


def test_a_slower_function_is_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs = sampled(tmp_path / "before", 1), sampled(tmp_path / "after", 2, output=1.5, rare=1.5)
    rows = places(capsys, *runs)
    assert (rows["output"]["verdict"], rows["output"]["sure"]) == ("worse", True)
    assert rows["output"]["low"] < 0.5 < rows["output"]["high"]
    assert [rows[name]["verdict"] for name in ("solve", "setup", "rare")] == ["", "", ""]
    assert main(["compare", *map(str, runs), "--per", "function"]) == 0
    assert "worse >99.9 %" in capsys.readouterr().out


def test_a_function_of_one_side_alone_is_judged_by_its_samples(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = sampled(tmp_path / "before", 1), sampled(tmp_path / "after", 1, output=0, setup=3)
    rows = places(capsys, *runs)
    assert (rows["output"]["after"], rows["output"]["verdict"]) == (0, "better")
    assert rows["setup"]["verdict"] == "worse"


def test_profiles_without_their_samples_know_the_number_of_these(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = sampled(tmp_path / "before", 1), sampled(tmp_path / "after", 2, output=1.5)
    whole = places(capsys, *runs)
    for run in runs:
        folder = run.with_suffix(".gnomon")
        (folder / "samples.parquet").unlink()
        head = json.loads((folder / "run.json").read_text())
        head["tables"].remove("samples")
        (folder / "run.json").write_text(json.dumps(head))
    again = places(capsys, *runs)
    assert again.keys() == whole.keys()
    for name, row in whole.items():
        assert again[name]["p"] == pytest.approx(row["p"])
