"""Which path around each one is the outermost of the same region, file or line.

What a region has with all that it calls is what its outermost calls have: those within it, of a
function that calls itself, are in their values.
"""

from __future__ import annotations

from functools import lru_cache
from threading import Lock
from typing import TYPE_CHECKING

from gnomon.named_tuple import NamedTuple
from gnomon.store import table_limits
from gnomon.store.run import Run, RunIdentity, shared_run

if TYPE_CHECKING:
    from gnomon.model.array_types import Flags, Ints


class OutermostPaths(NamedTuple):
    """For the number of each path the outermost path of the same key: itself, or one around it.

    Attributes:
        path: its number.
        top: that of the outermost one; -1 where it is not known.
        is_code: it is a function or line.
        has_calls: it is one within another.
    """

    path: Ints
    top: Ints
    is_code: Flags
    has_calls: Flags

    @property
    def is_nested(self) -> bool:
        """Whether any path is within one of the same key."""
        return bool((self.path != self.top).any())


# Numbers of callers that are less than those of what they call make no circle.
_IS_APART = f"""
SELECT COUNT(*) <= {table_limits.DEPTH_MOST} AND COUNT(*) = COUNT(DISTINCT (path))
       AND COUNT(*) = COUNT(DISTINCT ({{columns}}))
       AND NOT COALESCE(BOOL_OR(r.kind IN {{code}}), FALSE)
       AND COALESCE(BOOL_AND(t.parent = -1 OR (t.parent < t.path AND t.parent IN (
           SELECT path FROM paths JOIN regions USING (region)))), TRUE)
FROM paths t JOIN regions r USING (region)
"""
# A profile's parts all ask the same of their run, several at a time.
_lock = Lock()
_KEPT = 4


def of_keys(run: Run, columns: str, code: str) -> OutermostPaths | None:
    """Return which path is the outermost one of the key of each.

    None means that each is by itself: no two have the same key, and none is code. It is known
    without the arrays, whose library takes longer to import than a small report.

    Args:
        run: the run.
        columns: the key of a path, as columns of its region `r` in SQL.
        code: the kinds of regions that are code, as a list of SQL.

    Raises:
        RunDirectoryError: the tables cannot be read.
    """
    with _lock:
        return _of_keys(run.identity(), columns, code)


@lru_cache(maxsize=_KEPT)
def _of_keys(of_run: RunIdentity, columns: str, code: str) -> OutermostPaths | None:
    run = shared_run(of_run)
    ((is_apart,),) = run.query(_IS_APART.format(columns=columns, code=code), threads=1)
    return None if is_apart else _of_forest(run, columns, code)


def _of_forest(run: Run, columns: str, code: str) -> OutermostPaths:
    import numpy as np

    from gnomon.model import forest

    rows = run.query(
        f"SELECT t.path, t.parent, dense_rank() OVER (ORDER BY {columns}), "
        f"COALESCE(r.kind IN {code}, FALSE) FROM paths t JOIN regions r USING (region) "
        "ORDER BY t.path",
        threads=1,
    )
    path, above, group, is_code = np.array(rows, dtype=np.int32).reshape(-1, 4).T
    at = np.minimum(np.searchsorted(path, above), max(len(path) - 1, 0))
    parent = np.where(path[at] == above, at, -1).astype(np.int32) if len(path) else above
    is_reached = np.zeros(len(path), dtype=bool)
    for level in forest.levels(parent, table_limits.DEPTH_MOST):
        is_reached[level] = True
    # Of a damaged run: in circles, or deeper than anything is.
    parent = np.where(is_reached, parent, -1).astype(np.int32)
    top = path[forest.outermost_of_their_kind(group, parent)]
    is_called = (parent >= 0) & (is_code[parent] > 0) & (is_code > 0)
    return OutermostPaths(path, np.where(is_reached, top, -1), is_code > 0, is_called)
