"""The engines of the emulated PMU, best first."""

from __future__ import annotations

from gnomon.counters.emulation.engine import Engine
from gnomon.counters.emulation.valgrind import Valgrind

ENGINES: tuple[Engine, ...] = (Valgrind(),)


def engine() -> Engine:
    """Return the first engine that works here; where none does, the first, to say why."""
    return next((one for one in ENGINES if one.availability().available), ENGINES[0])
