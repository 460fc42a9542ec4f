"""PAPI's presets: what the data says, and that libpfm4 encodes it for every CPU it is meant for.

libpfm4 reads its variables once in a process, so that whatever depends on them runs in a process
of its own. Its Debian package has the tables of one architecture: those of x86 are tried where
they are.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from gnomon.counters import presets
from gnomon.counters.components.cpu import CpuComponent
from gnomon.errors import EventNameError, EventUnavailableError

GNOMON = Path(sys.executable).parent / "gnomon"
ENCODE = """
import json, sys
from gnomon import _core
names = json.load(sys.stdin)
pmus = [(row[1], row[7]) for row in _core.pfm_pmus()]
codes = {}
for name in names:
    try:
        codes[name] = _core.pfm_encode(name)
    except _core.PfmError as error:
        codes[name] = error.args[1]
json.dump([pmus, codes], sys.stdout)
"""
FAMILIES = {table.family: table for table in presets.tables()}
PAIRS = [(table.family, pmu) for table in presets.tables() for pmu in table.pmus]
X86 = os.uname().machine == "x86_64"


def is_generic(event: str) -> bool:
    """Whether an event's name is the kernel's own, the same on every CPU."""
    return CpuComponent()._generic(event) is not None


@cache
def encoded() -> tuple[dict[str, bool], dict[str, Any]]:
    """Return libpfm4's PMUs, and what it makes of every native event of every family."""
    names = [
        f"{pmu}::{event}"
        for family, pmu in PAIRS
        for preset in FAMILIES[family].presets
        for _, event in preset.terms
        if not is_generic(event)
    ]
    names += ["power9::PM_INST_CMPL", "skl::NO_SUCH_EVENT", "skl::L1D:NO_SUCH_MASK"]
    done = subprocess.run(
        [sys.executable, "-c", ENCODE], input=json.dumps(names), capture_output=True, text=True,
        check=True, env=os.environ | {"LIBPFM_ENCODE_INACTIVE": "1"},
    )  # fmt: skip
    pmus, codes = json.loads(done.stdout)
    return dict(pmus), codes


def run_with(variables: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([GNOMON, *arguments], capture_output=True, text=True, check=False,
                          env=os.environ | variables)  # fmt: skip


# --- the data -------------------------------------------------------------------------------------


def test_every_family_says_something_of_every_preset() -> None:
    names = [preset.name for preset in FAMILIES["generic"].presets]
    assert len(names) == 20
    assert all(name.startswith("PAPI_") for name in names)
    for table in presets.tables():
        assert [preset.name for preset in table.presets] == names
        for preset in table.presets:
            assert preset.description
            assert bool(preset.terms) != bool(preset.reason)
            assert all(factor > 0 for factor, _ in preset.terms)
    assert list(FAMILIES)[-1] == "generic"


def test_no_pmu_is_of_two_families() -> None:
    pmus = [pmu for _, pmu in PAIRS]
    assert len(pmus) == len(set(pmus))


@pytest.mark.parametrize("family", ["intel-skylake", "intel-icelake"])
def test_double_precision_operations_of_intel(family: str) -> None:
    """Vector instructions count once for each of their lanes (Intel SDM, FP_ARITH_INST_RETIRED)."""
    (preset,) = (p for p in FAMILIES[family].presets if p.name == "PAPI_DP_OPS")
    assert {event: factor for factor, event in preset.terms} == {
        "FP_ARITH_INST_RETIRED:SCALAR_DOUBLE": 1,
        "FP_ARITH_INST_RETIRED:128B_PACKED_DOUBLE": 2,
        "FP_ARITH_INST_RETIRED:256B_PACKED_DOUBLE": 4,
        "FP_ARITH_INST_RETIRED:512B_PACKED_DOUBLE": 8,
    }


def test_amd_says_why_it_has_none() -> None:
    amd = {preset.name: preset for preset in FAMILIES["amd-zen"].presets}
    assert amd["PAPI_DP_OPS"].terms == ()
    assert "every precision together" in amd["PAPI_DP_OPS"].reason
    assert amd["PAPI_TOT_INS"].terms == ((1, "instructions"),)


def test_generic_events_have_kernel_names() -> None:
    for preset in FAMILIES["generic"].presets:
        assert all(is_generic(event) for _, event in preset.terms), preset.name


# --- libpfm4 --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("family", "pmu"), PAIRS)
def test_native_events_encode(family: str, pmu: str) -> None:
    if not X86:
        pytest.skip("libpfm4's package has the tables of x86 on x86 only")
    pmus, codes = encoded()
    if pmu not in pmus:
        pytest.skip(f"this libpfm4 is too old to know {pmu}: use libpfm4 4.14 or newer")
    natives = {
        event: codes[f"{pmu}::{event}"]
        for preset in FAMILIES[family].presets
        for _, event in preset.terms
        if not is_generic(event)
    }
    refused = {event: code for event, code in natives.items() if isinstance(code, str)}
    assert refused == {}
    assert len(natives) >= 3
    # Different events have different codes.
    assert len({tuple(code[:4]) for code in natives.values()}) == len(natives)
    assert all(code[5].startswith(f"{pmu}::") for code in natives.values())


def test_each_family_has_a_known_pmu() -> None:
    if not X86:
        pytest.skip("libpfm4's package has the tables of x86 on x86 only")
    pmus, _ = encoded()
    assert all(set(t.pmus) & set(pmus) for t in presets.tables() if t.family != "generic")


def test_known_codes() -> None:
    """Codes of Intel's event lists, which no table of ours repeats."""
    if not X86:
        pytest.skip("libpfm4's package has the tables of x86 on x86 only")
    _, codes = encoded()
    # Low byte: event; next: unit mask.
    for name, code in {
        "skl::L1D:REPLACEMENT": 0x0151,
        "skl::FP_ARITH_INST_RETIRED:256B_PACKED_DOUBLE": 0x10C7,
        "skl::BR_INST_RETIRED:CONDITIONAL": 0x01C4,
        "icx::BR_INST_RETIRED:COND": 0x11C4,
        "spr::MEM_INST_RETIRED:ALL_STORES": 0x82D0,
    }.items():
        if name in codes and not isinstance(codes[name], str):
            assert codes[name][1] & 0xFFFF == code, name
    assert not isinstance(codes["skl::L1D:REPLACEMENT"], str)


def test_names_that_do_not_exist_are_refused() -> None:
    _, codes = encoded()
    refused = ["skl::NO_SUCH_EVENT", "skl::L1D:NO_SUCH_MASK"]
    if X86:
        # Debian's table for x86 has no other architecture's.
        refused.append("power9::PM_INST_CMPL")
    assert all(isinstance(codes[name], str) and codes[name] for name in refused)


@pytest.mark.skipif(not X86, reason="libpfm4's package has the tables of x86 on x86 only")
def test_event_of_another_cpu_is_unavailable_not_unknown() -> None:
    # Knights Corner was a coprocessor: no machine has it as its CPU.
    done = run_with({}, "events", "--check", "--json", "knc::CPU_CLK_UNHALTED")
    (row,) = json.loads(done.stdout)["events"]
    assert not row["available"]
    assert "which this machine does not have" in row["reason"]


@pytest.mark.skipif(not X86, reason="libpfm4's package has the tables of x86 on x86 only")
def test_forced_pmu_that_libpfm4_has_not() -> None:
    """It then succeeds, and knows no PMU at all: nothing may resolve, and nothing may break."""
    forced = {"LIBPFM_FORCE_PMU": "power9"}
    done = run_with(forced, "count", "-e", "PM_INST_CMPL", "--", "true")
    assert done.returncode == 2
    assert done.stderr.startswith("gnomon: event 'PM_INST_CMPL': no event, preset or tracepoint")
    for command in (["components"], ["events", "page"], ["doctor"]):
        done = run_with(forced, *command)
        assert (done.returncode, done.stderr) == (0, "")
    done = run_with(forced, "events", "PAPI_TOT_INS")
    assert "PAPI_TOT_INS" in done.stdout


@pytest.mark.skipif(not X86, reason="libpfm4's package has the tables of x86 on x86 only")
@pytest.mark.parametrize(
    ("pmu", "here", "missing"),
    [("skx", ["PAPI_DP_OPS", "PAPI_L2_TCM"], []), ("spr", ["PAPI_LD_INS"], []),
     ("amd64_fam19h_zen4", ["PAPI_BR_CN"], ["PAPI_DP_OPS", "PAPI_REF_CYC"])],
)  # fmt: skip
def test_forced_pmu_brings_its_presets(pmu: str, here: list[str], missing: list[str]) -> None:
    done = run_with({"LIBPFM_FORCE_PMU": pmu}, "events", "--json", "PAPI_")
    rows = {row["event"]: row["description"] for row in json.loads(done.stdout)["events"]}
    for name in here:
        assert "not here" not in rows[name]
    for name in missing:
        assert "not here" in rows[name]


# --- resolving ------------------------------------------------------------------------------------


def test_names_that_are_no_presets() -> None:
    assert presets.resolve("cycles", CpuComponent()) == ()
    with pytest.raises(EventNameError, match="PAPI_TOT_INS") as caught:
        presets.resolve("PAPI_TOT_INSS", CpuComponent())
    assert "PAPI_TOT_INS" in caught.value.suggestions


def test_generic_preset_resolves() -> None:
    (event, *_) = presets.resolve("PAPI_TOT_INS:u", CpuComponent())
    assert event.name.partition("@")[0] == "PAPI_TOT_INS:u"
    (term,) = event.spec.terms
    assert term.factor == 1
    assert term.encoding.exclude
    (lower, *_) = presets.resolve("papi_tot_ins", CpuComponent())
    assert lower.info.name == "PAPI_TOT_INS"


def test_hybrid_cpu_has_one_preset_for_each_kind_of_core() -> None:
    hybrid = CpuComponent(Path(__file__).parents[1] / "golden" / "sysfs-hybrid")
    found = presets.resolve("PAPI_TOT_CYC:u", hybrid)
    assert [event.name for event in found] == ["PAPI_TOT_CYC:u@cpu_atom", "PAPI_TOT_CYC:u@cpu_core"]
    assert [event.spec.terms[0].encoding.config >> 32 for event in found] == [10, 4]


def test_sum_of_two_events() -> None:
    """Accesses of the data cache are loads and stores."""
    generic = {preset.name: preset for preset in presets.tables()[-1].presets}
    here = {preset.name: preset for preset in presets.of_this_machine()}
    if here["PAPI_L1_DCA"].terms != generic["PAPI_L1_DCA"].terms:
        pytest.skip("this machine's PMU has an event of its own for that")
    (event, *_) = presets.resolve("PAPI_L1_DCA", CpuComponent())
    assert [(term.factor, term.encoding.config) for term in event.spec.terms] == [
        (1, 0),
        (1, 1 << 8),
    ]
    assert not event.spec.is_native


def test_preset_without_an_event_says_why() -> None:
    lacking = [preset for preset in presets.of_this_machine() if not preset.terms]
    if not lacking:
        pytest.skip("this machine's PMU has an event for every preset")
    with pytest.raises(EventUnavailableError) as caught:
        presets.resolve(lacking[0].name, CpuComponent())
    assert caught.value.reason == lacking[0].reason
    assert "gnomon events cpu" in caught.value.remedy
