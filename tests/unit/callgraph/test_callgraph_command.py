"""`gnomon callgraph`: reports, JSON, CSV, and what is wrong on its command line."""

from __future__ import annotations

import csv
import json
import os
from pathlib import Path

import pytest
from profiled_programs import build, profile
from sampled_runs import write
from test_run_profile import STACKS

from gnomon.cli.main import main


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, ...]:
    """Return a program and two gmon.out files of it."""
    program = build(tmp_path_factory.mktemp("callgraph"))
    return (str(program), *(str(profile(program, name)) for name in ("one", "two")))


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(["callgraph", *words]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return out


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    status = main(["callgraph", *words])
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    return status, err


def test_reports_beyond_gprof(files: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(capsys, *files, "--report", "calls,libraries,statistics")
    assert all(len(line) <= 80 for line in text.splitlines())
    summary, _, rest = text.partition("Library Statistics:")
    libraries, _, statistics = rest.partition("Function Level Statistics, 2 files:")
    rows = [line.split() for line in summary.splitlines() if " -> " in line]
    assert sum(float(row[0]) for row in rows) == pytest.approx(100, abs=0.1)
    assert [int(row[1]) for row in rows] == sorted((int(row[1]) for row in rows), reverse=True)
    assert "fibonacci [" in rows[0][2] + summary
    assert libraries.split()[-1] == "program"
    assert "<cycle 1>" in statistics
    for word in ("average", "std dev", "maximum", "minimum"):
        assert word in statistics


def test_json_has_what_the_text_has(
    files: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    reports = "flat,graph,index,calls,libraries,statistics"
    data = json.loads(printed(capsys, *files, "--report", reports, "--json"))
    assert data["program"] == "program"
    assert data["files"] == 2
    assert (data["metric"], data["unit"], data["how"]) == ("CPU time", "s", "sampled")
    flat = {row["function"]: row for row in data["flat"]}
    graph = {row["function"]: row for row in data["graph"]}
    assert sum(row["self"] for row in data["flat"]) == pytest.approx(data["whole"], rel=0.02)
    for name, row in flat.items():
        assert graph[name]["index"] == row["index"]
        assert graph[name]["calls"] == row["calls"]
    cycle = graph["<cycle 1 as a whole>"]
    assert {entry["function"] for entry in data["graph"] if entry["index"] in cycle["members"]} == {
        "even", "odd",
    }  # fmt: skip
    called = sum(row["calls"] for row in data["calls"])
    assert called == data["libraries"][0]["calls_within"]
    for row in data["statistics"]:
        spread = row["self_spread"]
        assert spread["minimum"] <= spread["average"] <= spread["maximum"]
        assert 2 * spread["average"] == pytest.approx(flat[row["function"]]["self"])
        calls = flat[row["function"]]["calls"] + flat[row["function"]]["self_calls"]
        assert 2 * row["calls_spread"]["average"] == calls
        assert {spread["maximum_file"], spread["minimum_file"]} <= set(files[1:])
    only = json.loads(
        printed(capsys, *files, "--report", "statistics", "--function", "leaf", "--json")
    )
    assert [row["function"] for row in only["statistics"]] == ["leaf"]


def test_csv_of_one_report(
    files: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "calls.csv"
    printed(capsys, *files, "--report", "calls", "-o", str(path))
    rows = list(csv.DictReader(path.read_text().splitlines()))
    assert {"caller", "callee", "calls"} <= set(rows[0])
    status, said = refused(capsys, *files, "-o", str(path))
    assert status == 2
    assert "CSV is of one report" in said


def test_runs_and_their_sum(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("first", "second"):
        write(tmp_path / f"{name}.gnomon", STACKS)
    single = printed(capsys, "first", "-b")
    assert single == printed(capsys, "-b")  # the latest run here has the same
    assert "calls were not counted" in printed(capsys, "first", "--report", "calls")
    once, twice = (
        json.loads(printed(capsys, *names, "--report", "flat,statistics", "--json"))
        for names in (("first",), ("first", "second"))
    )
    assert twice["files"] == 2
    assert twice["whole"] == pytest.approx(2 * once["whole"])
    assert all(row["self_spread"]["deviation"] == 0 for row in twice["statistics"])
    assert "<spontaneous>" in single


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (("--report", "grahp"), 2, "there is no such report; did you mean graph?"),
        (("-E", "fibonaci"), 2, "no such function; did you mean fibonacci"),
        (("--function", "leaf"), 2, "--function goes with --report statistics"),
        (("--metric", "cycles"), 2, "gmon.out files have CPU time alone"),
    ],
)
def test_what_cannot_be_asked(
    words: tuple[str, ...],
    status: int,
    said: str,
    files: tuple[str, ...],
    capsys: pytest.CaptureFixture[str],
) -> None:
    got, err = refused(capsys, *files, *words)
    assert (got, said in err) == (status, True), err


def test_a_file_of_nothing_but_a_header(
    files: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    empty = tmp_path / "gmon.out"
    empty.write_bytes(Path(files[1]).read_bytes()[:20])
    for further in ((), files[1:]):
        assert main(["callgraph", files[0], str(empty), *further]) == 0
        assert capsys.readouterr().err == (
            f"gnomon: note: {empty}: it holds no record, neither samples nor calls: the program "
            "was killed while it wrote the file, or the disk was full; run it again\n"
        )


def test_what_is_no_file(
    files: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("empty").mkdir()
    os.mkfifo("pipe")
    os.mkfifo("gmon.out.1")
    for words, status, said in (
        (("empty",), 1, "empty: a directory, but no run"),
        (("pipe",), 1, "pipe: a named pipe, where a file is expected"),
        (("pipe", files[1]), 2, "pipe: a named pipe; before gmon.out files name the program"),
        (("empty", files[1]), 2, "empty: a directory; before gmon.out files name the program"),
        ((files[0], "gmon.out.1"), 1, "gmon.out.1: a named pipe, where a file is expected"),
        ((files[0], "empty"), 1, "empty: a directory, where a file is expected"),
    ):
        got, err = refused(capsys, *words)
        assert (got, err.startswith(f"gnomon: {said}")) == (status, True), err


def test_files_that_cannot_be_read(
    files: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    damaged = tmp_path / "gmon.out"
    damaged.write_bytes(Path(files[1]).read_bytes()[:100])
    status, said = refused(capsys, files[0], str(damaged))
    assert status == 1
    assert "gmon.out: at byte 21: a histogram of" in said
    damaged.unlink()
    status, said = refused(capsys, files[0])
    assert status == 2
    assert "which gmon.out files of it?" in said
    status, said = refused(capsys, "/bin/true", files[1])
    assert status == 1
    assert "no names of functions" in said
    status, said = refused(capsys, "nowhere", files[1])
    assert status == 2
    assert "nowhere: no such file; before gmon.out files name the program" in said
    write(tmp_path / "app.gnomon", STACKS)
    status, said = refused(capsys, "-s", "app")
    assert status == 2
    assert "gmon.sum is the sum of gmon.out files" in said
