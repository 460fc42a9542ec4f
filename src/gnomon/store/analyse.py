"""The name by which scripts have imported `gnomon.store.profile_query` ever since."""

from __future__ import annotations

from gnomon.store.profile_query import (
    BY,
    Analysis,
    Key,
    LocationRange,
    Part,
    Profile,
    Sum,
    parts,
    run,
)

__all__ = ["BY", "Analysis", "Key", "LocationRange", "Part", "Profile", "Sum", "parts", "run"]
