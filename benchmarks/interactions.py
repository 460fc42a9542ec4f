"""Clicks and keys in Chromium, from the input to the next picture, as Event Timing defines it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

FRAME_MS = 16.0
"""Shorter interactions are not told apart."""
SETTLED_MS = 600
_OBSERVE = """
window.worst = 0;
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) window.worst = Math.max(window.worst, entry.duration);
}).observe({ type: "event", durationThreshold: 16 });
"""
if TYPE_CHECKING:
    from playwright.sync_api import Page

Act = Callable[["Page"], object]


def key(*keys: str) -> Act:
    """Return what presses keys."""

    def act(page: Page) -> None:
        for name in keys:
            page.keyboard.press(name)

    return act


def click(what: str) -> Act:
    """Return what clicks on a part of the page."""
    return lambda page: page.locator(what).click()


def typed(text: str) -> Act:
    """Return what types a text into the search box."""

    def act(page: Page) -> None:
        page.keyboard.press("/")
        page.keyboard.type(text, delay=80)

    return act


@contextmanager
def viewed(folder: str, run: str) -> Iterator[str]:
    """Serve a run of a folder with `gnomon view`; yield its address."""
    gnomon = str(Path(sys.executable).with_name("gnomon"))
    with subprocess.Popen(
        [gnomon, "view", run, "--no-browser"], cwd=folder, stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout is not None
        try:
            yield next(word for word in server.stdout.readline().split() if "://" in word)
        finally:
            server.terminate()


@contextmanager
def chromium() -> Iterator[Page]:
    """Start a browser of its own; yield a page of it."""
    from playwright.sync_api import sync_playwright

    program = shutil.which("chromium") or shutil.which("chromium-browser")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser.new_page(viewport={"width": 1280, "height": 800})
        browser.close()


def times(page: Page, interactions: Mapping[str, Act]) -> dict[str, float]:
    """Return the milliseconds of each interaction, one after the other."""
    found: dict[str, float] = {}
    page.evaluate(_OBSERVE)
    for name, act in interactions.items():
        page.evaluate("window.worst = 0")
        act(page)
        page.wait_for_timeout(SETTLED_MS)
        found[name] = max(float(page.evaluate("window.worst")), FRAME_MS)
    return found
