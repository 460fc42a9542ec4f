"""TLBs by cpuid, against what the manuals of the processors say that the answers mean."""

from __future__ import annotations

from pathlib import Path

import machines
import pytest
from hypothesis import given
from hypothesis import strategies as st
from planted import plant

from gnomon.counters.hardware.cpuid import (
    Registers,
    answers,
    bits,
    hypervisor_signature,
    parts,
    vendor,
)
from gnomon.counters.hardware.tlbs import FULL, GB, KB, MB, from_cpuid, from_device_tree

WORD = st.integers(0, 2**32 - 1)
LARGE = (2 * MB, 4 * MB)


def known(tmp_path: Path, text: str) -> dict[tuple[int, int], Registers]:
    return dict(answers(plant(tmp_path, {"cpuid": text})))


def rows(tlbs: object) -> list[tuple[object, ...]]:
    return [tuple(tlb)[:5] for tlb in tlbs]  # type: ignore[attr-defined]


def test_descriptors_of_skylake(tmp_path: Path) -> None:
    tlbs, unknown = from_cpuid(known(tmp_path, machines.SKYLAKE_CPUID))
    assert unknown == ""
    assert rows(tlbs) == [
        (1, "data", (4 * KB,), 64, 4),
        (1, "data", LARGE, 32, 4),
        (1, "data", (GB,), 4, 4),
        (1, "instruction", (4 * KB,), 64, 8),
        (1, "instruction", LARGE, 8, FULL),
        (2, "unified", (4 * KB, 2 * MB), 1536, 6),
        (2, "unified", (GB,), 16, 4),
    ]
    assert {tlb.source for tlb in tlbs} == {"cpuid leaf 0x2"}


def test_leaf_18_of_alder_lake(tmp_path: Path) -> None:
    tlbs, _ = from_cpuid(known(tmp_path, machines.ALDER_LAKE_CPUID))
    everything = (4 * KB, 2 * MB, 4 * MB, GB)
    assert rows(tlbs) == [
        (1, "instruction", (4 * KB,), 256, 8),
        (1, "instruction", LARGE, 32, 8),
        (1, "load", (4 * KB,), 64, 4),
        (1, "load", LARGE, 32, 4),
        (1, "load", (GB,), 8, FULL),
        (1, "store", everything, 16, FULL),
        (2, "unified", (4 * KB, 2 * MB, 4 * MB), 1024, 8),
        (2, "unified", (4 * KB, GB), 1024, 8),
    ]
    assert {tlb.shared_by for tlb in tlbs} == {2}


def test_parts_beyond_the_last_are_not_taken(tmp_path: Path) -> None:
    tlbs, _ = from_cpuid(answers(plant(tmp_path, {"cpuid": machines.ALDER_LAKE_CPUID}), 4))
    assert rows(tlbs) == [
        (1, "instruction", (4 * KB,), 48, FULL),
        (2, "unified", (4 * KB,), 2048, 4),
    ]


def test_zen(tmp_path: Path) -> None:
    tlbs, _ = from_cpuid(known(tmp_path, machines.ZEN_CPUID))
    assert rows(tlbs) == [
        (1, "data", (4 * KB,), 64, FULL),
        (1, "data", LARGE, 64, FULL),
        (1, "data", (GB,), 64, FULL),
        (1, "instruction", (4 * KB,), 64, FULL),
        (1, "instruction", LARGE, 64, FULL),
        (1, "instruction", (GB,), 64, FULL),
        (2, "data", (4 * KB,), 2048, 8),
        (2, "data", LARGE, 2048, 4),
        (2, "data", (GB,), 64, FULL),
        (2, "instruction", (4 * KB,), 1024, 8),
        (2, "instruction", LARGE, 1024, 8),
    ]


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({}, "cpuid did not answer"),
        ({(0, 0): (0x16, 0x756E6547, 0x6C65746E, 0x49656E69)}, "leaves 0x2 and 0x18 tell none"),
        ({(0, 0): (0x16, 0x756E6547, 0x6C65746E, 0x49656E69), (2, 0): (0x00FEFF01, 0xF0, 0, 0),
          (1, 0): (0, 0, 1 << 31, 0)}, "refers to leaf 0x18, which tells none (the hypervisor"),
        ({(0, 0): (0x10, 0x68747541, 0x444D4163, 0x69746E65)}, "0x80000019 tell none"),
    ],
)  # fmt: skip
def test_why_none_are_known(
    changed: dict[tuple[int, int], tuple[int, int, int, int]], said: str
) -> None:
    tlbs, unknown = from_cpuid({key: Registers(*value) for key, value in changed.items()})
    assert tlbs == ()
    assert said in unknown


@given(
    st.dictionaries(
        st.tuples(st.sampled_from([0, 1, 2, 0x18, 0x80000005, 0x80000006, 0x80000019]),
                  st.integers(0, 9)),
        st.builds(Registers, WORD, WORD, WORD, WORD),
    ),
    st.booleans(),
)  # fmt: skip
def test_no_answers_are_an_error(told: dict[tuple[int, int], Registers], is_amd: bool) -> None:
    intel = Registers(0x16, 0x756E6547, 0x6C65746E, 0x49656E69)
    amd = Registers(0x10, 0x68747541, 0x444D4163, 0x69746E65)
    tlbs, unknown = from_cpuid({**told, (0, 0): amd if is_amd else intel})
    assert bool(tlbs) != bool(unknown)
    for tlb in tlbs:
        assert tlb.entries > 0
        assert tlb.ways is None or tlb.ways == FULL or tlb.ways > 0


@given(st.text(max_size=200) | st.text("0123456789abcdefx: =eCPU\n", max_size=200))
def test_no_recorded_text_is_an_error(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    root = tmp_path_factory.mktemp("m")
    (root / "cpuid").write_bytes(text.encode(errors="replace"))
    for registers in answers(root).values():
        assert all(0 <= register < 2**32 for register in registers)


def test_signatures(tmp_path: Path) -> None:
    zen = known(tmp_path, machines.ZEN_CPUID)
    assert vendor(zen) == "AuthenticAMD"
    assert hypervisor_signature(zen) == ""
    guest = {(0x40000000, 0): Registers(0x40000001, 0x4B4D564B, 0x564B4D56, 0x4D)}
    assert hypervisor_signature(guest) == "KVMKVMKVM"
    assert len(parts(zen, 0x8000001D)) == 5
    assert bits(0xF0, 7, 4) == 15


def test_device_trees_that_say_nothing(tmp_path: Path) -> None:
    cpus = tmp_path / "proc/device-tree/cpus/cpu@0"
    cpus.mkdir(parents=True)
    (cpus / "d-tlb-size").write_bytes(b"too long to be a cell")
    (cpus / "tlb-size").write_bytes(b"\0\0\0\0")
    tlbs, unknown = from_device_tree(tmp_path)
    assert (tlbs, "neither" in unknown) == ((), True)
