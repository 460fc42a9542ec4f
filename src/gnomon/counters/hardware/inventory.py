"""Everything that there is to say of a machine's hardware, together."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from gnomon.counters.hardware.cpuid import Answers, answers, hypervisor_signature
from gnomon.counters.hardware.devices import Device, PmuFacts, devices, pmus
from gnomon.counters.hardware.memory import (
    Limits,
    Memory,
    Node,
    Pages,
    limits,
    memory,
    nodes,
    pages,
)
from gnomon.counters.hardware.processor import Frequency, Processor, frequencies, processor
from gnomon.counters.hardware.tlbs import Tlbs, from_cpuid, from_device_tree
from gnomon.counters.hardware.topology import Cache, Topology, caches, topology
from gnomon.counters.virtualization import Container, Hypervisor, container, hypervisor

ROOT = Path("/")


class Hardware(NamedTuple):
    """A machine's hardware as far as it is told; every part says what is not.

    Attributes:
        processor, frequencies, topology, caches, tlbs, memory, nodes, pages, pmus, devices: see
            their types.
        caches_unknown: why there are no caches in the list.
        hypervisor: None on bare metal.
        hypervisor_signature: what it calls itself in cpuid, "" if it does not.
        container: None outside of one.
        limits: what the control groups leave to this process.
    """

    processor: Processor
    frequencies: tuple[Frequency, ...]
    topology: Topology
    caches: tuple[Cache, ...]
    caches_unknown: str
    tlbs: tuple[Tlbs, ...]
    memory: Memory
    nodes: tuple[Node, ...]
    pages: Pages
    hypervisor: Hypervisor | None
    hypervisor_signature: str
    container: Container | None
    limits: Limits
    pmus: tuple[PmuFacts, ...]
    devices: tuple[Device, ...]


def hardware(root: Path = ROOT) -> Hardware:
    """Return the hardware of this machine, or of the one whose tree was recorded under `root`.

    In a recorded tree `cpuid` holds the answers of cpuid (`gnomon.counters.hardware.cpuid`).
    """
    known = answers(root)
    places = topology(root)
    online = tuple(cpu.number for cpu in places.cpus if cpu.is_online)
    found, caches_unknown = caches(root, online, known)
    return Hardware(
        processor(root),
        frequencies(root, places.cpus, known),
        places,
        found,
        caches_unknown,
        _tlbs(root, places, known),
        memory(root),
        nodes(root),
        pages(root),
        hypervisor(root),
        hypervisor_signature(known),
        container(root),
        limits(root),
        pmus(root, known),
        devices(root),
    )


def _tlbs(root: Path, places: Topology, known: Answers) -> tuple[Tlbs, ...]:
    if not known:
        return (Tlbs("", *from_device_tree(root)),)
    if not places.kinds:
        return (Tlbs("", *from_cpuid(known)),)
    found = []
    for kind in places.kinds:
        usable = [cpu.number for cpu in places.cpus
                  if cpu.number in kind.cpus and cpu.is_online and cpu.is_allowed]  # fmt: skip
        told = answers(root, usable[0]) if usable else {}
        tlbs, unknown = from_cpuid(told)
        if not told:
            unknown = "this process may not run on such a core"
        found.append(Tlbs(kind.name, tlbs, unknown))
    return tuple(found)
