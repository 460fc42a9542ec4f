"""`gnomon count --name NAME` and `gnomon report`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duckdb
import pytest
from commands import counted, gnomon, values

EVENTS = "task-clock,page-faults,minor-faults"
TABLES = ("locations", "regions", "paths", "metrics", "profile")


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """Return a run directory with threads and repetitions, and the document of the same runs."""
    folder = tmp_path_factory.mktemp("run")
    document = counted(
        folder, "--name", "first", "-r", "2", "--per", "thread", "-e", EVENTS, "--",
        "sh", "-c", "ls / | cat; (true)", cwd=folder,
    )  # fmt: skip
    return folder / "first.gnomon", document


def rows(run: Path, query: str) -> list[tuple[Any, ...]]:
    with duckdb.connect(":memory:") as connection:
        for table in TABLES:
            connection.execute(
                f"CREATE VIEW {table} AS SELECT * FROM read_parquet('{run}/{table}.parquet')"
            )
        return connection.execute(query).fetchall()


def test_head_says_what_ran(measured: tuple[Path, dict[str, Any]]) -> None:
    run, document = measured
    head = json.loads((run / "run.json").read_text())
    assert head["schema"] == "gnomon/run"
    assert head["command"] == document["command"]
    assert head["exit_status"] == 0
    assert head["repetitions"] == 2
    assert head["hosts"] == [document["host"]]
    assert head["wall_seconds"] == document["wall_seconds"]
    assert head["unavailable"] == document["unavailable"]
    listed = json.loads(gnomon("components", "--json").stdout)["components"]
    assert [(one["name"], one["available"]) for one in head["components"]] == [
        (one["name"], one["available"]) for one in listed
    ]
    assert {path.name for path in (run / "text").iterdir()} == {"count.txt", "count.json"}
    assert json.loads((run / "text" / "count.json").read_text()) == document


def test_tables_hold_what_the_document_holds(measured: tuple[Path, dict[str, Any]]) -> None:
    run, document = measured
    found = rows(
        run,
        "SELECT p.repetition, m.name, p.inclusive, m.unit, m.how, p.raw FROM profile p "
        "JOIN metrics m USING (metric) JOIN locations l USING (location) "
        "WHERE l.kind = 'command' AND p.raw IS NOT NULL",
    )
    assert sorted(found) == sorted(
        (at, c["event"], c["value"], c["unit"], c["how"], c["raw"])
        for at, one in enumerate(document["repetitions"])
        for c in one["counters"]
    )
    times = rows(
        run,
        "SELECT p.repetition, p.inclusive / 1e9 FROM profile p JOIN metrics m USING (metric) "
        "WHERE m.name = 'wall time' ORDER BY 1",
    )
    walls = [(at, one["wall_seconds"]) for at, one in enumerate(document["repetitions"])]
    assert times == [(at, pytest.approx(seconds)) for at, seconds in walls]
    derived = rows(
        run,
        "SELECT p.repetition, m.name, p.inclusive, m.formula FROM profile p "
        "JOIN metrics m USING (metric) WHERE m.formula <> ''",
    )
    assert sorted(derived) == sorted(
        (at, m["name"], m["value"], m["formula"])
        for at, one in enumerate(document["repetitions"])
        for m in one["metrics"]
    )


@pytest.mark.parametrize(("kind", "key"), [("thread", "threads"), ("process", "processes")])
def test_tables_hold_every_task(kind: str, key: str, measured: tuple[Path, dict[str, Any]]) -> None:
    run, document = measured
    found = rows(
        run,
        "SELECT p.repetition, l.pid, l.name, m.name, p.inclusive FROM profile p "
        f"JOIN metrics m USING (metric) JOIN locations l USING (location) WHERE l.kind = '{kind}'",
    )
    assert sorted(found) == sorted(
        (at, row["pid"], row["name"], event, value)
        for at, one in enumerate(document["repetitions"])
        for row in one[key]
        for event, value in row["values"].items()
    )
    assert len(found) >= 2 * 3 * 4


def test_report_as_json_is_the_tables(measured: tuple[Path, dict[str, Any]]) -> None:
    run, document = measured
    done = gnomon("report", "first", "--json", cwd=run.parent)
    told = json.loads(done.stdout)
    assert done.returncode == 0
    assert told["run"] == json.loads((run / "run.json").read_text())
    last = {row["metric"]: row["total"] for row in told["rows"] if row["repetition"] == 1}
    assert {event: last[event] for event in values(document)} == values(document)
    assert {row["how"] for row in told["rows"] if row["metric"] in EVENTS} == {"counted"}


@pytest.mark.parametrize(
    ("per", "words"),
    [
        ("command", ["page-faults", "counted"]),
        ("process", ["process", "cat", "page-faults"]),
        ("thread", ["thread", "ls", "minor-faults"]),
    ],
)
def test_report_as_text(
    per: str, words: list[str], measured: tuple[Path, dict[str, Any]], tmp_path: Path
) -> None:
    run, _ = measured
    done = gnomon("report", run, "--per", per)
    assert (done.returncode, done.stderr) == (0, "")
    assert all(word in done.stdout for word in words)
    assert "repetition 2 of 2" in done.stdout
    gnomon("report", run, "--per", per, "-o", tmp_path / "out")
    assert (tmp_path / "out").read_text() == done.stdout


def test_taken_name_is_refused_before_the_program_runs(tmp_path: Path) -> None:
    done = gnomon("count", "--name", "a", "-e", "task-clock", "--", "true", cwd=tmp_path)
    assert done.returncode == 0
    assert done.stderr.endswith("run directory: a.gnomon\n")
    before = (tmp_path / "a.gnomon" / "run.json").read_bytes()
    for name in ("a", "a.gnomon"):
        done = gnomon("count", "--name", name, "-e", "task-clock", "--", "touch", "ran",
                      cwd=tmp_path)  # fmt: skip
        assert done.returncode == 1
        assert done.stderr == (
            "gnomon: a.gnomon: it exists already; choose another --name NAME, "
            "or replace it by --force\n"
        )
    assert [path.name for path in tmp_path.iterdir()] == ["a.gnomon"]
    assert (tmp_path / "a.gnomon" / "run.json").read_bytes() == before


def test_latest_run_is_the_default(tmp_path: Path) -> None:
    none = gnomon("report", cwd=tmp_path)
    assert (none.returncode, none.stdout) == (1, "")
    assert "gnomon run -- program" in none.stderr
    for name in ("b", "a"):
        gnomon("count", "--name", name, "-e", "task-clock", "--", "true", cwd=tmp_path)
    assert gnomon("report", cwd=tmp_path).stdout.startswith("a.gnomon: true  [exit 0]\n")
    assert gnomon("report", "b", cwd=tmp_path).stdout.startswith("b.gnomon: true")
    assert gnomon("report", "b", "--per", "function", cwd=tmp_path).returncode == 1
    missing = gnomon("report", "c", cwd=tmp_path)
    assert missing.stderr.endswith("the latest are: a, b\n")
    assert (missing.returncode, missing.stdout) == (1, "")
    assert missing.stderr.count("\n") == 1


def test_failed_program_leaves_its_run(tmp_path: Path) -> None:
    done = gnomon("count", "--name", "a", "-e", "task-clock", "--", "sh", "-c", "kill -SEGV $$",
                  cwd=tmp_path)  # fmt: skip
    assert done.returncode == -11
    head = json.loads((tmp_path / "a.gnomon" / "run.json").read_text())
    assert head["exit_status"] == 139


def test_without_a_name_nothing_is_left(tmp_path: Path) -> None:
    gnomon("count", "-e", "task-clock", "--", "true", cwd=tmp_path)
    gnomon("count", "--name", "a", "-e", "task-clock", "--", "/no/such/program", cwd=tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"schema": "other"}', "\xff"])
def test_damaged_head_is_refused(damage: str, tmp_path: Path) -> None:
    (tmp_path / "a.gnomon").mkdir()
    (tmp_path / "a.gnomon" / "run.json").write_text(damage, encoding="latin-1")
    done = gnomon("report", "a", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("gnomon: a.gnomon/run.json: at byte ")
    assert done.stderr.count("\n") == 1


def test_missing_table_is_said(tmp_path: Path) -> None:
    gnomon("count", "--name", "a", "-e", "task-clock", "--", "true", cwd=tmp_path)
    (tmp_path / "a.gnomon" / "profile.parquet").write_bytes(b"PAR1 damaged PAR1")
    done = gnomon("report", "a", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("gnomon: a.gnomon/profile.parquet: it is damaged")
