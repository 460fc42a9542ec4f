"""Which functions are left out of a graph, and which ones alone are in it: -e, -E, -f and -F."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from gnomon.callgraph import _call_graph
from gnomon.errors import UsageError
from gnomon.named_tuple import NamedTuple
from gnomon.units import printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gnomon.callgraph.call_profile import CallProfile

_SUGGESTIONS = 5


class ConfiguredName(NamedTuple):
    """A name that a configuration file has, as if it were typed.

    Attributes:
        option: that it stands for, as "-e".
        name: of a function.
        place: the file, the line and the key: "x.toml:3: hidden:".
    """

    option: str
    name: str
    place: str


class Selection(NamedTuple):
    """Names of functions, as they were typed.

    Attributes:
        hidden: -e: they have no entries of their own.
        dropped: -E: neither these, nor is their time in that of others.
        shown: -f: no others have entries.
        counted: -F: no others have entries, or time.
        by_chapter: what that means for functions that these call is as the Redpaper's table 5-1
            has it (`chapter_flags`), not as GNU gprof does.
        configured: those of the names that a configuration file has.
    """

    hidden: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    shown: tuple[str, ...] = ()
    counted: tuple[str, ...] = ()
    by_chapter: bool = False
    configured: tuple[ConfiguredName, ...] = ()


class SelectedFunctions(NamedTuple):
    """The positions of the functions that a selection names."""

    without_entry: frozenset[int]
    with_entry: frozenset[int]
    without_time: frozenset[int]
    with_time: frozenset[int]


def selected_functions(profile: CallProfile, selection: Selection) -> SelectedFunctions:
    """Return the functions that a selection names.

    Raises:
        UsageError: there is none of a name; says which option or configuration file has it.
    """
    by_name: dict[str, list[int]] = {}
    if selection.hidden or selection.dropped or selection.shown or selection.counted:
        by_name = _by_name(profile)
    always = frozenset(
        position
        for names in (profile.name, profile.title)
        for position in _call_graph.of_profiling(names)
    )

    places = {(origin.option, origin.name): origin.place for origin in selection.configured}

    def named(option: str, names: Iterable[str]) -> frozenset[int]:
        return frozenset(
            position
            for name in names
            for position in _positions(profile, by_name, places.get((option, name), option), name)
        )

    hidden, dropped = named("-e", selection.hidden), named("-E", selection.dropped)
    shown, counted = named("-f", selection.shown), named("-F", selection.counted)
    return SelectedFunctions(hidden | dropped | always, shown | counted, dropped | always, counted)


def positions_of(profile: CallProfile, option: str, text: str) -> list[int]:
    """Return the functions of a name, as the option was typed with it.

    Raises:
        UsageError: there is none.
    """
    return _positions(profile, _by_name(profile), option, text)


def _by_name(profile: CallProfile) -> dict[str, list[int]]:
    by_name: dict[str, list[int]] = {}
    for names in (profile.name, profile.title):
        for position, name in enumerate(names):
            positions = by_name.setdefault(name, [])
            if position not in positions:
                positions.append(position)
    return by_name


def _positions(
    profile: CallProfile, by_name: dict[str, list[int]], origin: str, text: str
) -> list[int]:
    """Return the functions of NAME or FILE:NAME.

    Raises:
        UsageError: there is none; begins with the origin of the name, such as an option.
    """
    positions = _of_name(profile, by_name, text)
    if positions:
        return positions
    file, name = _split(text)
    if file:
        positions = [
            position
            for position in _of_name(profile, by_name, name)
            if profile.file[position].rpartition("/")[2] == file or profile.file[position] == file
        ]
        if positions:
            return positions
    like = _names_like(list(by_name), text) or _names_like(list(by_name), name)
    hint = f"did you mean {', '.join(like)}?" if like else "--report index -z lists all"
    raise UsageError(printable(f"{origin} {text}: the profile has no such function; {hint}"))


def _of_name(profile: CallProfile, by_name: dict[str, list[int]], name: str) -> list[int]:
    """Return the functions of a name; in C++ they have parameters, which few want to type."""
    return by_name.get(name) or [
        position for position, title in enumerate(profile.title) if _bare(title) == name
    ]


def _bare(title: str) -> str:
    return title.partition("(")[0]


def _split(text: str) -> tuple[str, str]:
    """Return the file, "" for none, and the name of FILE:NAME, which may have namespaces."""
    colons = list(re.finditer(r"(?<!:):(?!:)", text))
    return (text[: colons[-1].start()], text[colons[-1].end() :]) if colons else ("", text)


def _names_like(names: Sequence[str], text: str) -> list[str]:
    """Return the names that begin as a text does, in any namespace, else those like it."""
    if not text:
        return []
    # What is before a template's name, as in `int twice<int>(int)`, is its type.
    begins = re.compile(rf"(?:.*(?:::| ))?{re.escape(text)}")
    starting = sorted((name for name in names if begins.match(_bare(name))), key=len)
    if starting:
        return starting[:_SUGGESTIONS]
    import difflib

    return difflib.get_close_matches(text, names, n=_SUGGESTIONS, cutoff=0.6)
