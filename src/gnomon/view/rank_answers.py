"""Answers about messages and ranks: the matrix, values of ranks, the call sites of one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from starlette.responses import Response

from gnomon.errors import UsageError
from gnomon.model.array_types import Flags, Floats, Ints, Longs
from gnomon.mpi import mpi_metrics
from gnomon.view import message_matrix, messages, rank_values, request_params
from gnomon.view.distribution import to_jsonable
from gnomon.view.message_matrix import BLOCK, CELLS_MOST, COMMUNITY, DIVISIONS, HOST, Axis, Order
from gnomon.view.messages import BYTES, MEASURES, Messages
from gnomon.view.open_run import OpenRun
from gnomon.view.rank_values import RANK, Ranks, Series
from gnomon.view.request_params import QueryParams
from gnomon.view.tree_answers import as_json, location_numbers, numbers, packed

_TOP = 20
_BANDS = 1024
_OUTLIERS_MOST = 200
_SITES_MOST = 200


def matrix(opened: OpenRun, asked: QueryParams) -> Response:
    """Return the cells of the matrix of messages."""
    by, of = asked.get("by", BLOCK), asked.get("of", BYTES)
    if by not in DIVISIONS:
        raise UsageError(f"by {by[:40]!a}: there are {', '.join(DIVISIONS)}")
    if of not in MEASURES:
        raise UsageError(f"of {of[:40]!a}: there are {', '.join(MEASURES)}")
    sums: Messages = opened.once("messages", lambda: messages.read_messages(opened.data))
    order: Order = opened.once(("order", by), lambda: _order(sums, by))
    most = max(1, min(request_params.integer(asked, "cells", CELLS_MOST), CELLS_MOST))
    rows = _axis(sums, order, asked, "rows", most)
    columns = _axis(sums, order, asked, "columns", most)
    cells = message_matrix.cells(sums.pairs, order, rows, columns, of, _TOP)
    heaviest = {
        "heaviestSender": sums.rank[sums.pairs.sender[cells.heaviest]],
        "heaviestReceiver": sums.rank[sums.pairs.receiver[cells.heaviest]],
        "heaviestBytes": sums.pairs.bytes[cells.heaviest],
        "heaviestMessages": sums.pairs.messages[cells.heaviest],
    }
    header = {
        "n": len(cells.cell), "by": by, "of": of, "ends": sums.n, "groups": len(order.names),
        "rows": rows.names, "columns": columns.names,
        "totalBytes": float(sums.pairs.bytes.sum()) + sums.unknown_bytes,
        "totalMessages": float(sums.pairs.messages.sum()) + sums.unknown_messages,
        "unknownMessages": sums.unknown_messages,
        "top": [
            {
                "sender": _end(sums, int(sums.pairs.sender[pair])),
                "receiver": _end(sums, int(sums.pairs.receiver[pair])),
                "bytes": float(sums.pairs.bytes[pair]),
                "messages": float(sums.pairs.messages[pair]),
            }
            for pair in cells.top.tolist()
        ],
    }  # fmt: skip
    return packed(
        header,
        {
            "rowEdges": rows.edges.astype(np.int32), "columnEdges": columns.edges.astype(np.int32),
            "cell": cells.cell, "bytes": cells.bytes, "messages": cells.messages,
            "pairs": cells.pairs, **heaviest,
        },
    )  # fmt: skip


def _order(sums: Messages, by: str) -> Order:
    if by == HOST:
        return message_matrix.ordered(sums.host, sums.hosts)
    if by == COMMUNITY:
        group = messages.communities_of(sums)
        names = [f"community {at + 1}" for at in range(int(group.max(initial=-1)) + 1)]
        return message_matrix.ordered(group, names)
    return message_matrix.in_ranks(sums)


def _axis(sums: Messages, order: Order, asked: QueryParams, name: str, most: int) -> Axis:
    """Return the part of an axis that is asked for as BEGIN-END; all of it by default."""
    begin, _, end = asked.get(name, "").partition("-")
    part = {"begin": begin, "end": end}
    return message_matrix.axis(
        sums, order, request_params.integer(part, "begin", 0),
        request_params.integer(part, "end", order.n), most,
    )  # fmt: skip


def _end(sums: Messages, position: int) -> str:
    if position in sums.titles:
        return sums.titles[position]
    host = sums.hosts[int(sums.host[position])]
    return f"rank {sums.rank[position]}" + ("" if host == messages.NO_HOST else f" on {host}")


def ranks(opened: OpenRun, asked: QueryParams) -> Response:
    """Return values of ranks, in bands."""
    # What no program takes, as 1e308 s, may come to infinity, which stands out of nothing.
    with np.errstate(over="ignore", invalid="ignore"):
        return _ranks_answer(opened, asked)


def _ranks_answer(opened: OpenRun, asked: QueryParams) -> Response:
    data = opened.data
    places = _ranks(opened)
    keys = rank_values.keys_of(
        asked.get("series", ""), rank_values.first_series(data, opened.first_metric())
    )
    if not keys:
        raise UsageError(f"{opened.title}: it has no metrics")
    columns = [_series(opened, places, key) for key in keys]
    by = asked.get("sort", RANK)
    of_key = None if by in (RANK, rank_values.HOST) else _series(opened, places, by)
    order = rank_values.sorted_ranks(
        places, by, of_key, descending=asked.get("order") == "descending"
    )
    begin = request_params.integer(asked, "begin", 0)
    end = request_params.integer(asked, "end", places.n)
    if not 0 <= begin <= end <= places.n:
        raise UsageError(f"from {begin} to {end}: there are {places.n} ranks, from 0 on")
    many = max(1, min(request_params.integer(asked, "bands", _BANDS), rank_values.BANDS_MOST))
    elapsed_ns = opened.once("elapsed", lambda: rank_values.longest_ns(data, places))
    flags = [rank_values.outliers_of(one, elapsed_ns) for one in columns]
    bands = [
        rank_values.bands(one.value[order], stands_out[order], begin, end, many)
        for one, stands_out in zip(columns, flags, strict=True)
    ]
    edges = bands[0].edges
    first = order[edges[:-1]]
    header = {
        "n": len(first), "what": places.what, "ranks": places.n, "hosts": places.hosts,
        "series": [
            _summary(one, int(found.sum())) for one, found in zip(columns, flags, strict=True)
        ],
    }  # fmt: skip
    own = location_numbers(opened)
    arrays = {
        "edges": edges.astype(np.int32), "rank": places.rank[first],
        "location": numbers(own, places.location[first]), "host": places.host[first],
        "least": _joined([one.least for one in bands]),
        "middle": _joined([one.middle for one in bands]),
        "most": _joined([one.most for one in bands]),
        "outliers": np.concatenate([one.outliers for one in bands]),
        **_outliers(places, columns, flags, order, own),
    }  # fmt: skip
    return packed(header, arrays)


def _ranks(opened: OpenRun) -> Ranks:
    places: Ranks = opened.once("ranks", lambda: rank_values.ranks_of(opened.data))
    return places


def _series(opened: OpenRun, places: Ranks, key: str) -> Series:
    values: Series = opened.once(
        ("series", key), lambda: rank_values.series(opened.data, places, key)
    )
    return values


def _joined(parts: Sequence[Floats]) -> Floats:
    return np.concatenate(parts)


def _summary(series: Series, outliers: int) -> dict[str, Any]:
    known = series.value[~np.isnan(series.value)]
    least, middle, most = np.quantile(known, (0, 0.5, 1)) if len(known) else [np.nan] * 3
    return {
        "key": series.key, "title": series.title, "unit": series.unit, "how": series.how,
        "min": to_jsonable(least), "median": to_jsonable(middle), "max": to_jsonable(most),
        "outliers": outliers,
    }  # fmt: skip


def _outliers(
    places: Ranks, columns: Sequence[Series], flags: Sequence[Flags], order: Longs, own: Ints
) -> dict[str, Any]:
    """Return the ranks that stand out, those farthest from the median of each series."""
    place = np.empty(places.n, dtype=np.int32)
    place[order] = np.arange(places.n, dtype=np.int32)
    which, members = [], []
    for number, (column, stands_out) in enumerate(zip(columns, flags, strict=True)):
        ranks = np.flatnonzero(stands_out)
        if len(ranks):
            distance = np.abs(column.value[ranks] - np.nanmedian(column.value))
            ranks = ranks[np.argsort(-distance, kind="stable")[:_OUTLIERS_MOST]]
        which.append(np.full(len(ranks), number, dtype=np.int32))
        members.append(ranks)
    series = np.concatenate(which) if which else np.zeros(0, dtype=np.int32)
    rank = np.concatenate(members) if members else np.zeros(0, dtype=np.int64)
    values = [columns[at].value[nth] for at, nth in zip(series.tolist(), rank, strict=True)]
    return {
        "outlierSeries": series, "outlierPlace": place[rank], "outlierRank": places.rank[rank],
        "outlierLocation": numbers(own, places.location[rank]),
        "outlierValue": np.array(values, dtype=np.float64),
    }  # fmt: skip


def sites(opened: OpenRun, asked: QueryParams) -> Response:
    """Return the call sites of a rank."""
    data = opened.data
    position = opened.location(request_params.integer(asked, "location"))
    if position < 0:
        raise UsageError("'location' is missing")
    places = _ranks(opened)
    unit = int(places.of_location[position])
    members = np.flatnonzero(places.of_location == unit) if unit >= 0 else np.array([position])
    time = next((one for one in data.metrics if one.name == mpi_metrics.TIME), None)
    if time is None:
        raise UsageError(f"{opened.title}: it has no times of MPI; measure it with gnomon run")
    own = [data.locations[nth].location for nth in members.tolist()]
    inside = "p.metric = ? AND p.location IN (SELECT unnest(?::INTEGER[]))"
    # Each execution has processes of its own, which are the same rank.
    ((executions,),) = data.tables.rows(
        f"SELECT GREATEST(COUNT(DISTINCT COALESCE(p.repetition, 0)), 1) FROM profile p "
        f"WHERE {inside}",
        [time.metric, own],
    )
    rows = data.tables.rows(
        "SELECT COALESCE(r.name, ''), COALESCE(u.name, ''), COALESCE(r.file, ''), "
        "GREATEST(COALESCE(r.line, 0), 0), SUM(p.calls) / CAST(? AS DOUBLE), "
        "SUM(p.inclusive) / CAST(? AS DOUBLE) AS value "
        "FROM profile p JOIN paths t USING (path) JOIN regions r USING (region) "
        "LEFT JOIN paths a ON a.path = t.parent LEFT JOIN regions u ON u.region = a.region "
        f"WHERE {inside} AND r.kind = ? AND isfinite(p.inclusive) "
        "GROUP BY t.path, r.name, u.name, r.file, r.line HAVING isfinite(SUM(p.inclusive)) "
        "ORDER BY value DESC, t.path",
        [executions, executions, time.metric, own, mpi_metrics.CALL],
    )
    location = data.locations[int(places.location[unit]) if unit >= 0 else position]
    total = float(sum(row[-1] for row in rows))
    names = ("name", "caller", "file", "line", "calls", "value")
    return as_json(
        {
            "location": location.location, "title": location.title, "host": location.host,
            "unit": time.unit, "total": total if np.isfinite(total) else 0.0,
            "sites": [dict(zip(names, row, strict=True)) for row in rows[:_SITES_MOST]],
            "more": max(0, len(rows) - _SITES_MOST),
        }
    )  # fmt: skip
