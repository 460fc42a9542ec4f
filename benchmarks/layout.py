"""The layout of call graphs, in Node and in Chromium, beside graphviz's dot.

Graphs are made from a seed (`call_graphs.mjs`) and are like those of programs. The first layout of
a process is told apart: its code is not compiled yet, and in the page it is what users wait for.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from benchmarks.interactions import chromium
from benchmarks.table import Grid, verdict

_ROOT = Path(__file__).parents[1]
_WEB = _ROOT / "src" / "gnomon" / "view" / "web"
_SIZES = ((500, 1_000), (2_000, 4_000), (5_000, 10_000))
_ROUNDS_MOST = 10
_LIMIT_MS = 500.0
# dot takes minutes for the largest, if it comes to an end at all.
_DOT_MOST_S = 120


def run(rounds: int) -> Grid:
    """Return the times of layouts of three sizes: the first of a process, and the median after."""
    rounds = min(rounds, _ROUNDS_MOST)
    node = shutil.which("node") or str(Path(sys.executable).with_name("node"))
    subjects: dict[str, dict[str, float]] = {}
    limits = []
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "layout_times.js"
        subprocess.run(
            [node, _WEB / "node_modules" / "rolldown" / "bin" / "cli.mjs",
             Path(__file__).with_name("layout_times.mjs"), "--format", "iife",
             "--name", "layoutTimes", "-o", script],
            check=True, capture_output=True, cwd=_WEB,
        )  # fmt: skip
        for n, m in _SIZES:
            arguments = [str(n), str(m), str(rounds)]
            printed = subprocess.run([node, script, "times", *arguments], check=True,
                                     capture_output=True, text=True).stdout  # fmt: skip
            with chromium() as page:
                page.goto("about:blank")
                page.add_script_tag(content=script.read_text())
                in_page = page.evaluate(f"layoutTimes.times({', '.join(arguments)})")
            took: dict[str, float] = {}
            for place, each in (("Node", json.loads(printed)), ("Chromium", in_page)):
                took[f"{place}, first"] = each[0]
                took[place] = median(each[1:] or each)
            dot = _dot_ms(node, script, n, m)
            if isinstance(dot, float):
                took["dot"] = dot
            else:
                limits.append(f"dot, {n:,} boxes: {dot}")
            subjects[f"{n:,} boxes, {m:,} arcs"] = took
    largest = subjects[f"{_SIZES[-1][0]:,} boxes, {_SIZES[-1][1]:,} arcs"]
    limits += [
        verdict(place, largest[place], _LIMIT_MS, "ms") for place in largest if place != "dot"
    ]
    columns = ("Node, first", "Node", "Chromium, first", "Chromium", "dot")
    return Grid("layouts of call graphs", "ms", columns, subjects, limits)


def _dot_ms(node: str, script: Path, n: int, m: int) -> float | str:
    """Return what dot takes for the graph, or why that is not known."""
    dot = shutil.which("dot")
    if dot is None:
        return "not here"
    source = subprocess.run([node, script, "dot", str(n), str(m)], check=True, text=True,
                            capture_output=True).stdout  # fmt: skip
    begin = time.perf_counter()
    try:
        subprocess.run([dot, "-Tplain"], input=source, text=True, check=True,
                       capture_output=True, timeout=_DOT_MOST_S)  # fmt: skip
    except subprocess.TimeoutExpired:
        return f"no end after {_DOT_MOST_S} s"
    return 1e3 * (time.perf_counter() - begin)
