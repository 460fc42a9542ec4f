"""What the observer of a program leaves in the staging folder for `collect`, as JSON."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


def write(folder: Path, kind: str, content: Mapping[str, Any]) -> None:
    """Write a file of a kind, unless the program removed the folder."""
    if not folder.is_dir():
        return
    with tempfile.NamedTemporaryFile(
        "w", prefix=f"{kind}-", suffix=".json", dir=folder, delete=False
    ) as file:
        json.dump(content, file)


def read(folder: Path, kind: str) -> Iterator[dict[str, Any]]:
    """Yield what each file of a kind holds; the folder is the program's, too: others are left."""
    for path in folder.glob(f"{kind}-*.json"):
        try:
            content = json.loads(path.read_text())
        except (OSError, ValueError):
            continue
        if isinstance(content, dict):
            yield content
