"""Runs whose small files hold much, and what every reader does with one under limits.

    python compressed_runs.py FOLDER view
    python compressed_runs.py FOLDER commands

reads `bad.gnomon` in a folder with the view, or with each command that reads runs, in this process,
which may take 1.5 GB of addresses and a minute of CPU time, and prints what went wrong: what
`hostile_runs` calls wrong, an answer of the view that is too large, memory that does not come back
when the run is closed. Of the view the first line says whether it has opened the run.

The files are honest Parquet: a dictionary of one entry, and runs of equal numbers, take no room.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import sys
from collections.abc import Mapping
from pathlib import Path

import duckdb
import hostile_runs

from gnomon.errors import GnomonError
from gnomon.view.server import application
from gnomon.view.session import Session

MEMORY_BYTES = 1_500_000_000
CPU_S = 60
ANSWER_BYTES = 64 << 20
LEFT_BYTES = 100 << 20
COMMANDS = (
    ["report", "bad"],
    ["report", "bad", "regions"],
    ["report", "bad", "regions", "--json"],
    ["report", "bad", "profile"],
    ["report", "bad", "profile", "--by", "line", "--json"],
    ["report", "bad", "--per", "function"],
    ["compare", "bad", "good", "--per", "region"],
    ["export", "bad", "--to", "csv", "--table", "regions", "-o", "out"],
    ["export", "bad", "--to", "speedscope", "-o", "out"],
    ["export", "bad", "--to", "openmetrics", "-o", "out"],
    ["runs"],
)
ROUTES = (
    *hostile_runs.ROUTES, "/table?name=values", "/table?name=values&sort=place&filter=a",
    "/table?name=functions&sort=name", "/tree?by=function",
)  # fmt: skip

_LONG = "repeat('k', 200000)"
_NUMBER = "CAST(range AS INTEGER)"


def _regions(n: int, *, kind: str = "'hpm'", name: str = "'a'", number: str = _NUMBER) -> str:
    return (
        f"SELECT {number} AS region, {kind} AS kind, {name} AS name, 'app' AS module, "
        f"'/src/a.c' AS file, 1 AS line FROM range({n})"
    )


def _paths(n: int, parent: str = "least(range, 1) - 1") -> str:
    return (
        f"SELECT {_NUMBER} AS path, CAST({parent} AS INTEGER) AS parent, "
        f"{_NUMBER} AS region FROM range({n})"
    )


def _profile(n: int, path: str = _NUMBER, location: str = "0", metric: str = "0") -> str:
    return (
        f"SELECT 0 AS repetition, {location} AS location, {path} AS path, {metric} AS metric, "
        "1.5::DOUBLE AS inclusive, 1.5::DOUBLE AS exclusive, 1::BIGINT AS calls, "
        "NULL::BIGINT AS raw, NULL::BIGINT AS enabled_ns, NULL::BIGINT AS running_ns "
        f"FROM range({n})"
    )


def _locations(n: int, kind: str) -> str:
    return (
        f"SELECT {_NUMBER} AS location, CAST(least(range, 1) - 1 AS INTEGER) AS parent, "
        f"{kind} AS kind, 'node1' AS host, {_NUMBER} - 1 AS rank, 1 AS pid, -1 AS tid, "
        f"'a' AS name FROM range({n})"
    )


def _metrics(n: int) -> str:
    texts = ", ".join(
        f"'{text}' AS {name}"
        for name, text in {
            "unit": "", "formula": "", "how": "counted", "component": "kernel", "domain": "all",
            "scope": "process", "description": "",
        }.items()
    )  # fmt: skip
    return f"SELECT {_NUMBER} AS metric, 'm' || range AS name, {texts} FROM range({n})"


def _many(n: int, **texts: str) -> dict[str, str]:
    return {"regions": _regions(n, **texts), "paths": _paths(n), "profile": _profile(n)}


def _nested(n: int, **texts: str) -> dict[str, str]:
    return {**_many(n, **texts), "paths": _paths(n, "range - 1")}


REFUSED: Mapping[str, Mapping[str, str]] = {
    "a long kind": _many(20_000, kind=_LONG),
    "values without end": {"profile": _profile(30_000_000, "0")},
    "regions without end": {"regions": _regions(6_000_000, number="0")},
    "numbered regions without end": {"regions": _regions(6_000_000)},
    "paths without end": {"paths": _paths(6_000_000, "range - 1")},
    "places without end": {"locations": _locations(3_000_000, "'thread'")},
    "metrics without end": {"metrics": _metrics(200_000)},
    "nested without end": _nested(300_000),
    "nested": _nested(20_000),
}
"""What the view refuses, by the queries of the tables that hold too much."""
SHOWN: Mapping[str, Mapping[str, str]] = {
    "one long kind": _many(2000, kind=f"CASE WHEN range = 5 THEN {_LONG} ELSE 'hpm' END"),
    "long names": _many(500, name="repeat(chr(CAST(97 + range % 26 AS INTEGER)), 100000) || range"),
    "many longish names": _many(20_000, name="repeat('—', 1000) || range"),
    "nested kinds": _nested(9000, kind="'k' || range"),
    "8,192 ranks with 16 million values": {
        **_many(98),
        "locations": _locations(8193, "CASE WHEN range = 0 THEN 'command' ELSE 'rank' END"),
        "metrics": _metrics(20),
        "profile": _profile(
            98 * 8192 * 20, "CAST(range % 98 AS INTEGER)",
            "CAST(range // 98 % 8192 + 1 AS INTEGER)", "CAST(range // 802816 AS INTEGER)",
        ),
    },
}  # fmt: skip
"""What the view shows: what is long is cut, what a large job has is there."""


HONEST: Mapping[str, str] = {
    "locations": _locations(10, "CASE WHEN range = 0 THEN 'command' ELSE 'rank' END"),
    "regions": _regions(3, name="'section ' || range"),
    "paths": _paths(3),
    "metrics": _metrics(3),
    "profile": _profile(3),
}
"""A run that is small: what a test does not make large."""
_HEAD = {
    "schema": "gnomon/run", "schema_version": 1, "command": ["./app"], "hosts": [{"name": "node1"}],
    "started": 1.7e9, "wall_seconds": 2.5, "exit_status": 0, "repetitions": 1, "unavailable": [],
    "warnings": [],
}  # fmt: skip


def write(path: Path, tables: Mapping[str, str]) -> int:
    """Write a run whose tables are made by queries, and return the size of its files."""
    path.mkdir()
    (path / "run.json").write_text(json.dumps(_HEAD))
    with duckdb.connect() as connection:
        connection.execute("SET enable_progress_bar = false")
        for name, query in {**HONEST, **tables}.items():
            connection.execute(
                f"COPY ({query}) TO '{path}/{name}.parquet' "
                "(FORMAT parquet, COMPRESSION zstd, PARQUET_VERSION v2)"
            )
    return sum(file.stat().st_size for file in path.iterdir())


def _resident() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def _looked_at() -> tuple[bool, list[str]]:
    """Open the run in the view, ask everything and close it; return whether it was opened."""
    problems: list[str] = []
    session = Session()
    app = application(session, hostile_runs.TOKEN)
    before = _resident()
    try:
        (opened,) = session.open(["bad"])
    except GnomonError as refused:
        return False, [] if "bad.gnomon" in str(refused) else [f"it says only: {refused}"]
    number = opened.id
    del opened
    for route in ROUTES:
        body = hostile_runs.answer(app, f"/api/runs/{number}{route}")
        if len(body) > ANSWER_BYTES:
            problems.append(f"{route}: {len(body)} bytes")
        del body
    session.close(number)
    gc.collect()
    left = _resident() - before
    if left > LEFT_BYTES:
        problems.append(f"{left} bytes are left when it is closed")
    return True, problems


def _asked() -> list[str]:
    """Let every command have the run; one that says that memory is short has said enough."""
    found = ((command, hostile_runs.outcome(list(command))) for command in COMMANDS)
    return [
        f"{' '.join(command)}: {problem}"
        for command, problem in found
        if problem and "not enough memory" not in problem
    ]


if __name__ == "__main__":
    os.chdir(sys.argv[1])
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_S, CPU_S))
    if sys.argv[2] == "view":
        is_open, found = _looked_at()
        print("opened" if is_open else "refused")
    else:
        found = _asked()
    print("\n".join(found), end="")
