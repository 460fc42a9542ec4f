"""The `cpu` component: the counters of the CPU cores.

Names come from three places: perf's generic names, the kernel's own event and format files in
sysfs, and libpfm4's tables. Source: perf_event_open(2), libpfm4's pfm_get_os_event_encoding(3).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from gnomon import _core
from gnomon.counters.component import (
    Availability,
    Event,
    EventInfo,
    Opened,
    Overflow,
    Target,
)
from gnomon.counters.names import Modifiers, PmuTerms, modifiers, pmu_terms
from gnomon.counters.perf import PerfSpec
from gnomon.counters.perf_open import availability, open_events
from gnomon.counters.pmu import SYSFS, Encoding, Pmu, core_pmus
from gnomon.counters.procfs import entries
from gnomon.errors import EventUnavailableError
from gnomon.model.value import Scope

if TYPE_CHECKING:
    from pathlib import Path

    from gnomon.counters.cores import Core

_HARDWARE = 0
_HW_CACHE = 3
_RAW = 4

# name: config, aliases, description (enum perf_hw_id)
_GENERIC: dict[str, tuple[int, tuple[str, ...], str]] = {
    "cycles": (0, ("cpu-cycles",), "core clock cycles while not halted"),
    "instructions": (1, (), "instructions retired"),
    "cache-references": (2, (), "accesses to the last-level cache"),
    "cache-misses": (3, (), "misses in the last-level cache"),
    "branches": (4, ("branch-instructions",), "branch instructions retired"),
    "branch-misses": (5, (), "branches predicted wrongly"),
    "bus-cycles": (6, (), "bus clock cycles"),
    "stalled-cycles-frontend": (7, ("idle-cycles-frontend",), "cycles without a new instruction"),
    "stalled-cycles-backend": (8, ("idle-cycles-backend",), "cycles waiting to retire"),
    "ref-cycles": (9, (), "cycles of the reference clock, whatever the frequency"),
}
_CANONICAL = {alias: name for name, (_, aliases, _d) in _GENERIC.items() for alias in aliases}

# In the order of enum perf_hw_cache_id.
_CACHES = {
    "L1-dcache": "level 1 data cache",
    "L1-icache": "level 1 instruction cache",
    "LLC": "last-level cache",
    "dTLB": "data TLB",
    "iTLB": "instruction TLB",
    "branch": "branch predictor",
    "node": "memory of the own NUMA node",
}
_CACHE_OPS = {
    "loads": (0, 0, "loads"),
    "load-misses": (0, 1, "loads that missed"),
    "stores": (1, 0, "stores"),
    "store-misses": (1, 1, "stores that missed"),
    "prefetches": (2, 0, "prefetches"),
    "prefetch-misses": (2, 1, "prefetches that missed"),
}
_RAW_NAME = r"r([0-9a-fA-F]{1,16})"
_PFM_NAME = r"[A-Za-z][\w.\-]*(?:::?[\w.\-]+(?:=[\w.\-]+)?)*"


class CpuComponent:
    """The performance monitoring units of the CPU cores."""

    name = "cpu"
    description = "hardware counters of the CPU cores"
    how_measured = "counted by the core's PMU; the kernel saves and restores it per thread"
    scope = Scope.THREAD
    overflow = Overflow.INTERRUPT

    def __init__(self, sysfs: Path | str = SYSFS, models: Mapping[str, str] | None = None) -> None:
        """Make the component of a machine.

        Args:
            sysfs: where sysfs is mounted, or a recorded tree.
            models: libpfm4's name for each core PMU of the kernel; by default as it finds them.
        """
        self._sysfs = sysfs
        self._models = models

    def cores(self) -> tuple[Core, ...]:
        """Return the kinds of cores, one but on hybrid CPUs."""
        from gnomon.counters.cores import cores  # only presets ask

        return cores(self._sysfs, self._models)

    def generic_on(self, base: str, core: Core) -> Encoding | None:
        """Return what a generic or raw name means on one kind of core, None for other names."""
        encoding = self._generic(base)
        if encoding is None or core.is_alone or core.pmu is None:
            return encoding
        return _on(core.pmu, encoding)

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

    def events(self) -> Iterator[EventInfo]:
        """Yield generic names, the kernel's names, then libpfm4's for the PMUs present."""
        for name, (_, _aliases, description) in _GENERIC.items():
            yield EventInfo(name, self.name, description, "", Scope.THREAD)
        for cache, title in _CACHES.items():
            for op, (_, _, description) in _CACHE_OPS.items():
                words = f"{title}: {description}"
                yield EventInfo(f"{cache}-{op}", self.name, words, "", Scope.THREAD)
        for pmu in core_pmus(self._sysfs):
            for event in pmu.event_names():
                yield EventInfo(
                    f"{pmu.name}/{event}/", self.name, "the kernel's name", "", Scope.THREAD
                )
        from gnomon.counters.libpfm import libpfm_pmus

        for known in libpfm_pmus():
            if known.is_present and known.is_core:
                yield from known.events()

    def resolve(self, name: str) -> tuple[Event, ...]:
        """Return the event of a generic, sysfs, raw or libpfm4 name; one per core PMU if hybrid.

        Raises:
            EventNameError: a core PMU without that event or parameter.
            EventUnavailableError: an event of another CPU.
        """
        base, mods = modifiers(name)
        terms = pmu_terms(base)
        if terms is not None:
            pmus = core_pmus(self._sysfs)
            for pmu in pmus:
                if pmu.name == terms.pmu:
                    own = self._generic_term(terms, pmu, is_alone=len(pmus) < 2)
                    encoding = own or pmu.encode(terms, name)
                    return (self._event(name, base, encoding, mods),)
            return ()
        generic = self._generic(base)
        if generic is not None:
            return self._on_each_pmu(name, base, generic, mods)
        return self._from_libpfm(name, base, mods)

    def open(self, events: Sequence[Event], target: Target) -> Opened:
        """Open events on a target."""
        return open_events(events, target)

    def _generic(self, base: str) -> Encoding | None:
        known = _GENERIC.get(_CANONICAL.get(base, base))
        if known is not None:
            return Encoding(_HARDWARE, known[0])
        for number, cache in enumerate(_CACHES):
            op = _CACHE_OPS.get(base[len(cache) + 1 :]) if base.startswith(f"{cache}-") else None
            if op is not None:
                return Encoding(_HW_CACHE, number | op[0] << 8 | op[1] << 16)
        raw = re.fullmatch(_RAW_NAME, base) if base.startswith("r") else None
        return Encoding(_RAW, int(raw[1], 16)) if raw else None

    def _generic_term(self, terms: PmuTerms, pmu: Pmu, *, is_alone: bool) -> Encoding | None:
        """Return what `pmu/cycles/` means where the PMU has no event of its own by that name."""
        key, value = terms.terms[0]
        encoding = self._generic(key) if len(terms.terms) == 1 and value is None else None
        own = (*entries(f"{pmu.folder}/events"), *entries(f"{pmu.folder}/format"))
        if encoding is None or key in own:
            return None
        return encoding if is_alone and encoding.type != _RAW else _on(pmu, encoding)

    def _on_each_pmu(
        self, name: str, base: str, encoding: Encoding, mods: Modifiers
    ) -> tuple[Event, ...]:
        pmus = core_pmus(self._sysfs)
        if len(pmus) < 2:
            return (self._event(name, base, encoding, mods),)
        # Hybrid CPUs: one logical event, one count for each kind of core (PERF_PMU_TYPE_SHIFT).
        suffix = name[len(base) :].lstrip(":")
        return tuple(
            self._event(f"{pmu.name}/{base}/{suffix}", base, _on(pmu, encoding), mods)
            for pmu in pmus
        )

    def _from_libpfm(self, name: str, base: str, mods: Modifiers) -> tuple[Event, ...]:
        if not re.fullmatch(_PFM_NAME, base) or ":::" in base:
            return ()
        from gnomon.counters.libpfm import libpfm_pmus

        try:
            pmus = libpfm_pmus()
            kind, config, config1, config2, exclude, full = _core.pfm_encode(base)
        except (_core.PfmError, ImportError):
            return ()
        prefix = full.partition("::")[0]
        owner = next((pmu for pmu in pmus if pmu.name == prefix), None)
        if owner is not None and not owner.is_present:
            raise EventUnavailableError(
                name,
                f"it belongs to {owner.description}, which this machine does not have",
                "see gnomon events for those of this machine",
            )
        if owner is not None and not owner.is_core and kind not in (_HARDWARE, _HW_CACHE, _RAW):
            return ()
        encoding = Encoding(kind, config, config1, config2, exclude=exclude)
        return (self._event(name, full, encoding, mods),)

    def _event(self, name: str, base: str, encoding: Encoding, mods: Modifiers) -> Event:
        known = _GENERIC.get(_CANONICAL.get(base, base))
        description = known[2] if known else "event of the core PMU"
        info = EventInfo(_CANONICAL.get(base, base), self.name, description, "", Scope.THREAD)
        encoding = encoding._replace(exclude=encoding.exclude | mods.exclude)
        return Event(name, info, mods.domain, PerfSpec.of(encoding, hardware=True))


COMPONENT = CpuComponent()


def _on(pmu: Pmu, encoding: Encoding) -> Encoding:
    if encoding.type == _RAW:
        return encoding._replace(type=pmu.type)
    return encoding._replace(config=encoding.config | pmu.type << 32)
