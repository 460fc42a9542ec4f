"""Call trees of sampled runs, top-down and bottom-up, beside the source."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from sampled_runs import Frame, Stack, write

from benchmarks import large_samples
from browser.conftest import PROGRAMS
from browser.pages import (
    GNOMON,
    Opened,
    Served,
    comes_to,
    names,
    row_of,
    selected,
    text,
    values_of,
    visit,
)
from gnomon.store import run_directory
from gnomon.view import callers_tree

SOURCE = (PROGRAMS / "mesh.cpp").read_text().splitlines()


def line(part: str) -> int:
    """Return the line of the source that has a text."""
    (at,) = (at for at, code in enumerate(SOURCE, 1) if part in code)
    return at


def stacks(folder: Path, slower: int = 1) -> list[Stack]:
    """Return samples of the program in a folder, some of them so much slower."""
    file = str(folder / "mesh.cpp")

    def frame(function: str, part: str) -> Frame:
        return Frame(function, line(part), file, "mesh")

    main = frame("main", "double sum = mesh::worker(rounds)")
    refining = frame("mesh::worker", "grid.refine(-20")
    halves = [frame("mesh::Grid::refine", f"refine({half}") for half in ("begin, middle", "middle")]
    smoothing = frame("mesh::worker", "grid.smooth(40")
    kernel = frame("mesh::Grid::smooth", "cells_[at].value = kernel")
    mean = frame("mesh::mean", "(left + 2 * here + right)")
    curvature = frame("mesh::curvature", "std::sin(x)")
    libm = Frame("__sin_fma", 0, "", "libm.so.6")
    return [
        Stack((main, smoothing, kernel, mean), 400),
        Stack((main, smoothing, kernel), 100 * slower),
        Stack((main, refining, halves[0], halves[0], curvature, libm), 60),
        Stack((main, refining, halves[0], halves[1], curvature), 30),
        Stack((main, refining, halves[0]), 10),
        Stack((main, smoothing, kernel, mean), 200, tid=101),
    ]


@pytest.fixture(scope="module")
def sampled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Serve two sampled runs of a C++ program."""
    folder = tmp_path_factory.mktemp("sampled")
    shutil.copy(PROGRAMS / "mesh.cpp", folder)
    write(folder / "mesh", stacks(folder))
    write(folder / "slower", stacks(folder, slower=3))
    with Opened([GNOMON, "view", "mesh", "slower", "--no-browser"], folder) as opened:
        yield opened


def test_the_hottest_path_is_open_and_its_line_lit(page: Page, sampled: Served) -> None:
    visit(page, sampled)
    assert text(page.locator(".segments .is-here")) == "top-down"
    assert selected(page) == "mesh::mean"
    assert names(page)[:5] == ["app", "main", "mesh::worker", "mesh::Grid::smooth", "mesh::mean"]
    comes_to(page, lambda: values_of(row_of(page, "mesh::Grid::smooth")), ["7 s", "1 s"])
    expect(page.locator(".source-text .cm-lit, .source-frame .is-lit").first).to_contain_text(
        "left + 2 * here + right"
    )


def test_call_sites_are_one_function_and_lines_come_on_demand(page: Page, sampled: Served) -> None:
    visit(page, sampled)
    page.get_by_text("Expand all").click()
    assert names(page).count("mesh::worker") == 1
    assert values_of(row_of(page, "mesh::worker"))[0] == "8 s"
    page.locator(".segments button", has_text="lines").click()
    expect(page.locator(".tree-row").nth(2)).to_contain_text("mesh.cpp:")
    page.get_by_text("Expand all").click()
    call = f"mesh.cpp:{line('grid.smooth(40')}"
    expect(row_of(page, call)).to_be_visible()
    comes_to(page, lambda: values_of(row_of(page, call)), ["7 s", "0 ns"])


def test_bottom_up_the_hottest_function_is_first(page: Page, sampled: Served) -> None:
    visit(page, sampled, "#/tree?by=callers")
    expect(page.locator(".tree-row.is-selected")).to_contain_text("mesh::mean")
    assert names(page)[1:4] == ["mesh::mean", "mesh::Grid::smooth", "mesh::Grid::smooth"]
    comes_to(page, lambda: values_of(row_of(page, "mesh::mean")), ["6 s", "6 s"])
    page.keyboard.press("h")
    expect(page.locator(".tree-row.is-selected")).to_contain_text("main")
    assert names(page)[1:5] == ["mesh::mean", "mesh::Grid::smooth", "mesh::worker", "main"]
    # Recursion counts once: 100 samples are in refine, 30 in calls of it by itself alone.
    comes_to(page, lambda: values_of(row_of(page, "mesh::Grid::refine")), ["1 s", "100 ms"])


def test_the_gutter_has_what_a_line_computes_and_what_it_calls(page: Page, sampled: Served) -> None:
    visit(page, sampled)
    titles = page.locator(".source-columns > span[title]")
    expect(titles.nth(0)).to_contain_text("self CPU time")
    expect(titles.nth(1)).to_contain_text("total CPU time")
    own, whole = (page.locator(f".cm-values >> nth={at}").locator(".line-value") for at in (0, 1))
    expect(own.filter(has_text="6 s")).to_have_count(1)
    # Both lines of the calls that lead to it, and its own.
    expect(whole.filter(has_text="7 s")).to_have_count(2)
    assert "standard error of 600 samples" in str(own.filter(has_text="6 s").get_attribute("title"))


def test_a_value_says_its_error(page: Page, sampled: Served) -> None:
    visit(page, sampled)
    hint = row_of(page, "mesh::mean").locator(".value").first.get_attribute("title")
    assert hint == "± 240 ms: standard error of 600 samples"
    row_of(page, "mesh::mean").click(button="right")
    expect(page.locator("dialog.details .values tbody")).to_contain_text("± 4.1 %")
    page.keyboard.press("Escape")


def test_threads_have_call_trees_of_their_own(page: Page, sampled: Served) -> None:
    visit(page, sampled)
    page.locator(".segments button", has_text="rank").click()
    expect(page.locator(".tree-row").nth(1)).to_contain_text("process")
    page.get_by_text("Expand all").click()
    expect(row_of(page, "thread 101 app")).to_be_visible()
    assert values_of(row_of(page, "thread 101 app"))[0] == "2 s"
    assert names(page).count("mesh::mean") == 2
    page.locator(".segments button", has_text="module").click()
    expect(row_of(page, "libm.so.6")).to_be_visible()
    comes_to(page, lambda: values_of(row_of(page, "libm.so.6")), ["600 ms", "600 ms"])


def test_a_filter_finds_functions_in_any_call(page: Page, sampled: Served) -> None:
    visit(page, sampled)
    page.keyboard.press("/")
    page.keyboard.type("__sin")
    expect(row_of(page, "__sin_fma")).to_be_visible()
    assert names(page)[-2:] == ["mesh::curvature", "__sin_fma"]


def test_two_runs_are_compared_call_by_call(page: Page, sampled: Served) -> None:
    visit(page, sampled, run="slower")
    page.select_option(".against select", label="mesh")
    change = row_of(page, "mesh::Grid::smooth").locator(".change")
    expect(change.first).to_have_text("+28.6 %")
    expect(change.nth(1)).to_have_text("+200.0 %")
    page.locator(".segments button", has_text="bottom-up").click()
    expect(page.locator(".segments .is-here")).to_have_text("bottom-up")
    expect(row_of(page, "mesh::mean").locator(".change").first).to_have_text("0 %")


def nodes(page: Page) -> int:
    """Return how many nodes the tree says that it has."""
    return int("".join(filter(str.isdigit, text(page.locator(".tree-pane .note")))))


def test_callers_of_a_large_run_come_when_they_are_looked_at(
    page: Page, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("large")
    large_samples.write(folder / "large", samples=20_000)
    with Opened([GNOMON, "view", "large", "--no-browser"], folder) as opened:
        visit(page, opened, "#/tree?by=callers")
        (rows,) = run_directory.find(str(folder / "large")).query(
            "SELECT COUNT(DISTINCT name) FROM regions"
        )
        functions = int(rows[0])
        # The callers of the hottest function come with it, those of others when one is opened.
        expect(page.locator(".tree-row[aria-level='3']").first).to_be_visible()
        assert functions < nodes(page) < functions + callers_tree.NODES_MORE
        before = nodes(page)
        page.keyboard.press("ArrowLeft")
        page.keyboard.press("ArrowDown")
        page.keyboard.press("ArrowRight")
        expect(page.locator(".tree-row[aria-level='3']").first).to_be_visible()
        assert selected(page) == names(page)[2]
        comes_to(page, lambda: nodes(page) > before, wanted=True)
        page.keyboard.press("ArrowLeft")
        page.keyboard.press("ArrowUp")
        page.keyboard.press("ArrowRight")
        expect(page.locator(".tree-row[aria-level='3']").first).to_be_visible()
        own = float(values_of(page.locator(".tree-row").nth(1))[1].split()[0])
        below = page.locator(".tree-row[aria-level='3']")
        parts = [values_of(below.nth(at))[1].split() for at in range(below.count())]
        assert sum(float(value) for value, _ in parts) == pytest.approx(own, rel=0.02)
        page.goto("about:blank")


def test_in_a_narrow_window_the_source_is_below_the_tree(page: Page, sampled: Served) -> None:
    page.set_viewport_size({"width": 700, "height": 700})
    visit(page, sampled)
    boxes = [page.locator(f".{name}-pane").bounding_box() for name in ("tree", "source")]
    assert all(box is not None and box["width"] == 700 for box in boxes)
    tree, source = (box for box in boxes if box is not None)
    assert source["y"] >= tree["y"] + tree["height"]
    assert source["height"] > 150
    for button in page.locator(".bar button, .tools button, .tools select").all():
        box = button.bounding_box()
        assert box is None or box["x"] + box["width"] <= 700
