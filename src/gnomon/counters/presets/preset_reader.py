"""Reading a file of presets as text, and refusing what cannot be one: shared by both formats."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NoReturn

from gnomon.counters.preset_formula import (
    NATIVES_MAX,
    Formula,
    difference_of,
    parse,
    per_second,
    sum_of,
)
from gnomon.counters.presets.definition import Meaning, Preset, made
from gnomon.errors import FormulaError, PresetFileError

BYTES_MAX = 1 << 20
"""Largest file read."""

LINE_MAX = 8192
"""Longest line read, in characters: TOML's dotted keys cost the square of their length."""

PRESETS_MAX = 4096
"""Most presets in one file."""

_TEXT_MAX = 1000
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.\-]{0,127}")
_EVENT_MAX = 256


def read_text(path: Path) -> str:
    """Return the text of a file.

    Raises:
        PresetFileError: it cannot be read, is too large, or is not UTF-8 text.
    """
    try:
        with path.open("rb") as file:
            content = file.read(BYTES_MAX + 1)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        reason = getattr(error, "strerror", None) or str(error)
        raise PresetFileError(path, 0, f"cannot be read: {reason}") from None
    if len(content) > BYTES_MAX:
        raise PresetFileError(path, 0, f"larger than {BYTES_MAX} bytes: not a file of presets")
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise PresetFileError(path, line, "not UTF-8 text") from None
    for line, row in enumerate(text.split("\n"), 1):
        if len(row) > LINE_MAX:
            raise PresetFileError(path, line, f"longer than {LINE_MAX} characters")
    return text


class Checker:
    """Makes presets of what a file says, and refuses with the file's name and line.

    Attributes:
        path: the file.
        family: its name without ending.
        meanings: descriptions and units of the presets that are known everywhere.
    """

    def __init__(self, path: Path, family: str, meanings: dict[str, Meaning]) -> None:
        self.path = path
        self.family = family
        self.meanings = meanings

    def refuse(self, line: int, problem: str) -> NoReturn:
        """Raise the PresetFileError for a line."""
        raise PresetFileError(self.path, line, problem) from None

    def name(self, name: str, line: int) -> str:
        """Return the name of a preset if it can be one."""
        if not _NAME.fullmatch(name):
            self.refuse(
                line,
                f"{shown(name)} is no name of a preset: a letter, then letters, digits and _ - .",
            )
        return name

    def text(self, what: str, text: object, line: int) -> str:
        """Return a text of printable characters on one line."""
        if not isinstance(text, str) or not text.isprintable() or len(text) > _TEXT_MAX:
            self.refuse(
                line, f"{what} must be one line of at most {_TEXT_MAX} printable characters"
            )
        return text

    def words(self, what: str, words: object, line: int) -> tuple[str, ...]:
        """Return a list of names without blanks."""
        if not isinstance(words, list | tuple):
            self.refuse(line, f"{what} must be a list of names")
        for word in words:
            if not isinstance(word, str) or not word.isprintable() or word.split() != [word]:
                self.refuse(line, f"{what} must hold names without blanks, not {shown(word)}")
            if len(word) > _EVENT_MAX:
                self.refuse(line, f"{what}: {shown(word)} is longer than {_EVENT_MAX} characters")
        return tuple(words)

    def preset(
        self,
        name: str,
        events: tuple[str, ...],
        formula: str,
        line: int,
        *,
        formula_line: int = 0,
        derived: str = "",
        description: str = "",
        unit: str = "",
    ) -> Preset:
        """Return a preset after its formula has been tried.

        Args:
            name: its name.
            events: its native events.
            formula: over them, "" for none.
            line: where it stands in the file.
            formula_line: where its formula stands, if elsewhere.
            derived: "difference" or "per second" where the file says so instead of a formula.
            description: what it counts, "" for what it means everywhere.
            unit: of its value, "" for what it has everywhere.
        """
        if not events:
            self.refuse(line, f"preset {name}: it has no events")
        if len(events) > NATIVES_MAX:
            self.refuse(
                line, f"preset {name}: {len(events)} native events; at most {NATIVES_MAX} can be"
            )
        program = self._program(name, len(events), formula, formula_line or line)
        if derived == "difference":
            program = difference_of(len(events))
            formula = program.infix()
        elif derived == "per second":
            program = per_second(program)
            formula = program.infix()
        if not program.natives:
            self.refuse(line, f"preset {name}: its formula measures nothing: it names no event")
        known = self.meanings.get(name, Meaning("", ""))
        meaning = Meaning(description or known.description, unit or known.unit)
        preset = made(name, events, formula, program, meaning)
        return preset._replace(family=self.family, line=line)

    def _program(self, name: str, events: int, formula: str, line: int) -> Formula:
        if not formula:
            return sum_of(events)
        try:
            return parse(formula, events, str(self.path), line)
        except FormulaError as error:
            problem = str(error).partition(f":{error.column}: ")[2]
            self.refuse(line, f"preset {name}: at column {error.column} of its formula: {problem}")


def shown(thing: object) -> str:
    """Return a thing as an error message names it: one short printable line."""
    text = ascii(thing)
    return text if len(text) <= 60 else f"{text[:60]}..."
