"""`gnomon presets`: PAPI's presets, what they are made of here, and whether they can be counted."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gnomon.cli.lists import preset_report
from gnomon.cli.lists.preset_report import PresetRow
from gnomon.cli.terminal.argument_help import Parser, add_presets_option, load_presets
from gnomon.errors import UsageError

if TYPE_CHECKING:
    from gnomon.counters.component import Availability
    from gnomon.counters.presets import Preset

_EPILOG = """\
examples:
  gnomon presets                          those of this machine
  gnomon presets --available cache        cache presets that can be counted here
  gnomon presets --detail PAPI_DP_OPS     its native events and its formula
  gnomon presets --pmu skx                what they are on Skylake-X
  gnomon presets --presets my.toml        including your own presets

GNOMON_PRESETS=FILE[:FILE...] names such files for every command."""

_EMULATED = "emulated"
_ON_EMULATED = "gnomon count --pmu emulated"


def parser() -> argparse.ArgumentParser:
    """Return the parser of `gnomon presets`."""
    p = Parser(
        prog="gnomon presets",
        description="List PAPI's presets and your own: those with the given names, or those whose "
        "name, description or definition contains all the words. Print their native events on "
        "this machine, and whether they can be counted, tested by opening them.",
        epilog=_EPILOG,
    )
    p.add_argument("words", nargs="*", metavar="WORD", help="what to look for, in any case")
    p.add_argument("--available", action="store_true", help="only those that can be counted here")
    p.add_argument(
        "--pmu",
        metavar="FAMILY|PMU",
        default="",
        help="the definitions for another PMU: a family, libpfm4's name of a PMU, or emulated",
    )
    add_presets_option(p)
    p.add_argument("--detail", action="store_true", help="print all details of each")
    p.add_argument("--json", action="store_true", help="as JSON")
    return p


def run(arguments: argparse.Namespace) -> int:
    """Print the presets; return 0, or 1 if none matched."""
    from gnomon.cli.terminal.streams import is_styled, width_of

    rows = _rows(arguments)
    listed = [row for row in rows if row.available or not arguments.available]
    if arguments.json:
        print(json.dumps({"presets": [_as_json(row) for row in listed]}, indent=2))
        return 0 if listed else 1
    styled = is_styled(sys.stdout)
    for line in (
        preset_report.details(listed, styled=styled)
        if arguments.detail
        else preset_report.table(listed, width=width_of(sys.stdout), styled=styled)
    ):
        print(line)
    for line in _ending(rows, listed, arguments):
        print(line)
    return 0 if listed else 1


def _rows(arguments: argparse.Namespace) -> list[PresetRow]:
    from gnomon.counters import presets

    load_presets(arguments.presets)
    here = presets.of_this_machine()
    if arguments.pmu == _EMULATED:
        candidates, tried = _emulated(), True
    elif arguments.pmu:
        family = _family(arguments.pmu)
        tried = any(preset.family == family for preset in here)
        pmus = (arguments.pmu,) if arguments.pmu != family else presets.family(family).pmus
        own = presets.users_of(pmus)
        names = {preset.name for preset in own}
        candidates = [*own, *(p for p in presets.family(family).presets if p.name not in names)]
        if arguments.available and not tried:
            raise UsageError(
                f"--available and --pmu {arguments.pmu}: availability can be tested only on this "
                "machine's PMU; leave one of them out"
            )
    else:
        candidates, tried = list(here), True
    matching = _matching(candidates, [word.lower() for word in arguments.words])
    return [PresetRow(preset, _state(preset) if tried else None) for preset in matching]


def _matching(candidates: Sequence[Preset], words: Sequence[str]) -> list[Preset]:
    """Return the presets that have all the words, or that the words name, each one."""
    named = [preset for preset in candidates if preset.name.lower() in words]
    if len(words) > 1 and {preset.name.lower() for preset in named} == set(words):
        return named
    return [
        preset
        for preset in candidates
        if all(
            word in f"{preset.name} {preset.description} {preset.definition}".lower()
            for word in words
        )
    ]


def _state(preset: Preset) -> Availability:
    from gnomon.counters import presets

    if preset.family != _EMULATED:
        return presets.availability(preset)
    from gnomon.counters.emulation.engines import engine

    return engine().availability()


def _family(word: str) -> str:
    """Return the family that a word names: itself, or that of a PMU."""
    from gnomon.counters import presets
    from gnomon.counters.name_suggestions import nearest

    names = presets.names()
    pmus = presets.by_pmu()
    if word in names:
        return word
    if word in pmus:
        return pmus[word]
    close = nearest(word, [*names, *pmus])
    hint = f"did you mean {' or '.join(close)}?" if close else f"there are {', '.join(names)}"
    raise UsageError(f"--pmu {word}: no such family of presets or PMU; {hint}")


def _emulated() -> list[Preset]:
    """Return the presets that the emulated PMU counts."""
    from gnomon.counters import presets
    from gnomon.counters.emulation.events import EVENTS

    return [
        presets.Preset(
            event.name,
            event.description,
            events=tuple(quantity.value for quantity in event.quantities),
            kind="not derived" if len(event.quantities) == 1 else "sum",
            differs="" if event.is_exact else "of a simulated cache or predictor",
            family=_EMULATED,
            source="the emulation itself: gnomon events --component emulated",
        )
        for event in EVENTS
        if event.name.startswith("PAPI_")
    ]


def _as_json(row: PresetRow) -> dict[str, Any]:
    preset, state = row
    return {
        "name": preset.name,
        "available": row.available,
        "definition": preset.definition,
        "reason": state.reason if state is not None else preset.reason,
        "remedy": state.remedy if state is not None else "",
        "errno": state.errno if state is not None else 0,
        "kind": preset.kind,
        "events": list(preset.events),
        "unit": preset.unit,
        "description": preset.description,
        "family": preset.family,
        "source": preset.source,
        "differs": preset.differs,
        "meanings": list(preset.meanings),
    }


def _nothing(words: Sequence[str]) -> list[str]:
    """Return the message for no matching preset: the word may be an event or a typing error."""
    from gnomon.counters import presets
    from gnomon.errors import EventError, EventNameError, EventUnavailableError, NotPresetError

    line = "no preset matches; gnomon presets lists all"
    if len(words) > 1:
        line = "no preset has all of these words; gnomon presets lists all"
    if len(words) == 1:
        try:
            presets.preset_of(words[0])
        except EventError as error:
            if isinstance(error, NotPresetError | EventUnavailableError):
                line = f"no preset matches: {error}"
            elif isinstance(error, EventNameError) and error.suggestions:
                line = f"no preset matches; did you mean {' or '.join(error.suggestions)}?"
    return [line]


def _elsewhere(arguments: argparse.Namespace) -> list[str]:
    """Return which files have presets for other PMUs: what one looks for may be among them."""
    from gnomon.counters import presets

    if arguments.pmu:
        return []
    files: dict[str, list[Preset]] = {}
    for preset in presets.of_other_pmus():
        files.setdefault(preset.source, []).append(preset)
    return [
        f"{path}: {len(away)} preset{'s' * (len(away) != 1)} for other PMUs than this machine's "
        f"({', '.join(dict.fromkeys(pmu for preset in away for pmu in preset.pmus))}): see gnomon "
        "presets --pmu NAME"
        for path, away in files.items()
    ]


def _titles(rows: Sequence[PresetRow]) -> str:
    """Return whose presets they are: the families by their titles, users' by their files."""
    from gnomon.counters import presets

    titles: dict[str, None] = {}
    for preset, _ in rows:
        if preset.is_users:
            titles[preset.source] = None
        elif preset.family == _EMULATED:
            titles["the emulated PMU"] = None
        else:
            titles[presets.family(preset.family).title] = None
    return "; ".join(titles)


def _ending(
    rows: Sequence[PresetRow], listed: Sequence[PresetRow], arguments: argparse.Namespace
) -> list[str]:
    """Return the notes below the list: how many are unavailable, why, and the remedy."""
    from gnomon.cli.terminal.two_column_text import filled

    elsewhere = [line for text in _elsewhere(arguments) for line in filled(text, "    ")]
    if not rows:
        return [*(line for text in _nothing(arguments.words) for line in filled(text, "    ")),
                *elsewhere]  # fmt: skip
    defined = [row for row in rows if row.preset.events]
    lines = [] if not listed or arguments.detail else [""]
    plural = "" if len(rows) == 1 else "s"
    counts = f"{len(rows)} preset{plural} ({_titles(rows)}), {len(defined)} defined"
    if all(row.state is None for row in rows):
        untried = f"{counts}; not tested, as it is not this machine's PMU"
        return [*lines, *filled(untried, "    "), *elsewhere]
    available = sum(row.available is True for row in rows)
    lines += [*filled(f"{counts}, {available} can be counted here", "    "), *elsewhere]
    if arguments.detail:
        return lines  # each has said why not
    causes: dict[tuple[str, str], list[str]] = {}
    for row in defined:
        if row.state is not None and not row.state.available:
            causes.setdefault((row.state.reason, row.state.remedy), []).append(row.preset.name)
    for (reason, remedy), names in causes.items():
        which = "" if len(names) == len(defined) else f"{', '.join(names)}: "
        lines += filled(f"not here: {which}{reason}", "          ")
        lines += filled(f"remedy: {remedy}", "        ")
    if causes and not available and arguments.pmu != _EMULATED:
        lines += filled("more: gnomon doctor says what keeps this machine from counting", "      ")
        asked = {row.preset.name for row in rows}
        emulated = [preset.name for preset in _emulated() if preset.name in asked]
        if emulated:
            lines += filled(f"{_ON_EMULATED} counts: {', '.join(emulated)}", "    ")
    return lines
