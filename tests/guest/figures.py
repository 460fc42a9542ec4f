"""What was measured in the machines: as a table, and as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Figure:
    """One figure: which machine, what, and how much (with its unit, for people)."""

    machine: str
    what: str
    measured: str


@dataclass
class Result:
    """What came of one machine.

    Attributes:
        machine: its name.
        description: its processor, kernel and emulator.
        status: of pytest in the machine; 0 if every test passed.
        summary: pytest's last line, or why there is none.
        build_seconds: to make the image and compile for it.
        run_seconds: to boot it and run the tests.
    """

    machine: str
    description: str = ""
    status: int = -1
    summary: str = ""
    build_seconds: float = 0.0
    run_seconds: float = 0.0
    figures: list[Figure] = field(default_factory=list)


def read(machine: str, file: Path) -> list[Figure]:
    """Return the figures that the tests of a machine have left."""
    if not file.exists():
        return []
    rows = (json.loads(line) for line in file.read_text().splitlines())
    return [Figure(machine, row["what"], row["measured"]) for row in rows]


def table(results: Sequence[Result]) -> str:
    """Return the figures as a Markdown table, as docs/testing.md has them."""
    rows = [("machine", "what", "measured")]
    rows += [(f.machine, f.what, f.measured) for result in results for f in result.figures]
    widths = [max(len(row[at]) for row in rows) for at in range(3)]
    lines = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |"
        for row in rows
    ]
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(lines) + "\n"


def document(results: Sequence[Result]) -> str:
    """Return all results as JSON."""
    return json.dumps({"results": [asdict(result) for result in results]}, indent=2) + "\n"
