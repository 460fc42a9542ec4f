"""A run in which inlined calls are no calls: what they took is of the function they stand in.

The samples of inlined code are of the inlined function at its own line (its origin), below the
function that it was inlined into at the line of the call. Charged to the caller they are of that
line, and what the inlined function calls is called from there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gnomon.errors import RunDirectoryError, UsageError
from gnomon.model.tables import EVENTS, PATHS, PROFILE, SAMPLES
from gnomon.store import table_limits
from gnomon.store.duckdb_parquet import target
from gnomon.store.run import Run
from gnomon.store.unpacked_run import UnlinkedTables, no_room, temporary_folder
from gnomon.units import printable

if TYPE_CHECKING:
    from pathlib import Path

    from gnomon.model.array_types import Ints

ORIGIN, CALLER = "origin", "caller"
CHARGED = (ORIGIN, CALLER)
"""Where inlined code can be charged, the usual one first."""

_PATHS = """
SELECT path, parent, kind IN {code} AS is_code, COALESCE(inlined, FALSE) AS is_inlined
FROM paths JOIN regions USING (region) ORDER BY path
"""
_KEPT = """
SELECT paths.path, parents_.parent, paths.region FROM paths JOIN parents_ USING (path)
ORDER BY paths.path
"""
# Of a caller's own rows what is inclusive counts: it has that of the calls.
_CHARGED = """
SELECT repetition, location, charged_.target AS path, metric,
       COALESCE(SUM(inclusive) FILTER (WHERE profile.path = target), SUM(inclusive)) AS inclusive,
       SUM(exclusive) AS exclusive,
       CAST(SUM(calls) FILTER (WHERE profile.path = target) AS BIGINT) AS calls,
       CAST(COALESCE(SUM(raw) FILTER (WHERE profile.path = target), SUM(raw)) AS BIGINT) AS raw,
       MAX(enabled_ns) AS enabled_ns, MAX(running_ns) AS running_ns
FROM profile JOIN charged_ USING (path) GROUP BY repetition, location, target, metric
"""


# The other tables that name paths.
_NAMING = (EVENTS, SAMPLES)


def at_callers(run: Run) -> Run:
    """Return a run with what inlined code took at the lines that call it.

    Its call paths and values are in temporary files, which last as long as it does.

    Raises:
        UsageError: the run does not say which calls were inlined.
        RunDirectoryError: the tables cannot be read, or there is no room for the new ones.
    """
    code = run.region_kinds.code()
    ((n, n_told, n_inlined),) = run.query(
        "SELECT COUNT(*), COUNT(inlined), COUNT(*) FILTER (WHERE inlined) "
        f"FROM regions WHERE kind IN {code}", threads=1,
    )  # fmt: skip
    if n and not n_told:
        raise UsageError(
            f"{printable(str(run.path))}: it does not say which calls were inlined; runs of "
            "gnomon record and gmon.out files do"
        )
    if not n_inlined:
        return run
    paths = run.columns(_PATHS.format(code=code), threads=1)
    path = paths["path"]
    charged, parent = _charged(path, paths["parent"], paths["is_code"], paths["is_inlined"])
    kept = charged == path
    arrays = {
        "charged_": {"path": path, "target": charged},
        "parents_": {"path": path[kept], "parent": parent[kept]},
    }
    queries = {PATHS: _KEPT, PROFILE: _CHARGED}
    for schema in _NAMING:
        if schema in run.schemas:
            columns = ", ".join(
                "COALESCE(target, path) AS path" if column.name == "path" else column.name
                for column in schema.columns
            )
            queries[schema] = f"SELECT {columns} FROM {schema.name} LEFT JOIN charged_ USING (path)"
    with temporary_folder(run.path) as folder:
        try:
            for schema, sql in queries.items():
                file = target(folder / f"{schema.name}.parquet")
                run.query(f"COPY ({sql}) TO {file} (FORMAT parquet)", threads=1, arrays=arrays)
            tables = UnlinkedTables(folder, queries)
        except RunDirectoryError:
            _check_room(run, folder)
            raise
        except OSError as error:
            raise no_room(run.path, folder, error) from None
    files = {schema.name: run.file(schema) for schema in run.schemas} | tables.files
    return Run(run.path, run.head, files, (tables, run), read_file=run.read_file)


def _charged(path: Ints, above: Ints, is_code: Ints, is_inlined: Ints) -> tuple[Ints, Ints]:
    """Return for each path that which its values go to, and that which calls it then, or -1."""
    import numpy as np

    from gnomon.model import forest
    from gnomon.store.call_paths import positions

    parent = positions(path, above)
    has_caller = (parent >= 0) & is_code.astype(bool) & is_code.astype(bool)[parent]
    is_part = is_inlined.astype(bool) & has_caller
    to = np.arange(len(path), dtype=np.int32)
    for level in forest.levels(parent, table_limits.DEPTH_MOST):
        parts = level[is_part[level]]
        to[parts] = to[parent[parts]]
    # A path that the tables do not have stays what it is: of a damaged run.
    caller = np.where(parent >= 0, path[to[parent]], above)
    return path[to], caller


def _check_room(run: Run, folder: Path) -> None:
    """Tell a full disk from damaged tables.

    Raises:
        RunDirectoryError: there is no room for another file.
    """
    try:
        (folder / "room").write_bytes(bytes(1 << 20))
    except OSError as error:
        raise no_room(run.path, folder, error) from None
