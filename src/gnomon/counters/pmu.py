"""The kernel's own description of its PMUs: sysfs `event_source` devices.

Source: Documentation/ABI/testing/sysfs-bus-event_source-devices-{format,events}.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from functools import cache
from math import inf
from typing import TYPE_CHECKING, NamedTuple

from gnomon.counters.names import PmuTerms, nearest
from gnomon.counters.procfs import entries, read_text, whole
from gnomon.errors import EventNameError

if TYPE_CHECKING:
    from pathlib import Path

SYSFS = "/sys"
"""Where this machine's kernel describes its PMUs; a recorded tree stands elsewhere."""

_DEVICES = "bus/event_source/devices"
_FORMAT = r"(config[123]?):((?:[0-9]+(?:-[0-9]+)?)(?:,[0-9]+(?:-[0-9]+)?)*)"
_NUMBER = r"0[xX][0-9a-fA-F]+|[0-9]{1,30}"
_CONFIGS = ("config", "config1", "config2", "config3")
_IGNORED_TERMS = frozenset({"name", "period", "percore"})
_MOST_CPUS = 1 << 16
_CONFIG_BITS = 64
_LAST_TYPE = (1 << 32) - 1


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
        names = entries(f"{self.folder}/events")
        return tuple(n for n in names if not n.endswith((".unit", ".scale", ".snapshot")))

    def unit(self, event: str) -> str:
        """Return the unit that the kernel declares for an event, "" for a plain count."""
        return _text(f"{self.folder}/events/{event}.unit")

    def scale(self, event: str) -> float:
        """Return the factor that turns a raw count into `unit`, 1 for a plain count.

        What is no positive number ("nan", "inf", "0") is no factor either.
        """
        try:
            factor = float(_text(f"{self.folder}/events/{event}.scale") or 1)
        except ValueError:
            return 1.0
        return factor if 0 < factor < inf else 1.0

    def encode(self, terms: PmuTerms, name: str) -> Encoding:
        """Return the encoding of terms such as `event=0x3c,umask=1` or an event's name.

        Raises:
            EventNameError: a term that this PMU does not have, or a value that does not fit.
        """
        config = dict.fromkeys(_CONFIGS, 0)
        for key, value in self._flatten(terms, name):
            if key in _IGNORED_TERMS:
                continue
            if key in _CONFIGS:
                config[key] |= _number(value, key, name)
                continue
            text = "" if "/" in key else _text(f"{self.folder}/format/{key}")
            layout = _layout(text)
            if layout is None and text:
                raise EventNameError(
                    name, f"{self.folder}/format/{key}: '{text[:40]}' names no bits of a config"
                )
            if layout is None:
                raise EventNameError(
                    name,
                    f"PMU '{self.name}' has no event or parameter '{key}'",
                    nearest(key, [*self.event_names(), *self._parameters()]),
                )
            place_in, bits = layout
            number = 1 if value is None else _number(value, key, name)
            if number >> len(bits):
                raise EventNameError(
                    name, f"{key}={value} does not fit its {len(bits)} bits on '{self.name}'"
                )
            # A parameter that is given replaces the one that an event's name brought along.
            for place, bit in enumerate(bits):
                config[place_in] &= ~(1 << bit)
                config[place_in] |= (number >> place & 1) << bit
        return Encoding(self.type, *(config[key] for key in _CONFIGS))

    def _flatten(self, terms: PmuTerms, name: str) -> Iterator[tuple[str, str | None]]:
        for key, value in terms.terms:
            alias = "" if value is not None or "/" in key else _text(f"{self.folder}/events/{key}")
            if not alias:
                yield key, value
                continue
            for term in alias.split(","):
                inner, equals, number = term.partition("=")
                if equals and number.strip() == "?":
                    raise EventNameError(
                        name, f"event '{key}' of PMU '{self.name}' needs {inner.strip()}=..."
                    )
                yield inner.strip(), number.strip() if equals else None

    def _parameters(self) -> list[str]:
        return list(entries(f"{self.folder}/format"))


def find(sysfs: Path | str = SYSFS) -> tuple[Pmu, ...]:
    """Return every PMU that the kernel shows, by name."""
    found = []
    for name in entries(f"{sysfs}/{_DEVICES}"):
        folder = f"{sysfs}/{_DEVICES}/{name}"
        number = whole(_text(f"{folder}/type"))
        if number is not None and number <= _LAST_TYPE:
            found.append(Pmu(name, number, folder))
    return tuple(found)


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
    found: list[int] = []
    for part in text.split(","):
        start, _, end = part.strip().partition("-")
        low, high = whole(start), whole(end or start)
        if low is None or high is None or not low <= high < below or len(found) > below:
            return ()
        found.extend(range(low, high + 1))
    return tuple(found)


def _layout(text: str) -> tuple[str, tuple[int, ...]] | None:
    """Return the config and the bits in it, lowest first, of "config1:0-7,32-35"."""
    match = re.fullmatch(_FORMAT, text)
    if match is None:
        return None
    bits = _numbers(match[2], _CONFIG_BITS)
    return (match[1], bits) if 0 < len(bits) <= _CONFIG_BITS else None


def _number(value: str | None, key: str, name: str) -> int:
    text = (value or "").strip()
    try:
        # As in C: 0x10 is hexadecimal and 010 octal.
        number = int(text, 8 if text.isdecimal() and text.startswith("0") else 0)
    except ValueError:
        number = -1
    if number < 0 or not re.fullmatch(_NUMBER, text):
        raise EventNameError(name, f"{key}={value or ''} is not a number") from None
    if number >= 1 << 64:
        raise EventNameError(name, f"{key}={value} does not fit 64 bits")
    return number
