"""Call trees of a C++ and a Python program that are sampled here, against the runs' tables."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterator
from typing import NamedTuple

import pytest
from playwright.sync_api import Page, expect

from browser.conftest import PROGRAMS, ran
from browser.pages import (
    GNOMON,
    Opened,
    Served,
    comes_to,
    names,
    selected,
    text,
    values_of,
    visit,
)
from gnomon.store import inlined_calls, run_directory
from gnomon.units import quantity

PATHS = """
SELECT t.path, t.parent, r.kind, r.name, r.module, r.file, r.line, v.inclusive, v.exclusive
FROM paths t JOIN regions r USING (region) JOIN (
    SELECT path, SUM(inclusive) AS inclusive, SUM(exclusive) AS exclusive
    FROM profile JOIN metrics USING (metric) WHERE name = 'CPU time' GROUP BY path
) v USING (path)
"""


class CallPath(NamedTuple):
    """A path of the run, as its tables have it."""

    path: int
    parent: int
    kind: str
    name: str
    module: str
    file: str
    line: int
    inclusive: float
    exclusive: float

    @property
    def function(self) -> tuple[str, str]:
        """Its function: those of Python are in one file each, others in one module."""
        return self.name, self.file if self.module == "python" else self.module


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Sample both programs and serve the runs."""
    folder = tmp_path_factory.mktemp("recorded")
    for name in ("mesh.cpp", "heat.py"):
        shutil.copy(PROGRAMS / name, folder)
    ran(["c++", "-g", "-O1", "-pthread", "-o", "mesh", "mesh.cpp"], folder)
    ran([GNOMON, "record", "--name", "mesh", "--", "./mesh", "800"], folder)
    ran([GNOMON, "record", "--name", "heat", "--", sys.executable, "heat.py"], folder)
    with Opened([GNOMON, "view", "mesh", "heat", "--no-browser"], folder) as opened:
        yield opened


def paths(served: Served, run: str) -> dict[int, CallPath]:
    """Return the paths of a run by their number."""
    rows = run_directory.find(str(served.folder / run)).query(PATHS)
    return {int(row[0]): CallPath(*row) for row in rows}


def own_times(found: dict[int, CallPath]) -> dict[tuple[str, str], float]:
    """Return the CPU time of each function's own code."""
    times: dict[tuple[str, str], float] = {}
    for path in found.values():
        if path.kind == "cpu":
            times[path.function] = times.get(path.function, 0.0) + path.exclusive
    return times


@pytest.mark.parametrize("run", ["mesh", "heat"])
def test_the_tree_has_all_that_was_sampled(page: Page, recorded: Served, run: str) -> None:
    visit(page, recorded, run=run)
    found = paths(recorded, run)
    (root,) = (path for path in found.values() if path.parent < 0)
    comes_to(
        page, lambda: values_of(page.locator(".tree-row").first)[0], quantity(root.inclusive, "s")
    )
    tops: dict[tuple[str, str], float] = {}
    for path in found.values():
        if path.parent == root.path:
            tops[path.function] = tops.get(path.function, 0.0) + path.inclusive
    page.get_by_text("Collapse all").click()
    rows = page.locator(".tree-row[aria-level='2']")
    expect(rows).to_have_count(len(tops))
    shown = [values_of(rows.nth(at))[0] for at in range(rows.count())]
    assert shown == [quantity(value, "s") for value in sorted(tops.values(), reverse=True)]


@pytest.mark.parametrize("run", ["mesh", "heat"])
def test_bottom_up_begins_with_the_function_that_computed_most(
    page: Page, recorded: Served, run: str
) -> None:
    visit(page, recorded, "#/tree?by=callers", run=run)
    times = own_times(paths(recorded, run))
    (name, _), most = max(times.items(), key=lambda one: one[1])
    first = page.locator(".tree-row[aria-level='2']").first
    comes_to(page, lambda: values_of(first)[1], quantity(most, "s"))
    assert (first.locator(".name-text").text_content() or "") == name


def test_the_source_of_the_cpp_program_is_beside_its_tree(page: Page, recorded: Served) -> None:
    visit(page, recorded, run="mesh")
    expect(page.locator(".file-choice .menu-label")).to_have_text("mesh.cpp")
    expect(page.locator(".source-state")).not_to_have_text("missing")
    assert selected(page).startswith("mesh::")
    by_line: dict[int, float] = {}
    file = str(recorded.folder / "mesh.cpp")
    for path in paths(recorded, "mesh").values():
        if path.file == file and path.exclusive > 0:
            by_line[path.line] = by_line.get(path.line, 0.0) + path.exclusive
    most = quantity(max(by_line.values()), "s")
    own = page.locator(".cm-values >> nth=0").locator(".line-value")
    expect(own.filter(has_text=most).first).to_be_visible()


def test_inlined_code_is_charged_to_its_caller_on_demand(page: Page, recorded: Served) -> None:
    run = run_directory.find(str(recorded.folder / "mesh"))
    by_inlined = {
        is_inlined: {name for (name,) in run.query(
            f"SELECT name FROM regions WHERE kind = 'cpu' AND inlined = {is_inlined}"
        )}
        for is_inlined in (True, False)
    }  # fmt: skip
    everywhere = by_inlined[True] - by_inlined[False]
    visit(page, recorded, run="mesh")
    page.get_by_text("Expand all").click()
    assert everywhere & set(names(page))
    whole = values_of(page.locator(".tree-row").first)[0]
    page.get_by_label("inlined code").select_option(label="inlined: caller")
    expect(page).to_have_url(re.compile("inlined=caller"))
    page.get_by_text("Expand all").click()
    comes_to(page, lambda: everywhere & set(names(page)), set())
    assert values_of(page.locator(".tree-row").first)[0] == whole
    by_line: dict[int, float] = {}
    file = str(recorded.folder / "mesh.cpp")
    charged = inlined_calls.at_callers(run)
    for line, own in charged.query(
        "SELECT line, SUM(exclusive) FROM profile JOIN paths USING (path) "
        f"JOIN regions USING (region) WHERE file = '{file}' GROUP BY line"
    ):
        by_line[line] = own
    most = quantity(max(by_line.values()), "s")
    own_values = page.locator(".cm-values >> nth=0").locator(".line-value")
    expect(own_values.filter(has_text=most).first).to_be_visible()


def test_both_threads_of_the_cpp_program_have_a_call_tree(page: Page, recorded: Served) -> None:
    visit(page, recorded, "#/tree?by=rank", run="mesh")
    page.get_by_text("Collapse all").click()
    page.locator(".tree-row .twist").nth(1).click()
    threads = page.locator(".tree-row[aria-level='3']")
    expect(threads).to_have_count(2)
    for at in range(2):
        expect(threads.nth(at)).to_contain_text("thread ")
        threads.nth(at).click(button="right")
        page.get_by_text("Expand all below").click()
        assert "mesh::worker(int)" in names(page)
        threads.nth(at).locator(".twist").click()


def test_a_sampled_value_says_how_sure_it_is(page: Page, recorded: Served) -> None:
    visit(page, recorded, run="heat")
    hint = page.locator(".tree-row .value").first.get_attribute("title") or ""
    assert "standard error of" in hint
    page.locator(".tree-row").nth(1).click(button="right")
    expect(page.locator("dialog.details .values tbody tr").first).to_contain_text("±")
    assert "CPU time" in text(page.locator("dialog.details .values"))
    page.keyboard.press("Escape")
