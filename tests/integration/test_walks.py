"""The walks through the code that docs/design/walks.md shows are those that a trace finds."""

from __future__ import annotations

import platform
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SHOWN = ROOT / "docs" / "design" / "walks.md"


@pytest.mark.long
@pytest.mark.skipif(platform.machine() != "x86_64", reason="the trace reads x86-64's registers")
@pytest.mark.parametrize("name", ["event", "count", "unknown"])
def test_walk_is_the_one_that_is_shown(name: str) -> None:
    command = [sys.executable, "packaging/walks", name]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"```text\n{done.stdout}```" in SHOWN.read_text(encoding="utf-8"), (
        f"docs/design/walks.md shows another walk than packaging/walks finds:\n{done.stdout}"
    )
