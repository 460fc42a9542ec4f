"""speedscope itself, in Chromium, with a run that was exported for it."""

from __future__ import annotations

import re
import shutil
import threading
from contextlib import ExitStack
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from sampled_runs import Frame, Stack, write

from browser.pages import comes_to
from gnomon.store import exports, run_directory

RELEASE = Path(__file__).parents[2] / "src/gnomon/view/web/node_modules/speedscope/dist/release"
MAIN = Frame("main")
STACKS = (
    Stack((MAIN, Frame("solve"), Frame("operator()(int, char)")), 60, 100),
    Stack((MAIN, Frame("solve")), 30, 100),
    Stack((MAIN, Frame("write")), 5, 101),
)


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Say nothing on stderr."""


@pytest.fixture
def address(tmp_path: Path, servers: ExitStack) -> str:
    """Serve speedscope with the run beside it, and return the address that opens both."""
    if not RELEASE.exists():
        pytest.fail("speedscope's package is not there: run `make build`")
    site = tmp_path / "site"
    shutil.copytree(RELEASE, site)
    run = run_directory.find(str(write(tmp_path / "run.gnomon", STACKS, {"faults": 2.0})))
    (site / "run.speedscope.json").write_text("".join(exports.speedscope(run)))
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(site)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    servers.callback(thread.join)
    servers.callback(server.shutdown)
    servers.callback(server.server_close)
    base = f"http://127.0.0.1:{server.server_port}"
    return f"{base}/index.html#profileURL={base}/run.speedscope.json"


def sandwich(page: Page) -> dict[str, tuple[str, str]]:
    """Return what the table of speedscope shows of each function: total and self."""
    page.keyboard.press("3")
    expect(page.get_by_text("Symbol Name")).to_be_visible()
    rows = {}
    for row in page.locator("table tr").all():
        cells = row.locator("td").all_inner_texts()
        # Others keep the place of rows that are not in sight, or list the profiles.
        if len(cells) != 3 or "%" not in cells[0]:
            continue
        total, own, name = cells
        rows[name.strip()] = (total.split()[0], own.split()[0])
    return rows


def test_speedscope_opens_an_exported_run(page: Page, address: str, trouble: list[str]) -> None:
    page.goto(address)
    title = page.get_by_text("CPU time (sampled) (1/6)")
    expect(title).to_be_visible()
    # The rows come after the title does.
    comes_to(page, lambda: sandwich(page), {
        "app": ("950.00ms", "0.00ns"), "main": ("950.00ms", "0.00ns"),
        "solve": ("900.00ms", "300.00ms"),
        "operator()(int, char)": ("600.00ms", "600.00ms"), "write": ("50.00ms", "50.00ms"),
    })  # fmt: skip
    # Each thread has a profile of its own, then come those of the other metric.
    page.keyboard.press("n")
    expect(page.get_by_text("CPU time (sampled) of app 49, app 100 (2/6)")).to_be_visible()
    comes_to(page, lambda: sandwich(page).get("solve"), ("900.00ms", "300.00ms"))
    page.keyboard.press("n")
    page.keyboard.press("n")
    expect(page.get_by_text("faults (sampled) (4/6)")).to_be_visible()
    comes_to(page, lambda: sandwich(page).get("solve"), ("180", "60"))
    # What the renderer says of its own speed is no trouble.
    trouble[:] = [said for said in trouble if not re.search("GL Driver Message|favicon", said)]
