"""Where an installed Gnomon keeps its libraries and helper programs, and what later runs find."""

from __future__ import annotations

import os
from pathlib import Path

LIBRARY_FOLDER = Path(__file__).parent / "lib"


def user_cache_folder(purpose: str) -> Path | None:
    """Return where a user's later runs find what was worked out; None if nothing is kept.

    Source: XDG Base Directory Specification. `GNOMON_CACHE=off` turns it off.
    """
    if os.environ.get("GNOMON_CACHE") == "off":
        return None
    above = Path(os.environ.get("XDG_CACHE_HOME", ""))
    if not above.is_absolute():
        try:
            above = Path.home() / ".cache"
        except RuntimeError:  # a user without a home
            return None
    return above / "gnomon" / purpose
