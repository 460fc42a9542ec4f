"""PAPI's preset events: one name for one meaning on every CPU.

Names are resolved in C (`gnomon.counters.preset_resolver`). Here stand the definitions, for lists
and for what users add (`load`, GNOMON_PRESETS). They are data: `data/meanings.toml` says what each
preset means, and a file for each family of PMUs which native events that is there.
"""

from __future__ import annotations

from gnomon.counters.preset_formula import Formula
from gnomon.counters.preset_resolver import PresetResolution
from gnomon.counters.presets.builtin import (
    by_pmu,
    families,
    family,
    meanings,
    names,
    own_of,
)
from gnomon.counters.presets.definition import Meaning, Preset, PresetFamily
from gnomon.counters.presets.machine_presets import (
    availability,
    find,
    known_names,
    of_other_pmus,
    of_this_machine,
    preset_of,
    resolve,
)
from gnomon.counters.presets.user_presets import forget, load, read
from gnomon.counters.presets.user_presets import of_pmus as users_of

__all__ = [
    "Formula",
    "Meaning",
    "Preset",
    "PresetFamily",
    "PresetResolution",
    "availability",
    "by_pmu",
    "families",
    "family",
    "find",
    "forget",
    "known_names",
    "load",
    "meanings",
    "names",
    "of_other_pmus",
    "of_this_machine",
    "own_of",
    "preset_of",
    "read",
    "resolve",
    "users_of",
]
