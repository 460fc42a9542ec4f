"""Which PMU is meant: this machine's as the kernel shows it, or another one by its name."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from invented_pmus import event
from libpfm_tables import FORCED, needs_tables

from gnomon.counters.allocation import addable, at_hand, fits, groups, named
from gnomon.counters.allocation.constraint_graph import generic_name
from gnomon.counters.allocation.constraint_tables import shipped
from gnomon.counters.allocation.target_events import resolve_on
from gnomon.counters.allocation.target_pmus import enumerated
from gnomon.counters.components.cpu import CpuComponent
from gnomon.errors import EventNameError, EventUnavailableError, UsageError
from gnomon.model.value import Domain

pytestmark = pytest.mark.cpu


def recorded(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


DEVICES = "sys/bus/event_source/devices"


def test_the_kernels_words_tell_the_family(tmp_path: Path) -> None:
    root = recorded(
        tmp_path,
        {
            f"{DEVICES}/cpu/type": "4\n",
            f"{DEVICES}/cpu/caps/pmu_name": "skylake\n",
            "sys/devices/system/cpu/smt/control": "on\n",
            "proc/sys/kernel/nmi_watchdog": "1\n",
            "proc/cpuinfo": "processor : 0\n",
        },
    )
    (pmu,) = at_hand(root)
    assert (pmu.family.name, pmu.watchdog) == ("intel_skylake", True)
    assert pmu.counter_names(sorted(pmu.available))[:4] == ("PMC0", "PMC1", "PMC2", "PMC3")
    assert "PMC4" not in pmu.counter_names(sorted(pmu.available))
    (root / "sys/devices/system/cpu/smt/control").write_text("notsupported\n")
    assert "PMC7" in at_hand(root)[0].counter_names(sorted(at_hand(root)[0].available))


@pytest.mark.parametrize(
    ("pmu", "cpuinfo", "family"),
    [
        ("cpu", "processor : 0\ncpu : POWER9, altivec supported\n", "power9"),
        ("cpu", "processor : 0\ncpu : POWER10 (architected)\n", "power10"),
        ("armv8_pmuv3_0", "CPU implementer : 0x41\nCPU part : 0xd0c\n", "arm_pmuv3"),
        ("armv8_pmuv3_0", "CPU implementer : 0x46\nCPU part : 0x001\n", "arm_a64fx"),
    ],
)
def test_cpuinfo_tells_the_family(tmp_path: Path, pmu: str, cpuinfo: str, family: str) -> None:
    files = {f"{DEVICES}/{pmu}/type": "8\n", f"{DEVICES}/{pmu}/cpus": "0-3\n"}
    root = recorded(tmp_path, {**files, "proc/cpuinfo": cpuinfo})
    assert [one.family.name for one in at_hand(root)] == [family]


@pytest.mark.parametrize(
    ("caps", "strong", "weak"),
    [
        ("alderlake_hybrid", "intel_goldencove", "intel_gracemont"),
        ("meteorlake_hybrid", "intel_goldencove", "intel_crestmont"),
        ("lunarlake_hybrid", "intel_lioncove", "intel_skymont"),
    ],
)
def test_hybrid_cores_are_told_apart(tmp_path: Path, caps: str, strong: str, weak: str) -> None:
    files = {}
    for name, number in (("cpu_core", 4), ("cpu_atom", 10)):
        files[f"{DEVICES}/{name}/type"] = f"{number}\n"
        files[f"{DEVICES}/{name}/cpus"] = "0-7\n"
        files[f"{DEVICES}/{name}/caps/pmu_name"] = f"{caps}\n"
    found = at_hand(recorded(tmp_path, files))
    assert {one.name: (one.family.name, one.kernel_types) for one in found} == {
        "cpu_core": (strong, (4,)),
        "cpu_atom": (weak, (10,)),
    }


def test_what_the_processor_enumerates_bounds_the_counters() -> None:
    """A hypervisor that gives 4 general counters and 2 fixed ones; firmware that took half."""
    intel = named("icl").family
    few = enumerated(intel, lambda leaf, _: (0x04 << 8 | 2, 0, 0, 2) if leaf == 0xA else None)
    assert [intel.counters[at] for at in sorted(few)][:6] == [
        "PMC0", "PMC1", "PMC2", "PMC3", "FIXED0", "FIXED1",
    ]  # fmt: skip
    assert "FIXED2" not in [intel.counters[at] for at in few]
    amd = named("amd64_fam19h_zen4").family
    assert enumerated(amd, lambda leaf, _: (0, 4, 0, 0) if leaf >> 31 else None) == {0, 1, 2, 3}
    for family in (intel, amd, named("arm_n1").family):
        assert enumerated(family, lambda *_: None) == set(range(len(family.counters)))
        assert enumerated(family, lambda *_: (0, 0, 0, 0)) == set(range(len(family.counters)))


def test_an_unknown_pmu_counts_one_by_one_and_says_so(tmp_path: Path) -> None:
    root = recorded(tmp_path, {f"{DEVICES}/cpu/type": "4\n", "proc/cpuinfo": "cpu : odd\n"})
    (pmu,) = at_hand(root)
    events = [event("a", (1, 0)), event("b", (2, 0))]
    assert groups(events, pmus=(pmu,)) == ((0,), (1,))
    assert "no table" in fits(events[:1], (pmu,)).notes[0]


def test_a_machine_without_a_pmu_refuses_hardware_events(tmp_path: Path) -> None:
    assert at_hand(tmp_path) == ()
    with pytest.raises(EventUnavailableError, match="--pmu NAME"):
        fits([event("a", (1, 0))], ())
    assert groups([event("a", (1, 0)), event("b", (2, 0))], pmus=()) == ((0, 1),)
    assert addable((), [event("a", (1, 0))], ()) == ()


def test_a_wrong_name_is_told_the_right_ones() -> None:
    with pytest.raises(UsageError, match="did you mean amd64_fam1ah_zen5"):
        named("zen5")
    with pytest.raises(UsageError, match="did you mean skx"):
        named("skxx")
    with pytest.raises(UsageError, match="there are adl_glc"):
        named("?")


def test_a_pmu_without_a_table_has_counters_that_are_all_the_same() -> None:
    pmu = named("amd64_fam15h_interlagos")
    six = [event(str(at), (at, 0)) for at in range(6)]
    assert fits(six, (pmu,)).fits
    assert "6 counters that all do the same" in fits(six, (pmu,)).notes[0]
    assert not fits([*six, event("one more", (9, 0))], (pmu,)).fits


@needs_tables("skx", "icl")
def test_names_are_looked_up_on_the_pmu_that_was_asked_for() -> None:
    pmu = named("skx")
    (found,) = resolve_on(pmu, "L1D:REPLACEMENT:u")
    assert (found.spec.terms[0].encoding.config, found.domain) == (0x151, Domain.USER)
    assert resolve_on(pmu, "skx::L1D:REPLACEMENT")[0].spec == resolve_on(pmu, "r151")[0].spec
    for wrong in ("no-such-event", "icl::L1D:REPLACEMENT", "cpu/event=1/", "L1D:NONSENSE"):
        with pytest.raises(EventNameError):
            resolve_on(pmu, wrong)


@pytest.mark.skipif(FORCED in os.environ, reason=f"{FORCED} decides which tables there are")
def test_names_of_a_pmu_whose_table_libpfm4_lacks() -> None:
    with pytest.raises(EventUnavailableError, match="raw codes"):
        resolve_on(named("arm_xgene"), "CPU_CYCLES")


def test_generic_names_are_those_of_the_cpu_component(tmp_path: Path) -> None:
    cpu = CpuComponent(tmp_path)
    known = [info.name for info in cpu.events() if "::" not in info.name]
    assert len(known) > 40
    for name in known:
        (found,) = cpu.resolve(name)
        assert generic_name(found.spec.terms[0].encoding) == name
    for family in shipped():
        assert set(family.generic) <= set(known)
