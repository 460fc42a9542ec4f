"""What is done with the picture of 5,000 functions and 10,000 calls, in Chromium.

Clicks and keys are measured as of `interactions`. What a filter leaves may be laid out beside the
page: its time lasts until the frame with the new picture is done, whose numbers are looked at.
That of a report lasts until its rows are there.
Moves of the pointer and turns of the wheel are no events of Event Timing: for them it is the
longest time from one frame to the next while they go on.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from benchmarks import profiled_program
from benchmarks.interactions import FRAME_MS, SETTLED_MS, Act, chromium, key, times, viewed
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
_DRAWN = """
window.worst = 0;
window.took = 0;
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) window.worst = Math.max(window.worst, entry.duration);
}).observe({ type: "event", durationThreshold: 16 });
addEventListener("click", (event) => {
  window.took = 0;
  const look = () => {
    const isBusy = document.querySelector(".graph-box").ariaBusy === "true";
    const isEmpty = document.querySelector(".graph-report") && !document.querySelector(".report-rows td");
    if (isBusy || isEmpty) requestAnimationFrame(look);
    else requestAnimationFrame(() => setTimeout(() => window.took = performance.now() - event.timeStamp));
  };
  requestAnimationFrame(look);
}, true);
"""  # noqa: E501


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


def _most(n: int) -> Act:
    def act(page: Page) -> None:
        _choose("Filter", "Filter by CPU Time…")(page)
        page.get_by_label("how many", exact=True).fill(str(n))
        page.get_by_role("button", name="OK").click()

    return act


def _hide(page: Page) -> None:
    page.locator(".graph-canvas").focus()
    for name in ("Home", "ArrowDown", "ArrowRight", "Enter"):
        page.keyboard.press(name)
    page.get_by_role("menuitem", name="Hide This Function").click()


_ALL = _choose("Filter", "Show Entire Call Tree")
# In this order, each with the functions that it leaves.
_FILTERS: Mapping[str, tuple[Act, int]] = {
    "the entire call tree": (_ALL, _FUNCTIONS),
    "uncluster": (_choose("Filter", "Uncluster Functions"), _FUNCTIONS),
    "cluster": (_choose("Filter", "Cluster Functions by Library"), _FUNCTIONS),
    "hide a function": (_hide, _FUNCTIONS - 1),
    "the 4,000 with most": (_most(4_000), 4_000),
    "all of them again": (_ALL, _FUNCTIONS),
    "the 10 with most": (_most(10), 10),
    "all after 10": (_ALL, _FUNCTIONS),
}

_REPORTS = ("Flat Profile", "Call Graph Profile", "Function Call Summary",
            "Function Level Statistics")  # fmt: skip
_SEARCHED = "function_4"


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
        limits.append(verdict(what, median(several), _INTERACTION_MS, "ms"))
    return Table(f"a call graph of {_FUNCTIONS:,} functions, {_ARCS:,} calls", "ms", rows, limits)


def _round(address: str) -> dict[str, float]:
    """Return the times in a browser of its own."""
    with chromium() as page:
        page.goto(address + "#/callgraph")
        page.wait_for_selector(".graph-canvas")
        page.wait_for_timeout(2 * SETTLED_MS)
        found = _filtered(page)
        page.wait_for_timeout(2 * SETTLED_MS)
        page.evaluate(_WATCH)
        for name, act in _MOVES.items():
            page.evaluate("window.longest = 0")
            act(page)
            page.wait_for_timeout(SETTLED_MS)
            found[name] = float(page.evaluate("window.longest"))
        page.locator(".graph-canvas").focus()
        found |= times(page, _INTERACTIONS)
        for title in _REPORTS:
            found |= _report(page, title)
        return found


def _filtered(page: Page) -> dict[str, float]:
    """Return the time of each filter, from the click until what it leaves is drawn."""
    took: dict[str, float] = {}
    page.evaluate(_DRAWN)
    for name, (act, left) in _FILTERS.items():
        page.evaluate("window.worst = window.took = 0")
        act(page)
        page.wait_for_timeout(SETTLED_MS)
        took[name] = max(page.evaluate("Math.max(window.worst, window.took)"), FRAME_MS)
        # The program has some functions besides.
        assert 0 <= _displayed(page) - left < 10, name
    return took


def _report(page: Page, title: str) -> dict[str, float]:
    """Return what it takes to open a report, to scroll it, and to find a name in it."""
    page.evaluate("window.worst = window.took = 0")
    _choose("Report", title)(page)
    page.wait_for_timeout(SETTLED_MS)
    took = {"opened": page.evaluate("Math.max(window.worst, window.took)")}
    rows = page.locator(".report-rows")
    box = rows.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 200, box["y"] + 100)
    page.evaluate("window.longest = 0")
    for _ in range(25):
        page.mouse.wheel(0, 600)
        page.wait_for_timeout(20)
    page.wait_for_timeout(SETTLED_MS)
    assert rows.evaluate("rows => rows.scrollTop") > 0
    took["scrolled"] = page.evaluate("window.longest")
    page.evaluate("window.worst = 0")
    page.get_by_label("Search in the report").focus()
    page.keyboard.type(_SEARCHED, delay=80)
    page.keyboard.press("Enter")
    page.wait_for_timeout(SETTLED_MS)
    assert page.locator(".report-hits").inner_text().startswith("1 of")
    took["searched"] = page.evaluate("window.worst")
    page.keyboard.press("Escape")
    page.wait_for_timeout(SETTLED_MS)
    return {f"{title}, {what}": max(float(ms), FRAME_MS) for what, ms in took.items()}


def _displayed(page: Page) -> int:
    said = page.locator(".graph-status").inner_text()
    shown = re.search(r"([\d\s]+) of [\d\s]+ functions", said.partition(";")[2])
    assert shown is not None, said
    return int(re.sub(r"\s", "", shown[1]))
