"""What the server answers about one node: a part of `contract.py`."""

from __future__ import annotations

from typing import TypedDict


class Fact(TypedDict):
    """Something that is known of a node."""

    title: str
    value: str


class RegionRow(TypedDict):
    """A row of the run's table of regions."""

    region: int
    kind: str
    name: str
    module: str
    file: str
    line: int


class NodeValue(TypedDict):
    """A metric's values of a node."""

    metric: int
    told: str
    """Which value of several places; "" for their sum."""
    inclusive: float | None
    exclusive: float | None
    total: float | None
    """Of the whole run; null where values are no parts of it."""


class NodeDetails(TypedDict):
    """Everything that is known of a node."""

    name: str
    kind: str
    ancestors: list[str]
    facts: list[Fact]
    regions: list[RegionRow]
    values: list[NodeValue]
