"""Run directories that are damaged on purpose: the view refuses them by name, or shows them."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import duckdb
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from made_runs import made_run
from property_tests import examples
from view_runs import ranks

from gnomon.errors import GnomonError
from gnomon.view import (
    api,
    data_table,
    distribution,
    node_details,
    table_export,
    table_rows,
    tree_answers,
)
from gnomon.view.node_values import STATISTICS
from gnomon.view.open_run import OpenRun
from gnomon.view.session import Session
from gnomon.view.tree import GROUPINGS

LINES = [("app", f"f{at}", f"/src/{at % 3}.c", at, (at, 1, 2, 3)) for at in range(12)]


def look_at_everything(opened: OpenRun, sort: Sequence[str]) -> None:
    """Ask what the page can ask, tables sorted by some columns; what is wrong is a GnomonError."""
    answers = api._Api(Session())
    answers.run(opened, {})
    answers.metrics(opened, {})
    answers.locations(opened, {})
    numbers = [metric.metric for metric in opened.data.metrics]
    for by in GROUPINGS:
        tree_answers.tree(opened, {"by": by})
        tree_answers.tree(opened, {"by": by, "open": "0"})
        tree = opened.tree(by)
        for number in numbers:
            for which in STATISTICS:
                assert len(opened.values(by, number, -1, which).inclusive) == tree.n
            for node in (0, tree.n - 1):
                found = opened.spread(by, number, node)
                distribution.summary(
                    opened.data, opened.metric(number), found.location, found.inclusive
                )
        node_details.node(opened, by, tree.n - 1, -1)
    for name in data_table.TABLES:
        wanted = data_table.TableQuery(name)
        json.dumps(data_table.page(opened, wanted, 0, 50), allow_nan=False)
        assert "".join(table_export.as_csv(*data_table.chunks(opened, wanted)))
        whole = "".join(table_export.as_json(*data_table.chunks(opened, wanted)))
        assert json.loads(whole)["columns"] is not None
    for schema in table_rows.with_rows(opened):
        names = [one.name for one in table_rows.columns(schema)]
        for column in ("", *(name for name in names if name in sort)):
            wanted = data_table.TableQuery(table_rows.PREFIX + schema.name, sort=column, filter="a")
            json.dumps(table_rows.page(opened, wanted, 0, 50), allow_nan=False)
        assert "".join(table_export.as_json(*table_rows.chunks(opened, wanted)))
    for file in opened.source_files()[:3]:
        node_details.lines(opened, file, numbers, -1)
        answers.source(opened, {"file": file})


def opened_or_refused(path: Path, beside: Path | None = None, sort: Sequence[str] = ()) -> bool:
    """Look at all of a run and return True, or False where it is refused by its name.

    A run that is open beside it does not notice: damaged files can bring down a whole DuckDB.
    """
    session = Session()
    others = session.open([str(beside)] if beside else [])
    try:
        (opened,) = session.open([str(path)])
        look_at_everything(opened, sort)
    except GnomonError as refused:
        assert path.name in str(refused)  # noqa: PT017
        return False
    finally:
        for other in others:
            assert other.values("region", 0).inclusive[0] > 0
        session.end()
    return True


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("whole")
    paths = [ranks(folder / "ranks"), made_run(folder, LINES, name="lines").path]
    every = [column for columns in TABLES.values() for column in columns]
    assert [opened_or_refused(path, sort=every) for path in paths] == [True, True]
    return paths


@examples(24)
@given(st.integers(0, 2**32))
@example(1366)  # DuckDB gave up the whole database
@example(1926)  # a message of DuckDB's was no UTF-8
def test_damaged_bytes_are_refused_or_shown(
    whole: list[Path], tmp_path_factory: pytest.TempPathFactory, seed: int
) -> None:
    chance = random.Random(seed)
    path = tmp_path_factory.mktemp("damaged") / "run.gnomon"
    shutil.copytree(chance.choice(whole), path)
    file = chance.choice(sorted(one for one in path.iterdir() if one.is_file()))
    data = bytearray(file.read_bytes())
    for _ in range(chance.randint(1, 6)):
        at = chance.randrange(len(data)) if data else 0
        what = chance.random()
        if what < 0.5 and data:
            data[at] = chance.randrange(256)
        elif what < 0.8:
            del data[at : at + chance.randint(1, 64)]
        else:
            data[at:at] = chance.randbytes(chance.randint(1, 32))
    file.write_bytes(data)
    opened_or_refused(path, beside=whole[0])


# What a table may claim: numbers and texts that make no sense, columns of other types, none at all.
CLAIMS: dict[str, str] = {
    "texts for numbers": "SELECT * REPLACE ('x' AS {number}) FROM t",
    "no values": "SELECT * REPLACE (NULL AS {number}) FROM t",
    "all the same": "SELECT * REPLACE (1 AS {number}) FROM t",
    "as large as can be": "SELECT * REPLACE (2147483647 AS {number}) FROM t",
    "too large": "SELECT * REPLACE (9223372036854775807 AS {number}) FROM t",
    "no numbers": "SELECT * REPLACE ('nan'::DOUBLE AS {number}) FROM t",
    "endless": "SELECT * REPLACE ('inf'::DOUBLE AS {number}) FROM t",
    "a column less": "SELECT * EXCLUDE ({number}) FROM t",
    "no rows": "SELECT * FROM t WHERE false",
    "twice": "SELECT * FROM t UNION ALL SELECT * FROM t",
    "a list": "SELECT * REPLACE ([1, 2] AS {number}) FROM t",
}
TABLES = {
    "locations": ("location", "parent", "rank", "tid", "kind"),
    "regions": ("region", "kind", "name", "file", "line"),
    "paths": ("path", "parent", "region"),
    "metrics": ("metric", "name", "formula", "how"),
    "profile": ("repetition", "location", "path", "metric", "inclusive", "exclusive", "calls"),
}


EVERY = [
    (claim, table, column, (at + i) % 2)
    for at, claim in enumerate(CLAIMS)
    for table, columns in TABLES.items()
    for i, column in enumerate(columns)
]
# Of each claim about every third table one column, each column in its turn.
SOME = [
    (claim, table, column, which)
    for claim, table, column, which in EVERY
    for turn in (list(CLAIMS).index(claim),)
    if column == TABLES[table][turn % len(TABLES[table])]
    and (turn + list(TABLES).index(table)) % 3 == 0
]
# Values of a metric that no table has.
SOME += [("no values", "metrics", "metric", 0), ("as large as can be", "profile", "metric", 1)]


def claimed(whole: list[Path], folder: Path, cases: list[tuple[str, str, str, int]]) -> None:
    """Look at runs of which a column of a table claims something."""
    for claim, table, column, which in cases:
        path = folder / f"{table}-{column}-{claim.replace(' ', '-')}.gnomon"
        shutil.copytree(whole[which], path)
        file = path / f"{table}.parquet"
        with duckdb.connect(":memory:") as connection:
            connection.execute(f"CREATE TABLE t AS SELECT * FROM '{file}'")
            query = CLAIMS[claim].format(number=column)
            connection.execute(f"COPY ({query}) TO '{file}' (FORMAT parquet)")
        opened_or_refused(path, sort=[column])


def test_tables_that_make_no_sense_are_refused_or_shown(whole: list[Path], tmp_path: Path) -> None:
    claimed(whole, tmp_path, SOME)


@pytest.mark.long
@pytest.mark.parametrize("table", TABLES)
def test_any_column_may_make_no_sense(whole: list[Path], tmp_path: Path, table: str) -> None:
    claimed(whole, tmp_path, [case for case in EVERY if case[1] == table])


HEADS: dict[str, Callable[[dict[str, object]], object]] = {
    "a newer schema": lambda head: head.update(schema_version=99),
    "another format": lambda head: head.update(schema="other"),
    "no command": lambda head: head.pop("command"),
    "odd hosts": lambda head: head.update(hosts=[{"name": 3, "cpus": "many"}]),
    "odd components": lambda head: head.update(components=[3, {"name": [1]}, None]),
    "no list of components": lambda head: head.update(components=7),
    "odd sources": lambda head: head.update(sources={"/src/solve.c": [1], "x": None}),
    "sources as a list": lambda head: head.update(sources=["x"]),
    "odd environment": lambda head: head.update(environment=3, working_directory={"a": 1}),
    "a folder of nothing": lambda head: head.update(working_directory="\0"),
    "odd refusals": lambda head: head.update(unavailable=[{"event": {}, "errno": "x"}]),
    "endless time": lambda head: head.update(wall_seconds=float("inf")),
    "no repetitions": lambda head: head.update(repetitions=0),
    "countless repetitions": lambda head: head.update(repetitions=10**30),
    "less than none": lambda head: head.update(repetitions=-3),
}


@pytest.mark.parametrize("head", HEADS)
def test_heads_that_make_no_sense_are_refused_or_shown(
    whole: list[Path], tmp_path: Path, head: str
) -> None:
    path = tmp_path / "run.gnomon"
    shutil.copytree(whole[0], path)
    found = json.loads((path / "run.json").read_text())
    HEADS[head](found)
    (path / "run.json").write_text(json.dumps(found))
    refused = ("a newer schema", "another format", "no command", "endless time",
               "countless repetitions", "less than none")  # fmt: skip
    assert opened_or_refused(path) == (head not in refused)


def test_a_run_of_the_future_is_refused_politely(whole: list[Path], tmp_path: Path) -> None:
    path = tmp_path / "run.gnomon"
    shutil.copytree(whole[0], path)
    head = json.loads((path / "run.json").read_text())
    (path / "run.json").write_text(json.dumps(head | {"schema_version": 99}))
    with pytest.raises(GnomonError, match="use the Gnomon that wrote it, or a newer one"):
        Session().open([str(path)])
