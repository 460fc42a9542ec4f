"""Tables that a run may have beside its profile, as parts of the report."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from held_runs import held
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from gnomon.cli import main
from gnomon.model.tables import (
    ARCS,
    BRANCHES,
    COORDINATES,
    EVENTS,
    FILES,
    LOCATIONS,
    MESSAGES,
    METRICS,
    MODULES,
    OPTIONAL_SCHEMAS,
    PATHS,
    PROFILE,
    REGIONS,
    SAMPLES,
    Table,
)
from gnomon.store import run_directory, table_limits
from gnomon.store.reports.report_parts import PARTS

T0 = 1_700_000_000_000_000_000
MS = 1_000_000


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    regions = [(0, "hpm", "app", "app", "", 0), (1, "io", "read \x1b[31m", "app", "", 0)]
    tables = (
        Table(LOCATIONS, [
            (0, -1, "command", "n", -1, 7, -1, "app"), (1, 0, "thread", "n", 3, 7, 8, "worker"),
        ]),
        Table(REGIONS, regions), Table(PATHS, [(0, -1, 0), (1, 0, 1)]),
        Table(METRICS, [(0, "wall time", "ns", "", "counted", "", "all", "process", "",
                         None, None, None, None)]),
        Table(PROFILE, [(0, 0, 0, 0, 5e9, 1e9, 1, None, None, None)]),
        Table(FILES, [(0, "/data/in", "", "file", "ext4")]),
        Table(EVENTS, [(0, 1, 1, 1, T0 + 20 * MS, 3 * MS, 4096, 0),
                       (0, 0, 0, -1, T0 + 5 * MS, None, None, -1)]),
        Table(MESSAGES, [(0, 1, -1, T0 + MS, None, 1 << 20, 5, 0)]),
        Table(SAMPLES, [(0, 1, 1, 0, T0, 64, 1000.0)]),
        Table(ARCS, [(0, 1, -1, 1, -1, 3, None), (0, 1, 0, 1, 0, 2, 1.5)]),
        Table(COORDINATES, [(1, "node", 4)]), Table(MODULES, [("app", "/bin/app", "ab12")]),
        Table(BRANCHES, [(0, 1, 0, 1, 64, -1, None, 3, 2, 1, 0, None)]),
    )  # fmt: skip
    head = {
        "command": ["./app"], "hosts": [{"name": "n"}], "started": 1.7e9, "wall_seconds": 5,
        "exit_status": 0, "repetitions": 1, "unavailable": [], "warnings": [],
    }  # fmt: skip
    path = run_directory.write(str(tmp_path / "app"), head, tables, {})
    opened = held("app")
    yield path
    del opened


def told(capsys: pytest.CaptureFixture[str], *words: str, status: int = 0) -> str:
    assert main(["report", *words]) == status
    return capsys.readouterr().out


@pytest.mark.usefixtures("run")
def test_rows_have_the_names_of_what_they_refer_to(capsys: pytest.CaptureFixture[str]) -> None:
    lines = told(capsys, "app", "events").splitlines()
    assert lines[0] == "app.gnomon: ./app"
    assert lines[1].split()[:4] == ["start", "duration", "bytes", "location"]
    assert lines[2].split() == ["5", "ms", "command", "7", "app", "app"]
    assert lines[3].split()[:6] == ["20", "ms", "3", "ms", "4", "KiB"]
    assert "rank 3 thread 8 worker" in lines[3]
    assert lines[3].endswith("/data/in")
    assert r"read \x1b" in lines[3]
    told_of = {
        "messages": "1 ms  1 MiB", "samples": "1 µs  rank 3", "arcs": "1.5", "coordinates": "node",
        "modules": "/bin/app  ab12", "files": "/data/in  file  ext4", "branches": "(unknown)",
    }  # fmt: skip
    for part, expected in told_of.items():
        text = told(capsys, "app", part)
        assert expected in text
        assert max(map(len, text.splitlines())) <= 80
    text = told(capsys, "app", "events", "--top", "1")
    assert text.endswith("  and 1 more (--top 0 for all)\n")


PLACE = {
    "location": 1, "host": "n", "rank": 3, "pid": 7, "tid": 8, "place": "rank 3 thread 8 worker",
}  # fmt: skip
READ = "read \x1b[31m"
WALL = {"metric": "wall time", "unit": "ns", "how": "counted"}
NONE = {"metric": "", "unit": "", "how": ""}
NOWHERE = {"access": "", "asked": None, "file_offset": None, "opening": None}
TOLD: dict[str, list[dict[str, Any]]] = {
    "events": [
        {"repetition": 0, "location": 0, "host": "n", "rank": -1, "pid": 7, "tid": -1,
         "place": "command 7 app", "region": "app", "kind": "hpm", "path": "",
         "start_ns": 5 * MS, "duration_ns": None, "bytes": None, "file": "", **NOWHERE},
        {"repetition": 0, **PLACE, "region": READ, "kind": "io", "path": f"app;{READ}",
         "start_ns": 20 * MS, "duration_ns": 3 * MS, "bytes": 4096, "file": "/data/in",
         **NOWHERE},
    ],
    "messages": [
        {"repetition": 0, "sender": PLACE["place"], "sender_location": 1, "sender_rank": 3,
         "receiver": "", "receiver_location": -1, "receiver_rank": -1, "send_ns": MS,
         "receive_ns": None, "bytes": 1 << 20, "tag": 5, "communicator": 0, "messages": None,
         "region": "", "kind": "", "path": ""},
    ],
    "samples": [
        {"repetition": 0, **PLACE, "region": READ, "kind": "io", "path": f"app;{READ}", **WALL,
         "time_ns": 0, "address": 64, "weight": 1000.0, "data_address": None,
         "data_source": "", "latency": None, "woken_by": "", "held_by": ""},
    ],
    "files": [{"number": 0, "file": "/data/in", "host": "", "kind": "file", "filesystem": "ext4"}],
    "arcs": [
        {"repetition": 0, **PLACE, "caller": "", "callee": READ, **NONE, "calls": 3, "total": None},
        {"repetition": 0, **PLACE, "caller": "app", "callee": READ, **WALL, "calls": 2,
         "total": 1.5},
    ],
    "coordinates": [{**PLACE, "axis": "node", "position": 4}],
    "modules": [{"module": "app", "file": "/bin/app", "build_id": "ab12"}],
    "branches": [
        {"from_function": READ, "from_module": "app", "from_file": "", "from_line": 0,
         "to_function": "", "to_module": "", "to_file": "", "to_line": 0, **WALL,
         "taken": 3, "predictions": 2, "mispredicted": 1, "timings": 0, "cycles": None},
    ],
}  # fmt: skip


@pytest.mark.usefixtures("run")
def test_json_and_csv_say_names_and_times_from_the_start_on(
    capsys: pytest.CaptureFixture[str],
) -> None:
    check = Draft202012Validator(json.loads(told(capsys, "--schema")))
    assert set(TOLD) == {schema.name for schema in OPTIONAL_SCHEMAS}
    for part, expected in TOLD.items():
        document = json.loads(told(capsys, "app", part, "--json"))
        check.validate(document)
        assert document["rows"] == expected, part
        told(capsys, "app", part, "-o", "x.csv")
        with Path("x.csv").open(newline="") as file:
            rows = list(csv.DictReader(file))
        assert rows == [
            {key: "" if value is None else str(value) for key, value in row.items()}
            for row in expected
        ], part


@pytest.mark.usefixtures("run")
def test_regions_and_metrics_have_their_names_under_the_same_keys(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for part, key, names in (
        ("regions", "region", ["app", READ]), ("metrics", "metric", ["wall time"]),
    ):  # fmt: skip
        rows = json.loads(told(capsys, "app", part, "--json"))["rows"]
        assert [(row["number"], row[key]) for row in rows] == list(enumerate(names))


@pytest.mark.usefixtures("run")
def test_options_may_stand_between_words(capsys: pytest.CaptureFixture[str]) -> None:
    expected = told(capsys, "app", "events", "--json")
    assert told(capsys, "app", "--json", "events") == expected
    assert told(capsys, "--json", "app", "events") == expected
    assert main(["compare", "app", "--json", "app"]) == 0


def test_what_a_table_refers_to_is_there_or_said(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import duckdb

    for table, column, value, parts in (
        ("profile", "metric", 7, ([], ["profile"], ["profile", "--by", "rank"])),
        ("profile", "location", -1, ([], ["profile"])),
        ("events", "location", 9, (["events"], ["events", "--json"])),
        ("samples", "metric", 3, (["samples"],)),
    ):
        file = run / f"{table}.parquet"
        kept = file.read_bytes()
        duckdb.sql(
            f"COPY (SELECT * REPLACE ({value}::INTEGER AS {column}) FROM read_parquet('{file}')) "
            f"TO '{file}.new' (FORMAT parquet)"
        )
        Path(f"{file}.new").rename(file)
        for words in parts:
            assert main(["report", "app", *words]) == 1
            printed = capsys.readouterr()
            target = f"{column}s"
            assert (printed.out, printed.err) == ("", (
                f"gnomon: app.gnomon/{table}.parquet: row 1: its {column} is {value}, a number "
                f"that no row of {target} has; restore it from a copy, or measure again\n"
            ))  # fmt: skip
        file.write_bytes(kept)


def test_a_file_that_the_run_does_not_name_is_no_table(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    head = json.loads((run / "run.json").read_text())
    head["tables"].remove("events")
    (run / "run.json").write_text(json.dumps(head))
    (run / "events.parquet").write_bytes(b"no table")
    for words in ([], ["profile"], ["profile", "--by", "rank"], ["regions"]):
        assert main(["report", "app", *words]) in (0, 1)
        assert capsys.readouterr().err == ""


def test_too_many_rows_name_the_export_of_that_table(
    run: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_limits, "ROWS_TOLD_MOST", 1)
    assert main(["report", str(run), "events", "--json"]) == 1
    said = capsys.readouterr().err
    assert "2 events are too many to print; see --top N, or gnomon export --to csv --table" in said
    assert said.endswith("--table events\n")


def test_calls_of_a_place_are_those_of_its_program(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Not those of all paths; None where the program's are not known."""
    import duckdb

    file = run / "profile.parquet"
    for of_root, known in (("1", 1), ("NULL", None)):
        file.unlink()
        duckdb.sql(
            "COPY (SELECT 0::INTEGER AS repetition, 1::INTEGER AS location, path::INTEGER AS path, "
            "0::INTEGER AS metric, 5e9 AS inclusive, 1e9 AS exclusive, calls::BIGINT AS calls, "
            "NULL::BIGINT AS raw, NULL::BIGINT AS enabled_ns, NULL::BIGINT AS running_ns "
            f"FROM (VALUES (0, {of_root}), (1, 24)) v(path, calls)) TO '{file}' (FORMAT parquet)"
        )
        for by in ("thread", "rank"):
            (row,) = json.loads(told(capsys, "app", "profile", "--by", by, "--json"))["rows"]
            assert row["calls"] == known
    rows = json.loads(told(capsys, "app", "profile", "--json"))["rows"]
    assert {row["region"]: row["calls"] for row in rows}[READ] == 24


@pytest.mark.usefixtures("run")
def test_what_repair_refuses_is_said_by_gnomon(capsys: pytest.CaptureFixture[str]) -> None:
    Path("app.c").write_text("int main;\n")
    assert main(["repair", "app.c"]) == 1
    assert capsys.readouterr().err.startswith("gnomon: app.c: it ends at byte 10, within the heade")


@pytest.mark.usefixtures("run")
def test_workers_that_are_no_number_are_said(capsys: pytest.CaptureFixture[str]) -> None:
    for word, why in (
        ("threads:x", "'x' is not a number; workers are"),
        ("threads:0", "1 to 1024"),
    ):
        assert main(["report", "app", "profile", "--executor", word]) == 2
        assert why in capsys.readouterr().err


def test_runs_without_them_say_so(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for schema in OPTIONAL_SCHEMAS:
        (run / f"{schema.name}.parquet").unlink()
    head = json.loads((run / "run.json").read_text())
    others = {schema.name for schema in OPTIONAL_SCHEMAS}
    head["tables"] = [name for name in head["tables"] if name not in others]
    (run / "run.json").write_text(json.dumps(head))
    said = " ".join(told(capsys, "app", "events", status=1).split())
    assert "this run has no events; gnomon io --trace and gnomon run --io-trace" in said
    opened = run_directory.find("app")
    assert not any(part.is_in(opened) for part in PARTS if part.name in ("events", "modules"))


def test_what_a_viz_file_does_not_have_is_said(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """After the file is written, on stderr, whatever it is written to."""
    tables = "events, messages, files, samples, arcs, coordinates, modules, branches"
    said = f"gnomon: note: not exported to .viz: {tables}\n"
    assert main(["export", str(run), "--to", "viz"]) == 0
    printed = capsys.readouterr()
    assert printed.out.endswith("</hpm>\n")
    assert printed.err == said
    assert main(["export", str(run), "--to", "viz", "-o", "all.viz"]) == 0
    assert capsys.readouterr() == ("", said)
    # The file has nothing more to leave out; other formats have all.
    for words in (["all.viz", "--to", "viz"], [str(run), "--to", "json"]):
        assert main(["export", *words]) == 0
        assert capsys.readouterr().err == ""


def test_a_table_is_counted_once_and_only_where_more_is_not_shown(
    run: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    stream = run_directory.Run.stream

    def counting(self: run_directory.Run, sql: str, **options: Any) -> Any:
        asked.append(sql)
        return stream(self, sql, **options)

    monkeypatch.setattr(run_directory.Run, "stream", counting)
    for top, counts, more in (("1", 1, True), ("2", 1, False), ("9", 0, False), ("0", 1, False)):
        asked.clear()
        assert main(["report", str(run), "events", "--top", top]) == 0
        assert ("more (--top 0" in capsys.readouterr().out) is more
        assert sum("COUNT(*) FROM events" in sql for sql in asked) == counts, top
