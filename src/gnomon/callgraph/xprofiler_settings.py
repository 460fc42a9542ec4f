"""What `xprofiler` starts with: its options, and the configuration file of `-c`.

The chapter leaves the format of the file open. Ours is TOML; every key may be left out:

    [xprofiler]
    display_max = 50                 # as -disp_max
    hidden = ["f"]                   # as -e
    dropped = ["g"]                  # as -E
    shown = ["solve"]                # as -f
    counted = ["solve"]              # as -F
    source_paths = ["src", "@"]      # as -a: "@" stands for the recorded place
    library_paths = ["/lib/profiled"]  # as -L

Source: the Redpaper's chapter 5.1, table 5-1.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from gnomon.callgraph.selection import ConfiguredName, Selection
from gnomon.errors import UsageError
from gnomon.metrics.toml_document import Document
from gnomon.named_tuple import NamedTuple
from gnomon.store.regular_file import special_kind
from gnomon.store.source_files import home_path, listed_places

DISPLAY_MOST = 5000
DEFAULT_PLACE = "@"
_TABLE = "xprofiler"
_NUMBER = "display_max"
_OPTIONS = {"hidden": "-e", "dropped": "-E", "shown": "-f", "counted": "-F"}
_SOURCES, _LIBRARIES = "source_paths", "library_paths"
_LISTS = (*_OPTIONS, _SOURCES, _LIBRARIES)


class XprofilerSettings(NamedTuple):
    """What the command line and a configuration file say.

    Attributes:
        display_max: so many function boxes at first; None for all.
        selection: what is left out.
        source_paths: where sources are looked for; DEFAULT_PLACE stands for where they were.
        library_paths: where shared libraries are.
    """

    display_max: int | None = None
    selection: Selection = Selection(by_chapter=True)
    source_paths: tuple[str, ...] = ()
    library_paths: tuple[str, ...] = ()


def read_settings(path: Path) -> XprofilerSettings:
    """Return what a configuration file says.

    Raises:
        UsageError: it cannot be read, or something in it is wrong; names the line.
    """
    # A pipe would be waited for.
    if kind := special_kind(path):
        raise UsageError(f"-c {path}: {kind}, where a configuration file is expected; name one")
    document = Document(path)
    document.only((_TABLE,))
    entry = document.table(_TABLE)
    entry.only((_NUMBER, *_LISTS))
    most = entry.whole_number(_NUMBER, DISPLAY_MOST) if _NUMBER in entry.fields else None
    lists = {name: entry.texts(name) if name in entry.fields else () for name in _LISTS}
    for key, places in (
        (_SOURCES, listed_places(lists[_SOURCES])), (_LIBRARIES, lists[_LIBRARIES]),
    ):  # fmt: skip
        for place in _missing(places):
            entry.refuse(key, f"{key}: {place}: there is no such directory")
    configured = tuple(
        ConfiguredName(option, name, f"{entry.source}:{entry.line_of(key)}: {key}:")
        for key, option in _OPTIONS.items()
        for name in lists[key]
    )
    selection = Selection(
        lists["hidden"], lists["dropped"], lists["shown"], lists["counted"], by_chapter=True,
        configured=configured,
    )  # fmt: skip
    return XprofilerSettings(most, selection, lists[_SOURCES], lists[_LIBRARIES])


def display_max(text: str) -> int:
    """Return the number of -disp_max.

    Raises:
        UsageError: it is none from 0 to DISPLAY_MOST.
    """
    if not text.isascii() or not text.isdigit() or int(text[:9]) > DISPLAY_MOST:
        shown = text or "''"
        raise UsageError(f"-disp_max {shown}: must be a whole number from 0 to {DISPLAY_MOST}")
    return int(text)


def with_configuration(
    config: str, typed: XprofilerSettings
) -> tuple[XprofilerSettings, tuple[str, ...]]:
    """Return what was typed beside what a configuration file says, and notes for the user.

    Args:
        config: the file; "" for none. It goes before a typed number of boxes.
        typed: as options.

    Raises:
        UsageError: the file cannot be read, or something in it is wrong; names the line.
    """
    if not config:
        return typed, ()
    read = read_settings(Path(config))
    own, more = read.selection, typed.selection
    notes = ("-disp_max is ignored: -c names a configuration",)
    return XprofilerSettings(
        read.display_max,
        Selection(
            (*own.hidden, *more.hidden), (*own.dropped, *more.dropped),
            (*own.shown, *more.shown), (*own.counted, *more.counted), by_chapter=True,
            configured=own.configured,
        ),
        (*read.source_paths, *typed.source_paths),
        (*read.library_paths, *typed.library_paths),
    ), notes if typed.display_max is not None else ()  # fmt: skip


class SourcePlaces(NamedTuple):
    """Directories in which sources are looked for, before the recorded place and behind it."""

    before: tuple[str, ...]
    behind: tuple[str, ...]


def source_places(paths: Sequence[str]) -> SourcePlaces:
    """Return the places that -a names.

    Args:
        paths: each with colons between directories, of which DEFAULT_PLACE stands for the
            recorded place.
    """
    places = listed_places(paths)
    if DEFAULT_PLACE not in places:
        return SourcePlaces((), tuple(places))
    default = places.index(DEFAULT_PLACE)
    behind = [place for place in places[default + 1 :] if place != DEFAULT_PLACE]
    return SourcePlaces(tuple(places[:default]), tuple(behind))


def check_paths(settings: XprofilerSettings) -> None:
    """Refuse directories of -a and -L that are not there.

    Raises:
        UsageError: one is not.
    """
    for option, places in (
        ("-a", listed_places(settings.source_paths)), ("-L", settings.library_paths),
    ):  # fmt: skip
        for place in _missing(places):
            remedy = f"; {DEFAULT_PLACE} is the recorded place" if option == "-a" else ""
            raise UsageError(f"{option} {place}: there is no such directory{remedy}")


def _missing(places: Sequence[str]) -> Iterator[str]:
    """Yield the directories that are not there; those of a home may begin with a tilde."""
    for place in places:
        if place != DEFAULT_PLACE and not Path(home_path(place)).is_dir():
            yield place
