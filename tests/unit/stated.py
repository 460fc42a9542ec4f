"""A machine whose constants a test states: none of those that the tests are about is here."""

from __future__ import annotations


class StatedMachine:
    """Meets `gnomon.metrics.machine_constants.Machine`; `asked` tells what was looked up."""

    def __init__(self, *cpus: str, **constants: float) -> None:
        self._cpus = cpus
        self._constants = constants
        self.asked: list[str] = []

    def constant(self, name: str) -> float | None:
        """Return what was stated."""
        self.asked.append(name)
        return self._constants.get(name)

    def cpus(self) -> tuple[str, ...]:
        """Return what was stated."""
        self.asked.append("cpus")
        return self._cpus
