"""`gnomon groups` with files, and `gnomon count -g FILE`."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from commands import counted, gnomon

MINE = """\
[[group]]
number = 70
name = "MINE"
description = "switches and faults"
events = ["task-clock", "context-switches", "page-faults"]
metrics = ["faults per switch"]

[variables]
dollars_per_hour = 1.25

[[metric]]
name = "faults per switch"
formula = "page_faults / context_switches"
condition = "context_switches > 0"
description = "page faults for each switch"

[[metric]]
name = "price"
unit = "$"
formula = "dollars_per_hour * task_clock * 1e-9 / 3600"
description = "what it cost"
"""
LIKWID = """\
SHORT Faults and switches

EVENTSET
PMC0 page-faults
METRICS
Faults PMC0
"""


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    path = tmp_path / "mine.toml"
    path.write_text(MINE)
    return path


def test_a_files_groups_are_listed_with_formulas(mine: Path) -> None:
    text = gnomon("groups", "--file", mine, env={**os.environ, "COLUMNS": "80"}).stdout
    assert " 70  MINE: switches and faults\n" in text
    assert "faults per switch = page_faults / context_switches\n" in text
    assert "price [$] = dollars_per_hour * task_clock * 1e-9 / 3600\n" in text
    assert "context_switch_rate [/s] = context_switches / wall_seconds" in text
    assert max(map(len, text.splitlines())) <= 80
    (row,) = json.loads(gnomon("groups", "--json", "--file", mine).stdout)["groups"]
    assert (row["number"], row["name"], row["file"]) == (70, "MINE", str(mine))
    assert row["metrics"][0]["name"] == "faults per switch"


def test_a_files_groups_are_listed_also_where_they_are_for_other_cpus(tmp_path: Path) -> None:
    """Whoever writes a file wants to see what Gnomon makes of it."""
    path = tmp_path / "other.toml"
    path.write_text(MINE.replace("metrics = [", 'cpus = ["power6"]\nmetrics = [', 1))
    text = gnomon("groups", "--file", path).stdout
    assert " 70  MINE: switches and faults\n      CPUs: power6\n" in text


def test_a_group_named_twice_is_shown_once() -> None:
    text = gnomon("groups", "CACHE", "3", "cache").stdout
    assert text.count("CACHE:") == 1


def test_lists_fit_80_columns() -> None:
    for command in (["groups"], ["groups", "--all"], ["groups", "FLOPS", "2", "mem"]):
        done = gnomon(*command, env={**os.environ, "COLUMNS": "80"})
        assert done.returncode == 0
        assert max(map(len, done.stdout.splitlines())) <= 80, command


def test_one_group_in_detail() -> None:
    text = gnomon("groups", "branch").stdout
    assert text.startswith("  2  BRANCH: ")
    assert "branch_share [%] = 100 * PAPI_BR_INS / PAPI_TOT_INS" in text
    assert "CACHE" not in text


def test_groups_of_other_cpus_are_listed_when_asked_for() -> None:
    rows = json.loads(gnomon("groups", "--json", "--all").stdout)["groups"]
    bound = [row["cpus"] for row in rows if row["name"] == "TOPDOWN2"]
    assert ["spr", "emr", "gnr"] in bound
    text = gnomon("groups", "--all").stdout
    assert "CPUs: spr, emr, gnr\n" in text


def test_a_file_of_groups_is_counted(mine: Path, tmp_path: Path) -> None:
    document = counted(tmp_path, "-g", mine, "--", "sh", "-c", "sleep 0.01")
    assert [row["event"] for row in document["counters"]] == [
        "task-clock", "context-switches", "page-faults"]  # fmt: skip
    metrics = {row["name"]: row for row in document["metrics"]}
    counts = {row["event"]: row["value"] for row in document["counters"]}
    expected = counts["page-faults"] / counts["context-switches"]
    assert metrics["faults per switch"]["value"] == pytest.approx(expected)
    assert metrics["price"]["how"] == "estimated"


def test_groups_of_the_variable_are_known_by_name(mine: Path, tmp_path: Path) -> None:
    environment = {**os.environ, "GNOMON_GROUPS": str(mine)}
    document = counted(tmp_path, "-g", "mine", "--", "true", env=environment)
    assert len(document["counters"]) == 3


@pytest.mark.parametrize(
    ("text", "name", "line"),
    [(MINE.replace("70", "x"), "mine.toml", 2), (LIKWID, "LIKE.txt", 4)],
)
def test_a_wrong_file_is_refused_before_the_program_runs(
    tmp_path: Path, text: str, name: str, line: int
) -> None:
    path = tmp_path / name
    path.write_text(text)
    commands = (f"groups --file {path}", f"count -g {path} -- touch ran")
    for command in commands:
        done = gnomon(*command.split(), cwd=tmp_path)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith(f"gnomon: {path}:{line}: ")
        assert done.stderr.count("\n") == 1
    assert not (tmp_path / "ran").exists()


def test_a_likwid_group_is_listed_with_what_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "LIKE.txt"
    path.write_text(LIKWID.replace("page-faults", "FAULTS") + "Wrong PMC1\n")
    text = gnomon("groups", "--file", path).stdout
    assert "  -  LIKE: Faults and switches\n" in text
    assert f"left out: {path}:7:7: 'PMC1' is neither a counter" in " ".join(text.split())
    document = json.loads(gnomon("groups", "--json", "--file", path).stdout)
    assert document["groups"][0]["number"] is None
    assert len(document["groups"][0]["left_out"]) == 1


def test_what_is_known_of_a_likwid_group_is_counted(tmp_path: Path) -> None:
    path = tmp_path / "LIKE.txt"
    path.write_text(
        "SHORT s\nEVENTSET\nPMC0 PAGE_FAULTS\nCBOX0C1:STATE=0x1 LOOKUP_ANY\nPWR0 PWR_PKG_ENERGY\n"
        "METRICS\nRuntime [s] time\nLookups CBOX0C1:STATE=0x1/time\n"
    )
    document = counted(tmp_path, "-g", path, "-e", "task-clock", "--", "true")
    assert document["counters"][0]["event"] == "task-clock"
    missing = {row["event"]: row for row in document["unavailable"]}
    lookups = missing["LOOKUP_ANY@CBOX0C1:STATE=0x1"]
    assert "LIKWID's words for event and counter" in lookups["reason"]
    assert lookups["remedy"]
    assert "PAGE_FAULTS@PMC0" in missing
    metrics = {row["name"] for row in document["metrics"]}
    assert "Runtime [s]" in metrics
    assert "Lookups" not in metrics


@pytest.mark.parametrize(
    ("variable", "text", "problem"),
    [
        ("HPM_DIV_WEIGHT", "0", "HPM_DIV_WEIGHT: '0' is no whole number from 1 on"),
        ("HPM_MEM_LATENCY", "fast", "HPM_MEM_LATENCY: 'fast' is no number of cycles"),
        ("GNOMON_DEFINE", "a", "GNOMON_DEFINE: 'a' is not NAME=NUMBER"),
    ],
)
def test_numbers_of_the_environment_are_checked_before_the_program_runs(
    tmp_path: Path, variable: str, text: str, problem: str
) -> None:
    done = gnomon("count", "--", "touch", "ran", cwd=tmp_path, env={**os.environ, variable: text})
    assert done.returncode == 2
    assert done.stderr.startswith(f"gnomon: {problem}")
    assert not (tmp_path / "ran").exists()


def test_a_number_of_the_environment_is_used(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(
        '[[metric]]\nname = "delay"\nunit = "s"\nformula = "HPM_MEM_LATENCY * page_faults * tick"\n'
        'description = "waiting"\n'
    )
    environment = {**os.environ, "GNOMON_GROUPS": str(path), "HPM_MEM_LATENCY": "400",
                   "GNOMON_DEFINE": "tick=1e-9"}  # fmt: skip
    document = counted(tmp_path, "-e", "page-faults", "--", "true", env=environment)
    (delay,) = (row for row in document["metrics"] if row["name"] == "delay")
    assert delay["value"] == pytest.approx(4e-7 * document["counters"][0]["value"])
    assert delay["how"] == "estimated"
