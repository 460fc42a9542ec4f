"""The head of a run, what is in run.json: what every reader of a run may rely on."""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import isfinite
from pathlib import Path
from typing import Any

from gnomon.errors import FormatError
from gnomon.store import kept_files

HEAD = "run.json"
"""The file of a run directory that says what ran."""
MAGIC = "gnomon/run"
SCHEMA_VERSION = 2
HEAD_LIMIT_BYTES = 64 << 20
"""A run.json is small; what is larger than this is not one."""

_REMEDY = "; restore it from a copy, or measure again"
_DEPTH_LIMIT = 32
_FIELDS: dict[str, tuple[type, ...]] = {
    "command": (list,),
    "hosts": (list,),
    "started": (int, float),
    "wall_seconds": (int, float),
    "exit_status": (int, type(None)),
    "repetitions": (int,),
    "unavailable": (list,),
    "warnings": (list,),
}
_ITEMS: dict[str, type] = {"command": str, "hosts": dict, "unavailable": dict, "warnings": str}


def checked_head(file: Path, content: bytes) -> dict[str, Any]:
    """Return the head of a run that a run.json has.

    Args:
        file: to be named in errors.
        content: what is in it.

    Raises:
        FormatError: it is none, or of a newer Gnomon.
    """
    try:
        head = json.loads(content)
    except json.JSONDecodeError as error:
        raise FormatError(file, error.pos, f"not JSON: {error.msg}{_REMEDY}") from None
    except UnicodeDecodeError as error:
        raise FormatError(file, error.start, f"not UTF-8 text{_REMEDY}") from None
    except (ValueError, RecursionError):
        raise FormatError(
            file, 0, f"JSON with numbers too long or nested too deep{_REMEDY}"
        ) from None
    if not isinstance(head, dict) or head.get("schema") != MAGIC:
        raise FormatError(file, 0, f"not a run: its schema is not '{MAGIC}'{_REMEDY}")
    version = head.get("schema_version")
    if not isinstance(version, int) or version > SCHEMA_VERSION:
        raise FormatError(
            file,
            0,
            f"schema version {version!a}; this Gnomon reads up to {SCHEMA_VERSION}; "
            "use the Gnomon that wrote it, or a newer one",
        )
    problem = problem_of(head)
    if problem:
        raise FormatError(file, 0, f"{problem}{_REMEDY}")
    return head


def problem_of(head: Mapping[str, Any]) -> str:
    """Return the error in the head of a run, "" if every reader can rely on it."""
    for key, value in head.items():
        if why := _oddity(value):
            return f"{key[:40]!a} {why}"
    for key, kinds in _FIELDS.items():
        if key not in head or not isinstance(head[key], kinds) or isinstance(head[key], bool):
            return f"'{key}' is missing or not what a run has there"
    for key, kind in _ITEMS.items():
        if not all(isinstance(item, kind) for item in head[key]):
            return f"an entry of '{key}' is not what a run has there"
    tables = head.get("tables", [])
    if not isinstance(tables, list) or not all(isinstance(name, str) for name in tables):
        return "'tables' is no list of names"
    if problem := kept_files.problem_of(head.get(kept_files.FOLDER, {})):
        return problem
    if not 0 <= head["started"] < 1e11 or not 0 <= head["wall_seconds"] < 1e11:
        return "its times are not times"
    if not 0 <= head["repetitions"] < 1 << 31:
        return "'repetitions' is no number of executions"
    if head["exit_status"] is not None and not 0 <= head["exit_status"] < 1 << 31:
        return "'exit_status' is no status"
    return ""


def _oddity(value: object) -> str:
    """Return why a value can be in no head, "" if it can: what is written must be JSON again."""
    level = [value]
    for _ in range(_DEPTH_LIMIT):
        if any(isinstance(one, float) and not isfinite(one) for one in level):
            return "has a number that is not finite"
        nested = [one.values() if isinstance(one, dict) else one for one in level
                  if isinstance(one, dict | list)]  # fmt: skip
        level = [inner for one in nested for inner in one]
        if not level:
            return ""
    return "is nested too deep"
