"""Which direction of a metric is worse: data, in data/directions.toml."""

from __future__ import annotations

import tomllib
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

MORE, LESS, NEITHER = "more", "less", ""

_FILE = Path(__file__).with_name("data") / "directions.toml"


@cache
def worse(name: str, unit: str = "") -> str:
    """Return "more" or "less", whichever is worse of a metric, or "" where neither is.

    Args:
        name: the metric or event, as a run has it.
        unit: its unit. Of what no name decides more time and more joules are worse.
    """
    short = name.lower().rpartition("::")[2].removeprefix("papi_")
    for direction, patterns in _entries():
        if any(fnmatchcase(short, pattern) for pattern in patterns):
            return direction
    return MORE if unit in ("ns", "s", "J") else NEITHER


@cache
def _entries() -> tuple[tuple[str, tuple[str, ...]], ...]:
    document = tomllib.loads(_FILE.read_text(encoding="utf-8"))
    return tuple((one["worse"], tuple(one["names"])) for one in document["direction"])
