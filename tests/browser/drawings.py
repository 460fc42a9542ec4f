"""Pictures of call paths as the view saves them."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import NamedTuple

from playwright.sync_api import Page

SVG = "{http://www.w3.org/2000/svg}"


class Rectangle(NamedTuple):
    """A frame of an SVG: what is said of it, and where it is."""

    said: str
    x: float
    y: float
    width: float
    fill: str
    is_hatched: bool

    @property
    def name(self) -> str:
        """Its function."""
        return self.said.rpartition(": ")[0]


class Drawing(NamedTuple):
    """A saved picture."""

    width: float
    frames: list[Rectangle]
    texts: list[str]


def drawing(page: Page) -> Drawing:
    """Save the picture as SVG and read it."""
    page.get_by_role("button", name="Save").click()
    with page.expect_download() as saved:
        page.get_by_role("button", name="as SVG").click()
    root = ET.parse(saved.value.path()).getroot()
    frames = []
    for group in root.iter(f"{SVG}g"):
        title, (rect, *more) = group.findtext(f"{SVG}title"), group.findall(f"{SVG}rect")
        assert title is not None
        x, y, width = (float(rect.get(name, "")) for name in ("x", "y", "width"))
        frames.append(Rectangle(title, x, y, width, rect.get("fill", ""), bool(more)))
    return Drawing(float(root.get("width", "")), frames, [
        one.text or "" for one in root.iter(f"{SVG}text")
    ])  # fmt: skip
