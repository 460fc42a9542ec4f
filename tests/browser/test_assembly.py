"""The machine code of a function that is sampled here, beside the tree: what `annotate` says."""

from __future__ import annotations

import json
import platform
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from browser.conftest import ran
from browser.pages import GNOMON, Opened, Served, comes_to, visit
from gnomon.units import number, quantity

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


@pytest.fixture(scope="module")
def profiled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Serve the gmon.out file of the program."""
    folder = tmp_path_factory.mktemp("ticks")
    (folder / "p.c").write_text(PROGRAM)
    ran(["cc", "-pg", "-g", "-O1", "-o", "program", "p.c"], folder)
    ran(["./program"], folder)
    with Opened([GNOMON, "view", "gmon.out", "--no-browser"], folder) as opened:
        yield opened


def annotated(folder: Path, run: str = "app", *options: str) -> dict[str, Any]:
    command = [GNOMON, "annotate", "solve", run, "--json", *options]
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
    place = here.locator(".assembly-line")
    expect(place).to_have_text(f"p.c:{hottest['line']}")
    place.click()
    expect(page.locator(".cm-lit")).to_contain_text("sink")
    with page.expect_download() as download:
        page.get_by_role("button", name="Save", exact=True).click()
    lines = Path(download.value.path()).read_text().splitlines()
    source = (recorded.folder / "p.c").read_text().splitlines()
    written = zip(lines[1:], source, strict=False)
    assert all(row.endswith(text.rstrip()) for row, text in written)
    assert lines[0].split()[0] == "line"
    hot = lines[hottest["line"]]
    assert hot.split()[0] == str(hottest["line"])
    # Before the source of a line that took time stands how much.
    assert re.search(r" s  |ms  ", hot.partition(source[hottest["line"] - 1])[0])


def column(page: Page) -> list[str]:
    return [text.strip() for text in page.locator(".assembly-row .line-value").all_inner_texts()]


def in_ticks(values: list[float]) -> list[str]:
    return [number(round(value, 2)) if value else "" for value in values]


def test_a_gmon_file_has_ticks_until_seconds_are_asked_for(profiled: Served, page: Page) -> None:
    ticks = annotated(profiled.folder, "gmon.out", "--ticks")
    seconds = annotated(profiled.folder, "gmon.out")
    visit(page, profiled, "#/tree")
    page.locator(".tree-row").filter(has_text="solve").first.click()
    lines = {one["line"]: one["value"] for one in ticks["lines"] if one["value"]}
    assert sum(lines.values()) == pytest.approx(ticks["total"])
    marks = page.locator(".source-place .line-value")
    expect(marks.first).to_be_visible()
    # A sign behind each says that it is sampled.
    shown = [text.removesuffix("◌") for text in marks.all_inner_texts() if text.strip()]
    assert sorted(shown) == sorted(in_ticks(list(lines.values())))
    expect(page.locator(".source-columns")).to_contain_text("CPU time, ticks")
    page.get_by_role("button", name="Assembly").click()
    wanted = in_ticks([one["value"] for one in ticks["instructions"]])
    comes_to(page, lambda: column(page), wanted)
    expect(page.locator(".assembly .tools")).to_contain_text(
        f"CPU time {number(round(ticks['total'], 2))} ticks"
    )
    box = page.get_by_label("ticks", exact=True)
    expect(box).to_be_checked()
    box.uncheck()
    values = [one["value"] for one in seconds["instructions"]]
    times = [quantity(value, "s") if value else "" for value in values]
    assert times != wanted
    comes_to(page, lambda: column(page), times)
    # It is kept in this browser.
    page.reload()
    comes_to(page, lambda: column(page), times)


def test_a_recorded_run_has_ticks_when_asked_for(recorded: Served, page: Page) -> None:
    visit(page, recorded, "#/tree")
    page.get_by_role("button", name="Assembly").click()
    expect(page.locator(".assembly-row").first).to_be_visible()
    box = page.get_by_label("ticks", exact=True)
    expect(box).not_to_be_checked()
    box.check()
    ticks = annotated(recorded.folder, "app", "--ticks")
    comes_to(page, lambda: column(page), in_ticks([one["value"] for one in ticks["instructions"]]))


@pytest.mark.skipif(platform.machine() != "x86_64", reason="one syntax: run it on x86")
def test_x86_code_is_in_either_syntax(recorded: Served, page: Page) -> None:
    def code() -> list[str]:
        return [
            row.evaluate("row => row.querySelector('.assembly-text').firstChild.textContent")
            for row in page.locator(".assembly-row").all()
        ]

    att, intel = (
        [one["text"] for one in annotated(recorded.folder, "app", *options)["instructions"]]
        for options in ((), ("--intel",))
    )
    assert att != intel
    visit(page, recorded, "#/tree")
    page.get_by_role("button", name="Assembly").click()
    comes_to(page, code, att)
    page.locator(".assembly-row").nth(2).click()
    page.get_by_label("syntax").select_option(label="Intel")
    comes_to(page, code, intel)
    # It is the same code: what was selected still is.
    expect(page.locator(".assembly-row").nth(2)).to_have_class(re.compile("is-here"))
    page.reload()
    comes_to(page, code, intel)
    page.get_by_label("syntax").select_option(label="AT&T")
    comes_to(page, code, att)
