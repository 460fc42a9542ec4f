"""Events of a PMU that this machine need not have: what `gnomon fitting --pmu` asks about."""

from __future__ import annotations

from pathlib import Path

from gnomon import _core
from gnomon.counters import presets
from gnomon.counters.allocation.target_pmus import CorePmu
from gnomon.counters.component import Event, EventInfo
from gnomon.counters.components import component
from gnomon.counters.components.cpu import CpuComponent
from gnomon.counters.core_types import encode
from gnomon.counters.event_grammar import modifiers, pmu_terms
from gnomon.counters.libpfm import libpfm_pmus
from gnomon.counters.perf_spec import PerfSpec
from gnomon.counters.sysfs_pmu import Encoding
from gnomon.errors import EventNameError, EventUnavailableError
from gnomon.model.value import Scope

_NOWHERE = Path("/dev/null")  # sysfs of a machine that is not here


def resolve_on(pmu: CorePmu, name: str) -> tuple[Event, ...]:
    """Return the event of a name as another machine's PMU has it.

    Generic names and raw codes are taken as they are, presets as the family defines them, others
    are looked up in libpfm4's tables.

    Raises:
        EventNameError: the PMU has no such event.
        EventUnavailableError: the preset is not available on it, or libpfm4 is needed and is not
            there or was built without this PMU.
    """
    base, mods = modifiers(name)
    if pmu_terms(base) is not None:
        raise EventNameError(name, f"only the kernel of a machine with {pmu.name} knows its terms")
    pmu_names = {one.name for one in libpfm_pmus()}
    cpu = CpuComponent(_NOWHERE, {"": pmu.name})
    found = presets.find(name, cpu).events
    if found:
        return found
    (core,) = cpu.cores()
    owner, _, _ = base.rpartition("::")
    if owner and owner != pmu.name:
        raise EventNameError(name, f"is no event of {pmu.name}")
    generic = _core.generic_encoding(base)
    encoding = None if generic is None else Encoding(*generic)
    if encoding is None:
        in_software = component("kernel").resolve(name)
        if in_software:
            return in_software
        encoding = encode(base, core)
    if encoding is None and pmu.name not in pmu_names:
        raise EventUnavailableError(
            name,
            f"libpfm4 is missing, or was built without tables of {pmu.name}",
            f"give raw codes (r1a8), or install a libpfm4 that has {pmu.name}",
        )
    if encoding is None:
        raise EventNameError(name, f"libpfm4 knows no such event of {pmu.name}")
    encoding = encoding._replace(exclude=encoding.exclude | mods.exclude)
    info = EventInfo(base, "cpu", f"event of {pmu.title}", "", Scope.THREAD)
    return (Event(name, info, mods.domain, PerfSpec.of(encoding, hardware=True)),)
