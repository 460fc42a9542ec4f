"""A call graph that is laid out beside the page: what comes is what was asked for last."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from benchmarks import profiled_program
from browser.pages import GNOMON, Opened, Served, comes_to, visit
from browser.test_callgraph import choose, locate, status

FUNCTIONS, CALLS = 1_500, 3_000
FIRST = 300


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder: Path = tmp_path_factory.mktemp("large-graph")
    program = profiled_program.build(folder, FUNCTIONS)
    (file,) = profiled_program.write_files(program, folder, 1, CALLS)
    with Opened([GNOMON, "view", file.name, "--no-browser"], folder) as opened:
        yield opened


@pytest.fixture
def graph(page: Page, served: Served) -> Page:
    visit(page, served, "#/callgraph")
    expect(page.locator(".graph-canvas")).to_be_visible()
    return page


def boxes(page: Page, file: Path) -> dict[str, tuple[str, ...]]:
    """Return where each function's box is in the picture, and how large."""
    with page.expect_download() as saved:
        choose(page, "View", "Save as SVG")
    saved.value.save_as(file)
    found = re.findall(
        r"<title>(\S+) [^<]*\[\d+\]\n[^<]*</title>"
        r'<rect x="([\d.-]+)" y="([\d.-]+)" width="([\d.]+)" height="([\d.]+)"',
        file.read_text(),
    )
    return {name: tuple(rectangle) for name, *rectangle in found}


def settled(page: Page) -> None:
    expect(page.locator(".graph-box")).to_have_attribute("aria-busy", "false")


def test_a_filter_shows_what_it_says(graph: Page, tmp_path: Path) -> None:
    assert status(graph)[0] == FIRST
    choose(graph, "Filter", "Show Entire Call Tree")
    comes_to(graph, lambda: status(graph)[:2], (status(graph)[1],) * 2)
    settled(graph)
    n = status(graph)[1]
    assert n >= FUNCTIONS
    assert len(boxes(graph, tmp_path / "all.svg")) == n
    # Of several, each asked for before the one before was there, the last.
    choose(graph, "Filter", "Uncluster Functions")
    choose(graph, "Filter", "Cluster Functions by Library")
    choose(graph, "Filter", "Filter by CPU Time…")
    graph.get_by_label("how many", exact=True).fill("1000")
    graph.get_by_role("button", name="OK").click()
    comes_to(graph, lambda: status(graph)[0], 1000)
    settled(graph)
    assert len(boxes(graph, tmp_path / "most.svg")) == 1000
    graph.wait_for_timeout(500)
    assert status(graph)[0] == 1000


def test_all_others_stay_where_they_are_when_one_is_hidden(graph: Page, tmp_path: Path) -> None:
    choose(graph, "Filter", "Show Entire Call Tree")
    comes_to(graph, lambda: status(graph)[0] >= FUNCTIONS, True)
    settled(graph)
    before = boxes(graph, tmp_path / "before.svg")
    # Not the one with most: the sizes of others are shares of it.
    name = sorted(before)[700]
    locate(graph, name)
    graph.locator(".graph-canvas").focus()
    graph.keyboard.press("Enter")
    graph.get_by_role("menuitem", name="Hide This Function").click()
    comes_to(graph, lambda: status(graph)[0], len(before) - 1)
    after = boxes(graph, tmp_path / "after.svg")
    assert after == {other: place for other, place in before.items() if other != name}
    arrows = '<path d=[^>]*fill="none"'
    drawn = [len(re.findall(arrows, (tmp_path / f"{when}.svg").read_text()))
             for when in ("before", "after")]  # fmt: skip
    assert drawn[0] > drawn[1] > 0
