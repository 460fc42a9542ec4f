"""Run directories: what is written is read again, and nothing hostile is believed."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from pathlib import Path

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_runs import made_run
from property_tests import examples

from gnomon.cli.terminal.streams import safe_lines
from gnomon.errors import FormatError, GnomonError, RunDirectoryError, UsageError
from gnomon.model.tables import METRICS, REGIONS, SCHEMAS, Table
from gnomon.store import run_directory
from gnomon.store.reports import run_facts

HEAD = {
    "command": ["./app", "two words"],
    "hosts": [{"name": "node1"}],
    "started": 1.7e9,
    "wall_seconds": 2.5,
    "exit_status": 0,
    "repetitions": 1,
    "unavailable": [{"event": "cycles", "reason": "no PMU"}],
    "warnings": ["a note"],
}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=6,
)


@examples(40)
@given(
    st.lists(st.text(alphabet='a\r\n\t",\x00\x85\u2028\ufffe', max_size=5), min_size=1, max_size=5)
)
def test_any_name_is_kept(tmp_path_factory: pytest.TempPathFactory, names: list[str]) -> None:
    table = Table(METRICS)
    for at, name in enumerate(names):
        table.append((at, name, "", "", "counted", name, "all", "process", name))
    path = run_directory.write(str(tmp_path_factory.mktemp("names") / "x"), HEAD, (table,), {})
    found = run_directory.find(str(path)).rows(METRICS)
    assert [(row["name"], row["description"]) for row in found] == [(n, n) for n in names]


def test_what_a_killed_run_left_is_told(tmp_path: Path) -> None:
    (tmp_path / "k.gnomon.raw").mkdir()
    for name in ("k", "k.gnomon", "k.gnomon.raw"):
        with pytest.raises(RunDirectoryError, match=r"then gnomon repair .*/k$"):
            run_directory.find(str(tmp_path / name))


def metrics() -> Table:
    table = Table(METRICS)
    for at, name in enumerate(("page-faults", 'it\'s "quoted"; DROP TABLE metrics')):
        table.add(
            metric=at, name=name, unit="", formula="", how="counted", component="kernel",
            domain="all", scope="thread", description="",
        )  # fmt: skip
    return table


def written(folder: Path) -> Path:
    tables = [metrics(), *(Table(schema) for schema in SCHEMAS if schema is not METRICS)]
    return run_directory.write(str(folder / "run"), HEAD, tables, {"count.txt": "the report\n"})


def test_what_is_written_is_read(tmp_path: Path) -> None:
    path = written(tmp_path)
    assert path.name == "run.gnomon"
    assert (path / "text" / "count.txt").read_text() == "the report\n"
    run = run_directory.find(str(tmp_path / "run"))
    assert run.head["command"] == HEAD["command"]
    assert [row["name"] for row in run.rows(METRICS)] == [row["name"] for row in metrics().dicts()]
    text = run_facts.render_run_facts(run, run_facts.profile(run, "command"), "command")
    assert "./app 'two words'" in text
    assert "not counted: cycles: no PMU" in text


def test_nothing_is_left_beside_a_run(tmp_path: Path) -> None:
    written(tmp_path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["run.gnomon"]


def test_a_name_is_never_taken_twice(tmp_path: Path) -> None:
    written(tmp_path)
    with pytest.raises(RunDirectoryError, match="exists already; choose another"):
        written(tmp_path)


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(RunDirectoryError, match="is not a directory that can be written"):
        run_directory.check_free(str(tmp_path / "nowhere" / "run"))


@pytest.mark.parametrize("name", ["", "/", ".", "..", "run/", "run.gnomon/", "run/.", ".gnomon"])
def test_a_folder_is_no_name_of_a_run(tmp_path: Path, name: str) -> None:
    written(tmp_path)
    with pytest.raises(UsageError, match="names no run directory; choose a name such as"):
        run_directory.check_free(f"{tmp_path}/{name}")


def test_a_name_longer_than_names_are_is_one_error(tmp_path: Path) -> None:
    for name in ("x" * 300, f"{'y' * 300}.viz"):
        with pytest.raises(RunDirectoryError, match="File name too long"):
            run_directory.find(str(tmp_path / name))


def test_the_latest_run_is_found(tmp_path: Path) -> None:
    with pytest.raises(RunDirectoryError, match="no run in this directory"):
        run_directory.find(None, tmp_path)
    path = written(tmp_path)
    assert run_directory.find(None, tmp_path).path == path
    with pytest.raises(RunDirectoryError, match="no such run"):
        run_directory.find(str(tmp_path / "other"))


def test_a_wrong_name_tells_the_runs_that_are_there(tmp_path: Path) -> None:
    with pytest.raises(RunDirectoryError, match="there is none here; create one: gnomon run --"):
        run_directory.find(str(tmp_path / "other"))
    path = written(tmp_path)
    for at in range(6):
        copy = shutil.copytree(path, tmp_path / f"run{at}.gnomon")
        os.utime(copy / "run.json", (2e9 + at, 2e9 + at))
    with pytest.raises(RunDirectoryError) as caught:
        run_directory.find(str(tmp_path / "other"))
    latest = ", ".join(str(tmp_path / f"run{at}") for at in (5, 4, 3, 2, 1))
    assert str(caught.value).endswith(f"the latest are: {latest} and 2 more")


def test_what_is_neither_a_run_nor_a_file_is_named_as_what_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("empty.gnomon").mkdir()
    os.mkfifo("pipe")
    os.mkfifo("other.gnomon")
    for name, said in (
        ("empty.gnomon", "empty.gnomon: a directory, but no run: it has no run.json; there is"),
        ("empty", "empty.gnomon: a directory, but no run: it has no run.json"),
        ("pipe", "pipe: a named pipe, where a file is expected; write what it gives into a file"),
        ("other", "other.gnomon: a named pipe, where a run is expected"),
        ("/dev/zero", "/dev/zero: a device, where a file is expected"),
    ):
        with pytest.raises(RunDirectoryError) as caught:
            run_directory.find(name)
        assert str(caught.value).startswith(said)
    Path("results").mkdir()
    written(Path("results"))
    with pytest.raises(RunDirectoryError, match=r"no run: .*; the latest in it are: results/"):
        run_directory.find("results")


@pytest.mark.parametrize("table", [schema.name for schema in SCHEMAS])
def test_a_damaged_table_is_named(tmp_path: Path, table: str) -> None:
    path = written(tmp_path)
    file = path / f"{table}.parquet"
    file.write_bytes(file.read_bytes()[:-20])
    run = run_directory.find(str(path))
    with pytest.raises(RunDirectoryError) as caught:
        run_facts.profile(run, "command")
    assert str(caught.value) == (
        f"{file}: it is damaged, or no table of a run: it cannot be read; "
        "restore it from a copy, or measure again"
    )


@pytest.mark.parametrize("damage", ["middle", "no columns"])
def test_damage_within_a_table_is_named(tmp_path: Path, damage: str) -> None:
    path = written(tmp_path)
    file = path / "metrics.parquet"
    whole = file.read_bytes()
    if damage == "middle":
        file.write_bytes(whole[:4] + bytes(range(200)) + whole[204:])
    else:
        file.write_bytes((path / "paths.parquet").read_bytes())
    with pytest.raises(RunDirectoryError, match=r"metrics\.parquet: it is damaged") as caught:
        run_directory.find(str(path)).rows(METRICS)
    assert "Error" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_missing_table_is_one_error(tmp_path: Path) -> None:
    path = written(tmp_path)
    (path / "profile.parquet").unlink()
    with pytest.raises(RunDirectoryError, match=r"profile\.parquet: the table is missing; restore"):
        run_facts.profile(run_directory.find(str(path)), "command")


def test_a_newer_run_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path)
    head = json.loads((path / "run.json").read_text())
    (path / "run.json").write_text(json.dumps({**head, "schema_version": 99}))
    with pytest.raises(FormatError, match="schema version 99; this Gnomon reads up to 2"):
        run_directory.find(str(path))


@pytest.mark.parametrize(
    ("content", "offset", "problem"),
    [
        (b'{"schema": ', 11, "not JSON"),
        (b'{"a": "\xff"}', 7, "not UTF-8"),
        (b"[1, 2]", 0, "not a run"),
        (b'{"schema": "gnomon/run", "schema_version": 1}', 0, "'command' is missing"),
        (b"[" * 100_000, 0, "nested too deep"),
        (b"1" * 5_000, 0, "numbers too long"),
    ],
)
def test_errors_name_file_and_offset(
    tmp_path: Path, content: bytes, offset: int, problem: str
) -> None:
    folder = tmp_path / "bad.gnomon"
    folder.mkdir()
    (folder / "run.json").write_bytes(content)
    with pytest.raises(FormatError, match=problem) as caught:
        run_directory.find(str(folder))
    assert caught.value.path == folder / "run.json"
    assert caught.value.offset == offset
    assert str(caught.value).endswith("; restore it from a copy, or measure again")


@given(changes=st.dictionaries(st.sampled_from([*HEAD, "schema", "schema_version"]), JSON))
@examples(200)
def test_no_head_is_believed_that_cannot_be_shown(
    tmp_path_factory: pytest.TempPathFactory, changes: dict[str, object]
) -> None:
    folder = tmp_path_factory.mktemp("heads") / "x.gnomon"
    folder.mkdir()
    whole = {"schema": "gnomon/run", "schema_version": 1, **HEAD, **changes}
    (folder / "run.json").write_text(json.dumps(whole))
    try:
        run = run_directory.find(str(folder))
    except GnomonError:
        return
    assert run_facts.render_run_facts(run, (), "thread").endswith("\n")


@given(content=st.binary(max_size=400))
@examples(200)
def test_no_bytes_do_more_than_raise_one_error(
    tmp_path_factory: pytest.TempPathFactory, content: bytes
) -> None:
    folder = tmp_path_factory.mktemp("bytes") / "x.gnomon"
    folder.mkdir()
    (folder / "run.json").write_bytes(content)
    with pytest.raises(GnomonError):
        run_directory.find(str(folder))


def test_digests_are_of_sources_as_they_were_measured(tmp_path: Path) -> None:
    old, new, absent = tmp_path / "old.c", tmp_path / "new.c", tmp_path / "absent.c"
    for file in (old, new):
        file.write_text("int main(void) {}\n")
    os.utime(old, (1.0, 1.0))
    os.mkfifo(tmp_path / "pipe.c")
    names = [str(old), str(new), str(absent), str(tmp_path / "pipe.c"), "old.c", str(tmp_path)]
    regions = Table(REGIONS)
    for at, name in enumerate(names):
        regions.add(region=at, kind="cpu", name="main", module="", file=name, line=1)
    run_directory.write(str(tmp_path / "run"), {**HEAD, "started": 1000.0}, [regions], {})
    head = json.loads((tmp_path / "run.gnomon" / "run.json").read_text())
    digest = hashlib.sha256(old.read_bytes()).hexdigest()
    assert head["sources"] == {str(old): f"sha256:{digest}"}


def test_small_files_that_hold_too_much_are_refused_or_cut(tmp_path: Path) -> None:
    with duckdb.connect() as connection:
        for name, changed in (
            ("many", "* REPLACE (metric + range * 100 AS metric)"),
            ("long", "* EXCLUDE (range) REPLACE (repeat('x', 1000000) AS name)"),
        ):
            run = made_run(tmp_path, [("app", "f", "/src/a.c", 1, (1, 2, 3, 4))], name=name)
            file = run.path / "metrics.parquet"
            rows = 30_000 if name == "many" else 1
            query = f"SELECT {changed} FROM read_parquet('{file}'), range({rows})"
            connection.execute(f"COPY ({query}) TO '{file}.new' (FORMAT parquet)")
            Path(f"{file}.new").replace(file)
    with pytest.raises(RunDirectoryError, match=r"metrics\.parquet: 150000 rows, and a run has"):
        run_directory.find(str(tmp_path / "many")).query("SELECT 1")
    (longest,) = run_directory.find(str(tmp_path / "long")).query(
        "SELECT MAX(len(name)) FROM metrics"
    )
    assert longest == (4096,)


def test_no_name_is_obeyed_by_a_terminal() -> None:
    assert safe_lines("a \x1b[31mred\r\nb\tc\x9b\n") == "a \\x1b[31mred\\r\nb c\\x9b\n"
