"""Numbers that users state in the environment: HPM_*_LATENCY, HPM_DIV_WEIGHT, GNOMON_DEFINE.

Source: the HPM guide, sections 2.5.2 and 2.5.3.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite

from gnomon.errors import UsageError
from gnomon.metrics.definitions import GIVEN, VARIABLES
from gnomon.metrics.formula import identifier
from gnomon.metrics.toml_document import quote

DEFINE = "GNOMON_DEFINE"
"""Variable of the environment with numbers of the user's own: NAME=NUMBER[,NAME=NUMBER...]."""

WEIGHT = "HPM_DIV_WEIGHT"


def read_user_constants(environment: Mapping[str, str]) -> dict[str, float]:
    """Return the environment's constants, by the names that formulas use; {} if there are none.

    A latency is a number of cycles, 0 or more; the weight of a division a whole number from 1 on.
    A variable that is set and empty counts as not set.

    Raises:
        UsageError: one of them is not such a number.
    """
    constants = {}
    for name in GIVEN:
        text = environment.get(name, "").strip()
        if text:
            constants[name] = _weight(text) if name == WEIGHT else _latency(name, text)
    return {**_defined(environment.get(DEFINE, "")), **constants}


def _weight(text: str) -> float:
    if not (text.isascii() and text.isdigit() and len(text) <= 15 and int(text) > 0):
        raise UsageError(
            f"{WEIGHT}: {quote(text)} is no whole number from 1 on; "
            "give what a division counts as, such as 5"
        )
    return float(text)


def _latency(name: str, text: str) -> float:
    value = _number(text)
    if value is None or value < 0:
        raise UsageError(
            f"{name}: {quote(text)} is no number of cycles; give a number from 0 on, such as 400"
        )
    return value


def _defined(text: str) -> dict[str, float]:
    constants = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, _, number = (word.strip() for word in part.partition("="))
        value = _number(number)
        if not name or not name.isascii() or identifier(name) != name or value is None:
            raise UsageError(
                f"{DEFINE}: {quote(part)} is not NAME=NUMBER; "
                "give a number to a name of letters, digits and _, such as L3_line_bytes=64"
            )
        if name in VARIABLES or name in GIVEN:
            raise UsageError(f"{DEFINE}: '{name}' is taken: Gnomon gives it its value")
        constants[name] = value
    return constants


def _number(text: str) -> float | None:
    """Return a finite number, None if it is not one as formulas write it."""
    if not text.isascii() or "_" in text:
        return None
    try:
        value = float(text)
    except ValueError:
        return None
    return value if isfinite(value) else None
