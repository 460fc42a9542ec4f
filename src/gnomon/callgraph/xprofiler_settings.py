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

from collections.abc import Sequence
from pathlib import Path

from gnomon.callgraph.selection import Selection
from gnomon.errors import UsageError
from gnomon.metrics.toml_document import Document
from gnomon.named_tuple import NamedTuple

DISPLAY_MOST = 5000
DEFAULT_PLACE = "@"
_TABLE = "xprofiler"
_NUMBER = "display_max"
_LISTS = ("hidden", "dropped", "shown", "counted", "source_paths", "library_paths")


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
    document = Document(path)
    document.only((_TABLE,))
    entry = document.table(_TABLE)
    entry.only((_NUMBER, *_LISTS))
    most = entry.whole_number(_NUMBER, DISPLAY_MOST) if _NUMBER in entry.fields else None
    lists = {name: entry.texts(name) if name in entry.fields else () for name in _LISTS}
    selection = Selection(
        lists["hidden"], lists["dropped"], lists["shown"], lists["counted"], by_chapter=True
    )
    return XprofilerSettings(most, selection, lists["source_paths"], lists["library_paths"])


def display_max(text: str) -> int:
    """Return the number of -disp_max.

    Raises:
        UsageError: it is none from 0 to DISPLAY_MOST.
    """
    if not text.isascii() or not text.isdigit() or int(text[:9]) > DISPLAY_MOST:
        raise UsageError(f"-disp_max {text}: must be a whole number from 0 to {DISPLAY_MOST}")
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
    places = [place for some in paths for place in some.split(":") if place]
    if DEFAULT_PLACE not in places:
        return SourcePlaces((), tuple(places))
    default = places.index(DEFAULT_PLACE)
    behind = [place for place in places[default + 1 :] if place != DEFAULT_PLACE]
    return SourcePlaces(tuple(places[:default]), tuple(behind))


def check_library_paths(paths: Sequence[str]) -> None:
    """Refuse directories of -L that are not there.

    Raises:
        UsageError: one is not.
    """
    for name in paths:
        if not Path(name).is_dir():
            raise UsageError(f"-L {name}: there is no such directory")
