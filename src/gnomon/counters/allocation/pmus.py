"""The PMUs that events are allocated on: those of this machine, or another one by its name."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from gnomon.counters.allocation.tables import Family, shipped
from gnomon.counters.component import Event
from gnomon.counters.perf import PerfSpec
from gnomon.counters.pmu import Encoding, Pmu, core_pmus
from gnomon.counters.procfs import read_line, read_number
from gnomon.counters.virtualization import first_cpu
from gnomon.errors import EventNameError, EventUnavailableError, UsageError

_ROOT = Path("/")
_GENERIC_TYPES = (0, 3)
_RAW = 4
_NO_SMT = ("notsupported", "notimplemented", "")


class CorePmu(NamedTuple):
    """A PMU that counts in CPU cores, as one thread finds it.

    Attributes:
        name: libpfm4's name, or the kernel's where libpfm4 does not know it.
        title: for people.
        family: its constraints.
        available: the counters that there are, as indexes into `family.counters`.
        kernel_types: what perf_event_open(2) calls it, () for the PMU of another machine.
        watchdog: the kernel's NMI watchdog counts on it.
        notes: what the counters were taken from, where that is not the family's table alone.
    """

    name: str
    title: str
    family: Family
    available: frozenset[int]
    kernel_types: tuple[int, ...] = ()
    watchdog: bool = False
    notes: tuple[str, ...] = ()

    def counts(self, encoding: Encoding, *, is_only: bool) -> bool:
        """Return whether a native event is one of this PMU; `is_only` if there is no other."""
        if not self.kernel_types:
            return encoding.type in (*_GENERIC_TYPES, _RAW)
        if encoding.type in _GENERIC_TYPES:
            wanted = encoding.config >> 32
            return is_only if wanted == 0 else wanted in self.kernel_types
        return encoding.type in self.kernel_types or (is_only and encoding.type == _RAW)

    def counter_names(self, counters: Sequence[int]) -> tuple[str, ...]:
        """Return the names of counters."""
        return tuple(self.family.counters[one] for one in counters)


def at_hand(root: Path = _ROOT) -> tuple[CorePmu, ...]:
    """Return the core PMUs of this machine: none in most VMs, two or three on hybrid CPUs.

    Args:
        root: what /proc and /sys lie under, "/" but for recorded trees.
    """
    kernel = core_pmus(root / "sys")
    if not kernel:
        return ()
    from gnomon.counters.components.cpu import libpfm_pmus

    present = [pmu for pmu in libpfm_pmus() if pmu.is_present and pmu.is_core]
    names = {pmu.name: pmu for pmu in present} if root == _ROOT else {}
    is_smt = read_line(root / "sys/devices/system/cpu/smt/control") not in _NO_SMT
    has_watchdog = (read_number(root / "proc/sys/kernel/nmi_watchdog") or 0) > 0
    found = []
    for pmu in kernel:
        family = _family_of(set(names), _words(pmu, root), is_only=len(kernel) == 1)
        if family is not None:
            known = next((name for name in family.pmus if name in names), pmu.name)
            title = family.title
            notes: tuple[str, ...] = ()
        else:
            known, title, family, notes = _unknown(pmu, root)
        found.append(
            CorePmu(
                known,
                title,
                family,
                _available(family, is_smt=is_smt),
                (pmu.type,),
                has_watchdog and family.watchdog is not None,
                notes,
            )
        )
    return tuple(found)


def named(name: str, *, is_smt: bool = True) -> CorePmu:
    """Return a core PMU by libpfm4's name of it, of this machine or not, as if nobody used it.

    Args:
        name: such as "skx", "amd64_fam19h_zen4", "arm_n1", "power9".
        is_smt: two threads run on a core, which on some CPUs share its counters out.

    Raises:
        UsageError: neither the tables nor libpfm4 know such a PMU.
    """
    for family in shipped():
        if name in family.pmus:
            return CorePmu(name, family.title, family, _available(family, is_smt=is_smt))
    from gnomon.counters.components.cpu import libpfm_pmus

    known = [pmu for pmu in libpfm_pmus() if pmu.is_core]
    for pmu in known:
        if pmu.name == name and pmu.counters:
            family = plain(name, pmu.description, pmu.counters, "libpfm4")
            note = f"no table of {name}'s constraints: {pmu.counters} counters that all do the same"
            return CorePmu(name, pmu.description, family, _available(family), notes=(note,))
    from gnomon.counters.names import nearest

    names = sorted({n for f in shipped() for n in f.pmus} | {p.name for p in known if p.counters})
    close = nearest(name, names)
    hint = f"did you mean {' or '.join(close)}?" if close else f"there are {', '.join(names)}"
    raise UsageError(f"there is no PMU '{name}' (a name of libpfm4's is meant); {hint}")


def resolve_on(pmu: CorePmu, name: str) -> tuple[Event, ...]:
    """Return the event of a name as another machine's PMU has it.

    Generic names and raw codes are taken as they are, others are looked up in libpfm4's tables.

    Raises:
        EventNameError: the PMU has no such event.
        EventUnavailableError: libpfm4 is needed and is not there, or was built without this PMU.
    """
    from gnomon import _core
    from gnomon.counters.component import EventInfo
    from gnomon.counters.components import component
    from gnomon.counters.components.cpu import libpfm_pmus
    from gnomon.counters.names import modifiers, pmu_terms
    from gnomon.model.value import Scope

    base, mods = modifiers(name)
    if pmu_terms(base) is not None:
        raise EventNameError(name, f"only {pmu.name}'s own kernel could say what its terms mean")
    for other in ("kernel", "cpu"):
        events = component(other).resolve(name) if "::" not in base else ()
        if events and (other == "kernel" or _is_portable(events[0])):
            return (events[0]._replace(name=name, spec=_without_pmu(events[0].spec)),)
    if not any(known.name == pmu.name for known in libpfm_pmus()):
        raise EventUnavailableError(
            name,
            f"libpfm4 is missing, or was built without tables of {pmu.name}",
            f"give raw codes (r1a8), or install a libpfm4 that has {pmu.name}",
        )
    full = base if base.startswith(f"{pmu.name}::") else f"{pmu.name}::{base}"
    try:
        kind, config, config1, config2, exclude, _ = _core.pfm_encode(full)
    except _core.PfmError as error:
        raise EventNameError(name, f"{pmu.name} has no such event ({error.args[1]})") from None
    encoding = Encoding(kind, config, config1, config2, exclude=exclude | mods.exclude)
    info = EventInfo(full, "cpu", f"event of {pmu.title}", "", Scope.THREAD)
    return (Event(name, info, mods.domain, PerfSpec.of(encoding, hardware=True)),)


def plain(name: str, title: str, counters: int, source: str) -> Family:
    """Return a family of which nothing is known but the number of counters."""
    return Family(
        name=name,
        title=title,
        source=source,
        pmus=(name,),
        kernel=(),
        counters=tuple(f"PMC{number}" for number in range(counters)),
        general=counters,
        with_smt=counters,
        number=None,
        watchdog=None,
        same={},
        generic={},
        rules=(),
        shared=(),
        needs=(),
    )


def _available(family: Family, *, is_smt: bool = True) -> frozenset[int]:
    general = family.with_smt if is_smt else family.general
    return frozenset((*range(general), *range(family.general, len(family.counters))))


def _words(pmu: Pmu, root: Path) -> set[str]:
    """Return what the kernel calls a PMU and its CPU."""
    words = {pmu.name, read_line(pmu.path / "caps" / "pmu_name")}
    cpuinfo = first_cpu(root)
    words.update(cpuinfo.get("cpu", "").replace(",", " ").split())
    words.add(f"{cpuinfo.get('CPU implementer', '')}:{cpuinfo.get('CPU part', '')}")
    return words - {"", ":"}


def _family_of(present: set[str], words: set[str], *, is_only: bool) -> Family | None:
    for family in shipped():
        if words & set(family.kernel):
            return family
    for family in shipped():
        if is_only and present & set(family.pmus):
            return family
    return None


def _unknown(pmu: Pmu, root: Path) -> tuple[str, str, Family, tuple[str, ...]]:
    from gnomon.counters.allocation.verdict import free_counters

    number = free_counters() if root == _ROOT else None
    note = f"no table of this PMU's constraints: {number} counters are free, found by trying"
    if number is None:
        note = "no table of this PMU's constraints: its events take turns one by one"
    return pmu.name, pmu.name, plain(pmu.name, pmu.name, number or 1, "found by trying"), (note,)


def _is_portable(event: Event) -> bool:
    """Whether an event's encoding is the same on every machine: generic, or a raw code."""
    return all(
        term.encoding.type in (*_GENERIC_TYPES, _RAW) and "::" not in event.info.name
        for term in event.spec.terms
    )


def _without_pmu(spec: PerfSpec) -> PerfSpec:
    """Return a spec without this machine's hybrid PMU in it."""
    terms = tuple(
        term._replace(encoding=term.encoding._replace(config=term.encoding.config & 0xFFFFFFFF))
        if term.encoding.type in _GENERIC_TYPES
        else term
        for term in spec.terms
    )
    return spec._replace(terms=terms)
