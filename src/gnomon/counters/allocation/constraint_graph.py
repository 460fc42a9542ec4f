"""From events to the graph: which counters of a PMU each may use, and what they have to share.

The hardware-dependent half of allocation: it reads a family's table (`tables.py`) and knows no
event by name. What a matching cannot say is searched: codes that stand in for one another, events
that take two counters, registers that several events share.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gnomon.counters.allocation import matching
from gnomon.counters.allocation.constraint_tables import PmuConstraints
from gnomon.counters.sysfs_pmu import Encoding
from gnomon.named_tuple import NamedTuple

_HARDWARE = 0
_HW_CACHE = 3
# enum perf_hw_id, perf_hw_cache_id, and operation and result of a cache (perf_event_open(2)).
_HARDWARE_NAMES = (
    "cycles", "instructions", "cache-references", "cache-misses", "branches", "branch-misses",
    "bus-cycles", "stalled-cycles-frontend", "stalled-cycles-backend", "ref-cycles",
)  # fmt: skip
_CACHES = ("L1-dcache", "L1-icache", "LLC", "dTLB", "iTLB", "branch", "node")
_CACHE_WAYS = (
    ("loads", "load-misses"), ("stores", "store-misses"), ("prefetches", "prefetch-misses"),
)  # fmt: skip

Places = tuple[tuple[int, ...], ...]


class Choice(NamedTuple):
    """One way to count an event.

    Attributes:
        places: the counters it can be on; each is one counter, or the two that it takes.
        settings: the value that it wants in shared registers, by their index in the family.
    """

    places: Places
    settings: tuple[tuple[int, int], ...]


class Demand(NamedTuple):
    """What a native event asks of a PMU.

    Attributes:
        code: its config and config1.
        choices: the ways to count it; none has the same settings as another.
        own: those of its own code, without any that may stand in for it.
    """

    code: tuple[int, int]
    choices: tuple[Choice, ...]
    own: tuple[Choice, ...]

    @property
    def counters(self) -> tuple[int, ...]:
        """Every counter that it could be on, in order."""
        return tuple(
            sorted({one for choice in self.choices for place in choice.places for one in place})
        )


class Disagreement(NamedTuple):
    """Events want more of a shared register than there is.

    Attributes:
        name: of the register.
        wanted: how many values they want in it, 0 if it is not one register alone.
        registers: how many values it has room for.
    """

    name: str
    wanted: int
    registers: int


def generic_name(encoding: Encoding) -> str | None:
    """Return the kernel's generic name of an event, None for a native one."""
    # The upper half of a hybrid CPU's config says which PMU is meant.
    config = encoding.config & 0xFFFFFFFF
    if encoding.type == _HARDWARE:
        return _HARDWARE_NAMES[config] if config < len(_HARDWARE_NAMES) else None
    if encoding.type != _HW_CACHE:
        return None
    cache, way, result = config & 0xFF, config >> 8 & 0xFF, config >> 16
    if cache >= len(_CACHES) or way >= len(_CACHE_WAYS) or result > 1:
        return None
    return f"{_CACHES[cache]}-{_CACHE_WAYS[way][result]}"


def demand(family: PmuConstraints, available: frozenset[int], encoding: Encoding) -> Demand:
    """Return the demands of a native event on a PMU of a family.

    A generic name that the family's table leaves out may go to any general counter.

    Args:
        family: the constraints.
        available: the counters that there are, as indexes into `family.counters`.
        encoding: the event, native or generic.
    """
    if encoding.type in (_HARDWARE, _HW_CACHE):
        generic_code = family.generic.get(generic_name(encoding) or "")
        if generic_code is None:
            anywhere = tuple((one,) for one in range(family.general) if one in available)
            choices = (Choice(anywhere, ()),)
            return Demand((0, 0), choices, choices)
        code = generic_code
    else:
        code = (encoding.config, encoding.config1)
    own = _choices(family, available, (code[0],), code[1])
    same = (code[0], *family.same.get(code[0], ()))
    return Demand(code, _choices(family, available, same, code[1]) if len(same) > 1 else own, own)


def _choices(
    family: PmuConstraints, available: frozenset[int], configs: Sequence[int], config1: int
) -> tuple[Choice, ...]:
    merged: dict[tuple[tuple[int, int], ...], list[tuple[int, ...]]] = {}
    for config in configs:
        settings = tuple(
            (at, shared.value.of(config, config1))
            for at, shared in enumerate(family.shared)
            if shared.when.holds(config, config1)
        )
        places = tuple(
            place for place in _places(family, config, config1) if available.issuperset(place)
        )
        if places:
            merged.setdefault(settings, []).extend(places)
    return tuple(Choice(tuple(dict.fromkeys(p)), settings) for settings, p in merged.items())


def _places(family: PmuConstraints, config: int, config1: int) -> Places:
    for rule in family.rules:
        if rule.when.holds(config, config1):
            return rule.places
    number = family.number.of(config, config1) if family.number is not None else 0
    if number:
        return ((number - 1,),) if number <= len(family.counters) else ()
    return tuple((one,) for one in range(family.general))


def unmet(family: PmuConstraints, demands: Sequence[Demand]) -> tuple[int, str] | None:
    """Return the first demand that lacks another event beside it, and why it needs it."""
    for index, one in enumerate(demands):
        for need in family.needs:
            if need.when.holds(*one.code) and not any(
                need.beside.holds(*other.code) for other in demands
            ):
                return index, need.why
    return None


def place(family: PmuConstraints, demands: Sequence[Demand]) -> Places | None:
    """Return the counter (or two) of each event, None where they do not fit together.

    Where one event depends on another, the kernel exchanges no codes: it looks for what is needed
    among the codes as they are (Linux arch/powerpc/perf/core-book3s.c, power_check_constraints).
    """
    if any(
        need.when.holds(*one.code) and not need.beside.holds(*one.code)
        for need in family.needs
        for one in demands
    ):
        demands = [one._replace(choices=one.own) for one in demands]
    if len(demands) > len(family.counters) or not all(one.choices for one in demands):
        return None
    for chosen in _agreements(family, demands):
        placed = _assign([choice.places for choice in chosen])
        if placed is not None:
            return placed
    return None


def disagreement(family: PmuConstraints, demands: Sequence[Demand]) -> Disagreement | None:
    """Return the shared register of which events want more than there is, None if none."""
    if next(_agreements(family, demands), None) is not None:
        return None
    for at, shared in enumerate(family.shared):
        # What every way to count an event wants, it wants for certain.
        certain = [{dict(choice.settings).get(at) for choice in one.choices} for one in demands]
        values = {value for one in certain if len(one) == 1 for value in one if value is not None}
        if len(values) > shared.registers:
            return Disagreement(shared.name, len(values), shared.registers)
    return Disagreement("the PMU", 0, 0)


def _agreements(family: PmuConstraints, demands: Sequence[Demand]) -> Iterator[tuple[Choice, ...]]:
    """Yield the choices of all events that leave no shared register with too many values."""
    # Events without a choice first, so that a contradiction shows at once.
    order = sorted(range(len(demands)), key=lambda at: (len(demands[at].choices), at))
    chosen: list[Choice | None] = [None] * len(demands)
    held: dict[int, list[int]] = {}

    def take(settings: tuple[tuple[int, int], ...]) -> list[int] | None:
        """Return the registers that got one more value, None if one has no room for it."""
        taken: list[int] = []
        for register, value in settings:
            values = held.setdefault(register, [])
            if value in values:
                continue
            if len(values) == family.shared[register].registers:
                give_back(taken)
                return None
            values.append(value)
            taken.append(register)
        return taken

    def give_back(taken: list[int]) -> None:
        for at in taken:
            held[at].pop()

    def walk(depth: int) -> Iterator[tuple[Choice, ...]]:
        if depth == len(order):
            yield tuple(choice for choice in chosen if choice is not None)
            return
        for choice in demands[order[depth]].choices:
            taken = take(choice.settings)
            if taken is not None:
                chosen[order[depth]] = choice
                yield from walk(depth + 1)
                give_back(taken)

    return walk(0)


def _assign(places: Sequence[Places]) -> Places | None:
    """Return a place for each event such that no counter is taken twice."""
    wide = [at for at, own in enumerate(places) if any(len(place) > 1 for place in own)]
    if not wide:
        assignment = matching.largest([[place[0] for place in own] for own in places])
        return (
            tuple((one,) for one in assignment.of_event if one is not None)
            if (assignment.is_complete)
            else None
        )
    first = wide[0]
    for place in places[first]:
        rest = [
            (place,) if at == first else tuple(p for p in own if not set(place) & set(p))
            for at, own in enumerate(places)
        ]
        # From here on it is one counter among others: nobody else can have it.
        flat = [((p[0][0],),) if at == first else p for at, p in enumerate(rest)]
        placed = _assign(flat) if all(flat) else None
        if placed is not None:
            return tuple(place if at == first else p for at, p in enumerate(placed))
    return None
