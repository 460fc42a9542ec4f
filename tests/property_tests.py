"""How many examples the property tests try.

`make test` tries a quarter of them, always the same; `make fuzz` and `make test-long` try all, and
others each time.
"""

from __future__ import annotations

from typing import Any

from hypothesis import settings

SHARE = 4
DEFAULT = 100


def all_are_tried() -> bool:
    """Return whether this run tries all examples."""
    return settings.get_current_profile_name() == "fuzz"


def examples(number: int, **options: Any) -> settings:
    """Return the settings of a test that tries so many examples, or its share of them."""
    return settings(max_examples=number if all_are_tried() else -(-number // SHARE), **options)
