"""The machine's constants that formulas of metrics use: line sizes, time of a cycle, peak.

Nothing is read before it is asked for: most metrics need no constant.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path

from gnomon.counters.hardware.cpuid import answers
from gnomon.counters.hardware.memory import nodes
from gnomon.counters.hardware.processor import frequencies, processor
from gnomon.counters.hardware.topology import Cpu, Topology, caches, topology
from gnomon.counters.sysfs_pmu import core_pmus, online_cpus
from gnomon.metrics.definitions import peaks

ROOT = Path("/")
_CORES = "sys/devices/system/cpu"
# The frequency that a processor is sold with, in its name: "... CPU @ 2.20GHz".
_IN_NAME = re.compile(r"@ *([0-9]+(?:\.[0-9]+)?) *GHz")


class Constants:
    """What `gnomon.metrics.machine_constants.Machine` asks of a machine.

    On CPUs with several kinds of cores a constant that differs between them has no value.
    """

    def __init__(self, root: Path = ROOT, models: Mapping[str, str] | None = None) -> None:
        """Take the machine whose /proc and /sys lie under `root`; nothing is read yet.

        Args:
            root: "/" but for recorded trees.
            models: libpfm4's name for each core PMU of the kernel; by default it is asked.
        """
        self._root = root
        self._models = models
        self._values: dict[str, float | None] = {}

    def constant(self, name: str) -> float | None:
        """Return one of `gnomon.metrics.definitions.CONSTANTS`, None if it is not told."""
        if name not in self._values:
            self._values[name] = self._read(name)
        return self._values[name]

    def cpus(self) -> tuple[str, ...]:
        """Return libpfm4's names of the core PMUs, () where it knows none."""
        return self._cpus

    def _read(self, name: str) -> float | None:
        if name.endswith("_line_bytes"):
            return self._lines.get(int(name[1]))
        if name == "cycle_seconds":
            return None if self._hz is None else 1 / self._hz
        if name == "peak_flops_per_cycle":
            known = peaks()
            found = {known[cpu] for cpu in self.cpus() if cpu in known}
            return found.pop() if len(found) == 1 else None
        if name == "numa_nodes":
            return len(nodes(self._root)) or None
        return {"cores": self._topology.cores, "sockets": self._topology.sockets}[name]

    @cached_property
    def _cpus(self) -> tuple[str, ...]:
        from gnomon.counters.core_types import cores

        found = cores(self._root / "sys", self._models)
        return tuple(dict.fromkeys(model for core in found for model in core.models))

    @cached_property
    def _topology(self) -> Topology:
        return topology(self._root)

    @cached_property
    def _lines(self) -> dict[int, int]:
        """Line sizes of the data caches by level, of the first CPU: they are the same on all."""
        first = online_cpus(self._root / "sys")[:1]
        all_caches, _ = caches(self._root, first, answers(self._root))
        return {
            cache.level: cache.line_bytes
            for cache in all_caches
            if cache.kind != "instruction" and cache.line_bytes
        }

    @cached_property
    def _hz(self) -> float | None:
        """The frequency that is promised, else the highest, else the one that is told at all."""
        if len(core_pmus(self._root / "sys")) > 1:
            return None
        online = online_cpus(self._root / "sys")
        cpuid_answers = answers(self._root)
        (told,) = frequencies(self._root, _cpus_of(online[:1]), cpuid_answers)
        if told.base_hz or told.highest_hz:
            return told.base_hz or told.highest_hz
        which = processor(self._root)
        named = _IN_NAME.search(which.model)
        if named:
            return float(named[1]) * 1e9 or None
        if not which.architecture.startswith("ppc"):
            return None  # what /proc/cpuinfo tells is the frequency of the moment
        (told,) = frequencies(self._root, _cpus_of(online), cpuid_answers)
        return told.now_hz[1] if told.now_hz else None


def _cpus_of(numbers: Sequence[int]) -> list[Cpu]:
    """Return CPUs of which nothing is known but that they are online."""
    return [Cpu(one, True, True, None, None, None, None, (), None, "") for one in numbers]
