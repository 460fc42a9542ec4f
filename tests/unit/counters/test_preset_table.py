"""The pages of the presets are those of the data, and leave nothing out."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from gnomon.counters import presets

ROOT = Path(__file__).parents[3]
COMMITTED = ROOT / "docs" / "reference"
REMEDY = "run .venv/bin/python packaging/preset_table.py"
FAMILIES = presets.families()


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("pages")
    subprocess.run([sys.executable, ROOT / "packaging" / "preset_table.py", folder], check=True)
    return {page.name: page.read_text() for page in folder.iterdir()}


def rows(text: str) -> dict[str, list[str]]:
    found = {}
    for line in text.splitlines():
        if line.startswith("| PAPI_"):
            name, *cells = [cell.strip() for cell in line.strip("|").split("|")]
            found[name] = cells
    return found


def test_committed_pages_are_current(made: dict[str, str]) -> None:
    committed = {page.name: page.read_text() for page in COMMITTED.glob("preset-table*.md")}
    assert sorted(committed) == sorted(made), REMEDY
    for name, text in made.items():
        assert committed[name] == text, f"{name}: {REMEDY}"


def test_tables_have_a_cell_for_every_preset_and_family(made: dict[str, str]) -> None:
    tables = [rows(text) for name, text in made.items() if name != "preset-table.md"]
    assert all(sorted(table) == sorted(presets.meanings()) for table in tables)
    cells = {
        name: [cell for table in tables for cell in table[name]] for name in presets.meanings()
    }
    for name, found in cells.items():
        assert len(found) == len(FAMILIES)
        assert all(re.fullmatch("—|[1+−f][*]?†?", cell) for cell in found), name
        empty = sum(not one.events for family in FAMILIES for one in [family.preset(name)] if one)
        assert found.count("—") == empty, name


def test_every_reason_and_difference_is_there(made: dict[str, str]) -> None:
    text = "".join(made.values())
    for family in FAMILIES:
        for one in family.presets:
            assert one.events or f"— {one.reason}" in text, (family.name, one.name)
            assert one.differs in text, (family.name, one.name)
            assert not one.events or f"`{one.definition}`" in text, (family.name, one.name)
