"""Tables of the model by column: what is put in comes out, what does not fit is refused."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.model.tables import LOCATIONS, MESSAGES, PATHS, PROFILE, Table

ROW = (0, 1, 2, 3, 1.5, None, 7, None, None, None)


def test_rows_come_out_as_they_were_put_in() -> None:
    table = Table(PROFILE, [ROW])
    table.add(repetition=1, location=1, path=2, metric=3, inclusive=2, calls=8, raw=-1)
    assert table.rows == [ROW, (1, 1, 2, 3, 2.0, None, 8, -1, None, None)]
    assert len(table) == 2
    assert list(table.dicts())[1]["calls"] == 8
    assert table.values("raw") == [None, -1]


def test_columns_of_numbers_are_arrays_of_their_types() -> None:
    table = Table(PROFILE, [ROW, ROW])
    assert table.numbers("location").dtype == np.int32
    assert table.numbers("calls").dtype == np.int64
    assert table.numbers("inclusive").tolist() == [1.5, 1.5]
    assert table.missing("exclusive").tolist() == [True, True]
    assert table.missing("calls").tolist() == [False, False]
    table.append(ROW)  # arrays that were handed out do not keep it from growing
    assert len(table.numbers("path")) == 3


def test_rows_are_appended_by_column() -> None:
    table = Table(PROFILE, [ROW])
    table.extend(repetition=[0, 0], location=[4, 5], path=[6, 7], metric=[8, 9],
                 inclusive=[1.0, 2.0], calls=[1, 2])  # fmt: skip
    assert table.rows == [
        ROW,
        (0, 4, 6, 8, 1.0, None, 1, None, None, None),
        (0, 5, 7, 9, 2.0, None, 2, None, None, None),
    ]
    with pytest.raises(ValueError, match="rows of paths have other columns: region"):
        Table(PATHS).extend(path=[0], parent=[-1])


def test_a_table_of_whole_columns() -> None:
    columns = {"path": np.arange(3), "parent": np.array([-1, 0, 0]), "region": np.zeros(3)}
    table = Table.of(PATHS, columns)
    assert table.rows == [(0, -1, 0), (1, 0, 0), (2, 0, 0)]
    assert table.numbers("path").dtype == np.int32
    assert table.part(1, 3).rows == [(1, 0, 0), (2, 0, 0)]
    assert table.replaced(parent=np.full(3, -1)).values("parent") == [-1, -1, -1]
    with pytest.raises(ValueError, match="differ in length"):
        Table.of(PATHS, {**columns, "path": np.arange(2)})
    with pytest.raises(ValueError, match="has other columns: path"):
        Table.of(PATHS, {"parent": np.arange(2), "region": np.arange(2)})


def test_rows_of_other_columns_are_refused() -> None:
    with pytest.raises(ValueError, match="a row of paths has other columns: depth"):
        Table(PATHS).add(path=0, parent=-1, region=0, depth=1)
    with pytest.raises(ValueError, match="a row of locations has 8 cells"):
        Table(LOCATIONS).append((0, -1, "command", "", -1, -1, -1))
    with pytest.raises(OverflowError):
        Table(PATHS).append((1 << 40, -1, 0))


def test_whole_columns_that_may_be_missing_can_be_left_out() -> None:
    sent = {"repetition": np.zeros(2), "sender": np.array([1, 2])}
    table = Table.of(MESSAGES, {**sent, "receiver": np.array([2, 1]), "bytes": np.array([5, 6])})
    assert table.rows == [
        (0, 1, 2, None, None, 5, *[None] * 4),
        (0, 2, 1, None, None, 6, *[None] * 4),
    ]
    with pytest.raises(ValueError, match="a table of messages has other columns: receiver"):
        Table.of(MESSAGES, sent)
