"""Reports of the call graph: their rows, and where these lead to in the picture and the sources."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from browser.pages import GNOMON, Served, comes_to, text, visit
from browser.test_accessible import critical_faults
from browser.test_callgraph import (
    choose,
    facts,
    folder,
    graph,
    locate,
    menu_of,
    path_of,
    served,
    status,
)

__all__ = ["folder", "graph", "served"]

TITLES = {
    "flat": "Flat Profile",
    "graph": "Call Graph Profile",
    "index": "Function Index",
    "calls": "Function Call Summary",
    "libraries": "Library Statistics",
    "statistics": "Function Level Statistics",
}


def printed(folder: Path, run: str, kind: str, *options: str) -> str:
    command = [GNOMON, "callgraph", path_of(folder, run), "--report", kind, *options]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout


def data(folder: Path, kind: str) -> list[dict[str, Any]]:
    """Return the rows that `gnomon callgraph --json` prints."""
    rows: list[dict[str, Any]] = json.loads(printed(folder, "gmon.out", kind, "--json"))[kind]
    return rows


def opened(page: Page, kind: str) -> Locator:
    """Open a report in a window that shows all of its rows, and return it."""
    page.set_viewport_size({"width": 1400, "height": 3000})
    choose(page, "Report", TITLES[kind])
    report = page.get_by_role("region", name=TITLES[kind], exact=True)
    expect(report.locator("tbody tr").first).to_be_visible()
    return report


def cells(report: Locator) -> list[list[str]]:
    table: list[list[str]] = report.locator("tbody").evaluate(
        "body => [...body.rows].map(row => [...row.cells].map(cell => cell.textContent))"
    )
    return table


def number(shown: str) -> int | None:
    digits = "".join(letter for letter in shown if letter.isdigit())
    return int(digits) if digits else None


def test_flat_profile_and_index_have_the_rows_of_the_command(graph: Page, folder: Path) -> None:
    rows = data(folder, "flat")
    flat = cells(opened(graph, "flat"))
    assert [(row[5], row[4], number(row[3])) for row in flat] == [
        (row["function"], f"[{row['index']}]", row["calls"]) for row in rows
    ]
    whole = json.loads(printed(folder, "gmon.out", "flat", "--json"))["whole"]
    for shown, row in zip(flat, rows, strict=True):
        assert abs(float(shown[0]) - 100 * row["self"] / whole) < 0.01
    index = cells(opened(graph, "index"))
    assert [(row[1], row[0]) for row in index] == [
        (row["function"], f"[{row['index']}]") for row in data(folder, "index")
    ]


def test_calls_and_libraries_have_the_rows_of_the_command(graph: Page, folder: Path) -> None:
    calls = cells(opened(graph, "calls"))
    assert [(row[2], row[3], number(row[1]), row[0]) for row in calls] == [
        (
            f"{row['caller']} [{row['caller_index']}]", f"{row['callee']} [{row['callee_index']}]",
            row["calls"], f"{100 * row['share']:.2f}",
        )
        for row in data(folder, "calls")
    ]  # fmt: skip
    libraries = cells(opened(graph, "libraries"))
    assert [(row[5], *map(number, row[2:5])) for row in libraries] == [
        (row["library"], row["calls_into"], row["calls_within"], row["calls_out"])
        for row in data(folder, "libraries")
    ]


def test_entries_have_callers_above_and_callees_below(graph: Page, folder: Path) -> None:
    lines: list[str] = []
    entries = data(folder, "graph")
    named = {
        entry["index"]: entry["function"]
        + (f" <cycle {entry['cycle']}>" if entry["cycle"] and "members" not in entry else "")
        for entry in entries
    }
    for entry in entries:
        for word, calls in (("from", "callers"), ("", ""), ("to", "callees")):
            if not word:
                lines.append(named[entry["index"]])
            lines += [f"{word} {named[one['index']]} [{one['index']}]"
                      for one in entry.get(calls, [])]  # fmt: skip
        members = set(entry.get("members", []))
        lines += [f"has {named[one]} [{one}]" for one in named if one in members]
    assert "to even <cycle 1> [" in "\n".join(lines)
    report = opened(graph, "graph")
    assert [row[5] for row in cells(report)] == lines
    report.get_by_role("button", name="to leaf").first.click()
    comes_to(graph, lambda: text(report.locator("tr.is-here td").nth(5)), "leaf")


def test_a_function_leads_to_its_box_and_its_source(graph: Page) -> None:
    report = opened(graph, "flat")
    report.get_by_role("button", name="leaf", exact=True).click()
    comes_to(graph, lambda: facts(graph).get("function", "").split(" ")[0], "leaf")
    report.get_by_role("button", name="source of leaf").click()
    graph.wait_for_url("**/*program.c*")


@pytest.mark.parametrize(("kind", "row"), [("flat", "leaf"), ("calls", "middle [")])
def test_what_is_inside_a_collapsed_cluster_is_no_filters_work(
    graph: Page, kind: str, row: str
) -> None:
    locate(graph, "main")
    canvas = graph.locator(".graph-canvas")
    canvas.focus()
    for key in ("c", "Enter"):
        canvas.press(key)
    graph.get_by_role("menuitem", name="Collapse Cluster").click()
    n = status(graph)[0]
    report = opened(graph, kind)
    line = report.locator("tbody tr").filter(has_text=row).first
    line.click()
    said = report.get_by_role("alert")
    expect(said).to_contain_text(re.compile("is inside the collapsed cluster .*/program"))
    assert "filter" not in text(said)
    report.get_by_role("button", name="Expand the cluster").click()
    expect(said).to_have_count(0)
    comes_to(graph, lambda: set(facts(graph)) >= {"function" if kind == "flat" else "caller"}, True)
    if kind == "flat":
        assert facts(graph)["function"].startswith("leaf ")
    else:
        ends = [cell for cell in line.locator("td").all_inner_texts() if "[" in cell]
        assert [facts(graph)["caller"], facts(graph)["callee"]] == ends
    # Nothing was added: it was there all along.
    assert status(graph)[0] == n


def test_a_hidden_function_is_added_when_asked(graph: Page) -> None:
    leave(graph, "even", 1)
    report = opened(graph, "flat")
    assert len(cells(report)) > 1
    report.get_by_role("button", name="leaf", exact=True).click()
    expect(report.get_by_role("alert")).to_contain_text("A filter hides leaf.")
    assert status(graph)[0] == 1
    report.get_by_role("button", name="Add it to the picture").click()
    comes_to(graph, lambda: status(graph)[0], 2)
    comes_to(graph, lambda: facts(graph).get("function", "").split(" ")[0], "leaf")


def leave(page: Page, words: str, n: int) -> None:
    """Filter by names, which leaves so many functions."""
    choose(page, "Filter", "Filter by Function Names…")
    page.get_by_label("Display only these functions").check()
    page.get_by_label("Enter function name").fill(words)
    page.get_by_role("button", name="OK").click()
    comes_to(page, lambda: status(page)[0], n)


@pytest.mark.parametrize("is_hidden", [False, True])
def test_a_call_leads_to_its_arrow(graph: Page, *, is_hidden: bool) -> None:
    if is_hidden:
        leave(graph, "fibonacci", 1)
    report = opened(graph, "calls")
    row = report.locator("tbody tr").filter(has_text="leaf [").first
    first = [text(cell) for cell in row.locator("td").all()]
    row.locator("td").nth(1).click()
    expect(report.get_by_role("alert")).to_have_count(int(is_hidden))
    if is_hidden:
        assert "caller" not in facts(graph)
        report.get_by_role("button", name="Add it to the picture").click()
        comes_to(graph, lambda: status(graph)[0], 3)
    comes_to(graph, lambda: "caller" in facts(graph), True)
    arc = facts(graph)
    assert arc["caller"].split(" ")[0] == first[2].split(" ")[0]
    assert arc["callee"].split(" ")[0] == first[3].split(" ")[0]
    assert number(arc["calls"]) == number(first[1])


def test_hidden_callers_and_callees_are_those_of_the_graph(graph: Page, folder: Path) -> None:
    left = {"middle", "even"}
    leave(graph, " ".join(left), len(left))
    pairs = [(row["caller"], row["callee"]) for row in data(folder, "calls")]
    hidden = {
        "neither": [pair for pair in pairs if not left & {*pair}],
        "caller": [pair for pair in pairs if pair[0] not in left and pair[1] in left],
        "callee": [pair for pair in pairs if pair[0] in left and pair[1] not in left],
    }
    assert all(hidden.values()), hidden
    away = [pair for group in hidden.values() for pair in group]
    assert status(graph)[2] == len(pairs) - len(away)
    report = opened(graph, "calls")
    told = []
    for row in report.locator("tbody tr").all():
        row.locator("td").nth(1).click()
        expect(row).to_have_class(re.compile("is-here"))
        if report.get_by_role("alert").count():
            said = text(report.get_by_role("alert"))
            told.append(tuple(re.findall(r"A filter hides (\S+) → (\S+)\.", said)[0]))
    assert sorted(told) == sorted(away)


def test_search_sorting_and_closing(graph: Page) -> None:
    report = opened(graph, "flat")
    search = report.get_by_label("Search in the report")
    search.fill("E")
    n = sum("e" in row[5] for row in cells(report))
    hits = report.locator(".report-hits")
    expect(hits).to_have_text(f"{n} hits")
    search.press("Enter")
    search.press("Enter")
    expect(hits).to_have_text(f"2 of {n} hits")
    assert "e" in text(report.locator("tr.is-here td").nth(5))
    report.get_by_role("button", name="function", exact=True).click()
    names = [row[5] for row in cells(report)]
    assert names == sorted(names)
    locate(graph, "even")
    graph.keyboard.press("Escape")
    expect(report).to_have_count(0)
    expect(graph.locator(".graph-canvas")).to_be_visible()


@pytest.mark.parametrize("run", ["gmon.out", "mesh"])
@pytest.mark.parametrize("kind", list(TITLES))
def test_files_are_what_the_command_writes(
    page: Page, served: Served, folder: Path, tmp_path: Path, kind: str, run: str
) -> None:
    visit(page, served, "#/callgraph", run=run)
    choose(page, "Report", TITLES[kind])
    report = page.get_by_role("region", name=TITLES[kind], exact=True)
    with page.expect_download() as saved:
        report.get_by_role("link", name="Save as text").click()
    file = tmp_path / "report.txt"
    saved.value.save_as(file)
    assert file.read_text() == printed(folder, run, kind)
    table = report.get_by_role("link", name="Save as CSV")
    assert table.count() == (kind != "graph")
    if kind != "graph":
        with page.expect_download() as saved:
            table.click()
        saved.value.save_as(file)
        written = tmp_path / "report.csv"
        printed(folder, run, kind, "-o", str(written))
        assert file.read_bytes() == written.read_bytes()


def test_its_edge_gives_a_report_another_height(graph: Page) -> None:
    choose(graph, "Report", TITLES["flat"])
    report = graph.get_by_role("region", name=TITLES["flat"], exact=True)
    edge = graph.get_by_role("separator", name="height of the report")
    canvas = graph.locator(".graph-canvas")

    def heights() -> tuple[float, float]:
        boxes = [each.bounding_box() for each in (report, canvas)]
        assert boxes[0]
        assert boxes[1]
        return boxes[0]["height"], boxes[1]["height"]

    first = heights()
    grip = edge.bounding_box()
    assert grip is not None
    x, y = grip["x"] + grip["width"] / 2, grip["y"] + grip["height"] / 2
    graph.mouse.move(x, y)
    graph.mouse.down()
    graph.mouse.move(x, y - 90, steps=5)
    graph.mouse.up()
    comes_to(graph, lambda: abs(heights()[0] - first[0] - 90) <= 4, True)
    comes_to(graph, lambda: abs(heights()[1] - first[1] + 90) <= 4, True)
    dragged = heights()[0]
    edge.focus()
    graph.keyboard.press("ArrowDown")
    graph.keyboard.press("ArrowDown")
    comes_to(graph, lambda: heights()[0] < dragged - 10, True)
    less, share = heights()[0], edge.get_attribute("aria-valuenow")
    graph.keyboard.press("ArrowUp")
    comes_to(graph, lambda: heights()[0] > less + 5, True)
    graph.keyboard.press("ArrowDown")
    graph.reload()
    choose(graph, "Report", TITLES["flat"])
    expect(edge).to_have_attribute("aria-valuenow", share or "")
    comes_to(graph, lambda: abs(heights()[0] - less) <= 4, True)
    edge.dblclick()
    comes_to(graph, lambda: abs(heights()[0] - first[0]) <= 4, True)


def test_statistics_of_a_function(graph: Page, folder: Path) -> None:
    rows = {row["function"]: row for row in data(folder, "statistics")}
    menu_of(graph, "leaf")
    graph.get_by_role("menuitem", name="Statistics Report").click()
    report = graph.get_by_role("region", name=TITLES["statistics"], exact=True)
    expect(report.locator("tbody tr")).to_have_count(3)
    shown = cells(report)
    assert {row[0] for row in shown} == {f"leaf [{rows['leaf']['index']}]"}
    calls = next(row for row in shown if row[1] == "calls")
    assert number(calls[2]) == rows["leaf"]["calls_spread"]["average"]
    assert [calls[6], calls[8]] == ["gmon.out", "gmon.out"]


def test_reports_are_accessible(graph: Page) -> None:
    opened(graph, "graph")
    assert critical_faults(graph) == {}
