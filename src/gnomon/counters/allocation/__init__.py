"""Which events count at once, on which counters, and in which groups they take turns otherwise."""

from __future__ import annotations

from gnomon.counters.allocation.fit import (
    CounterSlot,
    Fit,
    addable,
    fits,
    is_hardware,
    opening_order,
)
from gnomon.counters.allocation.grouping import groups
from gnomon.counters.allocation.target_pmus import CorePmu, at_hand, known_names, named

__all__ = [
    "CorePmu",
    "CounterSlot",
    "Fit",
    "addable",
    "at_hand",
    "fits",
    "groups",
    "is_hardware",
    "known_names",
    "named",
    "opening_order",
]
