"""Scripts that run the page's TypeScript in Node, bundled as the page is."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
WEB = ROOT / "src" / "gnomon" / "view" / "web"
NODE = shutil.which("node") or str(Path(sys.executable).with_name("node"))
_ROLLDOWN = WEB / "node_modules" / "rolldown" / "bin" / "cli.mjs"
# Neither bundling nor what is measured takes a minute.
HANGS_S = 300


def bundled(name: str, folder: Path) -> Path:
    """Return a script of this folder with all that it imports."""
    script = folder / name
    source = Path(__file__).with_name(name)
    subprocess.run(
        [NODE, _ROLLDOWN, source, "--platform", "node", "--format", "esm", "-o", script],
        check=True, capture_output=True, cwd=WEB, timeout=HANGS_S,
    )  # fmt: skip
    return script


def output(script: Path, *words: str, given: str = "") -> str:
    """Return what a script prints."""
    return subprocess.run(
        [NODE, script, *words], input=given, check=True, capture_output=True, text=True,
        timeout=HANGS_S,
    ).stdout  # fmt: skip
