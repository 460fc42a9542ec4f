"""From the name of a preset to events that can be opened, and whether they open here."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from gnomon.counters.component import Availability, Event, EventInfo
from gnomon.counters.names import Modifiers, modifiers, nearest
from gnomon.counters.presets import shipped, users
from gnomon.counters.presets.natives import find_native, flat, spec_of
from gnomon.errors import EventNameError, EventUnavailableError, NotPresetError
from gnomon.model.value import Domain, Scope, Unavailable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gnomon.counters.components.cpu import CpuComponent
    from gnomon.counters.cores import Core
    from gnomon.counters.presets.definition import Preset

PREFIX = "PAPI_"
_NO_EVENT = "choose native events of this PMU (gnomon events --component cpu)"


class Found(NamedTuple):
    """What a preset is here: an event for each kind of core, and the kinds that have none."""

    events: tuple[Event, ...]
    unavailable: tuple[Unavailable, ...] = ()


class _Asked(NamedTuple):
    """The parts of a typed name: NAME[:MODIFIERS][@PMU]."""

    text: str
    base: str
    mods: Modifiers
    pmu: str


def resolve(name: str, cpu: CpuComponent | None = None) -> tuple[Event, ...]:
    """Return the event of a preset name, one per core PMU on hybrid CPUs; () for other names.

    Raises:
        EventNameError: it begins with PAPI_, and no preset has that name.
        EventUnavailableError: this PMU has no event of that meaning, or it is a user's preset for
            other PMUs.
        PresetFileError: a user's file is broken.
    """
    return find(name, cpu).events


def find(name: str, cpu: CpuComponent | None = None) -> Found:
    """Return what `resolve` does, and beside it the kinds of cores that have no such event.

    Raises:
        EventNameError, EventUnavailableError, PresetFileError: as `resolve`.
    """
    asked = _asked(name)
    if asked.base[: len(PREFIX)].upper() != PREFIX and not users.families():
        return Found(())
    cpu = cpu or _cpu()
    cores = cpu.cores()
    defined = [(core, _preset(asked.base, core)) for core in cores]
    if all(preset is None for _, preset in defined):
        _refuse_elsewhere(name, asked.base, cores)
        if asked.base[: len(PREFIX)].upper() != PREFIX:
            return Found(())
        raise _unknown(name, asked.base)
    if asked.pmu:
        if asked.pmu not in [core.name for core in cores]:
            names = tuple(core.name for core in cores)
            raise EventNameError(name, f"this machine has no core PMU '{asked.pmu}'", names)
        defined = [(core, preset) for core, preset in defined if core.name == asked.pmu]
    events: list[Event] = []
    missing: list[Unavailable] = []
    for core, preset in defined:
        label = name if len(defined) == 1 else f"{name}@{core.name}"
        try:
            event = _event(label, preset, core, cpu, asked)
        except EventUnavailableError as error:
            missing.append(Unavailable(label, error.reason, error.remedy, error.errno))
            continue
        if not event.spec.hardware:  # counted once, whatever the core
            return Found((event._replace(name=name),))
        events.append(event)
    if not events:
        first = missing[0]
        raise EventUnavailableError(name, first.reason, first.remedy, first.errno)
    return Found(tuple(events), tuple(missing))


def preset_of(name: str, cpu: CpuComponent | None = None) -> Preset:
    """Return the preset of a name as this machine's (first kind of) core defines it.

    Raises:
        NotPresetError: it is the name of an event.
        EventUnavailableError: it is a user's preset for other PMUs.
        EventNameError: nothing has that name.
        PresetFileError: a user's file is broken.
    """
    base = _asked(name).base
    cores = (cpu or _cpu()).cores()
    for core in cores:
        preset = _preset(base, core)
        if preset is not None:
            return preset
    _refuse_elsewhere(name, base, cores)
    if base[: len(PREFIX)].upper() != PREFIX:
        from gnomon.counters.sources import native_events

        found = native_events(name)
        if found:
            raise NotPresetError(
                name,
                f"this is an event of component {found[0].info.component}, not a preset; count it "
                "by its name",
            )
    raise _unknown(name, base)


def of_this_machine(cpu: CpuComponent | None = None) -> tuple[Preset, ...]:
    """Return the presets as this machine's cores count them, users' own first.

    On hybrid CPUs a name stands there once for each family of PMUs.

    Raises:
        PresetFileError: a user's file is broken.
    """
    cores = (cpu or _cpu()).cores()
    found: dict[tuple[str, str], Preset] = {}
    for family in users.families():
        for preset in family.presets:
            holds = any(_holds(preset, core) for core in cores)
            if holds and not any(name == preset.name for name, _ in found):
                found[preset.name, ""] = preset
    for core in cores:
        family = shipped.family(shipped.name_of(core.models))
        for preset in family.presets:
            if (preset.name, "") not in found:
                found.setdefault((preset.name, family.name), preset)
    return tuple(found.values())


def of_other_pmus(cpu: CpuComponent | None = None) -> tuple[Preset, ...]:
    """Return the users' presets that hold for no kind of core of this machine.

    Raises:
        PresetFileError: a user's file is broken.
    """
    cores = (cpu or _cpu()).cores()
    return tuple(
        preset
        for family in users.families()
        for preset in family.presets
        if not any(_holds(preset, core) for core in cores)
    )


def availability(preset: Preset, cpu: CpuComponent | None = None) -> Availability:
    """Return whether a preset's native events open here together, found by trying.

    On hybrid CPUs they have to open on each kind of core whose family the preset belongs to.
    """
    from gnomon.counters import perf_open

    cpu = cpu or _cpu()
    if not preset.events:
        return Availability(False, preset.reason, _NO_EVENT)
    asked = _Asked(preset.name, preset.name, Modifiers(0, Domain.ALL), "")
    state = Availability(
        False, "it is defined for another PMU than those of this machine", _NO_EVENT
    )
    for core in cpu.cores():
        if not _holds(preset, core):
            continue
        try:
            event = _event(preset.name, preset, core, cpu, asked)
        except EventUnavailableError as error:
            return Availability(False, error.reason, error.remedy, error.errno)
        state = perf_open.availability(event)
        if not state.available:
            break
    return state


def known_names() -> tuple[str, ...]:
    """Return the name of every preset, users' own first."""
    own = [preset.name for family in users.families() for preset in family.presets]
    return tuple(dict.fromkeys((*own, *shipped.meanings())))


def _cpu() -> CpuComponent:
    from gnomon.counters.components import component
    from gnomon.counters.components.cpu import CpuComponent

    cpu = component("cpu")
    assert isinstance(cpu, CpuComponent)
    return cpu


def _asked(name: str) -> _Asked:
    text, _, pmu = name.partition("@")
    base, mods = modifiers(text)
    return _Asked(name, base, mods, pmu)


def _preset(base: str, core: Core) -> Preset | None:
    own = users.preset(base, core.models)
    if own is not None:
        return own
    upper = base.upper()
    if not upper.startswith(PREFIX):
        return None
    own = users.preset(upper, core.models)
    return own or shipped.preset(upper, core.models)


def _holds(preset: Preset, core: Core) -> bool:
    if preset.is_users:
        return not preset.pmus or bool(set(preset.pmus) & set(core.models))
    return shipped.name_of(core.models) == preset.family


def _event(
    label: str, preset: Preset | None, core: Core, cpu: CpuComponent, asked: _Asked
) -> Event:
    if preset is None:
        raise EventUnavailableError(
            label, f"no such preset for the cores of {core.name}", _NO_EVENT
        )
    if not preset.events:
        raise EventUnavailableError(label, preset.reason, _NO_EVENT)
    names, formula = flat(preset, partial(_inner, core=core), asked.text)
    natives = [find_native(name, core, cpu, asked.text) for name in names]
    spec = spec_of(natives, formula, asked.mods)
    components = {native.component for native in natives}
    unit = preset.unit
    if not unit and preset.kind in ("not derived", "sum", "difference"):
        units = {native.unit for native in natives}
        unit = units.pop() if len(units) == 1 else ""
    info = EventInfo(
        preset.name,
        components.pop() if len(components) == 1 else "cpu",
        preset.description or preset.definition,
        unit,
        Scope.THREAD,
    )
    domain = Domain.ALL if spec.every_mode else asked.mods.domain
    return Event(label, info, domain, spec, is_derived=spec.formula is not None)


def _inner(event: str, core: Core) -> Preset | None:
    """Return the preset that a native event's name is, None if it is an event's."""
    return None if ":" in event or "/" in event else _preset(event, core)


def _refuse_elsewhere(name: str, base: str, cores: Sequence[Core]) -> None:
    """Refuse the name of a preset that its user's file has, but for other PMUs than those here."""
    models = tuple(model for core in cores for model in core.models)
    known = users.elsewhere(base, models) or users.elsewhere(base.upper(), models)
    if known is None:
        return
    here = f"not for {' or '.join(models)}" if models else "and libpfm4 names no PMU of this CPU"
    raise EventUnavailableError(
        name,
        f"{known.source} has it for PMU {' and '.join(known.pmus)} only, {here}",
        "let the file hold for this PMU too, if its events mean the same",
    )


def _unknown(name: str, base: str) -> EventNameError:
    return EventNameError(name, "no such preset", nearest(base, list(known_names())))
