"""Which functions are left out of a graph, and which ones alone are in it: -e, -E, -f and -F."""

from __future__ import annotations

from collections.abc import Iterable

from gnomon.callgraph import _call_graph
from gnomon.errors import UsageError
from gnomon.named_tuple import NamedTuple
from gnomon.units import printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gnomon.callgraph.call_profile import CallProfile

_SUGGESTIONS = 5


class Selection(NamedTuple):
    """Names of functions, as they were typed.

    Attributes:
        hidden: -e: they have no entries of their own.
        dropped: -E: neither these, nor is their time in that of others.
        shown: -f: no others have entries.
        counted: -F: no others have entries, or time.
        by_chapter: what that means for functions that these call is as the Redpaper's table 5-1
            has it (`chapter_flags`), not as GNU gprof does.
    """

    hidden: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    shown: tuple[str, ...] = ()
    counted: tuple[str, ...] = ()
    by_chapter: bool = False


class SelectedFunctions(NamedTuple):
    """The positions of the functions that a selection names."""

    without_entry: frozenset[int]
    with_entry: frozenset[int]
    without_time: frozenset[int]
    with_time: frozenset[int]


def selected_functions(profile: CallProfile, selection: Selection) -> SelectedFunctions:
    """Return the functions that a selection names.

    Raises:
        UsageError: there is none of a name.
    """
    by_name: dict[str, list[int]] = {}
    if selection.hidden or selection.dropped or selection.shown or selection.counted:
        by_name = _by_name(profile)
    always = frozenset(
        position
        for names in (profile.name, profile.title)
        for position in _call_graph.of_profiling(names)
    )

    def named(option: str, names: Iterable[str]) -> frozenset[int]:
        return frozenset(
            position for name in names for position in _positions(profile, by_name, option, name)
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
    profile: CallProfile, by_name: dict[str, list[int]], option: str, text: str
) -> list[int]:
    """Return the functions of NAME or FILE:NAME.

    Raises:
        UsageError: there is none.
    """
    if text in by_name:
        return by_name[text]
    file, colon, name = text.rpartition(":")
    if colon and file and not file.endswith(":"):
        positions = [
            position
            for position in by_name.get(name, ())
            if profile.file[position].rpartition("/")[2] == file or profile.file[position] == file
        ]
        if positions:
            return positions
    # Names in C++ have their parameters, which few want to type.
    bare = [position for position, title in enumerate(profile.title) if _bare(title) == text]
    if bare:
        return bare
    import difflib

    close = difflib.get_close_matches(text, list(by_name), n=_SUGGESTIONS, cutoff=0.6)
    hint = f"did you mean {', '.join(close)}?" if close else "--report index -z lists all"
    raise UsageError(printable(f"{option} {text}: the profile has no such function; {hint}"))


def _bare(title: str) -> str:
    return title.partition("(")[0]
