"""What a click or key on 100,000 nodes takes in Chromium, until the picture has changed.

Each figure is an interaction as browsers define it (Event Timing): from the input to the next
picture, with all that the page computes, lays out and paints. Shorter ones than 16 ms (a frame)
are not told apart. The server is real and runs on the same CPUs.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from statistics import median

from benchmarks import large_run
from benchmarks.interactions import SETTLED_MS, Act, chromium, click, key, times, typed, viewed
from benchmarks.table import Row, Table, verdict

_ROUNDS_MOST = 5
_INTERACTION_MS = 100.0
_FIRST_PAINT_MS = 1000.0
_PAINTED = "performance.getEntriesByName('first-contentful-paint')[0].startTime"
_SHOWN = """
new Promise((done) => {
  const look = () => document.querySelector(".tree-row .value")
    ? done(performance.now()) : requestAnimationFrame(look);
  look();
})
"""
# In this order, each on what the ones before have left.
_INTERACTIONS: Mapping[str, Act] = {
    "open all": click("text=Expand all"),
    "a row down": key("ArrowDown", "ArrowDown", "ArrowDown"),
    "to the end": key("End"),
    "to the beginning": key("Home"),
    "a page down": key("PageDown", "PageDown"),
    "sort by name": click(".tree-head .head.is-text"),
    "sort by a metric": click(".tree-head .head.is-number >> nth=2"),
    "filter, each letter": typed("step 17"),
    "no filter": key("Escape"),
    "filter by share": typed(">0.01%"),
    "no filter again": key("Escape"),
    "close all": key("-"),
    "choose a row": click(".tree-row >> nth=3"),
    "all of a node": key("Shift+F10"),
    "close it": key("Escape"),
    "another view": key("3"),
    "back": key("1"),
}


def run(rounds: int) -> Table:
    """Return the times of the page on a large run."""
    rounds = min(rounds, _ROUNDS_MOST)
    found: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        large_run.write(Path(folder) / "large")
        with viewed(folder, "large") as address:
            for _ in range(rounds):
                for name, took in _round(address).items():
                    found.setdefault(name, []).append(took)
    middle = {name: median(values) for name, values in found.items()}
    limits = [verdict("first paint", middle["first paint"], _FIRST_PAINT_MS, "ms")]
    limits += [verdict(name, middle[name], _INTERACTION_MS, "ms") for name in _INTERACTIONS]
    rows = [Row(name, "", value) for name, value in middle.items()]
    return Table(f"the page, {large_run.NODES:,} nodes", "ms", rows, limits)


def _round(address: str) -> dict[str, float]:
    """Return the time of every interaction, in a browser of its own."""
    found: dict[str, float] = {}
    with chromium() as page:
        page.goto(address)
        found["tree shown"] = float(page.evaluate(_SHOWN))
        found["first paint"] = float(page.evaluate(_PAINTED))
        page.wait_for_timeout(2 * SETTLED_MS)
        return found | times(page, _INTERACTIONS)
