"""Runs recorded by former versions of Gnomon say what they said when they were recorded."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from gnomon.cli.main import main
from gnomon.store import exports, run_directory

RECORDED = Path(__file__).parents[2] / "recorded"
RUNS = ("job", "repeated", "counted", "emulated")


@pytest.mark.parametrize("run", RUNS)
def test_its_reports_are_the_same(
    run: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(RECORDED)
    monkeypatch.setenv("COLUMNS", "80")
    for per in ("command", "process", "thread"):
        main(["report", run, "--per", per])
    assert capsys.readouterr().out == (RECORDED / f"{run}.values.txt").read_text()
    assert main(["report", run, "profile", "--by", "region"]) == 0
    assert capsys.readouterr().out == (RECORDED / f"{run}.regions.txt").read_text()


@pytest.mark.parametrize("run", RUNS[:3])
def test_its_numbers_are_the_same(run: str) -> None:
    text = "".join(exports.csv_text(run_directory.find(str(RECORDED / run))))
    recorded = (RECORDED / f"{run}.csv").read_text()
    assert list(csv.reader(io.StringIO(text))) == list(csv.reader(io.StringIO(recorded)))


@pytest.mark.parametrize("run", RUNS)
def test_it_compares_with_itself(
    run: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(RECORDED)
    assert main(["compare", run, run]) == 0
    assert "regression" not in capsys.readouterr().out
