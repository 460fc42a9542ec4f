"""Records as JSON has them: named tuples become objects, enumerations their values."""

from __future__ import annotations

from enum import Enum
from math import isfinite
from pathlib import Path
from typing import Any


def to_jsonable(value: object) -> Any:  # noqa: ANN401
    """Return a record, however deep, as dictionaries, lists, numbers and strings.

    What is not finite becomes None: JSON has no such numbers.
    """
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return {key: to_jsonable(inner) for key, inner in value._asdict().items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [to_jsonable(inner) for inner in value]
    if isinstance(value, dict):
        return {str(key): to_jsonable(inner) for key, inner in value.items()}
    if isinstance(value, float) and not isfinite(value):
        return None
    return str(value) if isinstance(value, Path) else value
