"""Mutates run directories by seeds, and lets every command that reads runs have them, and the view.

    python hostile_runs.py FOLDER FIRST END COMMANDS

runs the seeds from FIRST up to before END in this process, each on one of the runs in FOLDER, and
prints what went wrong: an exception that is none of Gnomon's, an unknown status, an error that is
not one line with the run's name, characters that a terminal obeys, JSON that is none, too much
memory. It is a program of its own, so that a crash or a hang of the process is found too: stderr
says which seed it was, and where.
"""

from __future__ import annotations

import asyncio
import faulthandler
import io
import json
import os
import random
import resource
import shutil
import struct
import sys
import tempfile
import traceback
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1]))

import duckdb
import hostile_raw

from gnomon import capabilities
from gnomon.cli import main
from gnomon.errors import GnomonError
from gnomon.model.schemas import ALL_SCHEMAS, OPTIONAL_SCHEMAS
from gnomon.view.server import application
from gnomon.view.session import Session

TABLES = tuple(schema.name for schema in ALL_SCHEMAS)
OPTIONAL = tuple(schema.name for schema in OPTIONAL_SCHEMAS)
QUICK = (
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
    ["report", "bad", "hotspots", "--by", "file", "--json"],
    ["report", "bad", "source", "true.c"],
    ["report", "bad", "source"],
    ["report", "bad", "nosuch"],
    *(["report", "bad", name, "--json"][: 3 + at % 2] for at, name in enumerate(OPTIONAL)),
    ["report", "bad", "run", "-o", "out.csv"],
    ["runs"],
    ["runs", "list", "--json"],
    ["export", "bad", "--to", "csv", "-o", "out"],
    ["export", "bad", "--to", "json"],
)
SLOW = (
    ["compare", "good", "bad"],
    ["compare", "bad", "good", "--per", "function", "--fail-on", "5%"],
    ["compare", "good", "bad,good", "--per", "thread", "--json"],
    ["compare", "bad", "good", "--per", "region"],
    ["export", "bad", "--to", "speedscope"],
    ["export", "bad", "--to", "collapsed", "--threads"],
    ["export", "bad", "--to", "firefox"],
    ["export", "bad", "--to", "pprof", "-o", "out"],
    ["export", "bad", "--to", "openmetrics"],
    ["view", "bad"],
    ["view", "bad", "good"],
    ["export", "bad", "--to", "viz", "-o", "bad.viz"],
    ["import", "bad.viz", "--name", "again", "--force"],
)
COMMANDS = (*SLOW, *QUICK, *QUICK, *QUICK)
# Of what a repair has made of a raw folder.
MADE = (["report", "bad", "--json"], ["report", "bad", "events"], ["view", "bad"],
        ["export", "bad", "--to", "json"], ["report", "bad", "locations", "--json"],
        ["report", "bad", "arcs"], ["report", "bad", "samples", "--json"])  # fmt: skip
# What an error names: the run, or what else is at fault.
NAMED = ("bad", "no metric can be judged", "no such part")
LIMIT_S = 60
MEMORY_KIB = 1 << 20
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
    "9223372036854775807",
    "-2147483648",
    "170141183460469231731687303715884105727",
    "'a'::BLOB",
    "{'a': 1}",
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
    if not file.is_file():
        return
    with duckdb.connect() as connection:
        columns = [row[0] for row in connection.execute(
            f"DESCRIBE SELECT * FROM read_parquet('{file}')").fetchall()]  # fmt: skip
        column = rng.choice(columns)
        one = rng.choice((
            rng.choice(SQL_NUMBERS), "NULL", f"'{rng.choice(WORDS[1:3])}'",
            f"CASE WHEN random() < 0.5 THEN {column} END", f"{column}::VARCHAR || 'x'",
            # What refers to rows that are not there, to itself, or in circles.
            rng.choice(columns), f"TRY_CAST({column} AS BIGINT) + 1",
            f"TRY_CAST({columns[0]} AS BIGINT)", f"TRY_CAST({columns[0]} AS BIGINT) + 1",
        ))  # fmt: skip
        how = rng.randrange(8)
        query = f"SELECT * REPLACE ({one} AS {column}) FROM read_parquet('{file}')"
        if how == 0:
            query = f"SELECT * EXCLUDE ({column}) FROM read_parquet('{file}')"
        elif how == 1:
            query = f"SELECT * FROM read_parquet('{file}') UNION ALL SELECT * FROM '{file}'"
        elif how == 2:
            query = f"SELECT * FROM read_parquet('{file}') LIMIT 0"
        elif how == 3:
            query = f"SELECT *, {column} AS other, 1 AS more FROM read_parquet('{file}')"
        try:
            connection.execute(f"COPY ({query}) TO '{file}.new' (FORMAT parquet)")
        except duckdb.Error:
            flip(rng, run)
            return
        Path(f"{file}.new").rename(file)


def place(rng: random.Random, run: Path) -> None:
    """Take a file away, forbid it, or put what it is no file."""
    file = rng.choice([path for path in run.iterdir() if path.is_file()])
    how = rng.randrange(4)
    if how == 0:
        file.unlink()
    elif how == 1:
        file.chmod(0)
    elif how == 2:
        run.chmod(0o600)
    else:
        file.rename(run / "moved")
        # A file of the machine itself would be written to by a second mutation.
        (run.parent / "elsewhere").write_text("root:x:0:0:root:/root:/bin/bash\n" * 20)
        file.symlink_to("../elsewhere")


def text_of_head(rng: random.Random, run: Path) -> None:
    """Write a head in JSON that nobody writes: not finite, many digits, deep, a key twice."""
    file = run / "run.json"
    if not file.is_file():
        return
    text = file.read_text()
    what = rng.choice((
        "NaN", "-Infinity", "1e999", "9" * 5000, "[" * 900 + "]" * 900,
        '{"a":' * 500 + "1" + "}" * 500,
    ))  # fmt: skip
    key = rng.choice(list(json.loads(text)))
    file.write_text(text.replace("{", f'{{"{key}": {what}, ', 1) if rng.random() < 0.3 else
                    text.rstrip().removesuffix("}") + f', "{key}": {what}}}')  # fmt: skip


MUTATIONS: tuple[Callable[[random.Random, Path], None], ...] = (
    flip, flip, cut, cut, replace, head, head, head, special_head, values, values, values, values,
    place, text_of_head,
)  # fmt: skip


RAW_MUTATIONS: tuple[Callable[[random.Random, Path], None], ...] = (
    flip, cut, place, hostile_raw.part, hostile_raw.part, hostile_raw.part, hostile_raw.records,
    hostile_raw.records, lambda rng, raw: hostile_raw.task(rng, raw, odd),
    lambda rng, raw: hostile_raw.end(rng, raw, odd),
)  # fmt: skip


def outcome(command: list[str]) -> str:
    """Return what is wrong with how a command ended, "" if nothing is."""
    out, err = io.StringIO(), io.StringIO()
    try:
        with redirect_stdout(out), redirect_stderr(err):
            status = looked_at(command[1:]) if command[0] == "view" else main(command)
    except SystemExit as error:
        status = error.code if isinstance(error.code, int) else 2
    except BaseException:
        return traceback.format_exc()
    said = err.getvalue()
    if status not in (0, 1, 2, 3):
        return f"status {status}"
    if "internal error: " in said + out.getvalue():
        return said + out.getvalue()
    quiet = command[0] != "repair"
    if quiet and status in (0, 3) and said and not said.startswith("gnomon: note: "):
        return f"status {status}, and said: {said}"
    if (
        status in (1, 2)
        and not out.getvalue()
        and (said.count("\n") != 1 or not any(word in said for word in NAMED))
    ):
        return f"status {status}, and said: {said!r}"
    return not_text(out.getvalue() if "csv" not in command else "", said) or (
        not_json(out.getvalue()) if status == 0 and {"--json", "json"} & set(command) else ""
    )


def not_text(*printed: str) -> str:
    for text in printed:
        for line in text.split("\n"):
            if not line.isprintable():
                return f"printed {line!r}"
    return ""


def not_json(text: str) -> str:
    try:
        json.loads(text, parse_constant=float.fromhex)
    except ValueError as error:
        return f"no JSON: {error}"
    return ""


# --- the view -------------------------------------------------------------------------------------

TOKEN = "token"
ROUTES = (
    "", "/metrics", "/locations", "/tables", "/tree?by=region", "/tree?by=file", "/tree?by=rank",
    "/tree?by=capability", "/values?by=region&metric=0", "/values?by=file&metric=1&statistic=max",
    "/spread?by=region&node=0&metric=0", "/spread?by=file&node=1&metric=1",
    "/node?by=region&node=0", "/node?by=file&node=1", "/table?name=functions",
    "/table?name=lines&sort=name&order=ascending", "/table?name=locations", "/table?name=regions",
    "/table?name=metrics", "/table?name=profile", "/export?name=functions&format=csv",
    *(f"/table?name={name}" for name in OPTIONAL),
    "/export?name=regions&format=json", "/source?file=/etc/passwd", "/lines?file=/src/a.c",
)  # fmt: skip


def looked_at(runs: list[str]) -> int:
    """Open runs as the view does and ask everything; return 1 if they are refused."""
    session = Session()
    try:
        try:
            opened = session.open(runs, combined=len(runs) > 1)
        except GnomonError as error:
            print(f"gnomon: {error}".encode(errors="backslashreplace").decode(), file=sys.stderr)
            return 1
        app = application(session, TOKEN)
        every = ["/api/state", f"/api/compare?a={opened[0].id}&b={opened[-1].id}"]
        for one in opened:
            every += [f"/api/runs/{one.id}{route}" for route in ROUTES]
        for path in every:
            answer(app, path)
    finally:
        session.end()
    return 0


def answer(app: Any, path: str) -> bytes:
    """Return what the view's server answers; raise where it made a mistake."""
    address, _, query = path.partition("?")
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {
        "type": "http", "method": "GET", "path": address, "query_string": query.encode(),
        "headers": [(b"host", b"127.0.0.1"), (b"x-gnomon-token", TOKEN.encode())],
        "asgi": {"version": "3.0", "spec_version": "2.4"}, "client": None, "server": None,
        "scheme": "http", "root_path": "", "http_version": "1.1",
    }  # fmt: skip
    asyncio.run(app(scope, receive, send))
    body = b"".join(message.get("body", b"") for message in sent[1:])
    status = sent[0]["status"]
    kind = dict(sent[0]["headers"])[b"content-type"]
    if status not in (200, 400, 422) or (status != 200 and b"error" not in body):
        raise AssertionError(f"{path}: {status} {body[:200]!r}")
    if kind.startswith(b"application/json"):
        json.loads(body, parse_constant=float.fromhex)
    return body


# --- seeds ----------------------------------------------------------------------------------------


def examine(run: Path, seed: int, per_seed: int) -> list[str]:
    """Return what went wrong with the mutation of one seed."""
    rng = random.Random(seed)
    problems = []
    with tempfile.TemporaryDirectory() as name:
        os.chdir(name)
        is_raw = run.name.endswith(".raw")
        bad = Path("bad.gnomon.raw" if is_raw else "bad.gnomon")
        Path("good.gnomon").symlink_to(run)
        shutil.copytree(run, bad)
        for _ in range(rng.choice((1, 1, 2))):
            # After a first mutation the second may find nothing to do.
            with suppress(OSError, ValueError, TypeError, IndexError, RecursionError, duckdb.Error,
                          struct.error):  # fmt: skip
                rng.choice(RAW_MUTATIONS if is_raw else MUTATIONS)(rng, bad)
        commands = [rng.choice(MADE if is_raw else COMMANDS) for _ in range(per_seed)]
        for command in [["repair", "bad"], *commands] if is_raw else commands:
            if problem := outcome(list(command)):
                problems.append(f"seed {seed} of {run.name}: {' '.join(command)}: {problem}")
        os.chdir("/")
        for left in Path(name).glob("bad.gnomon*"):
            left.chmod(0o700)
    return problems


if __name__ == "__main__":
    folder, first, end, per_seed = Path(sys.argv[1]), *map(int, sys.argv[2:5])
    faulthandler.enable()
    runs = sorted(folder.resolve().glob("*.gnomon*"))
    capabilities.CAPABILITIES = (*capabilities.CAPABILITIES, hostile_raw.Recorded())
    for at in range(first, end):
        print(f"at {at}", file=sys.stderr, flush=True)
        faulthandler.dump_traceback_later(LIMIT_S, exit=True)
        for line in examine(runs[at % len(runs)], at, per_seed):
            print(line, flush=True)
        used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        if used > MEMORY_KIB:
            print(f"seed {at}: {used} KiB of memory", flush=True)
            break
