"""Names of C++ as a reader looks for them, and which times are shares of the run."""

from __future__ import annotations

import re
import sys
from contextlib import ExitStack
from pathlib import Path

from playwright.sync_api import Page, expect

from browser.conftest import ran
from browser.pages import GNOMON, Opened, row_of, visit

SPREAD = """namespace outer {
struct Box {
    template <typename T>
    __attribute__((noinline)) static void spread(T *values, int n)
    {
        for (int k = 1; k < n; k++)
            values[k] += values[k - 1] / 2;
    }
};
}
"""
MAIN = """#include "spread.hpp"

int main()
{
    static double values[20000];
    values[0] = 1;
    outer::Box::spread<double>(values, 20000);
    return values[19999] > 1;
}
"""
SPREAD_NAME = "outer::Box::spread<double>(double*, int)"
WAITS = """import time
from gnomon import hpm
for _ in range(3):
    with hpm.section("waits"):
        time.sleep(0.02)
time.sleep(0.4)
"""
# All are in their sections at the same time: together they have far more than the run took.
AT_ONCE = """import time
from threading import Barrier, Thread
from gnomon import hpm
THREADS = 16
all_in = Barrier(THREADS)
def wait(number):
    with hpm.section(f"waits {number}"):
        all_in.wait()
        time.sleep(0.2)
threads = [Thread(target=wait, args=(number,)) for number in range(THREADS)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""


def test_a_template_has_its_name_without_the_type_it_returns(
    page: Page, servers: ExitStack, tmp_path: Path
) -> None:
    for folder, name, text in (("lib", "spread.hpp", SPREAD), ("src", "main.cpp", MAIN)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / name).write_text(text)
    # The compiler leaves this path with its detour: src/../lib/spread.hpp.
    command = ["g++", "-g", "-O1", "-I../lib", "-o", "../spread", "main.cpp"]
    ran(command, tmp_path / "src")
    ran([GNOMON, "count", "--pmu", "emulated", "--name", "spread", "--", "./spread"], tmp_path)
    command = [GNOMON, "view", "spread", "--no-browser"]
    served = servers.enter_context(Opened(command, tmp_path))
    visit(page, served)
    shown = row_of(page, SPREAD_NAME).locator(".name-text")
    expect(shown).to_have_attribute("title", f"function void {SPREAD_NAME}")
    page.get_by_role("button", name="file", exact=True).click()
    path = str(tmp_path / "lib" / "spread.hpp")
    expect(row_of(page, path)).to_be_visible()
    expect(row_of(page, SPREAD_NAME).locator(".where")).to_have_count(0)
    page.get_by_role("button", name="Table", exact=True).click()
    row = page.locator(".table-row", has_text=SPREAD_NAME).first
    expect(row.locator(".cell", has_text=path)).to_be_visible()


def test_what_threads_do_at_the_same_time_is_no_share_of_the_run(
    page: Page, servers: ExitStack, tmp_path: Path
) -> None:
    (tmp_path / "waits.py").write_text(AT_ONCE)
    ran([GNOMON, "run", "--name", "threads", "--", sys.executable, "waits.py"], tmp_path)
    served = servers.enter_context(Opened([GNOMON, "view", "threads", "--no-browser"], tmp_path))
    visit(page, served, "#/tree?columns=i:wall%20time|i:task-clock")
    meters = row_of(page, "waits 7").locator(".meter")
    expect(meters).to_have_count(2)
    expect(meters.nth(0)).to_have_text("")
    expect(meters.nth(0)).to_have_attribute("title", "beside the largest; no share of the run, "
        "for parts of it are at the same time")  # fmt: skip
    expect(meters.nth(1)).not_to_have_text("")


def test_the_mean_of_ranks_is_a_share_of_the_run(
    page: Page, servers: ExitStack, tmp_path: Path
) -> None:
    (tmp_path / "waits.py").write_text(WAITS)
    task = f"OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_RANK=%d {sys.executable} waits.py"
    both = f"{task % 0} & {task % 1} & wait"
    ran([GNOMON, "run", "--name", "ranks", "--", "sh", "-c", both], tmp_path)
    served = servers.enter_context(Opened([GNOMON, "view", "ranks", "--no-browser"], tmp_path))
    visit(page, served, "#/tree?columns=i:wall%20time|i:task-clock")
    row = row_of(page, "waits")
    meters = row.locator(".meter")
    expect(meters).to_have_count(2)
    head = page.locator(".tree-head .head.is-number").filter(has_text="wall time")
    expect(head).to_contain_text("mean of 2 ranks")
    for at in range(2):
        expect(meters.nth(at)).not_to_have_text("")
        expect(meters.nth(at)).to_have_attribute("title", re.compile(r" % of the run$"))
    # Calls are those of all ranks: with one chosen no column could be taken for its own.
    calls = page.get_by_role("columnheader", name="calls")
    expect(calls).to_be_visible()
    expect(row.get_by_role("gridcell").nth(1)).to_have_text("6")
    rank = page.locator("select.location option", has_text="rank 1")
    page.select_option("select.location", value=rank.first.get_attribute("value"))
    expect(calls).to_have_count(0)
    expect(row).to_be_visible()


def test_a_program_without_parts_has_a_table_of_its_places(
    page: Page, servers: ExitStack, tmp_path: Path
) -> None:
    ran([GNOMON, "run", "--name", "bare", "--", "sleep", "0.01"], tmp_path)
    served = servers.enter_context(Opened([GNOMON, "view", "bare", "--no-browser"], tmp_path))
    visit(page, served, "#/table")
    expect(page.locator(".table-row").first).to_contain_text("sleep")
