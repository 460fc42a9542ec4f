"""PAPI's presets: names, native events and values; `test_preset_data.py` tries all of the data.

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

from gnomon import _core
from gnomon.counters import core_types, presets
from gnomon.counters.component import Event, EventInfo, RawCount, make_reading, make_value
from gnomon.counters.components.cpu import CpuComponent
from gnomon.counters.event_resolver import one
from gnomon.counters.libpfm import libpfm_pmus
from gnomon.counters.perf_spec import PerfSpec, Term, combine
from gnomon.counters.preset_formula import parse
from gnomon.counters.sysfs_pmu import Encoding
from gnomon.errors import EventNameError, EventUnavailableError, NotPresetError
from gnomon.model.value import Domain, How, Scope

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
FAMILIES = {family.name: family for family in presets.families()}
PAIRS = [(family.name, pmu) for family in presets.families() for pmu in family.pmus]
pytestmark = pytest.mark.cpu
X86 = os.uname().machine == "x86_64"


def is_in_libpfm(event: str) -> bool:
    """Return whether libpfm4 has a native event: a new CPU's events come with its releases."""
    try:
        _core.pfm_encode(event)
    except _core.PfmError:
        return False
    return True


def is_generic(event: str) -> bool:
    """Whether an event's name is the kernel's own, the same on every CPU."""
    return _core.generic_encoding(event) is not None


@cache
def encoded() -> tuple[dict[str, bool], dict[str, Any]]:
    """Return libpfm4's PMUs, and what it makes of a few names."""
    names = ["power9::PM_INST_CMPL", "skl::NO_SUCH_EVENT", "skl::L1D:NO_SUCH_MASK"]
    names += ["skx::BR_INST_RETIRED:CONDITIONAL",
              "amd64_fam19h_zen3::RETIRED_CONDITIONAL_BRANCH_INSTRUCTIONS"]  # fmt: skip
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
    standard = presets.meanings()
    assert all(name.startswith("PAPI_") for name in standard)
    assert list(standard) == sorted(standard)
    for family in presets.families():
        assert {preset.name for preset in family.presets} >= set(standard)
        assert len({preset.name for preset in family.presets}) == len(family.presets)
        for preset in family.presets:
            assert preset.description
            assert bool(preset.events) != bool(preset.reason)
            assert bool(preset.kind) == bool(preset.definition) == bool(preset.events)
            assert (preset.family, preset.pmus) == (family.name, family.pmus)
    assert list(FAMILIES)[-1] == "generic"
    assert presets.names() == tuple(FAMILIES)


def test_no_pmu_is_of_two_families() -> None:
    pmus = [pmu for _, pmu in PAIRS]
    assert len(pmus) == len(set(pmus))
    assert presets.by_pmu() == {pmu: family for family, pmu in PAIRS}


def test_double_precision_operations_of_intel() -> None:
    """Vector instructions count once for each of their lanes (Intel SDM, FP_ARITH_INST_RETIRED)."""
    preset = presets.family(presets.by_pmu()["skx"]).preset("PAPI_DP_OPS")
    assert preset is not None
    factors = preset.program.factors(len(preset.events))
    assert factors is not None
    lanes = dict(zip(preset.events, factors, strict=True))
    for event, factor in {"SCALAR": 1, "128B_PACKED": 2, "256B_PACKED": 4}.items():
        assert lanes[f"FP_ARITH_INST_RETIRED:{event}_DOUBLE"] == factor


def test_generic_events_have_kernel_names() -> None:
    for preset in FAMILIES["generic"].presets:
        assert all(is_generic(event) for event in preset.events), preset.name


@pytest.mark.parametrize(("family", "pmu"), PAIRS)
def test_what_is_counted_is_what_the_files_say(family: str, pmu: str) -> None:
    """The build makes a table of the files, by which names are resolved."""
    cpu = CpuComponent(Path("/nothing"), {"cpu": pmu})
    is_known = pmu in {one.name for one in libpfm_pmus()}
    for preset in FAMILIES[family].presets:
        if not preset.events:
            with pytest.raises(EventUnavailableError) as caught:
                presets.resolve(preset.name, cpu)
            assert caught.value.reason == preset.reason
            continue
        if not is_known:  # only the kernel's generic names mean anything then
            continue
        if not all(is_in_libpfm(f"{pmu}::{name}") for name in preset.events):
            with pytest.raises(EventUnavailableError, match="newer libpfm4"):
                presets.resolve(preset.name, cpu)
            continue
        (event,) = presets.resolve(preset.name, cpu)
        assert event.info[:1] == (preset.name,)
        assert event.info[2:4] == (preset.description, preset.unit)
        factors = preset.program.factors(len(preset.events))
        if factors is not None:
            # Names that libpfm4 has for one event are one term each, as they stand in the file.
            assert [term.factor for term in event.spec.terms] == [f for f in factors if f]
        else:
            assert event.spec.formula.infix() == preset.program.infix()


# --- libpfm4 --------------------------------------------------------------------------------------


def test_names_that_do_not_exist_are_refused() -> None:
    _, codes = encoded()
    refused = ["skl::NO_SUCH_EVENT", "skl::L1D:NO_SUCH_MASK"]
    if "power9" not in {pmu.name for pmu in libpfm_pmus()}:
        # Debian's table for x86 has no other architecture's.
        refused.append("power9::PM_INST_CMPL")
    assert all(isinstance(codes[name], str) and codes[name] for name in refused)


@pytest.mark.skipif(not X86, reason="libpfm4's package has the tables of x86 on x86 only")
def test_event_of_another_cpu_is_unavailable_not_unknown() -> None:
    # AMD's K7 has no 64 bits, and so is never this machine's. Its table is among the first: with
    # LIBPFM_FORCE_PMU libpfm4 has those that come before the PMU it is told to take.
    done = run_with({}, "events", "--check", "--json", "amd64_k7::CPU_CLK_UNHALTED")
    (row,) = json.loads(done.stdout)["events"]
    assert not row["available"]
    assert "which this machine does not have" in row["reason"]


@pytest.mark.skipif(not X86, reason="libpfm4's package has the tables of x86 on x86 only")
def test_forced_pmu_that_libpfm4_has_not() -> None:
    """It then succeeds, and knows no PMU at all: nothing may resolve, and nothing may break."""
    forced = {"LIBPFM_FORCE_PMU": "ultra12"}  # a SPARC
    done = run_with(forced, "count", "-e", "Dispatch0_IC_miss", "--", "true")
    assert done.returncode == 2
    assert done.stderr.startswith(
        "gnomon: event 'Dispatch0_IC_miss': no event, preset or tracepoint"
    )
    for command in (["components"], ["events", "page"], ["doctor"]):
        done = run_with(forced, *command)
        assert (done.returncode, done.stderr) == (0, "")
    done = run_with(forced, "events", "PAPI_TOT_INS")
    assert "PAPI_TOT_INS" in done.stdout


@pytest.mark.skipif(not X86, reason="libpfm4's package has the tables of x86 on x86 only")
@pytest.mark.parametrize(
    ("pmu", "here", "missing"),
    [("skx", ["PAPI_DP_OPS", "PAPI_L2_TCM"], []), ("spr", ["PAPI_LD_INS"], []),
     ("amd64_fam19h_zen3", ["PAPI_BR_CN"], ["PAPI_DP_OPS", "PAPI_REF_CYC"])],
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


HYBRID = Path(__file__).parents[2] / "golden" / "sysfs-hybrid"
ATOM, CORE = 10, 4  # the numbers of the PMUs in that tree


def test_hybrid_cpu_has_one_preset_for_each_kind_of_core() -> None:
    found = presets.resolve("PAPI_TOT_CYC:u", CpuComponent(HYBRID, {}))
    assert [event.name for event in found] == ["PAPI_TOT_CYC:u@cpu_atom", "PAPI_TOT_CYC:u@cpu_core"]
    assert [event.spec.terms[0].encoding.config >> 32 for event in found] == [ATOM, CORE]
    assert {event.info.name for event in found} == {"PAPI_TOT_CYC"}


def test_one_kind_of_core_can_be_chosen() -> None:
    hybrid = CpuComponent(HYBRID, {})
    (event,) = presets.resolve("PAPI_TOT_CYC:u@cpu_core", hybrid)
    assert event.name == "PAPI_TOT_CYC:u@cpu_core"
    assert event.spec.terms[0].encoding.config >> 32 == CORE
    with pytest.raises(EventNameError, match="no core PMU 'cpu_atoll'; did you mean cpu_atom"):
        presets.resolve("PAPI_TOT_CYC@cpu_atoll", hybrid)
    (event,) = presets.resolve("PAPI_TOT_CYC@cpu", CpuComponent(Path("/nothing"), {}))
    assert event.name == "PAPI_TOT_CYC@cpu"


@pytest.mark.skipif(not X86, reason="libpfm4's package has the tables of x86 on x86 only")
def test_each_kind_of_core_takes_its_own_family() -> None:
    """libpfm4 4.13 knows no hybrid CPU: two models that it knows stand for the kinds of cores."""
    hybrid = CpuComponent(HYBRID, {"cpu_core": "skx", "cpu_atom": "amd64_fam19h_zen3"})
    names = {preset.family for preset in presets.of_this_machine(hybrid)}
    assert names == {presets.by_pmu()["skx"], presets.by_pmu()["amd64_fam19h_zen3"]}
    atom, core = presets.resolve("PAPI_BR_CN", hybrid)
    assert (atom.name, core.name) == ("PAPI_BR_CN@cpu_atom", "PAPI_BR_CN@cpu_core")
    _, codes = encoded()
    for event, model, number in ((atom, "amd64_fam19h_zen3", ATOM), (core, "skx", CORE)):
        preset = presets.family(presets.by_pmu()[model]).preset("PAPI_BR_CN")
        assert preset is not None
        code = codes[f"{model}::{preset.events[0]}"]
        encoding = event.spec.terms[0].encoding
        # A raw code is one of the kind's own PMU there.
        assert (encoding.type, encoding.config) == (number, code[1])


def test_models_of_a_core_are_those_that_encode_for_its_number() -> None:
    """What libpfm4 finds here encodes for the raw PMU, whose number is the other kind's."""
    (atom, core) = core_types.cores(HYBRID)
    assert (atom.name, core.name, atom.is_alone) == ("cpu_atom", "cpu_core", False)
    assert atom.models == ()
    (only,) = core_types.cores(Path("/nothing"))
    assert (only.name, only.pmu, only.is_alone) == ("cpu", None, True)


@pytest.mark.skipif(not X86, reason="libpfm4's package has the tables of x86 on x86 only")
def test_kind_of_core_without_the_event_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('pmus = ["skx"]\n[preset.PAPI_MINE]\nevents = ["BR_INST_RETIRED"]\n')
    monkeypatch.setenv("GNOMON_PRESETS", str(path))
    hybrid = CpuComponent(HYBRID, {"cpu_core": "skx", "cpu_atom": "knl"})
    found = presets.find("PAPI_MINE", hybrid)
    assert [event.name for event in found.events] == ["PAPI_MINE@cpu_core"]
    (missing,) = found.unavailable
    assert missing.event == "PAPI_MINE@cpu_atom"
    assert missing.reason
    assert missing.remedy


def test_arm64_takes_the_kernels_events() -> None:
    arm = CpuComponent(Path(__file__).parents[2] / "golden" / "sysfs-arm64", {})
    (event,) = presets.resolve("PAPI_TOT_INS", arm)
    assert event.name == "PAPI_TOT_INS"
    assert event.spec.terms[0].encoding.config == 1


def test_generic_sum_is_one_read() -> None:
    """A sum stays a plain count: its native events and their factors, and no formula."""
    (event, *_) = presets.resolve("PAPI_L1_DCA", CpuComponent(Path("/nothing"), {}))
    assert len(event.spec.terms) >= 1
    assert all(term.factor == 1 for term in event.spec.terms)
    assert (event.spec.formula, event.is_derived) == (None, False)


def test_preset_without_an_event_says_why() -> None:
    lacking = [preset for preset in presets.of_this_machine() if not preset.events]
    if not lacking:
        pytest.skip("this machine's PMU has an event for every preset")
    with pytest.raises(EventUnavailableError) as caught:
        presets.resolve(lacking[0].name, CpuComponent())
    assert caught.value.reason == lacking[0].reason
    assert "gnomon events --component cpu" in caught.value.remedy
    state = presets.availability(lacking[0])
    assert (state.available, state.reason) == (False, lacking[0].reason)


# --- availability ---------------------------------------------------------------------------------


def test_availability_is_found_by_opening(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(
        '[preset.MINE]\nevents = ["page-faults", "task-clock"]\nformula = "N0 / N1"\n'
        '[preset.ELSEWHERE]\nevents = ["no_such_event_at_all"]\n'
    )
    monkeypatch.setenv("GNOMON_PRESETS", str(path))
    mine, elsewhere = (p for p in presets.of_this_machine() if p.is_users)
    assert presets.availability(mine).available
    state = presets.availability(elsewhere)
    assert not state.available
    assert "no_such_event_at_all" in state.reason
    assert state.remedy
    cpu = CpuComponent()
    preset = next(p for p in presets.of_this_machine() if p.name == "PAPI_TOT_INS")
    here = cpu.availability()
    state = presets.availability(preset, cpu)
    assert state.available == here.available
    if not state.available:
        assert (state.reason, state.errno) == (here.reason, here.errno)
        assert state.errno


def test_a_preset_of_another_pmu_is_not_here() -> None:
    family = next(f for f in presets.families() if f.name not in {
        p.family for p in presets.of_this_machine()})  # fmt: skip
    preset = next(p for p in family.presets if p.events)
    state = presets.availability(preset)
    assert not state.available
    assert "another PMU" in state.reason


# --- names ----------------------------------------------------------------------------------------


def test_a_native_event_is_no_preset() -> None:
    with pytest.raises(NotPresetError, match="component kernel") as caught:
        presets.preset_of("page-faults")
    assert caught.value.papi_name == "PAPI_ENOTPRESET"
    with pytest.raises(EventNameError) as unknown:
        presets.preset_of("no_such_thing")
    assert unknown.value.papi_name == "PAPI_ENOEVNT"
    assert presets.preset_of("PAPI_TOT_INS:u").name == "PAPI_TOT_INS"


def test_event_of_cpu_component_is_no_preset() -> None:
    with pytest.raises(NotPresetError, match="component cpu"):
        presets.preset_of("cycles")


def test_unknown_event_gets_a_preset_as_suggestion() -> None:
    with pytest.raises(EventNameError) as caught:
        one("PAPI-TOT-INS")
    assert "PAPI_TOT_INS" in caught.value.suggestions


# --- values ---------------------------------------------------------------------------------------


def spec(text: str, natives: int) -> PerfSpec:
    return PerfSpec(tuple(Term(1, Encoding(1, at)) for at in range(natives)),
                    formula=parse(text, natives))  # fmt: skip


def test_formula_of_scaled_counts() -> None:
    """Natives that were multiplexed apart enter scaled, and the value shows it."""
    count = combine(spec("N0 / N1", 2), [(10, 1000, 500), (5, 1000, 250)])
    assert count == RawCount(0, 1000, 250, 1.0)
    together = combine(spec("N0 / N1", 2), [(10, 1000, 1000), (4, 1000, 1000)])
    assert together == RawCount(0, 1000, 1000, 2.5)
    assert combine(spec("N0 / seconds", 1), [(10, 2 * 10**9, 10**9)]).derived == 10
    assert combine(spec("N0 / N1", 2), [(10, 1000, 1000), (0, 1000, 1000)]).derived is None


def test_formula_with_a_native_that_never_ran() -> None:
    count = combine(spec("N0 + 0.5*N1", 2), [(10, 1000, 1000), (0, 1000, 0)])
    assert count == RawCount(0, 1000, 0)


def test_linear_sums_stay_whole() -> None:
    terms = (Term(1, Encoding(1, 0)), Term(-3, Encoding(1, 1)))
    assert combine(PerfSpec(terms), [(2**60 + 1, 9, 9), (1, 9, 9)]) == RawCount(2**60 - 2, 9, 9)
    assert combine(PerfSpec(terms), [(1, 9, 9), (2, 9, 9)]).raw == -5
    assert PerfSpec(terms[:1]).is_native
    assert not spec("N0/seconds", 1).is_native


def test_derived_values_are_typed() -> None:
    event = Event("X", EventInfo("X", "cpu", "", "/s", Scope.THREAD), Domain.ALL, None,
                  is_derived=True)  # fmt: skip
    value = make_value(event, 0, 1000, 500, -2.75)
    assert (value.value, value.derived, value.is_negative) == (-2.75, -2.75, True)
    assert (value.how, value.scale, value.unit) == (How.SCALED, 2.0, "/s")
    missing = make_value(event, 0, 1000, 1000, None)
    assert (missing.value, missing.is_negative) == (None, False)
    reading = make_reading((event, event._replace(is_derived=False)),
                           [RawCount(0, 9, 9, 0.25), RawCount(-7, 9, 9)])  # fmt: skip
    assert (reading[0].value, reading[1].value, reading[1].is_negative) == (0.25, -7, True)
    assert reading.raw(1) == -7
