"""MPI in the tree: by class of routine, by file, and beside the lines that call."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import view_messages
from view_messages import nanoseconds, ring
from view_runs import ranks
from view_server import Client, serving

from gnomon.mpi import mpi_metrics
from gnomon.view.session import Session


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    folder = tmp_path_factory.mktemp("runs")
    view_messages.write(folder / "mpi", ring(8))
    view_messages.with_divisions(folder / "divided")
    ranks(folder / "none")
    session = Session()
    for name in ("mpi", "divided", "none"):
        session.open([str(folder / name)])
    with serving(session) as found:
        yield found


def tree(client: Client, run: int, by: str) -> list[tuple[tuple[str, ...], float, float]]:
    """Return the names from the root to each node, and its values of MPI time."""
    header, arrays = client.ask(f"/api/runs/{run}/tree?by={by}").arrays
    _, values = client.ask(f"/api/runs/{run}/values?by={by}&metric=0").arrays
    names: list[tuple[str, ...]] = []
    for node, parent in enumerate(arrays["parent"].tolist()):
        above = names[parent] if parent >= 0 else ()
        names.append((*above, header["strings"][arrays["name"][node]]))
    return [
        (names[node], float(values["inclusive"][node]), float(values["exclusive"][node]))
        for node in range(header["n"])
    ]


def of_site(site: int) -> float:
    return sum(nanoseconds(rank, site) for rank in range(8))


def test_calls_are_grouped_by_the_class_of_their_routine(client: Client) -> None:
    nodes = {names[1:]: pytest.approx(value) for names, value, _ in tree(client, 1, "routine")}
    assert nodes == {
        (): sum(map(of_site, (2, 3, 5, 6))),
        ("point to point",): of_site(2) + of_site(3),
        ("point to point", "MPI_Send"): of_site(2),
        ("point to point", "MPI_Send", "exchange"): of_site(2),
        ("point to point", "MPI_Recv"): of_site(3),
        ("point to point", "MPI_Recv", "exchange"): of_site(3),
        ("collective",): of_site(5),
        ("collective", "MPI_Allreduce"): of_site(5),
        ("collective", "MPI_Allreduce", "norm"): of_site(5),
        ("I/O",): of_site(6),
        ("I/O", "MPI_File_write"): of_site(6),
        ("I/O", "MPI_File_write", "norm"): of_site(6),
    }


def test_calls_are_below_their_file(client: Client) -> None:
    nodes = {names[1:]: value for names, value, _ in tree(client, 1, "file")}
    assert nodes["/src/norm.c", "MPI_Allreduce"] == pytest.approx(of_site(5))
    assert nodes["/src/halo.c", "MPI_Send"] == pytest.approx(of_site(2))


def test_lines_have_the_time_of_their_calls(client: Client) -> None:
    found = client.ask("/api/runs/1/lines?file=/src/norm.c&metrics=0").json
    (of_metric,) = found["metrics"]
    by_line = dict(zip(found["lines"], of_metric["inclusive"], strict=True))
    assert by_line[21] == pytest.approx(of_site(5))
    assert by_line[25] == pytest.approx(of_site(6))
    assert of_metric["total"] == pytest.approx(sum(map(of_site, (2, 3, 5, 6))))


def test_only_runs_with_mpi_have_the_grouping(client: Client) -> None:
    def groupings(run: int) -> list[Any]:
        return [one["by"] for one in client.ask(f"/api/runs/{run}").json["groupings"]]

    assert "routine" in groupings(1)
    assert "routine" not in groupings(3)
    header, _ = client.ask("/api/runs/3/tree?by=routine").arrays
    assert header["n"] == 1


def test_what_divides_the_calls_once_more_is_in_no_tree(client: Client) -> None:
    for by in ("region", "capability", "file", "routine", "lines", "callers", "module"):
        names = {name for path, _, _ in tree(client, 2, by) for name in path}
        assert not names & {"up to 8 bytes", "MPI_COMM_WORLD"}, by
    root = tree(client, 2, "region")[0]
    assert root[:2] == (("app",), 10)


def test_what_divides_calls_once_more_has_no_values_of_the_tree(client: Client) -> None:
    """Times by size and communicator are of no path of the tree: no column of it has them."""
    (run,) = (one for one in client.ask("/api/state").json["runs"] if one["title"] == "divided")
    metrics = client.ask(f"/api/runs/{run['id']}/metrics").json
    has = {one["name"]: one["hasRegions"] for one in metrics}
    assert (has[mpi_metrics.TIME], has[mpi_metrics.TIME_BY_SIZE]) == (True, False)
