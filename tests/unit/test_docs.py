"""The documentation builds without a warning, and its pages fetch nothing from elsewhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from gnomon.counters.presets import meanings

ROOT = Path(__file__).parents[2]
PAGES = sorted(page.relative_to(ROOT / "docs") for page in (ROOT / "docs").rglob("*.md"))
OPTIONS = r"^<!-- options: (\S+) -->$"
MKDOCS = Path(sys.executable).parent / "mkdocs"
FETCHED = re.compile(
    r"<(?:script|link|img|iframe|source|video|audio)\b[^>]*?(?:src|href)=[\"']?(?:https?:)?//[^>]*>"
)

SOURCE_NAME = re.compile(r"`(\w[\w/.-]*\.(?:py|pyi|c|h|ts|tsx|cmake|sh))`")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    assert MKDOCS.exists(), "mkdocs is not in the virtual environment: run `make setup`"
    folder = tmp_path_factory.mktemp("site")
    built = subprocess.run(
        [MKDOCS, "build", "--strict", "--quiet", "-d", folder],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
    )
    assert built.returncode == 0, built.stdout + built.stderr
    return folder


def test_files_that_are_named_exist() -> None:
    """What the developers' pages call `folder/file.py` is there, in some folder."""
    there = {
        "/".join(path.relative_to(ROOT).parts[depth:])
        for folder in ("src", "native", "tests", "packaging", "docs", "benchmarks", "examples")
        for path in (ROOT / folder).rglob("*.*")
        if "node_modules" not in path.parts
        for depth in range(len(path.relative_to(ROOT).parts))
    }
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
    pages += [ROOT / "docs" / name for name in ("architecture.md", "style.md", "testing.md")]
    pages += [*(ROOT / "docs/design").glob("*.md"), *(ROOT / "docs/decisions").glob("*.md")]
    missing = [
        f"{page.relative_to(ROOT)}: {name}"
        for page in pages
        for name in SOURCE_NAME.findall(page.read_text())
        if name not in there
    ]
    assert missing == []


def test_every_page_is_built(site: Path) -> None:
    assert PAGES
    missing = [page for page in PAGES if not (site / page.with_suffix(".html")).exists()]
    assert missing == []


def test_pages_fetch_nothing_from_elsewhere(site: Path) -> None:
    found = [tag for page in site.rglob("*.html") for tag in FETCHED.findall(page.read_text())]
    assert found == []


def test_meanings_of_presets_are_those_of_the_data(site: Path) -> None:
    built = (site / "commands" / "presets.html").read_text()
    assert "<!-- presets:" not in built
    assert all(f"<code>{name}</code>" in built for name in meanings())


def test_options_are_those_of_the_parsers(site: Path) -> None:
    asked = [
        (page, command)
        for page in PAGES
        for command in re.findall(OPTIONS, (ROOT / "docs" / page).read_text(), re.MULTILINE)
    ]
    assert asked
    for page, command in asked:
        built = (site / page.with_suffix(".html")).read_text()
        assert "<!-- options:" not in built
        assert re.search(rf"usage: [\w ]*{command}\b", built), f"{page}: no help of {command}"


def test_decision_records_are_complete() -> None:
    """Each record has three parts, stands in index and navigation, and names code that exists."""
    folder = ROOT / "docs" / "decisions"
    index = (folder / "index.md").read_text()
    navigation = (ROOT / "mkdocs.yml").read_text()
    records = sorted(folder.glob("[0-9]*.md"))
    assert records
    for number, record in enumerate(records, 1):
        text = record.read_text()
        assert text.startswith(f"# {number}. "), record.name
        assert re.findall(r"^## (\w+)", text, re.MULTILINE) == ["Context", "Choice", "Consequence"]
        assert text.count("\n") <= 50, f"{record.name}: more than a page"
        assert f"({record.name})" in index
        assert f"decisions/{record.name}\n" in navigation
        paths = re.findall(r"`([^`]+)`", text[text.index("\nCode: ") :])
        missing = [
            path
            for path in paths
            if not (ROOT / path).exists() and not (ROOT / "src" / "gnomon" / path).exists()
        ]
        assert paths
        assert missing == [], f"{record.name}: {missing} does not exist"
