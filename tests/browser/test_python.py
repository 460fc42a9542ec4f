"""A run of a Python program with processes and threads: `gnomon run`, then the view."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from browser.pages import GNOMON, Opened, Served, names, row_of, text, values_of, visit
from gnomon.units import quantity

PROGRAM = Path(__file__).parent / "programs" / "pool.py"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Serve a run of the program."""
    folder = tmp_path_factory.mktemp("python")
    shutil.copy(PROGRAM, folder)
    command = [
        GNOMON,
        "run",
        "--without",
        "samples",
        "--name",
        "pool",
        "--",
        sys.executable,
        "pool.py",
    ]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    with Opened([GNOMON, "view", "pool", "--no-browser"], folder) as opened:
        yield opened


def told(served: Served, *words: str) -> list[dict[str, float | str]]:
    """Return the rows of a profile as `gnomon report` tells them."""
    command = [GNOMON, "report", "pool", "profile", "-e", "task-clock", "--json", *words]
    done = subprocess.run(command, cwd=served.folder, check=True, capture_output=True)
    rows: list[dict[str, float | str]] = json.loads(done.stdout)["rows"]
    return rows


def test_sections_have_the_numbers_of_the_report(page: Page, served: Served) -> None:
    visit(page, served)
    sums = {row["region"]: float(row["self"]) for row in told(served)}
    for name in ("squares", "strings", "processes"):
        assert values_of(row_of(page, name))[2] == quantity(sums[name], "ns")
    heads = [text(head) for head in page.locator(".tree-head .head-name").all()]
    assert heads[-1] == "task-clock"


def test_processes_and_threads_have_a_time_without_asking(page: Page, served: Served) -> None:
    visit(page, served, "#/tree?by=rank")
    page.keyboard.press("*")
    expect(page.locator(".tree-row", has_text="thread").first).to_be_visible()
    for one in told(served, "--by", "thread"):
        label = f"thread {one['tid']} {one['name']}"
        if label in names(page):
            assert quantity(float(one["total"]), "ns") in values_of(row_of(page, label))
    assert sum(name.startswith(("thread", "process")) for name in names(page)) >= 6


def test_another_grouping_shows_the_same_line(page: Page, served: Served) -> None:
    """Not the node that has the same number there."""
    visit(page, served)
    lines = {"processes": "ProcessPoolExecutor(2)", "strings": "@hpm.section", "squares": "squares"}
    lit = page.locator(".cm-lit")
    for name, line in lines.items():
        for grouping in ("rank", "file", "region"):
            row_of(page, name).click()
            expect(lit).to_contain_text(line)
            page.get_by_role("button", name=grouping, exact=True).click()
            page.wait_for_function("by => location.hash.includes(`by=${by}&node=`)", arg=grouping)
            expect(page.locator(".tree-row.is-selected .name-text")).to_have_text(name)
            expect(lit).to_contain_text(line)
