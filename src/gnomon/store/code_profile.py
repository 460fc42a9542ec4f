"""What functions, modules, files and lines have themselves and with all that they call.

An analysis as `profile_query.Profile` is: any executor may do its parts, with the same result. It
is made of arrays, since sampled programs have hundreds of thousands of call paths.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gnomon.errors import UsageError
from gnomon.named_tuple import NamedTuple
from gnomon.store import call_paths, path_values
from gnomon.store.path_values import PathRows
from gnomon.store.profile_query import LocationRange
from gnomon.store.run import Run, shared_run

if TYPE_CHECKING:
    from gnomon.model.array_types import Flags, Floats, Ints
    from gnomon.store.call_paths import CallGroups, CallPaths


class CodeSums(NamedTuple):
    """Sums of one metric at locations of one kind.

    Attributes:
        metric: its number.
        kind: of the locations: its place among those of `path_values`.
        group: what each row is of: see `call_paths.CallGroups`.
        own: without what is called from there; NaN where no path has such a value.
        total: with it, each recursion once; NaN where it is not known.
        samples: how many stand behind `own`; NaN where not known.
        has_calls: some of the functions are called from others.
    """

    metric: int
    kind: int
    group: Ints
    own: Floats
    total: Floats
    samples: Floats
    has_calls: bool


@dataclass(frozen=True, slots=True)
class CodeProfile:
    """Sums over the locations of a run.

    Attributes:
        by: one of `call_paths.BY`, or `call_paths.PLACE`.
        metrics: numbers of the metrics, whose values add up.
    """

    by: str
    metrics: tuple[int, ...]

    def partial(self, part: LocationRange) -> list[CodeSums]:
        """Return the sums over a part's locations.

        Raises:
            UsageError: there is no such `by`.
            RunDirectoryError: the run cannot be read.
        """
        if self.by not in (*call_paths.BY, call_paths.PLACE):
            raise UsageError(f"{self.by}: code is by {', '.join(call_paths.BY)}")
        run = shared_run(Run(part.run, {}, part.files, is_checked=True).identity())
        paths = call_paths.of_run(run, part.code)
        groups = call_paths.grouped(run, self.by, part.code)
        only = f"AND p.location >= {part.first} AND p.location < {part.end}"
        return [
            sums
            for metric in self.metrics
            for sums in _sums(paths, groups, metric, path_values.rows(run, paths, metric, only))
        ]

    def of_rows(self, run: Run, metric: int, rows: PathRows) -> list[CodeSums]:
        """Return the sums of rows of a metric that somebody has read.

        Raises:
            RunDirectoryError: the tables cannot be read.
        """
        code = run.region_kinds.code()
        paths, groups = call_paths.of_run(run, code), call_paths.grouped(run, self.by, code)
        return self.finest(_sums(paths, groups, metric, rows))

    def merge(self, tables: Sequence[Sequence[CodeSums]]) -> list[CodeSums]:
        """Return the sums over all parts."""
        by_key: dict[tuple[int, int], list[CodeSums]] = {}
        for table in tables:
            for sums in table:
                by_key.setdefault((sums.metric, sums.kind), []).append(sums)
        return [_merged(by_key[key]) for key in sorted(by_key)]

    def elapsed(self, run: Run, metric: int) -> list[CodeSums]:
        """Return the sums of a time of the same moments at several locations, of one execution.

        Raises:
            RunDirectoryError: the tables cannot be read.
        """
        code = run.region_kinds.code()
        paths, groups = call_paths.of_run(run, code), call_paths.grouped(run, self.by, code)
        return self.finest(
            _sums(paths, groups, metric, path_values.elapsed_rows(run, paths, metric))
        )

    def finest(self, tables: Iterable[CodeSums]) -> list[CodeSums]:
        """Return each value once: what a process has, its threads have too."""
        widest: dict[int, CodeSums] = {}
        for sums in tables:
            known = widest.get(sums.metric)
            if known is None or sums.kind < known.kind:
                widest[sums.metric] = sums
        return [_without_calls(widest[metric]) for metric in sorted(widest)]


def _sums(paths: CallPaths, groups: CallGroups, metric: int, rows: PathRows) -> list[CodeSums]:
    import numpy as np

    is_code = groups.group[rows.at] >= 0
    return [
        _of_kind(paths, groups, metric, kind, PathRows(*(column[mask] for column in rows)))
        for kind in np.unique(rows.kind[is_code]).tolist()
        for mask in [is_code & (rows.kind == kind)]
    ]


def _of_kind(
    paths: CallPaths, groups: CallGroups, metric: int, kind: int, rows: PathRows
) -> CodeSums:
    """Return the sums of rows of code at locations of one kind."""
    import numpy as np

    group, row_group = np.unique(groups.group[rows.at], return_inverse=True)
    n = len(group)

    is_known = np.isfinite(rows.exclusive)
    own = path_values.added(row_group, rows.exclusive, n)
    own[np.bincount(row_group[is_known], minlength=n) == 0] = np.nan
    is_top = groups.top[rows.at] == rows.at
    total = path_values.added(row_group[is_top], rows.inclusive[is_top], n)
    unknown = np.unique(row_group[_is_without_top(groups, rows, is_top)])
    total[unknown] = np.nan
    # Of the samples with a function in their stack, those of what it calls are not its own.
    above = paths.parent[rows.at]
    is_called = (above >= 0) & (groups.group[above] >= 0)
    caller = np.searchsorted(group, groups.group[above[is_called]])
    is_there = (caller < n) & (group[np.minimum(caller, n - 1)] == groups.group[above[is_called]])
    called = path_values.added(caller[is_there], rows.samples[is_called][is_there], n)
    samples = path_values.added(row_group, rows.samples, n) - called
    is_sampled = not np.isnan(rows.samples).any() and bool((samples >= 0).all())
    return CodeSums(
        metric, kind, group, own, total,
        samples if is_sampled else np.full(n, np.nan),
        bool(is_called.any()),
    )  # fmt: skip


def _is_without_top(groups: CallGroups, rows: PathRows, is_top: Flags) -> Flags:
    """Return which rows are of a call in another one of which nothing was measured there."""
    import numpy as np

    is_without = ~is_top
    nested = np.flatnonzero(is_without)
    if len(nested):
        n = len(groups.top)
        measured = rows.place[is_top] * n + rows.at[is_top]
        tops = groups.top[rows.at[nested]]
        wanted = rows.place[nested] * n + tops
        is_without[nested] = (tops < 0) | ~np.isin(wanted, measured)
    return is_without


def _merged(tables: Sequence[CodeSums]) -> CodeSums:
    import numpy as np

    if len(tables) == 1:
        return tables[0]
    group, row_group = np.unique(np.concatenate([one.group for one in tables]), return_inverse=True)
    # What is not known of a part is not known of the whole; own values are those that are known.
    columns = [np.concatenate(column) for column in zip(*(one[3:6] for one in tables), strict=True)]
    own, total, samples = (path_values.added(row_group, column, len(group)) for column in columns)
    is_own = np.bincount(row_group[np.isfinite(columns[0])], minlength=len(group)) > 0
    own[~is_own] = np.nan
    total[row_group[np.isnan(columns[1])]] = np.nan
    samples[row_group[np.isnan(columns[2])]] = np.nan
    return CodeSums(
        tables[0].metric, tables[0].kind, group, own, total, samples,
        any(one.has_calls for one in tables),
    )  # fmt: skip


def _without_calls(sums: CodeSums) -> CodeSums:
    """Return the sums without totals where calls of functions were not recorded."""
    import numpy as np

    return sums if sums.has_calls else sums._replace(total=np.full(len(sums.group), np.nan))
