"""What perf_event_open(2)'s errors mean, by machine; and by a kernel that really refuses."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from planted import plant

from gnomon.counters.host_facts import rights
from gnomon.counters.perf_errors import explain
from gnomon.counters.virtualization import hypervisor

NOBODY = 65534
DMI = "sys/class/dmi/id/"
TREE = "proc/device-tree/"
USER = {
    "proc/self/status": "CapEff:\t0000000000000000\nSeccomp:\t0\n",
    "proc/self/uid_map": "0 0 4294967295\n",
    "proc/self/limits": "Max open files            1024      4096   files \n",
    "proc/cpuinfo": "flags : fpu tsc\n",
    "sys/bus/event_source/devices/cpu/type": "4\n",
}


def user(root: Path, paranoid: int, **more: str) -> Path:
    files = {**USER, "proc/sys/kernel/perf_event_paranoid": f"{paranoid}\n"}
    return plant(root, files | {name.replace("__", "/"): text for name, text in more.items()})


@pytest.mark.parametrize("number", sorted(errno.errorcode))
@pytest.mark.parametrize(("hardware", "tracepoint"), [(True, False), (False, True), (False, False)])
def test_every_error_has_a_reason_and_a_remedy(
    number: int, hardware: bool, tracepoint: bool
) -> None:
    reason, remedy = explain(number, hardware=hardware, tracepoint=tracepoint)
    assert reason
    assert remedy
    assert not reason.endswith(".")


@pytest.mark.parametrize(
    ("paranoid", "said", "to_do"),
    [
        (4, "nothing may be counted", "kernel.perf_event_paranoid=1"),
        (3, "nothing may be counted", "kernel.perf_event_paranoid=1"),
        (2, "only user mode", "kernel.perf_event_paranoid=1"),
        (1, "no whole CPU", "kernel.perf_event_paranoid=0"),
        (0, "another user", "as the owner"),
        (-1, "another user", "as the owner"),
    ],
)
@pytest.mark.parametrize("number", [errno.EACCES, errno.EPERM])
def test_the_paranoid_level_of_a_user(
    tmp_path: Path, paranoid: int, said: str, to_do: str, number: int
) -> None:
    root = user(tmp_path, paranoid)
    reason, remedy = explain(number, hardware=True, tracepoint=False, root=root)
    assert said in reason
    assert to_do in remedy
    assert "docker" not in remedy


def test_a_seccomp_filter_is_named_with_its_container(tmp_path: Path) -> None:
    root = user(tmp_path, 1, proc__self__status="CapEff:\t0\nSeccomp:\t2\n", **{".dockerenv": ""})
    reason, remedy = explain(errno.EPERM, hardware=True, tracepoint=False, root=root)
    assert "seccomp filter of the docker container" in reason
    assert "--cap-add PERFMON" in remedy
    reason, remedy = explain(errno.EACCES, hardware=True, tracepoint=False, root=root)
    assert "perf_event_paranoid" in reason
    assert "on the host" in remedy


def test_root_is_not_told_to_become_root(tmp_path: Path) -> None:
    root = user(tmp_path, 3, proc__self__status="CapEff:\t000001ffffffffff\nSeccomp:\t0\n")
    reason, remedy = explain(errno.EACCES, hardware=True, tracepoint=False, root=root)
    assert "security module" in reason
    assert "sysctl" not in remedy


@pytest.mark.parametrize("number", [errno.ENOENT, errno.ENODEV, errno.EOPNOTSUPP])
def test_without_a_pmu_that_is_the_reason(tmp_path: Path, number: int) -> None:
    root = plant(tmp_path, {"proc/cpuinfo": "flags : fpu hypervisor\n"})
    reason, _ = explain(number, hardware=True, tracepoint=False, root=root)
    assert reason.startswith("no core PMU")
    user(tmp_path, 2)
    reason, _ = explain(number, hardware=True, tracepoint=False, root=root)
    assert not reason.startswith("no core PMU")


def test_limits_and_watchdog_are_looked_up(tmp_path: Path) -> None:
    root = user(tmp_path, 2, proc__sys__kernel__nmi_watchdog="1\n")
    assert explain(errno.EMFILE, hardware=True, tracepoint=False, root=root)[1] == "ulimit -n 4096"
    reason, remedy = explain(errno.EBUSY, hardware=True, tracepoint=False, root=root)
    assert "NMI watchdog" in reason
    assert "kernel.nmi_watchdog=0" in remedy


def test_a_cpu_that_is_not_there_is_named(tmp_path: Path) -> None:
    root = user(tmp_path, 2, sys__devices__system__cpu__online="0-1,3\n")
    for number in (errno.EINVAL, errno.ENODEV):
        for hardware in (True, False):
            reason, remedy = explain(number, hardware=hardware, tracepoint=False, cpu=2, root=root)
            assert reason == "CPU 2 is not there, or offline"
            assert remedy == "take one of 0-1,3"
        for cpu in (-1, 3):
            reason, _ = explain(number, hardware=False, tracepoint=False, cpu=cpu, root=root)
            assert "offline" not in reason
    reason, _ = explain(errno.ENOENT, hardware=False, tracepoint=False, cpu=2, root=root)
    assert "offline" not in reason


def test_a_kernel_without_perf_events_is_told_from_a_sandbox(tmp_path: Path) -> None:
    reason, _ = explain(errno.ENOSYS, hardware=False, tracepoint=False, root=tmp_path)
    assert reason == "this kernel has no perf events"
    user(tmp_path, 2)
    reason, _ = explain(errno.ENOSYS, hardware=False, tracepoint=False, root=tmp_path)
    assert "sandbox" in reason


# What decides which explanation is right, and what each of these files can hold.
FILES = {
    "proc/sys/kernel/perf_event_paranoid": ["-1\n", "0\n", "1\n", "2\n", "3\n", "4", "", "x", "-"],
    "proc/self/status": [
        "CapEff:\t0000000000000000\nSeccomp:\t0\n", "CapEff:\t0000004000000000\nSeccomp:\t2\n",
        "Name:\tCapEff: 1\nCapEff:\t0\nSeccomp:\t2\n", "CapEff:\t000001ffffffffff\n",
        "CapEff:\tno\n", "  CapEff : 200000\nSeccomp:\t2\nSeccomp:\t0\n",
    ],
    "proc/self/uid_map": ["         0          0 4294967295\n", "0 1000 1\n", "x\n", ""],
    "proc/self/limits": [
        "Limit Soft Hard Units\nMax open files            1024      4096   files \nMax x 1 1\n",
        "Max open files 4096 4096 files\n", "Max open files unlimited unlimited files\n",
        "Max open", "Max open files 10 unlimited files\n", "Max open files \n",
    ],
    "proc/sys/kernel/nmi_watchdog": ["0\n", "1\n", "", "x"],
    "proc/cpuinfo": [
        "flags : fpu tsc\n", "flags\t\t: fpu hypervisor tsc\n", "processor : 0\n",
        "flags : hypervisors\nflags : hypervisor\n", "x flags: y\n", "flags :\n" + "y" * 9000,
    ],
    "sys/bus/event_source/devices/cpu/type": ["4\n", "x"],
    "sys/bus/event_source/devices/software/type": ["1\n"],
    "sys/firmware/acpi/tables/DSDT": ["DSDT\x00FIRECKFCVMDSDT", "DSDT" + "x" * 40 + "FIRECK"],
    "proc/cmdline": ["root=/dev/vda Firecracker=1", "quiet\n"],
    DMI + "sys_vendor": [
        "Amazon EC2\n", "QEMU\n", "VMware, Inc.\n", "Microsoft Corporation\n", "Hetzner\n",
        "Dell\n", "innotek GmbH\n", "Xen\n", "Alibaba Cloud\n", "DigitalOcean\n",
        "OpenStack Foundation\n",
    ],
    DMI + "bios_vendor": ["Amazon EC2\n", "SeaBIOS\n"],
    DMI + "bios_version": ["4.2.amazon\n", "1.0\n"],
    DMI + "product_name": [
        "c6g.metal\n", "m5.large\n", "Google Compute Engine\n", "Virtual Machine\n", "KVM\n",
        "Standard PC (Q35)\n", "VirtualBox\n", "VMware7,1\n",
    ],
    DMI + "chassis_asset_tag": ["7783-7084-3265-9085-8269-3286-77\n", "\n"],
    "sys/hypervisor/type": ["xen\n", "KVM\n", "", "9x\n"],
    TREE + "hypervisor/compatible": ["linux,kvm\x00", "xen,xen-4.11\x00xen,xen\x00", "other"],
    TREE + "model": ["IBM pSeries (emulated by QEMU)\x00", "Raspberry Pi 4\x00", "\x00"],
    TREE + "ibm,partition-name": ["lpar\x00"],
    TREE + "compatible": ["linux,dummy-virt\x00", "qcom,x\x00"],
    "sys/bus/vmbus/devices/x": [""],
    "sys/devices/system/clocksource/clocksource0/available_clocksource": [
        "kvm-clock tsc acpi_pm \n", "tsc hyperv_clocksource_tsc_page\n", "xen tsc\n", "tsc\n",
    ],
    "run/.containerenv": [""],
    ".dockerenv": [""],
    "proc/1/environ": [
        "PATH=/bin\x00container=lxc\x00", "container=\x00KUBERNETES_SERVICE_HOST=1\x00",
        "a\x00b=c\x00", "container\x00notcontainer=x\x00",
    ],
    "proc/1/cgroup": [
        "0::/docker/abc\n", "0::/docker-abc.scope\n", "0::/system.slice/crio\n",
        "0::/crio-1.scope\n", "12:cpu:/kubepods.slice\n", "0::/dockerd\n", "0::/init.scope\n",
        "0::/lxc_x/lxc",
    ],
}  # fmt: skip


@given(
    st.fixed_dictionaries(
        {}, optional={name: st.sampled_from(texts) for name, texts in FILES.items()}
    ),
    st.sampled_from(sorted(errno.errorcode)),
)
def test_whatever_the_files_of_a_machine_hold_there_is_an_answer(
    tmp_path_factory: pytest.TempPathFactory, files: dict[str, str], number: int
) -> None:
    root = plant(tmp_path_factory.mktemp("machine"), files)
    for hardware, tracepoint in ((True, False), (False, True), (False, False)):
        reason, remedy = explain(number, hardware=hardware, tracepoint=tracepoint, root=root)
        assert reason
        assert remedy
    have = rights(root)
    assert have.is_privileged <= bool(have.capabilities)
    host = hypervisor(root)
    if number == errno.ENODEV and host and "sys/bus/event_source/devices/cpu/type" not in files:
        reason, remedy = explain(number, hardware=True, tracepoint=False, root=root)
        assert host.name in reason
        assert remedy.startswith(host.pmu_remedy)


PROBE = """
from gnomon.counters.component import Target
from gnomon.counters.components.kernel import KernelComponent
component = KernelComponent()
(refusal,) = component.open(component.resolve("context-switches"), Target()).refused
print(refusal.errno, refusal.reason, refusal.remedy, sep="|")
"""


def test_a_kernel_that_really_refuses_is_explained() -> None:
    """Context switches happen in the kernel: at level 2 and above a user may not count them."""
    if os.geteuid() != 0:
        pytest.skip("needs root, to become a user")
    paranoid = int(Path("/proc/sys/kernel/perf_event_paranoid").read_text())
    if paranoid < 2:
        pytest.skip(f"kernel.perf_event_paranoid is {paranoid}: the kernel refuses nothing")
    prepare = f"import os; os.setgroups([]); os.setgid({NOBODY}); os.setuid({NOBODY})\n"
    imports = "import gnomon.counters.components.kernel, gnomon.counters.host_facts\n"
    run = subprocess.run(
        [sys.executable, "-c", imports + prepare + PROBE], capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr
    number, reason, remedy = run.stdout.strip().split("|")
    assert int(number) in (errno.EACCES, errno.EPERM)
    assert f"kernel.perf_event_paranoid is {paranoid}" in reason
    assert "sysctl kernel.perf_event_paranoid=1" in remedy
