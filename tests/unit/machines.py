"""Trees of /proc and /sys, with cpuid's answers, of machines that this one is not.

A two-socket Intel server (Skylake-SP), an Intel laptop with two kinds of cores (Alder Lake), an AMD
server (Zen 3), an Arm server (Neoverse N1) and POWER9, as Linux 5.10 to 6.x writes what is read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from planted import plant

from gnomon.counters.sysfs_pmu import cpu_ranges

CPU = "sys/devices/system/cpu"
NODE = "sys/devices/system/node"
PMUS = "sys/bus/event_source/devices"

SKYLAKE_CPUID = """CPU 0:
   0x00000000 0x00: eax=0x00000016 ebx=0x756e6547 ecx=0x6c65746e edx=0x49656e69
   0x00000001 0x00: eax=0x00050654 ebx=0x00400800 ecx=0x7ffefbff edx=0xbfebfbff
   0x00000002 0x00: eax=0x76036301 ebx=0x00f0b5ff ecx=0x00000000 edx=0x00c30000
   0x00000004 0x00: eax=0x7c004121 ebx=0x01c0003f ecx=0x0000003f edx=0x00000000
   0x00000004 0x01: eax=0x7c004122 ebx=0x01c0003f ecx=0x0000003f edx=0x00000000
   0x00000004 0x02: eax=0x7c004143 ebx=0x03c0003f ecx=0x000003ff edx=0x00000000
   0x00000004 0x03: eax=0x7c07c163 ebx=0x0280003f ecx=0x0000dfff edx=0x00000004
   0x00000004 0x04: eax=0x00000000 ebx=0x00000000 ecx=0x00000000 edx=0x00000000
   0x0000000a 0x00: eax=0x07300404 ebx=0x00000000 ecx=0x00000000 edx=0x00000603
   0x00000016 0x00: eax=0x00000a8c ebx=0x00000ed8 ecx=0x00000064 edx=0x00000000
"""
ALDER_LAKE_CPUID = """CPU 0:
   0x00000000 0x00: eax=0x00000020 ebx=0x756e6547 ecx=0x6c65746e edx=0x49656e69
   0x00000002 0x00: eax=0x00feff01 ebx=0x000000f0 ecx=0x00000000 edx=0x00000000
   0x0000000a 0x00: eax=0x07300605 ebx=0x00000000 ecx=0x00000007 edx=0x00008604
   0x00000018 0x00: eax=0x00000008 ebx=0x00000000 ecx=0x00000000 edx=0x00000000
   0x00000018 0x01: eax=0x00000000 ebx=0x00080001 ecx=0x00000020 edx=0x00004022
   0x00000018 0x02: eax=0x00000000 ebx=0x00080006 ecx=0x00000004 edx=0x00004022
   0x00000018 0x03: eax=0x00000000 ebx=0x0010000f ecx=0x00000001 edx=0x00004125
   0x00000018 0x04: eax=0x00000000 ebx=0x00040001 ecx=0x00000010 edx=0x00004024
   0x00000018 0x05: eax=0x00000000 ebx=0x00040006 ecx=0x00000008 edx=0x00004024
   0x00000018 0x06: eax=0x00000000 ebx=0x00080008 ecx=0x00000001 edx=0x00004124
   0x00000018 0x07: eax=0x00000000 ebx=0x00080007 ecx=0x00000080 edx=0x00004043
   0x00000018 0x08: eax=0x00000000 ebx=0x00080009 ecx=0x00000080 edx=0x00004043
CPU 4:
   0x00000000 0x00: eax=0x00000020 ebx=0x756e6547 ecx=0x6c65746e edx=0x49656e69
   0x0000000a 0x00: eax=0x07300605 ebx=0x00000000 ecx=0x00000007 edx=0x00008603
   0x00000018 0x00: eax=0x00000002 ebx=0x00000000 ecx=0x00000000 edx=0x00000000
   0x00000018 0x01: eax=0x00000000 ebx=0x00300001 ecx=0x00000001 edx=0x00000122
   0x00000018 0x02: eax=0x00000000 ebx=0x00040001 ecx=0x00000200 edx=0x00000043
   0x00000018 0x03: eax=0x00000000 ebx=0x00040001 ecx=0x00000200 edx=0x00000043
"""
ZEN_CPUID = """CPU 0:
   0x00000000 0x00: eax=0x00000010 ebx=0x68747541 ecx=0x444d4163 edx=0x69746e65
   0x80000001 0x00: eax=0x00a00f11 ebx=0x40000000 ecx=0x75c237ff edx=0x2fd3fbff
   0x80000005 0x00: eax=0xff40ff40 ebx=0xff40ff40 ecx=0x20080140 edx=0x20080140
   0x80000006 0x00: eax=0x48006400 ebx=0x68006400 ecx=0x02006140 edx=0x08009140
   0x80000019 0x00: eax=0xf040f040 ebx=0xf0400000 ecx=0x00000000 edx=0x00000000
   0x8000001d 0x00: eax=0x00004121 ebx=0x01c0003f ecx=0x0000003f edx=0x00000000
   0x8000001d 0x01: eax=0x00004122 ebx=0x01c0003f ecx=0x0000003f edx=0x00000000
   0x8000001d 0x02: eax=0x00004143 ebx=0x01c0003f ecx=0x000003ff edx=0x00000002
   0x8000001d 0x03: eax=0x0000c163 ebx=0x03c0003f ecx=0x00007fff edx=0x00000001
   0x8000001d 0x04: eax=0x00000000 ebx=0x00000000 ecx=0x00000000 edx=0x00000000
"""

# level, kind, size, ways, sets
CacheMake = tuple[int, str, str, int, int]
SERVER_CACHES: tuple[CacheMake, ...] = (
    (1, "Data", "32K", 8, 64),
    (1, "Instruction", "32K", 8, 64),
    (2, "Unified", "1024K", 16, 1024),
    (3, "Unified", "39424K", 11, 57344),
)


def cpus(
    cores: Iterable[Sequence[int]],
    *,
    socket: int = 0,
    first_core: int = 0,
    makes: Sequence[CacheMake] = SERVER_CACHES,
    shared: Mapping[int, Sequence[int]] | None = None,
    node: int = 0,
) -> dict[str, str]:
    """Return the files of the CPUs of some cores.

    `shared` says of a cache level which CPUs share it; a level without is each core's own.
    """
    files: dict[str, str] = {}
    for at, threads in enumerate(cores):
        for cpu in threads:
            base = f"{CPU}/cpu{cpu}"
            files |= {
                f"{base}/topology/physical_package_id": f"{socket}\n",
                f"{base}/topology/die_id": "0\n",
                f"{base}/topology/core_id": f"{first_core + at}\n",
                f"{base}/topology/core_cpus_list": cpu_ranges(threads) + "\n",
                f"{base}/node{node}/cpulist": "",
            }
            for place, (level, kind, size, ways, sets) in enumerate(makes):
                index = f"{base}/cache/index{place}"
                files |= {
                    f"{index}/level": f"{level}\n",
                    f"{index}/type": f"{kind}\n",
                    f"{index}/size": f"{size}\n",
                    f"{index}/ways_of_associativity": f"{ways}\n",
                    f"{index}/number_of_sets": f"{sets}\n",
                    f"{index}/coherency_line_size": "64\n",
                    f"{index}/shared_cpu_list": cpu_ranges((shared or {}).get(level, threads))
                    + "\n",
                }
    return files


def node(number: int, cpu_list: str, kib: int, distances: str) -> dict[str, str]:
    """Return the files of a NUMA node."""
    base = f"{NODE}/node{number}"
    pool = f"{base}/hugepages/hugepages-2048kB"
    return {
        f"{base}/cpulist": f"{cpu_list}\n",
        f"{base}/distance": f"{distances}\n",
        f"{base}/meminfo": f"Node {number} MemTotal:       {kib} kB\n"
        f"Node {number} MemFree:        {kib // 2} kB\n",
        f"{pool}/nr_hugepages": "512\n",
        f"{pool}/free_hugepages": "500\n",
        f"{pool}/surplus_hugepages": "0\n",
    }


def intel_server(root: Path, cores: int = 28) -> Path:
    """Plant two sockets of so many cores, two threads each, the second threads numbered last."""
    all_cpus = 4 * cores
    files = {
        "cpuid": SKYLAKE_CPUID,
        "proc/cpuinfo": "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\n"
        "model\t\t: 85\nmodel name\t: Intel(R) Xeon(R) Platinum 8180 CPU @ 2.50GHz\n"
        "stepping\t: 4\nmicrocode\t: 0x2006f05\nflags\t\t: fpu sse sse2 pni avx avx2 smep avx512f\n"
        "address sizes\t: 46 bits physical, 48 bits virtual\n",
        "proc/sys/kernel/arch": "x86_64\n",
        "proc/self/status": f"Cpus_allowed_list:\t0-{all_cpus - 2}\n",
        f"{CPU}/present": f"0-{all_cpus - 1}\n",
        f"{CPU}/online": f"0-{all_cpus - 1}\n",
        f"{CPU}/smt/control": "on\n",
        f"{CPU}/intel_pstate/no_turbo": "0\n",
        "sys/class/dmi/id/sys_vendor": "Example Systems\n",
        "sys/class/dmi/id/product_name": "R740\n",
        f"{PMUS}/cpu/type": "4\n",
        f"{PMUS}/cpu/events/instructions": "event=0xc0\n",
        f"{PMUS}/cpu/format/event": "config:0-7\n",
        f"{PMUS}/cpu/perf_event_mux_interval_ms": "4\n",
        f"{PMUS}/uncore_imc_0/type": "11\n",
        f"{PMUS}/uncore_imc_0/cpumask": "0,28\n",
    }
    for socket in (0, 1):
        own = [(core, core + 2 * cores) for core in range(socket * cores, (socket + 1) * cores)]
        everyone = [cpu for core in own for cpu in core]
        files |= cpus(own, socket=socket, shared={3: everyone}, node=socket)
        files |= node(socket, cpu_ranges(everyone), 98304 * 1024, ("10 21", "21 10")[socket])
        for cpu in everyone:
            files |= {
                f"{CPU}/cpu{cpu}/cpufreq/cpuinfo_min_freq": "1000000\n",
                f"{CPU}/cpu{cpu}/cpufreq/cpuinfo_max_freq": "3800000\n",
                f"{CPU}/cpu{cpu}/cpufreq/base_frequency": "2500000\n",
                f"{CPU}/cpu{cpu}/cpufreq/scaling_cur_freq": f"{1000000 + cpu}\n",
                f"{CPU}/cpu{cpu}/cpufreq/scaling_governor": "powersave\n",
                f"{CPU}/cpu{cpu}/cpufreq/scaling_driver": "intel_pstate\n",
            }
    return plant(root, files)


def hybrid_laptop(root: Path) -> Path:
    """Plant two fast cores of two threads and four slow ones that share a level 2 cache."""
    fast: tuple[CacheMake, ...] = (
        (1, "Data", "48K", 12, 64),
        (2, "Unified", "1280K", 10, 2048),
        (3, "Unified", "12288K", 12, 16384),
    )
    slow: tuple[CacheMake, ...] = (
        (1, "Data", "32K", 8, 64),
        (2, "Unified", "2048K", 16, 2048),
        (3, "Unified", "12288K", 12, 16384),
    )
    files = {
        "cpuid": ALDER_LAKE_CPUID,
        f"{CPU}/present": "0-7\n",
        f"{CPU}/online": "0-7\n",
        f"{PMUS}/cpu_core/type": "4\n",
        f"{PMUS}/cpu_core/cpus": "0-3\n",
        f"{PMUS}/cpu_atom/type": "10\n",
        f"{PMUS}/cpu_atom/cpus": "4-7\n",
    }
    files |= cpus([(0, 1), (2, 3)], makes=fast, shared={3: range(8)})
    files |= cpus(
        [(4,), (5,), (6,), (7,)],
        makes=slow,
        shared={2: range(4, 8), 3: range(8)},
        first_core=8,
    )
    for cpu in range(8):
        files[f"{CPU}/cpu{cpu}/cpufreq/cpuinfo_max_freq"] = ("4700000", "3500000")[cpu > 3]
    return plant(root, files)


def amd_server(root: Path) -> Path:
    """Plant one socket of four cores in two groups, without the kernel's cache files."""
    files = {
        "cpuid": ZEN_CPUID,
        "proc/cpuinfo": "vendor_id\t: AuthenticAMD\ncpu family\t: 25\nmodel\t\t: 1\n",
        f"{CPU}/present": "0-3\n",
        f"{CPU}/online": "0-2\n",
        f"{PMUS}/cpu/type": "4\n",
    }
    return plant(root, files | cpus([(0,), (1,), (2,), (3,)], makes=()))


def arm_server(root: Path) -> Path:
    """Plant four Neoverse N1 with the kernel's cache files and nothing that tells of TLBs."""
    makes: tuple[CacheMake, ...] = (
        (1, "Data", "64K", 4, 256),
        (1, "Instruction", "64K", 4, 256),
        (2, "Unified", "1024K", 8, 2048),
    )
    files = {
        "proc/cpuinfo": "processor\t: 0\nBogoMIPS\t: 50.00\n"
        "Features\t: fp asimd evtstrm aes atomics fphp asimdhp\nCPU implementer\t: 0x41\n"
        "CPU architecture: 8\nCPU variant\t: 0x3\nCPU part\t: 0xd0c\nCPU revision\t: 1\n",
        "proc/sys/kernel/arch": "aarch64\n",
        f"{CPU}/present": "0-3\n",
        f"{CPU}/online": "0-3\n",
        f"{PMUS}/armv8_pmuv3_0/type": "8\n",
        f"{PMUS}/armv8_pmuv3_0/cpus": "0-3\n",
    }
    return plant(root, files | cpus([(0,), (1,), (2,), (3,)], makes=makes))


def power(root: Path) -> Path:
    """Plant one POWER9 core of four threads, with the device tree's TLB and an auxiliary vector."""
    files = {
        "proc/cpuinfo": "processor\t: 0\ncpu\t\t: POWER9, altivec supported\n"
        "clock\t\t: 2250.000000MHz\nrevision\t: 2.2 (pvr 004e 1202)\n\n"
        "processor\t: 1\nclock\t\t: 3800.000000MHz\n\ntimebase\t: 512000000\n",
        "proc/sys/kernel/arch": "ppc64le\n",
        f"{CPU}/present": "0-3\n",
        f"{CPU}/online": "0-3\n",
    }
    plant(root, files | cpus([(0, 1, 2, 3)], makes=()))
    core = root / "proc/device-tree/cpus/PowerPC,POWER9@0"
    core.mkdir(parents=True)
    for name, number in (("d-tlb-size", 1024), ("d-tlb-sets", 4), ("tlb-size", 64),
                         ("tlb-sets", 1)):  # fmt: skip
        (core / name).write_bytes(number.to_bytes(4, "big"))
    words = (16, 0x10000080, 26, 0x20000, 0, 0)
    raw = b"".join(word.to_bytes(8, "little") for word in words)
    (root / "proc/self").mkdir(exist_ok=True)
    (root / "proc/self/auxv").write_bytes(raw)
    return root
