"""The PMUs in libpfm4's tables: those of this machine and those of every other one it knows.

Source: libpfm4's pfm_get_pmu_info(3), pfm_initialize(3).
"""

from __future__ import annotations

from collections.abc import Iterator

from gnomon import _core
from gnomon.counters.component import EventInfo
from gnomon.model.value import Scope


class LibpfmPmu:
    """A PMU in libpfm4's tables, present here or not."""

    def __init__(self, row: tuple[int, str, str, str, int, int, int, bool]) -> None:
        self._id, self.name, self.description, kind, _, self.counters, self.fixed_counters, here = (
            row
        )
        self.is_core = kind == "core"
        self.is_present = here

    def events(self) -> Iterator[EventInfo]:
        """Yield its events, one for every unit mask."""
        for name, description, masks in _core.pfm_events(self._id):
            if not masks:
                yield self._info(f"{self.name}::{name}", description)
            for mask, meaning in masks:
                yield self._info(f"{self.name}::{name}:{mask}", f"{description}: {meaning}")

    def _info(self, name: str, description: str) -> EventInfo:
        return EventInfo(name, "cpu", description, "", Scope.THREAD)


def libpfm_pmus() -> tuple[LibpfmPmu, ...]:
    """Return every PMU that libpfm4 knows, () where it is not installed."""
    try:
        return tuple(LibpfmPmu(row) for row in _core.pfm_pmus())
    except ImportError:
        return ()
