"""Facts about machines: this one, and planted ones of other makes."""

from __future__ import annotations

import os
import resource
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from planted import plant

from gnomon.counters.host_facts import (
    CAP_PERFMON,
    CAP_SYS_ADMIN,
    Tracefs,
    clock,
    core_pmu_names,
    machine,
    rights,
    tracefs,
)
from gnomon.counters.perf_errors import no_pmu
from gnomon.counters.virtualization import container, hypervisor

VIRTUAL = "processor\t: 0\nmodel name\t: Some CPU @ 2 GHz\nflags\t\t: fpu tsc hypervisor\n\n"
BARE = "processor\t: 0\nmodel name\t: Some CPU\nflags\t\t: fpu tsc constant_tsc nonstop_tsc\n\n"
DMI = "sys/class/dmi/id/"
CLOCKS = "sys/devices/system/clocksource/clocksource0/"


def test_this_machine() -> None:
    facts = machine()
    assert facts.kernel == os.uname().release
    assert facts.cpus == os.cpu_count()
    assert facts.memory_bytes == os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert facts.rights.open_files == tuple(
        None if limit == resource.RLIM_INFINITY else limit
        for limit in resource.getrlimit(resource.RLIMIT_NOFILE)
    )
    if os.geteuid():
        assert not facts.rights.is_privileged
    assert facts.clock.current in facts.clock.available
    for words in no_pmu():
        assert words


def test_an_empty_tree_has_facts_too(tmp_path: Path) -> None:
    facts = machine(tmp_path)
    assert facts.kernel == facts.cpu_model == ""
    assert facts.core_pmus == ()
    assert facts.memory_bytes is None
    assert facts.hypervisor is None
    assert facts.container is None
    assert facts.tracefs is None
    assert facts.rights.paranoid is None
    assert not facts.rights.is_privileged
    reason, remedy = no_pmu(tmp_path)
    assert "/sys/bus/event_source" in reason
    assert remedy


@pytest.mark.parametrize(
    ("files", "name", "remedy"),
    [
        pytest.param(
            {
                f"{DMI}sys_vendor": "QEMU\n",
                f"{DMI}product_name": "Standard PC (Q35 + ICH9, 2009)\n",
            },
            "KVM/QEMU",
            "<pmu state='on'/>",
            id="libvirt",
        ),
        pytest.param(
            {f"{CLOCKS}available_clocksource": "kvm-clock tsc acpi_pm \n"},
            "KVM",
            "-cpu host,pmu=on",
            id="kvm without DMI",
        ),
        pytest.param(
            {"sys/firmware/acpi/tables/DSDT": "DSDT\x00\x00\x00\x00\x02\x00FIRECKFCVMDSDT"},
            "Firecracker",
            "bare-metal",
            id="firecracker",
        ),
        pytest.param({f"{DMI}sys_vendor": "VMware, Inc.\n"}, "VMware", "vpmc.enable", id="vmware"),
        pytest.param(
            {
                f"{DMI}sys_vendor": "Microsoft Corporation\n",
                f"{DMI}product_name": "Virtual Machine\n",
            },
            "Hyper-V",
            "Set-VMProcessor",
            id="hyper-v",
        ),
        pytest.param(
            {
                f"{DMI}sys_vendor": "Microsoft Corporation\n",
                f"{DMI}product_name": "Virtual Machine\n",
                f"{DMI}chassis_asset_tag": "7783-7084-3265-9085-8269-3286-77\n",
            },
            "Hyper-V at Azure",
            "bare-metal",
            id="azure",
        ),
        pytest.param({"sys/hypervisor/type": "xen\n"}, "Xen", "vpmu=on", id="xen"),
        pytest.param(
            {f"{DMI}sys_vendor": "Amazon EC2\n", f"{DMI}product_name": "m5.large\n"},
            "KVM at AWS",
            ".metal",
            id="aws",
        ),
        pytest.param(
            {f"{DMI}product_name": "Google Compute Engine\n"},
            "KVM at GCP",
            "--performance-monitoring-unit",
            id="gcp",
        ),
        pytest.param(
            {f"{DMI}product_name": "VirtualBox\n"}, "VirtualBox", "on the host", id="virtualbox"
        ),
        pytest.param({}, "of unknown make", "on the host", id="only the CPU's flag"),
    ],
)
def test_hypervisors(tmp_path: Path, files: dict[str, str], name: str, remedy: str) -> None:
    plant(tmp_path, {"proc/cpuinfo": VIRTUAL, "sys/bus/event_source/devices/msr/type": "9\n"})
    plant(tmp_path, files)
    found = hypervisor(tmp_path)
    assert found is not None
    assert found.name == name
    assert found.evidence
    reason, what_to_do = no_pmu(tmp_path)
    assert f"({name})" in reason
    assert remedy in what_to_do


@pytest.mark.parametrize(
    ("files", "name"),
    [
        ({"proc/device-tree/compatible": "linux,dummy-virt\x00"}, "KVM/QEMU"),
        ({"proc/device-tree/model": "IBM pSeries (emulated by qemu)\x00"}, "KVM/QEMU"),
        ({"proc/device-tree/ibm,partition-name": "lpar1\x00"}, "PowerVM"),
        ({"proc/device-tree/hypervisor/compatible": "xen,xen-4.17\x00xen,xen\x00"}, "Xen"),
        ({"sys/bus/vmbus/devices/vmbus_0/id": "1\n"}, "Hyper-V"),
        ({f"{DMI}sys_vendor": "Amazon EC2\n", f"{DMI}product_name": "c6g.large\n"}, "KVM at AWS"),
        ({f"{DMI}sys_vendor": "Amazon EC2\n", f"{DMI}product_name": "c6g.metal\n"}, None),
        ({f"{DMI}sys_vendor": "Ampere(TM)\n"}, None),
    ],
)
def test_machines_whose_cpus_have_no_flag_for_it(
    tmp_path: Path, files: dict[str, str], name: str | None
) -> None:
    plant(tmp_path, {"proc/cpuinfo": "processor\t: 0\nCPU part\t: 0xd40\n"})
    found = hypervisor(plant(tmp_path, files))
    assert (found.name if found else None) == name


def test_bare_metal_without_a_pmu_points_at_firmware_and_driver(tmp_path: Path) -> None:
    plant(tmp_path, {"proc/cpuinfo": BARE, f"{DMI}sys_vendor": "QEMU\n"})
    plant(tmp_path, {"sys/bus/event_source/devices/msr/type": "9\n"})
    assert hypervisor(tmp_path) is None
    reason, remedy = no_pmu(tmp_path)
    assert "firmware" in reason
    assert "dmesg" in remedy


@pytest.mark.parametrize(
    ("files", "kind"),
    [
        ({".dockerenv": ""}, "docker"),
        ({"run/.containerenv": ""}, "podman"),
        ({"proc/1/environ": "PATH=/bin\x00container=systemd-nspawn\x00"}, "systemd-nspawn"),
        ({"proc/1/environ": "KUBERNETES_SERVICE_HOST=10.0.0.1\x00"}, "kubernetes"),
        ({"proc/1/cgroup": "0::/system.slice/docker-0123abcd.scope\n"}, "docker"),
        ({"proc/1/cgroup": "12:cpu:/docker/0123abcd\n0::/\n"}, "docker"),
        ({"proc/1/cgroup": "0::/kubepods/besteffort/pod1\n"}, "kubepods"),
        ({"proc/1/cgroup": "0::/init.scope\n"}, None),
    ],
)
def test_containers(tmp_path: Path, files: dict[str, str], kind: str | None) -> None:
    found = container(plant(tmp_path, files))
    assert (found.kind if found else None) == kind


def test_an_engines_mark_outside_of_its_namespaces_is_no_container(tmp_path: Path) -> None:
    plant(tmp_path, {".dockerenv": ""})
    namespaces = tmp_path / "proc/self/ns"
    namespaces.mkdir(parents=True)
    (namespaces / "uts").symlink_to("uts:[4026531838]")
    (namespaces / "pid").symlink_to("pid:[4026532999]")
    assert container(tmp_path) is not None
    (namespaces / "pid").unlink()
    (namespaces / "pid").symlink_to("pid:[4026531836]")
    assert container(tmp_path) is None


def test_rights_of_root_a_user_and_a_container(tmp_path: Path) -> None:
    everything = "000001ffffffffff"
    plant(tmp_path, {"proc/self/status": f"Name:\tx\nCapEff:\t{everything}\nSeccomp:\t0\n"})
    plant(tmp_path, {"proc/sys/kernel/perf_event_paranoid": "-1\n"})
    plant(tmp_path, {"proc/self/uid_map": "         0          0 4294967295\n"})
    plant(tmp_path, {"proc/self/limits": "Max open files            1024      524288   files \n"})
    root = rights(tmp_path)
    assert root.is_privileged
    assert root.paranoid == -1
    assert root.capabilities >> CAP_PERFMON & root.capabilities >> CAP_SYS_ADMIN & 1
    assert root.open_files == (1024, 524288)
    plant(tmp_path, {"proc/self/uid_map": "0 1000 1\n"})
    assert not rights(tmp_path).is_privileged
    plant(tmp_path, {"proc/self/status": "CapEff:\t0000000000000000\nSeccomp:\t2\n"})
    user = rights(tmp_path)
    assert not user.is_privileged
    assert user.seccomp == 2


def test_core_pmus_are_told_from_others(tmp_path: Path) -> None:
    devices = "sys/bus/event_source/devices/"
    plant(
        tmp_path,
        {
            f"{devices}cpu_core/type": "4\n",
            f"{devices}cpu_core/cpus": "0-15\n",
            f"{devices}cpu_atom/type": "10\n",
            f"{devices}cpu_atom/cpus": "16-23\n",
            f"{devices}uncore_imc_0/type": "20\n",
            f"{devices}uncore_imc_0/cpumask": "0\n",
            f"{devices}software/type": "1\n",
        },
    )
    assert core_pmu_names(tmp_path) == ("cpu_atom", "cpu_core")


def test_tracefs_and_clock(tmp_path: Path) -> None:
    plant(tmp_path, {"proc/self/mounts": "tracefs /sys/kernel/tracing tracefs rw 0 0\n"})
    assert tracefs(tmp_path) == Tracefs(Path("/sys/kernel/tracing"), False)
    plant(tmp_path, {"sys/kernel/tracing/events/sched/enable": "0\n"})
    assert tracefs(tmp_path) == Tracefs(Path("/sys/kernel/tracing"), True)
    assert clock(tmp_path, "fpu tsc constant_tsc").is_tsc_steady is False
    assert clock(tmp_path, "fpu tsc constant_tsc nonstop_tsc").is_tsc_steady is True
    assert clock(tmp_path, None).is_tsc_steady is None


@given(st.text(), st.binary())
def test_garbage_is_a_fact_that_is_not_known(
    tmp_path_factory: pytest.TempPathFactory, text: str, data: bytes
) -> None:
    root = tmp_path_factory.mktemp("garbage")
    names = ("cpuinfo", "meminfo", "self/status", "self/limits", "self/uid_map", "self/mounts",
             "1/environ", "1/cgroup", "sys/kernel/perf_event_paranoid")  # fmt: skip
    for at, name in enumerate(names):
        path = root / "proc" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data if at % 2 else text.encode("utf-8", "replace"))
    machine(root)
    no_pmu(root)
