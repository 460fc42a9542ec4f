"""The reference of metrics and groups is that of the data, and leaves nothing out."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from gnomon.metrics.definitions import load_metrics
from gnomon.metrics.groups import load_groups

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "hpm" / "metric-reference.md"
REMEDY = "run .venv/bin/python packaging/metric_table.py"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> str:
    page = tmp_path_factory.mktemp("page") / "page.md"
    subprocess.run([sys.executable, ROOT / "packaging" / "metric_table.py", page], check=True)
    return page.read_text()


def test_committed_page_is_current(made: str) -> None:
    assert PAGE.read_text() == made, REMEDY


def test_every_definition_stands_in_the_page(made: str) -> None:
    metrics = load_metrics()
    named = re.findall(r"^\*\*([a-z0-9_]+)\*\*", made, re.MULTILINE)
    every = [{metric.name for metric in some} for some in (metrics.definitions, metrics.quantities)]
    assert sorted(named) == sorted(name for names in every for name in names)
    for metric in (*metrics.definitions, *metrics.quantities):
        assert f"`{' '.join(metric.formula.text.split())}`" in made
        if metric.differs:
            assert metric.differs.replace("*", r"\*").replace("_", r"\_") in made
    for group in load_groups():
        assert f"**{group.number} {group.name}**" in made


def test_the_guides_metrics_stand_in_its_order(made: str) -> None:
    guides = made.partition("## Metrics of the HPM guide")[2].partition("\n## ")[0]
    names = re.findall(r"^\*\*([a-z0-9_]+)\*\*", guides, re.MULTILINE)
    assert names[0] == "user_utilisation"
    assert names[-1] == "peak_share"
    assert len(names) == 66
    titled = {metric.name for metric in load_metrics().definitions if metric.title}
    assert set(names) == titled
