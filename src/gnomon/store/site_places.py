"""Where call sites of a run are: the function, the line, and the functions that lead there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gnomon.model.inlining import PYTHON
from gnomon.named_tuple import NamedTuple
from gnomon.symbols.code_frames import is_importer

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gnomon.store.run_queries import RunQueries

_CALLERS_MOST = 64


class SitePlace(NamedTuple):
    """A call site.

    Attributes:
        path: its number.
        routine: what is called.
        function: the one that calls it, "" where it is not known.
        module: program or library that this is in.
        file: of its source, "" where that is not known.
        line: of the call, 0 likewise.
        callers: functions that lead there, the nearest first, each with the line of its call.
    """

    path: int
    routine: str
    function: str
    module: str
    file: str
    line: int
    callers: tuple[str, ...]


class _Caller(NamedTuple):
    """A function that leads to a site, at the line of its call; 0 where it is not known."""

    function: str
    line: int
    is_python: bool

    def __str__(self) -> str:
        return f"{self.function}:{self.line}" if self.line else self.function


def described(run: RunQueries, paths: Iterable[int]) -> Iterator[SitePlace]:
    """Yield where call sites are, in any order.

    Args:
        run: what has the tables.
        paths: of the sites.

    Raises:
        RunDirectoryError: the tables cannot be read.
    """
    listed = ", ".join(map(str, paths)) or "-1"
    all_callers = _callers(run, listed)
    for path, routine, function, above, module, file, line in run.query(
        f"""
        SELECT t.path, r.name, CASE WHEN a.kind = 'cpu' THEN a.name ELSE '' END, a.module,
            r.module, r.file, COALESCE(r.line, 0)
        FROM paths t JOIN regions r USING (region)
        LEFT JOIN paths above ON above.path = t.parent
        LEFT JOIN regions a ON a.region = above.region
        WHERE t.path IN ({listed})
        """
    ):
        callers, own = all_callers.get(path, []), function
        # Of a line of Python the function is meant, not what was made of another one by Cython.
        if module == PYTHON != above:
            inner = [at for at, caller in enumerate(callers) if caller.is_python][:1]
            own = callers[inner[0]].function if inner else function
            callers = callers[inner[0] + 1 :] if inner else callers
        yield SitePlace(path, routine, own, module, file, line, tuple(map(str, callers)))


def _callers(run: RunQueries, listed: str) -> dict[int, list[_Caller]]:
    """Return the functions that lead to those that have the sites, the nearest first."""
    callers: dict[int, list[_Caller]] = {}
    for site, name, line, module, file in run.query(
        f"""
        WITH RECURSIVE up AS (
            SELECT t.path AS site, above.parent AS path, 0 AS depth
            FROM paths t JOIN paths above ON above.path = t.parent WHERE t.path IN ({listed})
            UNION ALL
            SELECT up.site, t.parent, up.depth + 1 FROM up JOIN paths t ON t.path = up.path
            WHERE up.depth < {_CALLERS_MOST}
        )
        SELECT up.site, r.name, COALESCE(r.line, 0), r.module, r.file FROM up
        JOIN paths t ON t.path = up.path JOIN regions r ON r.region = t.region
        WHERE r.kind = 'cpu' ORDER BY up.site, up.depth
        """
    ):
        if not is_importer(module, file):
            callers.setdefault(site, []).append(_Caller(name, line, module == PYTHON))
    return callers
