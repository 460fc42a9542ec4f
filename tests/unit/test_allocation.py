"""What fits on a PMU and what does not: against a brute force, and as the vendors document it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, product
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnomon.counters.allocation import CorePmu, addable, at_hand, fits, groups, named
from gnomon.counters.allocation.constraints import generic_name
from gnomon.counters.allocation.pmus import resolve_on
from gnomon.counters.allocation.tables import Bits, Condition, Family, Rule, Shared, shipped
from gnomon.counters.component import Event, EventInfo
from gnomon.counters.components.cpu import CpuComponent
from gnomon.counters.perf import PerfSpec, Term
from gnomon.counters.pmu import Encoding
from gnomon.counters.resolve import resolve
from gnomon.errors import EventNameError, EventUnavailableError, UsageError
from gnomon.model.value import Domain, Scope

RAW = 4
CODE = Bits(False, tuple(range(8)))
SETTING = Bits(True, tuple(range(8)))


def event(name: str, *codes: tuple[int, int], group: int | None = None) -> Event:
    """Return an event made of raw (config, config1) codes."""
    terms = tuple(Term(1, Encoding(RAW, config, config1)) for config, config1 in codes)
    info = EventInfo(name, "cpu", "", "", Scope.THREAD)
    return Event(name, info, Domain.ALL, PerfSpec(terms, hardware=True), group=group)


class Kind(NamedTuple):
    """A kind of event of an invented PMU: where it can go, and whether it wants the register."""

    places: tuple[tuple[int, ...], ...]
    is_sharing: bool


class Invented(NamedTuple):
    """An invented PMU, as it is and as the tables say it."""

    kinds: tuple[Kind, ...]
    registers: int
    pmu: CorePmu


def invent(counters: int, kinds: Sequence[Kind], registers: int) -> Invented:
    def is_code(*codes: int) -> Condition:
        return Condition(((CODE, tuple((code, code) for code in codes)),))

    sharing = [at for at, kind in enumerate(kinds) if kind.is_sharing]
    family = Family(
        name="invented",
        title="an invented PMU",
        source="this test",
        pmus=("invented",),
        kernel=(),
        counters=tuple(f"C{at}" for at in range(counters)),
        general=counters,
        with_smt=counters,
        number=None,
        watchdog=None,
        same={},
        generic={},
        rules=tuple(Rule(is_code(at), kind.places) for at, kind in enumerate(kinds)),
        shared=(Shared("the register", is_code(*sharing), SETTING, registers),) if sharing else (),
        needs=(),
    )
    return Invented(
        tuple(kinds), registers, CorePmu("invented", "", family, frozenset(range(counters)))
    )


def places_of(counters: int) -> st.SearchStrategy[tuple[tuple[int, ...], ...]]:
    single = st.sets(st.integers(0, counters - 1), min_size=1).map(
        lambda own: tuple((one,) for one in sorted(own))
    )
    pairs = tuple((at, at + 1) for at in range(0, counters - 1, 2))
    return st.one_of(single, single, st.just(pairs)) if pairs else single


invented = st.tuples(st.integers(1, 4), st.integers(1, 2)).flatmap(
    lambda size: st.lists(
        st.builds(Kind, places_of(size[0]), st.booleans()), min_size=1, max_size=4
    ).map(lambda kinds: invent(size[0], kinds, size[1]))
)


def drawn_events(
    data: st.DataObject, machine: Invented, most: int, *, braces: bool = False
) -> list[Event]:
    code = st.tuples(st.integers(0, len(machine.kinds) - 1), st.integers(0, 2))
    made_of = st.lists(code, min_size=1, max_size=2)
    brace = st.sampled_from([None, None, 0, 1]) if braces else st.none()
    drawn = data.draw(st.lists(st.tuples(made_of, brace), max_size=most), label="events")
    return [event(f"e{at}", *codes, group=g) for at, (codes, g) in enumerate(drawn)]


def does_fit(machine: Invented, events: Sequence[Event]) -> bool:
    """Return whether events fit, by trying every way to place them."""
    codes = [(t.encoding.config, t.encoding.config1) for e in events for t in e.spec.terms]
    wanted = {config1 for config, config1 in codes if machine.kinds[config].is_sharing}
    if len(wanted) > machine.registers:
        return False
    for way in product(*(machine.kinds[config].places for config, _ in codes)):
        used = [counter for place in way for counter in place]
        if len(set(used)) == len(used):
            return True
    return False


@given(invented, st.data())
def test_fits_is_what_trying_everything_says(machine: Invented, data: st.DataObject) -> None:
    events = drawn_events(data, machine, 4)
    fit = fits(events, (machine.pmu,))
    assert fit.fits == does_fit(machine, events)
    if fit.fits:
        assert (fit.conflict, fit.why) == ((), "")
        natives = [(at, n) for at, e in enumerate(events) for n in range(len(e.spec.terms))]
        assert [(place.event, place.native) for place in fit.placed] == natives
        used = [counter for place in fit.placed for counter in place.counters]
        assert len(set(used)) == len(used)
        for place in fit.placed:
            kind = machine.kinds[events[place.event].spec.terms[place.native].encoding.config]
            assert tuple(int(counter[1:]) for counter in place.counters) in kind.places


@given(invented, st.data())
def test_a_conflict_is_as_small_as_can_be(machine: Invented, data: st.DataObject) -> None:
    events = drawn_events(data, machine, 5)
    fit = fits(events, (machine.pmu,))
    if fit.fits:
        return
    blamed = [events[at] for at in fit.conflict]
    assert not does_fit(machine, blamed)
    for without in range(len(blamed)):
        assert does_fit(machine, blamed[:without] + blamed[without + 1 :])
    for one in blamed:
        assert one.name in fit.why
    assert fit.remedy


@given(invented, st.data())
def test_what_fits_fits_without_any_of_its_events(machine: Invented, data: st.DataObject) -> None:
    events = drawn_events(data, machine, 4)
    if fits(events, (machine.pmu,)).fits:
        for size in range(len(events)):
            for some in combinations(events, size):
                assert fits(some, (machine.pmu,)).fits


@given(invented, st.data())
def test_addable_is_what_still_fits(machine: Invented, data: st.DataObject) -> None:
    chosen = drawn_events(data, machine, 2)
    candidates = drawn_events(data, machine, 4)
    found = addable(chosen, candidates, (machine.pmu,))
    for at, candidate in enumerate(candidates):
        assert (at in found) == does_fit(machine, [*chosen, candidate])


# --- groups ---------------------------------------------------------------------------------------


def units_of(events: Sequence[Event]) -> list[tuple[int, ...]]:
    units: dict[object, list[int]] = {}
    for at, one in enumerate(events):
        units.setdefault((at,) if one.group is None else one.group, []).append(at)
    return [tuple(unit) for unit in units.values()]


def partitions(units: list[tuple[int, ...]]) -> list[list[list[tuple[int, ...]]]]:
    if not units:
        return [[]]
    found = []
    for rest in partitions(units[1:]):
        found.append([[units[0]], *rest])
        for at in range(len(rest)):
            found.append([*rest[:at], [units[0], *rest[at]], *rest[at + 1 :]])
    return found


def fewest_groups(machine: Invented, events: Sequence[Event], limit: int | None) -> int:
    def is_good(part: list[tuple[int, ...]]) -> bool:
        size = sum(len(unit) for unit in part)
        within = limit is None or len(part) == 1 or size <= limit
        return within and does_fit(machine, [events[at] for unit in part for at in unit])

    units = units_of(events)
    possible = [u for u in units if does_fit(machine, [events[at] for at in u])]
    best = min(len(p) for p in partitions(possible) if all(is_good(part) for part in p))
    return best + len(units) - len(possible)


@settings(max_examples=200)
@given(invented, st.data(), st.none() | st.integers(1, 3))
def test_groups_are_valid_and_the_fewest(
    machine: Invented, data: st.DataObject, limit: int | None
) -> None:
    events = drawn_events(data, machine, 6, braces=True)
    found = groups(events, limit, (machine.pmu,))
    assert sorted(at for group in found for at in group) == list(range(len(events)))
    assert [group[0] for group in found] == sorted(group[0] for group in found)
    for group in found:
        assert list(group) == sorted(group)
        units = [unit for unit in units_of(events) if set(unit) & set(group)]
        assert all(set(unit) <= set(group) for unit in units)  # braces stay together
        if len(units) > 1:
            assert does_fit(machine, [events[at] for at in group])
            assert limit is None or len(group) <= limit
    assert len(found) == fewest_groups(machine, events, limit)
    assert found == groups(events, limit, (machine.pmu,))


def test_groups_keep_the_order_where_they_can() -> None:
    pmu = named("arm_n1")
    events = [event(f"e{at}", (at + 1, 0)) for at in range(13)]
    assert groups(events, pmus=(pmu,)) == (tuple(range(6)), tuple(range(6, 12)), (12,))
    assert groups(events, 4, (pmu,)) == ((0, 1, 2, 3), (4, 5, 6, 7), (8, 9, 10, 11), (12,))
    with pytest.raises(ValueError, match="limit"):
        groups(events, 0, (pmu,))


def test_many_events_are_grouped_as_few_as_their_counters_allow() -> None:
    """64 events of which a quarter can be on one counter only: 16 groups, and no fewer."""
    pmu = named("skx")
    tied = [event(f"tied{at}", (0x1C0 | at << 24, 0)) for at in range(16)]
    free = [event(f"free{at}", (at + 0x10, 0)) for at in range(48)]
    mixed = [one for four in zip(tied, *[iter(free)] * 3, strict=True) for one in four]
    for given_events in ([*tied, *free], [*free, *tied], mixed):
        found = groups(given_events, pmus=(pmu,))
        assert len(found) == 16
        for group in found:
            assert fits([given_events[at] for at in group], (pmu,)).fits


def test_what_never_fits_is_a_group_of_its_own() -> None:
    pmu = named("slm")
    events = [
        event("a", (0x2E, 0), group=0), event("b", (0x2F, 0), group=0),
        event("c", (0x3A, 0), group=0), event("d", (0x3B, 0)),
    ]  # fmt: skip
    assert groups(events, pmus=(pmu,)) == ((0, 1, 2), (3,))


def test_software_events_have_no_limit_and_stay_where_they_are_bound() -> None:
    software = resolve("page-faults,context-switches,{task-clock,minor-faults}").events
    assert fits(software, ()).fits
    assert fits(software, ()).unlimited == (0, 1, 2, 3)
    assert groups(software, pmus=()) == ((0, 1, 2, 3),)
    many = [software[0]] * 500
    assert fits(many, (named("skx"),)).fits
    # Bound by braces to an event of the second group, a software event goes there.
    pmu = named("slm")
    hardware = [event("a", (1, 0)), event("b", (2, 0)), event("c", (3, 0), group=7)]
    bound = [*hardware, software[0]._replace(group=7), software[1]]
    assert groups(bound, pmus=(pmu,)) == ((0, 1, 4), (2, 3))


def test_nothing_asked_is_nothing_refused() -> None:
    assert fits((), (named("skx"),)).fits
    assert groups((), pmus=(named("skx"),)) == ()
    assert addable((), (), (named("skx"),)) == ()


# --- as the vendors and the kernel document it ----------------------------------------------------


def on(pmu: CorePmu, *names: str) -> list[Event]:
    return [one for name in names for one in resolve_on(pmu, name)]


def conflict(pmu: CorePmu, *names: str) -> tuple[str, ...]:
    events = on(pmu, *names)
    return tuple(events[at].name for at in fits(events, (pmu,)).conflict)


GENERAL = ("branches", "branch-misses", "cache-references", "cache-misses", "bus-cycles")


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
    # What belongs together stays together in turns.
    events = on(pmu, "r16080", "r100fc", "r46080")
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


# --- which PMU is meant ---------------------------------------------------------------------------


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


def test_hybrid_cores_are_told_apart_by_their_pmus(tmp_path: Path) -> None:
    files = {}
    for name, number in (("cpu_core", 4), ("cpu_atom", 10)):
        files[f"{DEVICES}/{name}/type"] = f"{number}\n"
        files[f"{DEVICES}/{name}/cpus"] = "0-7\n"
        files[f"{DEVICES}/{name}/caps/pmu_name"] = "alderlake_hybrid\n"
    found = at_hand(recorded(tmp_path, files))
    assert {one.name: (one.family.name, one.kernel_types) for one in found} == {
        "cpu_core": ("intel_goldencove", (4,)),
        "cpu_atom": ("intel_gracemont", (10,)),
    }


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


def test_names_are_looked_up_on_the_pmu_that_was_asked_for() -> None:
    pmu = named("skx")
    (found,) = resolve_on(pmu, "L1D:REPLACEMENT:u")
    assert (found.spec.terms[0].encoding.config, found.domain) == (0x151, Domain.USER)
    assert resolve_on(pmu, "skx::L1D:REPLACEMENT")[0].spec == resolve_on(pmu, "r151")[0].spec
    for wrong in ("no-such-event", "icl::L1D:REPLACEMENT", "cpu/event=1/", "L1D:NONSENSE"):
        with pytest.raises(EventNameError):
            resolve_on(pmu, wrong)
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
        assert set(family.generic) <= {*known, *(f"{c}-{w}" for c in ("L1-icache",) for w in ("stores",))}
