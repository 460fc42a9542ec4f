"""The presets that come with Gnomon: a file for each family of PMUs, read when it is asked for.

The build makes a table of the files for C (`packaging/compile_presets_c.py`), by which names are
resolved; lists of presets are made from the files themselves.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path

from gnomon import _core
from gnomon.counters.presets.definition import Meaning, Preset, PresetFamily
from gnomon.errors import PresetFileError

DATA = Path(__file__).parent / "data"
GENERIC = "generic"
"""The family of PMUs that no other names: the kernel's generic events."""

_UNKNOWN = "no event of this PMU is known to have this meaning"


@cache
def meanings() -> dict[str, Meaning]:
    """Return the meaning of each standard preset, by name, in alphabetic order."""
    return {name: Meaning(*meaning) for name, *meaning in sorted(_core.preset_meanings())}


@cache
def names() -> tuple[str, ...]:
    """Return the names of the families, `generic` last."""
    return tuple(name for name, _ in _core.preset_families())


@cache
def family(name: str) -> PresetFamily:
    """Return a family by its name, with what it inherits, in the order of the presets' names.

    Raises:
        PresetFileError: its file is broken.
    """
    own = own_of(name)
    by_name = {preset.name: preset for preset in own.presets}
    if own.extends:
        for preset in inherited(own.extends, DATA / f"{name}.toml").presets:
            by_name.setdefault(preset.name, preset)
    for standard, meaning in meanings().items():
        by_name.setdefault(standard, Preset(standard, *meaning, reason=_UNKNOWN, source=own.source))
    presets = [preset._replace(family=name, pmus=own.pmus, line=0) for preset in by_name.values()]
    return own._replace(presets=tuple(sorted(presets)))


@cache
def own_of(name: str) -> PresetFamily:
    """Return a family as its own file has it, without what it inherits.

    Raises:
        PresetFileError: its file is broken.
    """
    from gnomon.counters.presets import toml

    return toml.read(DATA / f"{name}.toml", meanings())


def families() -> tuple[PresetFamily, ...]:
    """Return every family, `generic` last; reads all of their files.

    Raises:
        PresetFileError: a file is broken.
    """
    return tuple(family(name) for name in names())


def inherited(name: str, path: Path) -> PresetFamily:
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
    """Return the family of each of libpfm4's PMUs that has one."""
    return {pmu: name for name, pmus in _core.preset_families() for pmu in pmus}


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
    return family(name_of(models)).preset(name)
