"""The presets that come with Gnomon: a file for each family of PMUs, read when it is asked for.

The build makes modules of the files (`packaging/compile_presets.py`), so that counting a preset
costs no reading of TOML; lists of presets are made from the files themselves.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from gnomon.counters.presets.definition import Family, Meaning, Preset, made
from gnomon.counters.presets.formula import parse, sum_of
from gnomon.errors import PresetFileError

DATA = Path(__file__).parent / "data"
GENERIC = "generic"
"""The family of PMUs that no other names: the kernel's generic events."""

_COMPILED = "gnomon.counters.presets._compiled"
_MEANINGS = "meanings"
_UNKNOWN = "no event of this PMU is known to have this meaning"


@cache
def meanings() -> dict[str, Meaning]:
    """Return what each of the standard presets means, by name, in alphabetic order."""
    compiled = _compiled("index")
    if compiled is not None:
        return {name: Meaning(*meaning) for name, meaning in compiled.MEANINGS.items()}
    from gnomon.counters.presets import toml

    return dict(sorted(toml.read_meanings(DATA / f"{_MEANINGS}.toml").items()))


@cache
def names() -> tuple[str, ...]:
    """Return the names of the families, `generic` last."""
    compiled = _compiled("index")
    if compiled is not None:
        found: tuple[str, ...] = compiled.NAMES
        return found
    stems = sorted(file.stem for file in DATA.glob("*.toml"))
    return (*(stem for stem in stems if stem not in (_MEANINGS, GENERIC)), GENERIC)


@cache
def family(name: str) -> Family:
    """Return a family by its name, with what it inherits, in the order of the presets' names.

    Raises:
        PresetFileError: its file is broken.
    """
    own = own_of(name)
    found = {preset.name: preset for preset in own.presets}
    if own.extends:
        for preset in inherited(own.extends, DATA / f"{name}.toml").presets:
            found.setdefault(preset.name, preset)
    for standard, meaning in meanings().items():
        found.setdefault(standard, Preset(standard, *meaning, reason=_UNKNOWN, source=own.source))
    presets = [preset._replace(family=name, pmus=own.pmus, line=0) for preset in found.values()]
    return own._replace(presets=tuple(sorted(presets)))


@cache
def own_of(name: str) -> Family:
    """Return a family as its own file has it, without what it inherits.

    Raises:
        PresetFileError: its file is broken.
    """
    from gnomon.counters.presets import toml

    return toml.read(DATA / f"{name}.toml", meanings())


def families() -> tuple[Family, ...]:
    """Return every family, `generic` last; reads all of their files.

    Raises:
        PresetFileError: a file is broken.
    """
    return tuple(family(name) for name in names())


def inherited(name: str, path: Path) -> Family:
    """Return the family that a file extends.

    Raises:
        PresetFileError: there is no such family, or it extends another itself.
    """
    if name not in names():
        raise PresetFileError(path, 0, f"it extends '{name}'; there are {', '.join(names())}")
    base = own_of(name)
    if base.extends:
        raise PresetFileError(
            path,
            0,
            f"it extends '{name}', which extends '{base.extends}' itself: name that instead",
        )
    return base


@cache
def by_pmu() -> dict[str, str]:
    """Return the family of each of libpfm4's PMUs that has one, from the files' heads."""
    compiled = _compiled("index")
    if compiled is not None:
        return dict(compiled.BY_PMU)
    from gnomon.counters.presets import toml

    found: dict[str, str] = {}
    for name in names():
        path = DATA / f"{name}.toml"
        head = toml.parse(toml.head_of(path.read_text("utf-8")), path, {})
        found.update(dict.fromkeys(head.pmus, name))
    return found


def name_of(models: Iterable[str]) -> str:
    """Return the family of a core by libpfm4's names of it; `generic` if none has a file."""
    families = by_pmu()
    return next((families[model] for model in models if model in families), GENERIC)


def preset(name: str, models: Iterable[str]) -> Preset | None:
    """Return the preset of a name on a core, None if no standard preset has that name.

    Args:
        name: PAPI's name.
        models: libpfm4's names of the core.
    """
    family_name = name_of(models)
    compiled = _compiled(family_name)
    if compiled is None:
        return family(family_name).preset(name)
    meaning = meanings().get(name)
    if meaning is None:
        return None
    fields = compiled.PRESETS.get(name, {"reason": _UNKNOWN, "source": ""})
    if "reason" in fields:
        found = Preset(name, *meaning, reason=fields["reason"])
    else:
        events = tuple(fields["events"])
        formula = fields.get("formula", "")
        program = parse(formula, len(events)) if formula else sum_of(len(events))
        given = Meaning(
            fields.get("description", meaning.description), fields.get("unit", meaning.unit)
        )
        found = made(name, events, formula, program, given)._replace(
            meanings=tuple(fields.get("meaning", ())), differs=fields.get("differs", "")
        )
    return found._replace(family=family_name, source=fields["source"], pmus=compiled.PMUS)


def _compiled(name: str) -> Any:  # noqa: ANN401
    """Return what the build made of a family, or the index of all; None before a build."""
    from importlib import import_module

    try:
        return import_module(f"{_COMPILED}.{name}")
    except ModuleNotFoundError:
        return None
