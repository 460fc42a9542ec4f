"""Where an installed Gnomon keeps its libraries and helper programs."""

from __future__ import annotations

from pathlib import Path

LIBRARY_FOLDER = Path(__file__).parent / "lib"
