"""What the picture of 5,000 functions and 10,000 calls takes in Chromium, and its layout in Node.

Clicks and keys are measured as of `interactions`. Moves of the pointer and turns of the wheel are
none of its events: for them it is the longest time from one frame to the next while they go on.
"""

from __future__ import annotations

import json
import shutil
import subprocess
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

_WEB = Path(__file__).parents[1] / "src" / "gnomon" / "view" / "web"
_LAYOUT = _WEB / "src" / "callgraph" / "layout.ts"
_SIZES = ((500, 1_000), (2_000, 4_000), (5_000, 10_000))
_ROUNDS_MOST = 5
_LAYOUT_MS = 500.0
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
# Of a graph as profiles have them: what comes later is called by what came before, some calls
# lead back, and labels are of different lengths. The generator is one of Lehmer's.
_MEASURE = """
import { layOut } from "./layout.mjs";
const [n, m, clusters, rounds] = process.argv.slice(2).map(Number);
let state = 11;
const chance = () => (state = (state * 48271) % 2147483647) / 2147483647;
const seen = new Set();
const from = [];
const to = [];
const call = (caller, callee) => {
  if (seen.has(caller * n + callee)) return;
  seen.add(caller * n + callee);
  from.push(caller);
  to.push(callee);
};
for (let node = 1; node < n; node++) call(Math.floor(node * chance() ** 1.5), node);
while (from.length < m) {
  const ends = [Math.floor(chance() * n), Math.floor(chance() ** 2 * n)];
  if (chance() < 0.97) ends.sort((a, b) => a - b);
  call(...ends);
}
const input = {
  width: Float64Array.from({ length: n }, () => 60 + 80 * chance()),
  height: Float64Array.from({ length: n }, () => 40 + 20 * chance()),
  from: Int32Array.from(from), to: Int32Array.from(to),
  cluster: Int32Array.from({ length: n }, () => Math.floor(chance() ** 3 * clusters)),
  nClusters: clusters, gapX: 22, gapY: 46, clusterPadding: 16, clusterHeader: 24,
};
if (clusters === 0) input.cluster.fill(-1);
const took = [];
for (let round = 0; round < rounds; round++) {
  const begin = performance.now();
  layOut(input);
  took.push(performance.now() - begin);
}
console.log(JSON.stringify(took));
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
    "without libraries": _choose("Filter", "Remove All Library Calls"),
}


def run(rounds: int) -> Table:
    """Return the times of the layout and of the picture."""
    rounds = min(rounds, _ROUNDS_MOST)
    rows: list[Row] = []
    limits: list[str] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        layouts = _layouts(folder, rounds)
        for subject, took in layouts.items():
            rows.append(Row(subject, "", took))
            if "dot" not in subject:
                limits.append(verdict(subject, took, _LAYOUT_MS, "ms"))
        n_functions, n_arcs = _SIZES[-1]
        program = profiled_program.build(folder, n_functions)
        (file,) = profiled_program.write_files(program, folder, 1, n_arcs)
        found: dict[str, list[float]] = {}
        with viewed(name, file.name) as address:
            for _ in range(rounds):
                for what, milliseconds in _round(address).items():
                    found.setdefault(what, []).append(milliseconds)
    for what, several in found.items():
        rows.append(Row(what, "", median(several)))
        if what in _MOVES or what in _INTERACTIONS:
            limits.append(verdict(what, median(several), _INTERACTION_MS, "ms"))
    if shutil.which("dot") is None:
        limits.append("graphviz is not here: no dot to compare with")
    return Table(f"a call graph of {n_functions:,} functions, {n_arcs:,} calls", "ms", rows, limits)


def _layouts(folder: Path, rounds: int) -> dict[str, float]:
    """Return the median milliseconds of the layout by its size, in Node, and of dot."""
    bundle: list[str | Path] = [
        _WEB / "node_modules" / ".bin" / "rolldown",
        _LAYOUT,
        "-o",
        folder / "layout.mjs",
    ]
    subprocess.run(bundle, check=True, capture_output=True)
    script = folder / "measure.mjs"
    script.write_text(_MEASURE, encoding="utf-8")
    found: dict[str, float] = {}
    for n, m in _SIZES:
        for clusters in (0, 8):
            numbers = [str(one) for one in (n, m, clusters, rounds + 1)]
            said = subprocess.run(
                ["node", script, *numbers], check=True, capture_output=True, text=True
            ).stdout
            within = f" in {clusters} libraries" if clusters else ""
            found[f"layout, {n:,} functions{within}"] = median(json.loads(said)[1:])
    return found


def _round(address: str) -> dict[str, float]:
    """Return the times in a browser of its own."""
    with chromium() as page:
        page.goto(address + "#/callgraph")
        page.wait_for_selector(".graph-canvas")
        page.wait_for_timeout(2 * SETTLED_MS)
        found = times(page, {name: act for name, act in _FILTERS.items() if "without" not in name})
        page.wait_for_timeout(2 * SETTLED_MS)
        page.evaluate(_WATCH)
        for name, act in _MOVES.items():
            page.evaluate("window.longest = 0")
            act(page)
            page.wait_for_timeout(SETTLED_MS)
            found[name] = float(page.evaluate("window.longest"))
        page.locator(".graph-canvas").focus()
        return found | times(page, _INTERACTIONS)
