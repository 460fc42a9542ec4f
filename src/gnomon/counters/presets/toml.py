"""Presets in TOML: the files of families that come with Gnomon, and users' own.

title = "Intel Skylake-X"
pmus = ["skx", "clx"]
source = "Intel SDM vol. 3B"
extends = "intel_skylake"

[preset.PAPI_DP_OPS]
events = ["FP_ARITH_INST_RETIRED:SCALAR_DOUBLE", "FP_ARITH_INST_RETIRED:128B_PACKED_DOUBLE"]
formula = "N0 + 2*N1"
meaning = ["scalar operations", "packed operations on two lanes"]
differs = "counts a fused multiply-add twice"

[absent]
PAPI_BRU_IDL = "no event counts idle cycles of the branch unit"
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from gnomon.counters.presets.definition import Meaning, Preset, PresetFamily
from gnomon.counters.presets.preset_reader import PRESETS_MAX, Checker, read_text, shown
from gnomon.errors import PresetFileError

_SECTIONS = ("title", "pmus", "source", "extends", "preset", "absent")
_KEYS = ("events", "formula", "meaning", "differs", "description", "unit")
_HEADER = re.compile(
    r"[ \t]*\[[ \t]*(?:preset[ \t]*\.[ \t]*)?[\"']?([A-Za-z0-9_.\-]+)[\"']?[ \t]*\]"
)
_KEY = re.compile(r"[ \t]*[\"']?([A-Za-z0-9_.\-]+)[\"']?[ \t]*=")
_PLACE = re.compile(r" \(at (?:line ([0-9]+), column [0-9]+|end of document)\)$")


def read(path: Path, meanings: dict[str, Meaning]) -> PresetFamily:
    """Return the family of a file, without what it inherits.

    Args:
        path: the file.
        meanings: descriptions and units of the presets that are known everywhere.

    Raises:
        PresetFileError: the file cannot be read or says something that makes no sense.
    """
    return parse(read_text(path), path, meanings)


def parse(text: str, path: Path, meanings: dict[str, Meaning]) -> PresetFamily:
    """Parse a text as `read` does a file.

    Raises:
        PresetFileError: it is not TOML or not a file of presets.
    """
    checker = Checker(path, path.stem, meanings)
    sections = _load(text, path)
    lines = _lines(text)
    _only(checker, sections, _SECTIONS, lines, "")
    top = lines[""]
    source = checker.text("'source'", sections.get("source", ""), top.get("source", 1))
    title = checker.text("'title'", sections.get("title", path.stem), top.get("title", 1))
    extends = checker.text("'extends'", sections.get("extends", ""), top.get("extends", 1))
    pmus = checker.words("'pmus'", sections.get("pmus", []), top.get("pmus", 1))
    presets: list[Preset] = []
    for name, fields in _table(checker, sections, "preset").items():
        key_lines = lines.get(name, {})
        line = key_lines.get("", 1)
        checker.name(name, line)
        if not isinstance(fields, dict):
            checker.refuse(line, f"'preset' must hold tables, each headed [preset.NAME]: {name}")
        presets.append(_preset(checker, name, fields, key_lines))
    absent = lines.get("absent", {})
    defined = {preset.name for preset in presets}
    for name, reason in _table(checker, sections, "absent").items():
        line = absent.get(name, absent.get("", 1))
        checker.name(name, line)
        if name in defined:
            checker.refuse(line, f"{name} is said to be absent and defined above")
        if not checker.text(f"the reason of {name}", reason, line):
            checker.refuse(line, f"{name} is said to be absent without a reason")
        known = meanings.get(name, Meaning(""))
        presets.append(
            Preset(name, known.description, known.unit, reason=reason, family=path.stem, line=line)
        )
    if len(presets) > PRESETS_MAX:
        checker.refuse(0, f"{len(presets)} presets; at most {PRESETS_MAX} are read")
    presets = [preset._replace(source=source, pmus=pmus) for preset in presets]
    return PresetFamily(path.stem, title, pmus, source, tuple(presets), extends=extends)


def read_meanings(path: Path) -> dict[str, Meaning]:
    """Return the meaning of each preset in a file of meanings.

    Raises:
        PresetFileError: the file cannot be read or says something that makes no sense.
    """
    text = read_text(path)
    lines = _lines(text)
    checker = Checker(path, path.stem, {})
    meanings: dict[str, Meaning] = {}
    for name, fields in _load(text, path).items():
        key_lines = lines.get(name, {})
        line = key_lines.get("", 1)
        checker.name(name, line)
        if not isinstance(fields, dict):
            checker.refuse(lines[""].get(name, 1), f"{name} must be a table, headed [{name}]")
        _only(checker, fields, ("description", "unit"), lines, name)
        description = checker.text("'description'", fields.get("description", ""), line)
        if not description:
            checker.refuse(line, f"{name} has no 'description'")
        meanings[name] = Meaning(description, checker.text("'unit'", fields.get("unit", ""), line))
    return meanings


def head_of(text: str) -> str:
    """Return the fields before the first table of a file: its title, PMUs and source."""
    first = re.search(r"^[ \t]*\[[ \t]*[A-Za-z\"']", text, re.MULTILINE)
    return text[: first.start()] if first else text


def _preset(
    checker: Checker, name: str, fields: dict[str, Any], key_lines: dict[str, int]
) -> Preset:
    line = key_lines.get("", 1)
    for key in fields:
        if key not in _KEYS:
            checker.refuse(
                key_lines.get(key, line),
                f"preset {name}: unknown key {shown(key)}; known are {', '.join(_KEYS)}",
            )
    texts = {
        key: checker.text(f"preset {name}: '{key}'", fields.get(key, ""), key_lines.get(key, line))
        for key in ("differs", "description", "unit")
    }
    formula = fields.get("formula", "")
    if not isinstance(formula, str) or ("formula" in fields and not formula.strip()):
        checker.refuse(
            key_lines.get("formula", line), f"preset {name}: 'formula' must be a formula"
        )
    events = checker.words(
        f"preset {name}: 'events'", fields.get("events", []), key_lines.get("events", line)
    )
    given = fields.get("meaning", [])
    if not isinstance(given, list) or (given and len(given) != len(events)):
        checker.refuse(
            key_lines.get("meaning", line),
            f"preset {name}: 'meaning' must be a list with a sentence for each of its "
            f"{len(events)} events",
        )
    meanings = tuple(
        checker.text(f"preset {name}: 'meaning'", one, key_lines.get("meaning", line))
        for one in given
    )
    preset = checker.preset(
        name, events, formula, line, formula_line=key_lines.get("formula", line),
        description=texts["description"], unit=texts["unit"],
    )  # fmt: skip
    return preset._replace(meanings=meanings, differs=texts["differs"])


def _load(text: str, path: Path) -> dict[str, Any]:
    import tomllib

    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        place = _PLACE.search(str(error))
        line = int(place[1]) if place and place[1] else text.count("\n") + 1
        raise PresetFileError(path, line, f"not TOML: {_PLACE.sub('', str(error))}") from None
    except ValueError:
        raise PresetFileError(path, 0, "not TOML: a number has too many digits") from None
    except RecursionError:
        raise PresetFileError(path, 0, "not TOML that can be read: nested too deep") from None


def _lines(text: str) -> dict[str, dict[str, int]]:
    """Return the lines of every table by its last name ("" before the first): {key: line}.

    The line of a table's header stands under the key "". Only for messages: what stands inside a
    string of several lines may be taken for a key.
    """
    tables: dict[str, dict[str, int]] = {"": {"": 1}}
    now = tables[""]
    for line, row in enumerate(text.split("\n"), 1):
        if header := _HEADER.match(row):
            now = tables.setdefault(header[1], {"": line})
        elif key := _KEY.match(row):
            now.setdefault(key[1], line)
    return tables


def _only(
    checker: Checker,
    fields: dict[str, Any],
    allowed: Iterable[str],
    lines: dict[str, dict[str, int]],
    table: str,
) -> None:
    allowed = tuple(allowed)
    for key in fields:
        if key not in allowed:
            line = lines.get(table, {}).get(key) or lines.get(key, {}).get("", 1)
            checker.refuse(line, f"unknown key {shown(key)}; known are {', '.join(allowed)}")


def _table(checker: Checker, sections: dict[str, Any], name: str) -> dict[str, Any]:
    table = sections.get(name, {})
    if not isinstance(table, dict):
        checker.refuse(0, f"'{name}' must be a table")
    return table
