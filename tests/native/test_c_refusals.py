"""What a refusal of the kernel means: libgnomon says it in the words of Python, on any machine."""

from __future__ import annotations

import errno
import json
import subprocess
from pathlib import Path

import pytest
from c_names import built
from hypothesis import given, settings
from hypothesis import strategies as st

from gnomon.counters.refusal import explain

HARDWARE, TRACEPOINT = 1, 2
DMI = "sys/class/dmi/id/"
TREE = "proc/device-tree/"

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


@pytest.fixture(scope="module")
def print_events(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the C program that says what names resolve to."""
    return built(tmp_path_factory.getbasetemp())


def said_in_c(program: Path, root: str) -> dict[tuple[int, int], str]:
    done = subprocess.run([program, "--refusals", root], capture_output=True, check=True)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert all(answer["error"] < 0 for answer in answers)
    return {(one["number"], one["flags"]): one["message"] for one in answers}


def compare(program: Path, root: Path) -> None:
    said = said_in_c(program, str(root))
    assert len(said) == 3 * 199
    for (number, flags), message in said.items():
        if number not in errno.errorcode and number < 150:
            continue  # a few have a name in C only
        reason, remedy = explain(
            number, hardware=flags == HARDWARE, tracepoint=flags == TRACEPOINT, root=root
        )
        # Two names for one number; and a struct gn_message holds 511 letters.
        reason = reason.replace("EDEADLOCK", "EDEADLK")
        assert message == f"{reason}; {remedy}"[:511], (number, flags)


def test_on_this_machine(print_events: Path) -> None:
    compare(print_events, Path("/"))


@pytest.mark.parametrize("name", sorted(FILES))
def test_each_file_alone(print_events: Path, tmp_path: Path, name: str) -> None:
    for number, text in enumerate(FILES[name]):
        root = tmp_path / str(number)
        plant(root, {name: text})
        compare(print_events, root)


@settings(max_examples=150)
@given(
    st.fixed_dictionaries(
        {}, optional={name: st.sampled_from(texts) for name, texts in FILES.items()}
    )
)
def test_on_any_machine(
    print_events: Path, tmp_path_factory: pytest.TempPathFactory, files: dict[str, str]
) -> None:
    root = tmp_path_factory.mktemp("machine")
    plant(root, files)
    compare(print_events, root)


def test_inside_the_first_namespaces(print_events: Path, tmp_path: Path) -> None:
    plant(tmp_path, {".dockerenv": "", "proc/sys/kernel/perf_event_paranoid": "2\n"})
    names = tmp_path / "proc/self/ns"
    names.mkdir(parents=True)
    (names / "pid").symlink_to("pid:[4026531836]")
    compare(print_events, tmp_path)
    (names / "uts").symlink_to("uts:[4026531838]")
    compare(print_events, tmp_path)


def plant(root: Path, files: dict[str, str]) -> None:
    """Write a machine's files below `root`."""
    root.mkdir(exist_ok=True)
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
