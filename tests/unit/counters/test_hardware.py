"""What machines are made of: recorded ones exactly, this one as other tools see it."""

from __future__ import annotations

import json
import mmap
import os
import shutil
import subprocess
from pathlib import Path

import machines
import pytest
from hypothesis import given
from hypothesis import strategies as st
from planted import plant
from property_tests import examples

from gnomon.cli.lists.topology_diagram import picture
from gnomon.cli.terminal.to_json import to_jsonable
from gnomon.counters.hardware import hardware
from gnomon.counters.hardware.cpuid import answers, vendor
from gnomon.counters.hardware.devices import core_counters
from gnomon.counters.hardware.hwloc import hwloc, parse
from gnomon.counters.hardware.memory import limits
from gnomon.counters.hardware.topology import cache_size
from gnomon.counters.sysfs_pmu import cpu_list, cpu_ranges

GOLDEN = Path(__file__).parents[2] / "golden"
GIB = 1 << 30


# --- recorded machines ----------------------------------------------------------------------------


def test_a_server_of_two_sockets(tmp_path: Path) -> None:
    found = hardware(machines.intel_server(tmp_path))
    one = found.processor
    assert (one.vendor, one.family, one.model_number, one.stepping) == ("GenuineIntel", 6, 85, 4)
    assert one.platform == "Example Systems R740"
    assert one.address_bits == (46, 48)
    assert one.vectors == ("sse", "sse2", "sse3", "avx", "avx2", "avx512f")
    assert one.vector_bits == 512
    places = found.topology
    assert (places.sockets, places.dies, places.cores) == (2, 2, 56)
    assert places.threads_per_core == (2, 2)
    assert (places.smt, places.kinds) == ("on", ())
    assert [cpu.number for cpu in places.cpus if not cpu.is_allowed] == [111]
    assert (places.cpus[29].socket, places.cpus[29].siblings, places.cpus[29].node) == (
        1,
        (29, 85),
        1,
    )
    (speed,) = found.frequencies
    assert (speed.lowest_hz, speed.base_hz, speed.highest_hz) == (1e9, 2.5e9, 3.8e9)
    assert speed.now_hz == (1e9, 1e9 + 111e3)
    assert (speed.governor, speed.driver, speed.boost) == ("powersave", "intel_pstate", True)
    third = found.caches[-1]
    assert (third.level, third.size_bytes, third.ways, third.sets) == (3, 39424 << 10, 11, 57344)
    assert third.groups == (
        (*range(28), *range(56, 84)),
        (*range(28, 56), *range(84, 112)),
    )
    assert [(len(c.groups), c.shared_by) for c in found.caches] == [(56, 2)] * 3 + [(2, 56)]
    assert [(n.total_bytes, n.distances) for n in found.nodes] == [
        (96 * GIB, (10, 21)),
        (96 * GIB, (21, 10)),
    ]
    assert [(p.page_bytes, p.pages, p.free) for p in found.nodes[0].pools] == [(2 << 20, 512, 500)]
    core, uncore = found.pmus
    assert (core.name, core.is_core, core.events, core.counters) == ("cpu", True, 1, (4, 3))
    assert core.counters_source == "cpuid leaf 0xa"
    assert core.mux_interval_ms == 4
    assert (uncore.is_core, uncore.cpus, uncore.counters) == (False, (0, 28), None)


def test_a_laptop_with_two_kinds_of_cores(tmp_path: Path) -> None:
    found = hardware(machines.hybrid_laptop(tmp_path))
    assert found.topology.kinds == (("cpu_core", (0, 1, 2, 3)), ("cpu_atom", (4, 5, 6, 7)))
    assert found.topology.threads_per_core == (1, 2)
    assert found.topology.cores == 6
    assert [(f.cores, f.highest_hz) for f in found.frequencies] == [
        ("cpu_core", 4.7e9),
        ("cpu_atom", 3.5e9),
    ]
    assert [(pmu.name, pmu.counters) for pmu in found.pmus] == [
        ("cpu_atom", (6, 3)),
        ("cpu_core", (6, 4)),
    ]
    second = [c.groups for c in found.caches if c.level == 2]
    assert second == [((0, 1), (2, 3)), ((4, 5, 6, 7),)]
    assert [kind.cores for kind in found.tlbs] == ["cpu_core", "cpu_atom"]


def test_caches_by_cpuid_where_the_kernel_tells_none(tmp_path: Path) -> None:
    found = hardware(machines.amd_server(tmp_path))
    assert [(c.level, c.kind, c.size_bytes, c.ways, c.shared_by) for c in found.caches] == [
        (1, "data", 32 << 10, 8, 2),
        (1, "instruction", 32 << 10, 8, 2),
        (2, "unified", 512 << 10, 8, 2),
        (3, "unified", 32 << 20, 16, 4),
    ]
    assert {c.source for c in found.caches} == {"cpuid leaf 0x8000001d"}
    assert [cpu.is_online for cpu in found.topology.cpus] == [True, True, True, False]
    assert found.topology.cores == 3
    assert found.pmus[0].counters == (6, 0)
    by_leaf_4 = hardware(
        plant(tmp_path / "intel", {"cpuid": machines.SKYLAKE_CPUID, f"{machines.CPU}/present": "0"})
    )
    assert [(c.size_bytes, c.source) for c in by_leaf_4.caches][-1] == (
        39424 << 10,
        "cpuid leaf 0x4",
    )


def test_an_arm_server(tmp_path: Path) -> None:
    found = hardware(machines.arm_server(tmp_path))
    assert (found.processor.model, found.processor.revision) == ("Arm Neoverse N1", "r3p1")
    assert found.processor.vectors == ("asimd", "fphp", "asimdhp")
    assert found.processor.vector_bits == 128
    assert found.tlbs[0].tlbs == ()
    assert "neither cpuid nor a device tree" in found.tlbs[0].unknown
    (speed,) = found.frequencies
    assert (speed.now_hz, speed.highest_hz, speed.sources) == (None, None, ())
    assert found.pmus[0].cpus == (0, 1, 2, 3)


def test_scalable_vectors_have_the_width_that_programs_get(tmp_path: Path) -> None:
    info = "Features : fp asimd sve sve2\nCPU implementer : 0x46\nCPU part : 0x001\n"
    root = plant(tmp_path, {"proc/cpuinfo": info})
    assert hardware(root).processor.vector_bits == 128
    assert "not told" in hardware(root).processor.vector_note
    plant(tmp_path, {"proc/sys/abi/sve_default_vector_length": "64\n"})
    assert hardware(root).processor.vector_bits == 512
    assert hardware(root).processor.model == "Fujitsu A64FX"


def test_power(tmp_path: Path) -> None:
    found = hardware(machines.power(tmp_path))
    one = found.processor
    assert (one.vendor, one.model, one.revision) == ("IBM", "POWER9", "2.2 (pvr 004e 1202)")
    assert one.vectors == ("altivec", "vsx", "mma")
    assert found.topology.threads_per_core == (4, 4)
    assert found.frequencies[0].now_hz == (2.25e9, 3.8e9)
    assert [(t.kind, t.entries, t.ways) for t in found.tlbs[0].tlbs] == [
        ("data", 1024, 256),
        ("unified", 64, 0),
    ]
    assert "neither" in found.caches_unknown


def test_a_machine_of_which_nothing_is_told(tmp_path: Path) -> None:
    found = hardware(tmp_path)
    assert found.topology.cpus == ()
    assert "sysfs" in found.topology.unknown
    assert not any((found.caches, found.nodes, found.pmus, found.devices))
    assert found.caches_unknown
    assert found.tlbs[0].unknown
    assert found.memory.total_bytes is None
    assert found.processor.model == ""
    assert picture(found, 80) == ""
    json.dumps(to_jsonable(found))


@pytest.mark.parametrize("tree", sorted(p.name for p in GOLDEN.glob("sysfs-*")))
def test_recorded_trees_of_other_tests_are_read(tree: str, tmp_path: Path) -> None:
    sysfs = GOLDEN / tree
    if not (sysfs / "sys").exists():
        (tmp_path / "sys").symlink_to(sysfs)
        sysfs = tmp_path
    found = hardware(sysfs)
    assert {pmu.name for pmu in found.pmus if pmu.is_core} == {
        "sysfs-hybrid": {"cpu_core", "cpu_atom"},
        "sysfs-arm64": {"armv8_pmuv3_0"},
    }.get(tree, set())
    assert len(found.nodes) == (2 if tree == "sysfs-numa" else 0)


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/memory.max": "max\n",
          "sys/fs/cgroup/a/memory.max": "1048576\n",
          "sys/fs/cgroup/a/b/cpu.max": "150000 100000\n"},
         (1 << 20, 1.5)),
        ({"proc/self/cgroup": "4:memory:/m\n1:cpu,cpuacct:/c\n",
          "sys/fs/cgroup/memory/m/memory.limit_in_bytes": "9223372036854771712\n",
          "sys/fs/cgroup/cpu,cpuacct/c/cpu.cfs_quota_us": "-1\n",
          "sys/fs/cgroup/cpu,cpuacct/c/cpu.cfs_period_us": "100000\n"}, (None, None)),
        ({"proc/self/cgroup": "4:memory:/not/here\n",
          "sys/fs/cgroup/memory/memory.limit_in_bytes": "4096\n"}, (4096, None)),
        ({"proc/self/cgroup": "0::/../../etc\n", "sys/fs/cgroup/cpu.max": "max 100000\n"},
         (None, None)),
        ({"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "5 0\n"}, (None, None)),
    ],
)  # fmt: skip
def test_limits_of_control_groups(
    tmp_path: Path, files: dict[str, str], expected: tuple[int | None, float | None]
) -> None:
    assert limits(plant(tmp_path, files)) == expected


def test_devices_and_what_they_are_near_to(tmp_path: Path) -> None:
    card = "sys/devices/pci0000:3b/0000:3b:00.0"
    plant(
        tmp_path,
        {
            f"{card}/numa_node": "1\n",
            f"{card}/local_cpulist": "28-55\n",
            f"{card}/net/ib0/speed": "100000\n",
            f"{card}/net/ib0/address": "",
            "sys/class/net/lo/address": "",
        },
    )
    (tmp_path / "sys/class/net/ib0").symlink_to(tmp_path / card / "net/ib0")
    (tmp_path / card / "net/ib0/device").symlink_to(tmp_path / card)
    assert [tuple(one) for one in hardware(tmp_path).devices] == [
        ("network", "ib0", "0000:3b:00.0", 1, tuple(range(28, 56)), "100000 Mb/s")
    ]


# --- pictures -------------------------------------------------------------------------------------


def test_the_picture_of_a_laptop(tmp_path: Path) -> None:
    assert (
        picture(hardware(machines.hybrid_laptop(tmp_path)), 80)
        == """socket 0
+-------------+ +-------------+ +------------+ +------------+ +------------+
|     0 1     | |     2 3     | |     4      | |     5      | |     6      | +1
+-------------+ +-------------+ +------------+ +------------+ +------------+
|  L1d 48 KiB | |  L1d 48 KiB | | L1d 32 KiB | | L1d 32 KiB | | L1d 32 KiB |
+-------------+ +-------------+ +------------+ +------------+ +------------+
| L2 1.25 MiB | | L2 1.25 MiB | +---------------------------------------------+
+-------------+ +-------------+ |                   L2 2 MiB                  |
                                +---------------------------------------------+
+-----------------------------------------------------------------------------+
|                                  L3 12 MiB                                  |
+-----------------------------------------------------------------------------+"""
    )


def test_alike_sockets_and_cores_are_drawn_once(tmp_path: Path) -> None:
    text = picture(hardware(machines.intel_server(tmp_path)), 80)
    assert text.startswith("socket 0 (and alike: 1)\n")
    assert text.count("L3 38.5 MiB") == 1
    assert "+23" in text
    assert max(map(len, text.split("\n"))) <= 80


@examples(40)
@given(st.integers(1, 9), st.integers(0, 3), st.integers(60, 120))
def test_pictures_fit_and_name_every_kind_of_cache(
    tmp_path_factory: pytest.TempPathFactory, cores: int, share: int, columns: int
) -> None:
    root = tmp_path_factory.mktemp("m")
    threads = [(core,) for core in range(cores)]
    files = {f"{machines.CPU}/present": f"0-{cores - 1}\n",
             f"{machines.CPU}/online": f"0-{cores - 1}\n"}  # fmt: skip
    for core in range(cores):
        near = [c for c in range(cores) if c // (share + 1) == core // (share + 1)]
        files |= machines.cpus([threads[core]], shared={2: near, 3: range(cores)}, first_core=core)
    text = picture(hardware(plant(root, files)), columns)
    assert max(map(len, text.split("\n"))) <= columns
    assert all(label in text for label in ("L1d 32 KiB", "L2 1 MiB", "L3 38.5 MiB"))


# --- this machine ---------------------------------------------------------------------------------


def test_this_machine_as_lscpu_sees_it() -> None:
    if shutil.which("lscpu") is None:
        pytest.skip("lscpu (util-linux) is not installed")
    told = subprocess.run(["lscpu", "-p=CPU,CORE,SOCKET"], capture_output=True, text=True).stdout
    rows = [line.split(",") for line in told.splitlines() if line and line[0] != "#"]
    found = hardware()
    online = [cpu for cpu in found.topology.cpus if cpu.is_online]
    assert [cpu.number for cpu in online] == [int(row[0]) for row in rows]
    assert found.topology.cores == len({row[1] for row in rows})
    assert found.topology.sockets == len({row[2] for row in rows})
    caches = subprocess.run(
        ["lscpu", "-B", "-C=LEVEL,TYPE,ONE-SIZE"], capture_output=True, text=True
    )
    if caches.returncode == 0:
        sizes = {
            (int(level), kind.lower(), int(size))
            for level, kind, size in map(str.split, caches.stdout.splitlines()[1:])
        }
        assert {(c.level, c.kind, c.size_bytes) for c in found.caches} == sizes


def test_this_machine_as_hwloc_sees_it() -> None:
    seen = hwloc()
    if seen.unknown:
        pytest.skip(f"{seen.unknown}: apt-get install libhwloc15")
    have = dict(seen.counts)
    found = hardware()
    usable = [cpu for cpu in found.topology.cpus if cpu.is_online and cpu.is_allowed]
    assert have["PU"] == len(usable)
    assert have["Core"] == len({cpu.siblings for cpu in usable})


def test_cpuid_of_this_machine() -> None:
    allowed = os.sched_getaffinity(0)
    vendor_here = vendor(answers())
    assert vendor_here == (hardware().processor.vendor if answers() else "")
    for cpu in allowed:
        assert vendor(answers(Path("/"), cpu)) == vendor_here
    assert answers(Path("/"), 65_000) == {}
    assert os.sched_getaffinity(0) == allowed


def test_memory_of_this_machine() -> None:
    found = hardware()
    assert found.pages.base_bytes == mmap.PAGESIZE
    assert (found.memory.total_bytes or 0) > (found.memory.available_bytes or 0) > 0


# --- hostile text ---------------------------------------------------------------------------------

LETTERS = "0123456789-,:abcxK \t\nNodeMemTotal[]/"
FILES = (
    "cpuid", "proc/cpuinfo", "proc/meminfo", "proc/self/cgroup", "proc/self/smaps",
    "proc/self/status", "proc/sys/kernel/arch", f"{machines.CPU}/present",
    f"{machines.CPU}/online", f"{machines.CPU}/isolated", f"{machines.CPU}/cpu0/cache/index0/level",
    f"{machines.CPU}/cpu0/cache/index0/size", f"{machines.CPU}/cpu0/cache/index0/shared_cpu_list",
    f"{machines.CPU}/cpu0/topology/core_cpus_list", f"{machines.CPU}/cpu0/cpufreq/scaling_cur_freq",
    f"{machines.NODE}/node0/meminfo", f"{machines.NODE}/node0/distance",
    f"{machines.NODE}/node0/cpulist", f"{machines.NODE}/node99999/cpulist",
    f"{machines.PMUS}/cpu/type", f"{machines.PMUS}/cpu/cpus",
    "sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages",
    "sys/kernel/mm/transparent_hugepage/enabled", "sys/class/net/x/device/numa_node",
)  # fmt: skip


@examples(60)
@given(
    st.dictionaries(st.sampled_from(FILES), st.text(LETTERS, max_size=60) | st.text(max_size=30))
)
def test_no_text_is_an_error(
    tmp_path_factory: pytest.TempPathFactory, files: dict[str, str]
) -> None:
    root = tmp_path_factory.mktemp("m")
    base = {f"{machines.CPU}/present": "0\n", f"{machines.CPU}/cpu0/cache/index0/type": "Data\n"}
    plant(root, base | {k: v.encode(errors="replace").decode() for k, v in files.items()})
    found = hardware(root)
    json.dumps(to_jsonable(found), allow_nan=False)
    picture(found, 80)


def test_cpu_ranges_are_read_back() -> None:
    assert cpu_ranges([]) == ""
    assert cpu_ranges([3, 1, 2, 0, 8]) == "0-3,8"


@given(st.sets(st.integers(0, 300)))
def test_ranges_and_lists_are_inverse(cpus: set[int]) -> None:
    assert cpu_list(cpu_ranges(cpus)) == tuple(sorted(cpus))


@pytest.mark.parametrize(
    ("text", "size"),
    [("48K", 49152), ("2M", 2 << 20), ("512", 512), ("0K", None), ("K", None), ("-1K", None),
     ("1e3K", None), ("", None), ("9" * 30 + "K", None)],
)  # fmt: skip
def test_cache_sizes(text: str, size: int | None) -> None:
    assert cache_size(text) == size


@pytest.mark.parametrize("xml", [b"", b"<", b"<a/>", b'<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>'])
def test_xml_that_hwloc_would_not_write(xml: bytes) -> None:
    seen = parse("2.0", xml)
    assert seen.counts == ()
    assert seen.unknown or xml == b"<a/>"


def test_counters_of_a_processor_that_does_not_say() -> None:
    assert core_counters({}) == (None, "")
