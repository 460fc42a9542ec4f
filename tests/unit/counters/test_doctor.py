"""The doctor's checks: complete here, and right about machines in need."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import trees
from planted import plant

from gnomon.counters.check import Check
from gnomon.counters.doctor import diagnose
from gnomon.counters.tool_checks import c_library

NEEDY = {
    "proc/cpuinfo": "model name : Some CPU\nflags : fpu tsc hypervisor\n",
    "proc/sys/kernel/osrelease": "5.4.0-generic\n",
    "proc/sys/kernel/perf_event_paranoid": "3\n",
    "proc/sys/kernel/perf_event_mlock_kb": "128\n",
    "proc/sys/kernel/nmi_watchdog": "1\n",
    "proc/self/status": "CapEff:\t0000000000000000\nSeccomp:\t0\n",
    "proc/self/uid_map": "0 0 4294967295\n",
    "proc/self/limits": "Max open files            1024      524288   files \n",
    "sys/class/dmi/id/sys_vendor": "VMware, Inc.\n",
}
HEALTHY_PMU = {
    "sys/bus/event_source/devices/cpu/type": "4\n",
    "sys/bus/event_source/devices/cpu/rdpmc": "0\n",
}


def by_name(root: Path) -> dict[str, Check]:
    return {check.name: check for check in diagnose(root)}


def test_this_machine_gets_every_check_with_a_consequence_where_it_matters() -> None:
    checks = diagnose()
    names = [check.name for check in checks]
    assert len(names) == len(set(names)) >= 15
    for check in checks:
        assert check.found
        assert check.state in ("ok", "limited", "missing")
        if check.state == "ok":
            assert not check.consequence
            assert not check.remedy
        else:
            assert check.consequence or check.remedy


def test_a_machine_in_need(tmp_path: Path) -> None:
    checks = by_name(plant(tmp_path, NEEDY))
    assert checks["core PMU"].state == "missing"
    assert "VMware" in checks["core PMU"].found
    assert "vpmc.enable" in checks["core PMU"].remedy
    assert checks["perf_event_paranoid"].state == "limited"
    assert "sysctl kernel.perf_event_paranoid=1" in checks["perf_event_paranoid"].remedy
    assert checks["capabilities"].state == "limited"
    assert "setcap cap_sys_admin=ep" in checks["capabilities"].remedy  # Linux 5.4
    assert checks["tracefs"].state == "missing"
    assert "mount -t tracefs" in checks["tracefs"].remedy
    assert checks["open files"].remedy == "ulimit -n 65536"
    assert checks["perf_event_mlock_kb"].state == "limited"
    assert checks["clock"].state == "limited"
    assert checks["NMI watchdog"].state == "ok"  # there is no counter that it could hold
    assert checks["I/O accounts"].state == "missing"
    assert checks["network links"].state == "missing"


def test_a_pmu_brings_questions_of_its_own(tmp_path: Path) -> None:
    checks = by_name(plant(tmp_path, NEEDY | HEALTHY_PMU))
    assert checks["core PMU"].state == "ok"
    assert "kernel.nmi_watchdog=0" in checks["NMI watchdog"].remedy
    assert checks["user-space reads"].state == "limited"
    assert "devices/cpu/rdpmc" in checks["user-space reads"].remedy


def test_how_long_a_turn_is(tmp_path: Path) -> None:
    told = {"sys/bus/event_source/devices/cpu/perf_event_mux_interval_ms": "4\n"}
    checks = by_name(plant(tmp_path, HEALTHY_PMU | told))
    assert checks["mux interval"].state == "ok"
    assert checks["mux interval"].found.startswith("cpu 4 ms")
    plant(tmp_path, {"sys/bus/event_source/devices/cpu/perf_event_mux_interval_ms": "?\n"})
    assert by_name(tmp_path)["mux interval"].state == "limited"
    assert "mux interval" not in by_name(tmp_path / "empty")


def test_presets_of_a_machine_without_a_pmu_cannot_be_counted(tmp_path: Path) -> None:
    check = by_name(tmp_path)["presets"]
    assert check.state == "missing"
    assert re.search(r"\d+ of \d+ have a definition", check.found)
    assert check.remedy == "gnomon count --pmu emulated"


def test_a_broken_file_of_presets_is_found(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text("[preset.X]\nevents = 3\n")
    done = subprocess.run(
        [sys.executable, "-c",
         "from gnomon.counters.doctor import diagnose\n"
         "print(*(c.found for c in diagnose() if c.name == 'presets'))"],
        env={**os.environ, "GNOMON_PRESETS": str(tmp_path / "mine.toml")},
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.stderr == ""
    assert "mine.toml" in done.stdout


def test_the_c_library_as_pkg_config_finds_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if shutil.which("pkg-config") is None and shutil.which("pkgconf") is None:
        pytest.skip("pkg-config is not installed: apt-get install pkgconf")
    known = "Name: gnomon\nDescription: x\nVersion: 9.8.7\n"
    package = plant(tmp_path, {"package/lib/pkgconfig/gnomon.pc": known}) / "package"
    monkeypatch.setenv("PKG_CONFIG_LIBDIR", str(tmp_path / "none"))
    monkeypatch.delenv("PKG_CONFIG_PATH", raising=False)
    found = c_library(package)
    assert found.state == "limited"
    assert found.remedy == f"export PKG_CONFIG_PATH={package}/lib/pkgconfig"
    assert c_library(tmp_path / "elsewhere").state == "missing"
    monkeypatch.setenv("PKG_CONFIG_PATH", found.remedy.partition("=")[2])
    assert c_library(package) == Check(
        "C library (optional)", "ok", "version 9.8.7, by pkg-config gnomon"
    )
    monkeypatch.setenv("PATH", str(tmp_path))
    assert c_library(package).found == "pkg-config not found"


@pytest.mark.parametrize(
    ("status", "uid_map", "state"),
    [
        ("CapEff:\t000001ffffffffff\nSeccomp:\t0\n", "0 0 4294967295\n", "ok"),
        ("CapEff:\t000001ffffffffff\nSeccomp:\t0\n", "0 1000 1\n", "limited"),
        ("CapEff:\t0000000000000000\nSeccomp:\t0\n", "0 0 4294967295\n", "limited"),
    ],
)
def test_capabilities_of_a_user_namespace_are_worth_nothing(
    tmp_path: Path, status: str, uid_map: str, state: str
) -> None:
    root = plant(tmp_path, NEEDY | {"proc/self/status": status, "proc/self/uid_map": uid_map})
    checks = by_name(root)
    assert checks["capabilities"].state == state
    assert checks["perf_event_paranoid"].state == state


def test_a_container_says_how_it_should_have_been_started(tmp_path: Path) -> None:
    checks = by_name(plant(tmp_path, NEEDY | {".dockerenv": ""}))
    assert "docker" in checks["container"].found
    assert "--cap-add PERFMON" in checks["capabilities"].remedy


def test_energy_that_may_not_be_read_limits(tmp_path: Path) -> None:
    trees.amd_server(plant(tmp_path, NEEDY))
    checks = by_name(tmp_path)
    # The kernel that tries is this one, which has no such PMU; powercap and sensors can be read.
    assert checks["energy, sensors"].state == "limited"
    assert checks["energy, sensors"].remedy
    assert checks["uncore PMUs"].state == "missing"
    assert checks["uncore PMUs"].remedy


def test_no_gpu_is_no_fault_and_one_without_a_driver_is(tmp_path: Path) -> None:
    gpu = "sys/bus/pci/devices/0000:17:00.0"
    if by_name(tmp_path)["NVIDIA GPUs"].found != "there is none":
        pytest.skip("this machine has NVIDIA's driver")
    checks = by_name(plant(tmp_path, {f"{gpu}/vendor": "0x10de\n", f"{gpu}/class": "0x030200\n"}))
    assert checks["NVIDIA GPUs"].state == "missing"
    assert "0000:17:00.0" in checks["NVIDIA GPUs"].found
    assert "driver" in checks["NVIDIA GPUs"].remedy


def test_an_empty_tree_is_diagnosed_too(tmp_path: Path) -> None:
    assert {check.state for check in diagnose(tmp_path)} >= {"ok", "missing"}
