"""Counting on the tasks of a job: what plug-ins get, make of it, and what is printed.

Plug-ins in Python import `Item`, `EventInfo` and `Spread` from here, and `Ranks` for its type.
"""

from __future__ import annotations

from gnomon.hpm.ranks.items import EventInfo, Item, Spread

__all__ = ["EventInfo", "Item", "Spread"]
