"""The machine code of a function that is sampled here, beside the tree: what `annotate` says."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from browser.conftest import ran
from browser.pages import GNOMON, Opened, Served, visit

PROGRAM = """
#include <time.h>
static volatile double sink;
__attribute__((noinline)) void solve(int n)
{
	for (int i = 0; i < n; i++)
		if (i % 3)
			sink += i / (1.5 + sink);
}
int main(void)
{
	const clock_t end = clock() + CLOCKS_PER_SEC / 4;

	do
		solve(10000);
	while (clock() < end);
	return 0;
}
"""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Sample the program and serve the run."""
    folder = tmp_path_factory.mktemp("assembly")
    (folder / "p.c").write_text(PROGRAM)
    ran(["cc", "-g", "-O1", "-o", "program", "p.c"], folder)
    ran([GNOMON, "record", "--name", "app", "--", "./program"], folder)
    with Opened([GNOMON, "view", "app", "--no-browser"], folder) as opened:
        yield opened


def annotated(folder: Path) -> dict[str, Any]:
    command = [GNOMON, "annotate", "solve", "app", "--json"]
    done = subprocess.run(command, cwd=folder, capture_output=True, check=True, text=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_instructions_are_beside_the_tree(recorded: Served, page: Page) -> None:
    data = annotated(recorded.folder)
    visit(page, recorded, "#/tree")
    page.get_by_role("button", name="Assembly").click()
    rows = page.locator(".assembly-row")
    expect(rows.first).to_be_visible()
    addresses = [f"{one['address']:x}" for one in data["instructions"]]
    assert [row.get_attribute("data-address") for row in rows.all()] == addresses
    hottest = max(data["instructions"], key=lambda one: one["value"])
    values = rows.locator(".line-value")
    assert [bool(text) for text in values.all_inner_texts()] == [
        bool(one["value"]) for one in data["instructions"]
    ]
    page.get_by_role("button", name="Hottest", exact=True).click()
    here = page.locator(".assembly-row.is-here")
    expect(here).to_have_attribute("data-address", f"{hottest['address']:x}")
    # A head of an arrow for each target.
    assert page.locator(".assembly-arrows path").count() == len(data["jumps"]) > 0
    page.get_by_label("bytes", exact=True).check()
    shown = page.locator(".assembly-bytes").first.inner_text()
    assert shown.replace(" ", "") == data["instructions"][0]["bytes"]
    page.get_by_label("find in the code").fill("div")
    assert page.locator(".assembly-row.is-match").count() == sum(
        "div" in one["text"] for one in data["instructions"]
    )
    with page.expect_download() as download:
        page.get_by_role("button", name="Save", exact=True).click()
    saved = Path(download.value.path()).read_text()
    assert all(one["text"] in saved for one in data["instructions"])
    # A line leads to the source.
    line = here.locator(".assembly-line")
    expect(line).to_have_text(f"p.c:{hottest['line']}")
    line.click()
    expect(page.locator(".cm-lit")).to_contain_text("sink")
    with page.expect_download() as download:
        page.get_by_role("button", name="Save", exact=True).click()
    lines = Path(download.value.path()).read_text().splitlines()
    source = (recorded.folder / "p.c").read_text().splitlines()
    rows = zip(lines[1:], source, strict=False)
    assert all(row.endswith(text.rstrip()) for row, text in rows)
    assert lines[0].split()[0] == "line"
    hot = lines[hottest["line"]]
    assert hot.split()[0] == str(hottest["line"])
    # Before the source of a line that took time stands how much.
    assert re.search(r" s  |ms  ", hot.partition(source[hottest["line"] - 1])[0])
