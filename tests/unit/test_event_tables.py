"""Tables that a run may have beside its profile, as parts of the report."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from gnomon.cli import main
from gnomon.model.tables import (
    ARCS,
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
from gnomon.store import rundir
from gnomon.store.report_parts import PARTS

T0 = 1_700_000_000_000_000_000
MS = 1_000_000


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
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
    )  # fmt: skip
    head = {
        "command": ["./app"], "hosts": [{"name": "n"}], "started": 1.7e9, "wall_seconds": 5,
        "exit_status": 0, "repetitions": 1, "unavailable": [], "warnings": [],
    }  # fmt: skip
    return rundir.write(str(tmp_path / "app"), head, tables, {})


def told(capsys: pytest.CaptureFixture[str], *words: str, status: int = 0) -> str:
    assert main(["report", *words]) == status
    return capsys.readouterr().out


@pytest.mark.usefixtures("run")
def test_rows_have_the_names_of_what_they_refer_to(capsys: pytest.CaptureFixture[str]) -> None:
    lines = told(capsys, "app", "events").splitlines()
    assert lines[0] == "app.gnomon: ./app"
    assert lines[1].split()[:4] == ["start", "duration", "bytes", "location"]
    assert lines[2].split()[:6] == ["20", "ms", "3", "ms", "4", "KiB"]
    assert "rank 3 thread 8 worker" in lines[2]
    assert lines[2].endswith("/data/in")
    assert r"read \x1b" in lines[2]
    assert lines[3].split() == ["5", "ms", "command", "7", "app", "app"]
    told_of = {
        "messages": "1 ms  1 MiB", "samples": "1 µs  rank 3", "arcs": "1.5", "coordinates": "node",
        "modules": "/bin/app  ab12", "files": "/data/in  file  ext4",
    }  # fmt: skip
    for part, expected in told_of.items():
        text = told(capsys, "app", part)
        assert expected in text
        assert max(map(len, text.splitlines())) <= 80
    text = told(capsys, "app", "events", "--top", "1")
    assert text.endswith("  and 1 more (--top 0 for all)\n")


@pytest.mark.usefixtures("run")
def test_json_and_csv_are_the_tables(capsys: pytest.CaptureFixture[str]) -> None:
    check = Draft202012Validator(json.loads(told(capsys, "--schema")))
    for schema in OPTIONAL_SCHEMAS:
        document = json.loads(told(capsys, "app", schema.name, "--json"))
        check.validate(document)
        told(capsys, "app", schema.name, "-o", "x.csv")
        rows = list(csv.DictReader(Path("x.csv").read_text().splitlines()))
        assert len(rows) == len(document["rows"]) > 0
        assert list(rows[0]) == [column.name for column in schema.columns]
    (first, _) = json.loads(told(capsys, "app", "events", "--json"))["rows"]
    assert (first["start_ns"], first["file"]) == (T0 + 20 * MS, 0)


def test_runs_without_them_say_so(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for schema in OPTIONAL_SCHEMAS:
        (run / f"{schema.name}.parquet").unlink()
    head = json.loads((run / "run.json").read_text())
    others = {schema.name for schema in OPTIONAL_SCHEMAS}
    head["tables"] = [name for name in head["tables"] if name not in others]
    (run / "run.json").write_text(json.dumps(head))
    assert told(capsys, "app", "events", status=1).endswith("this run has no events\n")
    opened = rundir.find("app")
    assert not any(part.is_in(opened) for part in PARTS if part.name in ("events", "modules"))


def test_what_a_viz_file_does_not_have_is_said(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """After the file is written, on stderr, whatever it is written to."""
    tables = "events, messages, files, samples, arcs, coordinates, modules"
    said = f"gnomon: not exported to .viz: {tables}\n"
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
    stream = rundir.Run.stream

    def counting(self: rundir.Run, sql: str, **options: Any) -> Any:
        asked.append(sql)
        return stream(self, sql, **options)

    monkeypatch.setattr(rundir.Run, "stream", counting)
    for top, counts, more in (("1", 1, True), ("2", 1, False), ("9", 0, False), ("0", 1, False)):
        asked.clear()
        assert main(["report", str(run), "events", "--top", top]) == 0
        assert ("more (--top 0" in capsys.readouterr().out) is more
        assert sum("COUNT(*) FROM events" in sql for sql in asked) == counts, top
