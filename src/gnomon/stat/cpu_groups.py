"""Which CPUs belong together: cores, NUMA nodes, sockets.

Source: Documentation/ABI/stable/sysfs-devices-node; Documentation/admin-guide/cputopology.rst.
"""

from __future__ import annotations

from gnomon.counters.per_cpu import core_of
from gnomon.counters.procfs import entries, read_text, whole
from gnomon.counters.sysfs_pmu import SYSFS, cpu_list
from gnomon.stat.interval_rows import CORE, CPU, NODE, SOCKET

Places = dict[tuple[str, str], tuple[int, ...]]
"""Rows and the CPUs of each: kind and name."""


def places(per: str, cpus: tuple[int, ...], sysfs: str = SYSFS) -> Places:
    """Return the rows that CPUs are put into, in the order of their numbers.

    Args:
        per: "cpu", "core", "node", or "" for none.
        cpus: those there are.
        sysfs: where sysfs is mounted.

    Returns:
        For "node" the NUMA nodes; sockets where the kernel knows no nodes; () if it knows neither.
    """
    if per == "cpu":
        return {(CPU, str(cpu)): (cpu,) for cpu in cpus}
    if per == "core":
        return _by_core(cpus, sysfs)
    if per == "node":
        return _by_node(cpus, sysfs) or _by_socket(cpus, sysfs)
    return {}


def _by_core(cpus: tuple[int, ...], sysfs: str) -> Places:
    cores: Places = {}
    for cpu in cpus:
        socket, core = core_of(cpu, sysfs)
        # Cores of two sockets have the same numbers; what has none is a core of its own.
        name = f"{max(socket, 0)}:{core}" if core >= 0 else f"cpu{cpu}"
        cores[CORE, name] = (*cores.get((CORE, name), ()), cpu)
    return cores


def _by_node(cpus: tuple[int, ...], sysfs: str) -> Places:
    folder = f"{sysfs}/devices/system/node"
    nodes: Places = {}
    numbers = (whole(name[4:]) for name in entries(folder) if name.startswith("node"))
    for number in sorted(one for one in numbers if one is not None):
        listed = cpu_list((read_text(f"{folder}/node{number}/cpulist") or "").strip())
        own = tuple(cpu for cpu in listed if cpu in cpus)
        if own:
            nodes[NODE, str(number)] = own
    return nodes


def _by_socket(cpus: tuple[int, ...], sysfs: str) -> Places:
    sockets: Places = {}
    for cpu in cpus:
        socket = core_of(cpu, sysfs)[0]
        if socket >= 0:
            sockets[SOCKET, str(socket)] = (*sockets.get((SOCKET, str(socket)), ()), cpu)
    return dict(sorted(sockets.items(), key=lambda one: int(one[0][1])))
