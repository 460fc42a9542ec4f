"""What perf_event_open(2)'s errors mean, by machine; and by a kernel that really refuses."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest
from planted import plant

from gnomon.counters.refusal import explain

NOBODY = 65534
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
    imports = "import gnomon.counters.components.kernel, gnomon.counters.machine\n"
    run = subprocess.run(
        [sys.executable, "-c", imports + prepare + PROBE], capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr
    number, reason, remedy = run.stdout.strip().split("|")
    assert int(number) in (errno.EACCES, errno.EPERM)
    assert f"kernel.perf_event_paranoid is {paranoid}" in reason
    assert "sysctl kernel.perf_event_paranoid=1" in remedy
