"""Table, metrics, comparison, run page, what can be opened, and keys, on real runs."""

from __future__ import annotations

import csv
import json
import re
import statistics
import subprocess
from pathlib import Path
from typing import Literal
from urllib.parse import urljoin

import pytest
from playwright.sync_api import Page, Route, expect

from browser.conftest import as_new
from browser.pages import GNOMON, READY, Served, choose_run, comes_to, row_of, text, visit
from gnomon.store import run_directory
from gnomon.units import quantity

# Not the end of 41 rows, which the filter may not yet have left.
ONE_ROW = re.compile(r"\b1 row\b")


def cells(page: Page, row: int) -> list[str]:
    """Return the cells of a row of the table."""
    found = page.locator(".table-row").nth(row).locator(".cell").all_inner_texts()
    return [re.sub(r"\s+", " ", cell).strip() for cell in found]


def titles(page: Page) -> list[str]:
    """Return the titles of the table's columns."""
    return page.locator(".table-head .head-name").all_inner_texts()


def functions(folder: Path, metric: str) -> dict[str, float]:
    """Return each function's count."""
    rows = run_directory.find(str(folder / "lines")).query(
        "SELECT r.name, SUM(p.exclusive) FROM profile p JOIN paths USING (path) "
        "JOIN regions r USING (region) JOIN metrics m USING (metric) "
        f"WHERE m.name = '{metric}' AND r.kind = 'cpu' GROUP BY r.name, r.file"
    )
    return {str(name): float(value) for name, value in rows}


def test_the_table_has_the_functions_with_most_first(page: Page, served: Served) -> None:
    visit(page, served, "#/table")
    expect(page.locator(".table-row").nth(1)).to_be_visible()
    own = functions(served.folder, "PAPI_TOT_INS")
    wanted = sorted(("main", "product_of"), key=lambda name: -own[name])
    at = titles(page).index("PAPI_TOT_INS")
    for row, name in enumerate(wanted):
        shown = cells(page, row)
        assert shown[0] == name
        assert shown[at].startswith(quantity(own[name], ""))


def test_the_table_sorts_filters_hides_and_moves(page: Page, served: Served) -> None:
    visit(page, served, "#/table")
    page.locator(".table-head .head", has_text="function").click()
    expect(page.locator(".table-head .is-sorted .head-name")).to_have_text("function")
    first = [cells(page, row)[0] for row in range(8)]
    assert first == sorted(first, key=str.lower)
    page.keyboard.press("/")
    page.keyboard.type("product")
    expect(page.locator(".status [role=status]")).to_contain_text(ONE_ROW)
    assert cells(page, 0)[0] == "product_of"
    before = titles(page)
    page.locator(".table-head .head", has_text="kind").click(button="right")
    page.get_by_role("button", name="Hide").click()
    expect(page.locator(".table-head .head-name")).to_have_count(len(before) - 1)
    left = titles(page)
    assert "kind" not in left
    at = left.index("PAPI_LD_INS")
    assert at > 0
    page.locator(".table-head .head", has_text="PAPI_LD_INS").click(button="right")
    page.get_by_role("button", name="Move left").click()
    left[at - 1], left[at] = left[at], left[at - 1]
    comes_to(page, lambda: titles(page), left)
    # Keys do the same: choose the first column, hide it.
    page.locator(".table-rows").focus()
    page.keyboard.press("Enter")
    expect(page.locator(".file-choice .menu-label")).to_have_text("product.f90")


@pytest.mark.parametrize("form", ["csv", "json"])
def test_what_is_saved_is_what_the_table_shows(page: Page, served: Served, form: str) -> None:
    visit(page, served, "#/table")
    page.keyboard.press("/")
    page.keyboard.type("product")
    expect(page.locator(".status [role=status]")).to_contain_text(ONE_ROW)
    with page.expect_download() as waited:
        page.get_by_text(f"Save {form.upper()}").click()
    saved = Path(waited.value.path()).read_text()
    own = functions(served.folder, "PAPI_TOT_INS")["product_of"]
    if form == "json":
        document = json.loads(saved)
        assert "product_of" in json.dumps(document)
        assert str(int(own)) in json.dumps(document)
    else:
        rows = [row for row in csv.reader(saved.splitlines()) if not row[0].startswith("#")]
        assert len(rows) == 2
        assert any(float(cell) == own for cell in rows[1] if re.fullmatch(r"[\d.e+]+", cell))


def test_every_table_opens(page: Page, served: Served) -> None:
    visit(page, served, "#/table")
    choices = page.locator("select[aria-label=table] option").all_inner_texts()
    assert len(choices) > 3
    for choice in choices:
        page.select_option("select[aria-label=table]", label=choice)
        expect(page.locator(".status [role=status]")).to_contain_text("row")
        expect(page.locator(".table-row").first).to_be_visible()


def test_the_runs_own_tables_have_pages(page: Page, served: Served) -> None:
    visit(page, served, "#/run")
    page.locator(".row-tables").get_by_role("button", name="profile").click()
    expect(page.locator(".table-row").nth(1)).to_be_visible()
    assert titles(page)[:3] == ["repetition", "location", "location name"]
    n = run_directory.find(str(served.folder / "lines")).query("SELECT COUNT(*) FROM profile")[0][0]
    expect(page.get_by_role("status").first).to_contain_text(quantity(n, ""))
    page.keyboard.press("/")
    page.keyboard.type("product_of PAPI_TOT_INS")
    expect(page.locator(".table-row").first).to_contain_text("product_of")
    page.locator(".table-head .head", has_text="exclusive").click()
    own = functions(served.folder, "PAPI_TOT_INS")["product_of"]
    at = titles(page).index("exclusive")
    expect(page.locator(".table-head .is-sorted .head-name")).to_have_text("exclusive")
    rows = page.locator(".table-row")
    expect(rows.first).to_be_visible()
    shown = [cells(page, row)[at] for row in range(rows.count())]
    assert sum(int(re.sub(r"\D", "", cell)) for cell in shown) == own


def test_metrics_of_threads_are_those_of_the_tables(page: Page, served: Served) -> None:
    visit(page, served, "#/metrics", run="threads")
    page.locator(".metric-row", has_text="task-clock").click()
    expect(page.locator(".one h2")).to_contain_text("task-clock")
    expect(page.locator(".one .summary")).to_be_visible()
    rows = run_directory.find(str(served.folder / "threads")).query(
        "SELECT p.inclusive FROM profile p JOIN metrics m USING (metric) "
        "JOIN locations l USING (location) WHERE m.name = 'task-clock' AND l.kind = 'thread'"
    )
    values = [float(row[0]) for row in rows]
    summary = {
        text(one.locator("dt")): text(one.locator("dd").first)
        for one in page.locator(".summary > div").all()
    }
    assert summary["min"].startswith(quantity(min(values), "ns"))
    assert summary["max"].startswith(quantity(max(values), "ns"))
    assert summary["mean"].startswith(quantity(statistics.fmean(values), "ns"))
    expect(page.locator(".heat canvas").first).to_be_visible()
    expect(page.locator(".plot canvas").first).to_be_visible()
    # The heat map is read with the mouse and with keys.
    canvas = page.locator(".heat canvas").first
    canvas.focus()
    page.keyboard.press("ArrowRight")
    said = page.locator(".heat-said")
    expect(said).to_contain_text("thread")
    assert any(quantity(value, "ns") in text(said) for value in values)


def test_a_run_is_shown_when_all_of_it_is_there(page: Page, served: Served) -> None:
    """With the metrics of another it would ask for what it has not."""
    visit(page, served, "#/metrics")
    asked: list[str] = []
    held: list[Route] = []
    page.route(re.compile(r"/api/runs/\d+/metrics$"), lambda route: held.append(route))
    with page.expect_response(re.compile(r"/api/runs/\d+$")) as told:
        choose_run(page, "threads")
    assert told.value.json()["title"] == "threads"
    page.on("request", lambda request: asked.append(request.url))
    page.wait_for_timeout(500)
    assert [url for url in asked if "metric=" in url] == []
    expect(page.locator(".waiting")).to_have_text("reading threads")
    held[0].continue_()
    expect(page.locator(".metric-row", has_text="task-clock")).to_be_visible()


def test_formulas_and_how_stand_with_every_metric(page: Page, served: Served) -> None:
    visit(page, served, "#/metrics?metric=l1_hit_rate")
    expect(page.locator(".one .formula")).to_contain_text("PAPI_L1_DCM")
    assert page.locator(".metric-row .how-emulated").count() > 10
    hint = page.locator(".metric-row", has_text="l1_hit_rate").get_attribute("title") or ""
    assert "=" in hint
    assert "emulated" in hint


def test_metrics_are_chosen_by_keys(page: Page, served: Served) -> None:
    visit(page, served, "#/metrics")
    page.keyboard.press("/")
    page.keyboard.type("l1_data_miss_ratio")
    page.keyboard.press("Enter")
    expect(page.locator(".one h2")).to_contain_text("l1_data_miss_ratio")
    page.keyboard.press("/")
    page.keyboard.press("Escape")
    page.keyboard.press("ArrowDown")
    expect(page.locator(".one h2")).not_to_contain_text("l1_data_miss_ratio")
    page.keyboard.press("e")
    expect(page.locator(".segments .is-here")).to_have_text("exclusive")


def test_metrics_of_a_node_come_from_the_tree(page: Page, served: Served) -> None:
    visit(page, served)
    row_of(page, "main").click(button="right")
    page.get_by_text("Ranks and threads").click()
    expect(page.locator(".node-name")).to_have_text("main")
    own = functions(served.folder, "PAPI_TOT_INS")["main"]
    expect(page.locator(".metric-row.is-here .number")).to_have_text(quantity(own, ""))
    page.get_by_text("Whole run").click()
    expect(page.locator(".node-name")).to_have_text("power")


def test_the_comparison_is_what_gnomon_compare_says(page: Page, served: Served) -> None:
    visit(page, served, "#/compare")
    choose_run(page, "slower")
    page.select_option("select[aria-label=baseline]", label="lines")
    expect(page.locator(".compare-row").first).to_be_visible()
    for per in ("", "function"):
        if per:
            page.get_by_role("button", name="by function").click()
            expect(page.locator(".compare-head > span").first).to_have_text("function")
        command = [GNOMON, "compare", "lines", "slower", "--json", *(["--per", per] if per else [])]
        said = subprocess.run(
            command, cwd=served.folder, capture_output=True, text=True, check=True
        )
        found = json.loads(said.stdout)["comparisons"][0]["places" if per else "metrics"]
        first = next(row for row in found if row["change"] is not None)
        row = page.locator(".compare-row").first
        assert text(row.locator(".cell").nth(1)).startswith(
            quantity(first["before"], first["unit"])
        )
        assert text(row.locator(".cell").nth(2)).startswith(quantity(first["after"], first["unit"]))
        percent = abs(100 * first["change"])
        assert f"{percent:.{1 if percent >= 10 else 2}f} %" in text(row)
    # Any metric that the places have, not only the first.
    page.locator(".compare-view .picker .menu-button").click()
    page.locator(".picker-list .item", has_text="PAPI_LD_INS").click()
    command = [GNOMON, "compare", "lines", "slower", "--json", "--per", "function", "-e"]
    said = subprocess.run(
        [*command, "PAPI_LD_INS"], cwd=served.folder, capture_output=True, text=True, check=True
    )
    first = json.loads(said.stdout)["comparisons"][0]["places"][0]
    row = page.locator(".compare-row").first
    expect(row.locator(".cell").nth(2)).to_contain_text(quantity(first["after"], first["unit"]))
    assert first["metric"] == "PAPI_LD_INS"
    # Keys choose a row, and Enter goes to its place in the source.
    page.locator(".compare-rows").focus()
    page.keyboard.press("ArrowDown")
    expect(page.locator(".compare-row").nth(1)).to_have_class(re.compile("is-selected"))
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    source = Path(first["place"]["file"]).name
    expect(page.locator(".file-choice .menu-label")).to_have_text(source)
    page.go_back()
    page.get_by_role("button", name="Swap").click()
    expect(page.locator(".run-title .menu-label")).to_contain_text("lines")


def test_the_run_page_says_what_ran_and_what_was_not_available(page: Page, served: Served) -> None:
    visit(page, served, "#/run", run="threads")
    head = run_directory.find(str(served.folder / "threads")).head
    shown = text(page.locator(".run-page"))
    assert "./uneven" in shown
    assert str(head["hosts"][0]["name"]) in shown
    assert quantity(head["wall_seconds"], "s") in shown
    for missing in head["unavailable"]:
        assert missing["event"] in shown
        assert missing["reason"] in shown
    for component in head["components"]:
        assert component["name"] in shown


def test_runs_are_opened_from_inside(page: Page, served: Served, trouble: list[str]) -> None:
    visit(page, served)
    page.keyboard.press("o")
    entries = page.locator("dialog.open .entries .item")
    expect(entries.filter(has_text="lines.gnomon")).to_have_count(1)
    entries.filter(has_text="lines.gnomon").click()
    entries.filter(has_text="slower.gnomon").click()
    page.get_by_text("Combine into one").click()
    expect(page.locator("dialog.open")).to_have_count(0)
    expect(page.locator(".tree-row").first).to_be_visible()
    page.keyboard.press("o")
    page.locator("dialog.open input").fill(str(served.folder / "nothing.gnomon"))
    with page.expect_response(lambda answer: "api/open" in answer.url):
        page.locator("dialog.open .ask button").click()
    expect(page.locator("dialog.open .trouble").first).to_contain_text("nothing.gnomon")
    page.keyboard.press("Escape")
    trouble[:] = [one for one in trouble if "api/open" not in one and "400" not in one]


def test_keys_lead_everywhere(page: Page, served: Served) -> None:
    visit(page, served)
    expect(page.locator(".tree-row").first).to_be_visible()
    views = {"a": "table", "m": "metrics", "c": "compare", "r": "run", "t": "tree"}
    for letter, name in views.items():
        # The two have to follow one another soon, which they do not on every busy machine.
        for _ in range(10):
            page.keyboard.press("g")
            page.keyboard.press(letter)
            if page.evaluate("location.hash").startswith(f"#/{name}"):
                break
        expect(page).to_have_url(re.compile(f"#/{name}"))
    page.keyboard.press("?")
    expect(page.locator("dialog.help")).to_be_visible()
    for link in page.locator("dialog.help a").all():
        answer = page.request.get(urljoin(page.url, link.get_attribute("href") or ""))
        assert answer.ok
        assert "license" in answer.text().lower()
    page.keyboard.press("Escape")
    expect(page.locator("dialog.help")).to_have_count(0)
    page.go_back()
    expect(page).to_have_url(re.compile("#/run"))


def test_dark_and_bright(page: Page, served: Served) -> None:
    schemes: tuple[Literal["dark", "light"], ...] = ("dark", "light")
    for scheme in schemes:
        as_new(page)
        page.emulate_media(color_scheme=scheme)
        visit(page, served)
        expect(page.locator(".tree-row").first).to_be_visible()
        ground = "getComputedStyle(document.body).backgroundColor"
        before = page.evaluate(ground)
        page.keyboard.press("d")
        after = page.evaluate(ground)
        assert before != after
        page.reload()
        expect(page.locator(".tree-row").first).to_be_visible()
        assert page.evaluate(ground) == after


def test_no_view_is_wider_than_the_window(page: Page, served: Served) -> None:
    visit(page, served)
    for view, ready in READY.items():
        page.goto(urljoin(page.url, f"#/{view}"))
        page.wait_for_selector(ready)
        for width, height in ((2560, 1440), (1280, 800)):
            page.set_viewport_size({"width": width, "height": height})
            page.wait_for_timeout(600)
            found = page.evaluate(
                "[document.documentElement.scrollWidth, document.documentElement.scrollHeight]"
            )
            assert found == [width, height], view
