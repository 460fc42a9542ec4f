"""`-o x.csv` writes CSV wherever a command writes a table into a file; `-o x.json` JSON."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import compressed_runs
import pytest
from commands import GNOMON, run

REPORTS = {
    "values": ["report", "good"],
    "run": ["report", "good", "run"],
    "regions": ["report", "good", "regions"],
    "metrics": ["report", "good", "metrics", "--top", "2"],
    "profile": ["report", "good", "profile"],
    "compare": ["compare", "good", "good", "--per", "region"],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    here = tmp_path_factory.mktemp("runs")
    compressed_runs.write(here / "good.gnomon", {})
    return here


def written(folder: Path, command: list[str], name: str) -> str:
    done = run(GNOMON, *command, "-o", name, cwd=folder)
    assert done.returncode in (0, 1), done.stderr
    assert done.stdout == ""
    return (folder / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("report", REPORTS)
def test_the_end_of_a_files_name_says_what_is_written(folder: Path, report: str) -> None:
    command = REPORTS[report]
    whole = json.loads(written(folder, command, f"{report}.json"))
    rows = list(csv.DictReader(written(folder, command, f"{report}.CSV").splitlines()))
    if report == "compare":
        (one,) = whole["comparisons"]
        expected = [*one["metrics"], *one["places"]]
        assert [row["metric"] for row in rows] == [row["metric"] for row in expected]
        assert {row["side"] for row in rows} == {"good"}
        return
    expected = whole["rows"]
    assert len(rows) == len(expected)
    for row, known in zip(rows, expected, strict=True):
        assert row == {name: "" if cell is None else str(cell) for name, cell in known.items()}


@pytest.mark.usefixtures("valgrind")
def test_functions_have_a_column_for_each_event(folder: Path) -> None:
    emulated = ("count", "--pmu", "emulated", "-n", "-o", "count.json", "--name", "lines")
    run(GNOMON, *emulated, "--", "true", cwd=folder).check_returncode()
    command = ["report", "lines", "--per", "function"]
    whole = json.loads(written(folder, command, "functions.json"))
    rows = list(csv.DictReader(written(folder, command, "functions.CSV").splitlines()))
    listed = whole["rows"]
    assert [row["function"] for row in rows] == [one["function"] for one in listed]
    event = "PAPI_TOT_INS"
    column = next(name for name in rows[0] if event in name)
    assert [float(row[column]) for row in rows] == [one["self"][event] for one in listed]


def test_a_counted_program(folder: Path) -> None:
    done = run(GNOMON, "count", "-n", "-o", "count.csv", "--", "true", cwd=folder)
    assert done.returncode == 0, done.stderr
    rows = list(csv.reader((folder / "count.csv").read_text(encoding="utf-8").splitlines()))
    assert len(rows) > 3
    assert any("task-clock" in row for row in rows)
    assert {len(row) for row in rows} == {len(rows[0])}
