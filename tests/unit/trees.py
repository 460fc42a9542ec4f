"""Trees of /sys as machines have them that this one is not: servers of Intel, AMD and Arm.

Only what energy, sensors and uncore units need is there, as those kernels write it. Numbers and
names are those of Linux 5.10 to 6.x: arch/x86/events/{rapl.c,intel/uncore_snbep.c,amd/uncore.c},
drivers/powercap/intel_rapl_common.c, drivers/hwmon/{k10temp,coretemp,xgene-hwmon}.c,
drivers/perf/arm-cmn.c.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from planted import plant

# No kernel has so many PMUs: what is opened under such a type is refused, whatever machine this is.
NO_SUCH_TYPE = 1 << 30
SOFTWARE = 1
PMUS = "bus/event_source/devices"
POWERCAP = "class/powercap"
HWMON = "class/hwmon"
RAPL_SCALE = "2.3283064365386962890625e-10"
# (2^32 - 1) steps of 61 µJ, and of 15.3 µJ as memory and AMD's processors have.
PACKAGE_RANGE_UJ = 262143328850
FINE_RANGE_UJ = 65712999613


def pmu(
    name: str,
    cpumask: str,
    *,
    kind: int = NO_SUCH_TYPE,
    format: Mapping[str, str] | None = None,
    events: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """Return the files of one PMU."""
    base = f"{PMUS}/{name}"
    files = {f"{base}/type": f"{kind}\n", f"{base}/cpumask": f"{cpumask}\n"}
    files |= {f"{base}/format/{k}": f"{v}\n" for k, v in (format or {}).items()}
    return files | {f"{base}/events/{k}": f"{v}\n" for k, v in (events or {}).items()}


def rapl_pmu(
    cpumask: str, events: Mapping[str, int], *, kind: int = NO_SUCH_TYPE
) -> dict[str, str]:
    """Return the files of the `power` PMU."""
    files = {name: f"event=0x{code:02x}" for name, code in events.items()}
    files |= {f"{name}.unit": "Joules" for name in events}
    files |= {f"{name}.scale": RAPL_SCALE for name in events}
    return pmu("power", cpumask, kind=kind, format={"event": "config:0-7"}, events=files)


def zone(path: str, name: str, energy_uj: int, range_uj: int) -> dict[str, str]:
    """Return the files of one powercap zone; all zones lie side by side under class/powercap."""
    base = f"{POWERCAP}/{path}"
    return {
        f"{base}/name": f"{name}\n",
        f"{base}/energy_uj": f"{energy_uj}\n",
        f"{base}/max_energy_range_uj": f"{range_uj}\n",
        f"{base}/enabled": "1\n",
    }


def topology(sockets: Mapping[int, int]) -> dict[str, str]:
    """Return which socket each CPU is on."""
    return {
        f"devices/system/cpu/cpu{cpu}/topology/physical_package_id": f"{socket}\n"
        for cpu, socket in sockets.items()
    }


def imc(number: int, *, kind: int) -> dict[str, str]:
    """Return a memory channel's PMU (Skylake-SP and later, uncore_snbep.c)."""
    return pmu(
        f"uncore_imc_{number}",
        "0,28",
        kind=kind,
        format={
            "event": "config:0-7",
            "umask": "config:8-15",
            "edge": "config:18",
            "inv": "config:23",
            "threshold": "config:24-31",
        },
        events={
            "clockticks": "event=0x00,umask=0x00",
            "cas_count_read": "event=0x04,umask=0x03",
            "cas_count_read.scale": "6.103515625e-5",
            "cas_count_read.unit": "MiB",
            "cas_count_write": "event=0x04,umask=0x0c",
            "cas_count_write.scale": "6.103515625e-5",
            "cas_count_write.unit": "MiB",
        },
    )


def intel_server(root: Path) -> Path:
    """Plant two sockets of 28 cores, six memory channels each; return its /sys."""
    files = topology({0: 0, 28: 1})
    files |= {f"{PMUS}/cpu/type": "4\n", f"{PMUS}/cpu/format/event": "config:0-7\n"}
    files |= {f"{PMUS}/msr/type": "11\n", f"{PMUS}/msr/events/tsc": "event=0x00\n"}
    files |= rapl_pmu("0,28", {"energy-pkg": 2, "energy-ram": 3})
    for number in range(12):
        files |= imc(number, kind=NO_SUCH_TYPE + 10 + number)
    for number in range(3):
        files |= pmu(
            f"uncore_cha_{number}",
            "0,28",
            kind=NO_SUCH_TYPE + 40 + number,
            format={"event": "config:0-7", "umask": "config:8-15,32-55", "tid_en": "config:16"},
        )
    free_running = {"data_read": "event=0xff,umask=0x20", "data_read.unit": "MiB",
                    "data_read.scale": "6.103515625e-5"}  # fmt: skip
    files |= pmu("uncore_imc_free_running_0", "0,28", kind=NO_SUCH_TYPE + 60,
                 format={"event": "config:0-7", "umask": "config:8-15"},
                 events=free_running)  # fmt: skip
    for socket in (0, 1):
        package = f"intel-rapl:{socket}"
        files |= zone(package, f"package-{socket}", 1000 * (socket + 1), PACKAGE_RANGE_UJ)
        files |= zone(f"{package}:0", "dram", 70 + socket, FINE_RANGE_UJ)
        files[f"{HWMON}/hwmon{socket + 1}/name"] = "coretemp\n"
        files[f"{HWMON}/hwmon{socket + 1}/temp1_label"] = f"Package id {socket}\n"
        files[f"{HWMON}/hwmon{socket + 1}/temp1_input"] = f"{45000 + 1000 * socket}\n"
        files[f"{HWMON}/hwmon{socket + 1}/temp2_label"] = "Core 0\n"
        files[f"{HWMON}/hwmon{socket + 1}/temp2_input"] = "41000\n"
    files |= {f"{POWERCAP}/intel-rapl/enabled": "1\n", f"{POWERCAP}/intel-rapl/uevent": ""}
    # The board's meter, of ACPI.
    files |= {
        f"{HWMON}/hwmon0/name": "power_meter\n",
        f"{HWMON}/hwmon0/power1_average": "212000000\n",
    }
    return plant(root / "sys", files)


def intel_laptop(root: Path) -> Path:
    """Plant one package with cores, integrated GPU and platform, twice through powercap."""
    files = topology({0: 0})
    files |= rapl_pmu("0", {"energy-cores": 1, "energy-pkg": 2, "energy-gpu": 4, "energy-psys": 5})
    files |= zone("intel-rapl:0", "package-0", 5_000_000, PACKAGE_RANGE_UJ)
    files |= zone("intel-rapl:0:0", "core", 3_000_000, PACKAGE_RANGE_UJ)
    files |= zone("intel-rapl:0:1", "uncore", 500_000, PACKAGE_RANGE_UJ)
    files |= zone("intel-rapl:1", "psys", 9_000_000, PACKAGE_RANGE_UJ)
    files |= zone("intel-rapl-mmio:0", "package-0", 5_000_100, PACKAGE_RANGE_UJ)
    files |= {f"{HWMON}/hwmon0/name": "nvme\n", f"{HWMON}/hwmon0/temp1_label": "Composite\n",
              f"{HWMON}/hwmon0/temp1_input": "-3850\n"}  # fmt: skip
    return plant(root / "sys", files)


def amd_server(root: Path) -> Path:
    """Plant one socket (Zen 4): data fabric, L3s, memory channels, core energies, k10temp."""
    files = topology({0: 0, 8: 0})
    files |= rapl_pmu("0", {"energy-pkg": 2})
    core = {"energy-core": "event=0x01", "energy-core.unit": "Joules",
            "energy-core.scale": RAPL_SCALE}  # fmt: skip
    files |= pmu("power_core", "0-1,8", kind=NO_SUCH_TYPE + 1, format={"event": "config:0-7"},
                 events=core)  # fmt: skip
    files |= pmu("amd_df", "0", kind=NO_SUCH_TYPE + 2,
                 format={"event": "config:0-7,32-37", "umask": "config:8-15,24-27"})  # fmt: skip
    files |= pmu("amd_l3", "0,8", kind=NO_SUCH_TYPE + 3,
                 format={"event": "config:0-7", "umask": "config:8-15", "coreid": "config:42-44",
                         "enallslices": "config:46", "enallcores": "config:47"})  # fmt: skip
    for number in range(2):
        files |= pmu(f"amd_umc_{number}", "0", kind=NO_SUCH_TYPE + 4 + number,
                     format={"event": "config:0-7", "rdwrmask": "config:8-9"})  # fmt: skip
    files |= zone("intel-rapl:0", "package-0", FINE_RANGE_UJ - 10, FINE_RANGE_UJ)
    files |= zone("intel-rapl:0:0", "core", 12, FINE_RANGE_UJ)
    files |= {f"{HWMON}/hwmon2/name": "k10temp\n", f"{HWMON}/hwmon2/temp1_label": "Tctl\n",
              f"{HWMON}/hwmon2/temp1_input": "52125\n", f"{HWMON}/hwmon2/temp3_label": "Tccd1\n",
              f"{HWMON}/hwmon2/temp3_input": "48500\n"}  # fmt: skip
    return plant(root / "sys", files)


def arm_server(root: Path) -> Path:
    """Plant an Ampere machine: a mesh, a shared cache, the SoC's own power sensors."""
    files = topology({0: 36})
    files |= {f"{PMUS}/armv8_pmuv3_0/type": "8\n", f"{PMUS}/armv8_pmuv3_0/cpus": "0-79\n"}
    mesh = {"type": "config:0-15", "eventid": "config:16-26", "bynodeid": "config:31",
            "nodeid": "config:32-47"}  # fmt: skip
    files |= pmu("arm_cmn_0", "0", kind=NO_SUCH_TYPE + 12, format=mesh,
                 events={"dtc_cycles": "type=0x3", "hnf_mc_reqs": "type=0x5,eventid=0xd"}
                 )  # fmt: skip
    for number in range(2):
        files |= pmu(f"arm_dsu_{number}", str(4 * number), kind=NO_SUCH_TYPE + 14 + number,
                     format={"event": "config:0-31"}, events={"l3d_cache": "event=0x2b"}
                     )  # fmt: skip
    files |= pmu("arm_spe_0", "0-79", kind=NO_SUCH_TYPE + 13, format={"ts_enable": "config:0"})
    chip = f"{HWMON}/hwmon0"
    files |= {f"{chip}/name": "apm_xgene\n"}
    files |= {f"{chip}/temp1_label": "SoC Temperature\n", f"{chip}/temp1_input": "43000\n"}
    files |= {f"{chip}/power1_label": "CPU power\n", f"{chip}/power1_input": "65000000\n"}
    files |= {f"{chip}/power2_label": "IO power\n", f"{chip}/power2_input": "21500000\n"}
    return plant(root / "sys", files)
