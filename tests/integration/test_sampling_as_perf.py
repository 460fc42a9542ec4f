"""Samples of Debian's own stripped programs are where perf finds them, to the unwind entry."""

from __future__ import annotations

import subprocess
from collections import Counter
from math import sqrt
from pathlib import Path

import pytest
from commands import GNOMON
from perf_profile import Function, function, functions

from gnomon.store import run_directory

EVENT, HERTZ = "cpu-clock:u", 997
# Functions with fewer samples than this in both are compared together.
LEAST = 25
# Of some twenty functions in four programs one is beyond this in a million rounds.
SIGMAS = 5.0
_SQL = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<{n}) {query};"
_PYTHON = """
def collatz(n):
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps
words = {}
for i in range(1, 120000):
    words[str(collatz(i) % 97)] = sorted(words, key=len)[:3]
"""


_LONG = ("gzip", "sqlite3", "python3")


def _commands(folder: Path) -> dict[str, list[str]]:
    text = folder / "text"
    text.write_text("".join(f"{i * i % 9973} {i}\n" for i in range(300_000)))
    script = folder / "program.py"
    script.write_text(_PYTHON)
    query = "SELECT count(DISTINCT printf('%d-%s', i % 1009, hex(i*i))) FROM n"
    return {
        "xz": ["/usr/bin/xz", "-k", "-c", "-5", str(text)],
        "gzip": ["/usr/bin/gzip", "-9", "-c", *[str(text)] * 4],
        "sqlite3": ["/usr/bin/sqlite3", ":memory:", _SQL.format(n=700_000, query=query)],
        # Without the library that reads Python functions: of the interpreter's own, as perf.
        "python3": ["/usr/bin/env", "-u", "LD_PRELOAD", "/usr/bin/python3", str(script)],
    }


def _sampled(command: list[str], folder: Path) -> Counter[Function]:
    """Return the samples of each function of a command, as Gnomon takes them."""
    subprocess.run(
        [GNOMON, "record", "--name", folder / "own", "--force", "-F", str(HERTZ),
         "-e", EVENT, "--", *command],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=True, timeout=120,
    )  # fmt: skip
    run = run_directory.find(str(folder / "own"))
    rows = run.query(
        "SELECT r.module, m.path, s.address, COUNT(*) FROM samples s JOIN paths p USING (path) "
        "JOIN regions r USING (region) LEFT JOIN modules m ON m.name = r.module GROUP BY ALL"
    )
    counts: Counter[Function] = Counter()
    for module, path, address, n in rows:
        is_file = path is not None and Path(path).is_file()
        counts[function(path, address) if is_file else (str(module), 0)] += n
    return counts


@pytest.mark.alone
@pytest.mark.parametrize(
    "program", ["xz", *(pytest.param(name, marks=pytest.mark.long) for name in _LONG)]
)
def test_samples_are_where_perf_finds_them(program: str, tmp_path: Path) -> None:
    command = _commands(tmp_path)[program]
    theirs = functions(command, tmp_path, EVENT, HERTZ)
    own = _sampled(command, tmp_path)
    n_own, n_theirs = own.total(), theirs.total()
    assert min(n_own, n_theirs) > 500
    assert max(n_own, n_theirs) < 1.5 * min(n_own, n_theirs)
    rare = {place for place in own | theirs if own[place] + theirs[place] < LEAST}
    places = [{place} for place in (own | theirs) if place not in rare] + [rare]
    assert len(places) >= 3
    for group in places:
        mine, other = (sum(counts[place] for place in group) for counts in (own, theirs))
        share = (mine + other) / (n_own + n_theirs)
        error = sqrt(share * (1 - share) * (1 / n_own + 1 / n_theirs))
        assert abs(mine / n_own - other / n_theirs) <= SIGMAS * error, (group, mine, other)
