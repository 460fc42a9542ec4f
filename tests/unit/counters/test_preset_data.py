"""The presets' files: every preset of PAPI defined or absent with its reason, for every family.

Whether libpfm4 knows the native events is tried with the libpfm4 of this machine, whose package
has the tables of one architecture; tests/guest tries those of the others. A libpfm4 built with
all tables (CONFIG_PFMLIB_ARCH_ARM64=y CONFIG_PFMLIB_ARCH_POWERPC=y, on LD_LIBRARY_PATH) is tried
on all of them with GNOMON_LIBPFM_ALL=1.
"""

from __future__ import annotations

import os
import re
import tomllib
from functools import cache
from pathlib import Path

import pytest
from preset_encoding import NO_NAMES, TABLES, Code, Encoded, encoded, natives_of, problems

from gnomon import _core
from gnomon.counters import presets
from gnomon.counters.presets import Preset, PresetFamily

ROOT = Path(__file__).parents[3]
DATA = ROOT / "src" / "gnomon" / "counters" / "presets" / "data"
UNKNOWN = tomllib.loads((ROOT / "packaging" / "libpfm4_unknown.toml").read_text())
FAMILIES = {family.name: family for family in presets.families()}
OF_CPUS = [name for name in FAMILIES if name != "generic"]
ALL_TABLES = "GNOMON_LIBPFM_ALL" in os.environ
HERE = os.uname().machine
LONGEST_NAME = 255

# Of PAPI 7's papiStdEventDefs.h, in the order of the alphabet.
_SINGLE = """
BRU_IDL BR_CN BR_INS BR_MSP BR_NTK BR_PRC BR_TKN BR_UCN BTAC_M CA_CLN CA_INV CA_ITV CA_SHR CA_SNP
CSR_FAL CSR_SUC CSR_TOT DP_OPS FAD_INS FDV_INS FMA_INS FML_INS FNV_INS FPU_IDL FP_INS FP_OPS
FP_STAL FSQ_INS FUL_CCY FUL_ICY FXU_IDL HP_OPS HW_INT INT_INS LD_INS LST_INS LSU_IDL MEM_RCY
MEM_SCY MEM_WCY PRF_DM REF_CYC RES_STL SP_OPS SR_INS STL_CCY STL_ICY SYC_INS TLB_DM TLB_IM TLB_SD
TLB_TL TOT_CYC TOT_IIS TOT_INS VEC_DP VEC_HP VEC_INS VEC_SP
"""
_OF_CACHES = (*(f"{kind}C{how}" for kind in "DIT" for how in "AHMRW"), "LDM", "STM")
STANDARD = [*_SINGLE.split(), *(f"L{level}_{what}" for level in (1, 2, 3) for what in _OF_CACHES)]


@cache
def of(machine: str) -> Encoded:
    return encoded(machine)


def preset(family: str, name: str) -> Preset:
    found = FAMILIES[family].preset(f"PAPI_{name}")
    assert found is not None
    return found


def defined(family: PresetFamily) -> list[Preset]:
    return [one for one in family.presets if one.events]


# --- coverage -------------------------------------------------------------------------------------


def test_meanings_are_of_papis_110_presets() -> None:
    assert len(STANDARD) == 110
    assert sorted(presets.meanings()) == sorted(f"PAPI_{name}" for name in STANDARD)
    descriptions = [meaning.description for meaning in presets.meanings().values()]
    assert all(descriptions)
    assert len(set(descriptions)) == 110


@pytest.mark.parametrize("name", FAMILIES)
def test_every_preset_is_defined_or_said_to_be_absent(name: str) -> None:
    """In the file itself or in the one that it extends: what is forgotten has no reason there."""
    file = tomllib.loads((DATA / f"{name}.toml").read_text())
    said = {*file.get("preset", {}), *file.get("absent", {})}
    assert not set(file.get("preset", {})) & set(file.get("absent", {}))
    if "extends" in file:
        base = tomllib.loads((DATA / f"{file['extends']}.toml").read_text())
        said |= {*base["preset"], *base["absent"]}
    assert sorted(said) == sorted(f"PAPI_{one}" for one in STANDARD)
    for one in FAMILIES[name].presets:
        assert bool(one.events) != bool(one.reason), one.name


@pytest.mark.parametrize("name", FAMILIES)
def test_every_event_has_its_vendors_meaning(name: str) -> None:
    family = FAMILIES[name]
    assert family.title
    assert family.source
    for one in defined(family):
        assert len(one.meanings) == len(one.events), one.name
        assert all(one.meanings), one.name
        assert len(set(one.events)) == len(one.events), one.name


@pytest.mark.parametrize("name", FAMILIES)
def test_an_event_means_the_same_wherever_it_stands(name: str) -> None:
    meanings: dict[str, str] = {}
    for one in defined(FAMILIES[name]):
        for event, meaning in zip(one.events, one.meanings, strict=True):
            assert meanings.setdefault(event, meaning) == meaning, (one.name, event)


@pytest.mark.parametrize("name", FAMILIES)
def test_formulas_use_every_event(name: str) -> None:
    for one in defined(FAMILIES[name]):
        used = {int(number) for number in re.findall(r"N(\d+)", one.formula)}
        if one.formula:
            assert used == set(range(len(one.events))), one.name
        assert one.kind in ("not derived", "sum", "difference", "infix", "postfix"), one.name


def test_no_pmu_is_of_two_families() -> None:
    pmus = [pmu for family in FAMILIES.values() for pmu in family.pmus]
    assert len(pmus) == len(set(pmus))
    assert all(FAMILIES[name].pmus for name in OF_CPUS)
    assert FAMILIES["generic"].pmus == ()


def test_every_family_is_of_an_architecture() -> None:
    starts = tuple(start for found in TABLES.values() for start in found)
    assert [name for name in OF_CPUS if not name.startswith(starts)] == []


def test_files_are_grouped_alike() -> None:
    """In the order of meanings.toml, which is by what the presets are of."""
    order = list(tomllib.loads((DATA / "meanings.toml").read_text()))
    for name in FAMILIES:
        file = tomllib.loads((DATA / f"{name}.toml").read_text())
        for section in ("preset", "absent"):
            names = list(file.get(section, {}))
            assert names == sorted(names, key=order.index), (name, section)


def test_generic_events_have_kernel_names() -> None:
    for event in natives_of(FAMILIES["generic"]):
        assert _core.generic_encoding(event) is not None, event


def test_names_fit_where_names_are_kept() -> None:
    for family in FAMILIES.values():
        for pmu in family.pmus:
            for event in natives_of(family):
                assert len(f"{pmu}::{event}") <= LONGEST_NAME, event


# --- what single presets must be ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("family", "lanes"),
    [("intel_broadwell", (1, 2, 4)), ("intel_skylake", (1, 2, 4)),
     ("intel_skylakex", (1, 2, 4, 8)), ("intel_icelake", (1, 2, 4, 8)),
     ("intel_sapphirerapids", (1, 2, 4, 8)), ("intel_goldencove", (1, 2, 4))],
)  # fmt: skip
def test_double_precision_operations_of_intel(family: str, lanes: tuple[int, ...]) -> None:
    """Vector instructions count once for each of their lanes (Intel SDM, FP_ARITH)."""
    found = preset(family, "DP_OPS")
    widths = ["SCALAR", *(f"{64 * n}B_PACKED" for n in lanes[1:])]
    assert found.events == tuple(f"FP_ARITH_INST_RETIRED:{width}_DOUBLE" for width in widths)
    assert found.program.factors(len(lanes)) == lanes


@pytest.mark.parametrize(
    ("family", "factor"),
    [("arm_neoverse_n2", 1), ("arm_neoverse_v2", 1), ("arm_neoverse_v1", 2), ("arm_a64fx", 4)],
)  # fmt: skip
def test_operations_of_sve_count_by_vector_length(family: str, factor: int) -> None:
    """FP_SCALE_OPS_SPEC counts for every 128 bits of the vector length."""
    found = preset(family, "FP_OPS")
    assert found.events == ("FP_SCALE_OPS_SPEC", "FP_FIXED_OPS_SPEC")
    assert found.program.factors(2) == (factor, 1)


@pytest.mark.parametrize("family", ["power9", "power10"])
def test_operations_of_power_count_by_width(family: str) -> None:
    found = preset(family, "FP_OPS")
    assert found.events == tuple(f"PM_{n}FLOP_CMPL" for n in (1, 2, 4, 8))
    assert found.program.factors(4) == (1, 2, 4, 8)


@pytest.mark.parametrize("name", ["L2_DCA", "L2_LDM", "L2_TCM", "L3_DCW"])
def test_second_level_of_power10_is_seen_at_half_the_clock(name: str) -> None:
    found = preset("power10", name)
    factors = found.program.factors(len(found.events))
    assert factors is not None
    assert set(factors) == {2}


@pytest.mark.parametrize("family", OF_CPUS)
def test_hits_and_misses_are_accesses(family: str) -> None:
    """Where all three are defined by differences, they agree: A = H + M."""
    for cache_name in [f"L{level}_{kind}C" for level in (1, 2, 3) for kind in "DIT"]:
        parts = [preset(family, f"{cache_name}{how}") for how in "AHM"]
        totals = [_factors(one) for one in parts]
        if not all(totals) or parts[1].kind != "difference":
            continue
        accesses, hits, misses = totals
        if set(hits) <= {*accesses, *misses} and set(misses) <= {*accesses, *hits}:
            events = {*accesses, *hits, *misses}
            assert [hits.get(e, 0) + misses.get(e, 0) for e in events] == [
                accesses.get(e, 0) for e in events
            ], cache_name


def _factors(one: Preset) -> dict[str, float]:
    factors = one.program.factors(len(one.events)) if one.events else None
    return dict(zip(one.events, factors, strict=True)) if factors else {}


@pytest.mark.parametrize("family", FAMILIES)
def test_branches_add_up(family: str) -> None:
    """Conditional and unconditional ones are all; taken and not taken ones the conditional ones."""
    parts = {n: _factors(preset(family, f"BR_{n}")) for n in ("INS", "CN", "UCN", "TKN", "NTK")}
    for whole, halves in (("INS", ("CN", "UCN")), ("CN", ("TKN", "NTK"))):
        if not parts[whole] or not all(parts[half] for half in halves):
            continue
        events = {event for half in halves for event in parts[half]}
        if not parts[whole].keys() <= events:
            continue  # it has an event of its own
        for event in events:
            added = sum(parts[half].get(event, 0) for half in halves)
            assert added == parts[whole].get(event, 0), (whole, event)


# --- libpfm4 --------------------------------------------------------------------------------------


@pytest.mark.parametrize("machine", TABLES)
def test_libpfm4_knows_every_native_event(machine: str) -> None:
    if machine != HERE and not ALL_TABLES:
        pytest.skip(f"libpfm4's package has the tables of {HERE} alone: make test-guest tries more")
    found = of(machine)
    assert len(found.natives) >= {"x86_64": 30, "aarch64": 5, "ppc64le": 2}[machine]
    assert all(found.natives.values())
    assert problems(found, machine, UNKNOWN) == []


def test_the_list_of_what_libpfm4_does_not_know_is_of_this_data() -> None:
    pmus = {pmu: family for family in FAMILIES.values() for pmu in family.pmus}
    assert set(UNKNOWN) == {"pmu", "event"}
    for pmu, reason in UNKNOWN["pmu"].items():
        assert pmu in pmus
        assert reason
    for pmu, events in UNKNOWN["event"].items():
        assert pmu not in UNKNOWN["pmu"]
        assert set(events) <= set(natives_of(pmus[pmu]))
        assert all(events.values())


def planted(**changes: str | Code) -> list[str]:
    """Return the problems of x86's families after some answers have been put in libpfm4's mouth."""
    found = of("x86_64")
    family = ("intel_skylakex", "skx")
    natives = {**found.natives[family], **changes}
    return problems(found._replace(natives={**found.natives, family: natives}), "x86_64", UNKNOWN)


@pytest.mark.skipif(HERE != "x86_64", reason="what is planted is planted in the tables of x86")
def test_the_checker_finds_what_is_wrong() -> None:
    found = of("x86_64")
    natives = found.natives["intel_skylakex", "skx"]
    first, second = [code for code in natives.values() if isinstance(code, Code)][:2]
    assert "libpfm4 refuses skx::BACLEARS:ANY" in planted(**{"BACLEARS:ANY": "event not found"})
    assert any("are one event of skx" in one for one in planted(NEW=first))
    other = second._replace(config=0x12345, full_name="skl::NEW")
    assert "intel_skylakex: NEW is taken for skl::NEW" in planted(NEW=other)
    lacking = dict.fromkeys(found.natives["intel_skylakex", "clx"], "event not found")
    old = found._replace(natives={**found.natives, ("intel_skylakex", "clx"): lacking})
    assert "libpfm4 does not know the PMU clx" in problems(old, "x86_64", UNKNOWN)
    listed = {"pmu": {**UNKNOWN["pmu"], "clx": "why"}, "event": {"skx": {"BACLEARS:ANY": "why"}}}
    assert "listed as unknown, and known: skx BACLEARS:ANY" in problems(old, "x86_64", listed)
    # What LIBPFM_FORCE_PMU of another architecture looks like: nothing is known.
    nothing = dict.fromkeys(found.known, "event not found")
    silent = problems(found._replace(known=nothing), "x86_64", UNKNOWN)
    assert len([one for one in silent if "have the tables?" in one]) == len(nothing)
    taken = dict.fromkeys(NO_NAMES["x86_64"], first)
    said = problems(found._replace(bogus=taken), "x86_64", UNKNOWN)
    assert "skl::NO_SUCH_EVENT has a code" in said
