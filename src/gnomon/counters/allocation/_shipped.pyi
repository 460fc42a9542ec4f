"""The shipped tables; `_shipped.py` itself is written by the build."""

from typing import Any

SECTIONS: dict[str, dict[str, Any]]
