"""Every item of the call graph's menus, beside what follows from the profile itself."""

from __future__ import annotations

import base64
import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from browser.pages import Served, comes_to, text, visit
from browser.test_callgraph import (
    choose,
    cluster_menu_of,
    displayed,
    expected,
    facts,
    folder,
    graph,
    locate,
    menu_of,
    served,
    status,
)
from gnomon.callgraph.call_graph import CallGraph

__all__ = ["folder", "graph", "served"]

RELATIONS = {
    "Immediate Parents": "Parent Functions", "Immediate Children": "Child Functions",
    "All Paths To": "Ancestor Functions", "All Paths From": "Descendant Functions",
    "All Functions on the Cycle": "Cycle Functions",
}  # fmt: skip

# How many pixels of a picture, or of the canvases of the page, have a colour.
PIXELS = """
async ([png, wanted]) => {
  const pictures = png
    ? [await createImageBitmap(new Blob([Uint8Array.from(atob(png), (c) => c.charCodeAt(0))]))]
    : [...document.querySelectorAll(".graph-box > canvas, .graph-box > * > canvas")];
  let n = 0;
  for (const picture of pictures) {
    const pen = new OffscreenCanvas(picture.width, picture.height).getContext("2d");
    pen.drawImage(picture, 0, 0);
    const { data } = pen.getImageData(0, 0, picture.width, picture.height);
    for (let at = 0; at < data.length; at += 4) {
      n += data[at] === wanted[0] && data[at + 1] === wanted[1] && data[at + 2] === wanted[2];
    }
  }
  return n;
}
"""
GREEN, RED = [0x2F, 0x8F, 0x4E], [0xC8, 0x10, 0x2E]


def related(whole: CallGraph, name: str, group: str) -> set[str]:
    """Return a function and those of a relation to it, by the arcs of the profile."""
    title = whole.profile.title
    arcs = [
        (title[caller], title[callee])
        for caller, callee in zip(whole.profile.caller, whole.profile.callee, strict=True)
    ]
    if group == "Immediate Parents":
        return {name, *(caller for caller, callee in arcs if callee == name)}
    if group == "Immediate Children":
        return {name, *(callee for caller, callee in arcs if caller == name)}
    below, above = {name}, {name}
    for _ in arcs:
        below |= {callee for caller, callee in arcs if caller in below}
        above |= {caller for caller, callee in arcs if callee in above}
    if group == "All Paths To":
        return above
    return below if group == "All Paths From" else above & below


@pytest.mark.parametrize("name", ["odd", "middle"])
@pytest.mark.parametrize("group", list(RELATIONS))
@pytest.mark.parametrize("adds", [False, True], ids=["only", "add"])
def test_relations(
    graph: Page, folder: Path, tmp_path: Path, name: str, group: str, *, adds: bool
) -> None:
    left = related(expected(folder, "gmon.out"), name, group)
    item = f"{RELATIONS[group]} to Tree" if adds else f"{RELATIONS[group]} Only"
    if adds:
        choose(graph, "Filter", "Filter by Function Names…")
        graph.get_by_label("Display only these functions").check()
        graph.get_by_label("Enter function name").fill(f"{name} fib")
        graph.get_by_role("button", name="OK").click()
        comes_to(graph, lambda: status(graph)[0], 2)
        left |= {"fibonacci"}
    items = menu_of(graph, name)
    label = f"{group}: {'Add' if adds else 'Show'} {item}"
    if name == "middle" and group == "All Functions on the Cycle":
        assert not items[label]
        return
    graph.get_by_role("menuitem", name=label, exact=True).click()
    comes_to(graph, lambda: displayed(graph, tmp_path), left)


def test_arcs_with_the_fewest_calls(graph: Page, folder: Path) -> None:
    counts = sorted(expected(folder, "gmon.out").profile.calls.tolist())
    choose(graph, "Filter", "Filter by Call Counts…")
    graph.get_by_label("Show arcs with the least call counts").check()
    graph.get_by_label("how many", exact=True).fill("2")
    graph.get_by_role("button", name="OK").click()
    comes_to(graph, lambda: status(graph)[2], 2)
    canvas = graph.locator(".graph-canvas")
    canvas.focus()
    canvas.press("Home")
    shown = set()
    for _ in range(4):
        canvas.press("a")
        if "calls" in facts(graph) and "caller" in facts(graph):
            shown.add(int(re.sub(r"\D", "", facts(graph)["calls"])))
    assert shown
    assert shown <= set(counts[:2])


def test_a_function_that_is_located_is_red(graph: Page) -> None:
    def red_pixels() -> int:
        return int(graph.evaluate(PIXELS, ["", RED]))

    assert red_pixels() == 0
    locate(graph, "middle")
    graph.locator(".graph-canvas").press("Escape")
    comes_to(graph, lambda: red_pixels() > 0, True)


def test_the_picture_is_saved_as_png(graph: Page, tmp_path: Path) -> None:
    with graph.expect_download() as saved:
        choose(graph, "View", "Save as PNG")
    file = tmp_path / "graph.png"
    saved.value.save_as(file)
    png = base64.b64encode(file.read_bytes()).decode()
    assert graph.evaluate(PIXELS, [png, GREEN]) > 100
    assert graph.evaluate(PIXELS, [png, RED]) == 0


def test_colours_and_sizes_are_kept(graph: Page, tmp_path: Path) -> None:
    def saved() -> str:
        with graph.expect_download() as download:
            choose(graph, "View", "Save as SVG")
        file = tmp_path / "graph.svg"
        download.value.save_as(file)
        return file.read_text()

    def largest(content: str) -> float:
        heights = re.findall(r'<rect[^>]*height="([\d.]+)"[^>]*#123456', content)
        return max(map(float, heights))

    choose(graph, "View", "Colours and Sizes…")
    graph.get_by_label("Function boxes").fill("#123456")
    graph.get_by_label("Call arcs").fill("#654321")
    graph.keyboard.press("Escape")
    before = saved()
    assert "#654321" in before
    choose(graph, "View", "Colours and Sizes…")
    graph.get_by_label("Largest box").fill("200")
    graph.keyboard.press("Escape")
    assert largest(saved()) > largest(before)
    graph.reload()
    expect(graph.locator(".graph-canvas")).to_be_visible()
    assert "#123456" in saved()
    choose(graph, "View", "Colours and Sizes…")
    graph.get_by_role("button", name="As before").click()
    graph.keyboard.press("Escape")
    assert "#123456" not in saved()


def test_one_cluster_alone_and_none(page: Page, served: Served, folder: Path) -> None:
    visit(page, served, "#/callgraph", run="mesh")
    own = [name == "mesh" for name in expected(folder, "mesh").profile.module]
    cluster_menu_of(page, "main")
    page.get_by_role("menuitem", name="Show Only This Cluster").click()
    comes_to(page, lambda: status(page)[0], sum(own))
    cluster_menu_of(page, "main")
    page.get_by_role("menuitem", name="Uncluster Functions").click()
    # The item says what there is to do.
    choose(page, "Filter", "Cluster Functions by Library")
    choose(page, "Filter", "Uncluster Functions")
    choose(page, "Filter", "Cluster Functions by Library")
    assert status(page)[0] == sum(own)


def test_corners_of_the_overview_zoom(graph: Page) -> None:
    choose(graph, "View", "Overview")
    overview = graph.locator(".graph-overview canvas")
    size = graph.locator(".graph-overview p")
    for _ in range(5):
        choose(graph, "View", "Zoom In")
    larger = text(size)
    choose(graph, "View", "Zoom Out")
    comes_to(graph, lambda: text(size) != larger, True)
    choose(graph, "View", "Zoom In")
    comes_to(graph, lambda: text(size), larger)
    box = overview.bounding_box()
    assert box is not None

    def cursor(x: float, y: float) -> str:
        graph.mouse.move(x, y)
        return str(overview.evaluate("canvas => canvas.style.cursor"))

    corner = next(
        (x, y)
        for x in range(int(box["x"]), int(box["x"] + box["width"]), 3)
        for y in range(int(box["y"]), int(box["y"] + box["height"]), 3)
        if cursor(x, y) == "nwse-resize"
    )
    graph.mouse.move(*corner)
    graph.mouse.down()
    graph.mouse.move(corner[0] + 15, corner[1] + 15, steps=4)
    graph.mouse.up()
    comes_to(graph, lambda: text(size) != larger, True)
