"""Reports of runs that are generated: many regions and threads, and thousands of ranks."""

from __future__ import annotations

import json
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from statistics import median

import duckdb

from benchmarks.cost import Cost, cost_of, typical
from benchmarks.table import Row, Table, verdict

_GNOMON = str(Path(sys.executable).parent / "gnomon")
# A value that looks random and is the same in every run.
_VALUE = "(hash(l.i * 7919 + r.i * 31 + m.i) % 1000000)::DOUBLE * (1 + r.i)"
_TABLES = {
    "locations": "SELECT i::INTEGER location, -1::INTEGER parent, 'thread' kind, "
    "'node' || (i // ({threads} * 64)) host, (i // {threads})::INTEGER rank, "
    "(1000 + i // {threads})::INTEGER pid, (1000 + i)::INTEGER tid, 'app' AS name "
    "FROM range({locations}) t(i)",
    "regions": "SELECT i::INTEGER region, 'hpm' kind, 'region ' || i AS name, 'app' AS module, "
    "'src/f' || (i % 20) || '.c' AS file, (i * 7)::INTEGER line FROM range({regions}) t(i)",
    "paths": "SELECT i::INTEGER path, (CASE WHEN i = 0 THEN -1 ELSE 0 END)::INTEGER parent, "
    "i::INTEGER region FROM range({regions}) t(i)",
    "metrics": "SELECT i::INTEGER metric, CASE WHEN i = 0 THEN 'wall time' ELSE 'EVENT_' || i END "
    "AS name, CASE WHEN i = 0 THEN 'ns' ELSE '' END AS unit, '' AS formula, 'counted' how, "
    "'cpu' AS component, 'user' AS domain, 'thread' AS scope, '' AS description "
    "FROM range({metrics}) t(i)",
    "profile": "SELECT 0::INTEGER repetition, l.i::INTEGER AS location, r.i::INTEGER AS path, "
    "m.i::INTEGER metric, {value} inclusive, {value} exclusive, 1::BIGINT calls, "
    "NULL::BIGINT raw, NULL::BIGINT enabled_ns, NULL::BIGINT running_ns "
    "FROM range({locations}) l(i), range({regions}) r(i), range({metrics}) m(i) "
    "ORDER BY l.i, r.i, m.i",
}


def _generate(path: Path, ranks: int, threads: int, regions: int, metrics: int) -> None:
    path.mkdir()
    with duckdb.connect() as connection:
        connection.execute("SET enable_progress_bar = false")
        for table, query in _TABLES.items():
            filled = query.format(
                locations=ranks * threads, threads=threads, regions=regions, metrics=metrics,
                value=_VALUE,
            )  # fmt: skip
            file = path / f"{table}.parquet"
            connection.execute(f"COPY ({filled}) TO '{file}' (FORMAT parquet, COMPRESSION zstd)")
    head = {
        "schema": "gnomon/run", "schema_version": 1, "command": ["./app"],
        "hosts": [{"name": "node0"}], "started": 1.7e9, "wall_seconds": 10.0, "exit_status": 0,
        "repetitions": 1, "unavailable": [], "warnings": [], "ranks": ranks,
    }  # fmt: skip
    (path / "run.json").write_text(json.dumps(head))


def _report(run: Path, *words: str, rounds: int) -> Cost:
    return typical([cost_of(_GNOMON, "report", run, *words) for _ in range(rounds)])


def _screen(path: Path, rounds: int) -> float:
    """Return the median of the seconds that the screen takes with which `gnomon run` ends."""
    from gnomon.model import tables
    from gnomon.store import run_directory
    from gnomon.store.reports import run_summary
    from gnomon.store.run import Run

    opened = run_directory.find(str(path))
    columns = ((schema, ", ".join(one.name for one in schema.columns)) for schema in tables.SCHEMAS)
    summarized = Run(path, {**opened.head, "capabilities": []})
    run_tables = [
        tables.Table(schema, opened.query(f"SELECT {names} FROM {schema.name}"))
        for schema, names in columns
    ]
    seconds = []
    for _ in range(rounds):
        begin = time.perf_counter()
        run_summary.render_run_summary(summarized, run_tables, 100)
        seconds.append(time.perf_counter() - begin)
    return median(seconds)


def run(rounds: int) -> Table:
    """Return how long reports of large runs take, and the memory of the largest."""
    rows = []
    shown = slowest = largest = 0.0
    with tempfile.TemporaryDirectory() as folder:
        summary = Path(folder) / "threads.gnomon"
        ranks = Path(folder) / "ranks.gnomon"
        # In a process of its own: a child's most memory is at least its parent's.
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as apart:
            apart.submit(_generate, summary, 1, 64, 1000, 20).result()
            apart.submit(_generate, ranks, 8192, 1, 100, 20).result()
            screen = apart.submit(_screen, summary, rounds).result()
        few = max(rounds // 4, 1)
        of_threads = "1,000 regions x 64 threads x 20 metrics"
        rows.append(Row(f"{of_threads}: the screen of gnomon run", "", 1e3 * screen))
        for by in ("region", "metric"):
            cost = _report(summary, "profile", "--by", by, rounds=rounds)
            rows += cost.rows(f"{of_threads}: by {by}")
            shown = max(shown, cost.seconds)
        for by in ("region", "rank", "metric"):
            cost = _report(ranks, "profile", "--by", by, rounds=few)
            rows += cost.rows(f"8,192 ranks x 100 regions x 20 metrics: by {by}")
            slowest, largest = max(slowest, cost.seconds), max(largest, cost.memory)
        cost = _report(ranks, "profile", "--json", rounds=few)
        rows += cost.rows("the same: by region, all metrics, JSON")
        slowest, largest = max(slowest, cost.seconds), max(largest, cost.memory)
    return Table(
        "reports of large runs",
        "ms",
        rows,
        [
            verdict(of_threads, max(shown, screen), 1.0, "s"),
            verdict("8,192 ranks, the slowest", slowest, 10.0, "s"),
            verdict("8,192 ranks, most memory", largest / 1e3, 2.0, "GB"),
        ],
    )
