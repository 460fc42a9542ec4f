"""The presets' native events against this machine's libpfm4, whose tables the host has not."""

from __future__ import annotations

import platform
import tomllib
from pathlib import Path

from preset_encoding import Code, encoded, problems

from gnomon.counters import presets
from gnomon.counters.libpfm import libpfm_pmus
from guest.inside.conftest import FigureOf

UNKNOWN = tomllib.loads((Path(__file__).parent / "libpfm4_unknown.toml").read_text())


def test_libpfm4_knows_every_native_event(figure: FigureOf) -> None:
    machine = platform.machine()
    found = encoded(machine)
    codes = [code for natives in found.natives.values() for code in natives.values()]
    figure(
        "native events of presets that libpfm4 encodes, of this architecture",
        f"{sum(isinstance(code, Code) for code in codes)} of {len(codes)}",
    )
    assert found.natives
    assert problems(found, machine, UNKNOWN) == []


def test_this_machine_has_a_family_of_its_own() -> None:
    here = [pmu.name for pmu in libpfm_pmus() if pmu.is_present and pmu.is_core]
    assert here
    families = {presets.by_pmu()[name] for name in here}
    assert {preset.family for preset in presets.of_this_machine()} == families
