"""Suggestions for a name that is not known here: "did you mean ...?".

Source: native/counters/name_suggestions.c.
"""

from __future__ import annotations

from collections.abc import Iterable

from gnomon import _core


def nearest(name: str, known: Iterable[str]) -> tuple[str, ...]:
    """Return up to three known names that look like the one typed, best first."""
    return _core.nearest(name, known)
