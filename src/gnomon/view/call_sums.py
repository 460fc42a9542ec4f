"""What the calls on files of a part of a run's time come to: sizes, order, files, call sites."""

from __future__ import annotations

from typing import Any

import numpy as np

from gnomon.measurement.size_classes import size_name
from gnomon.view import call_trace
from gnomon.view.call_trace import Selection, calls_query
from gnomon.view.open_run import OpenRun
from gnomon.view.run_metadata import positions
from gnomon.view.traced_time import TimeSpan

_SITES_MOST = 12
_ACCESS = "CASE WHEN is_write THEN 'write' WHEN is_read THEN 'read' ELSE '' END"
# The class of a size, as native/call_sites/totals_file.h has it.
_CLASS = "CASE WHEN asked <= 0 THEN 0 WHEN asked = 1 THEN 1 ELSE 2 + FLOOR(LOG2(asked - 1)) END"


def files(opened: OpenRun, wanted: Selection, words: str, limit: int) -> dict[str, Any]:
    """Return `TracedFiles` of the contract: files by what was moved, most first.

    Args:
        opened: the run.
        wanted: of which calls.
        words: only files whose names have all of these, in any case.
        limit: so many at most.

    Raises:
        UsageError: no call of the run has a time.
        RunDirectoryError: the tables cannot be read.
    """
    conditions = ["TRUE"]
    texts = [word.lower() for word in words.split()]
    conditions += ["contains(lower(COALESCE(f.name, '')), ?)"] * len(texts)
    rows = opened.data.tables.rows(
        "WITH used AS ("
        "SELECT file, COUNT(*) FILTER (is_read OR is_write) AS requests, "
        "COUNT(*) FILTER (low IS NOT NULL AND NOT failed) AS placed, "
        "SUM(CASE WHEN is_read THEN bytes ELSE 0 END) AS read, "
        "SUM(CASE WHEN is_write THEN bytes ELSE 0 END) AS written, "
        "SUM(e - b) / 1e9 AS seconds, COUNT(DISTINCT location) AS places "
        f"FROM ({calls_query(opened, wanted)}) GROUP BY file) "
        "SELECT u.file, COALESCE(f.name, ''), COALESCE(f.kind, ''), COALESCE(f.filesystem, ''), "
        "u.requests, u.placed, CAST(u.read AS DOUBLE), CAST(u.written AS DOUBLE), "
        "CAST(u.seconds AS DOUBLE), u.places, COUNT(*) OVER () "
        "FROM used u LEFT JOIN files f ON f.file = u.file "
        f"WHERE u.file >= 0 AND {' AND '.join(conditions)} "
        f"ORDER BY u.read + u.written DESC, u.requests DESC, u.file LIMIT {limit}",
        texts,
    )
    names = ("file", "name", "kind", "filesystem", "requests", "placed", "read", "written",
             "seconds", "places")  # fmt: skip
    return {
        "total": int(rows[0][-1]) if rows else 0,
        "files": [dict(zip(names, row[:-1], strict=True)) for row in rows],
    }


def sums(opened: OpenRun, wanted: Selection, span: TimeSpan) -> dict[str, Any]:
    """Return `CallTotals` of the contract: what calls that begin within a span come to.

    Raises:
        UsageError: no call of the run has a time.
        RunDirectoryError: the tables cannot be read.
    """
    calls = calls_query(opened, wanted)
    inside = f"b >= {span.begin_ns} AND b < {span.end_ns}"
    of_access = {
        row[0]: row[1:]
        for row in opened.data.tables.rows(
            f"SELECT {_ACCESS} AS access, COUNT(*), COUNT(*) FILTER (failed), "
            "CAST(SUM(bytes) AS DOUBLE), CAST(SUM(asked) AS DOUBLE), "
            "CAST(SUM(e - b) / 1e9 AS DOUBLE) "
            f"FROM ({calls}) WHERE {inside} GROUP BY access"
        )
    }
    steps = _steps(opened, calls, span)
    accesses = {}
    for access in ("read", "write"):
        requests, failed, moved, asked, seconds = of_access.get(access, (0, 0, 0.0, 0.0, 0.0))
        accesses[access] = {
            "requests": requests, "failed": failed, "bytes": moved, "asked": asked,
            "seconds": seconds, **steps.get(access, dict.fromkeys(_STEPS, 0)),
        }  # fmt: skip
    others = of_access.get("", (0, 0, 0.0, 0.0, 0.0))
    return {
        "beginNs": span.begin_ns, "endNs": span.end_ns,
        "reads": accesses["read"], "writes": accesses["write"],
        "otherCalls": others[0], "otherSeconds": others[4],
        "sizes": _sizes(opened, calls, inside), "sites": _sites(opened, calls, inside),
    }  # fmt: skip


_STEPS = ("consecutive", "forward", "backward")


def _steps(opened: OpenRun, calls: str, span: TimeSpan) -> dict[str, dict[str, int]]:
    """Return how requests followed the one before them of the same open file, by access.

    The first of an open file follows its beginning, as in the sums of `gnomon report RUN io`.
    """
    rows = opened.data.tables.rows(f"""
        WITH placed AS (
            SELECT {_ACCESS} AS access, b, low, COALESCE(LAG(high) OVER (
                PARTITION BY repetition, location, file, opening ORDER BY b, e, low), 0) AS before
            FROM ({calls}) WHERE b < {span.end_ns} AND low IS NOT NULL AND NOT failed
        )
        SELECT access, COUNT(*) FILTER (low = before), COUNT(*) FILTER (low > before),
               COUNT(*) FILTER (low < before)
        FROM placed WHERE b >= {span.begin_ns} GROUP BY access""")
    return {row[0]: dict(zip(_STEPS, row[1:], strict=True)) for row in rows}


def _sizes(opened: OpenRun, calls: str, inside: str) -> list[dict[str, Any]]:
    rows = opened.data.tables.rows(
        f"SELECT CAST({_CLASS} AS INTEGER) AS class, COUNT(*) FILTER (is_read), "
        "COUNT(*) FILTER (is_write), CAST(SUM(bytes) AS DOUBLE) "
        f"FROM ({calls}) WHERE {inside} AND (is_read OR is_write) GROUP BY class ORDER BY class"
    )
    names = ("name", "reads", "writes", "bytes")
    return [dict(zip(names, (size_name(row[0]), *row[1:]), strict=True)) for row in rows]


def _sites(opened: OpenRun, calls: str, inside: str) -> list[dict[str, Any]]:
    rows = opened.data.tables.rows(
        "SELECT path, COUNT(*), CAST(SUM(bytes) AS DOUBLE) AS moved, "
        "CAST(SUM(e - b) / 1e9 AS DOUBLE) AS seconds "
        f"FROM ({calls}) WHERE {inside} GROUP BY path "
        f"ORDER BY seconds DESC, path LIMIT {_SITES_MOST}"
    )
    places = call_trace.sites(opened, [row[0] for row in rows])
    names = ("calls", "bytes", "seconds")
    return [
        {**place, **dict(zip(names, row[1:], strict=True))}
        for place, row in zip(places, rows, strict=True)
    ]


def traced_places(opened: OpenRun, layer: str) -> list[dict[str, Any]]:
    """Return `TracedPlace` of the contract: processes with calls on files, by rank and number.

    Raises:
        UsageError: no call of the run has a time, or they are of too many processes.
        RunDirectoryError: the tables cannot be read.
    """
    data = opened.data
    rows = data.tables.arrays(
        "SELECT location, CAST(SUM(CASE WHEN is_read THEN bytes ELSE 0 END) AS DOUBLE) AS read, "
        "CAST(SUM(CASE WHEN is_write THEN bytes ELSE 0 END) AS DOUBLE) AS written, "
        "CAST(SUM(e - b) / 1e9 AS DOUBLE) AS seconds "
        f"FROM ({calls_query(opened, Selection(layer=layer))}) GROUP BY location"
    )
    place = call_trace.places(opened, call_trace.IO)
    number = np.array([data.locations[nth].location for nth in place.tolist()], dtype=np.int32)
    row = positions(rows["location"].astype(np.int32), number).tolist()
    located = [data.locations[nth] for nth in place.tolist()]
    return [
        {
            "location": location.location, "title": title, "rank": location.rank,
            "host": location.host,
            **{
                name: float(rows[name][nth]) if nth >= 0 else 0.0
                for name in ("read", "written", "seconds")
            },
        }
        for nth, title, location in zip(row, call_trace.titles(located), located, strict=True)
    ]  # fmt: skip
