"""Which hypervisor and which container this is, by the traces that they leave.

Source: native/counters/hypervisor.c, native/counters/container.c.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gnomon import _core
from gnomon.counters.procfs import below, keyed, read_text
from gnomon.named_tuple import NamedTuple

if TYPE_CHECKING:
    from pathlib import Path

_CPUINFO_BYTES = 8192


class Hypervisor(NamedTuple):
    """The hypervisor that this machine runs under.

    Attributes:
        kind: its product ("KVM", "VMware", ...), "" if only its presence is known.
        cloud: the provider, "" if unknown or none.
        evidence: what gave it away.
        name: the product and the provider in words.
        pmu_remedy: what gives a virtual machine under it a PMU.
    """

    kind: str
    cloud: str
    evidence: str
    name: str
    pmu_remedy: str


class Container(NamedTuple):
    """The container that this process runs in: its engine and what gave it away."""

    kind: str
    evidence: str


def first_cpu(root: Path | str) -> dict[str, str]:
    """Return the fields of the first CPU in /proc/cpuinfo.

    Its flags come long before the limit; to write about all of hundreds of CPUs takes the kernel
    milliseconds.
    """
    return keyed(read_text(below(root, "proc/cpuinfo"), most_bytes=_CPUINFO_BYTES) or "")


def hypervisor(root: Path | str) -> Hypervisor | None:
    """Return the hypervisor, None on bare metal (or where nothing hints at one)."""
    facts = _core.hypervisor(root)
    return Hypervisor(*facts) if facts else None


def container(root: Path | str) -> Container | None:
    """Return the container that this process runs in, None outside of one."""
    facts = _core.container(root)
    return Container(*facts) if facts else None
