"""From the name of a preset to events that can be opened.

Source: native/counters/presets.c. Users' own files are read, and handed over, by
`gnomon.counters.presets`, which need not be imported where there are none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gnomon import _core
from gnomon.counters.component import Event, EventInfo
from gnomon.counters.event_grammar import DOMAINS
from gnomon.counters.perf_spec import COMPONENTS, PerfSpec, Term, flags_of
from gnomon.counters.sysfs_pmu import Encoding
from gnomon.model.value import Scope, Unavailable
from gnomon.named_tuple import NamedTuple

if TYPE_CHECKING:
    from gnomon.counters.components.cpu import CpuComponent

PREFIX = "PAPI_"


class PresetResolution(NamedTuple):
    """What a preset is here: an event for each kind of core, and the kinds that have none."""

    events: tuple[Event, ...]
    unavailable: tuple[Unavailable, ...] = ()


def find(name: str, cpu: CpuComponent | None = None) -> PresetResolution:
    """Resolve a name among the presets that are known so far; no events for other names.

    Raises:
        EventNameError: it begins with PAPI_, and no preset has that name.
        EventUnavailableError: this PMU has no event of that meaning, or it is a user's preset for
            other PMUs.
    """
    sysfs, models = (None, None) if cpu is None else (cpu.sysfs, cpu.models)
    rows, lacking = _core.resolve_preset(name, sysfs, models)
    events = tuple(_event(row) for row in rows)
    return PresetResolution(events, tuple(Unavailable(*row) for row in lacking) if events else ())


def _event(row: _core.PresetRow) -> Event:
    name, preset, description, unit, component, flags, domain, terms, steps = row
    formula = None
    if steps:
        from gnomon.counters.preset_formula import Formula  # few presets need it

        formula = Formula.of(steps)
    spec = PerfSpec(
        tuple(Term(factor, Encoding(*encoding)) for factor, encoding in terms),
        *flags_of(flags),
        formula,
    )
    info = EventInfo(preset, COMPONENTS[component], description, unit, Scope.THREAD)
    return Event(name, info, DOMAINS[domain], spec, is_derived=formula is not None)
