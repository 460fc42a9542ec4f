"""What fits on real families of PMUs, as their vendors and the kernel document it."""

from __future__ import annotations

import pytest
from invented_pmus import event

from gnomon.counters.allocation import CorePmu, fits, groups, named, opening_order
from gnomon.counters.allocation.target_events import resolve_on
from gnomon.counters.component import Event, EventInfo
from gnomon.counters.perf_spec import PerfSpec
from gnomon.counters.sysfs_pmu import Encoding
from gnomon.model.value import Domain, Scope

GENERAL = ("branches", "branch-misses", "cache-references", "cache-misses", "bus-cycles")


def on(pmu: CorePmu, *names: str) -> list[Event]:
    return [one for name in names for one in resolve_on(pmu, name)]


def conflict(pmu: CorePmu, *names: str) -> tuple[str, ...]:
    events = on(pmu, *names)
    return tuple(events[at].name for at in fits(events, (pmu,)).conflict)


@pytest.mark.parametrize("name", ["skx", "hsw", "snb"])
def test_intel_until_skylake_has_four_general_counters_a_thread(name: str) -> None:
    pmu = named(name)
    assert conflict(pmu, *GENERAL) == GENERAL
    assert conflict(pmu, *GENERAL[:4], "cycles", "instructions", "ref-cycles") == ()
    alone = named(name, is_smt=False)
    assert conflict(alone, *GENERAL, "cycles", "instructions", "ref-cycles") == ()


def test_intel_fixed_counters_spill_over_to_general_ones() -> None:
    pmu = named("skx")
    assert conflict(pmu, "cycles", "cycles:u", "cycles:k", "instructions") == ()
    # The reference clock has no code that a general counter knows.
    assert conflict(pmu, "ref-cycles", "ref-cycles:u") == ("ref-cycles", "ref-cycles:u")
    # With a threshold or inverted it is no event of a fixed counter.
    assert conflict(pmu, "rc0", "r10001c0") == ()
    fit = fits(on(pmu, "r10000c0"), (pmu,))
    assert fit.placed[0].counters == ("PMC0",)


def test_intel_events_that_know_one_counter_only() -> None:
    assert conflict(named("skx"), "r1c0", "r1c0:u", "r3c") == ("r1c0", "r1c0:u")
    assert conflict(named("hsw"), "r148", "r8a3", "r2a3") == ("r148", "r8a3")
    assert conflict(named("spr"), "r4a4", "r8a4") == ("r4a4", "r8a4")


def test_intel_offcore_responses_share_two_registers() -> None:
    pmu = named("skx")
    loads = ("LLC-loads", "LLC-load-misses", "LLC-stores")
    assert conflict(pmu, *loads) == loads
    assert conflict(pmu, *loads[:2], "LLC-loads:u") == ()  # the same value twice is one
    fit = fits(on(pmu, *loads), (pmu,))
    assert "3 different settings of the offcore response registers" in fit.why
    assert "room for 2" in fit.why
    assert conflict(named("nhm"), *loads[:2]) == loads[:2]  # Nehalem has one


def test_intel_topdown_metrics_need_slots_beside_them() -> None:
    pmu = named("icl")
    alone = fits(on(pmu, "r8000"), (pmu,))
    assert not alone.fits
    assert "slots" in alone.why
    events = on(pmu, "r8000", "r8100", *GENERAL, "r400")
    assert fits(events, (pmu,)).fits
    assert groups(events, 3, (pmu,))[0] == (0, 1, 7)


@pytest.mark.parametrize(
    "name", ["amd64_fam17h_zen1", "amd64_fam17h_zen2", "amd64_fam19h_zen3", "amd64_fam19h_zen4"]
)
def test_amd_zen_has_six_counters_and_joins_two_for_flops(name: str) -> None:
    pmu = named(name)
    six = tuple(f"r{code}" for code in ("76", "c0", "c2", "c3", "60", "64"))
    assert conflict(pmu, *six) == ()
    assert conflict(pmu, *six, "r40") == (*six, "r40")
    assert conflict(pmu, "r3", "r3:u", "r3:k") == ()
    assert conflict(pmu, "rf03", "rf03:u", "r76", "rc0") == ()
    assert conflict(pmu, "rf03", "rf03:u", "r76", "rc0", "rc2") == (
        "rf03", "rf03:u", "r76", "rc0", "rc2",
    )  # fmt: skip
    events = on(pmu, "r3", "r3:u", "r3:k", "r76")
    assert "4 events, which take 7, for 6 counters" in fits(events, (pmu,)).why


def test_arm_has_its_counters_and_one_more_for_cycles() -> None:
    pmu = named("arm_n1")
    six = tuple(f"r{'0' * zeros}8" for zeros in range(6))
    assert conflict(pmu, *six, "cycles") == ()
    assert conflict(pmu, *six, "cycles", "cycles:u") == (*six, "cycles", "cycles:u")
    eight = (*six, "r00000008", "r000000008")
    assert conflict(named("arm_a64fx"), *eight, "cycles") == ()


def test_arm_chains_two_counters_for_64_bits() -> None:
    long = [event(f"long{at}", (0x8, 1)) for at in range(3)]
    short = [event("short", (0x8, 0))]
    cycles = [event(f"cycles{at}", (0x11, 1)) for at in range(2)]
    pmu = named("arm_n1")
    assert fits(long, (pmu,)).fits
    assert not fits(long + short, (pmu,)).fits
    assert fits(cycles[:1] + long, (pmu,)).fits
    assert not fits(cycles + long, (pmu,)).fits
    assert fits(cycles + long[:2], (pmu,)).fits
    newer = named("arm_n2")  # its counters have 64 bits
    assert fits(cycles + long + short, (newer,)).fits


@pytest.mark.parametrize("name", ["power8", "power9", "power10"])
def test_power_events_carry_the_number_of_their_counter(name: str) -> None:
    pmu = named(name)
    assert conflict(pmu, "r100fc", "r100f8") == ("r100fc", "r100f8")
    assert conflict(pmu, "r100fc", "r200fd", "r300fe", "r400f6", "r500fa", "r600f4") == ()
    assert conflict(pmu, "r500fb") == ("r500fb",)  # PMC5 counts run instructions alone
    assert conflict(pmu, "r70002") == ("r70002",)
    # Cycles of a task are run cycles too, so that PMC6 helps out.
    assert conflict(pmu, "r100fc", "r200fd", "r300fe", "r400f6", "r1e", "r2") == ()
    assert conflict(pmu, "r500fa", "r600f4", "r1e", "r2", "r100fc", "r200fd") == ()


def test_power9_marked_events_share_their_sampling_mode() -> None:
    pmu = named("power9")
    names = ("r1000101e0", "r2000201e4")  # PMC1 and PMC2, modes 0 and 0; other bits differ
    assert conflict(pmu, "r10101e0", "r20201e4") == ("r10101e0", "r20201e4")
    assert "sampling mode" in fits(on(pmu, "r10101e0", "r20201e4"), (pmu,)).why
    assert conflict(pmu, "r10101e0", "r10201e4") == ()
    assert conflict(pmu, *names) == ()


def test_power9_bus_events_need_their_bank_on_pmc4() -> None:
    pmu = named("power9")
    fit = fits(on(pmu, "r16080"), (pmu,))
    assert (fit.fits, fit.conflict) == (False, (0,))
    assert "PMC4" in fit.why
    assert conflict(pmu, "r16080", "r46080") == ()
    assert conflict(pmu, "r16082", "r46080") == ("r16082", "r46080")
    # What belongs together stays together in turns, and is opened so that the kernel takes it.
    events = on(pmu, "r16080", "r100fc", "r46080")
    assert opening_order(events, (pmu,)) == (2, 0, 1)
    assert groups(events, pmus=(pmu,)) == ((0, 2), (1,))


def test_a_preset_needs_all_its_native_events() -> None:
    pmu = named("skx")
    flops = event("flops", *[(0xC7 | mask << 8, 0) for mask in (1, 4, 0x10, 0x40)])
    others = on(pmu, "cycles", "branches")
    assert fits([flops, others[0]], (pmu,)).fits
    fit = fits([flops, *others], (pmu,))
    assert fit.conflict == (0, 2)
    assert "5 native events for 4 counters" in fit.why
    huge = event("huge", *[(code, 0) for code in range(0x10, 0x15)])
    assert "made of 5 native events" in fits([huge], (pmu,)).why


def test_the_nmi_watchdog_holds_a_counter() -> None:
    pmu = named("amd64_fam19h_zen3")
    six = tuple(f"r{code}" for code in ("76", "c0", "c2", "c3", "60", "64"))
    events = on(pmu, *six)
    watched = pmu._replace(watchdog=True)
    assert fits(events, (pmu,)).fits
    fit = fits(events, (watched,))
    assert not fit.fits
    assert "watchdog" in fit.why
    assert "nmi_watchdog=0" in fit.remedy
    assert len(groups(events, pmus=(watched,))) == 2
    # On Intel it counts cycles, which have a counter of their own.
    intel = named("skx")._replace(watchdog=True)
    assert fits(on(intel, *GENERAL[:4], "instructions"), (intel,)).fits
    assert not fits(on(intel, *GENERAL[:4], "cycles"), (intel,)).fits


def test_hybrid_cpus_count_each_kind_of_core_by_itself() -> None:
    strong, weak = named("adl_glc"), named("adl_grt")
    strong = strong._replace(name="cpu_core", kernel_types=(4,))
    weak = weak._replace(name="cpu_atom", kernel_types=(10,))

    def typed(kind: int, code: int) -> Event:
        info = EventInfo("", "cpu", "", "", Scope.THREAD)
        spec = PerfSpec.of(Encoding(kind, code), hardware=True)
        return Event(f"{kind}/{code:x}", info, Domain.ALL, spec)

    events = [typed(kind, 0x91 + at) for at in range(6) for kind in (4, 10)]
    fit = fits(events, (strong, weak))
    assert fit.fits
    assert {place.pmu for place in fit.placed} == {"cpu_core", "cpu_atom"}
    found = groups(events, pmus=(strong, weak))
    assert found == (tuple(range(0, 12, 2)), tuple(range(1, 12, 2)))
    assert not fits([*events, typed(10, 0xA1)], (strong, weak)).fits
    assert fits([*events, typed(4, 0xA1)], (strong, weak)).fits
    generic = Encoding(0, 10 << 32)
    assert weak.counts(generic, is_only=False)
    assert not strong.counts(generic, is_only=False)
