"""The call paths of a run as arrays, and which function, file or line each one is of."""

from __future__ import annotations

from functools import lru_cache
from threading import Lock
from typing import TYPE_CHECKING

from gnomon.model.inlining import FunctionFragment, defining_files, has_unique_names
from gnomon.named_tuple import NamedTuple
from gnomon.store import table_limits
from gnomon.store.run import Run, RunIdentity, shared_run

if TYPE_CHECKING:
    from gnomon.model.array_types import Flags, Ints

BY = ("function", "module", "file", "line")
"""What regions of code are taken together by."""
PLACE = "place"
"""By a line of a file, whatever functions are on it."""

_KEPT = 4
# Parts of a profile all ask the same of their run, several at a time.
_lock = Lock()


def has_arcs(run: Run) -> bool:
    """Return whether a run has calls between functions in the place of call paths.

    Raises:
        RunDirectoryError: the tables cannot be read.
    """
    return bool(run.query("SELECT 1 FROM arcs LIMIT 1"))


class CallPaths(NamedTuple):
    """The paths of a run in the order of their numbers.

    Attributes:
        path: their numbers.
        parent: position of each one's caller, -1 for roots.
        region: number of the region that each is in.
        is_code: the region is a function or line.
        is_reached: it is below a root; in a damaged run paths may go in circles.
        place, end: its place in a walk that goes down first, and the place behind its last callee.
    """

    path: Ints
    parent: Ints
    region: Ints
    is_code: Flags
    is_reached: Flags
    place: Ints
    end: Ints


class CallGroups(NamedTuple):
    """Paths taken together, by function for example.

    Attributes:
        group: of each path the number of the first region that is taken together with its own; -1
            where it is no code.
        top: position of the outermost path of the same group around each one, or its own; -1 where
            it is not known.
    """

    group: Ints
    top: Ints


class Code(NamedTuple):
    """A function, file, line or program: "" and 0 for what it is not of, or is not known."""

    function: str = ""
    module: str = ""
    file: str = ""
    line: int = 0


def of_run(run: Run, code: str) -> CallPaths:
    """Return the call paths of a run.

    Args:
        run: the run.
        code: the kinds of regions that are code, as a list of SQL.

    Raises:
        RunDirectoryError: the tables cannot be read.
    """
    with _lock:
        return _of_run(run.identity(), code)


def grouped(run: Run, by: str, code: str) -> CallGroups:
    """Return the paths of a run taken together.

    Args:
        run: the run.
        by: one of `BY`, or `PLACE`; "node" takes together functions and, by kind and name, what is
            no code.
        code: the kinds of regions that are code, as a list of SQL.

    Raises:
        RunDirectoryError: the tables cannot be read.
    """
    with _lock:
        return _grouped(run.identity(), by, code, has_unique_names(run.head))


@lru_cache(maxsize=_KEPT)
def _of_run(identity: RunIdentity, code: str) -> CallPaths:
    import numpy as np

    from gnomon.model import forest

    run = shared_run(identity)
    # A join in SQL takes longer.
    regions = run.columns(
        f"SELECT region, kind IN {code} AS is_code FROM regions ORDER BY region", threads=1
    )
    columns = run.columns("SELECT path, parent, region FROM paths", threads=1)
    of_region = positions(regions["region"], columns["region"])
    if (of_region < 0).any():
        columns = {name: column[of_region >= 0] for name, column in columns.items()}
        of_region = of_region[of_region >= 0]
    path, above, region = (columns[name] for name in ("path", "parent", "region"))
    if not bool((path[1:] > path[:-1]).all()):
        in_order = np.argsort(path, kind="stable")
        path, above, region, of_region = (
            each[in_order] for each in (path, above, region, of_region)
        )
    parent = positions(path, above)
    # Of a damaged run some go in circles, or are deeper than anything is.
    by_level = forest.levels(parent, table_limits.DEPTH_MOST)
    is_reached = np.zeros(len(path), dtype=bool)
    for level in by_level:
        is_reached[level] = True
    if not is_reached.all():
        parent = np.where(is_reached, parent, -1).astype(np.int32)
        by_level = forest.levels(parent)
    is_code = regions["is_code"].astype(bool)[of_region]
    return CallPaths(path, parent, region, is_code, is_reached, *forest.preorder(parent, by_level))


def positions(numbers: Ints, wanted: Ints) -> Ints:
    """Return where numbers stand among ascending ones, -1 for those that do not."""
    import numpy as np

    n = len(numbers)
    if not n:
        return np.full(len(wanted), -1, dtype=np.int32)
    if numbers[0] == 0 and numbers[-1] == n - 1:  # as nearly all tables are numbered
        return np.where((wanted >= 0) & (wanted < n), wanted, -1).astype(np.int32)
    at = np.minimum(np.searchsorted(numbers, wanted), n - 1)
    return np.where(numbers[at] == wanted, at, -1).astype(np.int32)


def region_groups(run: Run, by: str, code: str) -> tuple[Ints, Ints]:
    """Return the numbers of regions, ascending, and of each that of the first of its group.

    Args: as of `grouped`.

    Raises:
        RunDirectoryError: the tables cannot be read.
    """
    return _region_groups(run, by, code, unique=has_unique_names(run.head))


def _region_groups(run: Run, by: str, code: str, *, unique: bool) -> tuple[Ints, Ints]:
    import numpy as np

    columns = run.columns(_FIRST[by].format(code=code), threads=1)
    region, first = columns["region"], columns["first"].astype(np.int32)
    if by in ("function", "node"):
        homes = _homes(run, code, unique=unique)
        if homes:
            known, home = np.array(sorted(homes.items()), dtype=np.int32).T
            at = positions(known, first)
            first = np.where(at >= 0, home[at], first)
    return region, first


@lru_cache(maxsize=_KEPT)
def _grouped(identity: RunIdentity, by: str, code: str, unique: bool) -> CallGroups:
    import numpy as np

    from gnomon.model import forest

    paths = _of_run(identity, code)
    region, first = _region_groups(shared_run(identity), by, code, unique=unique)
    group = first[positions(region, paths.region)]
    group = group if by == "node" else np.where(paths.is_code, group, -1).astype(np.int32)
    top = forest.outermost_in_walk(group, paths.place, paths.end)
    return CallGroups(group, np.where(paths.is_reached, top, -1).astype(np.int32))


_PARTITIONS = {
    "function": "r.kind, r.module, r.name, r.file",
    "module": "r.kind, r.module",
    "file": "r.kind, r.file",
    "line": "r.kind, r.module, r.name, r.file, r.line",
    PLACE: "r.kind, r.file, r.line",
}
_FIRST = {
    by: f"SELECT r.region, MIN(r.region) OVER (PARTITION BY {columns}) AS first "
    "FROM regions r ORDER BY r.region"
    for by, columns in _PARTITIONS.items()
} | {
    "node": "SELECT r.region, MIN(r.region) OVER (PARTITION BY r.kind, r.name, "
    "CASE WHEN r.kind IN {code} THEN r.module END, CASE WHEN r.kind IN {code} THEN r.file END) "
    "AS first FROM regions r ORDER BY r.region"
}
# A function whose parts are in several files: its name, each part's file and first region.
_PARTS = """
WITH parts AS (
    SELECT r.kind, r.module, r.name, r.file, MIN(r.region) AS first,
           COUNT(*) OVER (PARTITION BY r.kind, r.module, r.name) AS n
    FROM regions r WHERE r.kind IN {code} AND r.name <> ''
    GROUP BY r.kind, r.module, r.name, r.file
)
SELECT kind, module, name, file, first FROM parts WHERE n > 1 ORDER BY first
"""
_WEIGHTS = """
SELECT r.kind, r.module, r.name, r.file, SUM(p.exclusive)
FROM profile p JOIN paths t USING (path) JOIN regions r USING (region)
WHERE p.metric = (SELECT MIN(metric) FROM profile JOIN paths USING (path)
                  JOIN regions USING (region) WHERE kind IN {code})
    AND r.kind IN {code} AND isfinite(p.exclusive)
GROUP BY ALL
"""


def _homes(run: Run, code: str, *, unique: bool) -> dict[int, int]:
    """Return for the first region of parts of functions that of the part that gives the name.

    Debug information gives inlined code another file: which parts are one function,
    `model/inlining.py` says.
    """
    rows = run.query(_PARTS.format(code=code), threads=1)
    if not rows:
        return {}
    weights = {(k, m, n, f): float(v) for k, m, n, f, v in run.query(
        _WEIGHTS.format(code=code), threads=1)}  # fmt: skip
    homes: dict[int, int] = {}
    for kind in sorted({row[0] for row in rows}):
        first = {FunctionFragment(m, n, f): int(at) for k, m, n, f, at in rows if k == kind}
        files = defining_files(
            {one: weights.get((kind, *one), 0.0) for one in first},
            has_unique_names=unique,
        )
        homes |= {first[one]: first[one._replace(file=file)] for one, file in files.items()}
    return homes


def described(run: Run, regions: Ints, by: str) -> dict[int, Code]:
    """Return what the groups are that stand under the numbers of their first regions.

    Raises:
        RunDirectoryError: the tables cannot be read.
    """
    import numpy as np

    rows = run.query(
        "SELECT region, name, module, file, line FROM regions JOIN wanted_ USING (region)",
        arrays={"wanted_": {"region": np.asarray(regions, dtype=np.int32)}},
    )
    told: dict[int, Code] = {}
    for region, name, module, file, line in rows:
        whole = Code(str(name), str(module), str(file), int(line))
        told[int(region)] = _only(whole, by)
    return told


def _only(whole: Code, by: str) -> Code:
    if by == "module":
        return Code(module=whole.module)
    if by == "file":
        return Code(file=whole.file)
    if by == PLACE:
        return Code(file=whole.file, line=whole.line)
    return whole if by == "line" else whole._replace(line=0)
