"""What a request asks for: its parameters as numbers and texts, or an error that names them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from gnomon.errors import UsageError
from gnomon.model.array_types import Ints

QueryParams = Mapping[str, str]
_LARGEST = 2**31 - 1
LONGEST = 2**63 - 1
"""The largest number of nanoseconds."""


def integer(
    asked: QueryParams, name: str, default: int | None = None, largest: int = _LARGEST
) -> int:
    """Return a whole number, or the default where there is none.

    Raises:
        UsageError: it is missing without a default, no number, or beyond the largest (of 32 bits).
    """
    text = asked.get(name)
    if text is None or text == "":
        if default is None:
            raise UsageError(f"'{name}' is missing")
        return default
    if not text.removeprefix("-").isascii() or not text.removeprefix("-").isdigit():
        raise UsageError(f"{name}={text[:40]!a} is not a whole number")
    if len(text) > 20 or abs(int(text)) > largest:
        raise UsageError(f"{name}={text[:40]!a} is too large")
    return int(text)


def integers(asked: QueryParams, name: str) -> list[int]:
    """Return whole numbers that stand with commas between; [] where there are none.

    Raises:
        UsageError: one of them is none.
    """
    return [integer({name: one}, name) for one in asked.get(name, "").split(",") if one]


def strings(body: Mapping[str, Any], name: str) -> list[str]:
    """Return a list of texts, one at least.

    Raises:
        UsageError: there is none.
    """
    texts = body.get(name)
    if not isinstance(texts, list) or not all(isinstance(one, str) for one in texts) or not texts:
        raise UsageError(f"'{name}' is not a list of strings")
    return texts


def text(body: Mapping[str, Any], name: str) -> str:
    """Return a text.

    Raises:
        UsageError: there is none.
    """
    value = body.get(name)
    if not isinstance(value, str):
        raise UsageError(f"'{name}' is not a string")
    return value


def numbers(body: Mapping[str, Any], name: str) -> Ints:
    """Return a list of whole numbers of 32 bits as an array.

    Raises:
        UsageError: there is none.
    """
    listed = body.get(name)
    if not isinstance(listed, list) or not all(
        type(one) is int and abs(one) <= _LARGEST for one in listed
    ):
        raise UsageError(f"'{name}' is not a list of whole numbers")
    return np.array(listed, dtype=np.int32)
