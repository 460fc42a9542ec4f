"""The kernel's own description of its PMUs: sysfs `event_source` devices.

Source: native/counters/sysfs_pmu.c.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import cache

from gnomon import _core
from gnomon.counters.procfs import read_text, whole
from gnomon.named_tuple import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path

    from gnomon.counters.event_grammar import PmuTerms

SYSFS = "/sys"
"""Where this machine's kernel describes its PMUs; a recorded tree stands elsewhere."""

DEVICES = "bus/event_source/devices"
_MOST_CPUS = 1 << 16


class Encoding(NamedTuple):
    """What perf_event_open(2) needs to know of an event."""

    type: int
    config: int
    config1: int = 0
    config2: int = 0
    config3: int = 0
    exclude: int = 0


class Pmu(NamedTuple):
    """One PMU of this machine's kernel.

    Attributes:
        name: as under /sys/bus/event_source/devices.
        type: the number that perf_event_open(2) wants.
        folder: its directory.
    """

    name: str
    type: int
    folder: Path | str

    @property
    def path(self) -> Path:
        """Its directory as a path: `gnomon count` does without that module."""
        from pathlib import Path

        return Path(self.folder)

    @property
    def is_core(self) -> bool:
        """Whether it counts in CPU cores: `cpu`, or a PMU that lists the CPUs it belongs to."""
        return self.name == "cpu" or os.access(f"{self.folder}/cpus", os.F_OK)

    def cpus(self) -> str:
        """Return the CPUs of a core PMU, or the CPUs to open an uncore one on, "" for all."""
        return _text(f"{self.folder}/cpus") or _text(f"{self.folder}/cpumask")

    def event_names(self) -> tuple[str, ...]:
        """Return the names that the kernel gives events of this PMU."""
        return _core.pmu_events(self._sysfs, self.name)

    def unit(self, event: str) -> str:
        """Return the unit that the kernel declares for an event, "" for a plain count."""
        return _core.pmu_unit(self._sysfs, self.name, event)[0]

    def scale(self, event: str) -> float:
        """Return the factor that turns a raw count into `unit`, 1 for a plain count.

        What is no positive number ("nan", "inf", "0") is no factor either.
        """
        return _core.pmu_unit(self._sysfs, self.name, event)[1]

    def encode(self, terms: PmuTerms, name: str) -> Encoding:
        """Return the encoding of terms such as `event=0x3c,umask=1` or an event's name.

        Raises:
            EventNameError: a term that this PMU does not have, or a value that does not fit.
        """
        text = ",".join(key if value is None else f"{key}={value}" for key, value in terms.terms)
        return Encoding(*_core.pmu_encode(self._sysfs, self.name, self.type, text, name))

    @property
    def _sysfs(self) -> str:
        return str(self.folder).removesuffix(f"/{DEVICES}/{self.name}")


def find(sysfs: Path | str = SYSFS) -> tuple[Pmu, ...]:
    """Return every PMU that the kernel shows, by name."""
    folder = f"{sysfs}/{DEVICES}"
    return tuple(Pmu(name, kind, f"{folder}/{name}") for name, kind, _ in _core.pmus(sysfs))


def core_pmus(sysfs: Path | str = SYSFS) -> tuple[Pmu, ...]:
    """Return the PMUs of the CPU cores: none in most VMs, two or three on hybrid CPUs."""
    return _own_core_pmus() if sysfs == SYSFS else _core_pmus(sysfs)


@cache
def _own_core_pmus() -> tuple[Pmu, ...]:
    # A machine keeps its cores: the kernel is asked once, not for each event.
    return _core_pmus(SYSFS)


def _core_pmus(sysfs: Path | str) -> tuple[Pmu, ...]:
    return tuple(pmu for pmu in find(sysfs) if pmu.is_core)


# Of enum perf_type_id; every kernel has them.
_FIXED = {1: "software", 2: "tracepoint", 5: "breakpoint"}


def pmu_name(kind: int, sysfs: Path | str = SYSFS) -> str:
    """Return the kernel's name of the PMU of an event type (perf_event_attr.type)."""
    if kind in _FIXED:
        return _FIXED[kind]
    if kind in (0, 3, 4):
        return " and ".join(pmu.name for pmu in core_pmus(sysfs)) or "cpu"
    return next((pmu.name for pmu in find(sysfs) if pmu.type == kind), f"type {kind}")


def cpu_list(text: str) -> tuple[int, ...]:
    """Return the CPUs of a kernel list such as "0-3,8"; () for text that is none.

    A CPU number of 65536 or more is none: no kernel is built for so many.
    """
    return _numbers(text, _MOST_CPUS)


def cpu_ranges(cpus: Iterable[int]) -> str:
    """Return CPUs as the kernel lists them, "0-3,8"; "" for none."""
    parts: list[list[int]] = []
    for cpu in sorted(cpus):
        if parts and cpu == parts[-1][-1] + 1:
            parts[-1][1:] = [cpu]
        else:
            parts.append([cpu])
    return ",".join("-".join(map(str, part)) for part in parts)


def online_cpus(sysfs: Path | str = SYSFS) -> tuple[int, ...]:
    """Return the CPUs that are online."""
    return cpu_list(_text(f"{sysfs}/devices/system/cpu/online")) or (0,)


def _text(path: str) -> str:
    return (read_text(path) or "").strip()


def _numbers(text: str, below: int) -> tuple[int, ...]:
    """Return the numbers of a list such as "0-3,8", each below the limit; () for other text."""
    if len(text) > 8 * below:
        return ()
    numbers: list[int] = []
    for part in text.split(","):
        start, _, end = part.strip().partition("-")
        low, high = whole(start), whole(end or start)
        if low is None or high is None or not low <= high < below or len(numbers) > below:
            return ()
        numbers.extend(range(low, high + 1))
    return tuple(numbers)
