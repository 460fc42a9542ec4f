"""Which events an emulated PMU has: names of perf and PAPI, each a sum of quantities."""

from __future__ import annotations

import re
from collections.abc import Iterable

from gnomon.counters.component import Event, EventInfo
from gnomon.counters.emulation.engine import EXACT, EmulatedCount
from gnomon.counters.event_grammar import modifiers
from gnomon.counters.name_suggestions import nearest
from gnomon.errors import EventNameError, EventUnavailableError
from gnomon.model.value import Domain, How, Scope
from gnomon.named_tuple import NamedTuple

COMPONENT = "emulated"
_Q = EmulatedCount


class EmulatedEvent(NamedTuple):
    """An event: the quantities that it is the sum of, and what it means."""

    name: str
    quantities: tuple[EmulatedCount, ...]
    description: str

    @property
    def is_exact(self) -> bool:
        """Whether it is a fact of the program and not of a simulated cache or predictor."""
        return EXACT.issuperset(self.quantities)


_MISPREDICTED = "conditional and indirect branches predicted wrongly"
_LOADS = "instructions that load; one that also stores to the same place counts here only"
_STORES = "instructions that store"
_FETCHES = "level 1 instruction cache accesses, one for each instruction"
_L1_MISSES = (_Q.L1_LOAD_MISSES, _Q.L1_STORE_MISSES)
_LL_ACCESSES = (_Q.L1_INSTRUCTION_MISSES, *_L1_MISSES)
_LL_MISSES = (_Q.LL_INSTRUCTION_MISSES, _Q.LL_LOAD_MISSES, _Q.LL_STORE_MISSES)
_ACCESSES = (_Q.LOADS, _Q.STORES)
_BRANCH_MISSES = (_Q.CONDITIONAL_MISSES, _Q.INDIRECT_MISSES)

EVENTS = tuple(
    EmulatedEvent(*row)
    for row in (
        ("PAPI_TOT_INS", (_Q.INSTRUCTIONS,), "instructions executed"),
        ("PAPI_LD_INS", (_Q.LOADS,), _LOADS),
        ("PAPI_SR_INS", (_Q.STORES,), _STORES),
        ("PAPI_BR_CN", (_Q.CONDITIONAL_BRANCHES,), "conditional branches"),
        ("PAPI_BR_MSP", _BRANCH_MISSES, _MISPREDICTED),
        ("PAPI_L1_DCA", _ACCESSES, "level 1 data cache accesses"),
        ("PAPI_L1_DCM", _L1_MISSES, "level 1 data cache misses"),
        ("PAPI_L1_ICM", (_Q.L1_INSTRUCTION_MISSES,), "level 1 instruction cache misses"),
        ("PAPI_L3_TCA", _LL_ACCESSES, "last-level cache accesses"),
        ("PAPI_L3_TCM", _LL_MISSES, "last-level cache misses"),
        ("PAPI_LST_INS", _ACCESSES, "instructions that load, store or both, each once"),
        ("PAPI_L1_DCR", (_Q.LOADS,), "level 1 data cache reads"),
        ("PAPI_L1_DCW", (_Q.STORES,), "level 1 data cache writes"),
        ("PAPI_L1_ICA", (_Q.INSTRUCTIONS,), _FETCHES),
        ("PAPI_L1_ICR", (_Q.INSTRUCTIONS,), _FETCHES),
        ("PAPI_L1_TCA", (_Q.INSTRUCTIONS, *_ACCESSES), "level 1 cache accesses"),
        ("PAPI_L1_TCR", (_Q.INSTRUCTIONS, _Q.LOADS), "level 1 cache reads"),
        ("PAPI_L1_TCW", (_Q.STORES,), "level 1 cache writes"),
        ("PAPI_L1_LDM", (_Q.L1_LOAD_MISSES,), "level 1 load misses"),
        ("PAPI_L1_STM", (_Q.L1_STORE_MISSES,), "level 1 store misses"),
        ("PAPI_L1_TCM", _LL_ACCESSES, "level 1 cache misses"),
        ("PAPI_L3_DCA", _L1_MISSES, "last-level cache accesses for data"),
        ("PAPI_L3_DCR", (_Q.L1_LOAD_MISSES,), "last-level cache reads of data"),
        ("PAPI_L3_DCW", (_Q.L1_STORE_MISSES,), "last-level cache writes of data"),
        ("PAPI_L3_ICA", (_Q.L1_INSTRUCTION_MISSES,), "last-level cache accesses for instructions"),
        ("PAPI_L3_ICR", (_Q.L1_INSTRUCTION_MISSES,), "last-level cache reads of instructions"),
        ("PAPI_L3_TCR", (_Q.L1_INSTRUCTION_MISSES, _Q.L1_LOAD_MISSES), "last-level cache reads"),
        ("PAPI_L3_TCW", (_Q.L1_STORE_MISSES,), "last-level cache writes"),
        ("PAPI_L3_DCM", _LL_MISSES[1:], "last-level cache misses of data"),
        ("PAPI_L3_ICM", _LL_MISSES[:1], "last-level cache misses of instructions"),
        ("PAPI_L3_LDM", (_Q.LL_LOAD_MISSES,), "last-level load misses"),
        ("PAPI_L3_STM", (_Q.LL_STORE_MISSES,), "last-level store misses"),
        ("instructions", (_Q.INSTRUCTIONS,), "instructions executed"),
        ("indirect-branches", (_Q.INDIRECT_BRANCHES,), "indirect jumps and calls, without returns"),
        ("branch-misses", _BRANCH_MISSES, _MISPREDICTED),
        ("cache-references", _LL_ACCESSES, "accesses to the last-level cache"),
        ("cache-misses", _LL_MISSES, "misses in the last-level cache"),
        ("L1-dcache-loads", (_Q.LOADS,), _LOADS),
        ("L1-dcache-load-misses", (_Q.L1_LOAD_MISSES,), "loads that missed in level 1"),
        ("L1-dcache-stores", (_Q.STORES,), _STORES),
        ("L1-dcache-store-misses", (_Q.L1_STORE_MISSES,), "stores that missed in level 1"),
        ("L1-icache-load-misses", (_Q.L1_INSTRUCTION_MISSES,), "fetches that missed in level 1"),
        ("LLC-loads", (_Q.L1_LOAD_MISSES,), "loads that came to the last-level cache"),
        ("LLC-load-misses", (_Q.LL_LOAD_MISSES,), "loads that missed in the last-level cache"),
        ("LLC-stores", (_Q.L1_STORE_MISSES,), "stores that came to the last-level cache"),
        ("LLC-store-misses", (_Q.LL_STORE_MISSES,), "stores that missed in the last-level cache"),
    )
)
_BY_NAME = {event.name.lower(): event for event in EVENTS}

# What is counted where nothing is chosen: each kind of trouble once.
DEFAULT = ("PAPI_TOT_INS", "PAPI_L1_DCM", "PAPI_L3_TCM", "PAPI_BR_MSP", "PAPI_LD_INS",
           "PAPI_SR_INS", "PAPI_L1_ICM", "PAPI_BR_CN", "indirect-branches")  # fmt: skip

_NATIVELY = "count it on a machine that has a PMU, without --pmu emulated"
# What an emulated PMU lacks by its nature: names, in full and in lower case, and why.
_LACKING = tuple(
    (re.compile(names), reason)
    for names, reason in (
        (r"papi_(tot_cyc|ref_cyc|mem_[rsw]cy|\w+_(ccy|icy|idl|stl|stal))|(cpu-|ref-|bus-)?cycles"
         r"|(stalled|idle)-cycles-(front|back)end|slots|topdown-.*",
         "an emulated PMU has no clock: cycles and stalls do not exist in it"),
        (r"papi_l2_\w+|l2-.*", "the emulated hierarchy has two levels, the first and the last"),
        (r"papi_tlb_\w+|[di]tlb-.*", "the emulated PMU simulates no TLB"),
        (r"papi_([dfhs]p_(ops|ins)|f(ad|dv|ma|ml|nv|sq)_ins|vec_\w+|int_ins)",
         "this engine does not tell floating-point and vector instructions from others"),
        (r"papi_(ca|csr)_\w+|papi_syc_ins", "one processor is emulated: none shares its caches"),
        (r"papi_prf_dm|.*-prefetch(es|-misses)", "the simulated caches fetch nothing ahead"),
        (r"papi_br_(ins|ucn)|branches|branch-instructions",
         "this engine counts no direct jumps, calls and returns; the branches that it counts are "
         "PAPI_BR_CN and indirect-branches"),
        (r".*/.*", "events of a certain machine's PMU do not exist on an emulated one"),
    )
)  # fmt: skip


def emulated_event(name: str) -> EmulatedEvent | None:
    """Return the event of that name (in any case), None if there is none."""
    return _BY_NAME.get(name.removeprefix(f"{COMPONENT}:::").lower())


def info(event: EmulatedEvent, name: str) -> EventInfo:
    """Return the row of `gnomon events` for an event, under a name."""
    how = "" if event.is_exact else " (simulated)"
    return EventInfo(name, COMPONENT, event.description + how, "", Scope.PROCESS, How.EMULATED)


def event_of(name: str) -> Event:
    """Return the emulated event of a name as people type it.

    Raises:
        EventUnavailableError: it exists, but an emulated PMU cannot count it.
        EventNameError: nothing has that name.
    """
    base, mods = modifiers(name)
    emulated = emulated_event(base)
    if emulated is None:
        raise _missing(name, base)
    if mods.domain not in (Domain.ALL, Domain.USER, Domain.USER_KERNEL):
        raise EventUnavailableError(
            name, "an emulated PMU runs the program's own code, never the kernel's", _NATIVELY
        )
    return Event(name, info(emulated, emulated.name), Domain.USER, emulated)


def _missing(name: str, base: str) -> EventUnavailableError | EventNameError:
    bare = base.removeprefix(f"{COMPONENT}:::")
    reason = None
    if not _is_no_preset(bare):
        reason = next((why for names, why in _LACKING if names.fullmatch(bare.lower())), None)
    if reason is None and bare == base:
        from gnomon.counters.event_resolver import one

        try:
            counted = one(name)
        except EventUnavailableError:
            reason = "the emulated PMU has no such event"
        except EventNameError:
            pass
        else:
            reason = "the emulated PMU has no such event"
            if counted[0].info.component != "cpu":
                reason = "beside an emulated program it would count the emulator"
    if reason is not None:
        return EventUnavailableError(name, reason, _NATIVELY)
    return EventNameError(
        name, "the emulated PMU has no such event (see gnomon events --component emulated)",
        nearest(bare, [event.name for event in EVENTS]),
    )  # fmt: skip


def _is_no_preset(name: str) -> bool:
    """Return whether a name looks like a preset's and is none."""
    if not name.upper().startswith("PAPI_"):
        return False
    from gnomon.counters import presets

    return name.upper() not in presets.meanings()


def sums(
    events: Iterable[EmulatedEvent], quantities: tuple[EmulatedCount, ...]
) -> tuple[tuple[int, ...], ...]:
    """Return for each event the places of its quantities in an engine's order."""
    at = {quantity: place for place, quantity in enumerate(quantities)}
    return tuple(tuple(at[one] for one in event.quantities) for event in events)
