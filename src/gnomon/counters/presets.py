"""PAPI's preset events: one name for one meaning on every CPU.

The definitions are data (`data/presets.toml`): for each family of PMUs, and for any PMU through
the kernel's generic events. Source: seed papers on PAPI; the native events' meanings are those
of the vendors' event lists as libpfm4 carries them.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import NamedTuple

from gnomon.counters.component import Component, Event, EventInfo
from gnomon.counters.names import modifiers
from gnomon.counters.perf import PerfSpec, Term
from gnomon.errors import EventNameError, EventUnavailableError
from gnomon.model.value import Scope

_DATA = Path(__file__).parent / "data" / "presets.toml"
PREFIX = "PAPI_"


class Preset(NamedTuple):
    """A preset event.

    Attributes:
        name: PAPI's name.
        description: what it counts, in our words.
        terms: (factor, native event) pairs whose sum it is here; () if this PMU has none.
        reason: why it has none.
    """

    name: str
    description: str
    terms: tuple[tuple[int, str], ...]
    reason: str = ""


class PresetTable(NamedTuple):
    """The presets as one family of PMUs counts them; `pmus` are libpfm4's names of them."""

    family: str
    pmus: tuple[str, ...]
    presets: tuple[Preset, ...]


@cache
def tables() -> tuple[PresetTable, ...]:
    """Return the presets of every family; the last, `generic`, fits any PMU."""
    import tomllib

    data = tomllib.loads(_DATA.read_text())
    found = []
    for family, table in data["family"].items():
        presets = []
        for name, description in data["preset"].items():
            given = table.get(name)
            if isinstance(given, str):
                presets.append(Preset(name, description, (), given))
                continue
            own = _terms(given) if given else _terms(data["family"]["generic"].get(name) or [])
            reason = "" if own else "no event of this PMU is known to have this meaning"
            presets.append(Preset(name, description, own, reason))
        found.append(PresetTable(family, tuple(table.get("pmus", ())), tuple(presets)))
    return tuple(found)


def _terms(given: list[str | list[object]] | str) -> tuple[tuple[int, str], ...]:
    if isinstance(given, str):
        return ()
    return tuple(
        (1, term) if isinstance(term, str) else (int(str(term[0])), str(term[1])) for term in given
    )


def of_this_machine() -> tuple[Preset, ...]:
    """Return the presets as the core PMU of this machine counts them."""
    from gnomon.counters.components.cpu import libpfm_pmus

    here = {pmu.name for pmu in libpfm_pmus() if pmu.is_present and pmu.is_core}
    for table in tables():
        if here & set(table.pmus):
            return table.presets
    return tables()[-1].presets


def resolve(name: str, cpu: Component) -> tuple[Event, ...]:
    """Return the event of a preset name, one per core PMU on hybrid CPUs; () for other names.

    Raises:
        EventNameError: no preset has that name.
        EventUnavailableError: this PMU has no event of that meaning.
    """
    base, mods = modifiers(name)
    if not base.upper().startswith(PREFIX):
        return ()
    known = of_this_machine()
    preset = next((p for p in known if p.name == base.upper()), None)
    if preset is None:
        from gnomon.counters.names import nearest

        raise EventNameError(name, "no such preset", nearest(base, [p.name for p in known]))
    if not preset.terms:
        raise EventUnavailableError(
            name, preset.reason, "choose native events of this PMU (gnomon events cpu)"
        )
    native = [(factor, cpu.resolve(event)) for factor, event in preset.terms]
    kinds = {len(events) for _, events in native}
    if 0 in kinds or len(kinds) > 1:
        missing = next(
            (text for (_, text), (_, e) in zip(preset.terms, native, strict=True) if not e), ""
        )
        raise EventUnavailableError(
            name,
            f"its native event '{missing}' is not known here",
            "install libpfm4 (Debian: apt-get install libpfm4), or see gnomon doctor",
        )
    info = EventInfo(preset.name, cpu.name, preset.description, "", Scope.THREAD)
    found = []
    for at in range(kinds.pop()):
        terms = []
        for factor, events in native:
            spec: PerfSpec = events[at].spec
            for term in spec.terms:
                encoding = term.encoding._replace(exclude=term.encoding.exclude | mods.exclude)
                terms.append(Term(factor * term.factor, encoding))
        label = name
        if len(native[0][1]) > 1:
            label = f"{name}@{native[0][1][at].name.partition('/')[0]}"
        found.append(Event(label, info, mods.domain, PerfSpec(tuple(terms), hardware=True)))
    return tuple(found)
