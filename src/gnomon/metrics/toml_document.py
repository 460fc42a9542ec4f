"""TOML files whose every entry knows the line it stands on, so that errors can name it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from gnomon.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any, NoReturn

SHIPPED = f"{__file__.rpartition('/')[0]}/data"
"""Folder of the definitions that come with Gnomon."""

MAX_BYTES = 256 * 1024
"""Largest file read."""

MAX_LINE = 8192
"""Longest line read: TOML's dotted keys cost the square of their length."""

# Patterns that only users' files need: compiled then, not at every start.
# Strings and comments, longest delimiters first. The text has been through tomllib, so they close.
_QUOTED = (
    r'"""(?:\\.|[^\\])*?"{3,5}'
    r"|'''.*?'{3,5}"
    r'|"(?:\\.|[^"\\\n])*"'
    r"|'[^'\n]*'"
    r"|#[^\n]*"
)
_HEADER = r"[ \t]*\[\[?[ \t]*[\"']?([A-Za-z0-9_-]+)[\"']?[ \t]*\]"
_KEY = r"[ \t]*[\"']?([A-Za-z0-9_-]+)[\"']?[ \t]*="
_PLACE = r" \(at line ([0-9]+), column [0-9]+\)$"


class TomlEntry:
    """One table of a document, with accessors that check what they return.

    Attributes:
        fields: the table as TOML gives it.
        source: the file.
        line: the line of the table's header.
    """

    __slots__ = ("_lines", "fields", "line", "source")

    def __init__(
        self, fields: dict[str, Any], source: str, line: int, lines: dict[str, int]
    ) -> None:
        self.fields = fields
        self.source = source
        self.line = line
        self._lines = lines

    def line_of(self, key: str) -> int:
        """Return the line of a key, that of the header where the key is not there."""
        return self._lines.get(key, self.line)

    def refuse(self, key: str, problem: str) -> NoReturn:
        """Raise the UsageError for a key: file, line, problem."""
        raise UsageError(f"{self.source}:{self.line_of(key)}: {problem}")

    def only(self, allowed: Iterable[str]) -> None:
        """Refuse the entry if it has keys other than the known ones."""
        allowed = tuple(allowed)
        for key in self.fields:
            if key not in allowed:
                hint = nearest(key, allowed) or f"; known are {', '.join(allowed)}"
                self.refuse(key, f"unknown key {quote(key)}{hint}")

    def text(self, key: str, default: str | None = None) -> str:
        """Return a string of printable characters; required unless there is a default."""
        value = self.fields.get(key, default)
        if value is None:
            self.refuse(key, f"'{key}' is missing")
        if not isinstance(value, str) or not value.isprintable():
            self.refuse(key, f"'{key}' must be a string of printable characters on one line")
        if not value and default is None:
            self.refuse(key, f"'{key}' must not be empty")
        return value

    def raw_text(self, key: str) -> str:
        """Return a required string of any characters."""
        value = self.fields.get(key)
        if not isinstance(value, str):
            self.refuse(key, f"'{key}' must be a string" if value else f"'{key}' is missing")
        return value

    def whole_number(self, key: str, most: int = 2**31 - 1) -> int:
        """Return a required whole number from 0 to the most there may be."""
        if key not in self.fields:
            self.refuse(key, f"'{key}' is missing")
        value = self.fields[key]
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= most:
            self.refuse(key, f"'{key}' must be a whole number from 0 to {most}")
        return value

    def words(self, key: str) -> tuple[str, ...]:
        """Return a required list of different words: printable, without blanks, at least one."""
        return self._strings(key, "words without blanks", lambda text: text.split() == [text])

    def texts(self, key: str) -> tuple[str, ...]:
        """Return a required list of different strings: printable, not empty, at least one."""
        return self._strings(key, "strings of printable characters", bool)

    def _strings(self, key: str, what: str, is_right: Callable[[str], bool]) -> tuple[str, ...]:
        if key not in self.fields:
            self.refuse(key, f"'{key}' is missing")
        values = self.fields[key]
        if not isinstance(values, list) or not values:
            self.refuse(key, f"'{key}' must be a list of strings with at least one in it")
        for value in values:
            if not isinstance(value, str) or not value.isprintable() or not is_right(value):
                self.refuse(key, f"'{key}' must hold {what}, not {quote(value)}")
        if len(set(values)) != len(values):
            twice = next(value for value in values if values.count(value) > 1)
            self.refuse(key, f"'{key}' has {quote(twice)} twice")
        return tuple(values)


class Document:
    """A TOML file and where its tables and keys stand.

    Attributes:
        source: the file's name as errors give it.
        sections: the document as TOML gives it.
        is_compiled: the build has read it before.
    """

    def __init__(self, path: Path | str) -> None:
        """Read a file.

        Raises:
            UsageError: the file cannot be read, is too large, or is not TOML; names file and line.
        """
        self.source = str(path)
        compiled = _compiled(path)
        self.is_compiled = compiled is not None
        if compiled is not None:
            self.sections = compiled
            self._headers: list[tuple[str, int, dict[str, int]]] = []
            return
        import tomllib

        text = read_text(path)
        try:
            self.sections = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            place = re.search(_PLACE, str(error))
            line = int(place[1]) if place else text.count("\n") + 1
            self._refuse(line, f"not TOML: {re.sub(_PLACE, '', str(error))}")
        except ValueError:
            self._refuse(1, "not TOML that can be read: a number has too many digits")
        except RecursionError:
            self._refuse(1, "not TOML that can be read: nested too deep")
        self._headers = _headers(text)

    def only(self, known: Iterable[str]) -> None:
        """Refuse the document if it has sections other than the known ones."""
        TomlEntry(self.sections, self.source, 1, self._section_lines()).only(known)

    def entries(self, section: str) -> tuple[TomlEntry, ...]:
        """Return the tables of an array of tables (`[[section]]`), () if there is none.

        Raises:
            UsageError: the section is something else.
        """
        tables = self.sections.get(section, [])
        first = self._section_lines().get(section, 1)
        if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
            self._refuse(first, f"'{section}' must be a list of tables, each headed [[{section}]]")
        headers = [(line, keys) for name, line, keys in self._headers if name == section]
        if len(headers) != len(tables):  # written in another of TOML's ways, such as inline
            headers = [(first, {})] * len(tables)
        return tuple(
            TomlEntry(table, self.source, line, keys)
            for table, (line, keys) in zip(tables, headers, strict=True)
        )

    def table(self, section: str) -> TomlEntry:
        """Return a table (`[section]`), an empty one if it is not there.

        Raises:
            UsageError: the section is something else.
        """
        fields = self.sections.get(section, {})
        line = self._section_lines().get(section, 1)
        if not isinstance(fields, dict):
            self._refuse(line, f"'{section}' must be a table, headed [{section}]")
        keys = next((keys for name, _, keys in self._headers if name == section), {})
        return TomlEntry(fields, self.source, line, keys)

    def _section_lines(self) -> dict[str, int]:
        lines: dict[str, int] = {}
        for name, line, keys in self._headers:
            if name:
                lines.setdefault(name, line)
            else:
                lines.update(keys)
        return lines

    def _refuse(self, line: int, problem: str) -> NoReturn:
        raise UsageError(f"{self.source}:{line}: {problem}") from None


def read_text(path: Path | str) -> str:
    """Return the text of a file of definitions.

    Raises:
        UsageError: it cannot be read, is too large, has a line that is too long or is not UTF-8;
            names the file and, where there is one, the line.
    """
    try:
        with open(path, "rb") as file:
            content = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        reason = getattr(error, "strerror", None) or str(error)
        raise UsageError(f"{path}: {reason}") from None
    if len(content) > MAX_BYTES:
        raise UsageError(f"{path}: larger than {MAX_BYTES} bytes; not a file of definitions")
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise UsageError(f"{path}:{line}: not UTF-8 text") from None
    for line, row in enumerate(text.split("\n"), 1):
        if len(row) > MAX_LINE:
            raise UsageError(f"{path}:{line}: longer than {MAX_LINE} characters")
    return text


def nearest(name: str, candidates: Iterable[str]) -> str:
    """Return "; did you mean A or B?" for the known names nearest to one; "" if none is near."""
    from difflib import get_close_matches

    folded: dict[str, str] = {}
    for candidate in candidates:
        folded.setdefault(candidate.casefold(), candidate)
    matches = get_close_matches(name[:100].casefold(), folded, n=3, cutoff=0.6)
    return f"; did you mean {' or '.join(folded[match] for match in matches)}?" if matches else ""


def _compiled(path: Path | str) -> dict[str, Any] | None:
    """Return the content of a shipped file as the build compiled it, None for other files."""
    folder, _, name = str(path).rpartition("/")
    if folder != SHIPPED:
        return None
    try:
        from gnomon.metrics._shipped import SECTIONS
    except ImportError:
        return None
    return SECTIONS.get(name.removesuffix(".toml"))


def _headers(text: str) -> list[tuple[str, int, dict[str, int]]]:
    """Return (name, line, {key: line}) of every table in order; the name of the top level is ""."""

    def without_lines(match: re.Match[str]) -> str:
        quoted = match[0]
        lines = quoted.count("\n")
        return '""' + "\n" * lines if lines or quoted.startswith(("'''", '"""')) else quoted

    headers: list[tuple[str, int, dict[str, int]]] = [("", 1, {})]
    for line, row in enumerate(
        re.sub(_QUOTED, without_lines, text, flags=re.DOTALL).split("\n"), 1
    ):
        if header := re.match(_HEADER, row):
            headers.append((header[1], line, {}))
        elif key := re.match(_KEY, row):
            headers[-1][2].setdefault(key[1], line)
    return headers


def quote(value: object) -> str:
    """Return a value as an error message names it: one short printable line in quotes."""
    text = ascii(value)
    return text if len(text) <= 60 else f"{text[:60]}..."
