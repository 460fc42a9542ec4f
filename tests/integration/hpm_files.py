"""Running hpmcount as its users do, and reading the files that it leaves."""

from __future__ import annotations

import csv
import os
import subprocess
from pathlib import Path
from typing import Any

from commands import HPMCOUNT, run
from lxml import etree

import gnomon.hpm

XSD = Path(gnomon.hpm.__file__).parent / "viz.xsd"


def hpmcount(
    *arguments: str | Path, cwd: Path, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Return what came of hpmcount with these arguments and variables, and no other HPM_*."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("HPM_", "GNOMON_"))}
    return run(HPMCOUNT, *arguments, cwd=cwd, env=environment | variables)


def viz_problems(file: Path) -> list[str]:
    """Return what is wrong with an XML file by the schema, [] if nothing is."""
    schema = etree.XMLSchema(etree.parse(XSD))
    schema.validate(etree.parse(file))
    return [str(error) for error in schema.error_log]


def viz(file: Path) -> Any:
    """Return the root element of an XML file, which must meet the schema."""
    assert viz_problems(file) == []
    return etree.parse(file).getroot()


def rows(file: Path) -> list[dict[str, str]]:
    """Return the rows of a CSV file by column; each has as many fields as the first row."""
    with file.open(newline="", encoding="utf-8") as lines:
        table = list(csv.reader(lines, strict=True))
    assert {len(row) for row in table} == {len(table[0])}
    return [dict(zip(table[0], row, strict=True)) for row in table[1:]]
