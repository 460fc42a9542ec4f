"""What a flame graph of 100,000 nodes takes in Chromium: to be painted, zoomed and searched.

It is opened three times: with all that has to be read; when its tree and values are in the page but
its frames are not, which is what "painted" means; and when nothing has changed since. The other
figures are interactions, as of `browser`.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from benchmarks import large_samples
from benchmarks.interactions import SETTLED_MS, Act, chromium, click, key, times, typed, viewed
from benchmarks.table import Row, Table, verdict

if TYPE_CHECKING:
    from playwright.sync_api import Page

NODES = 100_000
_ROUNDS_MOST = 5
_PAINT_MS = 300.0
_INTERACTION_MS = 50.0
# The picture is there when its canvas has frames, in the frame after that.
_OPENED = """
new Promise((done, fail) => {
  setTimeout(() => fail(new Error("the picture did not come")), 60000);
  const begin = performance.now();
  const look = () => document.querySelector(".flame-scroll canvas")
    ? requestAnimationFrame(() => done(performance.now() - begin))
    : requestAnimationFrame(look);
  document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "2", bubbles: true }));
  look();
})
"""


# With another location the frames of all of them are no longer kept.
_ELSEWHERE = "#/flame?location=2"


def _frame(page: Page) -> None:
    box = page.locator(".flame-scroll").bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + 0.3 * box["width"], box["y"] + box["height"] - 50)


def _focus(page: Page) -> None:
    page.locator(".flame-scroll").focus()


_INTERACTIONS: Mapping[str, Act] = {
    "zoom by a click": _frame,
    "zoom out": key("Escape"),
    "from frame to frame": key("ArrowUp", "ArrowUp", "ArrowRight"),
    "zoom by a key": key("Enter"),
    "zoom out again": key("Escape"),
    "search, each letter": typed("function_17"),
    "to the next match": key("Enter", "n", "n"),
    "no search": key("/", "Escape"),
    "icicle": click("text=Icicle"),
    "by name": lambda page: page.select_option("select[aria-label=order]", "name"),
}
# Others make all frames anew; the issue names what is done all the time.
_LIMITED = ("zoom by a click", "zoom out", "zoom by a key", "search, each letter",
            "from frame to frame", "to the next match")  # fmt: skip


def run(rounds: int) -> Table:
    """Return the times of the picture on a run with many call paths."""
    rounds = min(rounds, _ROUNDS_MOST)
    found: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        large_samples.write(Path(folder) / "calls", NODES // large_samples.FRAMES_EACH)
        with viewed(folder, "calls") as address:
            for _ in range(rounds):
                for name, took in _round(address).items():
                    found.setdefault(name, []).append(took)
    middle = {name: median(values) for name, values in found.items()}
    limits = [verdict("painted", middle["painted"], _PAINT_MS, "ms")]
    limits += [verdict(name, middle[name], _INTERACTION_MS, "ms") for name in _LIMITED]
    rows = [Row(name, "", value) for name, value in middle.items()]
    return Table(f"a flame graph of {NODES:,} nodes", "ms", rows, limits)


def _round(address: str) -> dict[str, float]:
    """Return the times in a browser of its own."""
    with chromium() as page:
        page.goto(address)
        page.wait_for_selector(".tree-row .value")
        page.wait_for_timeout(2 * SETTLED_MS)
        found = {"opened for the first time": float(page.evaluate(_OPENED))}
        for name, before in (("painted", _ELSEWHERE), ("opened again", "#/flame")):
            for place in (before, "#/tree"):
                page.evaluate("place => { location.hash = place; }", place)
                page.wait_for_timeout(2 * SETTLED_MS)
            found[name] = float(page.evaluate(_OPENED))
        _focus(page)
        page.wait_for_timeout(SETTLED_MS)
        return found | times(page, _INTERACTIONS)
