"""How a run's tables are kept open: one database for all who read the same files."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import duckdb
import pytest
from view_runs import Place, Quantity, Region, Value, write

from gnomon.cli import main
from gnomon.errors import RunDirectoryError
from gnomon.store import profile_query, run_directory, table_limits
from gnomon.store.duckdb_parquet import duckdb_module
from gnomon.store.profile_query import Profile
from gnomon.store.reports import profile_report
from gnomon.store.run import Run

PROCESS = [Place(-1, "process")]
SECTIONS = [Region(-1, "hpm", "app"), Region(0, "hpm", "inner"), Region(1, "hpm", "innermost")]
WALL = [Quantity("wall time", "ns", aggregation="elapsed")]


def sections(path: Path, inner: float = 40.0, regions: list[Region] = SECTIONS) -> Path:
    values = [
        Value(0, 0, 0, 100.0, 100.0 - inner),
        Value(0, 1, 0, inner, inner - 10.0),
        Value(0, 2, 0, 10.0, 10.0),
    ]
    return write(path, PROCESS, regions, WALL, values)


def totals(run: Run) -> dict[str, tuple[object, object]]:
    rows = profile_report.profile_data(run, profile_report.profile(run, "region"), "region").rows
    return {row["region"]: (row["self"], row["total"]) for row in rows}


def test_a_report_opens_its_run_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command, the parts of its analysis and what times come to read one database."""
    opened = []
    connect = duckdb_module().connect

    def counted(*words: Any, **options: Any) -> duckdb.DuckDBPyConnection:
        opened.append(words)
        connection: duckdb.DuckDBPyConnection = connect(*words, **options)
        return connection

    monkeypatch.setattr(duckdb_module(), "connect", counted)
    path = sections(tmp_path / "app")
    numbers = []
    for by in ("region", "metric", "process"):
        opened.clear()
        assert main(["report", str(path), "profile", "--by", by]) == 0
        numbers.append(len(opened))
    assert max(numbers) == 1
    assert "inner" not in capsys.readouterr().err


def test_a_run_that_was_written_anew_is_read_anew(tmp_path: Path) -> None:
    path = sections(tmp_path / "app")
    before = run_directory.find(str(path))
    assert totals(before)["inner"] == (30, 40)
    again = sections(tmp_path / "again", inner=50.0)
    (again / "profile.parquet").replace(path / "profile.parquet")
    assert totals(run_directory.find(str(path)))["inner"] == (40, 50)


def test_damage_that_is_mended_is_forgotten(tmp_path: Path) -> None:
    path = sections(tmp_path / "app")
    file = path / "profile.parquet"
    whole = file.read_bytes()
    file.write_bytes(whole[:30] + bytes(len(whole) - 80) + whole[-50:])
    first, second = (run_directory.find(str(path)) for _ in range(2))
    for run in (first, second):
        with pytest.raises(RunDirectoryError, match=r"profile\.parquet: it is damaged"):
            run.query("SELECT SUM(inclusive) FROM profile")
    file.write_bytes(whole)
    for run in (second, first):
        assert run.query("SELECT SUM(inclusive) FROM profile") == [(150.0,)]


def test_paths_without_recursion_are_known_to_be_the_outermost(tmp_path: Path) -> None:
    """Only what is within a region of the same name, code, or in a circle is looked at closely."""
    flat = run_directory.find(str(sections(tmp_path / "flat")))
    assert profile_query.outermost_paths_by(flat, "region", "('function', 'line')") is None
    assert totals(flat) == {"app": (60, 100), "inner": (30, 40), "innermost": (10, 10)}
    recursion = [*SECTIONS[:2], Region(1, "hpm", "inner")]
    for name, regions, code in (
        ("recursion", recursion, "('cpu')"),
        ("code", SECTIONS, "('hpm')"),
        ("circle", [SECTIONS[0], Region(2, "hpm", "inner"), SECTIONS[2]], "('cpu')"),
    ):
        run = run_directory.find(str(sections(tmp_path / name, regions=regions)))
        paths = profile_query.outermost_paths_by(run, "region", code)
        assert paths is not None
        expected = {"recursion": [0, 1, 1], "code": [0, 1, 2], "circle": [0, -1, -1]}
        assert paths.top.tolist() == expected[name]


def test_repeated_runs_are_within_bounds_for_whoever_does_a_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other processes get no run.json, which says how often the program was executed."""
    monkeypatch.setattr(table_limits, "ROWS_HARMLESS", 2)
    values = [Value(0, 0, 0, 5.0, 5.0, repetition=at) for at in range(4)]
    path = write(tmp_path / "app", PROCESS, SECTIONS[:1], WALL, values, {"repetitions": 4})
    (part,) = profile_query.parts(run_directory.find(str(path)))
    (total,) = Profile("region").partial(part)
    assert (total.locations, total.total) == (4, 20.0)


def test_a_child_of_a_process_that_forks_opens_its_own(tmp_path: Path) -> None:
    """Databases work with threads, which a child has none of: it would wait for them for ever."""
    run = run_directory.find(str(sections(tmp_path / "app")))
    assert run.query("SELECT SUM(inclusive) FROM profile") == [(150.0,)]
    profile = Profile("region")
    parts = profile_query.parts(run)
    expected = profile_query.run(profile, parts)
    with ProcessPoolExecutor(1, mp_context=get_context("fork")) as executor:
        future = executor.submit(profile_query.run, profile, parts)
        try:
            assert future.result(60) == expected
        finally:
            for process in (executor._processes or {}).values():
                process.kill()


def test_a_script_that_reports_ends_in_silence(tmp_path: Path) -> None:
    """DuckDB complains on stderr of what is open when the interpreter has been taken apart."""
    path = sections(tmp_path / "run.gnomon")
    script = f"from gnomon.cli import main; main(['report', {str(path)!r}, 'profile'])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=False)
    assert b"innermost" in done.stdout
    assert (done.returncode, done.stderr) == (0, b"")


def test_the_module_is_that_of_the_package() -> None:
    assert duckdb_module().Error is duckdb.Error
    assert duckdb_module().OutOfMemoryException is duckdb.OutOfMemoryException
    script = (
        "import sys; from gnomon.store import duckdb_parquet; "
        "duckdb_parquet.connected().execute('SELECT 1'); print('duckdb' in sys.modules)"
    )
    command = [sys.executable, "-c", script]
    found = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert found == "False\n" or duckdb_module() is duckdb


@pytest.mark.parametrize("more", [0, 1])
def test_a_text_is_cut_where_one_of_its_table_is_long(tmp_path: Path, more: int) -> None:
    """Whether there is one is known from the look at the bounds; a shared run has not looked."""
    name = "é" * (table_limits.TEXT_MOST // 2) + "e" * (table_limits.TEXT_MOST // 2 + more)
    path = sections(tmp_path / "app", regions=[*SECTIONS[:2], Region(1, "hpm", name)])
    run = run_directory.find(str(path))
    unchecked = Run(run.path, run.head, is_checked=True)
    for one in (run, unchecked):
        (read,) = one.query("SELECT name FROM regions WHERE kind = 'hpm' AND length(name) > 100")
        assert len(read[0]) == table_limits.TEXT_MOST
        assert (read[0] == name) == (not more)
