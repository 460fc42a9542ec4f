"""What is done with the picture of 5,000 functions and 10,000 calls, in Chromium.

Clicks and keys are measured as of `interactions`. Moves of the pointer and turns of the wheel are
none of its events: for them it is the longest time from one frame to the next while they go on.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from benchmarks import profiled_program
from benchmarks.interactions import SETTLED_MS, Act, chromium, key, times, viewed
from benchmarks.table import Row, Table, verdict

if TYPE_CHECKING:
    from playwright.sync_api import Page

_FUNCTIONS = 5_000
_ARCS = 10_000
_ROUNDS_MOST = 5
_INTERACTION_MS = 100.0
_WATCH = """
window.longest = 0;
window.last = 0;
const step = (now) => {
  if (window.last) window.longest = Math.max(window.longest, now - window.last);
  window.last = now;
  requestAnimationFrame(step);
};
requestAnimationFrame(step);
"""


def _choose(menu: str, item: str) -> Act:
    def act(page: Page) -> None:
        page.locator(".graph-tools").get_by_role("button", name=menu).click()
        page.get_by_role("button", name=item, exact=True).click()

    return act


def _middle(page: Page) -> tuple[float, float]:
    box = page.locator(".graph-canvas").bounding_box()
    assert box is not None
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def _hover(page: Page) -> None:
    x, y = _middle(page)
    for step in range(40):
        page.mouse.move(x - 200 + 10 * step, y - 100 + 5 * step)


def _drag(page: Page) -> None:
    x, y = _middle(page)
    page.mouse.move(x, y)
    page.mouse.down()
    for step in range(30):
        page.mouse.move(x + 6 * step, y + 3 * step)
    page.mouse.up()


def _wheel(page: Page) -> None:
    for step in range(20):
        page.mouse.wheel(0, -60 if step < 10 else 60)
        page.wait_for_timeout(20)


def _click(page: Page) -> None:
    page.mouse.click(*_middle(page))


_MOVES: Mapping[str, Act] = {"hover": _hover, "pan": _drag, "zoom by the wheel": _wheel}
_INTERACTIONS: Mapping[str, Act] = {
    "choose by a click": _click,
    "to the function with most": key("Home"),
    "along a call": key("ArrowDown", "ArrowDown", "ArrowUp"),
    "its menu": key("Enter", "Escape"),
    "zoom by a key": key("+", "+", "-"),
    "all of it": key("0"),
}
# To lay out all functions anew is a layout and a picture, and stands by itself.
_FILTERS: Mapping[str, Act] = {
    "the entire call tree": _choose("Filter", "Show Entire Call Tree"),
    "uncluster": _choose("Filter", "Uncluster Functions"),
}


def run(rounds: int) -> Table:
    """Return the times of what is done with the picture."""
    rounds = min(rounds, _ROUNDS_MOST)
    rows: list[Row] = []
    limits: list[str] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        program = profiled_program.build(folder, _FUNCTIONS)
        (file,) = profiled_program.write_files(program, folder, 1, _ARCS)
        found: dict[str, list[float]] = {}
        with viewed(name, file.name) as address:
            for _ in range(rounds):
                for what, milliseconds in _round(address).items():
                    found.setdefault(what, []).append(milliseconds)
    for what, several in found.items():
        rows.append(Row(what, "", median(several)))
        if what in _MOVES or what in _INTERACTIONS:
            limits.append(verdict(what, median(several), _INTERACTION_MS, "ms"))
    return Table(f"a call graph of {_FUNCTIONS:,} functions, {_ARCS:,} calls", "ms", rows, limits)


def _round(address: str) -> dict[str, float]:
    """Return the times in a browser of its own."""
    with chromium() as page:
        page.goto(address + "#/callgraph")
        page.wait_for_selector(".graph-canvas")
        page.wait_for_timeout(2 * SETTLED_MS)
        found = times(page, _FILTERS)
        page.wait_for_timeout(2 * SETTLED_MS)
        page.evaluate(_WATCH)
        for name, act in _MOVES.items():
            page.evaluate("window.longest = 0")
            act(page)
            page.wait_for_timeout(SETTLED_MS)
            found[name] = float(page.evaluate("window.longest"))
        page.locator(".graph-canvas").focus()
        return found | times(page, _INTERACTIONS)
