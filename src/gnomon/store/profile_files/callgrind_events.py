"""The events of callgrind's files as metrics: names, units, how they were obtained.

What Valgrind counts has the names that the emulated PMU gives it (`gnomon count --pmu emulated`),
so that both can be compared; all else has the name that the file has. Events that a file defines
as sums of others become metrics of their own, with their sums.

Source: Valgrind manual, "Cachegrind" and "Callgrind", for the events; "Callgrind Format
Specification", for those that are defined; xdebug and pprof, for units in names.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gnomon.model.metric import CPU_TIME, Aggregation
from gnomon.model.tables import METRICS, Table
from gnomon.model.value import How
from gnomon.named_tuple import NamedTuple
from gnomon.store.profile_files import stack_tables

if TYPE_CHECKING:
    from numpy.typing import NDArray

VALGRIND = {
    "Ir": ("PAPI_TOT_INS", "instructions executed"),
    "Dr": ("PAPI_LD_INS", "instructions that load"),
    "Dw": ("PAPI_SR_INS", "instructions that store"),
    "I1mr": ("PAPI_L1_ICM", "level 1 instruction cache misses"),
    "D1mr": ("PAPI_L1_LDM", "level 1 load misses"),
    "D1mw": ("PAPI_L1_STM", "level 1 store misses"),
    "ILmr": ("PAPI_L3_ICM", "last-level cache misses of instructions"),
    "DLmr": ("PAPI_L3_LDM", "last-level load misses"),
    "DLmw": ("PAPI_L3_STM", "last-level store misses"),
    "Bc": ("PAPI_BR_CN", "conditional branches"),
    "Bcm": ("Bcm", "conditional branches predicted wrongly"),
    "Bi": ("indirect-branches", "indirect jumps and calls, without returns"),
    "Bim": ("Bim", "indirect branches whose target was predicted wrongly"),
}
"""Of Valgrind's events the metric, and what it is; those of misses are simulated."""
_OTHERS = {
    "Ge": "global bus events", "ILdmr": "dirty misses of instructions",
    "DLdmr": "dirty load misses", "DLdmw": "dirty store misses",
    "AcCost1": "temporal locality, level 1", "SpLoss1": "spatial locality, level 1",
    "AcCost2": "temporal locality, last level", "SpLoss2": "spatial locality, last level",
}  # fmt: skip
_MEASURED = {
    "sysCount": "system calls", "sysTime": "elapsed time in system calls, in the unit of "
    "--collect-systime", "sysCpuTime": "CPU time in system calls, likewise",
}  # fmt: skip
_EXACT = ("Ir", "Dr", "Dw", "Bc", "Bi")
_CACHES = {"I1": "I1 cache", "D1": "D1 cache", "IL": "LL cache", "DL": "LL cache"}
_WITH_UNIT = re.compile(r"(.+?)_?\(([0-9]{0,9}) ?([^()0-9]+)\)")
_DEFINITION = re.compile(r"\s*([^\s=:]+)\s*(?:=([^:]*))?(?::(.*))?", re.DOTALL)
_TERM = re.compile(r"\s*(?:([0-9]+(?:\.[0-9]+)?)\s*\*?\s*)?([^\s*+0-9][^\s*+]*)\s*")
_DEFINED_MOST = 100


class Event(NamedTuple):
    """An event of a file, or one that it defines as a sum of others.

    Attributes:
        name: as the file has it.
        long_name: as the file describes it, "" if it does not.
        formula: the definition, "" for one that was counted.
        weights: by which the events of the file are multiplied, () for one of them.
    """

    name: str
    long_name: str = ""
    formula: str = ""
    weights: tuple[float, ...] = ()


class EventMetrics(NamedTuple):
    """What the events of a file become.

    Attributes:
        numbers: of each event of the file its metric, -1 for one that is left out.
        factors: by which its costs are multiplied.
        defined: of each metric that is a sum of others its number, and by what their costs are
            multiplied.
        table: the metrics.
        warnings: what is left out, and why.
    """

    numbers: list[int]
    factors: list[float]
    defined: list[tuple[int, NDArray[Any]]]
    table: Table
    warnings: list[str]


def of_file(names: Sequence[str], definitions: Sequence[str]) -> tuple[list[Event], list[str]]:
    """Return the events of a file, then those that it defines, and what cannot be understood.

    Args:
        names: from its line `events:`.
        definitions: what stands behind `event:` in its other lines.
    """
    told: dict[str, tuple[str, str]] = {}
    for text in definitions:
        if match := _DEFINITION.fullmatch(text):
            name, formula, long_name = match.groups("")
            told[name] = (formula.strip(), long_name.strip())
    events = [Event(name, told.get(name, ("", ""))[1]) for name in names]
    weights_of = {name: tuple(float(at == own) for at in range(len(names)))
             for own, name in enumerate(names)}  # fmt: skip
    warnings = []
    waiting = {name: one for name, one in told.items() if one[0] and name not in weights_of}
    if len(waiting) > _DEFINED_MOST:
        warnings.append(f"callgrind: of {len(waiting)} events that are defined {_DEFINED_MOST} "
                        "are read")  # fmt: skip
        waiting = dict(list(waiting.items())[:_DEFINED_MOST])
    # One may be defined by another one that comes later.
    while waiting:
        ready = {name: sums for name, (formula, _) in waiting.items()
                 for sums in [_sum(formula, weights_of)] if sums is not None}  # fmt: skip
        if not ready:
            break
        for name, sums in ready.items():
            formula, long_name = waiting.pop(name)
            weights_of[name] = sums
            events.append(Event(name, long_name, formula, sums))
    warnings += [
        f"callgrind: the event {name} is left out: its definition {formula} is no sum of events"
        for name, (formula, _) in waiting.items()
    ]
    return events, warnings


def _sum(formula: str, weights_of: Mapping[str, tuple[float, ...]]) -> tuple[float, ...] | None:
    """Return the weights of a sum, None if something in it is not known."""
    total: list[float] | None = None
    for text in formula.split("+"):
        term = _TERM.fullmatch(text)
        if term is None or term[2] not in weights_of:
            return None
        weight = float(term[1] or 1)
        added = [weight * one for one in weights_of[term[2]]]
        total = added if total is None else [a + b for a, b in zip(total, added, strict=True)]
    if total is None or not all(one < 1e15 for one in total):
        return None
    return tuple(total)


def unit_and_factor(name: str) -> tuple[str, str, float]:
    """Return name, unit and factor of an event that has its unit in its name, as xdebug's have."""
    match = _WITH_UNIT.fullmatch(name)
    if match is None or not int(match[2] or 1):
        return name, "", 1.0
    unit, factor = stack_tables.unit_of(match[3].strip())
    return match[1], unit, factor * int(match[2] or 1)


class Origin(NamedTuple):
    """What a file says of itself.

    Attributes:
        creator: what wrote it.
        caches: what is told of the simulated caches, by their names.
        has_calls: some calls were counted.
    """

    creator: str
    caches: Mapping[str, str]
    has_calls: bool

    def how(self, names: Sequence[str]) -> How:
        """Return how its events were obtained."""
        if self.creator.startswith(("callgrind", "cachegrind")):
            return How.EMULATED
        if not self.creator and all(name in VALGRIND for name in names):
            return How.EMULATED
        # Source: google/pprof, internal/report, printCallgrind: its calls are not counted.
        return How.COUNTED if self.creator or self.has_calls else How.SAMPLED


def metrics(events: Sequence[Event], negative: Sequence[bool], origin: Origin) -> EventMetrics:
    """Return the metrics of a file.

    Args:
        events: those that were counted, then those that are defined.
        negative: of each of the former whether some costs are below 0.
        origin: what the file says of itself.
    """
    import numpy as np

    n = len(negative)
    how = origin.how([one.name for one in events[:n]])
    result = EventMetrics([], [], [], Table(METRICS), [])
    names: set[str] = set()
    for position, event in enumerate(events):
        uses = [position] if position < n else [i for i, w in enumerate(event.weights) if w]
        if any(negative[i] for i in uses):
            result.warnings.append(
                f"callgrind: {event.name} is left out: some of its values are below 0"
            )
            if position < n:
                result.numbers.append(-1)
                result.factors.append(1.0)
            continue
        own = how if event.name not in _MEASURED else How.COUNTED
        name, unit, factor, described = _described(event, own, origin)
        if name in names:
            name = event.name
        names.add(name)
        number = result.table.add(
            metric=len(result.table), name=name, unit=unit, formula="", how=own.value,
            component="emulated" if own is How.EMULATED else "",
            domain="user" if own is How.EMULATED else "all", scope="thread", description=described,
            aggregation=Aggregation.SUM.value, absent_is_zero=True,
            reproducible=own is How.EMULATED, dilated=False,
        )  # fmt: skip
        if position < n:
            result.numbers.append(number)
            result.factors.append(factor)
        else:
            result.defined.append((number, np.array(event.weights)))
    return result


def _described(event: Event, how: How, origin: Origin) -> tuple[str, str, float, str]:
    """Return name, unit, factor and description of a metric."""
    told = event.long_name
    if event.formula:
        return event.name, "", 1.0, f"{told}: {event.formula}" if told else event.formula
    if how is How.EMULATED and event.name in VALGRIND:
        name, meaning = VALGRIND[event.name]
        simulated = "" if event.name in _EXACT else " (simulated)"
        level = _CACHES.get(event.name[:2], "")
        # A damaged file may have a cache without a name.
        cache = origin.caches.get(level, "") if level else ""
        more = f", {level}: {cache}" if cache else ""
        return name, "", 1.0, f"{meaning}{simulated}; {event.name} of Valgrind{more}"
    told = told or _OTHERS.get(event.name, "") or _MEASURED.get(event.name, "")
    name, unit, factor = unit_and_factor(event.name)
    is_cpu = name.lower() == "cpu" and unit == "s" and how is How.SAMPLED
    return CPU_TIME if is_cpu else name, unit, factor, told or (event.name if unit else "")
