"""The counter components, one file each, in the order in which names are looked up."""

from __future__ import annotations

from gnomon.counters.component import Component
from gnomon.counters.components.cpu import CpuComponent
from gnomon.counters.components.emulated import EmulatedComponent
from gnomon.counters.components.gpu import GpuComponent
from gnomon.counters.components.io import IoComponent
from gnomon.counters.components.kernel import KernelComponent
from gnomon.counters.components.memory import MemoryComponent
from gnomon.counters.components.network import NetworkComponent
from gnomon.counters.components.power import PowerComponent
from gnomon.counters.components.tsc import TscComponent
from gnomon.counters.components.uncore import UncoreComponent

COMPONENTS: tuple[Component, ...] = (
    KernelComponent(),
    TscComponent(),
    IoComponent(),
    NetworkComponent(),
    MemoryComponent(),
    PowerComponent(),
    GpuComponent(),
    UncoreComponent(),
    EmulatedComponent(),
    CpuComponent(),
)


def component(name: str) -> Component:
    """Return the component of that name. Raises KeyError."""
    for one in COMPONENTS:
        if one.name == name:
            return one
    raise KeyError(name)
