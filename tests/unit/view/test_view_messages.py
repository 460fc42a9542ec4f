"""The matrix of messages: its cells against sums made here, of made runs and of any sparse ones."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import numpy as np
import pytest
import view_messages
from view_messages import Sent, ring
from view_runs import ranks
from view_server import Client, serving

from gnomon.view.communities import communities
from gnomon.view.session import Session

# Rank 0 sends to all, neighbours send each other much, two messages have one end alone.
SENT: list[Sent] = [
    *((0, rank, 8, 1) for rank in range(1, 8)),
    *((rank, rank ^ 1, 1_000_000, 2) for rank in range(8)),
    (3, -1, 77, 5), (-1, 2, 11, 1),
]  # fmt: skip
COUNT = 600


def scattered() -> list[Sent]:
    """Return messages of many ranks by a rule, of some pairs several, none of rank 13."""
    chance = np.random.default_rng(20)
    pairs = chance.integers(0, COUNT, (4000, 2))
    sizes = chance.integers(0, 100_000, (4000, 2))
    return [
        (int(one), int(other), int(size), int(many % 7 + 1))
        for (one, other), (size, many) in zip(pairs, sizes, strict=True)
        if 13 not in (one, other)
    ]


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    folder = tmp_path_factory.mktemp("runs")
    view_messages.write(folder / "few", SENT)
    view_messages.write(folder / "many", scattered(), count=COUNT)
    view_messages.write(folder / "twice", ring(4), count=4, repetitions=2)
    ranks(folder / "none")
    session = Session()
    for name in ("few", "many", "twice", "none"):
        session.open([str(folder / name)])
    with serving(session) as found:
        yield found


def asked(client: Client, run: int, **query: Any) -> dict[str, Any]:
    answer = client.ask(f"/api/runs/{run}/matrix?{urlencode(query)}")
    assert answer.status == 200, answer.body
    header, arrays = answer.arrays
    return {**header, **arrays}


def grid(found: dict[str, Any], name: str) -> Any:
    """Return a value of all cells, 0 where there is none."""
    cells = np.zeros(len(found["rows"]) * len(found["columns"]))
    cells[found["cell"]] = found[name]
    return cells.reshape(len(found["rows"]), len(found["columns"]))


def test_few_ranks_have_a_cell_each(client: Client) -> None:
    found = asked(client, 1)
    assert found["rows"] == found["columns"] == [f"rank {rank}" for rank in range(8)]
    amount, count = np.zeros((8, 8)), np.zeros((8, 8))
    for sender, receiver, size, many in SENT:
        if sender >= 0 <= receiver:
            amount[sender, receiver] += size
            count[sender, receiver] += many
    np.testing.assert_array_equal(grid(found, "bytes"), amount)
    np.testing.assert_array_equal(grid(found, "messages"), count)
    assert (found["ends"], found["groups"], found["unknownMessages"]) == (8, 0, 6)
    assert found["totalBytes"] == amount.sum() + 88
    # Of equals the last; rank 0 and 1 exchange a little more.
    assert found["top"][0] == {
        "sender": "rank 0 on node0", "receiver": "rank 1 on node0", "bytes": 1_000_008,
        "messages": 3,
    }  # fmt: skip
    assert asked(client, 1, of="messages")["top"][0]["messages"] == 3


def test_hosts_are_groups_and_open_to_their_ranks(client: Client) -> None:
    found = asked(client, 1, by="host")
    assert found["rows"] == found["columns"] == ["node0", "node1"]
    assert found["rowEdges"].tolist() == [0, 4, 8]
    np.testing.assert_array_equal(grid(found, "bytes"), [[4_000_000 + 24, 32], [0, 4_000_000]])
    np.testing.assert_array_equal(grid(found, "pairs"), [[6, 4], [0, 4]])
    inside = asked(client, 1, by="host", rows="4-8", columns="0-4")
    assert inside["rows"] == [f"rank {rank}" for rank in range(4, 8)]
    assert inside["n"] == 0
    assert inside["totalBytes"] == found["totalBytes"]


@pytest.mark.parametrize("cells", [256, 64, 7])
@pytest.mark.parametrize("part", ["", "100-500"])
def test_blocks_add_up_whatever_their_size(client: Client, cells: int, part: str) -> None:
    begin, end = (int(one) for one in (part or "0-599").split("-"))
    found = asked(client, 2, cells=cells, rows=part)
    # Rank 13 sends and receives nothing, and is not there.
    place = [rank - (rank > 13) for rank in range(COUNT)]
    edges, columns = found["rowEdges"].tolist(), found["columnEdges"].tolist()
    assert (edges[0], edges[-1]) == (begin, end)
    assert len(found["rows"]) <= cells
    assert len(found["columns"]) <= cells
    expected = np.zeros((len(edges) - 1, len(columns) - 1))
    pairs: dict[tuple[int, int], set[tuple[int, int]]] = defaultdict(set)
    for sender, receiver, size, _ in scattered():
        if begin <= place[sender] < end:
            row = np.searchsorted(edges, place[sender], side="right") - 1
            column = np.searchsorted(columns, place[receiver], side="right") - 1
            expected[row, column] += size
            pairs[int(row), int(column)].add((sender, receiver))
    np.testing.assert_array_equal(grid(found, "bytes"), expected)
    count = grid(found, "pairs")
    assert {at: count[at] for at in pairs} == {at: len(some) for at, some in pairs.items()}


def test_a_cell_tells_its_heaviest_pair(client: Client) -> None:
    for of in ("bytes", "messages"):
        found = asked(client, 2, cells=4, of=of)
        place = [rank - (rank > 13) for rank in range(COUNT)]
        sums: dict[tuple[int, int], list[int]] = defaultdict(lambda: [0, 0])
        for sender, receiver, size, many in scattered():
            sums[sender, receiver][0] += size
            sums[sender, receiver][1] += many
        at = ("bytes", "messages").index(of)
        most: dict[int, int] = defaultdict(int)
        edges = found["rowEdges"].tolist()
        for (sender, receiver), both in sums.items():
            row, column = (
                int(np.searchsorted(edges, place[end], side="right")) - 1
                for end in (sender, receiver)
            )
            cell = row * len(found["columns"]) + column
            most[cell] = max(most[cell], both[at])
        heaviest = found["heaviestBytes" if of == "bytes" else "heaviestMessages"]
        assert dict(zip(found["cell"].tolist(), heaviest.tolist(), strict=True)) == most
        ends = zip(
            found["heaviestSender"].tolist(), found["heaviestReceiver"].tolist(), strict=True
        )
        assert [sums[pair][at] for pair in ends] == heaviest.tolist()


def test_blocks_are_named_by_the_ranks_in_them(client: Client) -> None:
    names = asked(client, 2, cells=4)["rows"]
    assert names == [
        "256 of the ranks 0 to 256", "ranks 257 to 512", "ranks 513 to 599",
    ]  # fmt: skip


def test_values_are_means_over_executions(client: Client) -> None:
    found = asked(client, 3)
    assert found["totalBytes"] == 1000 + 2000 + 3000 + 4000
    assert found["totalMessages"] == 10


def test_runs_that_are_combined_keep_their_messages(tmp_path: Path) -> None:
    session = Session()
    view_messages.write(tmp_path / "one", ring(4), count=4, repetitions=2)
    view_messages.write(tmp_path / "other", ring(8))
    opened = [session.open([str(tmp_path / name)])[0].id for name in ("one", "other")]
    combined = session.combine(opened)
    with serving(session) as client:
        found = asked(client, int(combined.id))
    assert (found["ends"], found["totalMessages"]) == (12, 10 + 36)
    # Each run's ranks follow those of the run before.
    assert found["rows"] == [f"rank {rank}" for rank in (*range(4), *range(8))]
    assert grid(found, "pairs")[:4, 4:].sum() == 0


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ("by=colour", "by 'colour': there are block, host, community"),
        ("of=hops", "of 'hops': there are bytes, messages"),
        ("rows=5-5", "from 5 to 5: there are 8 senders and receivers"),
        ("rows=0-9", "from 0 to 9"),
        ("columns=7-2", "from 7 to 2"),
        ("rows=x", "begin='x' is not a whole number"),
        ("rows=1-2-3", "end='2-3' is not a whole number"),
        ("cells=999999999999", "too large"),
    ],
)
def test_what_is_asked_wrongly_is_said(client: Client, query: str, sentence: str) -> None:
    answer = client.ask(f"/api/runs/1/matrix?{query}")
    assert answer.status == 400
    assert sentence in answer.json["error"]


def test_a_run_without_messages_has_no_cells(client: Client) -> None:
    for by in ("block", "host", "community"):
        found = asked(client, 4, by=by)
        assert (found["ends"], found["n"], found["rows"], found["top"]) == (0, 0, [], [])
        assert found["rowEdges"].tolist() == [0]
        assert found["totalMessages"] == 0


# --- communities ----------------------------------------------------------------------------------


def test_who_exchanges_most_is_one_community(client: Client) -> None:
    found = asked(client, 1, by="community")
    assert found["groups"] == 4
    assert found["rowEdges"].tolist() == [0, 2, 4, 6, 8]
    assert np.diag(grid(found, "bytes")).min() >= 2_000_000


def planted(groups: int, size: int) -> tuple[Any, Any, Any, Any]:
    """Return edges of cliques whose members are far from each other, and a few between them."""
    n = groups * size
    group = np.arange(n) % groups
    one, other = (at.ravel() for at in np.meshgrid(np.arange(n), np.arange(n)))
    inside = (group[one] == group[other]) & (one < other)
    between = (one + 1 == other) & (one % 5 == 0)
    chosen = inside | between
    weight = np.where(inside, 10.0, 1.0)[chosen]
    return group, one[chosen].astype(np.int32), other[chosen].astype(np.int32), weight


def test_planted_communities_come_out_in_any_order_of_edges() -> None:
    group, source, target, weight = planted(6, 9)
    found = communities(54, source, target, weight)
    np.testing.assert_array_equal(found, group)
    mixed = np.random.default_rng(3).permutation(len(source))
    np.testing.assert_array_equal(
        communities(54, target[mixed], source[mixed], weight[mixed]), group
    )


def test_graphs_without_communities_end() -> None:
    none = np.zeros(0, np.int32)
    assert communities(0, none, none, np.zeros(0)).tolist() == []
    assert communities(3, none, none, np.zeros(0)).tolist() == [0, 1, 2]
    loops = np.arange(3, dtype=np.int32)
    assert communities(3, loops, loops, np.ones(3)).tolist() == [0, 1, 2]
    leaves = np.arange(1, 5000, dtype=np.int32)
    star = communities(5000, np.zeros(4999, np.int32), leaves, np.ones(4999))
    assert star.max() == 0
    one, other = (at.ravel().astype(np.int32) for at in np.meshgrid(np.arange(40), np.arange(40)))
    between = one != other
    assert communities(40, one[between], other[between], np.ones(1560)).max() == 0


def test_a_grid_is_divided_into_few_compact_parts() -> None:
    """Most neighbours of a grid are in one part: chance would have it with one in as many."""
    at = np.arange(64 * 64)
    right, below = at[at % 64 < 63], at[at < 64 * 63]
    source = np.concatenate((right, below)).astype(np.int32)
    target = np.concatenate((right + 1, below + 64)).astype(np.int32)
    found = communities(64 * 64, source, target, np.ones(len(source)))
    assert 4 <= found.max() + 1 <= 80
    assert (found[source] == found[target]).mean() > 0.85


# --- what no program sends ------------------------------------------------------------------------


def test_messages_that_make_no_sense_are_no_messages(tmp_path: Path) -> None:
    huge = 2**63 - 1
    sent = [(0, 1, huge, huge), (0, 1, huge, huge), (1, 0, -5, -7), (2, 2, 0, 0), (-1, -1, 1, 1)]
    path = view_messages.write(tmp_path / "odd", sent, count=3)
    session = Session()
    session.open([str(path)])
    with serving(session) as client:
        for by in ("block", "host", "community"):
            found = asked(client, 1, by=by)
            assert found["totalBytes"] == pytest.approx(2.0**64)
            assert min(found["bytes"]) >= 0
            assert min(found["messages"]) >= 0
        assert found["unknownMessages"] == 1
