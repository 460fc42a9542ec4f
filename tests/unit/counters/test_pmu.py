"""PMUs as the kernel describes them, on recorded trees of machines that this one is not.

tests/golden/sysfs-hybrid is of an Intel CPU with two kinds of cores (Alder Lake), sysfs-arm64 of a
server (Neoverse N1): only what is read, as those kernels write it.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from planted import plant

from gnomon.counters import sysfs_pmu
from gnomon.counters.components.cpu import CpuComponent
from gnomon.counters.components.tsc import TscComponent
from gnomon.counters.event_grammar import PmuTerms, pmu_terms
from gnomon.counters.sysfs_pmu import Encoding, Pmu
from gnomon.errors import EventNameError
from gnomon.model.value import Domain

GOLDEN = Path(__file__).parents[2] / "golden"
HYBRID = GOLDEN / "sysfs-hybrid"
ARM64 = GOLDEN / "sysfs-arm64"
DEVICES = "bus/event_source/devices"


def of(tree: Path, name: str) -> Pmu:
    return next(one for one in sysfs_pmu.find(tree) if one.name == name)


def encode(tree: Path, text: str) -> Encoding:
    terms = pmu_terms(text)
    assert terms is not None
    return of(tree, terms.pmu).encode(terms, text)


# --- what there is --------------------------------------------------------------------------------


def test_core_pmus() -> None:
    assert [(one.name, one.type, one.cpus()) for one in sysfs_pmu.core_pmus(HYBRID)] == [
        ("cpu_atom", 10, "16-23"),
        ("cpu_core", 4, "0-15"),
    ]
    assert [(one.name, one.cpus()) for one in sysfs_pmu.core_pmus(ARM64)] == [
        ("armv8_pmuv3_0", "0-79")
    ]


def test_other_pmus_are_no_core_pmus() -> None:
    names = {one.name for one in sysfs_pmu.find(HYBRID)}
    assert {"power", "msr", "intel_pt", "uncore_imc_free_running_0", "software"} < names
    assert of(HYBRID, "power").cpus() == "0"
    assert of(HYBRID, "intel_pt").cpus() == ""
    assert not of(ARM64, "arm_spe_0").is_core
    assert not of(ARM64, "arm_cmn_0").is_core


def test_events_units_and_scales() -> None:
    power = of(HYBRID, "power")
    assert power.event_names() == ("energy-cores", "energy-pkg")
    assert power.unit("energy-pkg") == "Joules"
    assert power.scale("energy-pkg") == 2.0**-32
    memory = of(HYBRID, "uncore_imc_free_running_0")
    assert (memory.unit("data_read"), memory.scale("data_read")) == ("MiB", 64 / 2**20)
    core = of(HYBRID, "cpu_core")
    assert (core.unit("instructions"), core.scale("instructions")) == ("", 1)
    assert of(HYBRID, "software").event_names() == ()


def test_machines_that_have_none(tmp_path: Path) -> None:
    assert sysfs_pmu.find(tmp_path) == ()
    plant(tmp_path, {f"{DEVICES}/broken/type": "many\n", f"{DEVICES}/empty/x": ""})
    assert sysfs_pmu.find(tmp_path) == ()
    assert sysfs_pmu.online_cpus(tmp_path) == (0,)


@pytest.mark.parametrize("number", ["9" * 5000, "4294967296", "-1", "4.0", "", "\u0664", "x"])
def test_a_type_that_is_none_makes_no_pmu(tmp_path: Path, number: str) -> None:
    root = plant(tmp_path, {f"{DEVICES}/odd/type": number, f"{DEVICES}/last/type": "4294967295\n"})
    assert [(one.name, one.type) for one in sysfs_pmu.find(root)] == [("last", 2**32 - 1)]


@pytest.mark.parametrize("factor", ["nan", "inf", "-inf", "0", "-1", "1e999", "x", ""])
def test_a_scale_that_is_no_factor_is_none(tmp_path: Path, factor: str) -> None:
    root = plant(tmp_path, {f"{DEVICES}/odd/type": "9\n", f"{DEVICES}/odd/events/e.scale": factor})
    assert of(root, "odd").scale("e") == 1


@pytest.mark.parametrize(
    "text",
    ["0-99999999999", "0-65536", "65536", ",".join(["0-65535"] * 5000), "0-" + "9" * 5000, "3-x"],
)
def test_lists_of_more_cpus_than_there_are_name_none(text: str) -> None:
    assert sysfs_pmu.cpu_list(text) == ()


def test_the_last_cpu_that_there_can_be() -> None:
    assert sysfs_pmu.cpu_list("0,65535") == (0, 65535)
    assert len(sysfs_pmu.cpu_list("0-65535")) == 65536


@pytest.mark.parametrize("layout", ["config:0-99999999999", "config:64", "config:0-64"])
def test_bits_that_a_config_has_not(tmp_path: Path, layout: str) -> None:
    files = {f"{DEVICES}/odd/type": "9\n", f"{DEVICES}/odd/format/event": layout}
    root = plant(tmp_path, files)
    terms = pmu_terms("odd/event=1/")
    assert terms is not None
    with pytest.raises(EventNameError, match="does not name bits of a config"):
        of(root, "odd").encode(terms, "odd/event=1/")


def test_online_cpus() -> None:
    assert sysfs_pmu.online_cpus(HYBRID) == tuple(range(24))
    assert sysfs_pmu.online_cpus(ARM64) == tuple(range(80))


@pytest.mark.parametrize(
    ("text", "cpus"),
    [("0", (0,)), ("0-3,8", (0, 1, 2, 3, 8)), ("0-1,4-5", (0, 1, 4, 5)), ("", ()), ("x", ()),
     ("1-x", ()), ("-1", ())],
)  # fmt: skip
def test_cpu_lists(text: str, cpus: tuple[int, ...]) -> None:
    assert sysfs_pmu.cpu_list(text) == cpus


# --- encodings ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tree", "text", "encoding"),
    [
        (HYBRID, "cpu_core/event=0x3c/", Encoding(4, 0x3C)),
        (HYBRID, "cpu_core/instructions/", Encoding(4, 0xC0)),
        (HYBRID, "cpu_core/cache-misses/", Encoding(4, 0x412E)),
        (HYBRID, "cpu_core/event=0xc4,umask=0x20,cmask=1,edge,inv/", Encoding(4, 0x18420C4)),
        (HYBRID, "cpu_core/mem-loads/", Encoding(4, 0x1CD, 3)),
        (HYBRID, "cpu_core/mem-loads,ldlat=0x30/", Encoding(4, 0x1CD, 0x30)),
        (HYBRID, "cpu_core/event=0xb7,offcore_rsp=0xffffffffffffffff/",
         Encoding(4, 0xB7, 0xFFFFFFFFFFFFFFFF)),
        (HYBRID, "cpu_core/config=0x1a8,config1=2,config2=3,config3=4/",
         Encoding(4, 0x1A8, 2, 3, 4)),
        (HYBRID, "cpu_core/event=060,name=mine,period=1/", Encoding(4, 0x30)),
        (HYBRID, "cpu_atom/mem-loads/", Encoding(10, 0x5D0, 3)),
        (HYBRID, "uncore_imc_free_running_0/data_read/", Encoding(26, 0x20FF)),
        (HYBRID, "uncore_cbox_0/event=0x22,threshold=0x3f/", Encoding(14, 0x3F000022)),
        (ARM64, "armv8_pmuv3_0/cpu_cycles/", Encoding(8, 0x11)),
        (ARM64, "armv8_pmuv3_0/l1d_cache_refill,long/", Encoding(8, 3, 1)),
        (ARM64, "armv8_pmuv3_0/event=0xffff,rdpmc=1/", Encoding(8, 0xFFFF, 2)),
        (ARM64, "arm_cmn_0/hnf_cache_miss,bynodeid,nodeid=0x24/", Encoding(12, 0x2480010005)),
        (ARM64, "arm_spe_0/load_filter,min_latency=0xfff/", Encoding(9, 1 << 33, 0, 0xFFF)),
    ],
)  # fmt: skip
def test_terms_become_bits(tree: Path, text: str, encoding: Encoding) -> None:
    assert encode(tree, text) == encoding


@given(st.integers(0, 0xFFF))
def test_parameter_in_several_pieces(value: int) -> None:
    """AMD's events are numbered in bits 0-7 and 32-35."""
    with tempfile.TemporaryDirectory() as folder:
        files = {f"{DEVICES}/cpu/type": "4", f"{DEVICES}/cpu/format/event": "config:0-7,32-35"}
        tree = plant(Path(folder), files)
        config = value & 0xFF | (value >> 8) << 32
        assert encode(tree, f"cpu/event={value:#x}/") == Encoding(4, config)
        with pytest.raises(EventNameError, match="does not fit its 12 bits"):
            encode(tree, f"cpu/event={value + 0x1000}/")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "cpu_core/instruction/",
            "has no event or parameter 'instruction'; did you mean instructions",
        ),
        ("cpu_core/evnt=1/", "did you mean event"),
        ("cpu_core/event=0x100/", "event=0x100 does not fit its 8 bits on 'cpu_core'"),
        ("cpu_core/edge=2/", "does not fit its 1 bits"),
        ("cpu_core/event=many/", "event=many is not a number"),
        ("cpu_core/event=-1/", "is not a number"),
        ("cpu_core/event=/", "event= is not a number"),
        ("cpu_core/config=0x10000000000000000/", "does not fit 64 bits"),
        ("cpu_core/instructions=1/", "no event or parameter 'instructions'"),
        ("cpu_atom/frontend=1/", "no event or parameter 'frontend'"),
    ],
)
def test_wrong_terms_are_refused(text: str, said: str) -> None:
    with pytest.raises(EventNameError) as caught:
        encode(HYBRID, text)
    assert said in str(caught.value)
    assert caught.value.name == text


def test_terms_lead_to_no_other_files(tmp_path: Path) -> None:
    plant(tmp_path, {f"{DEVICES}/cpu/type": "4", "secret": "config:0-7",
                     f"{DEVICES}/cpu/format/event": "config:0-7"})  # fmt: skip
    with pytest.raises(EventNameError):
        of(tmp_path, "cpu").encode(PmuTerms("cpu", (("../../../../../secret", "1"),)), "x")
    with pytest.raises(EventNameError):
        of(tmp_path, "cpu").encode(PmuTerms("cpu", (("..", None),)), "x")


def test_event_that_needs_a_parameter(tmp_path: Path) -> None:
    """As POWER's hv_24x7 has them."""
    files = {"type": "24", "events/CPM_CS": "domain=0x2,offset=0xd58,core=?",
             "format/domain": "config:0-3", "format/offset": "config:32-63",
             "format/core": "config:16-31"}  # fmt: skip
    plant(tmp_path, {f"{DEVICES}/hv_24x7/{name}": text for name, text in files.items()})
    with pytest.raises(EventNameError, match="needs core="):
        encode(tmp_path, "hv_24x7/CPM_CS/")


# --- names on such machines -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "events"),
    [
        ("cycles", [("cpu_atom/cycles/", 0, 10 << 32), ("cpu_core/cycles/", 0, 4 << 32)]),
        ("instructions:u", [("cpu_atom/instructions/u", 0, 10 << 32 | 1),
                            ("cpu_core/instructions/u", 0, 4 << 32 | 1)]),
        ("L1-dcache-load-misses", [("cpu_atom/L1-dcache-load-misses/", 3, 10 << 32 | 0x10000),
                                   ("cpu_core/L1-dcache-load-misses/", 3, 4 << 32 | 0x10000)]),
        ("r1a8", [("cpu_atom/r1a8/", 10, 0x1A8), ("cpu_core/r1a8/", 4, 0x1A8)]),
        ("cpu_core/slots/", [("cpu_core/slots/", 4, 0x400)]),
    ],
)  # fmt: skip
def test_hybrid_cpu_has_one_count_for_each_kind_of_core(
    name: str, events: list[tuple[str, int, int]]
) -> None:
    """The sum of both would be no count of either: they have other caches and other events."""
    found = CpuComponent(HYBRID).resolve(name)
    encodings = [event.spec.terms[0].encoding for event in found]
    assert [(event.name, e.type, e.config) for event, e in zip(found, encodings, strict=True)] == (
        events
    )


def test_names_of_a_hybrid_cpu_resolve_to_themselves() -> None:
    """What a report calls an event can be typed again."""
    component = CpuComponent(HYBRID)
    for name in ("cycles", "cycles:u", "r1a8"):
        for event in component.resolve(name):
            terms = pmu_terms(event.name.removesuffix("u"))
            assert terms is not None
            assert terms.pmu in ("cpu_core", "cpu_atom")


def test_generic_names_elsewhere_are_one_event() -> None:
    (event,) = CpuComponent(ARM64).resolve("cycles:uk")
    assert event.spec.terms[0].encoding == Encoding(
        0, 0, exclude=event.spec.terms[0].encoding.exclude
    )
    assert event.domain is Domain.USER_KERNEL
    (event,) = CpuComponent(ARM64).resolve("armv8_pmuv3_0/inst_retired/u")
    assert event.spec.terms[0].encoding.config == 8
    assert event.domain is Domain.USER


def test_pmus_of_other_components_are_left_to_them() -> None:
    component = CpuComponent(HYBRID)
    assert component.resolve("power/energy-pkg/") == ()
    assert component.resolve("msr/tsc/") == ()
    assert component.resolve("cpu/cycles/") == ()


def test_listing_has_the_kernels_names() -> None:
    names = {info.name for info in CpuComponent(ARM64).events()}
    assert {"cycles", "armv8_pmuv3_0/l1d_cache_refill/", "branch-load-misses"} <= names
    names = {info.name for info in CpuComponent(HYBRID).events()}
    assert {"cpu_core/slots/", "cpu_atom/mem-stores/"} <= names


def test_msr_events() -> None:
    component = TscComponent(HYBRID)
    (event,) = component.resolve("msr/aperf/")
    assert event.spec.terms[0].encoding == Encoding(11, 1)
    assert "msr/cpu_thermal_margin/" in {info.name for info in component.events()}
    assert TscComponent(ARM64).resolve("msr/tsc/") == ()
    with pytest.raises(EventNameError, match="every mode"):
        component.resolve("msr/tsc/u")
