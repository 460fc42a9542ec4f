"""What covers a whole node is counted by the first task of each node."""

from __future__ import annotations

import pytest

from gnomon.counters.event_resolver import resolve
from gnomon.measurement.per_node import only_first_rank_of_node

NETWORK, OWN, CLOCK = "network:::lo:rx_bytes", "page-faults", "tsc:::cycles"
ALL = resolve([NETWORK, OWN])
OPEN_MPI = {
    "OMPI_COMM_WORLD_RANK": "3", "OMPI_COMM_WORLD_SIZE": "4", "OMPI_COMM_WORLD_LOCAL_RANK": "1",
    "OMPI_COMM_WORLD_LOCAL_SIZE": "2",
}  # fmt: skip


def names(environment: dict[str, str]) -> tuple[list[str], list[tuple[str, str]]]:
    found = only_first_rank_of_node(ALL, environment)
    return [e.name for e in found.events], [(u.event, u.reason) for u in found.unavailable]


@pytest.mark.parametrize(
    "environment",
    [
        {},
        {"PMI_RANK": "0", "PMI_SIZE": "1"},
        OPEN_MPI | {"OMPI_COMM_WORLD_RANK": "2", "OMPI_COMM_WORLD_LOCAL_RANK": "0"},
        {"PMI_RANK": "0", "PMI_SIZE": "2", "MPI_LOCALRANKID": "0", "MPI_LOCALNRANKS": "2"},
    ],
    ids=["no job", "alone", "first of the second node", "first"],
)
def test_the_first_counts_all(environment: dict[str, str]) -> None:
    assert only_first_rank_of_node(ALL, environment) == ALL


def test_the_order_is_the_same_everywhere() -> None:
    assert only_first_rank_of_node(ALL, OPEN_MPI).names == ALL.names == (NETWORK, OWN)


def test_others_say_who_does() -> None:
    who = "counted by the first task on this node"
    assert names(OPEN_MPI) == ([OWN], [(NETWORK, who)])
    hydra = {"PMI_RANK": "1", "PMI_SIZE": "2", "MPI_LOCALRANKID": "1", "MPI_LOCALNRANKS": "2"}
    assert names(hydra) == ([OWN], [(NETWORK, "counted by task 0, the first on this node")])


def test_where_nobody_knows_everyone_counts_and_a_note_says_so() -> None:
    found = only_first_rank_of_node(ALL, {"PMI_RANK": "1", "PMI_SIZE": "2"})
    assert (found.events, found.unavailable) == (ALL.events, ())
    assert [NETWORK in note for note in found.notes] == [True]


def test_the_time_counter_is_everybodys() -> None:
    clock = resolve(CLOCK)
    assert only_first_rank_of_node(clock, OPEN_MPI) == clock
