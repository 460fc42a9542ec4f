"""What presets are on this machine, which it has, and whether they open here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gnomon.counters import preset_resolver
from gnomon.counters.component import Availability, Event
from gnomon.counters.event_grammar import modifiers
from gnomon.counters.name_suggestions import nearest
from gnomon.counters.preset_resolver import PREFIX, PresetResolution
from gnomon.counters.presets import builtin, user_presets
from gnomon.errors import EventNameError, EventUnavailableError, NotPresetError

if TYPE_CHECKING:
    from gnomon.counters.components.cpu import CpuComponent
    from gnomon.counters.core_types import Core
    from gnomon.counters.presets.definition import Preset

_NO_EVENT = "choose native events of this PMU (gnomon events --component cpu)"


def resolve(name: str, cpu: CpuComponent | None = None) -> tuple[Event, ...]:
    """Return the event of a preset name, one per core PMU on hybrid CPUs; () for other names.

    Raises:
        EventNameError: it begins with PAPI_, and no preset has that name.
        EventUnavailableError: this PMU has no event of that meaning, or it is a user's preset for
            other PMUs.
        PresetFileError: a user's file is broken.
    """
    return find(name, cpu).events


def find(name: str, cpu: CpuComponent | None = None) -> PresetResolution:
    """Return what `resolve` returns, and the kinds of cores that have no such event.

    Raises:
        EventNameError, EventUnavailableError, PresetFileError: as `resolve`.
    """
    user_presets.make_known()
    return preset_resolver.find(name, cpu)


def preset_of(name: str, cpu: CpuComponent | None = None) -> Preset:
    """Return the preset of a name as this machine's (first kind of) core defines it.

    Raises:
        NotPresetError: it is the name of an event.
        EventUnavailableError: it is a user's preset for other PMUs.
        EventNameError: nothing has that name.
        PresetFileError: a user's file is broken.
    """
    base = modifiers(name.partition("@")[0])[0]
    for core in (cpu or _cpu()).cores():
        preset = _preset(base, core)
        if preset is not None:
            return preset
    find(name, cpu)  # raises, if it begins as a preset or is a user's for other PMUs
    from gnomon.counters.component_registry import sources_of

    for source in sources_of(name):
        if source.resolve(name):
            raise NotPresetError(
                name,
                f"this is an event of component {source.name}, not a preset; count it by its name",
            )
    raise EventNameError(name, "no such preset", nearest(base, known_names()))


def of_this_machine(cpu: CpuComponent | None = None) -> tuple[Preset, ...]:
    """Return the presets as this machine's cores count them, users' own first.

    On hybrid CPUs a name stands there once for each family of PMUs.

    Raises:
        PresetFileError: a user's file is broken.
    """
    cores = (cpu or _cpu()).cores()
    by_name: dict[tuple[str, str], Preset] = {}
    for family in user_presets.families():
        for preset in family.presets:
            holds = any(_holds(preset, core) for core in cores)
            if holds and not any(name == preset.name for name, _ in by_name):
                by_name[preset.name, ""] = preset
    for core in cores:
        family = builtin.family(builtin.name_of(core.models))
        for preset in family.presets:
            if (preset.name, "") not in by_name:
                by_name.setdefault((preset.name, family.name), preset)
    return tuple(by_name.values())


def of_other_pmus(cpu: CpuComponent | None = None) -> tuple[Preset, ...]:
    """Return the users' presets that hold for no kind of core of this machine.

    Raises:
        PresetFileError: a user's file is broken.
    """
    cores = (cpu or _cpu()).cores()
    return tuple(
        preset
        for family in user_presets.families()
        for preset in family.presets
        if not any(_holds(preset, core) for core in cores)
    )


def availability(preset: Preset, cpu: CpuComponent | None = None) -> Availability:
    """Return whether a preset's native events open here together, found by trying.

    On hybrid CPUs they have to open on each kind of core whose family the preset belongs to.
    """
    from gnomon.counters import perf_component

    if not preset.events:
        return Availability(False, preset.reason, _NO_EVENT)
    state = Availability(
        False, "it is defined for another PMU than those of this machine", _NO_EVENT
    )
    for core in (cpu or _cpu()).cores():
        if not _holds(preset, core):
            continue
        try:
            (event,) = find(f"{preset.name}@{core.name}", cpu).events
        except EventUnavailableError as error:
            return Availability(False, error.reason, error.remedy, error.errno)
        state = perf_component.availability(event)
        if not state.available:
            break
    return state


def known_names() -> tuple[str, ...]:
    """Return the name of every preset, users' own first."""
    own = [preset.name for family in user_presets.families() for preset in family.presets]
    return tuple(dict.fromkeys((*own, *builtin.meanings())))


def _cpu() -> CpuComponent:
    from gnomon.counters.components import component
    from gnomon.counters.components.cpu import CpuComponent

    cpu = component("cpu")
    assert isinstance(cpu, CpuComponent)
    return cpu


def _preset(base: str, core: Core) -> Preset | None:
    own = user_presets.preset(base, core.models)
    if own is not None:
        return own
    upper = base.upper()
    if not upper.startswith(PREFIX):
        return None
    own = user_presets.preset(upper, core.models)
    return own or builtin.preset(upper, core.models)


def _holds(preset: Preset, core: Core) -> bool:
    if preset.is_users:
        return not preset.pmus or bool(set(preset.pmus) & set(core.models))
    return builtin.name_of(core.models) == preset.family
