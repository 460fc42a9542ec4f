"""Derived metrics of any node: their formula, worked out anew from what the node counted.

A share of misses must not be added up over functions; but the misses can be, and the accesses.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from gnomon.errors import FormulaError
from gnomon.metrics.formula import Formula, identifier, parse
from gnomon.metrics.postfix import Step
from gnomon.model.array_types import Floats
from gnomon.model.metric import Metric
from gnomon.view.run_metadata import Dataset

_TIMES = {
    "wall_seconds": "wall time", "user_seconds": "user time", "system_seconds": "system time",
}  # fmt: skip
_NS = 1e-9


class FormulaInputs:
    """What the formulas of a run can be worked out from: metrics by the names in formulas."""

    def __init__(self, data: Dataset) -> None:
        measured = [one for one in data.metrics if not one.is_derived]
        self._metrics = {identifier(one.name): one for one in reversed(measured)}
        self._factors: dict[str, float] = {}
        by_name = {one.name: one for one in measured}
        for variable, name in _TIMES.items():
            if name in by_name:
                self._metrics[variable] = by_name[name]
                self._factors[variable] = _NS
        self._numbers: dict[str, float] = {}
        hosts = data.head.get("hosts") or []
        cpus = hosts[0].get("cpus") if len(hosts) == 1 and isinstance(hosts[0], dict) else None
        if isinstance(cpus, int) and not isinstance(cpus, bool) and cpus > 0:
            self._numbers["cpus"] = float(cpus)

    def formula(self, metric: Metric) -> Formula | None:
        """Return a metric's formula where everything in it is known, None otherwise."""
        try:
            formula = parse(metric.formula, metric.name)
        except FormulaError:
            return None
        known = self._metrics.keys() | self._numbers.keys()
        return formula if formula.names and formula.names <= known else None

    def needed(self, formula: Formula) -> tuple[Metric, ...]:
        """Return the metrics that a formula is worked out from."""
        return tuple(self._metrics[name] for name in sorted(formula.names & self._metrics.keys()))

    def evaluate(self, formula: Formula, values: Mapping[int, Floats], n: int) -> Floats:
        """Return a formula's values, NaN where an input or a result is no number.

        Args:
            formula: one that `formula` returned.
            values: of each metric that is needed, by number, n of them.
            n: how many.
        """
        stack: list[Floats] = []
        with np.errstate(all="ignore"):
            for step in formula.program():
                stack.append(self._step(step, stack, values, n))
                stack[-1] = np.where(np.isfinite(stack[-1]), stack[-1], np.nan)
        return stack.pop()

    def _step(
        self, step: Step, stack: list[Floats], values: Mapping[int, Floats], n: int
    ) -> Floats:
        if step.kind == "number":
            return np.full(n, step.number)
        if step.kind == "name":
            if step.name in self._numbers:
                return np.full(n, self._numbers[step.name])
            return values[self._metrics[step.name].metric] * self._factors.get(step.name, 1.0)
        operands = stack[len(stack) - step.operands :]
        del stack[len(stack) - step.operands :]
        if step.kind == "negate":
            return -operands[0]
        if step.kind == "operator":
            return _OPERATORS[step.name](operands[0], operands[1])
        return _called(step.name, operands)


_OPERATORS: dict[str, Callable[[Floats, Floats], Floats]] = {
    "+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide,
}  # fmt: skip


def _called(name: str, operands: list[Floats]) -> Floats:
    if name == "abs":
        return np.abs(operands[0])
    if name == "sqrt":
        return np.sqrt(operands[0])
    stacked = np.stack(operands)
    if name == "sum":
        return np.asarray(np.sum(stacked, axis=0))
    return np.asarray((np.max if name == "max" else np.min)(stacked, axis=0))
