"""The name by which scripts have imported `gnomon.counters.event_resolver` ever since."""

from __future__ import annotations

from gnomon.counters.event_resolver import (
    Resolved,
    by_another_name,
    one,
    owner,
    resolve,
    twin,
)

__all__ = ["Resolved", "by_another_name", "one", "owner", "resolve", "twin"]
