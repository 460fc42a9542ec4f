"""Which function of a run a name means, and the call paths that are in its code."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gnomon.errors import UsageError
from gnomon.named_tuple import NamedTuple
from gnomon.store import call_paths, callers
from gnomon.store.hotspots import is_in
from gnomon.units import printable

if TYPE_CHECKING:
    from gnomon.model.array_types import Flags
    from gnomon.store.call_paths import CallPaths, Code
    from gnomon.store.run import Run

_NAMED = 8


class Function(NamedTuple):
    """A function of a run: its group (see `call_paths.CallGroups`), and what it is."""

    group: int
    code: Code


class FunctionPaths(NamedTuple):
    """The call paths that are in a function's code.

    Attributes:
        paths: all of the run.
        is_within: in it, or in what was inlined into it, wherever it was inlined itself.
        is_hosted: likewise, in the code that it has of its own.
        is_own: in the function itself, not in what was inlined into it.
    """

    paths: CallPaths
    is_within: Flags
    is_hosted: Flags
    is_own: Flags


def choose(run: Run, name: str, file: str = "") -> Function:
    """Return the function of a name.

    Args:
        run: the run.
        name: as people write it, parameters may be left out; with a file or module and a colon
            before it where several functions have it (`solver.c:norm`).
        file: its file, where several have the name; "" if that is not known.

    Raises:
        UsageError: there is none, or there are several.
        RunDirectoryError: the tables cannot be read.
    """
    place, rest = _split(name)
    try:
        some = callers.matching(run, name, with_unsampled=True)
    except UsageError:
        if not place:
            raise
        some = {
            group: code
            for group, code in callers.matching(run, rest, with_unsampled=True).items()
            if place == code.module or is_in(code.file, place)
        }
        if not some:
            raise
    if len(some) > 1 and file:
        some = {group: code for group, code in some.items() if code.file == file} or some
    if len(some) == 1:
        ((group, code),) = some.items()
        return Function(group, code)
    names = [f"'{_full_name(code, [*some.values()])}'" for code in some.values()]
    listed = ", ".join([*names[:_NAMED], *(["..."] if len(names) > _NAMED else [])])
    raise UsageError(
        printable(f"'{name}': {len(some)} functions could be it: name one of {listed}")
    )


def _split(name: str) -> tuple[str, str]:
    """Return a name's file or module, "" for none, and the rest."""
    colon = name.find(":")
    if colon <= 0 or name[colon : colon + 2] == "::" or " " in name[:colon]:
        return "", name
    return name[:colon], name[colon + 1 :]


def _full_name(code: Code, others: list[Code]) -> str:
    """Return what only this one of several is called."""
    if sum(one.function == code.function for one in others) == 1:
        return code.function
    is_file = sum(one.file == code.file for one in others) == 1 and code.file
    base = code.file.rpartition("/")[2]
    is_base = is_file and sum(one.file.rpartition("/")[2] == base for one in others) == 1
    return f"{base if is_base else code.file if is_file else code.module}:{code.function}"


def paths_of(run: Run, function: Function) -> FunctionPaths:
    """Return the call paths that are in a function's code.

    Raises:
        RunDirectoryError: the tables cannot be read.
    """
    import numpy as np

    from gnomon.model import forest
    from gnomon.store import table_limits

    code = run.region_kinds.code()
    paths, groups = call_paths.of_run(run, code), call_paths.grouped(run, "function", code)
    inlined = run.columns(
        f"SELECT region FROM regions WHERE inlined AND kind IN {code}", threads=1
    )["region"]
    parent = paths.parent
    has_caller = (parent >= 0) & paths.is_code & paths.is_code[np.maximum(parent, 0)]
    is_part = np.isin(paths.region, inlined) & has_caller
    is_own = groups.group == function.group
    is_within, is_hosted = is_own.copy(), is_own & ~is_part
    for level in forest.levels(parent, table_limits.DEPTH_MOST):
        parts = level[is_part[level]]
        is_within[parts] |= is_within[parent[parts]]
        is_hosted[parts] |= is_hosted[parent[parts]]
    return FunctionPaths(paths, is_within, is_hosted, is_own)
