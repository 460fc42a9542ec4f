"""What metrics ask of a machine; `counters.hardware.metric_constants` answers for this one."""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol


class Machine(Protocol):
    """What definitions may ask of the machine that was measured; asked only if needed."""

    def constant(self, name: str) -> float | None:
        """Return one of `definitions.CONSTANTS`, None if the machine does not tell."""

    def cpus(self) -> Collection[str]:
        """Return libpfm4's names of the core PMUs, none if it has none or they have no name."""
