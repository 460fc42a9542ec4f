"""The name by which scripts have imported `gnomon.terminal_text` ever since."""

from __future__ import annotations

from gnomon.terminal_text import (
    ELLIPSIS,
    NARROWEST,
    WIDTH,
    Grid,
    cut,
    fact_rows,
    facts,
    filled,
    grid,
    heading,
    short_path,
    shortened,
    suffixes,
    widths,
    wrapped,
    wrapped_table,
)

__all__ = [
    "ELLIPSIS",
    "NARROWEST",
    "WIDTH",
    "Grid",
    "cut",
    "fact_rows",
    "facts",
    "filled",
    "grid",
    "heading",
    "short_path",
    "shortened",
    "suffixes",
    "widths",
    "wrapped",
    "wrapped_table",
]
