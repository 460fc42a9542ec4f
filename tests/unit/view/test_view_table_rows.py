"""The tables of a run in the view, as they are: filtered, sorted and counted by DuckDB."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path

import pytest
from view_runs import Place, Quantity, Region, Value, ranks, write
from view_server import Client, serving

from gnomon import capabilities
from gnomon.errors import UsageError
from gnomon.launch.capability import Capability
from gnomon.model.tables import EVENTS, FILES, Table
from gnomon.model.view_pages import ViewPage
from gnomon.view import table_rows
from gnomon.view.data_table import TableQuery
from gnomon.view.session import Session


class Steps(Capability):
    """A capability whose values somebody wants to see by steps."""

    name, title = "steps", "steps of solvers"
    shown = ("metric:name", "path:name", "inclusive")
    pages = (
        ViewPage("steps", "Steps", "profile", shown, "inclusive"),
        ViewPage("none", "None", "events"),
    )


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    folder = tmp_path_factory.mktemp("runs")
    ranks(folder / "one")
    ranks(folder / "other")
    session = Session()
    session.open([str(folder / "one"), str(folder / "other")], combined=True)
    with (
        pytest.MonkeyPatch.context() as patch,
        serving(session) as found,
    ):
        patch.setattr(capabilities, "CAPABILITIES", (*capabilities.CAPABILITIES, Steps()))
        yield found


def test_every_table_that_has_rows_has_a_page(client: Client) -> None:
    for run in "123":
        tables = client.ask(f"/api/runs/{run}/tables").json
        rows = [one for one in tables if one["group"] == "Tables of the run"]
        assert [one["title"] for one in rows] == [
            "locations", "regions", "paths", "metrics", "profile",
        ]  # fmt: skip
        for one in rows:
            page = client.ask(f"/api/runs/{run}/table?name={one['name']}&limit=2").json
            assert len(page["rows"]) == 2 < page["total"]


def test_numbers_of_other_tables_have_their_names_beside_them(client: Client) -> None:
    page = client.ask("/api/runs/1/table?name=rows:profile&limit=500").json
    names = [column["name"] for column in page["columns"]]
    assert names[:6] == [
        "repetition", "location", "location:name", "path", "path:name", "metric",
    ]  # fmt: skip
    first = dict(zip(names, page["rows"][0], strict=True))
    assert (first["location:name"], first["path:name"], first["metric:name"]) == (
        "thread 0 app", "solve", "steps",
    )  # fmt: skip
    assert page["total"] == len(page["rows"]) == 27
    kinds = {column["name"]: (column["type"], column["shows"]) for column in page["columns"]}
    assert kinds["location"] == ("number", "number")
    assert kinds["path:name"] == ("text", "symbol")
    assert kinds["inclusive"] == ("number", "")
    units = {column["name"]: column["unit"] for column in page["columns"]}
    assert (units["enabled_ns"], units["calls"]) == ("ns", "")


@pytest.mark.parametrize("order", ["ascending", "descending"])
@pytest.mark.parametrize("column", ["inclusive", "calls", "location", "path:name", "metric:name"])
def test_pages_of_a_sorted_table_fit_together(client: Client, column: str, order: str) -> None:
    asked = f"name=rows:profile&sort={column}&order={order}"
    whole = client.ask(f"/api/runs/1/table?{asked}&limit=500").json
    paged = []
    for offset in range(0, whole["total"], 4):
        paged += client.ask(f"/api/runs/1/table?{asked}&offset={offset}&limit=4").json["rows"]
    assert paged == whole["rows"]
    at = [one["name"] for one in whole["columns"]].index(column)
    values = [row[at] for row in paged if row[at] is not None]
    assert values == sorted(values, reverse=order == "descending")
    # What has no value is last either way.
    assert [row[at] for row in paged[len(values) :]] == [None] * (len(paged) - len(values))


def test_filters_go_by_texts_and_names(client: Client) -> None:
    asked = "name=rows:profile&filter=HALO%20cycles"
    page = client.ask(f"/api/runs/1/table?{asked}&columns=path:name,metric:name,inclusive").json
    assert page["total"] == 6
    assert {tuple(row[:2]) for row in page["rows"]} == {("halo", "cycles")}
    assert client.ask("/api/runs/1/table?name=rows:paths&filter=halo").json["total"] == 1
    of_place = client.ask("/api/runs/1/table?name=rows:profile&location=1").json
    assert 0 < of_place["total"] < 27
    answer = client.ask(f"/api/runs/1/export?{asked}&columns=path:name,inclusive&format=csv")
    assert answer.headers["content-disposition"] == 'attachment; filename="profile.csv"'
    rows = list(csv.reader(io.StringIO(answer.body.decode())))
    assert rows[0] == ["path name", "inclusive"]
    assert [row[0] for row in rows[1:]] == ["halo"] * 6
    exported = client.ask(f"/api/runs/1/export?{asked}&format=json").json
    assert len(exported["rows"]) == 6


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ("name=rows:nothing", "no such table"),
        ("name=rows:events", "no such table"),
        ("name=page:nothing", "no capability has such a page"),
        ("name=rows:profile&sort=colour", "the table has repetition"),
        ("name=rows:profile&columns=colour", "the table has repetition"),
    ],
)
def test_mistakes_are_named(client: Client, asked: str, message: str) -> None:
    answer = client.ask(f"/api/runs/1/table?{asked}")
    assert answer.status == 400
    assert message in answer.json["error"]


def test_a_capability_adds_a_page(client: Client) -> None:
    """Where the run has rows of its table, and nowhere else."""
    tables = client.ask("/api/runs/1/tables").json
    (page,) = [one for one in tables if one["group"] == "steps of solvers"]
    assert (page["name"], page["title"], page["sort"]) == ("page:steps", "Steps", "inclusive")
    rows = client.ask("/api/runs/1/table?name=page:steps&limit=3").json
    assert rows["name"] == "page:steps"
    assert rows["total"] == 27
    answer = client.ask("/api/runs/1/export?name=page:steps&format=csv")
    assert answer.headers["content-disposition"] == 'attachment; filename="steps.csv"'


def test_optional_tables_have_pages_with_moments_and_names(tmp_path: Path) -> None:
    """Nanoseconds since 1970 have more digits than a number of the page."""
    events, files = Table(EVENTS), Table(FILES)
    for at in range(3):
        events.add(
            repetition=0, location=0, region=1, path=1, start_ns=1_700_000_000_123_456_789 + at,
            duration_ns=None if at else 2500, bytes=10 * at, file=at - 1,
        )  # fmt: skip
    for at in range(2):
        files.add(file=at, name=f"/data/{at}.bin", host="", kind="file", filesystem="xfs")
    regions = [Region(-1, "hpm", "app"), Region(0, "hpm", "solve")]
    values = [Value(0, 0, 0, 1.0, 1.0)]
    path = write(tmp_path / "run", [Place(-1, "command")], regions, [Quantity("t")], values,
                 more=[events, files])  # fmt: skip
    (opened,) = Session().open([str(path)])
    assert [one.name for one in table_rows.with_rows(opened)][-2:] == ["events", "files"]
    units = {one.name: one.unit for one in table_rows.columns(EVENTS)}
    assert {name: unit for name, unit in units.items() if unit} == {
        "duration_ns": "ns", "bytes": "bytes",
    }  # fmt: skip
    shown = ("start_ns", "duration_ns", "file:name", "path:name")
    page = table_rows.page(opened, TableQuery("rows:events", columns=shown), 0, 9)
    assert page["rows"] == [
        ["1700000000123456789", 2500, "", "solve"],
        ["1700000000123456790", None, "/data/0.bin", "solve"],
        ["1700000000123456791", None, "/data/1.bin", "solve"],
    ]
    assert [(one["shows"], one["unit"]) for one in page["columns"][:2]] == [
        ("moment", ""), ("", "ns"),
    ]  # fmt: skip
    _, parts = table_rows.chunks(opened, TableQuery("rows:events", columns=("start_ns",)))
    assert next(row[0] for rows in parts for row in rows) == 1_700_000_000_123_456_789
    found = table_rows.page(opened, TableQuery("rows:events", filter="1.BIN"), 0, 9)
    assert found["total"] == 1


def test_the_middle_of_a_large_sorted_table_is_not_looked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_rows, "_LARGE", 10)
    monkeypatch.setattr(table_rows, "_REACH", 4)
    values = [Value(0, 0, at, float(at), None) for at in range(20)]
    metrics = [Quantity(f"m{at}") for at in range(20)]
    path = write(
        tmp_path / "run", [Place(-1, "command")], [Region(-1, "hpm", "app")], metrics, values
    )
    (opened,) = Session().open([str(path)])
    wanted = TableQuery("rows:profile", sort="inclusive", columns=("inclusive",))
    for offset, expected in ((0, [19, 18]), (4, [15, 14]), (16, [3, 2]), (14, [5, 4])):
        found = table_rows.page(opened, wanted, offset, 2)
        assert [row[0] for row in found["rows"]] == expected
    with pytest.raises(UsageError, match="first and last 4 are shown"):
        table_rows.page(opened, wanted, 9, 2)
    assert len(table_rows.page(opened, wanted._replace(sort=""), 9, 2)["rows"]) == 2
