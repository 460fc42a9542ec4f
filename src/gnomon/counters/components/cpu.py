"""The `cpu` component: the counters of the CPU cores.

Names come from three places: perf's generic names, the kernel's own event and format files in
sysfs, and libpfm4's tables. Source: native/counters/core_events.c.
"""

from __future__ import annotations

from collections.abc import Mapping

from gnomon.counters.component import Availability
from gnomon.counters.perf_component import PerfComponent, availability
from gnomon.counters.sysfs_pmu import SYSFS, core_pmus

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path

    from gnomon.counters.core_types import Core


class CpuComponent(PerfComponent):
    """The performance monitoring units of the CPU cores.

    A generic name means an event on each kind of core: more than one on hybrid CPUs.
    """

    name = "cpu"
    description = "hardware counters of the CPU cores"
    how_measured = "counted by the core's PMU; the kernel saves and restores it per thread"

    def __init__(self, sysfs: Path | str = SYSFS, models: Mapping[str, str] | None = None) -> None:
        """Make the component of a machine.

        Args:
            sysfs: where sysfs is mounted, or a recorded tree.
            models: libpfm4's name for each core PMU of the kernel; by default as it finds them.
        """
        super().__init__(sysfs)
        self._models = models

    @property
    def sysfs(self) -> Path | str:
        """Where sysfs is."""
        return self._sysfs

    @property
    def models(self) -> str | None:
        """libpfm4's names for the PMUs as C takes them, None for those that it finds."""
        from gnomon.counters.core_types import models_text

        return None if self._models is None else models_text(self._models)

    def cores(self) -> tuple[Core, ...]:
        """Return the kinds of cores, one but on hybrid CPUs."""
        from gnomon.counters.core_types import cores  # only presets ask

        return cores(self._sysfs, self._models)

    def availability(self) -> Availability:
        """Return whether an instruction counter opens here."""
        return availability(self.resolve("instructions")[0])

    def counters(self) -> int | None:
        """Return how many counters a core has: by cpuid, else by libpfm4's tables.

        None where there is no core PMU or neither tells.
        """
        from gnomon.counters.hardware.cpuid import answers
        from gnomon.counters.hardware.devices import core_counters

        if not core_pmus(self._sysfs):
            return None
        told, _ = core_counters(answers()) if self._sysfs == SYSFS else (None, "")
        if told is not None:
            return sum(told)
        from gnomon.counters.libpfm import libpfm_pmus

        for pmu in libpfm_pmus():
            if pmu.is_present and pmu.is_core and pmu.counters:
                return pmu.counters + pmu.fixed_counters
        return None


COMPONENT = CpuComponent()
