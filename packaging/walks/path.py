"""The path of a value: of the calls that handled it, those that took it to its end."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any, NamedTuple

# The direction of imports, lowest first (docs/architecture.md); capabilities are beside each other.
LAYERS = (
    ("native/core",), ("native/runtime",), ("native/counters",), ("native/hpm",),
    ("native/python",),
    ("errors.py", "units.py"), ("terminal_text.py",), ("model",), ("metrics",),
    ("counters", "store"), ("launch",), ("measurement",), ("count", "sections", "stat"), ("hpm",),
    ("capabilities.py",), ("view",), ("cli",),
)  # fmt: skip
# What stands for a class of the standard library is not on a walk, as that library is not.
STANDARD = ("src/gnomon/named_tuple.py", "native/python/named_tuple.c")


class Step(NamedTuple):
    """A file on the walk, and its first function there."""

    file: str
    function: str


class Walked(NamedTuple):
    """A walk: its files in order, and the calls on it that go to a higher layer."""

    steps: list[Step]
    upward: list[str]


def package(file: str) -> str:
    """Return the folder of a file, below `src/gnomon` or the one in `native`."""
    parts = file.removeprefix("src/gnomon/").split("/")
    return "/".join(parts[: 2 if parts[0] == "native" else 1])


def _layer(file: str) -> int:
    name = package(file)
    return next(number for number, names in enumerate(LAYERS) if name in names)


def walked(log: Path, ends: tuple[str, ...]) -> Walked:
    """Return the walk that a log has recorded, its files in the order the value reaches them in.

    A call is on the walk if it handles the value and has not returned when the value reaches an
    end, or if it gives the value to a call that is on the walk.
    """
    if not log.exists():
        return Walked([], [])
    lines = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    moments = [line["end"] for line in lines if line.get("how") in ends]
    moments += [line["ended"] for line in lines if line.get("function") in ends]
    calls = sorted(
        (line for line in lines if line.get("file", STANDARD[0]) not in STANDARD),
        key=lambda call: int(call["began"]),
    )
    chosen = _on_the_walk(calls, moments)
    first: dict[str, str] = {}
    upward = {}
    for call, caller in chosen:
        first.setdefault(call["file"], call["function"])
        if caller and _layer(call["file"]) > _layer(caller["file"]):
            upward[f"{caller['file']} to {call['file']}"] = None
    return Walked([Step(*item) for item in first.items()], list(upward))


Calls = list[tuple[dict[str, Any], dict[str, Any] | None]]
"""Calls, each with its caller."""


def _on_the_walk(calls: list[dict[str, Any]], ends: list[int]) -> Calls:
    numbered = {call["number"]: call for call in calls}
    chosen: set[int] = set()
    walk: Calls = []
    under_way: list[dict[str, Any]] = []
    for call in calls:
        while under_way and under_way[-1]["ended"] < call["began"]:
            under_way.pop()
        caller = numbered.get(call["parent"])
        # C functions have negative numbers; what called the first of them is Python's.
        if call["parent"] == 0 and call["number"] < 0 and under_way:
            caller = under_way[-1]
        under_way.append(call)
        # gdb cannot look into Python's objects: what such a result holds shows in the caller's.
        if call.get("opaque") and caller is not None:
            call["gives"] |= caller["gives"]
        is_given = call["gives"] and caller is not None and caller["number"] in chosen
        is_open = any(call["began"] <= end <= call["ended"] for end in ends)
        if is_open or (is_given and any(call["ended"] <= end for end in ends)):
            chosen.add(call["number"])
            walk.append((call, caller))
    return walk


def joined(parts: list[Walked]) -> Walked:
    """Return a walk of several parts."""
    first: dict[str, str] = {}
    for part in parts:
        for step in part.steps:
            first.setdefault(*step)
    upward = [call for part in parts for call in part.upward]
    return Walked([Step(*item) for item in first.items()], upward)


def returns(files: list[Step]) -> list[str]:
    """Return the packages that a walk comes back to after it has left them, in order."""
    packages = [package(step.file) for step in files]
    runs = [name for name, _ in itertools.groupby(packages)]
    return [name for number, name in enumerate(runs) if name in runs[:number]]
