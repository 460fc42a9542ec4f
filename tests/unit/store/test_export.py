"""Exports: whole, exact, and what the tools they are for accept."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
import subprocess
import sys
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import jsonschema  # type: ignore[import-untyped]
import pytest
from hypothesis import given
from hypothesis import strategies as st
from job_run import job_run
from made_runs import made_run
from property_tests import examples
from repeated_runs import repeated_run, rewritten

from gnomon.cli import main
from gnomon.metrics.definitions import load_metrics
from gnomon.model.tables import SCHEMAS
from gnomon.store import exports, run_directory
from gnomon.store.exports.openmetrics import _UNITS, _text
from gnomon.store.run import Run

# The rules of the format, as speedscope's own specification has them.
INDEX = {"type": "integer", "minimum": 0}
NUMBER = {"type": "number", "minimum": 0}
SPEEDSCOPE = {
    "type": "object",
    "required": ["$schema", "shared", "profiles"],
    "additionalProperties": False,
    "properties": {
        "$schema": {"const": "https://www.speedscope.app/file-format-schema.json"},
        "exporter": {"type": "string"},
        "name": {"type": "string"},
        "activeProfileIndex": INDEX,
        "shared": {
            "type": "object",
            "required": ["frames"],
            "properties": {
                "frames": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "required": ["name"],
                        "additionalProperties": False,
                        "properties": {
                            "name": {"type": "string"}, "file": {"type": "string"},
                            "line": INDEX, "col": INDEX,
                        },
                    },
                }
            },
        },
        "profiles": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "required": [
                    "type", "name", "unit", "startValue", "endValue", "samples", "weights",
                ],
                "additionalProperties": False,
                "properties": {
                    "type": {"const": "sampled"},
                    "name": {"type": "string"},
                    "unit": {"enum": ["none", "nanoseconds", "microseconds", "milliseconds",
                                      "seconds", "bytes"]},
                    "startValue": NUMBER,
                    "endValue": NUMBER,
                    "samples": {
                        "type": "array", "items": {"type": "array", "items": INDEX, "minItems": 1}
                    },
                    "weights": {"type": "array", "items": NUMBER},
                },
            },
        },
    },
}  # fmt: skip
LINES = [
    ("app", "f, \"g\"", "/src/a,b.c", 3, (600, 6, 1, 0)),
    ("app", "g\nnew line", "/src/a,b.c", 9, (400, 4, 0, 0)),
]  # fmt: skip


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return made_run(tmp_path, LINES)


def text(pieces: Any) -> str:
    return "".join(pieces)


def promtool(content: str) -> str:
    """Return what promtool says of metrics, "" if nothing."""
    own = Path(sys.executable).with_name("promtool")
    tool = str(own) if own.exists() else shutil.which("promtool")
    if not tool:
        pytest.fail("promtool is not installed: run `make setup` (Debian's package prometheus)")
    done = subprocess.run(
        [tool, "check", "metrics"], input=content.encode(), capture_output=True, check=False
    )
    return (done.stdout + done.stderr).decode() or ("" if done.returncode == 0 else "failed")


# --- CSV and JSON ---------------------------------------------------------------------------------


def test_csv_has_a_row_for_each_value(run: Run) -> None:
    rows = list(csv.DictReader(io.StringIO(text(exports.csv_text(run)))))
    ((n,),) = run.query("SELECT COUNT(*) FROM profile")
    assert len(rows) == n
    assert {row["region"] for row in rows} == {"app", 'f, "g"', "g\nnew line"}
    of_f = {row["metric"]: row["exclusive"] for row in rows if row["line"] == "3"}
    assert of_f == {"PAPI_TOT_INS": "600.0", "PAPI_LD_INS": "6.0", "PAPI_L1_DCM": "1.0"}
    assert {row["how"] for row in rows if row["metric"] == "PAPI_LD_INS"} == {"emulated"}
    assert {row["raw"] for row in rows} == {""}


@pytest.mark.parametrize("schema", SCHEMAS, ids=lambda schema: schema.name)
def test_each_table_is_whole(run: Run, schema: Any) -> None:
    read = list(csv.DictReader(io.StringIO(text(exports.csv_text(run, schema.name)))))
    stored = run.rows(schema)
    assert read == [
        {key: "" if value is None else str(value) for key, value in row.items()} for row in stored
    ]
    document = json.loads(text(exports.json_text(run)))
    assert document[schema.name] == stored
    assert document["run"] == dict(run.head)


@given(values=st.lists(st.floats(allow_nan=False), min_size=1, max_size=20))
@examples(20)
def test_every_double_comes_back(
    tmp_path_factory: pytest.TempPathFactory, values: list[float]
) -> None:
    path = repeated_run(tmp_path_factory.mktemp("exact"), "x", {"wall time": values})
    opened = run_directory.find(str(path))
    rows = csv.DictReader(io.StringIO(text(exports.csv_text(opened))))
    assert [float(row["inclusive"]) for row in rows] == values
    document = json.loads(text(exports.json_text(opened)))
    assert [float(row["inclusive"]) for row in document["profile"]] == values


def test_large_runs_come_in_pieces(tmp_path: Path) -> None:
    opened = run_directory.find(str(repeated_run(tmp_path, "x", {"wall time": [1.5] * 25_000})))
    pieces = list(exports.csv_text(opened, "profile"))
    assert len(pieces) > 3
    assert sum(piece.count("\r\n") for piece in pieces) == 25_001


# --- speedscope -----------------------------------------------------------------------------------


def test_speedscope_files_follow_the_rules(run: Run) -> None:
    document = json.loads(text(exports.speedscope(run)))
    jsonschema.validate(document, SPEEDSCOPE)
    frames = document["shared"]["frames"]
    for profile in document["profiles"]:
        assert len(profile["samples"]) == len(profile["weights"])
        assert profile["endValue"] == sum(profile["weights"])
        assert max(max(stack) for stack in profile["samples"]) < len(frames)
    by_name = {profile["name"]: profile for profile in document["profiles"]}
    assert by_name["wall time (counted)"]["unit"] == "nanoseconds"
    instructions = by_name["PAPI_TOT_INS (emulated)"]
    stacks = [[frames[at]["name"] for at in stack] for stack in instructions["samples"]]
    assert stacks == [["app", 'f, "g"', "a,b.c:3"], ["app", "g\nnew line", "a,b.c:9"]]
    assert instructions["weights"] == [600, 400]
    assert frames[instructions["samples"][0][-1]] == {
        "name": "a,b.c:3", "file": "/src/a,b.c", "line": 3,
    }  # fmt: skip
    assert "PAPI_BR_MSP (emulated)" not in by_name


def test_speedscope_counts_what_is_in_sections_once(tmp_path: Path) -> None:
    run = run_directory.find(str(job_run(tmp_path, "job")))
    document = json.loads(text(exports.speedscope(run)))
    names = [frame["name"] for frame in document["shared"]["frames"]]
    found = {
        one["name"]: {
            names[stack[-1]]: weight
            for stack, weight in zip(one["samples"], one["weights"], strict=True)
        }
        for one in document["profiles"]
    }
    assert found["task-clock (counted)"] == {"app": 30, "solve": 70, "sweep": 6}
    # The mean over the ranks: (25 + 15) / 2 of the program itself, and so on.
    assert found["wall time (counted, mean of 2 ranks)"] == {"app": 20, "solve": 37.5, "sweep": 4}


def test_speedscope_shows_one_execution_and_each_value_once(tmp_path: Path) -> None:
    tasks = [("process", "app", -1, {"task-clock": [10.0, 12.0]}),
             ("thread", "a", -1, {"task-clock": [4.0, 6.0]}),
             ("thread", "b", -1, {"task-clock": [6.0, 6.0]})]  # fmt: skip
    path = repeated_run(tmp_path, "x", {"task-clock": [10.0, 12.0]}, tasks=tasks)
    (profile,) = json.loads(text(exports.speedscope(run_directory.find(str(path)))))["profiles"]
    assert profile["weights"] == [11]


def test_paths_that_lead_nowhere_are_left_out(run: Run) -> None:
    import duckdb

    file = run.path / "paths.parquet"
    with duckdb.connect() as connection:
        rows = f"SELECT * REPLACE (CASE path WHEN 1 THEN 1 ELSE parent END AS parent) FROM '{file}'"
        connection.execute(f"COPY ({rows}) TO '{file}.new' (FORMAT parquet)")
    (run.path / "paths.parquet.new").rename(file)
    document = json.loads(text(exports.speedscope(run)))
    jsonschema.validate(document, SPEEDSCOPE)
    assert {"PAPI_TOT_INS (emulated)": [400]}.items() <= {
        profile["name"]: profile["weights"] for profile in document["profiles"]
    }.items()


# --- OpenMetrics ----------------------------------------------------------------------------------

SAMPLE = re.compile(r'(\w+)\{((?:\w+="(?:[^"\\\n]|\\["\\n])*",?)*)\} (\S+)')


def test_speedscope_takes_no_time_twice(tmp_path: Path) -> None:
    """Of sections that threads were in at the same time, a time is that of the longest thread."""
    metrics = {"wall time": [90.0], "ru_maxrss": [3.0], "io": [4.0]}
    sections = [
        ("hpm", "load", "main", {"wall time": [60.0]}),
        ("hpm", "load", "worker", {"wall time": [70.0]}),
    ]
    units = {"ru_maxrss": "KiB"}
    path = repeated_run(tmp_path, "x", metrics, unit=units, sections=sections)
    rewritten(path / "profile.parquet", "IF(path = 0, NULL, exclusive) AS exclusive")
    profiles = json.loads(text(exports.speedscope(run_directory.find(str(path)))))["profiles"]
    assert [(one["name"], one["unit"], one["endValue"]) for one in profiles] == [
        ("wall time (counted, max of threads)", "nanoseconds", 70),
        ("io (counted)", "none", 4),
    ]  # a peak is no sum


def test_a_flame_graph_of_uneven_threads_is_as_wide_as_the_run(tmp_path: Path) -> None:
    """One thread was longest in the section, the other one in the section within."""
    sections = [
        ("hpm", name, thread, {"wall time": [time]})
        for name, thread, time in (
            ("outer", "main", 60.0), ("outer", "worker", 70.0),
            ("inner", "main", 40.0), ("inner", "worker", 20.0),
        )
    ]  # fmt: skip
    path = repeated_run(tmp_path, "x", {"wall time": [90.0]}, sections=sections)
    rewritten(path / "paths.parquet", "IF(path = 2, 1, parent) AS parent")
    rewritten(path / "profile.parquet", "CASE inclusive WHEN 90 THEN 20 WHEN 70 THEN 50 "
              "WHEN 60 THEN 20 ELSE inclusive END AS exclusive")  # fmt: skip
    (profile,) = json.loads(text(exports.speedscope(run_directory.find(str(path)))))["profiles"]
    assert profile["weights"] == [20, 30, 40]
    assert profile["endValue"] == 90


def test_openmetrics_is_what_promtool_accepts(run: Run) -> None:
    content = text(exports.openmetrics(run))
    assert promtool(content) == ""
    lines = content.splitlines()
    assert lines[-1] == "# EOF"
    samples = [SAMPLE.fullmatch(line) for line in lines if not line.startswith("#")]
    assert all(samples)
    found = {match[1]: match[3] for match in samples if match}
    assert found["gnomon_wall_time_seconds"] == "2.5"
    assert found["gnomon_papi_tot_ins"] == "1E+3"
    assert 'how="emulated"' in content


def test_names_of_all_metrics_are_accepted(tmp_path: Path) -> None:
    """Every metric that is shipped, in its unit, and names that would not do."""
    units = {metric.name: metric.unit for metric in load_metrics().definitions}
    units |= {"wall time": "ns", "a::b:c=d": "", "A_total": "", "x_count": "", "": "", "é": "ms"}
    units |= {"a b": "", "a_b": "", "the gauge of": "", "bytes": "bytes", "run_info": ""}
    units |= {f"of {unit}": unit for unit in _UNITS}
    path = repeated_run(tmp_path, "x", {key: [1.0] for key in units}, unit=units)
    content = text(exports.openmetrics(run_directory.find(str(path))))
    assert promtool(content) == ""
    families = [line.split()[2] for line in content.splitlines() if line.startswith("# TYPE")]
    assert len(families) == len(set(families)) == len(units) + 3
    declared = dict(line.split()[2:4] for line in content.splitlines() if "# UNIT" in line)
    assert all(family.endswith(f"_{unit}") for family, unit in declared.items())


@given(
    value=st.floats(allow_nan=False, allow_infinity=False),
    factor=st.sampled_from(sorted({factor for _, factor in _UNITS.values()})),
)
def test_units_lose_no_digit(value: float, factor: str) -> None:
    exact = Fraction(Decimal(repr(value))) * Fraction(Decimal(factor))
    assert Fraction(Decimal(_text(value, factor))) == exact


def test_a_peak_is_told_in_bytes(tmp_path: Path) -> None:
    path = repeated_run(tmp_path, "x", {"ru_maxrss": [3.0]}, unit={"ru_maxrss": "KiB"})
    content = text(exports.openmetrics(run_directory.find(str(path))))
    assert "# UNIT gnomon_ru_maxrss_bytes bytes\n" in content
    assert re.findall(r"^gnomon_ru_maxrss_bytes\{.*\} (\S+)$", content, re.MULTILINE) == ["3072"]


def test_what_is_no_number(tmp_path: Path) -> None:
    values = [float("nan"), float("inf"), float("-inf")]
    path = repeated_run(tmp_path, "x", {"ipc": values})
    opened = run_directory.find(str(path))
    content = text(exports.openmetrics(opened))
    assert re.findall(r"^gnomon_ipc\{.*\} (\S+)$", content, re.MULTILINE) == ["NaN", "+Inf", "-Inf"]
    assert promtool(content) == ""
    document = json.loads(text(exports.json_text(opened)))
    assert [row["inclusive"] for row in document["profile"]] == ["nan", "inf", "-inf"]


# --- the command ----------------------------------------------------------------------------------


def test_output_goes_to_stdout_or_to_a_whole_file(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["export", str(run.path), "--to", "json"]) == 0
    printed = capsys.readouterr().out
    assert main(["export", str(run.path), "--to", "json", "-o", str(tmp_path / "out")]) == 0
    assert (tmp_path / "out").read_text() == printed
    (run.path / "profile.parquet").write_bytes(b"PAR1 damaged PAR1")
    assert main(["export", str(run.path), "--to", "csv", "-o", str(tmp_path / "out")]) == 1
    assert (tmp_path / "out").read_text() == printed
    assert capsys.readouterr().err.startswith(f"gnomon: {run.path}/profile.parquet: it is damaged")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "run.gnomon"]


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (["--to", "json", "--table", "metrics"], 2, "--table goes with --to csv"),
        (["--to", "csv", "-o", "/no/such/folder/x"], 1, "cannot be written"),
    ],
)
def test_mistakes_are_one_line(
    run: Run, words: list[str], status: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["export", str(run.path), *words]) == status
    told = capsys.readouterr()
    assert said in told.err
    assert (told.out, told.err.count("\n")) == ("", 1)


def test_no_name_reaches_a_terminal_as_it_is_through_openmetrics(tmp_path: Path) -> None:
    run = made_run(
        tmp_path, LINES, name="esc", head={"command": ["./app", "\x1b]0;title\x07", "a\nb"]}
    )
    with duckdb.connect() as connection:
        for table, column in (("regions", "name"), ("locations", "host"), ("metrics", "name"),
                              ("metrics", "description")):  # fmt: skip
            file = run.path / f"{table}.parquet"
            odd = f"{column} || chr(27) || '[31m' || chr(155) || chr(13)"
            query = f"SELECT * REPLACE ({odd} AS {column}) FROM '{file}'"
            connection.execute(f"COPY ({query}) TO '{file}.new' (FORMAT parquet)")
            Path(f"{file}.new").replace(file)
    text = "".join(exports.openmetrics(run_directory.find(str(run.path))))
    assert [line for line in text.split("\n") if not line.isprintable()] == []
    assert "\\\\x1b[31m" in text
