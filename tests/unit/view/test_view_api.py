"""What the view's server answers, over real requests, against the run's own tables."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Iterator
from pathlib import Path

import duckdb
import numpy as np
import pytest
from view_runs import ranks
from view_server import Client, serving

import gnomon.view
from gnomon.view.array_codec import pack, unpack
from gnomon.view.session import Session

WEB = Path(__file__).parents[3] / "src" / "gnomon" / "view" / "web"
PARTS = ("", "/metrics", "/locations", "/tables", "/tree", "/values", "/spread", "/node",
         "/nodeOfLine", "/activity", "/order", "/matrix", "/ranks", "/sites", "/table", "/export",
         "/source", "/lines", "/sources", "/assembly", "/callgraph",
         "/callgraph/report", "/io", "/io/files", "/io/pattern", "/io/rates",
         "/io/sums")  # fmt: skip


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    folder = tmp_path_factory.mktemp("runs")
    ranks(folder / "one")
    ranks(folder / "other", count=2)
    session = Session()
    session.open([str(folder / "one"), str(folder / "other")])
    with serving(session) as found:
        yield found


def test_arrays_are_packed_at_multiples_of_eight() -> None:
    arrays = {
        "a": np.array([1, 2, 3], dtype=np.uint8), "b": np.array([math.nan, 2.5]),
        "c": np.array([-1], dtype=np.int32), "d": np.zeros(0), "e": np.array([7], dtype=np.uint32),
    }  # fmt: skip
    body = pack({"n": 3, "text": "é\n"}, arrays)
    header, found = unpack(body)
    assert header == {"n": 3, "text": "é\n"}
    for name, array in arrays.items():
        assert found[name].dtype == array.dtype
        np.testing.assert_array_equal(found[name], array)
    length = int.from_bytes(body[:4], "little")
    listed = json.loads(body[4 : 4 + length])["arrays"]
    assert all((4 + length + one["offset"]) % 8 == 0 for one in listed)
    with pytest.raises(ValueError, match="int16 is none of"):
        pack({}, {"x": np.zeros(1, dtype=np.int16)})


def test_every_address_of_the_contract_is_there_and_no_other() -> None:
    """api.py's table, api.ts and the routes name the same addresses."""
    from gnomon.view import api

    routed = {re.sub(r"\{id\}", "ID", route.path) for route in api.routes(Session())}
    assert api.__doc__ is not None
    told = set(re.findall(r"`(?:GET |POST )?(/api/[a-zA-Z/]*|/[a-z]+)[?` {.]", api.__doc__))
    told = {one if one.startswith("/api") else f"/api/runs/ID{one}" for one in told}
    assert told == routed
    asked = set(re.findall(r"[\"`](api/[\w/${}]+)[\"`]", (WEB / "src" / "api.ts").read_text()))
    assert {"/" + re.sub(r"\$\{id\}", "ID", one) for one in asked} == routed
    assert {one.removeprefix("/api/runs/ID") for one in routed if "ID" in one} == set(PARTS)


def test_state_and_run_page(client: Client) -> None:
    state = client.ask("/api/state").json
    assert [run["title"] for run in state["runs"][:2]] == ["one", "other"]
    run = client.ask("/api/runs/1").json
    assert run["command"] == "./app 'a b'"
    assert run["warnings"] == ["take care"]
    assert run["counts"] == {
        "locations": 10, "regions": 3, "paths": 3, "metrics": 3, "sources": 2,
    }  # fmt: skip
    assert run["capabilities"] == [{"kind": "hpm", "title": "program and sections", "regions": 3}]
    assert run["sourceFiles"] == ["/src/halo.c", "/src/solve.c"]
    assert run["firstMetric"] == 0


def test_metrics_say_what_may_be_done_with_them(client: Client) -> None:
    metrics = {one["name"]: one for one in client.ask("/api/runs/1/metrics").json}
    assert metrics["steps"]["additive"]
    assert not metrics["steps_per_cycle"]["additive"]
    assert metrics["steps_per_cycle"]["recomputed"]
    assert metrics["cycles"]["worse"] == "more"
    assert all(one["hasRegions"] and one["hasLocations"] for one in metrics.values())
    assert [one["kind"] for one in client.ask("/api/runs/1/locations").json].count("thread") == 6


@pytest.mark.parametrize("by", ["region", "capability", "file", "rank"])
def test_trees_and_values_fit_together(client: Client, by: str) -> None:
    header, tree = client.ask(f"/api/runs/1/tree?by={by}").arrays
    n = header["n"]
    assert all(len(array) == n for array in tree.values())
    assert tree["parent"][0] == -1
    assert (tree["parent"][1:] < np.arange(1, n)).all()
    assert (tree["end"] > np.arange(n)).all()
    for at in range(1, n):
        above = tree["parent"][at]
        assert above < at < tree["end"][at] <= tree["end"][above]
    total = sum(rank * 10 + thread + 1 for rank in range(3) for thread in range(2))
    told, values = client.ask(f"/api/runs/1/values?by={by}&metric=1").arrays
    assert (told["metric"], told["how"], len(values["inclusive"])) == (1, "counted", n)
    assert values["inclusive"][0] == 10 * total


@pytest.mark.parametrize("by", ["region", "capability", "file", "rank"])
def test_all_that_is_known_of_a_node_is_what_the_tree_shows(client: Client, by: str) -> None:
    for location in (-1, 1, 3):
        header, _ = client.ask(f"/api/runs/1/tree?by={by}").arrays
        columns = {
            metric: client.ask(
                f"/api/runs/1/values?by={by}&metric={metric}&location={location}"
            ).arrays[1]
            for metric in range(3)
        }
        for node in range(header["n"]):
            found = client.ask(f"/api/runs/1/node?by={by}&node={node}&location={location}").json
            told = {one["metric"]: one for one in found["values"]}
            for metric, values in columns.items():
                for kind in ("inclusive", "exclusive"):
                    shown = values[kind][node]
                    expected = None if math.isnan(shown) else pytest.approx(shown)
                    assert told.get(metric, {}).get(kind) == expected, (node, metric, kind)


def test_tables_are_sorted_filtered_and_exported_whole(client: Client) -> None:
    asked = "name=functions&metrics=0,1&sort=inclusive:1&order=ascending&filter=app%20SRC"
    page = client.ask(f"/api/runs/1/table?{asked}&limit=1").json
    assert page["total"] == 2
    names = [column["name"] for column in page["columns"]]
    (row,) = page["rows"]
    total = sum(rank * 10 + thread + 1 for rank in range(3) for thread in range(2))
    assert row[names.index("name")] == "halo"
    assert row[names.index("inclusive:1")] == 5 * total
    assert page["sources"] == [{"file": "/src/halo.c", "line": 20}]
    answer = client.ask(f"/api/runs/1/export?{asked}&format=csv")
    assert answer.headers["content-disposition"] == 'attachment; filename="functions.csv"'
    rows = list(csv.DictReader(io.StringIO(answer.body.decode())))
    assert [one["function"] for one in rows] == ["halo", "solve"]
    exported = client.ask(f"/api/runs/1/export?{asked}&format=json").json
    assert exported["rows"][0] == row
    picked = client.ask("/api/runs/1/table?name=functions&columns=file,name").json
    assert [column["name"] for column in picked["columns"]] == ["file", "name"]


def test_every_table_has_its_rows(client: Client) -> None:
    run = Path(client.ask("/api/state").json["runs"][0]["path"])
    for one in client.ask("/api/runs/1/tables").json:
        for order in ("ascending", "descending"):
            page = client.ask(f"/api/runs/1/table?name={one['name']}&order={order}").json
            # No function of this run has lines.
            assert bool(page["rows"]) == (one["name"] != "lines"), one["name"]
            for column in page["columns"]:
                sort = f"&sort={column['name']}&order={order}"
                again = client.ask(f"/api/runs/1/table?name={one['name']}{sort}").json
                assert sorted(map(str, again["rows"])) == sorted(map(str, page["rows"]))
    values = client.ask("/api/runs/1/table?name=values&metrics=1").json
    file = str(run / "profile.parquet")
    ((count,),) = duckdb.execute(f"SELECT count(*) FROM '{file}' WHERE metric = 1").fetchall()
    assert values["total"] == count


def test_lines_of_a_file(client: Client) -> None:
    found = client.ask("/api/runs/1/lines?file=/src/solve.c&metrics=0,2").json
    total = sum(rank * 10 + thread + 1 for rank in range(3) for thread in range(2))
    assert found["lines"] == [10]
    assert found["metrics"][0] == {
        "metric": 0, "inclusive": [total], "exclusive": [total / 2], "total": total,
    }  # fmt: skip
    assert found["metrics"][1]["inclusive"] == pytest.approx([0.1])


def test_runs_are_opened_combined_compared_and_closed(client: Client, tmp_path: Path) -> None:
    third = ranks(tmp_path / "third")
    answer = client.post("/api/open", {"paths": [str(third), "/no/such/run"]}).json
    (opened,) = answer["runs"]
    assert "no such run" in answer["problems"][0]
    both = client.post("/api/combine", {"ids": ["1", opened["id"]]}).json
    first, second = both["parts"]
    for part in (first, second):
        _, values = client.ask(
            f"/api/runs/{both['id']}/values?by=region&metric=0&location={part['location']}"
        ).arrays
        assert values["inclusive"][0] == 69
    compared = client.ask(f"/api/compare?a=1&b={opened['id']}&per=function").json
    assert [one["metric"] for one in compared["comparisons"][0]["metrics"]]
    left = client.post("/api/close", {"id": opened["id"]}).json
    assert [one["id"] for one in left["runs"]] == ["1", "2"]


def test_folders_are_listed(client: Client, tmp_path: Path) -> None:
    ranks(tmp_path / "run")
    (tmp_path / "inner").mkdir()
    (tmp_path / ".hidden").mkdir()
    (tmp_path / "x.viz").write_text("")
    (tmp_path / "empty.gnomon").mkdir()
    found = client.ask(f"/api/folder?path={tmp_path}").json
    assert [(one["name"], one["kind"]) for one in found["entries"]] == [
        ("run.gnomon", "run"), ("x.viz", "file"), ("inner", "folder"),
    ]  # fmt: skip
    assert found["parent"] == str(tmp_path.parent)


def test_the_page_is_small_and_knows_no_other_address() -> None:
    import gzip

    static = Path(gnomon.view.__path__[0]) / "static"
    files = [file for file in static.rglob("*") if file.is_file()]
    assert sum(len(gzip.compress(file.read_bytes())) for file in files) < 430_000
    assert not [file.name for file in files if file.suffix == ".map"]
    licences = "".join(file.read_text() for file in files if file.suffix == ".txt")
    for name in ("preact", "uplot", "@codemirror/view", "Plex", "SIL OPEN FONT LICENSE"):
        assert name in licences
    for file in files:
        if file.suffix in (".html", ".css"):
            text = file.read_text()
            assert not re.search(r"(?:src=|href=|url\(|@import)[\"' (]*(?:https?:)?//", text), file
