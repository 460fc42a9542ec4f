"""Rows with fields in fields as CSV: each column holds one value of one thing, or JSON."""

from __future__ import annotations

import csv
import io
import json

from gnomon.csv_text import csv_of


def read(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text, newline="")))


def test_fields_of_a_field_have_columns() -> None:
    rows = read(csv_of([{"name": "a", "sizes": {"name": "x", "calls": 1}}, {"name": "b"}]))
    assert rows == [
        {"name": "a", "sizes name": "x", "calls": "1"},
        {"name": "b", "sizes name": "", "calls": ""},
    ]


def test_a_row_in_a_field_has_columns_also_where_it_is_missing() -> None:
    rows = read(csv_of([{"name": "a", "reads": []}, {"name": "b", "reads": [{"end": 7}]}]))
    assert rows == [{"name": "a", "reads end": ""}, {"name": "b", "reads end": "7"}]


def test_several_rows_in_a_field_are_json() -> None:
    sizes = [{"size": "1, 2", "calls": 1}, {"size": '"', "calls": 2}]
    rows = read(csv_of([{"name": "a", "sizes": sizes}, {"name": "b", "sizes": sizes[:1]}]))
    assert [json.loads(row["sizes"]) for row in rows] == [sizes, sizes[:1]]


def test_several_values_are_words() -> None:
    assert read(csv_of([{"ranks": [1, 2]}, {"ranks": []}])) == [{"ranks": "1 2"}, {"ranks": ""}]
