"""A metric as those have it who read a run."""

from __future__ import annotations

from typing import NamedTuple


class Metric(NamedTuple):
    """A row of the table of metrics."""

    metric: int
    name: str
    unit: str
    formula: str
    how: str
    component: str
    domain: str
    scope: str
    description: str

    @property
    def is_derived(self) -> bool:
        """Whether it comes from a formula: its values must not be added up."""
        return bool(self.formula)
