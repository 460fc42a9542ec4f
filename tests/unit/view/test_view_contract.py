"""The page's types are those of the contract, and what the server answers is of these types."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
import view_messages
from answer_types import faults
from made_runs import made_run
from view_messages import ring
from view_runs import ranks
from view_server import Client, serving

from gnomon.model.array_types import Ints
from gnomon.view import contract
from gnomon.view.open_run import MergedPart
from gnomon.view.session import Session

ROOT = Path(__file__).parents[3]
COMMITTED = ROOT / "src" / "gnomon" / "view" / "web" / "src" / "contract.ts"
REMEDY = "run .venv/bin/python packaging/api_types.py"
ANSWERS: tuple[tuple[str, Any], ...] = (
    ("/api/state", contract.State),
    ("/api/folder?path=.", contract.Folder),
    ("/api/runs/{id}", contract.Run),
    ("/api/runs/{id}/metrics", list[contract.Metric]),
    ("/api/runs/{id}/locations", contract.Locations),
    ("/api/runs/{id}/tables", list[contract.TableName]),
    *((f"/api/runs/{{id}}/tree?by={by}", contract.Tree) for by in get_args(contract.Grouping)),
    *((f"/api/runs/{{id}}/values?metric=0&statistic={one}", contract.Values)
      for one in get_args(contract.Statistic)),
    ("/api/runs/{id}/spread?metric=0&node=1", contract.Spread),
    ("/api/runs/{id}/spread?metric=2&node=1", contract.Spread),
    ("/api/runs/{id}/node?node=1", contract.NodeDetails),
    ("/api/runs/{id}/nodeOfLine?file={file}&line=3", contract.NodeOfLine),
    *((f"/api/runs/{{id}}/table?name={name}", contract.TablePage)
      for name in ("functions", "lines", "files", "places", "metrics", "values")),
    ("/api/runs/{id}/source?file={file}", contract.Source),
    ("/api/runs/{id}/lines?file={file}&metrics=0,1", contract.LineValues),
    *((f"/api/compare?a=1&b=2&per={per}", contract.ComparisonDocument) for per in ("", "region")),
)  # fmt: skip


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    folder = tmp_path_factory.mktemp("runs")
    ranks(folder / "ranks")
    made_run(folder, [("app", "f", "/src/a.c", 3, (600, 6, 1, 0))], name="emulated")
    names = [str(folder / name) for name in ("ranks", "emulated")]
    session = Session()
    session.open(names, combined=True)
    with serving(session) as found:
        yield found


def test_the_pages_types_are_current(tmp_path: Path) -> None:
    made = tmp_path / "contract.ts"
    subprocess.run([sys.executable, ROOT / "packaging" / "api_types.py", made], check=True)
    assert COMMITTED.read_text() == made.read_text(), REMEDY


@pytest.mark.parametrize(("address", "hint"), ANSWERS)
def test_answers_are_of_their_types(client: Client, address: str, hint: Any) -> None:
    files = {"1": "/src/solve.c", "2": "/src/a.c", "3": "/src/solve.c"}
    for run, file in files.items():
        answer = client.ask(address.format(id=run, file=file))
        assert answer.status == 200, answer.body
        if answer.headers["content-type"] == "application/octet-stream":
            header, arrays = answer.arrays
            found: Any = {**header, **arrays}
        else:
            found = answer.json
        assert list(faults(found, hint)) == []
        if "{id}" not in address:
            break


def test_answers_about_messages_are_of_their_types(tmp_path: Path) -> None:
    session = Session()
    session.open([str(view_messages.write(tmp_path / "few", ring(8)))])
    with serving(session) as client:
        for by in get_args(contract.Division):
            header, arrays = client.ask(f"/api/runs/1/matrix?by={by}").arrays
            assert list(faults({**header, **arrays}, contract.MessageMatrix)) == []
        header, arrays = client.ask("/api/runs/1/ranks").arrays
        assert list(faults({**header, **arrays}, contract.RankValues)) == []
        found = client.ask("/api/runs/1/sites?location=1").json
        assert list(faults(found, contract.RankSites)) == []


def test_a_fault_is_found() -> None:
    part = {"id": "1", "title": "x", "location": 0}
    assert list(faults([part], list[MergedPart])) == []
    assert list(faults({**part, "location": "0"}, MergedPart)) == ["answer.location: '0' is no int"]
    assert list(faults({"id": "1", "title": "x", "more": 0}, MergedPart)) == [
        "answer.location: missing", "answer.more: not in the contract",
    ]  # fmt: skip
    assert list(faults("red", contract.How))
    assert list(faults(np.zeros(1), Ints))
    assert list(faults(None, str | int))
