"""Layouts of call graphs: boxes apart, arcs round them, clusters closed, the same order again.

The layout is TypeScript: it runs in Node, bundled as the page is, on graphs made from seeds.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from page_scripts import bundled, output

ODD = (
    "no boxes", "one box", "empty clusters", "self arcs", "complete", "chain",
    "chain with long arcs", "star", "star inwards", "no arcs", "two ways", "ring",
    "repeated arcs", "a cluster each", "tree",
)  # fmt: skip
PROGRAMS = ("30", "30 in clusters", "300", "300 in clusters")
LARGE = ("2000", "5000", "5000 in clusters")
GRAPHS = (*ODD, *PROGRAMS, *(pytest.param(name, marks=pytest.mark.long) for name in LARGE))
# Arcs that lead upwards: those that close a cycle, in any order of the boxes on it at least these.
UPWARD = {"complete": 60 * 59 // 2, "ring": 1, "two ways": 39, "chain": 0, "star": 0,
          "star inwards": 0, "tree": 0, "repeated arcs": 0}  # fmt: skip
Measures = Callable[[str], dict[str, Any]]


@pytest.fixture(scope="module")
def measures(tmp_path_factory: pytest.TempPathFactory) -> Measures:
    """What is true of the layout of a graph, laid out when it is first asked for."""
    script = bundled("call_graph_layouts.mjs", tmp_path_factory.mktemp("layout"))
    results: dict[str, dict[str, Any]] = {}

    def of(name: str) -> dict[str, Any]:
        if name not in results:
            # All that are quick in one process.
            names = [each for each in (*ODD, *PROGRAMS) if each not in results]
            names = names if name in names else [name]
            printed = output(script, *names)
            results.update(zip(names, map(json.loads, printed.splitlines()), strict=True))
        return results[name]

    return of


@pytest.mark.parametrize("name", GRAPHS)
def test_boxes_are_apart_and_inside(measures: Measures, name: str) -> None:
    for found in (measures(name), measures(name)["after"]):
        assert found["notFinite"] == 0
        assert found["overlaps"] == 0
        assert found["outside"] == 0


@pytest.mark.parametrize("name", GRAPHS)
def test_arcs_lead_from_border_to_border_round_boxes(measures: Measures, name: str) -> None:
    for found in (measures(name), measures(name)["after"]):
        assert found["broken"] == 0
        assert found["ends"] == 0
        assert found["crossing"] == 0
        assert found["labels"] == 0


@pytest.mark.parametrize("name", GRAPHS)
def test_labels_are_off_each_other(measures: Measures, name: str) -> None:
    for found in (measures(name), measures(name)["after"]):
        # Where thousands of arcs are there is not room for all; of two opposite ones nearly always.
        rare = max(int(found["arcs"] > 500), found["arcs"] // 2_000)
        most = found["arcs"] // 20 if name == "complete" else rare
        assert found["oppositeLabels"] <= most
        if name not in ("complete", "chain with long arcs", "repeated arcs", "self arcs"):
            assert found["coveredLabels"] <= found["arcs"] * (0.35 if name in LARGE else 0.2)


@pytest.mark.parametrize("name", GRAPHS)
def test_clusters_hold_their_boxes_and_no_others(measures: Measures, name: str) -> None:
    for found in (measures(name), measures(name)["after"]):
        assert found["clusters"] == 0


@pytest.mark.parametrize("name", GRAPHS)
def test_the_same_graph_has_the_same_picture(measures: Measures, name: str) -> None:
    assert measures(name)["same"]


@pytest.mark.parametrize("name", GRAPHS)
def test_order_stays_when_boxes_go(measures: Measures, name: str) -> None:
    assert measures(name)["after"]["swapped"] == 0


@pytest.mark.parametrize("name", GRAPHS)
def test_what_is_left_without_some_boxes_is_a_layout(measures: Measures, name: str) -> None:
    left = measures(name)["after"]["pruned"]
    faults = ("notFinite", "overlaps", "outside", "broken", "ends", "crossing", "labels", "swapped")
    assert {fault: left[fault] for fault in faults} == dict.fromkeys(faults, 0)
    # That of boxes that have all gone stays where it was: no picture asks for it.
    assert left["clusters"] == 0 or name == "a cluster each"


def test_the_order_was_compared(measures: Measures) -> None:
    assert measures("300")["after"]["pairs"] > 30
    assert measures("tree")["after"]["pairs"] > 30


@pytest.mark.parametrize("name", PROGRAMS)
def test_boxes_stay_about_where_they_were(measures: Measures, name: str) -> None:
    assert measures(name)["after"]["moved"] < 0.05


@pytest.mark.parametrize("name", UPWARD)
def test_callers_are_above_callees(measures: Measures, name: str) -> None:
    assert measures(name)["upward"] == UPWARD[name]


@pytest.mark.parametrize(
    "name",
    ["300", "300 in clusters", "star", "star inwards", "no arcs", "tree", "a cluster each",
     *(pytest.param(name, marks=pytest.mark.long) for name in LARGE)],
)  # fmt: skip
def test_large_graphs_are_neither_long_nor_wide(measures: Measures, name: str) -> None:
    assert 1 / 3 < measures(name)["aspect"] < 3
