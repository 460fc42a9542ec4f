"""Tables that a run may have or not, and files that capabilities leave in it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest
from made_runs import made_run
from random_sets import in_files, random_sets

from gnomon.cli.main import main
from gnomon.errors import GnomonError
from gnomon.model.tables import (
    ARCS,
    BRANCHES,
    COORDINATES,
    EVENTS,
    FILES,
    MESSAGES,
    MODULES,
    OPTIONAL_SCHEMAS,
    SAMPLES,
    SCHEMAS,
    Table,
)
from gnomon.store import exports, run_directory, table_merge
from gnomon.store.table_merge import RunRoot, merged
from gnomon.store.table_set import TableSet
from gnomon.view.database import Tables

HEAD: dict[str, Any] = {
    "command": ["./app"], "hosts": [{"name": "node0"}], "started": 1.7e9, "wall_seconds": 2.5,
    "exit_status": 0, "repetitions": 1, "unavailable": [], "warnings": ["one"],
}  # fmt: skip
T0 = 1_700_000_000_000_000_000


def of_rank(rank: int) -> TableSet:
    """Return what a rank has: a message to the next one, two events on a file, and so on."""
    (plain,) = random_sets(rank, 1)[:1]
    files = Table(FILES, [(0, "/data/in", "", "file", "ext4"), (1, f"/out.{rank}", "", "file", "")])
    events = Table(
        EVENTS, [(0, 0, 1, 1, T0 + rank, 10, 4096, 1), (0, 1, 0, -1, T0, None, None, -1)]
    )
    messages = Table(MESSAGES, [(0, 1, -1, T0, None, 8, rank, 0)])
    samples = Table(SAMPLES, [(0, 1, 1, 0, T0, 64, 1000.0)])
    arcs = Table(ARCS, [(0, 1, -1, 1, -1, 3, None), (0, 1, 1, 1, 0, 2, 1.5)])
    coordinates = Table(COORDINATES, [(1, "node", rank), (1, "socket", 0)])
    modules = Table(MODULES, [("app", "/bin/app", "ab12"), ("libm", "/lib/libm.so", "")])
    branches = Table(BRANCHES, [(0, 1, 0, 1, 64, -1, None, 3, 2, 1, 0, None)])
    more = (files, events, messages, samples, arcs, coordinates, modules, branches)
    return TableSet((*plain.tables, *more), rank=rank)


def rows(tables: tuple[Table, ...], name: str) -> list[dict[str, Any]]:
    return [row for table in tables if table.schema.name == name for row in table.dicts()]


def test_rows_of_ranks_get_the_numbers_of_the_run() -> None:
    done = merged([of_rank(0), of_rank(1)], RunRoot("app", "./app", "node0", is_job=True)).tables
    names = [row["name"] for row in rows(done, "files")]
    assert names == ["/data/in", "/out.0", "/out.1"]
    assert [names[row["file"]] if row["file"] >= 0 else "" for row in rows(done, "events")] == [
        "/out.0", "", "/out.1", "",
    ]  # fmt: skip
    ranks = {row["location"]: row["rank"] for row in rows(done, "locations")}
    assert [ranks[row["location"]] for row in rows(done, "samples")] == [0, 1]
    messages = rows(done, "messages")
    assert [ranks[row["sender"]] for row in messages] == [row["tag"] for row in messages] == [0, 1]
    regions = {row["region"] for row in rows(done, "regions")}
    assert {row["callee"] for row in rows(done, "arcs")} <= regions
    assert [row["caller"] for row in rows(done, "arcs")][::2] == [-1, -1]
    assert [(ranks[row["location"]], row["axis"]) for row in rows(done, "coordinates")] == [
        (0, "node"), (0, "socket"), (1, "node"), (1, "socket"),
    ]  # fmt: skip
    assert len(rows(done, "modules")) == 2
    branches = rows(done, "branches")
    assert [ranks[row["location"]] for row in branches] == [0, 1]
    assert {row["from_region"] for row in branches} <= regions
    assert [(row["to_region"], row["cycles"]) for row in branches] == [(-1, None)] * 2


def test_rows_need_no_table_that_they_do_not_refer_to() -> None:
    (plain,) = random_sets(1, 1)[:1]
    events = Table(EVENTS, [(0, 0, 1, 1, T0, 10, None, -1)])
    done = merged(
        [TableSet((*plain.tables, events))], RunRoot("app", "a", "h", is_job=False)
    ).tables
    assert [row["file"] for row in rows(done, "events")] == [-1]
    odd = Table(EVENTS, [(0, 0, 1, 1, T0, 10, None, 0)])
    with pytest.raises(GnomonError, match="it refers to file 0, which it does not have"):
        merged([TableSet((*plain.tables, odd))], RunRoot("app", "a", "h", is_job=False))


def test_in_files_they_are_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sets, root = [of_rank(rank) for rank in range(4)], RunRoot("app", "./app", "node0", is_job=True)
    at_once = merged(sets, root)
    monkeypatch.setattr(table_merge, "ROWS_IN_MEMORY", 0)
    in_pieces = merged(in_files(sets, tmp_path), root, tmp_path)
    small = {table.schema.name: table.rows for table in in_pieces.tables}
    for table in at_once.tables:
        name = table.schema.name
        if name in in_pieces.files:
            with duckdb.connect() as connection:
                file = in_pieces.files[name]
                assert repr(connection.execute(f"SELECT * FROM '{file}'").fetchall()) == repr(
                    [row for one in at_once.tables if one.schema.name == name for row in one.rows]
                )
        else:
            assert small[name] == table.rows
    assert set(in_pieces.files) == {
        "profile",
        "events",
        "messages",
        "samples",
        "arcs",
        "coordinates",
        "branches",
    }


def written(folder: Path) -> run_directory.Run:
    done = merged([of_rank(0), of_rank(1)], RunRoot("app", "./app", "node0", is_job=True))
    return run_directory.find(str(run_directory.write(str(folder / "run"), HEAD, done.tables, {})))


def test_a_run_names_its_tables(tmp_path: Path) -> None:
    run = written(tmp_path)
    head = json.loads((run.path / "run.json").read_text())
    assert head["schema_version"] == 2
    assert head["tables"] == [schema.name for schema in (*SCHEMAS, *OPTIONAL_SCHEMAS)]
    assert len(run.rows(EVENTS)) == 4
    assert len(list(exports.csv_text(run, "events"))[1].splitlines()) == 4
    assert json.loads("".join(exports.json_text(run)))["modules"][0]["build_id"] == "ab12"
    output = tmp_path / "events.csv"
    words = ["export", str(run.path), "--to", "csv", "--table", "events", "-o", str(output)]
    assert main(words) == 0
    assert len(output.read_text().splitlines()) == 5
    plain = made_run(tmp_path, [("app", "main", "a.c", 1, (1, 1, 1, 1))], name="plain")
    assert json.loads((plain.path / "run.json").read_text())["tables"] == [
        schema.name for schema in SCHEMAS
    ]
    assert not (plain.path / "events.parquet").exists()


def test_a_table_that_a_run_has_not_is_empty(tmp_path: Path) -> None:
    run = made_run(tmp_path, [("app", "main", "a.c", 1, (1, 1, 1, 1))])
    for schema in OPTIONAL_SCHEMAS:
        assert run.rows(schema) == []
    tables = Tables.of_run(run)
    assert tables.rows("SELECT COUNT(*) FROM events, messages") == [(0,)]
    tables.close()
    with pytest.raises(GnomonError, match="no table events; it has locations, regions"):
        list(exports.csv_text(run, "events"))


@pytest.mark.parametrize("table", ["paths", "profile"])
def test_paths_and_profile_are_optional_where_the_head_says_so(tmp_path: Path, table: str) -> None:
    run = written(tmp_path)
    (run.path / f"{table}.parquet").unlink()
    with pytest.raises(GnomonError, match=rf"{table}\.parquet: the table is missing"):
        run.query("SELECT 1")
    head = json.loads((run.path / "run.json").read_text())
    head["tables"].remove(table)
    (run.path / "run.json").write_text(json.dumps(head))
    assert run_directory.find(str(run.path)).query(f"SELECT COUNT(*) FROM {table}") == [(0,)]


def test_damaged_and_odd_tables_are_refused_by_name(tmp_path: Path) -> None:
    run = written(tmp_path)
    file = run.path / "events.parquet"
    content = file.read_bytes()
    file.write_bytes(content[:-20])
    with pytest.raises(GnomonError, match=r"events\.parquet: it is damaged, or no table of a run"):
        run_directory.find(str(run.path)).query("SELECT SUM(start_ns) FROM events")
    file.unlink()
    with pytest.raises(GnomonError, match=r"events\.parquet: the table is missing"):
        run_directory.find(str(run.path)).query("SELECT 1")
    os.mkfifo(file)
    with pytest.raises(GnomonError, match=r"events\.parquet: the table is missing"):
        run_directory.find(str(run.path)).query("SELECT 1")


def test_a_small_file_of_many_rows_is_refused(tmp_path: Path) -> None:
    """Of a hundred million rows that are all alike the file has a few hundred kilobytes."""
    run = written(tmp_path)
    file = run.path / "events.parquet"
    with duckdb.connect() as connection:
        # Pages of more columns take more bytes: these are what the first runs had.
        first = [one for one in EVENTS.columns if one.refers or not one.nullable]
        columns = ", ".join(f"0::{one.type} AS {one.name}" for one in first)
        connection.execute(
            f"COPY (SELECT {columns} FROM range(30000000)) TO '{file}' (FORMAT parquet)"
        )
    with pytest.raises(GnomonError, match=r"events\.parquet: 30000000 rows, and a run has"):
        run_directory.find(str(run.path)).query("SELECT 1")


@pytest.mark.parametrize("tables", ["events", [1], {"events": 1}])
def test_a_head_with_odd_tables_is_refused(tmp_path: Path, tables: Any) -> None:
    run = written(tmp_path)
    head = json.loads((run.path / "run.json").read_text())
    (run.path / "run.json").write_text(json.dumps({**head, "tables": tables}))
    with pytest.raises(GnomonError, match=r"run\.json: at byte 0: 'tables' is no list of names"):
        run_directory.find(str(run.path))


# --- files of capabilities ------------------------------------------------------------------------


def kept(folder: Path, **files: str) -> run_directory.Run:
    own = {}
    for name, content in files.items():
        (folder / name).write_text(content)
        own[f"toy/{name}"] = folder / name
    with run_directory.drafted(str(folder / "run")) as draft:
        draft.finish(HEAD, (), {}, own)
    return run_directory.find(str(folder / "run"))


def test_files_of_a_capability_are_kept(tmp_path: Path) -> None:
    run = kept(tmp_path, trace="some bytes", notes="more")
    assert [file.read_text() for file in run.kept("toy")] == ["more", "some bytes"]
    assert run.kept("other") == ()
    assert run.head["files"] == {"toy/trace": 10, "toy/notes": 4}
    assert (tmp_path / "trace").exists()  # in case the run could not have been finished
    assert main(["report", str(run.path), "run"]) == 0


def test_what_cannot_be_kept_is_said_and_costs_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "good").write_text("x")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(tmp_path / "good")
    names = {"toy/good": "good", "toy/pipe": "pipe", "toy/link": "link", "toy/../../up": "good",
             "good": "good", "toy/": "good", "toy/a\nb": "good"}  # fmt: skip
    with run_directory.drafted(str(tmp_path / "run")) as draft:
        draft.finish(HEAD, (), {}, {name: tmp_path / file for name, file in names.items()})
    run = run_directory.find(str(tmp_path / "run"))
    assert run.head["files"] == {"toy/good": 1}
    assert [file.name for file in run.kept("toy")] == ["good"]
    warnings = run.head["warnings"]
    assert warnings[0] == "one"
    assert len(warnings) == len(names)
    assert all("not kept in the run: " in warning for warning in warnings[1:])
    assert "toy/pipe: not kept in the run: not a regular file" in warnings


def test_kept_files_that_changed_are_refused(tmp_path: Path) -> None:
    run = kept(tmp_path, trace="some bytes")
    (file,) = run.kept("toy")
    file.write_text("some")
    with pytest.raises(GnomonError, match=r"files/toy/trace: at byte 4: it has 4 bytes, not 10"):
        run.kept("toy")
    file.unlink()
    with pytest.raises(GnomonError, match=r"files/toy/trace: at byte 0: cannot be read: No such"):
        run.kept("toy")
    file.symlink_to("/etc/passwd")
    with pytest.raises(GnomonError, match=r"files/toy/trace: at byte 0: not a file of the run"):
        run.kept("toy")


@pytest.mark.parametrize(
    ("files", "why"),
    [
        ([], "no table of names and sizes"),
        ({"toy/../../etc/passwd": 1}, "none that a file can have"),
        ({"/etc/passwd": 1}, "has not 2 to 8 names"),
        ({"trace": 1}, "has not 2 to 8 names"),
        ({"toy/trace": "big"}, "has no size"),
        ({"toy/trace": -1}, "has no size"),
    ],
)
def test_a_head_with_odd_files_is_refused(tmp_path: Path, files: Any, why: str) -> None:
    run = kept(tmp_path)
    head = json.loads((run.path / "run.json").read_text())
    (run.path / "run.json").write_text(json.dumps({**head, "files": files}))
    with pytest.raises(GnomonError, match=rf"run\.json: at byte 0: 'files'.*{why}"):
        run_directory.find(str(run.path))


def test_numbers_of_many_rows_are_mapped_as_arrays() -> None:
    *_, tables = random_sets(3, 1)
    columns: dict[str, Any] = {
        "location": np.zeros(20_000),
        "axis": ["x"] * 20_000,
        "position": np.arange(20_000),
    }
    many = Table.of(COORDINATES, columns)
    done = merged(
        [TableSet((*tables.tables, many))], RunRoot("app", "./app", "node0", is_job=False)
    )
    (found,) = [table for table in done.tables if table.schema is COORDINATES]
    assert found.values("position")[-1] == 19_999
