"""The merge of many sets: the same to the last digit, whoever does it and wherever it is."""

from __future__ import annotations

from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import duckdb
import pytest
from random_sets import in_files, random_sets

from gnomon.errors import GnomonError
from gnomon.model.tables import PROFILE, Table
from gnomon.store import table_merge, table_pieces
from gnomon.store.table_merge import RunRoot, merged
from gnomon.store.table_set import TableSet

ROOT = RunRoot("app", "./app", "node0", is_job=True)
RANKS = 9


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let few sets and rows be as much as one worker takes at once."""
    monkeypatch.setattr(table_merge, "SETS_PER_BATCH", 2)
    monkeypatch.setattr(table_merge, "ROWS_IN_MEMORY", 0)
    monkeypatch.setattr(table_pieces, "ROWS_PER_BATCH", 100)


def rows_of_file(file: Path) -> list[tuple[Any, ...]]:
    with duckdb.connect() as connection:
        return connection.execute(f"SELECT * FROM read_parquet('{file}')").fetchall()


def merged_in(folder: Path, sets: list[TableSet], executor: Executor | None) -> list[str]:
    """Return every row of every table; repr tells every digit."""
    folder.mkdir()
    done = merged(sets, ROOT, folder, executor)
    assert [path.name for path in folder.iterdir()] == ["profile.parquet"]
    small = [repr(row) for table in done.tables for row in table.rows]
    return [*small, *map(repr, rows_of_file(done.files["profile"]))]


@pytest.mark.usefixtures("small_batches")
@pytest.mark.parametrize("seed", range(5))
def test_loop_threads_and_processes_give_the_same(tmp_path: Path, seed: int) -> None:
    sets = in_files(random_sets(seed, RANKS), tmp_path)
    loop = merged_in(tmp_path / "loop", sets, None)
    with ThreadPoolExecutor(3) as executor:
        assert merged_in(tmp_path / "threads", sets, executor) == loop
    if seed == 0:
        with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as executor:
            assert merged_in(tmp_path / "processes", sets, executor) == loop


@pytest.mark.parametrize("seed", range(10))
def test_in_batches_comes_out_what_comes_out_at_once(
    tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sums over several ranks may differ in their last digit, everything else may not."""
    sets = random_sets(seed, RANKS)
    (*small, whole) = merged(sets, ROOT).tables
    monkeypatch.setattr(table_merge, "ROWS_IN_MEMORY", 0)
    monkeypatch.setattr(table_pieces, "ROWS_PER_BATCH", 100)
    done = merged(in_files(sets, tmp_path), ROOT, tmp_path)
    assert [table.rows for table in done.tables] == [table.rows for table in small]
    key = slice(0, 4)
    expected = sorted(whole.rows, key=lambda row: row[key])
    found = sorted(rows_of_file(done.files["profile"]), key=lambda row: row[key])
    assert [row[key] for row in found] == [row[key] for row in expected]
    for row, other in zip(found, expected, strict=True):
        if row[1]:
            assert row == other
        else:
            assert [row[5] is None, row[4], row[5] or 0] == pytest.approx(
                [other[5] is None, other[4], other[5] or 0], rel=1e-12
            )


def test_a_set_alone_is_what_it_was() -> None:
    tables = random_sets(1, 1)[0].tables
    *small, profile = tables
    roots = Table(PROFILE, [row for row in profile.rows if row[2] == 0])
    alone = TableSet((*small[:1], Table(small[1].schema), Table(small[2].schema), small[3], roots))
    found = merged([alone, TableSet()], ROOT._replace(is_job=False))
    assert found.tables[-1] is roots


@pytest.mark.parametrize(
    ("column", "number", "what"), [("location", 99, "location"), ("metric", 6, "metric"),
                                   ("path", -2, "path")],
)  # fmt: skip
def test_rows_that_refer_to_nothing_are_refused(column: str, number: int, what: str) -> None:
    *small, profile = random_sets(0, 1)[0].tables
    import numpy as np

    odd = profile.replaced(**{column: np.full(len(profile), number, dtype=np.int32)})
    with pytest.raises(GnomonError, match=f"it is damaged: it refers to {what} {number}, which"):
        merged([TableSet((*small, odd), rank=0)], ROOT)
