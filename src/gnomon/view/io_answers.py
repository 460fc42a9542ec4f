"""Answers about calls on files as they happened: the access pattern, rates over time, sums."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from starlette.responses import Response

from gnomon.errors import UsageError
from gnomon.view import access_pattern, call_rates, call_sums, call_trace, request_params
from gnomon.view.access_pattern import EXACT_MOST
from gnomon.view.call_rates import DIVISIONS, FILE, LOCATION, CallRates
from gnomon.view.call_trace import IO, KINDS, LAYERS, Selection
from gnomon.view.open_run import OpenRun
from gnomon.view.request_params import LONGEST, QueryParams
from gnomon.view.traced_time import TimeSpan
from gnomon.view.tree_answers import as_json, packed

_FILES_MOST = 200
_POINTS = 1024
_BINS = 512
_ROWS = 256


def trace(opened: OpenRun, asked: QueryParams) -> Response:
    """Return what is recorded of calls on files one by one."""
    if IO not in call_trace.traced_kinds(opened):
        return as_json({"lengthNs": 0, "layers": [], "places": []})
    layer = _selection(opened, asked).layer
    return as_json(
        {
            "lengthNs": call_trace.trace_time(opened).length_ns,
            "layers": call_trace.layers(opened),
            "places": call_sums.traced_places(opened, layer),
        }
    )


def files(opened: OpenRun, asked: QueryParams) -> Response:
    """Return the files that calls moved most of."""
    words = asked.get("filter", "")[:1000]
    wanted = _selection(opened, asked)
    return as_json(call_sums.files(opened, wanted, words, _FILES_MOST))


def pattern(opened: OpenRun, asked: QueryParams) -> Response:
    """Return the requests of a file in a window."""
    wanted = _selection(opened, asked)
    if wanted.file < 0:
        raise UsageError("'file' is missing")
    length_ns = call_trace.trace_time(opened).length_ns
    begin, low = (request_params.integer(asked, name, 0, LONGEST) for name in ("begin", "low"))
    end, high = (request_params.integer(asked, name, -1, LONGEST) for name in ("end", "high"))
    window = access_pattern.window_of(opened, wanted, length_ns, (begin, end, low, high))
    count = access_pattern.count_requests(opened, wanted, window)
    is_exact = count <= EXACT_MOST
    header: dict[str, Any] = {
        "isExact": is_exact, "requests": count, "beginNs": window.time.begin_ns,
        "endNs": window.time.end_ns, "low": window.low, "high": window.high,
        "fileEnd": access_pattern.file_end(opened, wanted)[1], "columns": 0, "rows": 0, "sites": [],
    }  # fmt: skip
    arrays: dict[str, Any] = {
        **dict.fromkeys(("start", "duration", "offset", "asked", "opening", "counts"), np.zeros(0)),
        **dict.fromkeys(("site", "location", "first", "last", "lower", "upper"), _NO_NUMBERS),
    }
    if is_exact:
        requests = access_pattern.requests(opened, wanted, window)
        paths, site = np.unique(requests.path, return_inverse=True)
        header["sites"] = call_trace.sites(opened, paths.tolist())
        arrays |= {**requests._asdict(), "site": site.astype(np.int32)}
        del arrays["path"]
    else:
        columns = request_params.integer(asked, "columns", _POINTS)
        rows = request_params.integer(asked, "rows", _POINTS)
        cells = access_pattern.cells(opened, wanted, window, (columns, rows))
        header |= {"columns": cells.columns, "rows": cells.rows}
        arrays |= {name: column for name, column in cells._asdict().items() if name not in header}
    return packed({"n": len(arrays["access"]), **header}, arrays)


_NO_NUMBERS = np.zeros(0, dtype=np.int32)


def rates(opened: OpenRun, asked: QueryParams) -> Response:
    """Return what calls come to by process or file and part of the time."""
    wanted, by = _selection(opened, asked), asked.get("by", LOCATION)
    if by not in DIVISIONS:
        raise UsageError(f"by {by[:40]!a}: there are {' and '.join(DIVISIONS)}")
    span = _span(opened, asked)
    bins = request_params.integer(asked, "bins", _BINS)
    rows = request_params.integer(asked, "rows", _ROWS)
    grid = call_rates.call_rates(opened, wanted, span, by, bins, rows)
    edges = grid.edges.tolist()
    titles = _file_names(opened, grid) if by == FILE else _place_names(opened, grid)
    header = {
        "n": len(grid.cell), "beginNs": span.begin_ns, "endNs": span.end_ns, "bins": grid.bins,
        "by": by, "rows": [
            (titles[begin] if end - begin == 1 else f"{titles[begin]} to {titles[end - 1]}")
            if end > begin else ""
            for begin, end in itertools.pairwise(edges)
        ],
    }  # fmt: skip
    number = [
        int(grid.members[begin]) if end - begin == 1 else -1
        for begin, end in itertools.pairwise(edges)
    ]
    arrays = {name: getattr(grid, name) for name in ("cell", "read", "written", "seconds")}
    return packed(header, {"number": np.array(number, dtype=np.int32), **arrays})


def _place_names(opened: OpenRun, grid: CallRates) -> list[str]:
    data = opened.data
    at = [data.location_at[number] for number in grid.members.tolist()]
    return call_trace.titles([data.locations[position] for position in at])


def _file_names(opened: OpenRun, grid: CallRates) -> list[str]:
    """Return the last parts of the paths of files."""
    rows = opened.data.tables.rows("SELECT file, COALESCE(name, '') FROM files")
    name_of = {int(number): str(name) for number, name in rows if number is not None}
    names = [name_of.get(number, "") for number in grid.members.tolist()]
    return [name.rstrip("/").rpartition("/")[2] or name or "(no name)" for name in names]


def sums(opened: OpenRun, asked: QueryParams) -> Response:
    """Return what the calls on files of a part of the time come to."""
    return as_json(call_sums.sums(opened, _selection(opened, asked), _span(opened, asked)))


def _selection(opened: OpenRun, asked: QueryParams) -> Selection:
    layer, kind = asked.get("layer", LAYERS[0]), asked.get("kind", IO)
    for name, value, allowed in (("layer", layer, LAYERS), ("kind", kind, KINDS)):
        if value not in allowed:
            raise UsageError(f"{name} {value[:40]!a}: there are {' and '.join(allowed)}")
    locations = tuple(request_params.integers(asked, "locations"))
    for number in locations:
        opened.location(number)
    return Selection(kind, layer, request_params.integer(asked, "file", -1), locations)


def _span(opened: OpenRun, asked: QueryParams) -> TimeSpan:
    length_ns = call_trace.trace_time(opened).length_ns
    begin = request_params.integer(asked, "begin", 0, LONGEST)
    end = request_params.integer(asked, "end", length_ns, LONGEST)
    span = TimeSpan(max(begin, 0), min(end, length_ns))
    if span.length_ns <= 0:
        raise UsageError(f"a window from {begin} to {end} ns: the run is from 0 to {length_ns}")
    return span
