"""A tree of 100,000 nodes, 1,536 threads and a table as long: all of it is there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from benchmarks import large_run
from browser.pages import GNOMON, Opened, Served, names, selected, text, values_of, visit
from gnomon.store import run_directory
from gnomon.units import number, quantity

NODES = number(large_run.NODES)
# Only what is on the screen exists, and a little more.
MOST_ROWS = 120


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Serve the generated run."""
    folder = tmp_path_factory.mktemp("large")
    large_run.write(folder / "large")
    with Opened([GNOMON, "view", "large", "--no-browser"], folder) as opened:
        yield opened


def steps(folder: Path, what: str) -> list[tuple[str, float]]:
    """Return names and times of sections, by a query's end."""
    rows = run_directory.find(str(folder / "large")).query(
        "SELECT r.name, p.inclusive FROM profile p JOIN paths USING (path) "
        "JOIN regions r USING (region) JOIN metrics m USING (metric) "
        f"WHERE m.name = 'time' AND p.location = 0 {what}"
    )
    return [(str(name), float(value)) for name, value in rows]


def test_every_node_is_there_and_only_the_seen_ones_are_drawn(page: Page, large: Served) -> None:
    visit(page, large)
    expect(page.locator(".tree-pane .note")).to_have_text(f"{NODES} nodes")
    page.get_by_text("Expand all").click()
    rows = page.locator(".tree-rows")
    expect(rows).to_have_attribute("aria-rowcount", str(large_run.NODES))
    page.keyboard.press("End")
    assert page.locator(".tree-row").count() < MOST_ROWS
    least = min(steps(large.folder, "AND r.name LIKE 'phase%'"), key=lambda row: row[1])[0]
    assert page.locator(".tree-row.is-selected").get_attribute("aria-level") == "4"
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    assert selected(page) == least


def test_sorting_and_filters_reach_all_of_them(page: Page, large: Served) -> None:
    visit(page, large)
    root = steps(large.folder, "AND r.name = 'app'")[0][1]
    assert values_of(page.locator(".tree-row").first)[0] == quantity(root, "ns")
    page.keyboard.press("/")
    page.keyboard.type("step 17")
    found = len(steps(large.folder, "AND r.name LIKE '%step%' AND r.name LIKE '%17%'"))
    expect(page.locator(".tree-pane .note")).to_have_text(f"{number(found)} of {NODES} nodes")
    page.keyboard.press("Escape")
    page.keyboard.press("/")
    page.keyboard.type(">0.01%")
    found = len(steps(large.folder, f"AND p.inclusive >= {root} * 0.0001"))
    expect(page.locator(".tree-pane .note")).to_have_text(f"{number(found)} of {NODES} nodes")
    page.keyboard.press("Escape")
    page.locator(".tree-head .head", has_text="name").click()
    page.get_by_text("Expand all").click()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowDown")
    assert names(page)[1] == "phase 0"


def test_the_heat_map_has_every_rank_and_thread(page: Page, large: Served) -> None:
    visit(page, large, "#/metrics")
    places = large_run.RANKS * large_run.THREADS
    expect(page.locator(".figure h3").last).to_contain_text(f"over {number(places)} locations")
    expect(page.locator(".figure h3").first).to_contain_text("rank by thread")
    values = [
        float(row[0])
        for row in run_directory.find(str(large.folder / "large")).query(
            "SELECT inclusive FROM profile p JOIN locations l USING (location) "
            "JOIN metrics m USING (metric) WHERE l.kind = 'thread' AND m.name = 'time'"
        )
    ]
    shown = text(page.locator(".summary"))
    for value in (min(values), max(values)):
        assert quantity(value, "ns") in shown
    page.locator(".summary .link").last.click()
    expect(page.locator(".heat-said")).to_contain_text(quantity(max(values), "ns"))


def test_the_table_scrolls_to_its_last_row(page: Page, large: Served) -> None:
    visit(page, large, "#/table?table=values")
    status = page.locator(".status [role=status]")
    expect(status).to_contain_text("rows")
    rows = run_directory.find(str(large.folder / "large")).query("SELECT count(*) FROM profile")[0][
        0
    ]
    shown = int("".join(filter(str.isdigit, text(status))))
    assert 0 < shown <= rows
    page.keyboard.press("End")
    last = page.locator(".table-row.is-selected .row-number")
    expect(last).to_have_text(number(shown))
    expect(page.locator(".table-row.is-selected .cell").first).not_to_be_empty()
    assert page.locator(".table-row").count() < MOST_ROWS
