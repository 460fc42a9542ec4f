"""Which hypervisor and which container this is, by the traces that they leave.

Source: the x86 `hypervisor` flag (CPUID 1, ECX bit 31), DMI as in
Documentation/ABI/testing/sysfs-firmware-dmi, /sys/hypervisor, ACPI table headers, clock sources;
for containers namespaces(7), /.dockerenv, /run/.containerenv, the environment of process 1 and
cgroup names.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, NamedTuple

from gnomon.counters.procfs import below, entries, keyed, read_line, read_text

if TYPE_CHECKING:
    from pathlib import Path

_QEMU_REMEDY = (
    "libvirt: `<features><pmu state='on'/></features>` and CPU mode host-passthrough; "
    "qemu: `-cpu host,pmu=on`"
)
_PMU_REMEDIES = {
    "KVM": _QEMU_REMEDY,
    "KVM/QEMU": _QEMU_REMEDY,
    "Firecracker": "Firecracker has no virtual PMU: run on the host or on a bare-metal instance",
    "VMware": "switch on 'Virtualize CPU performance counters' in the machine's CPU settings "
    '(vpmc.enable = "TRUE" in its .vmx file)',
    "Hyper-V": "on the host, with the machine off: `Set-VMProcessor NAME -Perfmon @('pmu')`",
    "Xen": "boot the Xen host with `vpmu=on`",
    "VirtualBox": "VirtualBox has no virtual PMU: run on the host, or under KVM",
    "PowerVM": "on the HMC, allow performance information collection for this partition",
}
_CLOUD_REMEDIES = {
    "AWS": "take a .metal instance, or a size that fills a whole socket",
    "GCP": "create the instance with `--performance-monitoring-unit=standard` (machine types that "
    "have it: see its documentation), or take a bare-metal one",
    "Azure": "Azure has no setting for it: take a bare-metal machine",
}
_ANY_REMEDY = (
    "switch the virtual PMU on where the virtual machine is configured, or run on the host"
)

# field of /sys/class/dmi/id, what it begins with, hypervisor, cloud
_DMI = (
    ("sys_vendor", "Amazon EC2", "KVM", "AWS"),
    ("bios_vendor", "Amazon EC2", "KVM", "AWS"),
    ("bios_version", "4.2.amazon", "Xen", "AWS"),
    ("product_name", "Google Compute Engine", "KVM", "GCP"),
    ("chassis_asset_tag", "7783-7084-3265-9085-8269-3286-77", "Hyper-V", "Azure"),
    ("sys_vendor", "Alibaba Cloud", "KVM", "Alibaba Cloud"),
    ("sys_vendor", "OpenStack Foundation", "KVM", "OpenStack"),
    ("sys_vendor", "DigitalOcean", "KVM", "DigitalOcean"),
    ("sys_vendor", "Hetzner", "KVM", "Hetzner"),
    ("sys_vendor", "VMware", "VMware", ""),
    ("product_name", "VMware", "VMware", ""),
    ("product_name", "VirtualBox", "VirtualBox", ""),
    ("sys_vendor", "innotek GmbH", "VirtualBox", ""),
    ("sys_vendor", "Xen", "Xen", ""),
    ("product_name", "KVM", "KVM", ""),
    ("sys_vendor", "QEMU", "KVM/QEMU", ""),
    ("product_name", "Standard PC", "KVM/QEMU", ""),
)
_CLOCKS = {"kvm-clock": "KVM", "hyperv_clocksource_tsc_page": "Hyper-V", "xen": "Xen"}
_FIRST_NAMESPACES = {"pid": 0xEFFFFFFC, "uts": 0xEFFFFFFE}
"""Inode numbers of include/uapi/linux/nsfs.h, the same in every kernel since Linux 3.8."""

_CPUINFO_BYTES = 8192
_CGROUP = r"/(docker|lxc|kubepods|libpod|crio|garden)[-./]|/(docker|lxc|kubepods)\b"


class Hypervisor(NamedTuple):
    """The hypervisor that this machine runs under.

    Attributes:
        kind: its product ("KVM", "VMware", ...), "" if only its presence is known.
        cloud: the provider, "" if unknown or none.
        evidence: what gave it away.
    """

    kind: str
    cloud: str
    evidence: str

    @property
    def name(self) -> str:
        """The product and the provider in words."""
        kind = self.kind or "of unknown make"
        return f"{kind} at {self.cloud}" if self.cloud else kind

    @property
    def pmu_remedy(self) -> str:
        """What gives a virtual machine under it a PMU."""
        return _CLOUD_REMEDIES.get(self.cloud) or _PMU_REMEDIES.get(self.kind, _ANY_REMEDY)


class Container(NamedTuple):
    """The container that this process runs in: its engine and what gave it away."""

    kind: str
    evidence: str


def first_cpu(root: Path | str) -> dict[str, str]:
    """Return what /proc/cpuinfo says of the first CPU.

    Its flags come long before the limit; to write about all of hundreds of CPUs takes the kernel
    milliseconds.
    """
    return keyed(read_text(below(root, "proc/cpuinfo"), most_bytes=_CPUINFO_BYTES) or "")


def hypervisor(root: Path | str) -> Hypervisor | None:
    """Return the hypervisor, None on bare metal (or where nothing hints at one)."""
    flags = first_cpu(root).get("flags", "").split()
    if flags and "hypervisor" not in flags:
        return None
    found = _by_firmware(root) or _by_dmi(root) or _by_kernel(root)
    if found is None and flags:
        found = Hypervisor("", "", "/proc/cpuinfo: flag hypervisor")
    return found


def container(root: Path) -> Container | None:
    """Return the container that this process runs in, None outside of one.

    The marks that engines leave in a file system stay there when it becomes a virtual machine's;
    who still has the kernel's first PID and UTS namespaces is in no container.
    """
    if _has_first_namespaces(root):
        return None
    if (root / "run/.containerenv").exists():
        return Container("podman", "/run/.containerenv")
    if (root / ".dockerenv").exists():
        return Container("docker", "/.dockerenv")
    for entry in (read_text(root / "proc/1/environ") or "").split("\0"):
        key, _, value = entry.partition("=")
        if key == "container" and value:
            return Container(value, f"container={value} in the environment of process 1")
        if key == "KUBERNETES_SERVICE_HOST":
            return Container("kubernetes", f"{key} in the environment of process 1")
    match = re.search(_CGROUP, read_text(root / "proc/1/cgroup") or "")
    if match:
        return Container(match[1] or match[2], f"/proc/1/cgroup: {match[0].strip('/')}")
    return None


def _has_first_namespaces(root: Path) -> bool:
    return all(
        _link(root / "proc/self/ns" / kind) == f"{kind}:[{number}]"
        for kind, number in _FIRST_NAMESPACES.items()
    )


def _link(path: Path) -> str:
    try:
        return str(path.readlink())
    except OSError:
        return ""


def _by_firmware(root: Path | str) -> Hypervisor | None:
    """Firecracker has no DMI; its ACPI tables (readable by root) and its command line tell."""
    tables = below(root, "sys/firmware/acpi/tables")
    if "FIRECK" in (read_text(f"{tables}/DSDT", most_bytes=32) or ""):
        return Hypervisor("Firecracker", "", "ACPI tables of FIRECK")
    if "firecracker" in (read_text(below(root, "proc/cmdline")) or "").lower():
        return Hypervisor("Firecracker", "", "/proc/cmdline")
    return None


def _by_dmi(root: Path | str) -> Hypervisor | None:
    folder = below(root, "sys/class/dmi/id")
    known = {field: read_line(f"{folder}/{field}") for field in {row[0] for row in _DMI}}
    for field, start, kind, cloud in _DMI:
        if known[field].startswith(start):
            if cloud == "AWS" and ".metal" in read_line(f"{folder}/product_name"):
                return None
            return Hypervisor(kind, cloud, f"DMI {field}: {known[field]}")
    if known["sys_vendor"] == "Microsoft Corporation" and known["product_name"].startswith(
        "Virtual Machine"
    ):
        return Hypervisor("Hyper-V", "", "DMI product_name: Virtual Machine")
    return None


def _by_kernel(root: Path | str) -> Hypervisor | None:
    kind = read_line(below(root, "sys/hypervisor/type"))
    if kind:
        return Hypervisor(kind.capitalize(), "", f"/sys/hypervisor/type: {kind}")
    compatible = read_text(below(root, "proc/device-tree/hypervisor/compatible")) or ""
    for make, name in (("xen", "Xen"), ("kvm", "KVM")):
        if make in compatible:
            return Hypervisor(name, "", "/proc/device-tree/hypervisor")
    tree = below(root, "proc/device-tree")
    model = read_line(f"{tree}/model")
    if "qemu" in model.lower():
        return Hypervisor("KVM/QEMU", "", f"/proc/device-tree/model: {model}")
    if os.access(f"{tree}/ibm,partition-name", os.F_OK):
        return Hypervisor("PowerVM", "", "/proc/device-tree/ibm,partition-name")
    if "linux,dummy-virt" in (read_text(f"{tree}/compatible") or ""):
        return Hypervisor("KVM/QEMU", "", "/proc/device-tree/compatible: linux,dummy-virt")
    if entries(below(root, "sys/bus/vmbus/devices")):
        return Hypervisor("Hyper-V", "", "/sys/bus/vmbus")
    clocks = "sys/devices/system/clocksource/clocksource0/available_clocksource"
    for name in read_line(below(root, clocks)).split():
        if name in _CLOCKS:
            return Hypervisor(_CLOCKS[name], "", f"clock source {name}")
    return None
