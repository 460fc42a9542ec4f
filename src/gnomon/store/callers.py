"""Who calls a function, and what it calls."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from gnomon.errors import UsageError
from gnomon.named_tuple import NamedTuple
from gnomon.store import call_paths, path_values
from gnomon.store.path_values import PathValues
from gnomon.units import printable

if TYPE_CHECKING:
    from gnomon.model.array_types import Floats, Ints
    from gnomon.store.call_paths import CallGroups, CallPaths, Code
    from gnomon.store.call_tree import CallTree
    from gnomon.store.run import Run

_SUGGESTIONS = 5


class Callees(NamedTuple):
    """What a function calls, those with most first.

    Attributes:
        group: what each is: see `call_paths.CallGroups`.
        total: what the calls came to, with all that they called.
        samples: how many stand behind it; NaN of what is not sampled.
    """

    group: Ints
    total: Floats
    samples: Floats


class Calls(NamedTuple):
    """The calls of a function.

    Attributes:
        function: what it is.
        callers: it alone at the top, and its callers below, up to the program: with what it has
            through each. A call of it from itself, whatever is between, is one of its outermost.
        callees: what it calls.
    """

    function: Code
    callers: CallTree
    callees: Callees


def matching(run: Run, name: str, *, with_unsampled: bool = False) -> dict[int, Code]:
    """Return the functions of a name, by group; if there are none, those whose names have it.

    Args:
        run: the run.
        name: of the function, or a part of it.
        with_unsampled: those, too, that are on no path: gmon.out knows their calls alone.

    Raises:
        UsageError: there are none of these, either.
        RunDirectoryError: the tables cannot be read.
    """
    import numpy as np

    code = run.region_kinds.code()
    if with_unsampled:
        _, first = call_paths.region_groups(run, "function", code)
        is_code = run.columns(
            f"SELECT kind IN {code} AS is_code FROM regions ORDER BY region", threads=1
        )["is_code"].astype(bool)
        group = first[is_code]
    else:
        group = call_paths.grouped(run, "function", code).group
    functions = call_paths.described(run, np.unique(group[group >= 0]), "function")
    for likeness in (_SAME, _PART, _ANY_CASE):
        some = {
            group: code
            for group, code in functions.items()
            if _likeness(name, code.function) >= likeness
        }
        if some:
            return some
    if not functions:
        raise UsageError(f"{run.path}: it has no functions; see gnomon report RUN")
    names = sorted({_bare(code.function) for code in functions.values()})
    close = difflib.get_close_matches(_bare(name), names, n=_SUGGESTIONS, cutoff=0.5)
    hint = f"did you mean {', '.join(close)}?" if close else "see gnomon report RUN profile"
    raise UsageError(printable(f"'{name}': {run.path} has no such function; {hint}"))


_ANY_CASE, _PART, _SAME = range(1, 4)


def _likeness(name: str, function: str) -> int:
    """Return how like a name is to that of a function, whose parameters may be left out."""
    if name in (function, function.partition("(")[0]):
        return _SAME
    if name in function:
        return _PART
    return _ANY_CASE if name.lower() in function.lower() else 0


def _bare(function: str) -> str:
    """Return the name of a function without its namespaces, template arguments and parameters."""
    return function.partition("(")[0].partition("<")[0].rpartition("::")[2]


def totals(run: Run, values: PathValues) -> Floats:
    """Return what each group has with all that it calls, at the place of its number.

    Raises:
        RunDirectoryError: the tables cannot be read.
    """
    import numpy as np

    groups = call_paths.grouped(run, "function", run.region_kinds.code())
    is_top = (groups.group >= 0) & (groups.top == np.arange(len(groups.top)))
    n = int(groups.group.max(initial=-1)) + 1
    return path_values.added(groups.group[is_top], values.inclusive[is_top], n)


def calls(
    run: Run,
    function: tuple[int, Code],
    values: PathValues,
    *,
    least: float = 0.0,
    depth: int = 0,
) -> Calls:
    """Return the callers and callees of a function.

    Args:
        run: the run.
        function: its group, and what it is.
        values: of each path.
        least: only callers and callees with so large a share of what the function has.
        depth: only so many callers, one above the other; 0 for all.
    """
    import numpy as np

    from gnomon.store import call_tree

    code = run.region_kinds.code()
    paths, groups = call_paths.of_run(run, code), call_paths.grouped(run, "function", code)
    group, what = function
    of_it = np.flatnonzero((groups.group == group) & (groups.top >= 0))
    tops = groups.top[of_it]
    n = len(paths.path)
    own, own_samples = (
        path_values.added(tops, column[of_it], n) for column in (values.own, values.own_samples)
    )
    if np.isnan(values.samples).any():
        own_samples = values.own_samples
    least *= float(values.inclusive[np.unique(tops)].sum())
    tree = call_tree.bottom_up(
        paths, groups, PathValues(own, values.inclusive, values.samples, own_samples),
        np.unique(tops), least=least, depth=depth + 1 if depth else 0, by_inclusive=True,
    )  # fmt: skip
    return Calls(what, tree, _callees(paths, groups, group, values, least))


def _callees(
    paths: CallPaths, groups: CallGroups, group: int, values: PathValues, least: float
) -> Callees:
    import numpy as np

    from gnomon.model import forest

    caller = np.where(paths.parent >= 0, groups.group[np.maximum(paths.parent, 0)], -1)
    is_called = (caller == group) & (groups.group != group) & (groups.group >= 0)
    callee = np.where(is_called, groups.group, -1).astype(np.int32)
    # One that calls it again, which calls it, is within a call of it.
    outermost = forest.outermost_in_walk(callee, paths.place, paths.end)
    chosen = np.flatnonzero(is_called & (outermost == np.arange(len(callee))))
    called, row_of = np.unique(callee[chosen], return_inverse=True)
    total = path_values.added(row_of, values.inclusive[chosen], len(called))
    samples = np.bincount(row_of, values.samples[chosen], minlength=len(called))
    in_order = np.argsort(-total, kind="stable")
    in_order = in_order[(total[in_order] >= least) & (total[in_order] > 0)]
    return Callees(called[in_order], total[in_order], samples[in_order].astype(np.float64))
