"""Processes that run at the same time, programs of two names, Fortran in fixed form."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from browser.conftest import ran
from browser.pages import GNOMON, Opened, Served, row_of, text, visit

# However long it takes until both are there: most of the run is within the two sections.
WAITS = """import os, sys, time
from gnomon import hpm
open(f"here.{os.getpid()}", "w").close()
while sum(name.startswith("here.") for name in os.listdir()) < 2:
    time.sleep(0.01)
with hpm.section("waits", whole_process=True):
    time.sleep(1 + 2 * (time.time() - float(sys.argv[1])))
"""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Serve a run of two processes."""
    folder = tmp_path_factory.mktemp("job")
    (folder / "waits.py").write_text(WAITS)
    one = f"{sys.executable} waits.py $begun"
    both = f"begun=$(date +%s.%N); {one} & {one} & wait"
    ran([GNOMON, "run", "--name", "job", "--", "sh", "-c", both], folder)
    with Opened([GNOMON, "view", "job", "--no-browser"], folder) as opened:
        yield opened


def test_times_of_processes_at_once_are_not_added_up(page: Page, served: Served) -> None:
    visit(page, served, "#/tree?columns=i:wall%20time|i:task-clock")
    heads = page.locator(".tree-head .head.is-number")
    expect(heads.filter(has_text="wall time")).to_contain_text("max of processes")
    expect(heads.filter(has_text="task-clock")).not_to_contain_text("max of")
    meters = row_of(page, "waits").locator(".meter")
    expect(meters).to_have_count(2)
    for at in range(2):
        assert 0 <= float(text(meters.nth(at)).removeprefix("<")) <= 100


def test_builds_of_two_names_are_matched(page: Page, servers: ExitStack, folder: Path) -> None:
    shutil.copy(folder / "power", folder / "renamed")
    ran([GNOMON, "count", "--pmu", "emulated", "--name", "other", "--", "./renamed"], folder)
    command = [GNOMON, "view", "other", "slower", "--no-browser"]
    visit(page, servers.enter_context(Opened(command, folder)))
    page.select_option(".against select", label="slower")
    change = row_of(page, "product_of").locator(".change").first
    expect(change).to_have_text("0 %")
    page.get_by_role("button", name="Table", exact=True).click()
    row = page.locator(".table-row", has_text="product_of").first
    expect(row.locator(".change").first).to_have_text("0 %")


FIXED = """      program fixed
      integer i, s
      s = 0
c     do i = 1, 10
      do 10 i = 1, 20000
         s = s + mod(i, 7)
   10 continue
      print *, s
      end
"""


def test_fixed_form_has_comments_by_their_first_column(
    page: Page, servers: ExitStack, tmp_path: Path
) -> None:
    (tmp_path / "fixed.f").write_text(FIXED)
    ran(["gfortran", "-g", "-O0", "-o", "fixed", "fixed.f"], tmp_path)
    ran([GNOMON, "count", "--pmu", "emulated", "--name", "fixed", "--", "./fixed"], tmp_path)
    visit(page, servers.enter_context(Opened([GNOMON, "view", "fixed", "--no-browser"], tmp_path)))
    row_of(page, "MAIN__").click()
    line = page.locator(".cm-line", has_text="c     do i = 1, 10")
    expect(line.locator(".tok-comment")).to_have_text("c     do i = 1, 10")
    code = page.locator(".cm-line", has_text="do 10 i")
    expect(code.locator(".tok-keyword").first).to_have_text("do")
