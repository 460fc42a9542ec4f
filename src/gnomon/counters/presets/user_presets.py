"""Users' own presets: the files of GNOMON_PRESETS, and those that a program or option loads.

They come before those of Gnomon. What was loaded last comes first, then the files of the variable
in their order, as in PATH.
"""

from __future__ import annotations

import os
from contextlib import suppress
from functools import cache
from pathlib import Path

from gnomon import _core
from gnomon.counters.presets import builtin
from gnomon.counters.presets.definition import Preset, PresetFamily
from gnomon.errors import PresetFileError

VARIABLE = "GNOMON_PRESETS"
_IN_PLACE = "defined by the user, in place of Gnomon's own"

_loaded: list[PresetFamily] = []
_known: tuple[PresetFamily, ...] = ()


def load(path: Path | str) -> PresetFamily:
    """Return the presets of a file, which are known from now on in this process.

    Args:
        path: TOML as Gnomon's own files, or PAPI's format of user-defined events.

    Raises:
        PresetFileError: the file cannot be read, is broken, or gives a preset the name of an
            event that a component has.
    """
    family = read(Path(path))
    _refuse_taken_names(family)
    _loaded.append(family)
    return family


def read(path: Path) -> PresetFamily:
    """Return the presets of a file without making them known.

    Raises:
        PresetFileError: the file cannot be read or is broken.
    """
    from gnomon.counters.presets import papi_csv, toml
    from gnomon.counters.presets.preset_reader import read_text

    text = read_text(path)
    meanings = builtin.meanings()
    is_csv = path.suffix != ".toml" and papi_csv.is_csv(text)
    if path.suffix == ".csv" and not is_csv:
        raise PresetFileError(
            path, 0, "not in PAPI's format, which begins with CPU, PRESET or EVENT; call it .toml "
            "if it is TOML",
        )  # fmt: skip
    if is_csv:
        family = papi_csv.parse(text, path, meanings)
    else:
        family = toml.parse(text, path, meanings)
        if family.extends:
            have = {preset.name for preset in family.presets}
            inherited = builtin.inherited(family.extends, path).presets
            base = [one for one in inherited if one.name not in have]
            family = family._replace(presets=(*family.presets, *base))
    presets = tuple(
        preset._replace(
            source=str(path),
            is_users=True,
            pmus=preset.pmus or family.pmus,
            differs=preset.differs or (_IN_PLACE if preset.name in meanings else ""),
        )
        for preset in family.presets
    )
    return family._replace(presets=presets, path=str(path))


def families() -> tuple[PresetFamily, ...]:
    """Return the users' files, the first to be asked first.

    Raises:
        PresetFileError: a file of GNOMON_PRESETS cannot be read or is broken.
    """
    return (*reversed(_loaded), *_of_variable(os.environ.get(VARIABLE, "")))


def preset(name: str, models: tuple[str, ...]) -> Preset | None:
    """Return the user's preset of a name on a kind of core, None if there is none.

    Args:
        name: its name; case matters, unless it begins with PAPI_.
        models: libpfm4's names of the core.
    """
    for family in families():
        for one in family.presets:
            if one.name == name and (not one.pmus or set(one.pmus) & set(models)):
                return one
    return None


def of_pmus(models: tuple[str, ...]) -> tuple[Preset, ...]:
    """Return the users' presets that hold for a PMU, of each name the one that goes first.

    Args:
        models: libpfm4's names of it.
    """
    by_name: dict[str, Preset] = {}
    for family in families():
        for one in family.presets:
            if not one.pmus or set(one.pmus) & set(models):
                by_name.setdefault(one.name, one)
    return tuple(by_name.values())


def make_known() -> None:
    """Let names be resolved with the presets of the users' files as they are now.

    Raises:
        PresetFileError: a file of GNOMON_PRESETS cannot be read or is broken.
    """
    global _known
    files = families()
    if len(files) != len(_known) or any(a is not b for a, b in zip(files, _known, strict=True)):
        _core.use_presets(tuple((one.path, tuple(map(_row, one.presets))) for one in files))
        _known = files


def _row(preset: Preset) -> _core.UserPresetRow:
    steps = preset.program.program if preset.events else ()
    return (
        preset.name, preset.description or preset.definition, preset.unit, preset.events,
        preset.formula, tuple(steps), preset.reason, preset.source, preset.pmus, preset.line,
    )  # fmt: skip


def forget() -> None:
    """Forget every file that was loaded."""
    _loaded.clear()


@cache
def _of_variable(value: str) -> tuple[PresetFamily, ...]:
    read_families = tuple(read(Path(one)) for one in value.split(os.pathsep) if one)
    for family in read_families:
        _refuse_taken_names(family)
    return read_families


def _refuse_taken_names(family: PresetFamily) -> None:
    """Refuse a preset that would hide an event: one could not tell which of them was counted."""
    from gnomon.counters.components import COMPONENTS
    from gnomon.errors import EventError

    for entry in family.presets:
        for source in COMPONENTS:
            taken = False
            with suppress(EventError):  # an event of another CPU is none of this machine
                taken = bool(source.resolve(entry.name))
            if taken:
                raise PresetFileError(
                    family.path,
                    entry.line,
                    f"preset {entry.name}: component {source.name} has an event of that name; give "
                    "the preset a name of its own",
                )
