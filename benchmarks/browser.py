"""What a click or key on 100,000 nodes takes in Chromium, until the picture has changed.

Each figure is an interaction as browsers define it (Event Timing): from the input to the next
picture, with all that the page computes, lays out and paints. Shorter ones than 16 ms (a frame)
are not told apart. The server is real and runs on the same CPUs.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from benchmarks import large_run
from benchmarks.table import Row, Table, verdict

_ROUNDS_MOST = 5
_FRAME_MS = 16.0
_INTERACTION_MS = 100.0
_FIRST_PAINT_MS = 1000.0
_SETTLED_MS = 600
_OBSERVE = """
window.worst = 0;
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) window.worst = Math.max(window.worst, entry.duration);
}).observe({ type: "event", durationThreshold: 16 });
"""
_PAINTED = "performance.getEntriesByName('first-contentful-paint')[0].startTime"
_SHOWN = """
new Promise((done) => {
  const look = () => document.querySelector(".tree-row .value")
    ? done(performance.now()) : requestAnimationFrame(look);
  look();
})
"""
if TYPE_CHECKING:
    from playwright.sync_api import Page

_Act = Callable[["Page"], object]


def _key(*keys: str) -> _Act:
    def act(page: Page) -> None:
        for key in keys:
            page.keyboard.press(key)

    return act


def _click(what: str) -> _Act:
    return lambda page: page.locator(what).click()


def _typed(text: str) -> _Act:
    def act(page: Page) -> None:
        page.keyboard.press("/")
        page.keyboard.type(text, delay=80)

    return act


# In this order, each on what the ones before have left.
_INTERACTIONS: Mapping[str, _Act] = {
    "open all": _click("text=Expand all"),
    "a row down": _key("ArrowDown", "ArrowDown", "ArrowDown"),
    "to the end": _key("End"),
    "to the beginning": _key("Home"),
    "a page down": _key("PageDown", "PageDown"),
    "sort by name": _click(".tree-head .head.is-text"),
    "sort by a metric": _click(".tree-head .head.is-number >> nth=2"),
    "filter, each letter": _typed("step 17"),
    "no filter": _key("Escape"),
    "filter by share": _typed(">0.01%"),
    "no filter again": _key("Escape"),
    "close all": _key("-"),
    "choose a row": _click(".tree-row >> nth=3"),
    "all of a node": _key("Shift+F10"),
    "close it": _key("Escape"),
    "another view": _key("3"),
    "back": _key("1"),
}


def run(rounds: int) -> Table:
    """Return the times of the page on a large run."""
    rounds = min(rounds, _ROUNDS_MOST)
    found: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        large_run.write(Path(folder) / "large")
        gnomon = str(Path(sys.executable).with_name("gnomon"))
        with subprocess.Popen(
            [gnomon, "view", "large", "--no-browser"], cwd=folder, stdout=subprocess.PIPE, text=True
        ) as server:
            assert server.stdout is not None
            try:
                address = next(word for word in server.stdout.readline().split() if "://" in word)
                for _ in range(rounds):
                    for name, took in _round(address).items():
                        found.setdefault(name, []).append(took)
            finally:
                server.terminate()
    middle = {name: median(values) for name, values in found.items()}
    limits = [verdict("first paint", middle["first paint"], _FIRST_PAINT_MS, "ms")]
    limits += [verdict(name, middle[name], _INTERACTION_MS, "ms") for name in _INTERACTIONS]
    rows = [Row(name, "", value) for name, value in middle.items()]
    return Table(f"the page, {large_run.NODES:,} nodes", "ms", rows, limits)


def _round(address: str) -> dict[str, float]:
    """Return the time of every interaction, in a browser of its own."""
    from playwright.sync_api import sync_playwright

    program = shutil.which("chromium") or shutil.which("chromium-browser")
    found: dict[str, float] = {}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        page.goto(address)
        found["tree shown"] = float(page.evaluate(_SHOWN))
        found["first paint"] = float(page.evaluate(_PAINTED))
        page.wait_for_timeout(2 * _SETTLED_MS)
        page.evaluate(_OBSERVE)
        for name, act in _INTERACTIONS.items():
            page.evaluate("window.worst = 0")
            act(page)
            page.wait_for_timeout(_SETTLED_MS)
            found[name] = max(float(page.evaluate("window.worst")), _FRAME_MS)
        browser.close()
    return found
