"""What a look at one thing that measuring depends on found."""

from __future__ import annotations

from typing import Literal

from gnomon.named_tuple import NamedTuple

State = Literal["ok", "limited", "missing"]


class Check(NamedTuple):
    """One thing that was looked at.

    Attributes:
        name: what it is, in two or three words.
        state: "ok", "limited" (less can be measured) or "missing".
        found: the present state.
        consequence: what it means for measuring, "" where all is well.
        remedy: what to type or switch on, "" where there is nothing to do.
    """

    name: str
    state: State
    found: str
    consequence: str = ""
    remedy: str = ""
