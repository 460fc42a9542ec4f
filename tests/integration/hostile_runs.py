"""Mutates a run directory by seeds, and lets every command that reads runs have it.

    python hostile_runs.py RUN FIRST END COMMANDS

runs the seeds from FIRST up to before END in this process, and prints what went wrong: an exception
that is none of Gnomon's, an unknown status, an error of several lines, or none at all. It is a
program of its own, so that a crash of the process is found too: stderr says which seed it was.
"""

from __future__ import annotations

import io
import json
import os
import random
import shutil
import sys
import tempfile
import traceback
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from typing import Any

import duckdb

from gnomon.cli import main

TABLES = ("locations", "regions", "paths", "metrics", "profile")
COMMANDS = (
    ["report", "bad"],
    ["report", "bad", "--json"],
    ["report", "bad", "--per", "thread"],
    ["report", "bad", "--per", "function"],
    ["report", "bad", "--per", "line", "--json"],
    ["report", "bad", "run"],
    ["report", "bad", "locations"],
    ["report", "bad", "regions", "--json"],
    ["report", "bad", "metrics"],
    ["report", "bad", "profile"],
    ["report", "bad", "profile", "--by", "thread", "--json"],
    ["report", "bad", "profile", "--by", "metric"],
    ["report", "bad", "profile", "--by", "line"],
    ["compare", "good", "bad"],
    ["compare", "bad", "good", "--per", "function", "--fail-on", "5%"],
    ["compare", "good", "bad,good", "--per", "thread", "--json"],
    ["runs"],
    ["runs", "list", "--json"],
    ["export", "bad", "--to", "csv", "-o", "out"],
    ["export", "bad", "--to", "json"],
    ["export", "bad", "--to", "speedscope"],
    ["export", "bad", "--to", "openmetrics"],
    ["export", "bad", "--to", "viz", "-o", "bad.viz"],
)
WORDS = ("", "\x1b[31m", "a\nb", "\ud800", "x" * 5000, "../../etc/passwd", "{", "'; --", "%s", "—")
NUMBERS = (
    0,
    -1,
    1 << 31,
    1 << 63,
    -(1 << 70),
    1e308,
    -1e308,
    float("nan"),
    float("inf"),
    0.1,
    True,
)
SQL_NUMBERS = (
    "NULL",
    "-1",
    "0",
    "2147483647",
    "-2147483648",
    "CAST('nan' AS DOUBLE)",
    "CAST('inf' AS DOUBLE)",
    "1e308",
    "-1e308",
    "'text'",
    "[1, 2]",
    "4",
    "location",
)


def odd(rng: random.Random, depth: int = 0) -> Any:
    kind = rng.randrange(6 if depth < 4 else 4)
    if kind == 0:
        return rng.choice(WORDS)
    if kind in (1, 2):
        return rng.choice(NUMBERS)
    if kind == 3:
        return None
    if kind == 4:
        return [odd(rng, depth + 1) for _ in range(rng.randrange(4))]
    return {rng.choice(("name", "event", "reason", *WORDS)): odd(rng, depth + 1) for _ in range(3)}


def flip(rng: random.Random, run: Path) -> None:
    file = rng.choice([path for path in run.iterdir() if path.is_file()])
    content = bytearray(file.read_bytes())
    # The end of a Parquet file says what is in it.
    near_end = rng.random() < 0.5
    for _ in range(rng.choice((1, 1, 2, 8, 64))):
        at = rng.randrange(max(len(content) - 600, 0) if near_end else 0, len(content))
        content[at] = rng.randrange(256)
    file.write_bytes(content)


def cut(rng: random.Random, run: Path) -> None:
    file = rng.choice([path for path in run.iterdir() if path.is_file()])
    content = file.read_bytes()
    at, end = sorted(rng.randrange(len(content) + 1) for _ in range(2))
    file.write_bytes(rng.choice((content[:at], content[at:], content[:at] + content[end:],
                                 content[:end] + content[at:])))  # fmt: skip


def replace(rng: random.Random, run: Path) -> None:
    file = run / f"{rng.choice(TABLES)}.parquet"
    how = rng.randrange(7)
    file.unlink()
    if how == 0:
        shutil.copy(run / rng.choice([one.name for one in run.glob("*.parquet")]), file)
    elif how == 1:
        file.mkdir()
    elif how == 2:
        os.mkfifo(file)
    elif how == 3:
        file.symlink_to("/dev/zero")
    elif how == 4:
        file.symlink_to(file.name)
    elif how == 5:
        file.write_bytes(rng.randbytes(rng.randrange(2000)))


def head(rng: random.Random, run: Path) -> None:
    file = run / "run.json"
    if not file.is_file():
        return
    whole = json.loads(file.read_text())
    for _ in range(rng.choice((1, 1, 2, 4))):
        key = rng.choice(list(whole))
        if rng.random() < 0.2:
            del whole[key]
        elif isinstance(whole[key], list) and whole[key] and rng.random() < 0.5:
            at = rng.randrange(len(whole[key]))
            if isinstance(whole[key][at], dict) and rng.random() < 0.7:
                whole[key][at][rng.choice(list(whole[key][at]))] = odd(rng)
            else:
                whole[key][at] = odd(rng)
        else:
            whole[key] = odd(rng)
    file.write_text(json.dumps(whole))


def special_head(rng: random.Random, run: Path) -> None:
    file = run / "run.json"
    file.unlink()
    how = rng.randrange(5)
    if how == 0:
        file.symlink_to("/dev/zero")
    elif how == 1:
        os.mkfifo(file)
    elif how == 2:
        file.mkdir()
    elif how == 3:
        file.write_bytes(b"[" * 200_000)
    else:
        file.write_bytes(rng.randbytes(100))


def values(rng: random.Random, run: Path) -> None:
    """Rewrite a table as whole Parquet whose values make no sense."""
    table = rng.choice(TABLES)
    file = run / f"{table}.parquet"
    with duckdb.connect() as connection:
        columns = [row[0] for row in connection.execute(
            f"DESCRIBE SELECT * FROM read_parquet('{file}')").fetchall()]  # fmt: skip
        column = rng.choice(columns)
        one = rng.choice((
            rng.choice(SQL_NUMBERS[:-1]), "NULL", f"'{rng.choice(WORDS[1:3])}'",
            f"CASE WHEN random() < 0.5 THEN {column} END", f"{column}::VARCHAR || 'x'",
        ))  # fmt: skip
        how = rng.randrange(5)
        query = f"SELECT * REPLACE ({one} AS {column}) FROM read_parquet('{file}')"
        if how == 0:
            query = f"SELECT * EXCLUDE ({column}) FROM read_parquet('{file}')"
        elif how == 1:
            query = f"SELECT * FROM read_parquet('{file}') UNION ALL SELECT * FROM '{file}'"
        elif how == 2:
            query = f"SELECT * FROM read_parquet('{file}') LIMIT 0"
        try:
            connection.execute(f"COPY ({query}) TO '{file}.new' (FORMAT parquet)")
        except duckdb.Error:
            flip(rng, run)
            return
        Path(f"{file}.new").rename(file)


MUTATIONS: tuple[Callable[[random.Random, Path], None], ...] = (
    flip, flip, cut, cut, replace, head, head, head, special_head, values, values, values,
)  # fmt: skip


def outcome(command: list[str]) -> str:
    """Return what is wrong with how a command ended, "" if nothing is."""
    out, err = io.StringIO(), io.StringIO()
    try:
        with redirect_stdout(out), redirect_stderr(err):
            status = main(command)
    except SystemExit as error:
        status = error.code if isinstance(error.code, int) else 2
    except BaseException:
        return traceback.format_exc()
    said = err.getvalue()
    if status not in (0, 1, 2, 3):
        return f"status {status}"
    if status in (0, 3) and said and not said.startswith("gnomon: note: "):
        return f"status {status}, and said: {said}"
    if status in (1, 2) and not out.getvalue() and said.count("\n") != 1:
        return f"status {status}, and said: {said!r}"
    return ""


def examine(run: Path, seed: int, per_seed: int) -> list[str]:
    """Return what went wrong with the mutation of one seed."""
    rng = random.Random(seed)
    problems = []
    with tempfile.TemporaryDirectory() as name:
        os.chdir(name)
        shutil.copytree(run, "good.gnomon")
        shutil.copytree(run, "bad.gnomon")
        for _ in range(rng.choice((1, 1, 2))):
            # After a first mutation the second may find nothing to do.
            with suppress(OSError, ValueError, TypeError, IndexError, RecursionError, duckdb.Error):
                rng.choice(MUTATIONS)(rng, Path("bad.gnomon"))
        for at in range(per_seed):
            command = COMMANDS[(seed * per_seed + at) % len(COMMANDS)]
            if problem := outcome(list(command)):
                problems.append(f"seed {seed}: {' '.join(command)}: {problem}")
        os.chdir("/")
    return problems


if __name__ == "__main__":
    source, first, end, per_seed = Path(sys.argv[1]), *map(int, sys.argv[2:5])
    for at in range(first, end):
        print(f"at {at}", file=sys.stderr, flush=True)
        for line in examine(source, at, per_seed):
            print(line, flush=True)
