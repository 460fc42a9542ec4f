"""Invented PMUs and events for the tests of allocation, and what fits on them by brute force."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import NamedTuple

from hypothesis import strategies as st

from gnomon.counters.allocation import CorePmu, named
from gnomon.counters.allocation.constraint_tables import (
    Bits,
    Condition,
    PmuConstraints,
    Rule,
    SharedRegisters,
)
from gnomon.counters.component import Event, EventInfo
from gnomon.counters.perf_spec import PerfSpec, Term
from gnomon.counters.sysfs_pmu import Encoding
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
    """A kind of event of an invented PMU.

    Attributes:
        places: where it can go.
        is_sharing: it wants a value in the register.
        instead: how far on is the kind that can stand in for it, 0 for none.
    """

    places: tuple[tuple[int, ...], ...]
    is_sharing: bool
    instead: int


class Invented(NamedTuple):
    """An invented PMU, as it is and as the tables say it."""

    kinds: tuple[Kind, ...]
    registers: int
    pmu: CorePmu

    def codes(self, code: int) -> tuple[int, ...]:
        """Return the codes that count an event: its own, and one that may stand in for it."""
        return tuple(dict.fromkeys((code, (code + self.kinds[code].instead) % len(self.kinds))))


def invent(counters: int, kinds: Sequence[Kind], registers: int) -> Invented:
    def is_code(*codes: int) -> Condition:
        return Condition(((CODE, tuple((code, code) for code in codes)),))

    machine = Invented(tuple(kinds), registers, named("slm"))
    sharing = [at for at, kind in enumerate(kinds) if kind.is_sharing]
    family = PmuConstraints(
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
        same={at: machine.codes(at)[1:] for at in range(len(kinds))},
        generic={},
        rules=tuple(Rule(is_code(at), kind.places) for at, kind in enumerate(kinds)),
        shared=(SharedRegisters("the register", is_code(*sharing), SETTING, registers),)
        if sharing
        else (),
        needs=(),
    )
    pmu = CorePmu("invented", "", family, frozenset(range(counters)))
    return machine._replace(pmu=pmu)


def places_of(counters: int) -> st.SearchStrategy[tuple[tuple[int, ...], ...]]:
    single = st.sets(st.integers(0, counters - 1), min_size=1).map(
        lambda own: tuple((one,) for one in sorted(own))
    )
    pairs = tuple((at, at + 1) for at in range(0, counters - 1, 2))
    return st.one_of(single, single, st.just(pairs)) if pairs else single


invented = st.tuples(st.integers(1, 4), st.integers(1, 2)).flatmap(
    lambda size: st.lists(
        st.builds(Kind, places_of(size[0]), st.booleans(), st.integers(0, 2)),
        min_size=1,
        max_size=4,
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
    asked = [(t.encoding.config, t.encoding.config1) for e in events for t in e.spec.terms]
    for codes in product(*(machine.codes(config) for config, _ in asked)):
        wanted = {
            config1
            for code, (_, config1) in zip(codes, asked, strict=True)
            if machine.kinds[code].is_sharing
        }
        if len(wanted) > machine.registers:
            continue
        for way in product(*(machine.kinds[code].places for code in codes)):
            used = [counter for place in way for counter in place]
            if len(set(used)) == len(used):
                return True
    return False
