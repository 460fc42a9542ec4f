"""The tree beside its source, against the tables' own numbers."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from browser.pages import (
    Served,
    choose_run,
    comes_to,
    names,
    row_of,
    selected,
    text,
    values_of,
    visit,
)
from gnomon.store import run_directory
from gnomon.units import quantity

LINES = """
SELECT r.name, r.file, r.line, SUM(p.exclusive)
FROM profile p JOIN paths USING (path) JOIN regions r USING (region) JOIN metrics m USING (metric)
WHERE m.name = '{metric}' AND r.kind = 'cpu' {where} GROUP BY ALL ORDER BY 4 DESC
"""


def lines(folder: Path, metric: str, where: str = "") -> list[tuple[str, str, int, float]]:
    """Return function, file, line and value of a metric, most first."""
    run = run_directory.find(str(folder / "lines"))
    found = run.query(LINES.format(metric=metric, where=where))
    return [(str(name), str(file), int(line), float(value)) for name, file, line, value in found]


def whole(folder: Path, metric: str) -> float:
    """Return a metric of the whole command."""
    run = run_directory.find(str(folder / "lines"))
    rows = run.query(
        "SELECT p.inclusive FROM profile p JOIN metrics m USING (metric) "
        "JOIN locations l USING (location) "
        f"WHERE m.name = '{metric}' AND l.kind = 'command' AND p.path = 0"
    )
    return float(rows[0][0])


def function(folder: Path, name: str, metric: str = "PAPI_TOT_INS") -> float:
    """Return what a function has of a metric, without callees."""
    return sum(row[3] for row in lines(folder, metric, f"AND r.name = '{name}'"))


def hottest(folder: Path, name: str, file: str) -> tuple[int, str]:
    """Return the line of a file in which a function has most, and its text with single blanks."""
    rows = lines(folder, "PAPI_TOT_INS", f"AND r.name = '{name}'")
    most = next(row[2] for row in rows if Path(row[1]).name == file)
    source = (folder / file).read_text().splitlines()[most - 1]
    return most, re.sub(r"\s+", " ", source).strip()


LOADS = "#/tree?columns=i:PAPI_TOT_INS|e:PAPI_TOT_INS|e:PAPI_LD_INS"


def test_numbers_of_the_tree_are_those_of_the_tables(page: Page, served: Served) -> None:
    visit(page, served, LOADS)
    total = whole(served.folder, "PAPI_TOT_INS")
    expect(page.locator(".tree-row").first).to_be_visible()
    assert values_of(row_of(page, "power"))[0] == quantity(total, "")
    for name in ("main", "product_of"):
        own = function(served.folder, name)
        row = row_of(page, name)
        loads = function(served.folder, name, "PAPI_LD_INS")
        assert values_of(row) == [quantity(own, ""), quantity(own, ""), quantity(loads, "")]
        shown = float(row.locator(".meter-text").first.inner_text())
        assert shown == pytest.approx(100 * own / total, abs=0.051)
    # How each number came to be stands beside it.
    assert page.locator(".tree-row").first.locator(".how-emulated").count() == 3


def test_the_way_to_the_hottest_line_is_open_and_its_source_lit(page: Page, served: Served) -> None:
    visit(page, served)
    hot = lines(served.folder, "PAPI_TOT_INS")
    most = max(("main", "product_of"), key=lambda name: function(served.folder, name))
    line = next(row for row in hot if row[0] == most)
    assert selected(page) == f"{Path(line[1]).name}:{line[2]}"
    lit = page.locator(".cm-lit")
    expect(lit).to_have_count(1)
    source = (served.folder / Path(line[1]).name).read_text().splitlines()
    assert text(lit) == re.sub(r"\s+", " ", source[line[2] - 1]).strip()


def test_values_stand_beside_the_lines_of_c_and_of_fortran(page: Page, served: Served) -> None:
    visit(page, served)
    for name, file in (("main", "power.c"), ("product_of", "product.f90")):
        row_of(page, name).click()
        expect(page.locator(".file-choice .menu-label")).to_have_text(file)
        by_line: dict[int, float] = {}
        for _, where, line, value in lines(served.folder, "PAPI_TOT_INS"):
            if Path(where).name == file:
                by_line[line] = by_line.get(line, 0) + value
        hint = page.locator(".cm-values >> nth=0").locator(".line-value")

        def shown(hint: Locator = hint) -> list[str]:
            return [re.sub(r"\D", "", value) for value in hint.all_inner_texts()]

        comes_to(page, shown, [str(int(by_line[line])) for line in sorted(by_line)])


def test_a_click_on_a_leaf_lights_its_line_and_enter_leads_back(page: Page, served: Served) -> None:
    visit(page, served)
    row_of(page, "product_of").click()
    page.keyboard.press("ArrowRight")
    leaf = page.locator(".name-text.is-line", has_text="product.f90:12").first
    leaf.click()
    expect(page.locator(".cm-lit")).to_contain_text("y(i) = y(i) + a(i, j) * x(j)")
    expect(page).to_have_url(re.compile("file="))
    page.keyboard.press("Enter")
    expect(page.locator(".source-text")).to_be_focused()
    page.keyboard.press("ArrowUp")
    expect(page.locator(".cm-lit")).to_contain_text("do j = 1, n")
    page.keyboard.press("Enter")
    expect(page.locator(".tree-rows")).to_be_focused()
    assert selected(page) == "product.f90:11"


def test_a_click_on_a_function_lights_its_hottest_line(page: Page, served: Served) -> None:
    visit(page, served)
    for name, file in (("main", "power.c"), ("product_of", "product.f90")):
        row_of(page, name).click()
        expect(page.locator(".cm-lit")).to_have_text(hottest(served.folder, name, file)[1])
        assert selected(page) == name


def test_another_grouping_keeps_the_line_and_selects_its_node(page: Page, served: Served) -> None:
    visit(page, served)
    row_of(page, "product_of").click()
    line, source = hottest(served.folder, "product_of", "product.f90")
    expect(page.locator(".cm-lit")).to_have_text(source)
    page.get_by_role("button", name="file", exact=True).click()
    expect(page.locator(".tree-row.is-selected .name-text")).to_have_text(f"product.f90:{line}")
    expect(page.locator(".cm-lit")).to_have_text(source)
    expect(page).to_have_url(re.compile(rf"line={line}\b"))


def test_keys_move_open_and_close(page: Page, served: Served) -> None:
    visit(page, served)
    page.keyboard.press("Home")
    assert selected(page) == "power"
    page.keyboard.press("-")
    closed = names(page)
    assert closed[0] == "power"
    assert not any(":" in name for name in closed[:10])
    page.keyboard.press("ArrowDown")
    first = selected(page)
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert selected(page) != first
    page.keyboard.press("ArrowLeft")
    assert selected(page) == first
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    assert selected(page) == "power"
    page.keyboard.press("ArrowLeft")
    assert names(page) == ["power"]
    page.keyboard.press("*")
    page.keyboard.press("End")
    assert selected(page) != "power"


def test_sorting_puts_most_first_then_least(page: Page, served: Served) -> None:
    visit(page, served, LOADS)
    page.keyboard.press("-")
    loads = page.locator(".tree-head .head", has_text="PAPI_LD_INS")
    loads.click()
    of_functions: dict[str, float] = {}
    for name, _, _, value in lines(served.folder, "PAPI_LD_INS"):
        of_functions[name] = of_functions.get(name, 0) + value
    wanted = sorted(of_functions, key=lambda name: -of_functions[name])[:3]
    assert names(page)[1:4] == wanted
    loads.click()
    assert names(page)[1] not in wanted
    page.locator(".tree-head .head", has_text="name").click()
    shown = [name.lower() for name in names(page)[1:]]
    assert shown == sorted(shown)


def test_a_filter_keeps_what_matches_and_what_is_above(page: Page, served: Served) -> None:
    visit(page, served)
    page.keyboard.press("/")
    page.keyboard.type("product_of")
    assert names(page)[:2] == ["power", "product_of"]
    expect(page.locator(".tree-row.is-match")).not_to_have_count(0)
    page.keyboard.press("Enter")
    assert selected(page) == "product_of"
    page.keyboard.press("/")
    page.keyboard.press("Control+a")
    page.keyboard.type(">20%")
    page.wait_for_timeout(100)
    total = whole(served.folder, "PAPI_TOT_INS")
    large = [row for row in lines(served.folder, "PAPI_TOT_INS") if row[3] >= 0.2 * total]
    kept = [name for name in names(page) if re.search(r":\d+$", name)]
    assert sorted(kept) == sorted(f"{Path(row[1]).name}:{row[2]}" for row in large)
    page.keyboard.press("Escape")
    expect(page.locator("input.filter")).to_have_value("")
    page.keyboard.press("/")
    page.keyboard.type("/(/")
    assert page.locator(".filter.is-wrong").count() == 1


def test_groupings_show_the_same_total(page: Page, served: Served) -> None:
    visit(page, served)
    total = quantity(whole(served.folder, "PAPI_TOT_INS"), "")
    seen = set()
    here = page.locator(".segments .is-here")
    for _ in range(page.locator(".segments button").count()):
        # The keys are heard once a row is chosen.
        expect(page.locator(".tree-row.is-selected")).to_be_visible()
        grouping = here.inner_text()
        seen.add(grouping)
        rows = page.locator(".tree-row[aria-level='1']")
        shown = [int(re.sub(r"\D", "", values_of(rows.nth(at))[0])) for at in range(rows.count())]
        assert quantity(sum(shown), "") == total
        page.keyboard.press("]")
        expect(here).not_to_have_text(grouping)
    assert len(seen) == 4


def test_everything_known_of_a_node(page: Page, served: Served) -> None:
    visit(page, served)
    row_of(page, "main").click(button="right")
    dialog = page.locator("dialog.details")
    expect(dialog.locator(".values tbody tr")).not_to_have_count(0)
    for metric in ("PAPI_TOT_INS", "PAPI_L1_DCM", "PAPI_BR_CN"):
        cells = dialog.locator("tr", has=page.locator("td", has_text=re.compile(f"^{metric}$")))
        own = quantity(function(served.folder, "main", metric), "")
        assert text(cells.locator("td").nth(1)).startswith(own)
    assert "power.c" in text(dialog.locator(".facts"))
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    page.keyboard.press("Shift+F10")
    expect(dialog).to_be_visible()
    dialog.get_by_text("Filter by this name").click()
    expect(page.locator("input.filter")).to_have_value("main")


def test_columns_are_chosen_and_stand_in_the_address(page: Page, served: Served) -> None:
    visit(page, served)
    page.click(".picker .menu-button")
    page.get_by_label("PAPI_L1_DCM inclusive").check()
    page.keyboard.press("Escape")
    heads = page.locator(".tree-head .head-name")
    expect(heads.last).to_have_text("PAPI_L1_DCM")
    expect(page.locator(".tree-row").first.locator(".value")).to_have_count(4)
    assert values_of(row_of(page, "power"))[3] == quantity(whole(served.folder, "PAPI_L1_DCM"), "")
    expect(page).to_have_url(re.compile("columns="))
    page.reload()
    expect(heads.last).to_have_text("PAPI_L1_DCM")


def test_a_python_program_shows_its_sections_on_its_own_source(page: Page, served: Served) -> None:
    visit(page, served, run="primes.viz")
    row_of(page, "all threads").click()
    expect(page.locator(".file-choice .menu-label")).to_have_text("primes.py")
    expect(page.locator(".cm-lit")).to_contain_text('with hpm.section("all threads"')
    # A section of a thread stands below that of all threads in which it was.
    page.keyboard.press("ArrowRight")
    expect(row_of(page, "small_primes")).to_have_attribute("aria-level", "3")
    row_of(page, "small_primes").click()
    expect(page.locator(".cm-lit")).to_contain_text("@hpm.section")


def test_sections_of_a_c_program_light_their_lines_in_its_viz_file(
    page: Page, served: Served
) -> None:
    visit(page, served, run="relax.viz")
    row_of(page, "set up").click()
    expect(page.locator(".file-choice .menu-label")).to_have_text("relax.c")
    expect(page.locator(".cm-lit")).to_contain_text('hpmStart(SET_UP, "set up");')


def test_a_source_that_changed_is_flagged_and_a_missing_one_asked_for(
    page: Page, served: Served, tmp_path: Path
) -> None:
    source = served.folder / "product.f90"
    kept = source.read_text()
    moved = tmp_path / "elsewhere" / "product.f90"
    moved.parent.mkdir()
    try:
        source.rename(moved)
        visit(page, served)
        row_of(page, "product_of").click()
        expect(page.locator(".source-state")).to_have_text("missing")
        page.locator(".source-pane .ask input").fill(str(tmp_path))
        page.locator(".source-pane .ask button").click()
        expect(page.locator(".cm-line").first).to_contain_text("A matrix times a vector")
    finally:
        source.write_text(kept)


def test_a_source_written_after_the_run_is_flagged(page: Page, served: Served) -> None:
    source = served.folder / "power.c"
    source.write_text(source.read_text() + "\n/* a line more */\n")
    visit(page, served)
    row_of(page, "main").click()
    expect(page.locator(".source-state")).to_have_text("changed since the run")
    expect(page.locator(".source-pane .warning")).to_contain_text("has changed since the run")


def test_of_two_sources_of_one_name_the_reader_chooses(
    page: Page, served: Served, tmp_path: Path
) -> None:
    source = served.folder / "primes.py"
    kept = source.read_text()
    for folder in ("first", "second"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "primes.py").write_text(f"# {folder}\n{kept}")
    source.unlink()
    try:
        visit(page, served, run="primes.viz")
        row_of(page, "all threads").click()
        page.locator(".source-pane .ask input").fill(str(tmp_path))
        page.locator(".source-pane .ask button").click()
        page.locator(".choices .item", has_text="second").click()
        expect(page.locator(".cm-line").first).to_have_text("# second")
    finally:
        source.write_text(kept)


def test_against_another_run_every_column_says_how_much_it_changed(
    page: Page, served: Served
) -> None:
    visit(page, served)
    choose_run(page, "slower")
    page.select_option(".against select", label="lines")
    row = row_of(page, "product_of")
    change = row.locator(".change").first
    expect(change).to_be_visible()
    run = run_directory.find(str(served.folder / "slower"))
    after = float(
        run.query(LINES.format(metric="PAPI_TOT_INS", where="AND r.name = 'product_of'")
                  .replace("r.name, r.file, r.line", "r.name, '', 0"))[0][3]
    )  # fmt: skip
    before = function(served.folder, "product_of")
    assert float(change.inner_text().strip(" %+")) == pytest.approx(
        100 * (after / before - 1), abs=0.06
    )
