"""What axe-core, a checker of pages for assistive technology, finds in each view."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from browser.pages import Served, visit

WEB = Path(__file__).parents[2] / "src" / "gnomon" / "view" / "web"
AXE = WEB / "node_modules" / "axe-core" / "axe.min.js"
VIEWS = {
    "#/": ".tree-row",
    "#/table": ".table-row",
    "#/table?table=values": ".table-row",
    "#/metrics": ".metric-row",
}


@pytest.mark.parametrize("view", VIEWS)
def test_no_view_has_a_critical_fault(page: Page, served: Served, view: str) -> None:
    visit(page, served, view)
    expect(page.locator(VIEWS[view]).first).to_be_visible()
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate("() => axe.run()")
    critical = {
        one["id"]: [node["target"] for node in one["nodes"]]
        for one in found["violations"]
        if one["impact"] == "critical"
    }
    assert critical == {}
