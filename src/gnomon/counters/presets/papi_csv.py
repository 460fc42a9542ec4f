"""Presets in PAPI's own format: its files of user-defined events.

    CPU,skx
    PRESET,DP_LANES,DERIVED_POSTFIX,N0|N1|2|*|+|,FP_ARITH:SCALAR_DOUBLE,FP_ARITH:128B_PACKED_DOUBLE
    EVENT,MISSES_PER_SECOND,DERIVED_PS,LLC_MISSES,LDESC,'misses in the last level each second'

`CPU` lines say for which of libpfm4's PMUs the presets below them hold; without one they hold
everywhere. A rate (DERIVED_PS, DERIVED_ADD_PS) is per second for which its events were enabled:
PAPI divides by a count of cycles, the first event; here the kernel's time is taken, and the cycles
are not counted. DERIVED_CMPD is the first of its events, as in PAPI. Source: PAPI's user guide,
user-defined events.
"""

from __future__ import annotations

import re
from pathlib import Path

from gnomon.counters.presets.definition import Meaning, Preset, PresetFamily
from gnomon.counters.presets.preset_reader import PRESETS_MAX, Checker, read_text, shown

_FIELD = re.compile(r"(?:[ \t]*\"([^\"]*)\"[ \t]*|[ \t]*'([^']*)'[ \t]*|([^,\"']*))(,|$)")
_WITH_FORMULA = ("DERIVED_POSTFIX", "DERIVED_INFIX")
_PLAIN = {
    "NOT_DERIVED": "",
    "DERIVED_ADD": "",
    "DERIVED_SUB": "difference",
    "DERIVED_PS": "per second",
    "DERIVED_ADD_PS": "per second",
    "DERIVED_CMPD": "",
}
_NOTES = ("SDESC", "LDESC", "NOTE", "UNITS")


def is_csv(text: str) -> bool:
    """Return whether a text is of this format, by its first line that is no comment."""
    for row in text.split("\n"):
        if row.strip() and not row.lstrip().startswith("#"):
            return row.split(",")[0].strip().upper() in ("CPU", "PRESET", "EVENT")
    return False


def read(path: Path, meanings: dict[str, Meaning]) -> PresetFamily:
    """Return the presets of a file; each says for which PMUs it holds.

    Args:
        path: the file.
        meanings: descriptions and units of the presets that are known everywhere.

    Raises:
        PresetFileError: the file cannot be read or a line makes no sense.
    """
    return parse(read_text(path), path, meanings)


def parse(text: str, path: Path, meanings: dict[str, Meaning]) -> PresetFamily:
    """Parse a text as `read` does a file.

    Raises:
        PresetFileError: a line makes no sense.
    """
    checker = Checker(path, path.stem, meanings)
    presets: list[Preset] = []
    seen: dict[tuple[str, str], int] = {}
    cpus: tuple[str, ...] = ()
    heads = False
    for line, row in enumerate(text.split("\n"), 1):
        if not row.strip() or row.lstrip().startswith("#"):
            continue
        fields = _fields(checker, row.strip(), line)
        word = fields[0].upper()
        if word == "CPU":
            if len(fields) != 2 or not fields[1]:
                checker.refuse(line, "CPU takes one name of a PMU: CPU,skx")
            cpus = (*(cpus if heads else ()), *checker.words("CPU", fields[1:], line))
            heads = True
            continue
        heads = False
        if word not in ("PRESET", "EVENT"):
            checker.refuse(line, f"a line begins with CPU, PRESET or EVENT, not {shown(fields[0])}")
        preset = _preset(checker, fields[1:], line)._replace(pmus=cpus)
        for cpu in cpus or ("",):
            before = seen.setdefault((preset.name, cpu), line)
            if before != line:
                where = f" for {cpu}" if cpu else ""
                checker.refuse(line, f"preset {preset.name} is defined{where} on line {before} too")
        presets.append(preset)
        if len(presets) > PRESETS_MAX:
            checker.refuse(line, f"more than {PRESETS_MAX} presets; no more are read")
    return PresetFamily(path.stem, path.stem, (), "", tuple(presets))


def _preset(checker: Checker, fields: list[str], line: int) -> Preset:
    if len(fields) < 2:
        checker.refuse(line, "a preset is NAME,DERIVATION,EVENT[,EVENT...]")
    name = checker.name(fields[0], line)
    derivation = fields[1].upper()
    rest = fields[2:]
    formula = ""
    if derivation in _WITH_FORMULA:
        if not rest or not rest[0]:
            checker.refuse(line, f"preset {name}: {derivation} without a formula")
        formula = rest.pop(0)
        if ("|" in formula) != (derivation == "DERIVED_POSTFIX") and formula != "N0":
            checker.refuse(line, f"preset {name}: {shown(formula)} is not what {derivation} says")
    elif derivation not in _PLAIN:
        known = ", ".join((*_PLAIN, *_WITH_FORMULA))
        checker.refuse(line, f"preset {name}: no derivation {shown(fields[1])}; there are {known}")
    events: list[str] = []
    notes: dict[str, str] = {}
    index = 0
    while index < len(rest):
        if rest[index].upper() in _NOTES:
            if index + 1 == len(rest):
                checker.refuse(line, f"preset {name}: {rest[index]} without a text")
            notes[rest[index].upper()] = checker.text(rest[index], rest[index + 1], line)
            index += 2
        else:
            events.append(rest[index])
            index += 1
    if events and not events[-1]:  # a comma at the end of the line
        events.pop()
    if derivation == "NOT_DERIVED" and len(events) != 1:
        checker.refuse(line, f"preset {name}: NOT_DERIVED takes one event, not {len(events)}")
    derived = _PLAIN.get(derivation, "")
    if derivation == "DERIVED_PS" and len(events) > 2:
        checker.refuse(
            line, f"preset {name}: DERIVED_PS takes the cycles and one event, not {len(events)}"
        )
    if derived == "per second" and len(events) > 1:
        del events[0]  # the cycles
    if derivation == "DERIVED_CMPD":
        del events[1:]
    return checker.preset(
        name, checker.words(f"preset {name}", events, line), formula, line, derived=derived,
        description=notes.get("LDESC") or notes.get("SDESC") or notes.get("NOTE", ""),
        unit=notes.get("UNITS", ""),
    )  # fmt: skip


def _fields(checker: Checker, row: str, line: int) -> list[str]:
    fields: list[str] = []
    offset = 0
    while True:
        match = _FIELD.match(row, offset)
        if match is None:
            checker.refuse(line, f"a quotation mark is out of place at column {offset + 1}")
        fields.append(next(text for text in match.groups()[:3] if text is not None).strip())
        offset = match.end()
        if not match[4]:
            return fields
