"""The capabilities of Gnomon: what `gnomon run` can measure with.

A new one is a folder with an object of `Capability`, and a line here: the commands, the help and
the reports take their lists from this tuple, and what it hands over are rows of the model's tables.
"""

from __future__ import annotations

from gnomon.hpm.capability import COUNTERS, EMULATED, SECTIONS, TIMES
from gnomon.launch.capability import Capability

CAPABILITIES: tuple[Capability, ...] = (COUNTERS, SECTIONS, EMULATED)

__all__ = ["CAPABILITIES", "TIMES"]
