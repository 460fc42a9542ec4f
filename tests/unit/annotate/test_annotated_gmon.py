"""`gnomon annotate` of gmon.out files: bins are of instructions, and functions need no samples."""

from __future__ import annotations

import json
from bisect import bisect_left
from pathlib import Path
from typing import Any

import pytest
from profiled_programs import build, profile
from symbol_programs import symbol_of

from gnomon.cli.main import main
from gnomon.store import run_directory


@pytest.fixture(scope="module")
def gmon(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the gmon.out file of a program beside it."""
    program = build(tmp_path_factory.mktemp("gmon"))
    return profile(program).rename(program.with_name("gmon.out"))


def annotated(capsys: pytest.CaptureFixture[str], function: str, gmon: Path) -> dict[str, Any]:
    assert main(["annotate", function, str(gmon), "--json"]) == 0
    data: dict[str, Any] = json.loads(capsys.readouterr().out)
    return data


def test_bins_are_of_the_first_instruction_in_them(
    gmon: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = annotated(capsys, "even", gmon)
    addresses = [one["address"] for one in data["instructions"]]
    bins = run_directory.find(str(gmon)).query(
        "SELECT address, weight FROM samples JOIN paths USING (path) JOIN regions USING (region) "
        "WHERE name = 'even'"
    )
    wanted = dict.fromkeys(addresses, 0.0)
    for address, weight in bins:
        wanted[addresses[min(bisect_left(addresses, address), len(addresses) - 1)]] += weight
    assert sum(wanted.values()) > 0
    assert {one["address"]: one["value"] for one in data["instructions"]} == pytest.approx(wanted)


def test_functions_without_samples_are_known_by_their_calls(
    gmon: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = annotated(capsys, "main", gmon)
    assert data["instructions"][0]["address"] == symbol_of(gmon.with_name("program"), "main")
