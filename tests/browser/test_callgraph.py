"""The call graph: boxes, menus, filters and windows, of gmon.out and of samples."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from profiled_programs import build, profile

from browser.conftest import PROGRAMS, ran
from browser.pages import GNOMON, Opened, Served, comes_to, text, visit
from browser.test_accessible import critical_faults
from gnomon.callgraph.call_graph import CallGraph, call_graph
from gnomon.callgraph.inputs import read_inputs
from gnomon.capabilities import readers

FUNCTIONS = {"main", "even", "odd", "fibonacci", "leaf", "middle"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with gmon.out and its program, and a run of a C++ program with libraries."""
    folder = tmp_path_factory.mktemp("callgraph")
    profile(build(folder)).rename(folder / "gmon.out")
    shutil.copy(PROGRAMS / "mesh.cpp", folder)
    ran(["c++", "-g", "-O1", "-pthread", "-o", "mesh", "mesh.cpp"], folder)
    ran([GNOMON, "record", "--name", "mesh", "--", "./mesh", "400"], folder)
    ran([GNOMON, "record", "--name", "again", "--", "./mesh", "500"], folder)
    return folder


@pytest.fixture(scope="module")
def served(folder: Path) -> Iterator[Served]:
    with Opened([GNOMON, "view", "gmon.out", "mesh", "again", "--no-browser"], folder) as opened:
        yield opened


@pytest.fixture
def graph(page: Page, served: Served) -> Page:
    """Return the page with the call graph of gmon.out."""
    visit(page, served, "#/callgraph", run="gmon.out")
    expect(page.locator(".graph-canvas")).to_be_visible()
    return page


def status(page: Page) -> tuple[int, int, int, int]:
    """Return how many functions are displayed and how many there are, and of calls likewise."""
    said = text(page.locator(".graph-status")).replace(" ", "")
    numbers = re.search(r"(\d+)of(\d+)functions?and(\d+)of(\d+)calls?displayed", said)
    assert numbers, said
    first, second, third, fourth = map(int, numbers.groups())
    return first, second, third, fourth


def path_of(folder: Path, run: str) -> str:
    """Return the path of a run or file; a program has the name of its run."""
    return str(folder / (run if run == "gmon.out" else f"{run}.gnomon"))


def expected(folder: Path, run: str) -> CallGraph:
    """Return what `gnomon callgraph` makes of a run or file."""
    return call_graph(read_inputs([path_of(folder, run)], readers()).profile)


def used(whole: CallGraph) -> list[int]:
    """Return the functions with a value or a call, those with most first."""
    profile = whole.profile
    called = {*profile.caller.tolist(), *profile.callee.tolist()}
    return [
        int(node) for node in whole.order
        if node < whole.n_functions and (profile.own[node] > 0 or node in called)
    ]  # fmt: skip


def choose(page: Page, menu: str, item: str) -> None:
    page.locator(".graph-tools").get_by_role("button", name=menu).click()
    page.get_by_role("button", name=item, exact=True).click()


def locate(page: Page, name: str) -> None:
    choose(page, "Utility", "Locate Function By Name…")
    page.get_by_label("Enter function name").fill(name)
    page.get_by_role("button", name="OK").click()
    comes_to(page, lambda: facts(page).get("function", "").split(" ")[0], name)


def facts(page: Page) -> dict[str, str]:
    """Return what the information box says."""
    return {
        text(row.locator("dt")): text(row.locator("dd"))
        for row in page.locator(".graph-facts > div").all()
    }


def menu_of(page: Page, name: str) -> dict[str, bool]:
    """Open the menu of a function by the mouse and return its items, and whether they can act."""
    locate(page, name)
    box = page.locator(".graph-canvas").bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, button="right")
    menu = page.get_by_role("menu")
    expect(menu).to_contain_text(name)
    return {text(item): item.is_enabled() for item in menu.get_by_role("menuitem").all()}


def cluster_menu_of(page: Page, name: str) -> None:
    """Open by keys the menu of the cluster that a function is in."""
    locate(page, name)
    canvas = page.locator(".graph-canvas")
    canvas.focus()
    canvas.press("c")
    canvas.press("Enter")


def displayed(page: Page, tmp_path: Path) -> set[str]:
    """Return the functions of the picture, by the file that it is saved as."""
    with page.expect_download() as saved:
        choose(page, "View", "Save as SVG")
    file = tmp_path / "graph.svg"
    saved.value.save_as(file)
    titles = re.findall(r"<title>([^\n<]*)(?:&lt;cycle \d+&gt; )?\[\d+\]", file.read_text())
    # A bin of samples that it shares with a function may be counted with it.
    return {title.split(" ")[0] for title in titles} - {"frame_dummy"}


def test_what_is_told_of_the_whole(graph: Page, folder: Path, tmp_path: Path) -> None:
    whole = expected(folder, "gmon.out")
    n, m = len(used(whole)), len(whole.profile.caller)
    assert status(graph) == (n, n, m, m)
    said = text(graph.locator(".graph-status"))
    assert said.startswith("program, 1 profile, CPU time ")
    assert displayed(graph, tmp_path) == FUNCTIONS


def test_a_function_its_calls_and_its_library_are_told(graph: Page, folder: Path) -> None:
    whole = expected(folder, "gmon.out")
    at = whole.profile.title.index("even")
    locate(graph, "even")
    told = facts(graph)
    assert told["function"] == f"even <cycle 1> [{whole.index[at]}]"
    calls = int(whole.calls[at] + whole.self_calls[at])
    assert re.sub(r"\D", "", told["calls"]) == str(calls)
    assert told["source"].endswith("program.c:6") or "program.c:" in told["source"]
    assert told["library"].endswith("/program")
    canvas = graph.locator(".graph-canvas")
    canvas.focus()
    canvas.press("a")
    arc = facts(graph)
    assert "even" in arc["caller"] + arc["callee"]
    pairs = {
        (whole.profile.title[caller], whole.profile.title[callee]): int(count)
        for caller, callee, count in zip(
            whole.profile.caller, whole.profile.callee, whole.profile.calls, strict=True
        )
    }
    ends = tuple(arc[end].split(" ")[0] for end in ("caller", "callee"))
    assert re.sub(r"\D", "", arc["calls"]) == str(pairs[ends])  # type: ignore[index]
    locate(graph, "leaf")
    canvas.focus()
    canvas.press("c")
    assert facts(graph)["library"].endswith("/program")


def test_keys_walk_along_calls(graph: Page) -> None:
    canvas = graph.locator(".graph-canvas")
    canvas.focus()
    canvas.press("Home")
    assert facts(graph)["function"].startswith("main ")
    canvas.press("ArrowDown")
    callee = facts(graph)["function"].split(" ")[0]
    assert callee in FUNCTIONS - {"main"}
    canvas.press("ArrowUp")
    assert facts(graph)["function"].split(" ")[0] in FUNCTIONS
    canvas.press("Enter")
    expect(graph.get_by_role("menu")).to_be_visible()
    graph.keyboard.press("ArrowDown")
    graph.keyboard.press("Escape")
    expect(graph.get_by_role("menu")).to_have_count(0)
    graph.keyboard.press("Escape")
    expect(graph.locator(".graph-facts")).to_have_count(0)


@pytest.mark.parametrize(
    ("item", "left"),
    [
        ("Immediate Parents: Show Parent Functions Only", {"leaf", "middle", "main"}),
        ("Immediate Children: Show Child Functions Only", {"leaf"}),
        ("All Paths To: Show Ancestor Functions Only", {"leaf", "middle", "main"}),
        ("All Paths From: Show Descendant Functions Only", {"leaf"}),
        ("Hide This Function", FUNCTIONS - {"leaf"}),
    ],
)
def test_the_menu_of_a_function(graph: Page, item: str, left: set[str], tmp_path: Path) -> None:
    items = menu_of(graph, "leaf")
    assert not items["All Functions on the Cycle: Show Cycle Functions Only"]
    graph.get_by_role("menuitem", name=item).click()
    comes_to(graph, lambda: status(graph)[0], len(left))
    assert displayed(graph, tmp_path) == left


def test_functions_are_added_to_what_is_displayed(graph: Page, tmp_path: Path) -> None:
    menu_of(graph, "odd")
    graph.get_by_role(
        "menuitem", name="All Functions on the Cycle: Show Cycle Functions Only"
    ).click()
    comes_to(graph, lambda: status(graph)[0], 2)
    menu_of(graph, "even")
    graph.get_by_role("menuitem", name="Immediate Parents: Add Parent Functions to Tree").click()
    comes_to(graph, lambda: status(graph)[0], 3)
    menu_of(graph, "main")
    graph.get_by_role("menuitem", name="Immediate Children: Add Child Functions to Tree").click()
    comes_to(graph, lambda: status(graph)[0], 6)
    assert displayed(graph, tmp_path) == FUNCTIONS
    choose(graph, "Filter", "Show Entire Call Tree")
    comes_to(graph, lambda: status(graph)[0], status(graph)[1])


def test_filters_by_name_time_and_counts(graph: Page, folder: Path, tmp_path: Path) -> None:
    whole = expected(folder, "gmon.out")
    for mode, left in (
        ("Display only these functions", {"even", "fibonacci"}),
        ("Add these functions to graph", {"even", "fibonacci", "middle"}),
        ("Remove these functions from graph", {"fibonacci", "middle"}),
    ):
        choose(graph, "Filter", "Filter by Function Names…")
        graph.get_by_label(mode).check()
        words = {"Display": "eve fib", "Add": "midd", "Remove": "even"}[mode.split(" ")[0]]
        graph.get_by_label("Enter function name").fill(words)
        graph.get_by_role("button", name="OK").click()
        comes_to(graph, lambda: status(graph)[0], len(left))
        assert displayed(graph, tmp_path) == left
    order = [whole.profile.title[node] for node in used(whole)]
    for label, left in (("most", set(order[:2])), ("least", set(order[-2:]))):
        choose(graph, "Filter", "Filter by CPU Time…")
        graph.get_by_label(f"Show functions consuming the {label} CPU time").check()
        graph.get_by_label("how many", exact=True).fill("2")
        graph.get_by_role("button", name="OK").click()
        comes_to(graph, lambda: displayed(graph, tmp_path), left)
    choose(graph, "Filter", "Filter by Call Counts…")
    graph.get_by_label("Show arcs with the most call counts").check()
    graph.get_by_label("how many", exact=True).fill("1")
    graph.get_by_role("button", name="OK").click()
    comes_to(graph, lambda: status(graph)[2], 1)
    most = int(whole.profile.calls.argmax())
    ends = {
        whole.profile.title[column[most]] for column in (whole.profile.caller, whole.profile.callee)
    }
    assert displayed(graph, tmp_path) == ends


def test_arcs_lead_to_their_ends(graph: Page) -> None:
    locate(graph, "middle")
    canvas = graph.locator(".graph-canvas")
    canvas.focus()
    canvas.press("a")
    ends = facts(graph)
    canvas.press("Enter")
    graph.get_by_role("menuitem", name="Locate Callee").click()
    comes_to(graph, lambda: facts(graph).get("function", ""), ends["callee"])
    canvas.focus()
    canvas.press("a")
    ends = facts(graph)
    canvas.press("Enter")
    graph.get_by_role("menuitem", name="Locate Caller").click()
    comes_to(graph, lambda: facts(graph).get("function", ""), ends["caller"])


def test_libraries(page: Page, served: Served, folder: Path, tmp_path: Path) -> None:
    visit(page, served, "#/callgraph", run="mesh")
    whole = expected(folder, "mesh")
    own = [name == "mesh" for name in whole.profile.module]
    assert 0 < sum(own) < len(own)
    n = len(own)
    comes_to(page, lambda: status(page)[:2], (n, n))
    choose(page, "Filter", "Remove All Library Calls")
    comes_to(page, lambda: status(page)[0], sum(own))
    called = {
        int(callee)
        for caller, callee in zip(whole.profile.caller, whole.profile.callee, strict=True)
        if own[caller] and not own[callee]
    }
    choose(page, "Filter", "Add Library Calls")
    comes_to(page, lambda: status(page)[0], sum(own) + len(called))
    choose(page, "Filter", "Show Entire Call Tree")
    canvas = page.locator(".graph-canvas")
    cluster_menu_of(page, "main")
    page.get_by_role("menuitem", name="Collapse Cluster").click()
    # Nothing of it is gone: its functions are in one box.
    assert status(page)[0] == n
    assert "main" not in displayed(page, tmp_path)
    canvas.focus()
    canvas.press("Home")
    for _ in range(60):
        if facts(page).get("library", "").endswith("/mesh") and "function" not in facts(page):
            break
        canvas.press("ArrowRight")
    canvas.press("Enter")
    page.get_by_role("menuitem", name="Expand Cluster").click()
    comes_to(page, lambda: "main" in displayed(page, tmp_path), True)
    choose(page, "Filter", "Uncluster Functions")
    choose(page, "Filter", "Cluster Functions by Library")
    cluster_menu_of(page, "main")
    page.get_by_role("menuitem", name="Remove Cluster").click()
    comes_to(page, lambda: status(page)[0], n - sum(own))


def test_the_overview_moves_and_resizes_what_is_seen(graph: Page) -> None:
    choose(graph, "View", "Overview")
    overview = graph.locator(".graph-overview")
    size = overview.locator("p")
    before = text(size)
    # A window narrower than the graph, however tall the graph is.
    for _ in range(5):
        choose(graph, "View", "Zoom In")
    comes_to(graph, lambda: text(size) != before, True)
    box = overview.locator("canvas").bounding_box()
    assert box is not None
    larger = text(size)
    cursors = set()
    # Across the window, whose edges have cursors of their own.
    for step in range(0, 240, 3):
        graph.mouse.move(box["x"] + step, box["y"] + box["height"] / 2)
        cursors.add(overview.locator("canvas").evaluate("canvas => canvas.style.cursor"))
    assert {"move", "ew-resize"} <= cursors, cursors
    edge = next(
        step for step in range(0, 240, 3)
        if _cursor(graph, box["x"] + step, box["y"] + box["height"] / 2) == "ew-resize"
    )  # fmt: skip
    graph.mouse.move(box["x"] + edge, box["y"] + box["height"] / 2)
    graph.mouse.down()
    graph.mouse.move(box["x"] + edge + 12, box["y"] + box["height"] / 2, steps=4)
    graph.mouse.up()
    comes_to(graph, lambda: text(size) != larger, True)
    choose(graph, "View", "Whole Graph")
    comes_to(graph, lambda: text(size), before)


def _cursor(page: Page, x: float, y: float) -> str:
    page.mouse.move(x, y)
    return str(page.locator(".graph-overview canvas").evaluate("canvas => canvas.style.cursor"))


def test_two_runs_are_compared(page: Page, served: Served) -> None:
    visit(page, served, "#/callgraph", run="again")
    page.get_by_label("against").select_option(label="mesh")
    locate(page, "main")
    comes_to(page, lambda: "before, with descendants" in facts(page), True)


def test_runs_that_are_combined_have_one_graph(page: Page, served: Served, folder: Path) -> None:
    visit(page, served, "#/callgraph", run="mesh")
    page.keyboard.press("o")
    entries = page.locator("dialog.open .entries .item")
    for name in ("mesh", "again"):
        entries.filter(has_text=f"{name}.gnomon").click()
    page.get_by_text("Combine into one").click()
    expect(page.locator(".graph-status")).to_contain_text("2 profiles")
    paths = [path_of(folder, name) for name in ("mesh", "again")]
    whole = call_graph(read_inputs(paths, readers()).profile)
    assert status(page) == (*2 * (whole.n_functions,), *2 * (len(whole.profile.caller),))
    choose(page, "Report", "Function Level Statistics")
    report = page.get_by_role("region", name="Function Level Statistics", exact=True)
    expect(report.locator("tbody tr").first).to_contain_text(".gnomon")


def test_a_function_leads_to_its_source(graph: Page) -> None:
    menu_of(graph, "middle")
    graph.get_by_role("menuitem", name="Show Source Code").click()
    expect(graph).to_have_url(re.compile(r"#/tree\?.*file=.*program\.c"))


def test_an_address_locates_a_function(page: Page, served: Served) -> None:
    visit(page, served, "#/callgraph", run="gmon.out")
    page.evaluate("location.hash = '#/callgraph?locate=fibonacci&max=2'")
    page.reload()
    page.wait_for_selector(".graph-status")
    comes_to(page, lambda: facts(page).get("function", "").split(" ")[0], "fibonacci")
    # The two with most, and the one that was asked for.
    assert status(page)[0] in (2, 3)
    page.evaluate("location.hash = '#/callgraph?locate=fibonacy'")
    expect(page.locator(".graph-status")).to_contain_text("no function fibonacy to locate")


def test_nobody_is_kept_out(graph: Page) -> None:
    locate(graph, "leaf")
    assert critical_faults(graph) == {}
