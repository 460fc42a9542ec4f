"""How the call graph is drawn: names where labels are too small, and only what changes anew."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from profiled_programs import build, profile

from browser.pages import GNOMON, Opened, Served, comes_to, visit

# What is written onto the canvas below the marks, and how large it is on the screen.
SPY = """
() => {
  const canvas = document.querySelector(".graph-ground");
  const pen = canvas.getContext("2d");
  window.written = {};
  window.drawings = 0;
  const [text, clear] = [pen.fillText, pen.clearRect];
  pen.fillText = function (words, ...rest) {
    window.written[words] = parseFloat(this.font) * this.getTransform().a / devicePixelRatio;
    text.call(this, words, ...rest);
  };
  pen.clearRect = function (...rest) {
    window.drawings++;
    window.written = {};
    clear.apply(this, rest);
  };
}
"""
PIXELS = """
() => {
  const canvas = document.querySelector(".graph-ground");
  const copy = new OffscreenCanvas(canvas.width, canvas.height);
  const pen = copy.getContext("2d", { willReadFrequently: true });
  pen.drawImage(canvas, 0, 0);
  const { data } = pen.getImageData(0, 0, canvas.width, canvas.height);
  return Array.from(new Uint32Array(data.buffer));
}
"""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder: Path = tmp_path_factory.mktemp("drawing")
    profile(build(folder)).rename(folder / "gmon.out")
    with Opened([GNOMON, "view", "gmon.out", "--no-browser"], folder) as opened:
        yield opened


@pytest.fixture
def graph(page: Page, served: Served) -> Page:
    """Return the page with the call graph, whose drawing is watched."""
    visit(page, served, "#/callgraph")
    expect(page.locator(".graph-canvas")).to_be_visible()
    page.evaluate(SPY)
    page.locator(".graph-canvas").focus()
    return page


def test_names_can_be_read_where_labels_are_too_small(graph: Page) -> None:
    for _ in range(4):
        graph.keyboard.press("-")
        comes_to(graph, lambda: graph.evaluate("window.drawings > 0"), True)
        graph.evaluate("window.drawings = 0")
    comes_to(graph, lambda: "main" in graph.evaluate("window.written"), True)
    written = graph.evaluate("window.written")
    assert {"main", "program"} <= set(written)
    assert all(10 < size < 13 for size in written.values())
    for _ in range(7):
        graph.keyboard.press("+")
    graph.keyboard.press("Home")
    # Its index depends on the samples.
    labels = "Object.keys(window.written).some(words => words.startsWith('main ['))"
    comes_to(graph, lambda: graph.evaluate(labels), True)
    assert "main" not in graph.evaluate("window.written")


def test_the_pointer_over_boxes_draws_marks_alone(graph: Page) -> None:
    graph.keyboard.press("+")
    comes_to(graph, lambda: graph.evaluate("window.drawings > 0"), True)
    graph.wait_for_timeout(1000)
    drawings = graph.evaluate("window.drawings")
    canvas = graph.locator(".graph-canvas")
    box = canvas.bounding_box()
    assert box is not None
    marks = "canvas => canvas.toDataURL()"
    seen = set()
    for step in range(0, int(box["height"]), 12):
        graph.mouse.move(box["x"] + box["width"] / 2, box["y"] + step)
        seen.add(canvas.evaluate(marks))
    assert len(seen) > 1
    assert graph.evaluate("window.drawings") == drawings


def test_a_picture_that_is_dragged_is_as_if_drawn_anew(graph: Page) -> None:
    for _ in range(3):
        graph.keyboard.press("+")
    comes_to(graph, lambda: graph.evaluate("window.drawings"), 3)
    before = graph.evaluate(PIXELS)
    box = graph.locator(".graph-canvas").bounding_box()
    assert box is not None
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    # It is drawn anew when that has rested: not before the test says so.
    graph.evaluate("""() => {
      const wait = window.setTimeout;
      window.setTimeout = (act, ms, ...rest) =>
        ms === 150 ? ((window.rested = act), 0) : wait(act, ms, ...rest);
    }""")
    drawings = graph.evaluate("window.drawings")
    graph.mouse.move(x, y)
    graph.mouse.down()
    for step in range(1, 9):
        graph.mouse.move(x + 9 * step, y + 5 * step)
    graph.mouse.up()
    comes_to(graph, lambda: graph.evaluate(f"window.drawings > {drawings}"), True)
    graph.wait_for_timeout(300)
    dragged = graph.evaluate(PIXELS)
    graph.evaluate("window.rested()")
    anew = graph.evaluate(PIXELS)
    assert differing(before, dragged) > 0.01
    assert differing(anew, dragged) < 0.002


def differing(one: list[int], other: list[int]) -> float:
    """Return the share of pixels that differ."""
    return sum(a != b for a, b in zip(one, other, strict=True)) / len(one)
