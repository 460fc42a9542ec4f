"""What axe-core, a checker of pages for assistive technology, finds in each view."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urljoin

from playwright.sync_api import Page, expect

from browser.pages import Served, visit

WEB = Path(__file__).parents[2] / "src" / "gnomon" / "view" / "web"
AXE = WEB / "node_modules" / "axe-core" / "axe.min.js"
VIEWS = {
    "#/": ".tree-row",
    "#/table": ".table-row",
    "#/metrics": ".metric-row",
}


def test_no_view_has_a_critical_fault(page: Page, served: Served) -> None:
    visit(page, served)
    for view, shown in VIEWS.items():
        page.goto(urljoin(page.url, view))
        expect(page.locator(shown).first).to_be_visible()
        assert critical_faults(page) == {}, view


def critical_faults(page: Page) -> dict[str, list[str]]:
    """Return what keeps readers from using a page, and where."""
    if not page.evaluate("() => 'axe' in window"):
        page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate("() => axe.run()")
    return {
        one["id"]: [node["target"] for node in one["nodes"]]
        for one in found["violations"]
        if one["impact"] == "critical"
    }
