"""The groups and metrics in force: users' files in front of Gnomon's own.

A file is TOML as Gnomon's own (groups, metrics, quantities, aliases, variables) or a group file of
LIKWID (`.txt`). Files come from GNOMON_GROUPS (FILE[:FILE...]) and from `-g FILE`. What was loaded
last comes first, then the files of the variable in their order, as in PATH.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable

from gnomon.errors import UsageError
from gnomon.metrics.definitions import Metrics, load_metrics
from gnomon.metrics.groups import Group, find_group, load_groups
from gnomon.named_tuple import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path

VARIABLE = "GNOMON_GROUPS"
SUFFIXES = (".toml", ".txt")

Known = Callable[[str], bool] | None
_NONE: Callable[[], Collection[str]] = tuple


class Library(NamedTuple):
    """What a file of definitions holds.

    Attributes:
        groups, metrics: what it defines.
        notes: definitions that could not be read and are left out, with file and line.
        path: the file, "" for Gnomon's own.
    """

    groups: tuple[Group, ...]
    metrics: Metrics
    notes: tuple[str, ...] = ()
    path: str = ""


_loaded: list[Library] = []
_of_files: dict[str, Library] = {}
_all: list[Library] = []


def read_library(path: Path | str, is_known: Known = None) -> Library:
    """Return the definitions of a file without registering them.

    Args:
        path: TOML, or with the suffix .txt a group file of LIKWID.
        is_known: whether there is an event of a name, to find LIKWID's events by.

    Raises:
        UsageError: the file cannot be read or is wrong; names file and line.
        FormulaError: a formula is wrong; names file, line and column.
    """
    if not str(path).endswith(".txt"):
        return Library(load_groups(path), load_metrics(path), (), str(path))
    from pathlib import Path

    from gnomon.metrics import likwid

    found = likwid.load(Path(path), is_known)
    return Library((found.group,), found.metrics, found.notes, str(path))


def load(path: Path | str, is_known: Known = None) -> Library:
    """Register the definitions of a file in this process and return them; errors as `read`."""
    library = read_library(path, is_known)
    _loaded[:] = [one for one in _loaded if one.path != library.path]
    _loaded.append(library)
    _all.clear()
    return library


def forget() -> None:
    """Forget every file that was loaded, and read those of GNOMON_GROUPS anew."""
    _loaded.clear()
    _of_files.clear()
    _all.clear()


def libraries(is_known: Known = None) -> tuple[Library, ...]:
    """Return the users' files and Gnomon's own definitions, the first to be asked first."""
    if not _all:
        for name in filter(None, os.environ.get(VARIABLE, "").split(":")):
            if name not in _of_files:
                _of_files[name] = read_library(name, is_known)
        _all.extend((*reversed(_loaded), *_of_files.values()))
        _all.append(Library(load_groups(), load_metrics()))
    return tuple(_all)


def groups() -> tuple[Group, ...]:
    """Return every group, users' first."""
    return tuple(group for library in libraries() for group in library.groups)


def metrics() -> Metrics:
    """Return every definition of a metric, users' first."""
    *users, merged = (library.metrics for library in libraries())
    for one in reversed(users):
        merged = merged.preceded_by(one)
    return merged


def select_groups(
    wanted: Iterable[str],
    cpus: Callable[[], Collection[str]] = _NONE,
    is_known: Known = None,
) -> tuple[Group, ...]:
    """Return the groups that were asked for.

    Args:
        wanted: numbers, names, and files, of which every group is meant.
        cpus: gives libpfm4's names of the machine's core PMUs; called only if that matters.
        is_known: whether there is an event of a name, to find LIKWID's events by.

    Raises:
        UsageError: there is no such group, or a file is wrong.
    """
    selected: list[Group] = []
    libraries(is_known)
    for word in wanted:
        if "/" not in word and not word.endswith(SUFFIXES):
            selected.append(find_group(groups(), word, cpus))
            continue
        in_file = load(word, is_known).groups
        if not in_file:
            raise UsageError(f"{word}: has no group; add one, headed [[group]]")
        for_here = [group for group in in_file if not group.cpus or set(group.cpus) & set(cpus())]
        # Its groups are all for other CPUs: say so as for one of them.
        selected += for_here or [find_group(in_file, in_file[0].name, cpus)]
    return tuple(selected)
