"""The view as a reader sees it: where to find things on its pages, and a server to open them."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol, Self

from playwright.sync_api import Locator, Page

GNOMON = str(Path(sys.executable).with_name("gnomon"))
# A machine that is busy with other things is slow, not wrong.
PATIENCE_MS = 90_000


# What is there when a view can be used.
READY = {
    "tree": ".tree-row.is-selected",
    "flame": ".flame-scroll canvas",
    "callgraph": ".graph-status",
    "table": ".table-row .value",
    "metrics": ".summary",
    "ranks": ".matrix-facts",
    "io": ".io-totals table, .io-nothing",
    "compare": ".compare-view",
    "run": ".run-page",
}


class Served(Protocol):
    """A server that runs.

    Attributes:
        address: what it printed: the page's address with the token.
        folder: where it was started.
    """

    address: str
    folder: Path


class Opened:
    """A command that serves, from its start to Ctrl-C."""

    def __init__(self, command: list[str], folder: Path) -> None:
        self._command = command
        self.folder = folder
        self.address = ""

    def __enter__(self) -> Self:
        """Start it and read the address that it prints."""
        self._process = subprocess.Popen(
            self._command, cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True,
        )  # fmt: skip
        said = ""
        assert self._process.stdout is not None
        for line in self._process.stdout:
            said += line
            found = re.search(r"http://127\.0\.0\.1:\d+/\S*", line)
            if found:
                self.address = found[0]
                return self
        raise AssertionError(f"{self._command} printed no address: {said}")

    def __exit__(self, *error: object) -> None:
        """End it as a user does."""
        self._process.send_signal(signal.SIGINT)
        self._process.communicate(timeout=60)


def visit(page: Page, served: Served, place: str = "", run: str = "") -> None:
    """Open a place of the view (`#/table?...`), with a run chosen in the bar."""
    page.goto(served.address + place)
    page.wait_for_selector(".run-title .menu-button")
    if run:
        choose_run(page, run)
    view = re.sub(r"^#/|\?.*", "", place) or "tree"
    page.wait_for_selector(READY[view])


def choose_run(page: Page, name: str) -> None:
    """Choose a run in the bar."""
    page.click(".run-title .menu-button")
    page.locator(
        ".run-title .item", has=page.locator("b", has_text=re.compile(f"^{name}$"))
    ).click()
    page.wait_for_function("name => document.title.startsWith(name)", arg=name)


def comes_to(page: Page, found: Callable[[], object], wanted: object) -> None:
    """Wait until what is found on a page is what is wanted."""
    end = time.monotonic() + PATIENCE_MS / 1000
    while found() != wanted and time.monotonic() < end:
        page.wait_for_timeout(50)
    assert found() == wanted


def text(found: Locator) -> str:
    """Return a text with every blank as one blank."""
    return re.sub(r"\s+", " ", found.inner_text()).strip()


def row_of(page: Page, name: str) -> Locator:
    """Return the tree's row of a name."""
    exact = page.locator(".name-text", has_text=re.compile(f"^{re.escape(name)}$"))
    return page.locator(".tree-row").filter(has=exact).first


def values_of(row: Locator) -> list[str]:
    """Return the values that stand in a row."""
    return [re.sub(r"\s+", " ", value).strip() for value in row.locator(".value").all_inner_texts()]


def names(page: Page) -> list[str]:
    """Return the names of the tree's rows, from top to bottom."""
    return page.locator(".tree-row .name-text").all_text_contents()


def selected(page: Page) -> str:
    """Return the name of the tree's chosen row."""
    return page.locator(".tree-row.is-selected .name-text").text_content() or ""
