"""Kinds of locations: who did something, and where on the machine it was."""

from __future__ import annotations

WHERE = ("core", "cpu")
"""Those that say where on the machine: a second view of what others counted, never added to it."""

KINDS = ("run", "host", "rank", "command", "process", "thread", *WHERE)
"""All of them; runs and hosts are in combinations only."""


def where() -> str:
    """Return `WHERE` as a list of SQL."""
    return "(" + ", ".join(f"'{kind}'" for kind in WHERE) + ")"
