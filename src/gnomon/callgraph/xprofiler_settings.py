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
    most = entry.whole_number(_NUMBER) if _NUMBER in entry.fields else None
    if most is not None and most > DISPLAY_MOST:
        entry.refuse(_NUMBER, f"'{_NUMBER}' must be a whole number from 0 to {DISPLAY_MOST}")
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
