"""Parts of the page that a library draws can be read in dark colours, too."""

from __future__ import annotations

import re

from playwright.sync_api import Locator, Page, expect

from browser.pages import Served, visit

# WCAG 2.2, 1.4.3: text of this size.
LEAST_CONTRAST = 4.5


def luminance(colour: str) -> float:
    """Return the relative luminance of `rgb(...)`, as WCAG defines it; see-through is refused."""
    found = [float(part) for part in re.findall(r"[\d.]+", colour)]
    assert len(found) == 3 or found[3] == 1, colour
    parts = (part / 255 for part in found[:3])
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(shown: Locator) -> float:
    """Return the contrast of a piece's text with its own background."""
    style = "one => { const s = getComputedStyle(one); return [s.color, s.backgroundColor]; }"
    dark, bright = sorted(luminance(colour) for colour in shown.evaluate(style))
    return (bright + 0.05) / (dark + 0.05)


def test_the_search_in_a_source_can_be_read_in_both_themes(page: Page, served: Served) -> None:
    visit(page, served)
    for theme in ("light", "dark"):
        if theme == "dark":
            page.keyboard.press("Escape")
            page.get_by_role("button", name="Dark", exact=True).click()
            expect(page.locator("html")).to_have_css("color-scheme", "dark")
        page.locator(".source-text").focus()
        page.keyboard.press("Control+f")
        for piece in (".cm-textfield", ".cm-button"):
            shown = page.locator(f".cm-search {piece}").first
            expect(shown).to_be_visible()
            expect(shown).to_have_css("background-image", "none")
            assert contrast(shown) >= LEAST_CONTRAST
