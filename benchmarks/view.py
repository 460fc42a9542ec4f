"""How long `gnomon view` lets people wait, on runs that are made for it.

A tree of 100,000 nodes (functions and lines of an emulated program), a profile of 10 million rows
(sections on 64 threads), 500,000 call paths of 100,000 samples, and the messages and MPI calls of
131,072 ranks. A real server answers real requests; each round opens anew.
"""

from __future__ import annotations

import json
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median

import duckdb

from benchmarks import large_mpi, large_samples
from benchmarks.table import Row, Table, verdict
from gnomon.view.server import Server
from gnomon.view.session import Session

_ROUNDS_MOST = 5
_FIRST_PAINT_S = 1.0
_OPENS_S = 2.0
_CALLS_OPEN_S = 3.0
_INTERACTION_S = 0.1
_RANKS = 131_072
_MATRIX_S = 1.0
_HEAD = {
    "schema": "gnomon/run", "schema_version": 1, "command": ["./app"], "hosts": [{"name": "node1"}],
    "started": 1.7e9, "wall_seconds": 10.0, "exit_status": 0, "repetitions": 1, "unavailable": [],
    "warnings": [],
}  # fmt: skip
_FIRST = ("state", "runs/1", "runs/1/metrics", "runs/1/locations", "runs/1/tree?by=region",
          "runs/1/values?by=region&metric=0")  # fmt: skip
_INTERACTIONS = {
    "another metric": "runs/1/values?by=region&metric=1",
    "a metric shown before": "runs/1/values?by=region&metric=0",
    "one location": "runs/1/values?by=region&metric=0&location=1",
    "the largest place": "runs/1/values?by=region&metric=0&statistic=max",
    "by file": "runs/1/tree?by=file",
    "by file, values": "runs/1/values?by=file&metric=0",
    "spread of a node": "runs/1/spread?by=region&metric=0&node=1",
    "all of a node": "runs/1/node?by=region&node=5",
    "table": "runs/1/table?name=functions&metrics=0&limit=100",
    "table, sorted": "runs/1/table?name=functions&metrics=0&sort=inclusive:0&limit=100",
    "table, filtered": "runs/1/table?name=functions&metrics=0&filter=1234&limit=100",
}
_OF_CALLS = {
    **{name: address for name, address in _INTERACTIONS.items() if "metric=1" not in address},
    "bottom-up": "runs/1/tree?by=callers",
    "bottom-up, values": "runs/1/values?by=callers&metric=0",
    "callers of a function": "runs/1/tree?by=callers&open=7&first=5000",
}

_OF_RANKS = {
    "messages, added up": "runs/1/matrix",
    "256 by 256 cells": "runs/1/matrix?of=messages",
    "a part of them": "runs/1/matrix?rows=0-4096&columns=0-4096",
    "by node": "runs/1/matrix?by=host",
    "by community, found": "runs/1/matrix?by=community",
    "by community, again": "runs/1/matrix?by=community&of=messages",
    "values of ranks, read": "runs/1/ranks?bands=768",
    "values of ranks, sorted": "runs/1/ranks?bands=768&sort=computing",
    "the call sites of one": "runs/1/sites?location=6",
}


def run(rounds: int) -> Table:
    """Return the times of both runs."""
    rounds = min(rounds, _ROUNDS_MOST)
    rows: list[Row] = []
    limits: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        calls = Path(folder) / "calls"
        large_samples.write(calls)
        for title, path, limit, interactions in (
            ("100,000 nodes", _nodes(Path(folder)), _FIRST_PAINT_S, _INTERACTIONS),
            ("10 million rows", _rows(Path(folder)), _OPENS_S, _INTERACTIONS),
            ("500,000 call paths", calls, _CALLS_OPEN_S, _OF_CALLS),
        ):
            opening, cpu, each = _times(path, rounds, interactions)
            rows.append(Row(f"{title}: opened, tree and values", "", 1e3 * opening))
            rows.append(Row("  its CPU time", "", 1e3 * cpu))
            limits.append(verdict(f"{title}: opened, tree and values", opening, limit, "s"))
            rows += [Row(f"{title}: {name}", "", 1e3 * took) for name, took in each.items()]
            for which in ("a metric shown before", "spread of a node", "table, sorted"):
                limits.append(verdict(f"{title}: {which}", each[which], _INTERACTION_S, "s"))
        ranks = large_mpi.write(Path(folder) / "ranks", _RANKS)
        _, _, each = _times(ranks, rounds, _OF_RANKS, first=_FIRST[:4])
        rows += [Row(f"{_RANKS:,} ranks: {name}", "", 1e3 * took) for name, took in each.items()]
        name = "256 by 256 cells"
        limits.append(verdict(f"{_RANKS:,} ranks: {name}", each[name], _MATRIX_S, "s"))
    return Table("what the page waits for", "ms", rows, limits)


def _times(
    path: Path, rounds: int, interactions: Mapping[str, str], first: Sequence[str] = _FIRST
) -> tuple[float, float, dict[str, float]]:
    openings: list[float] = []
    cpu: list[float] = []
    found: dict[str, list[float]] = {name: [] for name in interactions}
    for _ in range(rounds):
        begin, used = time.perf_counter(), time.process_time()
        session = Session()
        session.open([str(path)])
        with _served(session) as base:
            for address in first:
                _get(base, address)
            openings.append(time.perf_counter() - begin)
            cpu.append(time.process_time() - used)
            for name, address in interactions.items():
                begin = time.perf_counter()
                _get(base, address)
                found[name].append(time.perf_counter() - begin)
    return median(openings), median(cpu), {name: median(times) for name, times in found.items()}


@contextmanager
def _served(session: Session) -> Iterator[tuple[str, str]]:
    server = Server(session, token="benchmark")
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.address.port}/api/", "benchmark"
    finally:
        server.stop()
        thread.join()
        session.end()


def _get(base: tuple[str, str], address: str) -> bytes:
    request = urllib.request.Request(base[0] + address, headers={"X-Gnomon-Token": base[1]})
    while True:
        try:
            with urllib.request.urlopen(request) as answer:
                body: bytes = answer.read()
                return body
        except ConnectionError:
            time.sleep(0.001)


def _nodes(folder: Path) -> Path:
    """Write a run of 5,000 functions with 19 lines each, of which 8 events are known."""
    return _written(
        folder / "nodes.gnomon",
        locations="SELECT range AS location, range - 1 AS parent, "
        "['command', 'process'][range + 1] AS kind FROM range(2)",
        paths="SELECT range AS path, CASE WHEN range = 0 THEN -1 ELSE 0 END AS parent "
        "FROM range(95001)",
        regions="SELECT path AS region, CASE WHEN path = 0 THEN 'hpm' ELSE 'cpu' END AS kind, "
        "'function_' || (path // 19) AS name, '/src/file_' || (path // 950) || '.c' AS file, "
        "path % 950 + 1 AS line FROM paths",
        metrics=["emulated"] * 8,
        profile="SELECT 1 AS location, path, metric, (path * 37 % 1009 + 1) * (metric + 1.0) AS v "
        "FROM paths, range(8) t(metric) WHERE path > 0 "
        "UNION ALL SELECT 0, 0, metric, 5e7 FROM range(8) t(metric)",
    )


def _rows(folder: Path) -> Path:
    """Write a run of 7,813 sections in each other, on 64 threads, with 20 metrics.

    The whole command has all of them, so that each section has a share of it.
    """
    return _written(
        folder / "rows.gnomon",
        locations="SELECT range AS location, CASE WHEN range = 0 THEN -1 ELSE 0 END AS parent, "
        "CASE WHEN range = 0 THEN 'command' ELSE 'thread' END AS kind FROM range(65)",
        paths="SELECT range AS path, CASE WHEN range = 0 THEN -1 ELSE range // 4 END AS parent "
        "FROM range(7814)",
        regions="SELECT path AS region, 'hpm' AS kind, 'section ' || path AS name, "
        "'/src/file_' || (path // 100) || '.f90' AS file, path % 100 + 1 AS line FROM paths",
        metrics=["kernel"] * 20,
        profile="SELECT t.location, path, metric, random() * 1e6 AS v FROM paths, "
        "range(1, 65) t(location), range(20) u(metric) WHERE path > 0 "
        "UNION ALL SELECT 0, 0, metric, 1e12 FROM range(20) u(metric)",
    )


def _written(
    path: Path, *, locations: str, paths: str, regions: str, metrics: Sequence[str], profile: str
) -> Path:
    path.mkdir()
    connection = duckdb.connect(":memory:")
    for name, query in (("locations", locations), ("paths", paths), ("regions", regions)):
        connection.execute(f"CREATE TABLE {name} AS {query}")
    connection.execute(f"CREATE TABLE profile AS {profile}")
    of_tables = {
        "locations": "location, parent, kind, 'node1' AS host, -1 AS rank, 7 AS pid, "
        "location AS tid, 'app' AS name FROM locations",
        "regions": "region, kind, name, 'app' AS module, file, line FROM regions",
        "paths": "path, parent, path AS region FROM paths",
        "profile": "0 AS repetition, location, path, metric, v AS inclusive, v / 2 AS exclusive, "
        "CAST(3 AS BIGINT) AS calls, CAST(v AS BIGINT) AS raw, CAST(1000 AS BIGINT) AS enabled_ns, "
        "CAST(1000 AS BIGINT) AS running_ns FROM profile",
        "metrics": "range AS metric, 'event_' || range AS name, '' AS unit, '' AS formula, "
        f"'counted' AS how, '{metrics[0]}' AS component, 'all' AS domain, 'thread' AS scope, "
        f"'' AS description FROM range({len(metrics)})",
    }
    for name, columns in of_tables.items():
        file = path / f"{name}.parquet"
        connection.execute(
            f"COPY (SELECT {columns}) TO '{file}' (FORMAT parquet, COMPRESSION zstd)"
        )
    connection.close()
    (path / "run.json").write_text(json.dumps(_HEAD))
    return path
