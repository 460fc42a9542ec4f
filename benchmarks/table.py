"""Interleaved measurements and the table they make."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import Any, NamedTuple


class Row(NamedTuple):
    """One thing measured: the median of its rounds, beside the floor and the peer."""

    name: str
    role: str
    value: float


class Table:
    """Rows of one benchmark; the floor and the peer are rows too, named by their roles."""

    def __init__(self, title: str, unit: str, rows: Sequence[Row], limits: Sequence[str]) -> None:
        self._title = title
        self._unit = unit
        self._rows = tuple(rows)
        self._limits = tuple(limits)

    def text(self) -> str:
        """Return the table for people."""
        floor = self._of("floor")
        peer = self._of("peer")
        width = max(len(row.name) for row in self._rows)
        lines = [f"  {'':<{width}}  {'role':<6}  {self._unit:>12}  {'÷ floor':>8}  {'÷ peer':>8}"]
        for row in self._rows:
            ratios = "  ".join(
                f"{row.value / base:8.2f}" if base else f"{'':8}" for base in (floor, peer)
            )
            lines.append(f"  {row.name:<{width}}  {row.role:<6}  {row.value:12,.1f}  {ratios}")
        lines += [f"  {limit}" for limit in self._limits]
        return "\n".join(lines) + "\n"

    def as_dict(self) -> dict[str, Any]:
        """Return the figures for machines."""
        return {
            "title": self._title,
            "unit": self._unit,
            "rows": [row._asdict() for row in self._rows],
            "limits": list(self._limits),
        }

    def _of(self, role: str) -> float | None:
        return next((row.value for row in self._rows if row.role == role), None)


class Grid(Table):
    """Subjects by what was measured of each: a column for each way, which need not have all."""

    def __init__(
        self,
        title: str,
        unit: str,
        columns: Sequence[str],
        subjects: Mapping[str, Mapping[str, float]],
        limits: Sequence[str],
    ) -> None:
        rows = [
            Row(f"{subject}, {column}", "", value)
            for subject, values in subjects.items()
            for column, value in values.items()
        ]
        super().__init__(title, unit, rows, limits)
        self._columns = tuple(columns)
        self._subjects = subjects

    def text(self) -> str:
        """Return the table for people."""
        width = max(map(len, self._subjects), default=0)
        wide = [max(len(column), 6) for column in self._columns]
        heads = " ".join(f"{column:>{n}}" for column, n in zip(self._columns, wide, strict=True))
        lines = [f"  {self._unit:<{width}} {heads}"]
        for subject, values in self._subjects.items():
            cells = " ".join(
                f"{values[column]:{n}.1f}" if column in values else f"{'':{n}}"
                for column, n in zip(self._columns, wide, strict=True)
            )
            lines.append(f"  {subject:<{width}} {cells}".rstrip())
        lines += [f"  {limit}" for limit in self._limits]
        return "\n".join(lines) + "\n"


def interleaved(rounds: int, subjects: Mapping[str, Callable[[], float]]) -> dict[str, float]:
    """Return the median of each subject over rounds in which each runs once, in turn."""
    found: dict[str, list[float]] = {name: [] for name in subjects}
    for subject in subjects.values():
        subject()
    for _ in range(rounds):
        for name, subject in subjects.items():
            found[name].append(subject())
    return {name: median(values) for name, values in found.items()}


def wall_ms(command: Sequence[str], env: Mapping[str, str] | None = None) -> float:
    """Run a command, its output thrown away, and return its wall time in milliseconds."""
    begin = time.perf_counter()
    subprocess.run(
        command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False
    )
    return 1e3 * (time.perf_counter() - begin)


def verdict(what: str, measured: float, limit: float, unit: str) -> str:
    """Return the line that holds a figure against its limit."""
    met = "met" if measured <= limit else "MISSED"
    return f"{what}: {measured:.2f} {unit}, limit {limit:g} {unit}: {met}"
