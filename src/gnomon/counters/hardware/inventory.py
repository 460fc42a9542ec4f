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
    by_kind = _answers_by_kind(root, places) if known else {}
    return Hardware(
        processor(root),
        frequencies(root, places.cpus, known),
        places,
        found,
        caches_unknown,
        _tlbs(root, by_kind, known),
        memory(root),
        nodes(root),
        pages(root),
        hypervisor(root),
        hypervisor_signature(known),
        container(root),
        limits(root),
        pmus(root, lambda name: by_kind.get(name, known)),
        devices(root),
    )


def _answers_by_kind(root: Path, places: Topology) -> dict[str, Answers]:
    """Return what cpuid says on each kind of core, {} of one where this process may not run."""
    found = {}
    for kind in places.kinds:
        usable = [cpu.number for cpu in places.cpus
                  if cpu.number in kind.cpus and cpu.is_online and cpu.is_allowed]  # fmt: skip
        found[kind.name] = answers(root, usable[0]) if usable else {}
    return found


def _tlbs(root: Path, by_kind: dict[str, Answers], known: Answers) -> tuple[Tlbs, ...]:
    if not known:
        return (Tlbs("", *from_device_tree(root)),)
    if not by_kind:
        return (Tlbs("", *from_cpuid(known)),)
    barred = ((), "this process may not run on such a core")
    return tuple(
        Tlbs(kind, *(from_cpuid(told) if told else barred)) for kind, told in by_kind.items()
    )
