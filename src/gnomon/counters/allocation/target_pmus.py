"""The PMUs that events are allocated on: those of this machine, or another one by its name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gnomon import _core
from gnomon.counters.allocation import constraint_tables
from gnomon.counters.allocation.constraint_tables import PmuConstraints
from gnomon.counters.core_types import Core, cores
from gnomon.counters.name_suggestions import nearest
from gnomon.counters.procfs import read_line, read_number
from gnomon.counters.sysfs_pmu import Encoding, Pmu, core_pmus
from gnomon.counters.virtualization import first_cpu
from gnomon.errors import UsageError
from gnomon.named_tuple import NamedTuple

if TYPE_CHECKING:
    from gnomon.counters.libpfm import LibpfmPmu

_ROOT = Path("/")
_GENERIC_TYPES = (0, 3)
_RAW = 4
_NO_SMT = ("notsupported", "notimplemented", "")


Cpuid = Callable[[int, int], tuple[int, int, int, int] | None]


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
    family: PmuConstraints
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
    if not core_pmus(root / "sys"):
        return ()
    kinds = cores(root / "sys", None if root == _ROOT else {})
    is_smt = read_line(root / "sys/devices/system/cpu/smt/control") not in _NO_SMT
    has_watchdog = (read_number(root / "proc/sys/kernel/nmi_watchdog") or 0) > 0
    described = []
    for core in kinds:
        if core.pmu is None:
            continue
        family = _family_of(core, core.pmu, root)
        title = core.pmu.name if family is None else family.title
        notes: tuple[str, ...] = ()
        if family is None:
            family, notes = _unknown(core.pmu, root)
        available = _available(family, is_smt=is_smt)
        if root == _ROOT and core.is_alone:
            available &= enumerated(family, _core.cpuid)
        described.append(
            CorePmu(
                next((model for model in core.models if model in family.pmus), core.pmu.name),
                title,
                family,
                available,
                (core.pmu.type,),
                has_watchdog and family.watchdog is not None,
                notes,
            )
        )
    return tuple(described)


def named(name: str, *, is_smt: bool = True) -> CorePmu:
    """Return a core PMU by its libpfm4 name, of this machine or not, with all counters free.

    Args:
        name: such as "skx", "amd64_fam19h_zen4", "arm_n1", "power9".
        is_smt: two threads run on a core, which on some CPUs share its counters out.

    Raises:
        UsageError: neither the tables nor libpfm4 know such a PMU.
    """
    tabled = constraint_tables.find("pmus", (name,))
    if tabled is not None:
        return CorePmu(name, tabled.title, tabled, _available(tabled, is_smt=is_smt))
    for pmu in _counted_by_libpfm():
        if pmu.name == name:
            family = plain(name, pmu.description, pmu.counters, "libpfm4")
            note = f"no table of {name}'s constraints: {pmu.counters} counters that all do the same"
            return CorePmu(name, pmu.description, family, _available(family), notes=(note,))
    names = known_names()
    close = tuple(one for one in names if name.lower() in one) or nearest(name, list(names))
    hint = f"did you mean {' or '.join(close)}?" if close else f"there are {', '.join(names)}"
    raise UsageError(f"there is no PMU '{name}' (a name of libpfm4's is meant); {hint}")


def known_names() -> tuple[str, ...]:
    """Return every name that `named` takes, in alphabetic order."""
    return tuple(
        sorted({*constraint_tables.listed("pmus"), *(pmu.name for pmu in _counted_by_libpfm())})
    )


def plain(name: str, title: str, counters: int, source: str) -> PmuConstraints:
    """Return a family of which nothing is known but the number of counters."""
    return PmuConstraints(
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


def _counted_by_libpfm() -> tuple[LibpfmPmu, ...]:
    from gnomon.counters.libpfm import libpfm_pmus

    return tuple(pmu for pmu in libpfm_pmus() if pmu.is_core and pmu.counters)


def _available(family: PmuConstraints, *, is_smt: bool = True) -> frozenset[int]:
    general = family.with_smt if is_smt else family.general
    return frozenset((*range(general), *range(family.general, len(family.counters))))


def enumerated(family: PmuConstraints, cpuid: Cpuid) -> frozenset[int]:
    """Return the counters that the processor itself says it has, all where it says nothing.

    A hypervisor may give fewer than there are, and firmware may take some. Source: Intel SDM
    vol. 2A, CPUID leaf 0AH; AMD processor programming references, leaf 80000022H.

    Args:
        family: the family of its PMU.
        cpuid: what the instruction answers to a leaf and a subleaf, None for a leaf it has not.
    """
    everything = frozenset(range(len(family.counters)))
    general = fixed = 0
    if family.name.startswith("intel_"):
        leaf = cpuid(0xA, 0)
        if leaf is not None:
            general, fixed = leaf[0] >> 8 & 0xFF, leaf[3] & 0x1F
    elif family.name.startswith("amd_"):
        leaf = cpuid(0x80000022, 0)
        general = leaf[1] & 0xF if leaf is not None else 0
    if not general:
        return everything
    special = [name for name in family.counters if name.startswith("FIXED")]
    missing = {
        at
        for at, name in enumerate(family.counters)
        if general <= at < family.general or name in special[fixed:]
    }
    return everything - missing


def _family_of(core: Core, pmu: Pmu, root: Path) -> PmuConstraints | None:
    """Return the family by libpfm4's name, else by the kernel's words for the PMU and its CPU."""
    cpuinfo = first_cpu(root)
    pmu_name = read_line(pmu.path / "caps" / "pmu_name")
    words = [pmu_name, pmu.name, *cpuinfo.get("cpu", "").replace(",", " ").split()]
    words.append(f"{cpuinfo.get('CPU implementer', '')}:{cpuinfo.get('CPU part', '')}")
    return (
        constraint_tables.find("pmus", core.models)
        or constraint_tables.find("kernel", (f"{pmu_name}:{pmu.name}",))
        or constraint_tables.find("kernel", words)
    )


def _unknown(pmu: Pmu, root: Path) -> tuple[PmuConstraints, tuple[str, ...]]:
    from gnomon.counters.allocation.kernel_probe import free_counters

    number = free_counters() if root == _ROOT else None
    note = f"no table of this PMU's constraints: {number} counters are free, found by trying"
    if number is None:
        note = "no table of this PMU's constraints: its events take turns one by one"
    return plain(pmu.name, pmu.name, number or 1, "found by trying"), (note,)
