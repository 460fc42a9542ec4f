"""Counting on the tasks of a job: what plug-ins get, make of it, and what is printed.

Ranks become one run elsewhere: `gnomon.launch.run_assembly`.

Plug-ins in Python import what their aggregator gets from here. `Ranks`, which only their process
needs, is imported when it is asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gnomon.measurement.items import EventInfo, Item, Spread

if TYPE_CHECKING:
    from gnomon.hpm.ranks.communicator import Gap, Ranks

__all__ = ["EventInfo", "Gap", "Item", "Ranks", "Spread"]


def __getattr__(name: str) -> object:
    if name not in ("Gap", "Ranks"):
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    from gnomon.hpm.ranks import communicator

    return getattr(communicator, name)
