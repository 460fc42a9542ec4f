"""Parquet files of tables: every value comes back, however they are written."""

from __future__ import annotations

from math import nan
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from property_tests import examples

from gnomon.errors import FormatError
from gnomon.model.tables import METRICS, PATHS, PROFILE, Table
from gnomon.store import parquet_footer, parquet_writer
from gnomon.store.parquet_writer import PLAIN_ROWS_MOST, ParquetWriter, TableFiles, write_table

_BIGINT = st.none() | st.integers(-(2**63), 2**63 - 1)
_INTEGER = st.integers(-(2**31), 2**31 - 1)
ROWS = st.lists(
    st.tuples(_INTEGER, _INTEGER, _INTEGER, _INTEGER, st.floats(), st.none() | st.floats(),
              _BIGINT, _BIGINT, _BIGINT, _BIGINT), max_size=20
)  # fmt: skip


def read(file: Path, what: str = "*") -> list[tuple[Any, ...]]:
    with duckdb.connect() as connection:
        return connection.execute(f"SELECT {what} FROM read_parquet('{file}')").fetchall()


@pytest.mark.parametrize("plain_most", [PLAIN_ROWS_MOST, 0], ids=["plain", "compressed"])
@examples(50)
@example([(0, 0, 0, 0, nan, nan, None, None, None, None)], [])
@given(ROWS, ROWS)
def test_every_value_comes_back(
    tmp_path_factory: pytest.TempPathFactory, plain_most: int, first: list[Any], second: list[Any]
) -> None:
    folder = tmp_path_factory.mktemp("parquet")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(parquet_writer, "PLAIN_ROWS_MOST", plain_most)
        write_table(folder, PROFILE, [Table(PROFILE, first), Table(PROFILE, second)])
    # repr tells every double and every NaN.
    assert repr(read(folder / "profile.parquet")) == repr([*first, *second])


@given(st.lists(st.text(max_size=5), max_size=5))
def test_every_text_comes_back(tmp_path_factory: pytest.TempPathFactory, names: list[str]) -> None:
    folder = tmp_path_factory.mktemp("parquet")
    table = Table(METRICS)
    for at, name in enumerate(names):
        table.append((at, name, "", "", "counted", "", "", "", ""))
    write_table(folder, METRICS, [table])
    assert [name for (name,) in read(folder / "metrics.parquet", "name")] == names


def test_chunks_written_plain_and_compressed_are_one_table(tmp_path: Path) -> None:
    """The second is compressed by DuckDB; the third is from a file that another wrote."""
    n = PLAIN_ROWS_MOST + 1
    many = Table.of(
        PATHS, {"path": np.arange(n), "parent": np.full(n, -1), "region": np.arange(n) * 7}
    )
    write_table(tmp_path, PATHS, [Table(PATHS, [(5, -1, 5)]), many])
    own = tmp_path / "whole.parquet"
    writer = ParquetWriter(own, PATHS)
    writer.append(Table(PATHS, [(1, 2, 3)]))
    writer.append(many)
    writer.append_file(tmp_path / "paths.parquet")
    writer.close()
    query = "COUNT(*), SUM(path), SUM(region), MIN(parent)"
    total = n * (n - 1) // 2
    assert read(own, query) == [(2 * n + 2, 2 * total + 6, 14 * total + 8, -1)]
    assert read(own, "path")[:3] == [(1,), (0,), (1,)]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["paths.parquet", "whole.parquet"]
    assert parquet_footer.read_footer(own).rows == 2 * n + 2


@pytest.mark.parametrize("n", [10, PLAIN_ROWS_MOST + 1])
def test_nan_is_no_missing_value_in_files_of_any_size(tmp_path: Path, n: int) -> None:
    zeros, ones = np.zeros(n, dtype=np.int64), np.ones(n)
    columns: dict[str, Any] = {column.name: zeros for column in PROFILE.columns}
    columns |= {"inclusive": ones.copy(), "exclusive": ones.copy()}
    columns["inclusive"][3] = columns["exclusive"][3] = columns["exclusive"][4] = np.nan
    is_missing = np.arange(n) == 4
    write_table(tmp_path, PROFILE, [Table.of(PROFILE, columns, {"exclusive": is_missing})])
    assert repr(read(tmp_path / "profile.parquet", "inclusive, exclusive")[2:6]) == (
        "[(1.0, 1.0), (nan, nan), (1.0, None), (1.0, 1.0)]"
    )


def test_no_rows_make_an_empty_table(tmp_path: Path) -> None:
    write_table(tmp_path, PATHS, [])
    assert read(tmp_path / "paths.parquet") == []


def test_rows_that_come_one_by_one(tmp_path: Path) -> None:
    files = TableFiles(tmp_path, (PATHS, PROFILE))
    for at in range(250_001):
        files.add(PATHS, (at, -1, 0))
    files.finish()
    assert read(tmp_path / "paths.parquet", "COUNT(*), MAX(path)") == [(250_001, 250_000)]
    assert read(tmp_path / "profile.parquet") == []


@pytest.mark.parametrize("damage", ["short", "no footer", "long footer", "nonsense"])
def test_what_is_no_parquet_file_is_refused_by_name_and_place(tmp_path: Path, damage: str) -> None:
    write_table(tmp_path, PATHS, [Table(PATHS, [(0, -1, 0)])])
    file = tmp_path / "paths.parquet"
    content = file.read_bytes()
    length = int.from_bytes(content[-8:-4], "little")
    file.write_bytes({
        "short": content[:7],
        "no footer": content[:-4] + b"NOPE",
        "long footer": content[:-8] + b"\xff\xff\xff\x7f" + content[-4:],
        "nonsense": content[: -8 - length] + b"\xff" * length + content[-8:],
    }[damage])  # fmt: skip
    with pytest.raises(FormatError, match=r"paths\.parquet: at byte \d+: no Parquet file"):
        parquet_footer.read_footer(file)
