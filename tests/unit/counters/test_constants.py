"""The machine's constants in formulas: of recorded machines, and of this one."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path

import machines
import pytest
from planted import plant

from gnomon.counters.hardware import hardware
from gnomon.counters.hardware.metric_constants import Constants
from gnomon.metrics.definitions import CONSTANTS, peaks

Tree = Callable[[Path], Path]


def constants(root: Path, **models: str) -> dict[str, float | None]:
    found = Constants(root, models)
    return {name: found.constant(name) for name in CONSTANTS}


@pytest.mark.parametrize(
    ("tree", "models", "expected"),
    [
        (machines.intel_server, {"cpu": "skx"},
         (64, 64, 64, 1 / 2.5e9, 32, 56, 2, 2)),
        # Two kinds of cores have neither one frequency nor one peak.
        (machines.hybrid_laptop, {"cpu_core": "adl_glc", "cpu_atom": "adl_grt"},
         (64, 64, 64, None, None, 6, 1, None)),
        (machines.amd_server, {"cpu": "amd64_fam19h_zen3"},
         (64, 64, 64, None, 16, 3, None, None)),
        (machines.arm_server, {"armv8_pmuv3_0": "arm_n1"},
         (64, 64, None, None, 8, None, None, None)),
        (machines.power, {"cpu": "power9"},
         (None, None, None, 1 / 3.8e9, 8, None, None, None)),
    ],
)  # fmt: skip
def test_constants_of_recorded_machines(
    tmp_path: Path, tree: Tree, models: Mapping[str, str], expected: tuple[float | None, ...]
) -> None:
    root = tree(tmp_path)
    names = ("L1_line_bytes", "L2_line_bytes", "L3_line_bytes", "cycle_seconds",
             "peak_flops_per_cycle", "cores", "sockets", "numa_nodes")  # fmt: skip
    assert set(names) == CONSTANTS.keys()
    found = constants(root, **models)
    told = hardware(root)
    counts = (told.topology.cores, told.topology.sockets, len(told.nodes) or None)
    for name, value in zip(names, (*expected[:5], *counts), strict=True):
        assert found[name] == (pytest.approx(value) if value else value), name
    for value, written in zip(counts, expected[5:], strict=True):
        assert written is None or value == written


def test_a_machine_of_which_nothing_is_told(tmp_path: Path) -> None:
    assert set(constants(tmp_path).values()) == {None}
    assert Constants(tmp_path, {}).cpus() == ()


@pytest.mark.parametrize(
    ("model", "hz"),
    [
        ("Example(R) CPU E5-2690 0 @ 2.90GHz", 2.9e9),
        ("Example(R) CPU @ 3 GHz", 3e9),
        ("Example(R) CPU", None),
        ("Example(R) CPU @ 0GHz", None),
    ],
)
def test_the_frequency_in_a_processors_name(tmp_path: Path, model: str, hz: float | None) -> None:
    root = plant(
        tmp_path,
        {
            "proc/cpuinfo": f"processor : 0\nvendor_id : GenuineIntel\nmodel name : {model}\n"
            "cpu MHz : 1200.0\n",
            "proc/sys/kernel/arch": "x86_64\n",
            f"{machines.CPU}/online": "0\n",
            f"{machines.CPU}/present": "0\n",
        },
    )
    found = constants(root)["cycle_seconds"]
    assert found == (None if hz is None else pytest.approx(1 / hz))


def test_nothing_is_read_before_it_is_asked_for(tmp_path: Path) -> None:
    found = Constants(tmp_path / "later", {"cpu": "skx"})
    machines.intel_server(tmp_path / "later")
    assert found.constant("L3_line_bytes") == 64
    assert found.cpus() == ("skx",)


def test_cpus_are_every_kind_of_core(tmp_path: Path) -> None:
    models = {"cpu_core": "adl_glc", "cpu_atom": "adl_grt"}
    found = Constants(machines.hybrid_laptop(tmp_path), models)
    assert sorted(found.cpus()) == ["adl_glc", "adl_grt"]


def test_this_machine() -> None:
    found = Constants()
    line = os.sysconf("SC_LEVEL1_DCACHE_LINESIZE") if "SC_LEVEL1_DCACHE_LINESIZE" in (
        os.sysconf_names) else 0  # fmt: skip
    assert not line or found.constant("L1_line_bytes") in (line, None)
    cores = found.constant("cores")
    assert cores is None or 1 <= cores <= (os.cpu_count() or 1)
    cycle = found.constant("cycle_seconds")
    assert cycle is None or 1e-10 < cycle < 1e-8


def test_peaks_are_whole_numbers_of_operations() -> None:
    known = peaks()
    assert known["power4"] == known["power5"] == known["power6"] == 4  # as the guide has them
    assert all(flops in (4, 8, 16, 32) for flops in known.values())
    assert all(re.fullmatch(r"[a-z0-9_]+", cpu) for cpu in known)
