"""The power component: energy on recorded machines; the kernel's side with a PMU that counts."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import planted
import pytest
import trees
from hypothesis import given
from hypothesis import strategies as st
from planted import plant

from gnomon.counters.component import OpenResult, RawCount, Target, make_value
from gnomon.counters.components.power import PowerComponent
from gnomon.errors import EventNameError, EventUnavailableError
from gnomon.model.value import How, Scope

COMMAND = Target(None, inherit=True, command=True)


def component(sys_root: Path) -> PowerComponent:
    return PowerComponent(sys_root.parent / "proc", sys_root)


def opened(power: PowerComponent, *names: str, target: Target | None = None) -> OpenResult:
    events = [event for name in names for event in power.resolve(name)]
    return power.open(events, target or Target())


def values(found: OpenResult, counts: tuple[RawCount, ...]) -> dict[str, float | None]:
    return {
        event.name: make_value(event, *count).value
        for event, count in zip(found.events, counts, strict=True)
    }


def grow(tree: Path, zone: str, by: int, modulus: int = 0) -> None:
    path = tree / trees.POWERCAP / zone / "energy_uj"
    after = int(path.read_text()) + by
    path.write_text(f"{after % modulus if modulus else after}\n")


def measured(
    power: PowerComponent, names: list[str], work: Callable[[], object]
) -> dict[str, float | None]:
    found = opened(power, *names)
    assert found.refused == ()
    assert found.counting is not None
    found.counting.start()
    work()
    result = values(found, tuple(found.counting.stop()))
    found.counting.close()
    return result


# --- powercap -------------------------------------------------------------------------------------


def test_energies_of_a_server(tmp_path: Path) -> None:
    tree = trees.intel_server(tmp_path)
    names = ["package_energy", "dram_energy", "package-0:energy", "package-1:energy",
             "package-1:dram:energy"]  # fmt: skip

    def work() -> None:
        grow(tree, "intel-rapl:0", 1_500_000)
        grow(tree, "intel-rapl:1", 250_000)
        grow(tree, "intel-rapl:1:0", 40_000)

    got = measured(component(tree), [f"power:::{name}" for name in names], work)
    assert got == pytest.approx(
        {
            "power:::package_energy": 1.75,
            "power:::dram_energy": 0.04,
            "power:::package-0:energy": 1.5,
            "power:::package-1:energy": 0.25,
            "power:::package-1:dram:energy": 0.04,
        }
    )


def test_a_counter_that_goes_round_is_counted_on(tmp_path: Path) -> None:
    """The tree's package stands 10 µJ before the end of its range."""
    tree = trees.amd_server(tmp_path)
    got = measured(
        component(tree),
        ["power:::package_energy"],
        lambda: grow(tree, "intel-rapl:0", 700_010, trees.FINE_RANGE_UJ + 1),
    )
    assert got["power:::package_energy"] == pytest.approx(0.70001)


def test_a_counter_that_was_set_back_is_not_measured(tmp_path: Path) -> None:
    """From half of its range to 0 in an instant would be more than 30 kJ: nobody uses that."""
    tree = trees.intel_server(tmp_path)
    file = tree / trees.POWERCAP / "intel-rapl:0/energy_uj"
    file.write_text(f"{trees.PACKAGE_RANGE_UJ // 2}\n")
    got = measured(
        component(tree),
        ["power:::package-0:energy", "power:::package_energy", "power:::package-1:energy"],
        lambda: file.write_text("0\n"),
    )
    assert got == {
        "power:::package-0:energy": None,
        "power:::package_energy": None,
        "power:::package-1:energy": 0,
    }


def test_parts_are_told_from_wholes(tmp_path: Path) -> None:
    """The same package through two interfaces is in the sum once; psys is a sum of its own."""
    tree = trees.intel_laptop(tmp_path)

    def work() -> None:
        for zone in ("intel-rapl:0", "intel-rapl-mmio:0"):
            grow(tree, zone, 4_000_000)
        grow(tree, "intel-rapl:0:0", 3_000_000)
        grow(tree, "intel-rapl:1", 9_000_000)

    names = ["package_energy", "core_energy", "psys_energy", "package-0:core:energy",
             "mmio:package-0:energy"]  # fmt: skip
    got = measured(component(tree), [f"power:::{name}" for name in names], work)
    assert list(got.values()) == pytest.approx([4.0, 3.0, 9.0, 3.0, 4.0])
    described = {info.name: info.description for info in component(tree).events()}
    assert "part of package_energy" in described["power:::core_energy"]
    assert "part of energy-pkg" in described["power:::energy-cores"]
    assert "are parts of it" in described["power:::psys_energy"]


def test_energy_that_only_root_may_read(tmp_path: Path) -> None:
    """What Linux has done since 5.10, seen by somebody without rights."""
    tree = trees.intel_server(tmp_path)
    for file in tree.glob(f"{trees.POWERCAP}/*/energy_uj"):
        file.chmod(0)
    for file in tree.glob(f"{trees.HWMON}/*/*_*"):
        file.unlink()
    script = (
        "import json, sys\n"
        "from pathlib import Path\n"
        "from gnomon.counters.component import Target\n"
        "from gnomon.counters.components.power import PowerComponent\n"
        "power = PowerComponent(sys=Path(sys.argv[1]))\n"
        "opened = power.open(power.resolve('power:::package_energy'), Target())\n"
        "print(json.dumps([opened.refused[0][1:4], list(power.availability())]))\n"
    )
    command = [*planted.WITHOUT_RIGHTS, sys.executable, "-c", script, str(tree)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode and os.geteuid() != 0:
        pytest.skip("only root can run something with fewer rights")
    assert done.returncode == 0, done.stderr
    (reason, remedy, number), available = json.loads(done.stdout)
    assert "root only" in reason
    assert "CVE-2020-8694" in reason
    assert "power:::energy-pkg" in remedy
    assert "chmod a+r /sys/class/powercap/*/energy_uj" in remedy
    assert number == errno.EACCES
    # The kernel here has no such PMU either, so that nothing works.
    assert available[0] is False
    assert available[1]
    assert available[2]


# --- hwmon ----------------------------------------------------------------------------------------


def test_sensors_of_chips(tmp_path: Path) -> None:
    tree = trees.arm_server(tmp_path)
    got = measured(
        component(tree),
        ["power:::apm_xgene:CPU_power:power", "power:::apm_xgene:IO_power:power",
         "power:::apm_xgene:SoC_Temperature:temperature"],
        lambda: None,
    )  # fmt: skip
    assert list(got.values()) == pytest.approx([65.0, 21.5, 43.0])


def test_chips_of_one_name_are_told_apart_by_their_devices(tmp_path: Path) -> None:
    tree = trees.intel_server(tmp_path)
    names = {info.name for info in component(tree).events()}
    assert "power:::coretemp-hwmon1:Package_id_0:temperature" in names
    assert "power:::power_meter:power1:power" in names
    for number in (1, 2):
        device = tree / "devices/platform" / f"coretemp.{number - 1}"
        device.mkdir(parents=True)
        (tree / trees.HWMON / f"hwmon{number}" / "device").symlink_to(device)
    names = {info.name for info in component(tree).events()}
    assert "power:::coretemp-coretemp.1:Package_id_1:temperature" in names


def test_a_temperature_below_zero(tmp_path: Path) -> None:
    tree = trees.intel_laptop(tmp_path)
    got = measured(component(tree), ["power:::nvme:Composite:temperature"], lambda: None)
    assert list(got.values()) == pytest.approx([-3.85])


def at_once(path: Path, text: str) -> None:
    """Replace a file's text such that who looks meanwhile sees the old one or the new one."""
    path.with_suffix(".new").write_text(text)
    path.with_suffix(".new").replace(path)


def test_gauges_of_a_command_are_sampled(tmp_path: Path) -> None:
    """Of power the mean over its time, of temperature the highest that was seen."""
    tree = trees.amd_server(tmp_path)
    files = {f"{trees.HWMON}/hwmon2/power1_input": "10000000\n"}
    plant(tree, files)
    names = ["power:::k10temp:power1:power", "power:::k10temp:Tctl:temperature"]
    found = opened(component(tree), *names, "power:::package_energy", target=COMMAND)
    assert found.counting is not None
    assert [event.info.how for event in found.events] == [How.SAMPLED, How.SAMPLED, How.COUNTED]
    assert any("the mean of samples" in note for note in found.notes)
    assert any("the highest of samples" in note for note in found.notes)
    found.counting.start(os.getpid())
    path = tree / trees.HWMON / "hwmon2"
    at_once(path / "temp1_input", "90000\n")
    before = found.counting.read()
    at_once(path / "power1_input", "30000000\n")
    at_once(path / "temp1_input", "40000\n")
    after = found.counting.stop()
    found.counting.close()
    assert values(found, tuple(before))[names[0]] == pytest.approx(10.0)
    mean = values(found, tuple(after))[names[0]]
    assert mean is not None
    assert 10.0 < mean <= 30.0
    assert values(found, tuple(after))[names[1]] == pytest.approx(90.0)


# --- the power PMU --------------------------------------------------------------------------------


def plan(power: PowerComponent, name: str) -> list[tuple[str, int, int]]:
    (event,) = power.resolve(name)
    return [(p.pmu, p.cpu, p.encoding.config) for p in event.spec.places]


@pytest.mark.parametrize(
    ("name", "places"),
    [
        ("power:::energy-pkg", [("power", 0, 2), ("power", 28, 2)]),
        ("power:::energy-pkg:0", [("power", 0, 2)]),
        ("power:::energy-ram:1", [("power", 28, 3)]),
        ("power/energy-pkg/", [("power", 0, 2), ("power", 28, 2)]),
        ("power/event=0x2/", [("power", 0, 2), ("power", 28, 2)]),
    ],
)
def test_every_socket_is_opened_once(
    name: str, places: list[tuple[str, int, int]], tmp_path: Path
) -> None:
    power = component(trees.intel_server(tmp_path))
    assert plan(power, name) == places
    (event,) = power.resolve(name)
    assert event.info.scope is Scope.NODE
    expected = (1, "") if "event=" in name else (2.0**-32, "J")
    assert (event.unit_factor, event.info.unit) == expected


def test_energy_of_amds_cores(tmp_path: Path) -> None:
    power = component(trees.amd_server(tmp_path))
    assert plan(power, "power:::energy-core") == [("power_core", c, 1) for c in (0, 1, 8)]
    assert plan(power, "power_core/energy-core/") == plan(power, "power:::energy-core")


def test_what_the_kernel_refuses_is_explained(tmp_path: Path) -> None:
    """The tree's PMU is not in this kernel."""
    power = component(trees.amd_server(tmp_path))
    found = opened(power, "power:::energy-pkg", "power:::package_energy")
    (refused,) = found.refused
    assert refused.event.name == "power:::energy-pkg"
    assert refused.errno in (errno.ENOENT, errno.EACCES, errno.EPERM)
    assert refused.remedy
    if refused.errno == errno.ENOENT:
        assert "PMU 'power'" in refused.reason
    assert [event.name for event in found.events] == ["power:::package_energy"]
    state = power.availability()
    assert state.available  # through powercap
    assert state.reason == refused.reason


def software_power(tmp_path: Path) -> PowerComponent:
    """Return a component whose power PMU is the kernel's software PMU: 2 is page faults."""
    files = trees.rapl_pmu("0", {"energy-pkg": 2}, kind=trees.SOFTWARE) | trees.topology({0: 0})
    return component(plant(tmp_path / "sys", files))


def test_counts_of_the_kernel_become_joules(tmp_path: Path) -> None:
    """With a PMU that this machine has in the place of RAPL's: page faults of CPU 0."""
    power = software_power(tmp_path)
    if not power.availability().available:
        pytest.skip(f"no whole CPU may be counted here: {power.availability().reason}")
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {0})
    try:
        got = measured(power, ["power:::energy-pkg"], lambda: planted.touch_pages(3000))
    finally:
        os.sched_setaffinity(0, before)
    joules = got["power:::energy-pkg"]
    assert joules is not None
    assert 3000 <= joules * 2**32 < 1e6


# --- names ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "tree", [trees.intel_server, trees.intel_laptop, trees.amd_server, trees.arm_server]
)
def test_every_listed_name_resolves_to_itself(tree: Callable[[Path], Path], tmp_path: Path) -> None:
    power = component(tree(tmp_path))
    infos = list(power.events())
    assert infos
    assert len({info.name for info in infos}) == len(infos)
    for info in infos:
        (event,) = power.resolve(info.name)
        assert event.info == info
        assert info.unit in ("J", "W", "°C")
        assert info.description


def test_names_of_others_are_left_to_them(tmp_path: Path) -> None:
    power = component(trees.intel_server(tmp_path))
    for name in ("cycles", "power:cpu_idle", "powercap/x/", "io:::rchar", "uncore_imc/clockticks/"):
        assert power.resolve(name) == ()


def test_wrong_names_are_explained(tmp_path: Path) -> None:
    power = component(trees.intel_server(tmp_path))
    with pytest.raises(EventNameError) as caught:
        power.resolve("power:::package-0:enrgy")
    assert caught.value.suggestions[0] == "power:::package-0:energy"
    with pytest.raises(EventNameError, match="every mode"):
        power.resolve("power/energy-pkg/u")
    with pytest.raises(EventNameError, match="no event or parameter 'energy-pgk'"):
        power.resolve("power/energy-pgk/")
    with pytest.raises(EventUnavailableError) as missing:
        power.resolve("power:::energy-psys")
    assert missing.value.remedy.startswith("count power:::")


def test_a_machine_without_any_of_it(tmp_path: Path) -> None:
    plant(tmp_path, {"proc/cpuinfo": "flags : fpu\n", "sys/kernel/x": ""})
    power = component(tmp_path / "sys")
    state = power.availability()
    assert not state.available
    assert "neither the power PMU nor powercap" in state.reason
    assert "modprobe" in state.remedy
    with pytest.raises(EventUnavailableError) as caught:
        power.resolve("power:::package_energy")
    assert caught.value.reason == state.reason


def test_a_virtual_machine_says_so(tmp_path: Path) -> None:
    plant(tmp_path, {"proc/cpuinfo": "flags : fpu hypervisor\n",
                     "sys/class/dmi/id/sys_vendor": "QEMU\n"})  # fmt: skip
    assert "hypervisor (KVM/QEMU" in component(tmp_path / "sys").availability().reason


def test_a_container_that_masks_powercap(tmp_path: Path) -> None:
    files = {"proc/cpuinfo": "flags : fpu\n", ".dockerenv": "", "sys/class/powercap/x": ""}
    plant(tmp_path, files)
    (tmp_path / "sys/class/powercap/intel-rapl:0").symlink_to("../../devices/virtual/none")
    assert "container masks" in component(tmp_path / "sys").availability().reason


# --- hostile trees --------------------------------------------------------------------------------

TEXT = st.one_of(
    st.text(max_size=40),
    st.integers(-(10**25), 10**25).map(str),
    st.sampled_from(["", "\0", "nan", "1e999", "-1", "9" * 5000, "0-99999999999", "a,b:c{d}/e"]),
)


@given(st.fixed_dictionaries({
    "name": TEXT, "energy_uj": TEXT, "max_energy_range_uj": TEXT, "label": TEXT, "chip": TEXT,
    "input": TEXT, "type": TEXT, "cpumask": TEXT, "scale": TEXT, "unit": TEXT, "socket": TEXT,
}))  # fmt: skip
def test_garbage_is_unavailable_but_never_an_error(
    tmp_path_factory: pytest.TempPathFactory, text: dict[str, str]
) -> None:
    root = tmp_path_factory.mktemp("garbage")
    tree = trees.amd_server(root)
    for path, key in {
        f"{trees.POWERCAP}/intel-rapl:0/name": "name",
        f"{trees.POWERCAP}/intel-rapl:0/energy_uj": "energy_uj",
        f"{trees.POWERCAP}/intel-rapl:0/max_energy_range_uj": "max_energy_range_uj",
        f"{trees.HWMON}/hwmon2/temp1_label": "label",
        f"{trees.HWMON}/hwmon2/name": "chip",
        f"{trees.HWMON}/hwmon2/temp1_input": "input",
        f"{trees.PMUS}/power_core/type": "type",
        f"{trees.PMUS}/power/cpumask": "cpumask",
        f"{trees.PMUS}/power/events/energy-pkg.scale": "scale",
        f"{trees.PMUS}/power/events/energy-pkg.unit": "unit",
        "devices/system/cpu/cpu0/topology/physical_package_id": "socket",
    }.items():
        (tree / path).write_text(text[key], errors="replace")
    power = component(tree)
    power.availability()
    for info in list(power.events()):
        found = power.open(power.resolve(info.name), Target())
        assert len(found.events) + len(found.refused) == 1
        assert all(one.reason and one.remedy for one in found.refused)
        if found.counting is not None:
            found.counting.start()
            (count,) = found.counting.stop()
            assert count.raw < 1 << 63
            found.counting.close()
