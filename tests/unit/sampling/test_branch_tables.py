"""Branches that samples have: as rows of the run's table, and as they are reported."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import sample_records
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]
from sample_records import JUMPS, NONE
from sampled_runs import HEAD

from gnomon.cli import main
from gnomon.errors import FormatError
from gnomon.model.capability_result import rows_of
from gnomon.model.tables import BRANCHES, Table
from gnomon.sampling import sample_tables
from gnomon.sampling.sample_file import read_samples
from gnomon.store import run_directory
from gnomon.store.record_file import open_records

FILE = "n.1.2.samples.gnrec"
OF_BRANCH = ("taken", "predictions", "mispredicted", "timings", "cycles")
# The places of sample_records, by what they are without a file to look names up in.
FIRST, SECOND, KERNEL = ("app+0x100", 0x100), ("app+0x200", 0x200), ("do_work", 0xFFFF)
NOWHERE = ("", None)
LOOP = (SECOND, FIRST, 4, 3, 1, 3, 36)


def collected(folder: Path, **rows: Any) -> list[Table]:
    """Return the tables of the records of samples, with others in the place of some."""
    path = folder / FILE
    sample_records.write(path, sample_records.records() | {"jump": list(JUMPS)} | rows)
    return list(sample_tables.collect(folder).tables)


def branches(tables: list[Table]) -> dict[int, set[tuple[Any, ...]]]:
    """Return the branches by threads: names and addresses of both ends, and the numbers."""
    regions = {row["region"]: row["name"] for row in rows_of(tables, "regions")} | {-1: ""}
    tids = {row["location"]: row["tid"] for row in rows_of(tables, "locations")}
    of_thread: dict[int, set[tuple[Any, ...]]] = {}
    for row in rows_of(tables, "branches"):
        ends = (
            (regions[row["from_region"]], row["from_address"]),
            (regions[row["to_region"]], row["to_address"]),
        )
        numbers = (row[name] for name in OF_BRANCH)
        of_thread.setdefault(int(str(tids[row["location"]])), set()).add((*ends, *numbers))
    return of_thread


def test_equal_branches_of_a_thread_are_a_row(tmp_path: Path) -> None:
    tables = collected(tmp_path)
    assert branches(tables) == {
        50: {LOOP, (FIRST, KERNEL, 1, 0, None, 0, None), (NOWHERE, NOWHERE, 1, 1, 0, 0, None)},
        51: {(SECOND, FIRST, 1, 1, 1, 1, 0xFFFF)},
    }
    assert {row["metric"] for row in rows_of(tables, "branches")} == {0}


def test_branches_of_each_event_are_apart(tmp_path: Path) -> None:
    other = sample_records.CLOCK | {"name": "cycles", "unit": "", "is_clock": False}
    rows = sample_records.records()
    time_ns, weight, thread, node, cpu, _, end, flags = rows["sample"][3]
    tables = collected(
        tmp_path,
        event=[(0, json.dumps(sample_records.CLOCK)), (1, json.dumps(other))],
        sample=[*rows["sample"][:3], (time_ns, weight, thread, node, cpu, 1, end, flags)],
    )
    loops = [row for row in rows_of(tables, "branches") if row["from_address"] == SECOND[1]]
    assert [(row["metric"], row["taken"], row["cycles"]) for row in loops] == [
        (0, 2, 30), (1, 2, 6), (0, 1, 0xFFFF),
    ]  # fmt: skip


def test_addresses_are_those_of_64_bits(tmp_path: Path) -> None:
    place = (0xFFFF_FFFF_8100_0000, 0)
    tables = collected(
        tmp_path, place=[*sample_records.records()["place"], place], jump=[(5, 0, 0, 0, 0)]
    )
    (row,) = rows_of(tables, "branches")
    assert row["from_address"] == place[0] - (1 << 64)


def test_tasks_have_numbers_of_their_own(tmp_path: Path) -> None:
    rows = sample_records.records() | {"jump": list(JUMPS)}
    sample_records.write(tmp_path / "n.9.2.samples.gnrec", rows)
    tables = collected(tmp_path)
    one, other = (table for table in tables if table.schema is BRANCHES)
    regions, locations = (
        {row[column] for row in rows_of(tables, name)}
        for name, column in (("regions", "region"), ("locations", "location"))
    )
    for table in (one, other):
        assert {row["location"] for row in table.dicts()} <= locations
        assert {row["to_region"] for row in table.dicts()} - {-1} <= regions
    assert not {row["location"] for row in one.dicts()} & {row["location"] for row in other.dicts()}


def test_a_branch_whose_sample_was_not_written_is_left_out(tmp_path: Path) -> None:
    rows = sample_records.records() | {"jump": [*JUMPS, (0, 1, 4, 0, 0), (0, 1, NONE, 0, 0)]}
    path = sample_records.write(tmp_path / FILE, rows)
    assert len(read_samples(open_records(path)).jumps) == len(JUMPS)


def test_files_of_before_have_no_branches(tmp_path: Path) -> None:
    kinds = {name: kind for name, kind in sample_records.KINDS.items() if name != "jump"}
    sample_records.write(tmp_path / FILE, sample_records.records(), kinds)
    tables = list(sample_tables.collect(tmp_path).tables)
    assert rows_of(tables, "samples")
    assert not rows_of(tables, "branches")


@pytest.mark.parametrize(
    "fields",
    [
        [("from_place", 0, 4, 1), ("to_place", 4, 4, 1), ("sample", 8, 4, 1), ("flags", 14, 1, 1)],
        [("from_place", 0, 4, 1), ("to_place", 4, 4, 1), ("sample", 8, 4, 1), ("cycles", 12, 1, 2),
         ("flags", 14, 1, 1)],
        [("from_place", 0, 4, 1), ("to_place", 4, 0x14, 1), ("sample", 8, 4, 1),
         ("cycles", 12, 2, 1), ("flags", 14, 1, 1)],
    ],
)  # fmt: skip
def test_branches_of_another_layout_are_refused(
    tmp_path: Path, fields: list[tuple[str, int, int, int]]
) -> None:
    kinds = {**sample_records.KINDS, "jump": (sample_records.KINDS["jump"][0], fields)}
    rows = sample_records.records() | {"jump": list(JUMPS)}
    path = sample_records.write(tmp_path / FILE, rows, kinds)
    with pytest.raises(FormatError, match="its records are not those of samples"):
        read_samples(open_records(path))


# --- the report -----------------------------------------------------------------------------------


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a run with the branches of two threads."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    tables = {table.schema.name: table for table in collected(tmp_path)}
    regions = tables["regions"]
    name = "lattice::Solver<double, std::vector<int> >::relax(lattice::Grid const&, int)"
    of_names = {"app+0x100": (name, 12), "app+0x200": ("sweep", 40)}
    rows = [
        (number, kind, *of_names.get(str(text), (text, line))[:1], module, "/src/app.cpp",
         of_names.get(str(text), (text, line))[1], inlined)
        for number, kind, text, module, _, line, inlined in regions.rows
    ]  # fmt: skip
    tables["regions"] = Table(regions.schema, rows)
    return run_directory.write(str(tmp_path / "r"), HEAD, tuple(tables.values()), {})


def told(capsys: pytest.CaptureFixture[str], *words: str, status: int = 0) -> str:
    assert main(["report", *words]) == status
    return capsys.readouterr().out


@pytest.mark.usefixtures("run")
def test_branches_are_reported_by_lines(capsys: pytest.CaptureFixture[str]) -> None:
    lines = told(capsys, "r", "branches").splitlines()
    assert lines[:2] == ["r.gnomon: ./app", "CPU time: 7 branches were recorded"]
    assert lines[2].split() == ["share", "mispredicted", "cycles", "from", "to"]
    # Of both threads: 5 of 7, of which it is known of 4, and 36 and 65535 cycles of 4.
    assert lines[3].split()[:6] == ["71.4", "%", "50.0", "%", "16392.8", "sweep:40"]
    assert lines[3].endswith(":12")
    assert "::relax(…):12" in lines[3]
    assert lines[4].split() == ["14.3", "%", "0.0", "%", "-", "(unknown)", "(unknown)"]
    assert lines[5].split()[:4] == ["14.3", "%", "-", "-"]
    assert lines[5].endswith("do_work")
    assert max(map(len, lines)) <= 80
    text = told(capsys, "r", "branches", "--top", "1")
    assert "  and 2 more (--top 0 for all)\n" in text


@pytest.mark.usefixtures("run")
def test_branches_as_json_have_all_that_is_known(capsys: pytest.CaptureFixture[str]) -> None:
    document = json.loads(told(capsys, "r", "branches", "--json"))
    Draft202012Validator(json.loads(told(capsys, "--schema"))).validate(document)
    loop, unknown, call = document["rows"]
    assert loop == {
        "from_function": "sweep", "from_module": "app", "from_file": "/src/app.cpp",
        "from_line": 40, "to_module": "app", "to_file": "/src/app.cpp", "to_line": 12,
        "to_function": "lattice::Solver<double, std::vector<int> >::relax(lattice::Grid const&, "
        "int)", "metric": "CPU time", "unit": "s", "how": "sampled", "taken": 5,
        "predictions": 4, "mispredicted": 2, "timings": 4, "cycles": 65571,
    }  # fmt: skip
    assert (unknown["from_function"], unknown["to_function"], unknown["to_line"]) == ("", "", 0)
    assert [unknown[name] for name in OF_BRANCH] == [1, 1, 0, 0, None]
    assert [call[name] for name in OF_BRANCH] == [1, 0, None, 0, None]
    assert len(json.loads(told(capsys, "r", "branches", "--json", "--top", "2"))["rows"]) == 2
    (asked,) = {
        row["metric"]
        for row in json.loads(told(capsys, "r", "branches", "--json", "-e", "cpu TIME"))["rows"]
    }
    assert asked == "CPU time"


@pytest.mark.usefixtures("run")
def test_an_event_without_branches_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "r", "branches", "-e", "cycles"]) == 2
    assert "it has CPU time" in capsys.readouterr().err
    assert main(["report", "r", "branches", "-e", "cycles,CPU time"]) == 2
    assert "give -e once" in capsys.readouterr().err


def test_columns_of_which_nothing_is_known_are_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    tables = collected(tmp_path, jump=[(1, 0, 0, 0, 0)])
    run_directory.write(str(tmp_path / "r"), HEAD, tables, {})
    lines = told(capsys, "r", "branches").splitlines()
    assert lines[2].split() == ["share", "from", "to"]
    assert lines[3].split() == ["100.0", "%", "app+0x200", "app+0x100"]
    assert len(lines) == 4


@pytest.mark.parametrize("words", [[], ["--json"]])
def test_a_run_without_branches_says_how_to_get_some(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    run_directory.write(str(tmp_path / "r"), HEAD, collected(tmp_path, jump=[]), {})
    assert main(["report", "r", "branches", *words]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err == (
        "gnomon: r.gnomon: it has no branches; record them where the PMU does: gnomon record "
        "--branches\n"
    )
