"""The window Load Files: what bare xprofiler opens, with the options of its command line."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from profiled_programs import build, profile

from browser.pages import GNOMON, Opened, Served, comes_to, text
from browser.test_accessible import critical_faults
from browser.test_callgraph import choose, displayed, facts, locate, status

XPROFILER = str(Path(GNOMON).parent / "xprofiler")
FUNCTIONS = {"main", "even", "odd", "fibonacci", "leaf", "middle"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a program, two gmon.out files of it, and a configuration."""
    folder = tmp_path_factory.mktemp("load")
    first = profile(build(folder))
    shutil.copy(first, folder / "gmon.out.1")
    first.rename(folder / "gmon.out.2")
    (folder / "small.toml").write_text('[xprofiler]\ndisplay_max = 2\nhidden = ["leaf"]\n')
    return folder


@pytest.fixture(scope="module")
def served(folder: Path) -> Iterator[Served]:
    with Opened([XPROFILER, "--no-browser"], folder) as opened:
        yield opened


@pytest.fixture
def window(page: Page, served: Served) -> Page:
    page.goto(served.address)
    expect(page.get_by_label("Binary executable")).to_be_visible()
    return page


def choose_files(page: Page) -> None:
    for name in ("program program", "profile gmon.out.1", "profile gmon.out.2"):
        page.get_by_role("button", name=name, exact=True).click()


def load(page: Page) -> None:
    page.get_by_role("button", name="OK").click()
    expect(page.locator(".graph-canvas")).to_be_visible()


def printed(folder: Path, *options: str) -> dict[str, Any]:
    command = [XPROFILER, *options, "program", "gmon.out.1", "gmon.out.2", "--json"]
    run = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    document: dict[str, Any] = json.loads(run.stdout)
    return document


def test_files_of_the_folder_are_added_up(window: Page, folder: Path, tmp_path: Path) -> None:
    assert critical_faults(window) == {}
    choose_files(window)
    load(window)
    expect(window.locator(".graph-status")).to_contain_text("program, 2 profiles")
    assert displayed(window, tmp_path) == FUNCTIONS
    choose(window, "File", "Load Files…")
    expect(window.get_by_label("Binary executable")).to_be_visible()
    window.keyboard.press("Escape")
    rows = printed(folder, "--report", "statistics")["statistics"]
    choose(window, "Report", "Function Level Statistics")
    report = window.get_by_role("region", name="Function Level Statistics", exact=True)
    expect(report.locator("tbody tr").first).to_contain_text(
        f"{rows[0]['function']} [{rows[0]['index']}]"
    )
    leaf = next(row for row in rows if row["function"] == "leaf")
    calls = report.locator("tr", has_text="leaf").filter(has_text="calls")
    sums = "".join(letter for letter in text(calls.locator("td").nth(2)) if letter.isdigit())
    assert int(sums) == 2 * leaf["calls_spread"]["average"]
    expect(calls.locator("td").nth(6)).to_have_text("gmon.out.1")


def test_options_are_those_of_the_command_line(window: Page, folder: Path) -> None:
    choose_files(window)
    window.get_by_label("Initial display").fill("3")
    window.get_by_label("Smallest grey boxes").fill("fibonacci leaf")
    window.get_by_label("Functions without time and calls").check()
    load(window)
    options = ("-E", "fibonacci", "-E", "leaf")
    comes_to(window, lambda: status(window)[0], 3)
    choose(window, "Filter", "Show Entire Call Tree")
    locate(window, "fibonacci")
    assert facts(window)["with descendants"].startswith("0 ")
    choose(window, "Report", "Function Index")
    report = window.get_by_role("region", name="Function Index", exact=True)
    rows = printed(folder, "-z", *options, "--report", "index")["index"]
    plain = printed(folder, *options, "--report", "index")["index"]
    assert len(rows) > len(plain)
    window.set_viewport_size({"width": 1400, "height": 3000})
    expect(report.locator("tbody tr")).to_have_count(len(rows))
    with window.expect_download() as saved:
        report.get_by_role("link", name="Save as text").click()
    command = [XPROFILER, "-z", *options, "program", "gmon.out.1", "gmon.out.2",
               "--report", "index"]  # fmt: skip
    run = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    assert Path(saved.value.path()).read_text() == run.stdout


def test_a_configuration_goes_before_the_number_of_boxes(window: Page, folder: Path) -> None:
    choose_files(window)
    window.get_by_label("Configuration file").fill(str(folder / "small.toml"))
    window.get_by_label("Initial display").fill("4")
    window.get_by_label("Write the sum").check()
    window.get_by_role("button", name="OK").click()
    notes = window.get_by_role("dialog").get_by_role("status")
    expect(notes).to_have_count(2)
    expect(notes.first).to_contain_text("-disp_max is ignored")
    expect(notes.nth(1)).to_contain_text("gmon.sum")
    window.get_by_role("button", name="Close", exact=True).click()
    comes_to(window, lambda: status(window)[0], 2)
    written = (folder / "gmon.sum").read_bytes()
    (folder / "gmon.sum").unlink()
    printed(folder, "-s", "--report", "flat")
    assert written == (folder / "gmon.sum").read_bytes()
    (folder / "gmon.sum").unlink()


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("Initial display", "5001", "0 to 5000"),
        ("Configuration file", "nowhere.toml", "nowhere.toml"),
        ("Shared libraries", "/nowhere", "-L /nowhere: there is no such directory"),
        ("Search sources in", "/nowhere", "-a /nowhere: there is no such directory"),
        ("Grey boxes, no entries", "nobody", "nobody"),
        ("Binary executable", "small.toml", "program"),
    ],
    ids=["boxes", "configuration", "libraries", "sources", "function", "program"],
)
def test_what_is_wrong_is_said(
    window: Page, trouble: list[str], field: str, value: str, said: str
) -> None:
    choose_files(window)
    window.get_by_label(field).fill(value)
    window.get_by_role("button", name="OK").click()
    expect(window.get_by_role("alert")).to_contain_text(said)
    trouble[:] = [line for line in trouble if "400" not in line and "422" not in line]
