"""A real browser on a real server with real runs: C, Fortran and Python programs, built here."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import (
    Browser,
    ConsoleMessage,
    Page,
    Request,
    Response,
    ViewportSize,
    expect,
    sync_playwright,
)
from turns import made_once

from browser.pages import GNOMON, PATIENCE_MS, Opened, Served

PROGRAMS = Path(__file__).parent / "programs"
EXAMPLES = Path(__file__).parents[2] / "examples"
SIZE = ViewportSize(width=1280, height=800)


def ran(command: list[str], folder: Path, **environment: str) -> None:
    """Run a command to its end; what it says stands in the error if it fails."""
    done = subprocess.run(
        command, cwd=folder, env=os.environ | environment, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"


@pytest.fixture(scope="package")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with runs: lines.gnomon, slower.gnomon, threads.gnomon, and .viz files."""
    return made_once(tmp_path_factory.getbasetemp(), "browser", measure)


def measure(here: Path) -> None:
    """Build the programs in a folder and measure them."""
    for source in PROGRAMS.iterdir():
        shutil.copy(source, here)
    ran(["gfortran", "-g", "-O1", "-c", "product.f90"], here)
    for name, rounds in (("lines", 5), ("slower", 9)):
        flags = ["-g", "-O1", f"-DROUNDS={rounds}"]
        ran(["cc", *flags, "-o", "power", "power.c", "product.o", "-lgfortran", "-lm"], here)
        ran([GNOMON, "count", "--pmu", "emulated", "--name", name, "--", "./power"], here)
    ran(["cc", "-g", "-O1", "-pthread", "-o", "uneven", "uneven.c"], here)
    ran(
        [GNOMON, "count", "--per", "thread", "-r", "3", "--name", "threads", "--", "./uneven"], here
    )
    shutil.copy(EXAMPLES / "hpm-python" / "primes.py", here)
    ran(
        [sys.executable, "primes.py", "200000", "2"], here,
        HPM_OUTPUT_NAME="primes", HPM_UNIQUE_FILE_NAME="0",
    )  # fmt: skip
    shutil.copy(EXAMPLES / "hpm-c" / "relax.c", here)
    found = [GNOMON, "config", "--cflags", "--libs", "hpm"]
    linked = subprocess.run(found, check=True, capture_output=True, text=True).stdout.split()
    ran(["cc", "-g", "-O2", "-fopenmp", "-o", "relax", "relax.c", *linked, "-lm"], here)
    ran(["./relax", "100", "3"], here, HPM_OUTPUT_NAME="relax", HPM_UNIQUE_FILE_NAME="0",
        OMP_NUM_THREADS="2")  # fmt: skip


@pytest.fixture(scope="package")
def served(folder: Path) -> Iterator[Served]:
    """Run `gnomon view` on all of them, as a user would."""
    runs = ["lines", "slower", "threads", "primes.viz", "relax.viz"]
    with Opened([GNOMON, "view", *runs, "--no-browser"], folder) as opened:
        yield opened


expect.set_options(timeout=PATIENCE_MS)


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """Start Debian's Chromium, once."""
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        pytest.fail("Chromium is not installed: run `make setup`")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path=program, args=["--no-sandbox"], timeout=2 * PATIENCE_MS
        )
        yield chromium
        chromium.close()


@pytest.fixture
def trouble() -> list[str]:
    """Collect what a page complains of; a test that expects some of it empties the list."""
    return []


@pytest.fixture
def servers() -> Iterator[ExitStack]:
    """Return what a test puts servers of its own into: they outlive its page, which asks them."""
    with ExitStack() as stack:
        yield stack


@pytest.fixture(scope="package")
def tab(browser: Browser) -> Iterator[Page]:
    """Return the page in which tests take turns: a new one, with its processes, costs a second."""
    context = browser.new_context(viewport=SIZE, color_scheme="light", accept_downloads=True)
    context.set_default_timeout(PATIENCE_MS)
    yield context.new_page()
    context.close()


@pytest.fixture
def page(
    tab: Page,
    trouble: list[str],
    servers: ExitStack,  # noqa: ARG001 - asked for here, so that it ends after the page
) -> Iterator[Page]:
    """Return a page as if new; no error on its console and no request to elsewhere is allowed."""

    def said(message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            trouble.append(f"console: {message.text}")

    def failed(error: object) -> None:
        trouble.append(f"error: {error}")

    def asked(request: Request) -> None:
        if not re.match(r"(http://127\.0\.0\.1:\d+/|blob:|data:)", request.url):
            trouble.append(f"asked elsewhere: {request.url}")

    def answered(response: Response) -> None:
        if response.status >= 400:
            trouble.append(f"{response.status}: {response.url}")

    watched: dict[Any, Any] = {
        "console": said, "pageerror": failed, "request": asked, "response": answered,
    }  # fmt: skip
    for event, told in watched.items():
        tab.on(event, told)
    yield tab
    for event, told in watched.items():
        tab.remove_listener(event, told)
    as_new(tab)
    assert not trouble


def as_new(page: Page) -> None:
    """Take from a page what a test left in it: routes, preferences, size, colours, the mouse."""
    page.unroute_all()
    if page.url.startswith("http"):
        page.evaluate("localStorage.clear()")
    page.goto("about:blank")
    page.set_viewport_size(SIZE)
    page.emulate_media(color_scheme="light")
    page.mouse.move(0, 0)
