"""Runs as .viz files: whatever a run holds is read back, exactly, and meets the schema."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from lxml import etree
from made_runs import made_run
from property_tests import examples
from repeated_runs import repeated_run

import gnomon.hpm
from gnomon.cli import main
from gnomon.errors import RunDirectoryError
from gnomon.model.tables import PROFILE, SCHEMAS, Column, Schema, Table
from gnomon.store import exports, run_directory, viz
from gnomon.store.run import Run
from gnomon.store.viz import encoding
from gnomon.view.session import Session

XSD = etree.XMLSchema(etree.parse(Path(gnomon.hpm.__file__).parent / "viz.xsd"))
HUGE = etree.XMLParser(huge_tree=True)
ODD = "a1 ,;:\"<>&'\\\t\n\r\x01\x1b\x7f\x85\u2028\ufffe\uffff\U0001f600é\ud800\udcff]"
TEXTS = st.one_of(st.text(alphabet=ODD, max_size=12), st.text(max_size=6), st.just("]]>\\x41"))
HEAD: dict[str, Any] = {
    "command": ["./app"], "hosts": [{"name": "node1", "cpu_model": "A CPU", "cpus": 4}],
    "started": 1.7e9 + 0.123456, "wall_seconds": 2.5, "exit_status": 0, "repetitions": 1,
    "unavailable": [], "warnings": [],
}  # fmt: skip


def write(run: Run, file: Path) -> Path:
    with file.open("w", encoding="utf-8") as text:
        text.writelines(exports.viz(run))
    return file


def checked(file: Path) -> Any:
    """Return the root element of a file, which must meet the schema."""
    root = etree.parse(file, HUGE).getroot()
    assert XSD.validate(root), XSD.error_log
    return root


def in_order(rows: Any) -> list[str]:
    """Return rows in an order of their own; repr tells every double and every NaN."""
    return sorted(repr(tuple(row)) for row in rows)


def assert_same(run: Run, file: Path) -> None:
    document = viz.read_viz(file)
    assert repr(document.head) == repr(dict(run.head))
    opened = run_directory.find(str(file))
    assert repr(opened.head) == repr(dict(run.head))
    for table in document.tables:
        stored = in_order(row.values() for row in run.rows(table.schema))
        assert in_order(table.rows) == stored, table.schema.name
        assert in_order(row.values() for row in opened.rows(table.schema)) == stored


def cells(column: Column) -> st.SearchStrategy[Any]:
    kinds: dict[str, st.SearchStrategy[Any]] = {
        "VARCHAR": TEXTS,
        "INTEGER": st.one_of(st.integers(-1, 3), st.integers(-(2**31), 2**31 - 1)),
        "BIGINT": st.integers(-(2**63), 2**63 - 1),
        "DOUBLE": st.floats(),
        "BOOLEAN": st.booleans(),
    }
    kind = kinds[column.type]
    return st.one_of(st.none(), kind) if column.nullable else kind


def tables_of(schema: Schema) -> st.SearchStrategy[Table]:
    row = st.tuples(*map(cells, schema.columns))
    return st.lists(row, max_size=6).map(lambda rows: Table(schema, list(rows)))


WORDS = st.text(max_size=5)
FINITE = st.floats(allow_nan=False, allow_infinity=False)  # a head with another is not read
EMPTY = tuple(Table(schema, []) for schema in SCHEMAS)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | FINITE | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=8,
)


@given(
    tables=st.tuples(*map(tables_of, SCHEMAS)), command=st.lists(TEXTS, max_size=3), more=JSON,
    host=st.dictionaries(st.sampled_from(["name", "cpu_model", "cpus", "kernel"]), JSON),
)  # fmt: skip
@example(tables=EMPTY, command=[], more=True, host={"cpus": True})
@example(tables=EMPTY, command=[], more=10**30, host={"cpus": 10**30})
@examples(20)
def test_any_run_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, tables: Sequence[Table], command: list[str],
    more: Any, host: dict[str, Any],
) -> None:  # fmt: skip
    folder = tmp_path_factory.mktemp("any")
    head = {**HEAD, "command": command, "hosts": [host], "pid": more, "ended": more, "else": more}
    run = run_directory.find(str(run_directory.write(str(folder / "x"), head, tables, {})))
    file = write(run, folder / "x.viz")
    checked(file)
    assert_same(run, file)
    assert write(run, folder / "again.viz").read_bytes() == file.read_bytes()


@given(TEXTS)
def test_any_text_comes_back(text: str) -> None:
    root = etree.fromstring(f'<a b="{encoding.written(text)}">{encoding.written(text)}</a>')
    assert encoding.decode_text(root.get("b")) == encoding.decode_text(root.text or "") == text


@pytest.mark.parametrize("text", ["\\", "\\x", "\\x0", "\\u12", "\\n", "\\\\\\"])
def test_a_backslash_alone_is_no_text(text: str) -> None:
    with pytest.raises(ValueError, match="backslash"):
        encoding.decode_text(text)


def test_very_long_names_are_kept(tmp_path: Path) -> None:
    name = "template<" + "int, " * 1_000_000 + ">\x01"
    run = made_run(tmp_path, [("app", name, "/src/a.c", 3, (600, 6, 1, 0))])
    file = write(run, tmp_path / "run.viz")
    checked(file)
    assert_same(run, file)


def test_functions_and_lines_are_shown_like_the_run(tmp_path: Path) -> None:
    lines = [
        ("app", "f", "/src/a.c", 3, (600, 6, 1, 0)),
        ("app", "f", "/src/a.c", 4, (60, 6, 0, 2)),
        ("app", "operator<", "/src/b,c.c", 9, (400, 4, 0, 0)),
    ]
    run = made_run(tmp_path, lines)
    file = write(run, tmp_path / "run.viz")
    one, other = Session().open([str(run.path), str(file)])
    for metric in one.data.metrics:
        for by in ("region", "file", "rank", "capability"):
            trees = [opened.tree(by) for opened in (one, other)]
            names = [[tree.text(tree.name, at) for at in range(tree.n)] for tree in trees]
            assert names[0] == names[1]
            values = [opened.values(by, metric.metric) for opened in (one, other)]
            assert repr(values[0].inclusive.tolist()) == repr(values[1].inclusive.tolist())
            assert repr(values[0].exclusive.tolist()) == repr(values[1].exclusive.tolist())
    assert {metric.how for metric in other.data.metrics} == {"counted", "emulated"}


def test_the_summary_says_what_ran(tmp_path: Path) -> None:
    head = {"command": ["/bin/app", "a b"], "pid": 42, "ended": 1.7e9 + 2}
    run = made_run(tmp_path, [], head={**head, "hosts": HEAD["hosts"]})
    (what,) = checked(write(run, tmp_path / "run.viz")).findall("run")
    assert dict(what.attrib) == {
        "program": "/bin/app", "host": "node1", "process": "42", "cpu": "A CPU", "cpus": "4",
        "started": "2023-11-14T22:13:20.000+00:00", "stopped": "2023-11-14T22:13:22.000+00:00",
        "wall_seconds": "2.5", "exit_status": "0",
    }  # fmt: skip
    assert [word.text for word in what] == ["/bin/app", "a b"]


def test_every_command_reads_the_file_as_the_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    tasks = [("process", "app", 0, {"wall time": [1.0, 2.0]}),
             ("process", "app", 1, {"wall time": [2.0, 2.0]})]  # fmt: skip
    repeated_run(tmp_path, "x", {"wall time": [3.0, 4.0]}, tasks=tasks,
                 lines=[("app", "f", "a.c", 3, {"wall time": [1.0, 1.5]})])  # fmt: skip
    assert main(["export", "x", "--to", "viz", "-o", "one.viz"]) == 0
    assert main(["export", "one.viz", "--to", "viz", "-o", "two.viz"]) == 0
    assert Path("one.viz").read_bytes() == Path("two.viz").read_bytes()
    commands = [
        ["report", "NAME"], ["report", "NAME", "--per", "process", "--json"],
        ["report", "NAME", "--per", "line"], ["report", "NAME", "run"],
        ["report", "NAME", "locations"], ["report", "NAME", "regions"],
        ["report", "NAME", "metrics", "--json"], ["report", "NAME", "profile"],
        ["report", "NAME", "profile", "--by", "rank", "--json"],
        ["export", "NAME", "--to", "csv", "--table", "locations"],
        ["export", "NAME", "--to", "speedscope"], ["compare", "NAME", "NAME"],
    ]  # fmt: skip
    for command in commands:
        said = []
        for name in ("x.gnomon", "one.viz"):
            other = name.replace("one", "two").replace("x.g", "./x.g")
            words = [other if at == 2 and word == "NAME" and command[0] == "compare"
                     else name if word == "NAME" else word
                     for at, word in enumerate(command)]  # fmt: skip
            status = main(words)
            told = capsys.readouterr()
            text = told.out.replace(other, "NAME").replace(name, "NAME")
            said.append((status, text.splitlines() and sorted(text.splitlines()), told.err))
        if command[0] == "compare":
            assert said[1][0] == 0
            assert said[1][2] == ""
            continue
        if "openmetrics" not in command:
            assert said[0] == said[1], command
        assert said[0][0] == 0


def test_no_run_directory_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    made_run(tmp_path, [])
    assert main(["export", "run", "--to", "viz", "-o", "run.viz"]) == 0
    for words, why in [
        (["report", "other.viz"], "gnomon: other.viz: no such file; there are: run.viz\n"),
        (["runs", "delete", "run.viz", "--yes"], "a .viz file is no run directory"),
        (["runs", "tag", "run.viz", "good"], "a .viz file is no run directory"),
        (["runs", "note", "run.viz", "good"], "a .viz file is no run directory"),
    ]:
        assert main(words) == 1
        said = capsys.readouterr().err
        assert why in said
        assert said.count("\n") == 1


def test_a_run_may_be_called_like_a_file(tmp_path: Path) -> None:
    run = made_run(tmp_path, [], name="swim.viz")
    assert run.path.name == "swim.viz.gnomon"
    assert run_directory.find(str(tmp_path / "swim.viz")).path == run.path


def test_no_files_are_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = write(made_run(tmp_path, []), tmp_path / "run.viz")
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
    run = run_directory.find(str(file))
    assert list(folder.iterdir()) == []
    assert len(os.listdir("/proc/self/fd")) == before + len(SCHEMAS)  # noqa: PTH208
    assert run.rows(PROFILE)
    del run
    assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208


def test_no_room_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = write(made_run(tmp_path, []), tmp_path / "run.viz")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "missing"))
    with pytest.raises(RunDirectoryError, match=r"run\.viz: .*set TMPDIR"):
        run_directory.find(str(file))


MEASURE = """
import re, sys
from pathlib import Path
from gnomon.cli import main
from gnomon.store import run_directory
def peak():
    # getrusage(2) would have that of the process that started this one, too.
    return int(re.search(r"VmHWM:\\s*([0-9]+)", Path("/proc/self/status").read_text())[1])
status = main(["export", sys.argv[1], "--to", "viz", "-o", sys.argv[2]])
written = peak()
((n,),) = run_directory.find(sys.argv[2]).query("SELECT COUNT(*) FROM profile")
print(status, n, written, peak())
"""


def test_a_large_run_needs_no_gigabyte(tmp_path: Path) -> None:
    """What is held does not grow with the rows; DuckDB and Python alone are some 150 MB."""
    import duckdb

    run = made_run(tmp_path, [])
    file = run.file(PROFILE)
    rows = (
        "SELECT 0 repetition, (i % 64)::INTEGER AS location, (i // 1280)::INTEGER AS path, "
        "(i // 64 % 20)::INTEGER AS metric, i * 1.1 AS inclusive, i * 0.3 AS exclusive, "
        "i AS calls, i AS raw, i AS enabled_ns, i AS running_ns FROM range(200000) t(i)"
    )
    with duckdb.connect() as connection:
        connection.execute(f"COPY ({rows}) TO '{file}' (FORMAT parquet)")
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, str(run.path), str(tmp_path / "x.viz")],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    status, n, written_kib, read_kib = map(int, done.stdout.split())
    assert (status, n) == (0, 200_000)
    assert written_kib < 300_000
    assert read_kib < 400_000


def test_the_head_is_what_the_run_has(tmp_path: Path) -> None:
    run = made_run(tmp_path, [], head={"else": ["]]>", "<&", "é\x01", 1e300]})
    root = checked(write(run, tmp_path / "run.viz"))
    assert json.loads(root.findtext("head")) == json.loads((run.path / "run.json").read_text())
    assert io.StringIO(root.findtext("head")).read().isascii()
