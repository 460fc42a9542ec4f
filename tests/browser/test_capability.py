"""A capability that the view has never heard of: every view shows its regions and metrics."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect
from weather import weather_run

from browser.pages import GNOMON, Opened, Served, choose_run, names, row_of, text, values_of, visit


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Serve two runs that know of the weather."""
    folder = tmp_path_factory.mktemp("weather")
    assert weather_run(folder, "cold", garden=(10, 40), cellar=(12, 80)) == 0
    assert weather_run(folder, "warm", garden=(21.5, 30), cellar=(12, 80)) == 0
    with Opened([GNOMON, "view", "cold", "warm", "--no-browser"], folder) as opened:
        yield opened


def test_the_tree_groups_by_it(page: Page, served: Served) -> None:
    visit(page, served, "#/tree?by=capability&columns=i:temperature|i:humidity", run="warm")
    page.keyboard.press("*")
    expect(row_of(page, "garden")).to_be_visible()
    assert "weather" in names(page)
    assert values_of(row_of(page, "garden")) == ["21.5 degC", "30 %"]
    assert row_of(page, "garden").locator(".how-estimated").count() == 1
    page.goto(served.address + "#/tree?by=region&columns=i:temperature")
    expect(row_of(page, "cellar")).to_be_visible()


def test_the_table_has_its_columns(page: Page, served: Served) -> None:
    visit(page, served, "#/table", run="warm")
    heads = page.locator(".table-head .head-name").all_inner_texts()
    assert {"temperature", "humidity", "kind"} <= set(heads)
    page.keyboard.press("/")
    page.keyboard.type("garden")
    expect(page.locator(".table-row")).to_have_count(1)
    assert "21.5 degC" in text(page.locator(".table-row"))
    assert "weather" in text(page.locator(".table-row"))


def test_its_metrics_are_among_the_others(page: Page, served: Served) -> None:
    page.goto(served.address + "#/metrics?metric=humidity&by=region")
    page.wait_for_selector(".metric-row")
    choose_run(page, "warm")
    expect(page.locator(".one h2")).to_contain_text("humidity")
    expect(page.locator(".one")).to_contain_text("component weather")
    expect(page.locator(".metric-row", has_text="temperature")).to_have_count(1)
    # The whole program has none: its parts are offered.
    page.locator(".one").get_by_role("button", name="cellar").click()
    expect(page.locator(".summary")).to_contain_text("80 %")


def test_its_regions_are_compared_by_any_metric(page: Page, served: Served) -> None:
    visit(page, served, "#/compare", run="warm")
    page.select_option("select[aria-label=baseline]", label="cold")
    page.get_by_role("button", name="by region").click()
    page.locator(".compare-view .picker .menu-button").click()
    page.locator(".picker-list .item", has_text="temperature").click()
    first = page.locator(".compare-row").first
    expect(first).to_contain_text("garden")
    expect(first).to_contain_text("weather")
    expect(first).to_contain_text("+115.0 %")
    page.locator(".compare-view .picker .menu-button").click()
    page.locator(".picker-list .item", has_text="humidity").click()
    expect(page.locator(".compare-row").first).to_contain_text("-25.0 %")


def test_the_run_page_names_it(page: Page, served: Served) -> None:
    visit(page, served, "#/run", run="warm")
    expect(page.locator(".holdings")).to_contain_text("weather 2 regions")
    expect(page.locator(".warnings")).to_contain_text("it may rain")
