"""Everything that there is to say of a machine's hardware, together."""

from __future__ import annotations

from pathlib import Path

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
from gnomon.named_tuple import NamedTuple

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
    cpuid_answers = answers(root)
    places = topology(root)
    online = tuple(cpu.number for cpu in places.cpus if cpu.is_online)
    all_caches, caches_unknown = caches(root, online, cpuid_answers)
    by_kind = _answers_by_kind(root, places) if cpuid_answers else {}
    return Hardware(
        processor(root),
        frequencies(root, places.cpus, cpuid_answers),
        places,
        all_caches,
        caches_unknown,
        _tlbs(root, by_kind, cpuid_answers),
        memory(root),
        nodes(root),
        pages(root),
        hypervisor(root),
        hypervisor_signature(cpuid_answers),
        container(root),
        limits(root),
        pmus(root, lambda name: by_kind.get(name, cpuid_answers)),
        devices(root),
    )


def _answers_by_kind(root: Path, places: Topology) -> dict[str, Answers]:
    """Return cpuid's answers on each kind of core, {} for one where this process may not run."""
    by_kind = {}
    for kind in places.kinds:
        usable = [cpu.number for cpu in places.cpus
                  if cpu.number in kind.cpus and cpu.is_online and cpu.is_allowed]  # fmt: skip
        by_kind[kind.name] = answers(root, usable[0]) if usable else {}
    return by_kind


def _tlbs(root: Path, by_kind: dict[str, Answers], cpuid_answers: Answers) -> tuple[Tlbs, ...]:
    if not cpuid_answers:
        return (Tlbs("", *from_device_tree(root)),)
    if not by_kind:
        return (Tlbs("", *from_cpuid(cpuid_answers)),)
    barred = ((), "this process may not run on such a core")
    return tuple(
        Tlbs(kind, *(from_cpuid(told) if told else barred)) for kind, told in by_kind.items()
    )
