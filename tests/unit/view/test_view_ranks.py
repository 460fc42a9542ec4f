"""Values of ranks in an order and in bands, who stands out, and the call sites of one."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import numpy as np
import pytest
import view_messages
import view_runs
from view_messages import ELAPSED_NS, nanoseconds, ring
from view_runs import Place, Quantity, Region, Value
from view_server import Client, serving

from gnomon.metrics.outliers import outliers
from gnomon.view.session import Session

MANY = 500


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    folder = tmp_path_factory.mktemp("runs")
    view_messages.write(folder / "few", ring(8))
    view_messages.write(folder / "many", ring(MANY), count=MANY)
    view_messages.write(folder / "twice", ring(4), count=4, repetitions=2)
    view_runs.ranks(folder / "threads")
    places = [Place(-1, "command"), *(Place(0, "process") for _ in range(3))]
    values = [Value(at, 0, 0, float(at), None) for at in range(1, 4)]
    view_runs.write(folder / "processes", places, [Region(-1, "hpm", "app")], [Quantity("steps")],
                    values)  # fmt: skip
    session = Session()
    for name in ("few", "many", "twice", "threads", "processes"):
        session.open([str(folder / name)])
    with serving(session) as found:
        yield found


def asked(client: Client, run: int, **query: Any) -> dict[str, Any]:
    answer = client.ask(f"/api/runs/{run}/ranks?{urlencode(query)}")
    assert answer.status == 200, answer.body
    header, arrays = answer.arrays
    return {**header, **arrays}


def time_of(rank: int) -> float:
    return sum(nanoseconds(rank, site) for site in (2, 3, 5, 6))


def test_what_is_of_mpi_comes_first(client: Client) -> None:
    found = asked(client, 1)
    titles = [one["title"] for one in found["series"]]
    assert titles == [
        "MPI time", "time outside of MPI", "waiting in collectives", "MPI bytes sent",
    ]  # fmt: skip
    assert (found["what"], found["ranks"], found["n"]) == ("rank", 8, 8)
    assert found["rank"].tolist() == list(range(8))
    assert found["hosts"] == ["node0", "node1"]
    assert found["host"].tolist() == [0] * 4 + [1] * 4
    times = [time_of(rank) for rank in range(8)]
    middle = found["middle"].reshape(4, 8)
    np.testing.assert_allclose(middle[0], times)
    np.testing.assert_allclose(middle[1], ELAPSED_NS - np.array(times))
    # Of MPI_Allreduce, beyond the quickest rank.
    waited = [nanoseconds(rank, 5) - nanoseconds(0, 5) for rank in range(8)]
    np.testing.assert_allclose(middle[2], np.array(waited) / 1e9)
    assert found["series"][2]["how"] == "estimated"
    np.testing.assert_array_equal(middle[3], [8.0 * rank for rank in range(8)])
    np.testing.assert_array_equal(found["least"], found["most"])


def test_no_rank_waits_for_one_of_another_run(tmp_path: Path) -> None:
    for name in ("one", "other"):
        view_messages.write(tmp_path / name, ring(4), count=4)
    session = Session()
    *_, both = session.open([str(tmp_path / name) for name in ("one", "other")], combined=True)
    with serving(session) as server:
        answer = asked(server, int(both.id))
        assert [one["title"] for one in answer["series"]] == [
            "MPI time", "time outside of MPI", "MPI bytes sent",
        ]  # fmt: skip
        assert answer["ranks"] == 8
        refused = server.ask(f"/api/runs/{both.id}/ranks?series=waiting")
        assert refused.status == 400
        assert b"ranks wait for those of their own run" in refused.body


def test_rank_5_stands_out(client: Client) -> None:
    found = asked(client, 1, series="0")
    assert found["series"][0]["outliers"] == 1
    assert found["outlierRank"].tolist() == [5]
    assert found["outlierPlace"].tolist() == [5]
    assert found["outlierValue"][0] == pytest.approx(time_of(5))
    descending = asked(client, 1, series="0", sort="0", order="descending")
    assert descending["rank"][0] == 5
    assert descending["outlierPlace"].tolist() == [0]


@pytest.mark.parametrize("many", [1, 7, 64, 499, 1000])
@pytest.mark.parametrize("part", [(0, MANY), (100, 350)])
def test_bands_have_what_their_ranks_have(client: Client, many: int, part: tuple[int, int]) -> None:
    begin, end = part
    found = asked(client, 2, series="0", sort="0", bands=many, begin=begin, end=end)
    values = sorted(time_of(rank) for rank in range(MANY))
    edges = found["edges"].tolist()
    assert (edges[0], edges[-1]) == part
    assert found["n"] == min(many, end - begin)
    for nth, (low, high) in enumerate(itertools.pairwise(edges)):
        here = values[low:high]
        assert found["least"][nth] == pytest.approx(here[0])
        assert found["most"][nth] == pytest.approx(here[-1])
        assert found["middle"][nth] == pytest.approx(np.median(here))


def test_ranks_are_sorted_by_host_too(client: Client) -> None:
    found = asked(client, 2, sort="host", order="descending")
    assert found["rank"].tolist() == list(range(MANY))[::-1]


def test_values_are_means_over_executions(client: Client) -> None:
    found = asked(client, 3, series="0")
    np.testing.assert_allclose(found["middle"], [time_of(rank) for rank in range(4)])


def test_executions_have_processes_of_their_own(tmp_path: Path) -> None:
    places = [Place(-1, "command"), *(Place(0, "process", rank) for rank in (0, 1, 0, 1))]
    sites = [Region(-1, "hpm", "app"), Region(0, "mpi", "MPI_Send", "/src/a.c", 7)]
    values = [
        Value(at, site, 0, time, time, repetition=at > 2, calls=4)
        for at, time in ((1, 10.0), (2, 20.0), (3, 30.0), (4, 20.0)) for site in (0, 1)
    ]  # fmt: skip
    values += [Value(at, 0, 1, 100.0 * at, None, repetition=at > 2) for at in range(1, 5)]
    view_runs.write(
        tmp_path / "again", places, sites, view_messages.METRICS, values, {"repetitions": 2}
    )
    session = Session()
    session.open([str(tmp_path / "again")])
    with serving(session) as client:
        found = asked(client, 1, series="0,1,computing")
        location = int(found["location"][0])
        (site,) = client.ask(f"/api/runs/1/sites?location={location}").json["sites"]
    assert found["middle"].reshape(3, 2).tolist() == [[20, 20], [200, 300], [180, 280]]
    assert (site["value"], site["calls"]) == (20, 4)


def test_threads_add_up_to_their_rank(client: Client) -> None:
    found = asked(client, 4, series="0")
    # The section `solve` of both threads: the whole program was counted for the command alone.
    assert found["middle"].tolist() == [1 + 2, 11 + 12, 21 + 22]


def test_a_run_without_ranks_has_processes(client: Client) -> None:
    found = asked(client, 5)
    assert (found["what"], found["ranks"]) == ("process", 3)
    assert found["rank"].tolist() == [-1] * 3
    assert found["middle"].tolist() == [1, 2, 3]


def test_a_run_of_one_command_has_no_marks(tmp_path: Path) -> None:
    values = [Value(0, 0, 0, 5.0, None)]
    regions = [Region(-1, "hpm", "app")]
    view_runs.write(
        tmp_path / "alone", [Place(-1, "command")], regions, [Quantity("steps")], values
    )
    session = Session()
    session.open([str(tmp_path / "alone")])
    with serving(session) as client:
        found = asked(client, 1)
    assert (found["ranks"], found["n"], found["edges"].tolist()) == (0, 0, [0])


def test_a_metric_that_no_rank_has_is_empty(client: Client) -> None:
    found = asked(client, 1, series="3")
    assert np.isnan(found["middle"]).all()
    assert (found["series"][0]["min"], found["series"][0]["outliers"]) == (None, 0)


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ("series=99", "there is no metric '99'"),
        ("series=-1", "there is no metric '-1'"),
        ("sort=colour", "there is no metric 'colour'"),
        ("begin=5&end=2", "from 5 to 2: there are 8 ranks"),
        ("end=9", "from 0 to 9"),
        ("bands=x", "bands='x' is not a whole number"),
    ],
)
def test_what_is_asked_wrongly_is_said(client: Client, query: str, sentence: str) -> None:
    answer = client.ask(f"/api/runs/1/ranks?{query}")
    assert answer.status == 400
    assert sentence in answer.json["error"]


def test_what_is_before_mpi_init_returns_is_not_within(tmp_path: Path) -> None:
    places = [Place(-1, "command"), *(Place(0, "process", rank) for rank in range(3))]
    sites = [Region(-1, "hpm", "app"), Region(0, "mpi", "MPI_Init"), Region(0, "mpi", "MPI_Send")]
    times = {1: 40.0, 2: 7.0, 0: 47.0}
    values = [Value(at, site, 0, time, time) for at in (1, 2, 3) for site, time in times.items()]
    values += [Value(at, 0, 1, elapsed, None) for at, elapsed in ((1, 10.0), (2, 20.0), (3, 5.0))]
    view_runs.write(tmp_path / "init", places, sites, view_messages.METRICS, values)
    session = Session()
    session.open([str(tmp_path / "init")])
    with serving(session) as client:
        found = asked(client, 1, series="computing")
    # Threads of rank 2 were in MPI at once for longer than there was time.
    assert found["middle"].tolist() == [3, 13, 0]


def test_a_run_without_mpi_has_no_time_to_compute_with(client: Client) -> None:
    answer = client.ask("/api/runs/4/ranks?series=computing")
    assert (answer.status, "no times of MPI" in answer.json["error"]) == (400, True)
    answer = client.ask("/api/runs/4/ranks?series=waiting")
    assert (answer.status, "no times of MPI" in answer.json["error"]) == (400, True)
    answer = client.ask("/api/runs/4/sites?location=1")
    assert (answer.status, "no times of MPI" in answer.json["error"]) == (400, True)


def test_a_rank_has_its_call_sites(client: Client) -> None:
    found = asked(client, 1)
    of_rank = client.ask(f"/api/runs/1/sites?location={found['location'][5]}").json
    assert (of_rank["title"], of_rank["host"]) == ("rank 5 on node1", "node1")
    assert [(one["name"], one["caller"], one["line"]) for one in of_rank["sites"]] == [
        ("MPI_Allreduce", "norm", 21), ("MPI_File_write", "norm", 25),
        ("MPI_Recv", "exchange", 10), ("MPI_Send", "exchange", 9),
    ]  # fmt: skip
    assert of_rank["sites"][0]["value"] == nanoseconds(5, 5)
    assert of_rank["sites"][0]["calls"] == 3
    assert of_rank["total"] == pytest.approx(time_of(5))
    # The location of messages is the rank, too.
    of_messages = client.ask("/api/runs/1/sites?location=14").json
    assert of_messages["sites"] == of_rank["sites"]


def test_values_that_are_none_are_left_out(tmp_path: Path) -> None:
    places = [Place(-1, "command"), *(Place(0, "process", rank) for rank in range(4))]
    sites = [Region(-1, "hpm", "app"), Region(0, "mpi", "MPI_Send")]
    odd = (float("nan"), float("inf"), 1e308, -1.0)
    values = [
        Value(at, site, 0, value, None) for at, value in enumerate(odd, start=1) for site in (0, 1)
    ]
    values += [Value(3, 1, 0, 1e308, None)]
    path = view_runs.write(tmp_path / "odd", places, sites, view_messages.METRICS, values)
    session = Session()
    session.open([str(path)])
    with serving(session) as client:
        found = asked(client, 1, series="0")
        assert np.isnan(found["middle"][:2]).all()
        for location in range(1, 5):
            assert client.ask(f"/api/runs/1/sites?location={location}").status == 200


def test_outliers_are_far_from_the_median() -> None:
    usual = np.array([10.0, 10.1, 9.9, 10.2, 9.8, 10.0, 10.1])
    assert not outliers(usual, 0).any()
    assert outliers(np.append(usual, 14.0), 0).tolist() == [False] * 7 + [True]
    assert outliers(np.append(usual, 6.0), 0).tolist() == [False] * 7 + [True]
    # What differs by less than matters is none.
    assert not outliers(np.append(usual, 14.0), 5).any()
    # All but one are equal: the mean deviation says what is usual.
    assert outliers(np.array([0.0] * 9 + [5.0]), 0).tolist() == [False] * 9 + [True]
    assert not outliers(np.array([3.0] * 9), 0).any()
    assert not outliers(np.array([1.0, 1.0, 900.0]), 0).any()
    assert outliers(np.zeros(0), 0).tolist() == []
