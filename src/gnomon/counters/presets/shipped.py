"""The presets that come with Gnomon: a file for each family of PMUs, read when it is asked for."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path

from gnomon.counters.presets import toml
from gnomon.counters.presets.definition import Family, Meaning, Preset
from gnomon.errors import PresetFileError

DATA = Path(__file__).parent / "data"
GENERIC = "generic"
"""The family of PMUs that no other names: the kernel's generic events."""

_MEANINGS = "meanings"
_UNKNOWN = "no event of this PMU is known to have this meaning"


@cache
def meanings() -> dict[str, Meaning]:
    """Return what each of the standard presets means, by name, in alphabetic order."""
    return toml.read_meanings(DATA / f"{_MEANINGS}.toml")


@cache
def names() -> tuple[str, ...]:
    """Return the names of the families, `generic` last."""
    stems = sorted(file.stem for file in DATA.glob("*.toml"))
    return (*(stem for stem in stems if stem not in (_MEANINGS, GENERIC)), GENERIC)


@cache
def family(name: str) -> Family:
    """Return a family by its name, with what it inherits, in the order of the presets' names.

    Raises:
        PresetFileError: its file is broken.
    """
    path = DATA / f"{name}.toml"
    own, extends = toml.read(path, meanings())
    found = {preset.name: preset for preset in own.presets}
    if extends:
        for preset in inherited(extends, path).presets:
            found.setdefault(preset.name, preset)
    for standard, meaning in meanings().items():
        found.setdefault(standard, Preset(standard, *meaning, reason=_UNKNOWN, source=own.source))
    presets = [preset._replace(family=name, pmus=own.pmus) for preset in found.values()]
    return own._replace(presets=tuple(sorted(presets)))


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
    base, extends = toml.read(DATA / f"{name}.toml", meanings())
    if extends:
        raise PresetFileError(
            path, 0, f"it extends '{name}', which extends '{extends}' itself: name that instead"
        )
    return base


@cache
def by_pmu() -> dict[str, str]:
    """Return the family of each of libpfm4's PMUs that has one; reads only the files' heads."""
    found: dict[str, str] = {}
    for name in names():
        path = DATA / f"{name}.toml"
        head, _ = toml.parse(toml.head_of(path.read_text("utf-8")), path, {})
        found.update(dict.fromkeys(head.pmus, name))
    return found


def of_models(models: Iterable[str]) -> Family:
    """Return the family of a core by libpfm4's names of it; `generic` if none has a file."""
    families = by_pmu()
    return family(next((families[model] for model in models if model in families), GENERIC))
