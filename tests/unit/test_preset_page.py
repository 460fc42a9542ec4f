"""The committed table of presets is that of the data."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from gnomon.counters import presets

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reference" / "presets.md"


@pytest.fixture(scope="module")
def made() -> str:
    return subprocess.run(
        [sys.executable, ROOT / "packaging" / "preset_page.py"],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip


def test_the_page_is_that_of_the_data(made: str) -> None:
    if os.environ.get("GNOMON_UPDATE_GOLDEN"):
        PAGE.write_text(made)
    assert PAGE.read_text() == made, (
        "the presets' data have changed: GNOMON_UPDATE_GOLDEN=1 make test "
        "ARGS=tests/unit/test_preset_page.py, and read the difference"
    )


def test_every_empty_cell_has_its_reason_and_every_star_its_difference(made: str) -> None:
    matrix = made.partition("## Which PMU has which")[2].partition("\n## ")[0]
    head, _, *rows = [line for line in matrix.splitlines() if line.startswith("|")]
    families = re.findall(r"\[(\w+)\]", head)
    assert families == list(presets.names())
    assert len(rows) == len(presets.meanings())
    sections = dict(re.findall(r"\{ #(\w+) \}\n(.*?)(?=\n## |\Z)", made, re.DOTALL))
    for row in rows:
        name, *cells = [cell.strip() for cell in row.strip("|").split("|")]
        for family, cell in zip(families, cells, strict=True):
            told = sections[family]
            base = presets.own_of(family).extends
            if name not in told and base:
                told = sections[base]
            line = next(one for one in told.splitlines() if name in one)
            if not cell:
                assert re.match(r"- .*: .*\w", line), (name, family)
            elif cell.endswith("\\*"):
                assert re.match(rf"\| {name} \| `.*` \| .*\w.* \|$", line), (name, family)
            else:
                assert re.match(rf"\| {name} \| `.*` \|  \|$", line), (name, family)
