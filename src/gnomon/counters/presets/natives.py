"""From the native events of a preset to what perf_event_open(2) takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gnomon.counters.cores import Core, encode
from gnomon.counters.names import Modifiers, modifiers
from gnomon.counters.perf import PerfSpec, Term
from gnomon.counters.presets.definition import Preset
from gnomon.counters.presets.formula import NATIVES_MAX, Formula, Step, scaled_native
from gnomon.errors import EventError, EventUnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable

    from gnomon.counters.components.cpu import CpuComponent

_NESTED_MAX = 8
_STEPS_MAX = 1 << 16
_INSTALL = "install libpfm4 (Debian: apt-get install libpfm4), or see gnomon doctor"
_CHECK = "check its name (gnomon events lists those here), or install a newer libpfm4 that knows it"


class Native(NamedTuple):
    """A native event that was found.

    Attributes:
        spec: how it is opened.
        component: the component that has it.
        unit: its unit.
        factor: multiplies its raw count into the unit.
    """

    spec: PerfSpec
    component: str
    unit: str = ""
    factor: float = 1


def flat(
    preset: Preset, find: Callable[[str], Preset | None], name: str
) -> tuple[tuple[str, ...], Formula]:
    """Return the native events of a preset, each once, and the formula over them.

    A preset may be made of others: their formulas take the places of their names.

    Args:
        preset: the preset.
        find: returns the preset of a name on the same core, None if the name is an event's.
        name: as it was typed, for errors.

    Raises:
        EventUnavailableError: a preset in it has no events here, is made of itself, or comes to
            too many.
    """
    natives: dict[str, int] = {}
    program = _flat(preset, find, natives, (), name)
    if len(natives) > NATIVES_MAX:
        raise EventUnavailableError(
            name,
            f"it comes to {len(natives)} native events; at most {NATIVES_MAX} can be",
            "split it into several presets",
        )
    used = program.natives
    numbers = {native: (Step("N", at),) for at, native in enumerate(used)}
    names = tuple(natives)
    return tuple(names[native] for native in used), program.replaced(numbers)


def _flat(
    preset: Preset,
    find: Callable[[str], Preset | None],
    natives: dict[str, int],
    within: tuple[str, ...],
    name: str,
) -> Formula:
    if preset.name in within or len(within) > _NESTED_MAX:
        raise EventUnavailableError(
            name,
            f"preset {preset.name} is made of itself ({' of '.join((*within, preset.name))})",
            f"mend {preset.source}",
        )
    if not preset.events:
        raise EventUnavailableError(
            name,
            f"{preset.name}: {preset.reason}",
            "choose native events of this PMU (gnomon events --component cpu)",
        )
    programs: dict[int, tuple[Step, ...]] = {}
    for at, event in enumerate(preset.events):
        inner = find(event)
        if inner is None:
            number = natives.setdefault(event, len(natives))
            programs[at] = (Step("N", number),)
        else:
            programs[at] = _flat(inner, find, natives, (*within, preset.name), name).program
    replaced = preset.program.replaced(programs)
    if len(replaced.program) > _STEPS_MAX:
        raise EventUnavailableError(
            name, f"its formula comes to more than {_STEPS_MAX} steps", f"mend {preset.source}"
        )
    return replaced


def find_native(event: str, core: Core, cpu: CpuComponent, name: str) -> Native:
    """Return a native event on one kind of core.

    Raises:
        EventUnavailableError: it is not known here, or cannot be part of a preset.
    """
    encoding = encode(event, core)
    if encoding is None:
        base, mods = modifiers(event)
        encoding = cpu.generic_on(base, core) or encode(base, core)
        if encoding is not None:
            encoding = encoding._replace(exclude=encoding.exclude | mods.exclude)
    if encoding is not None:
        return Native(PerfSpec.of(encoding, hardware=True), "cpu")
    from gnomon.counters.sources import native_events

    try:
        found = native_events(event)
    except EventError as error:
        reason = str(error).removeprefix(f"event '{event}': ")
        raise EventUnavailableError(
            name, f"its native event '{event}': {reason}", _remedy(core)
        ) from None
    if not found:
        raise EventUnavailableError(
            name, f"its native event '{event}' is not known here", _remedy(core)
        )
    one = found[0]
    if len(found) > 1 or not isinstance(one.spec, PerfSpec):
        why = (
            f"is several events ({found[0].name}, {found[1].name} ...)"
            if len(found) > 1
            else f"belongs to component {one.info.component}, which is not counted through perf"
        )
        raise EventUnavailableError(
            name,
            f"its native event '{event}' {why}",
            "make the preset of single events of components cpu and kernel",
        )
    return Native(one.spec, one.info.component, one.info.unit, one.unit_factor)


def _remedy(core: Core) -> str:
    """Return what to do about a native event that nothing here knows."""
    from gnomon.counters.libpfm import libpfm_pmus

    known = {pmu.name for pmu in libpfm_pmus()}
    if not known:
        return _INSTALL
    if core.models and not known & set(core.models):
        return f"install a libpfm4 with the tables of {core.models[0]}: this one has none of it"
    return _CHECK


def spec_of(natives: list[Native], formula: Formula, mods: Modifiers) -> PerfSpec:
    """Return how the natives are opened together, and what their counts come to.

    A sum with whole factors is left to `terms`, so that its value is a plain count.
    """
    scaled = {
        at: scaled_native(at, native.factor)
        for at, native in enumerate(natives)
        if native.factor != 1
    }
    whole = formula.replaced(scaled) if scaled else formula
    factors = whole.factors(len(natives))
    terms = []
    for at, native in enumerate(natives):
        (term,) = native.spec.terms
        encoding = term.encoding._replace(exclude=term.encoding.exclude | mods.exclude)
        factor = 1 if factors is None else factors[at]
        if factor:
            terms.append(Term(factor, encoding))
    specs = [native.spec for native in natives]
    return PerfSpec(
        tuple(terms),
        hardware=any(spec.hardware for spec in specs),
        tracepoint=any(spec.tracepoint for spec in specs),
        kernel_only=any(spec.kernel_only for spec in specs),
        every_mode=all(spec.every_mode for spec in specs),
        formula=whole if factors is None else None,
    )
