"""What a parsed formula consists of: numbers, names, operators, functions; evaluated safely."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import isfinite, sqrt

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeAlias

Values = Mapping[str, float | None]


class Number:
    """A literal."""

    __slots__ = ("value",)

    def __init__(self, value: float) -> None:
        self.value = value

    def evaluate(self, values: Values) -> float | None:  # noqa: ARG002
        """Return the number."""
        return self.value


class Name:
    """A count, a variable, a constant, or a pattern such as `PM_DATA_FROM_L2*`."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def evaluate(self, values: Values) -> float | None:
        """Return the value of the name; None if it is absent, infinite or not a number."""
        value = values.get(self.name)
        if value is None:
            return None
        try:
            return _finite(float(value))
        except OverflowError:  # an int beyond the range of a double
            return None


class Negation:
    """A minus sign in front of something."""

    __slots__ = ("operand",)

    def __init__(self, operand: Node) -> None:
        self.operand = operand

    def evaluate(self, values: Values) -> float | None:
        """Return the negative."""
        value = self.operand.evaluate(values)
        return None if value is None else -value


class Chain:
    """Operators of one precedence, applied from left to right: as long as one likes, never deep."""

    __slots__ = ("first", "rest")

    def __init__(self, first: Node, rest: Sequence[tuple[str, Node]]) -> None:
        self.first = first
        self.rest = tuple(rest)

    def evaluate(self, values: Values) -> float | None:
        """Return the result of the operators."""
        result = self.first.evaluate(values)
        for symbol, operand in self.rest:
            right = operand.evaluate(values)
            if result is None or right is None:
                return None
            result = _OPERATORS[symbol](result, right)
        return result


class Call:
    """A function of one or more arguments."""

    __slots__ = ("arguments", "function")

    def __init__(self, function: str, arguments: Sequence[Node]) -> None:
        self.function = function
        self.arguments = tuple(arguments)

    def evaluate(self, values: Values) -> float | None:
        """Return the function's value; None if an argument has none."""
        numbers = []
        for argument in self.arguments:
            number = argument.evaluate(values)
            if number is None:
                return None
            numbers.append(number)
        return FUNCTIONS[self.function][0](numbers)


Node: TypeAlias = Number | Name | Negation | Chain | Call
"""A part of a formula. `evaluate` returns its value, always finite; None where it is not known."""


def _finite(value: float) -> float | None:
    return value if isfinite(value) else None


def _divided(left: float, right: float) -> float | None:
    return _finite(left / right) if right else None


def _sum(numbers: Sequence[float]) -> float | None:
    total = 0.0
    for number in numbers:
        total += number
    return _finite(total)


def _root(numbers: Sequence[float]) -> float | None:
    return sqrt(numbers[0]) if numbers[0] >= 0 else None


_OPERATORS: dict[str, Callable[[float, float], float | None]] = {
    "+": lambda left, right: _finite(left + right),
    "-": lambda left, right: _finite(left - right),
    "*": lambda left, right: _finite(left * right),
    "/": _divided,
    "<": lambda left, right: float(left < right),
    "<=": lambda left, right: float(left <= right),
    ">": lambda left, right: float(left > right),
    ">=": lambda left, right: float(left >= right),
    "==": lambda left, right: float(left == right),
    "!=": lambda left, right: float(left != right),
    "and": lambda left, right: float(left > 0 and right > 0),
    "or": lambda left, right: float(left > 0 or right > 0),
}

# Each function with the number of arguments it takes; None for one or more.
FUNCTIONS: dict[str, tuple[Callable[[Sequence[float]], float | None], int | None]] = {
    "abs": (lambda numbers: abs(numbers[0]), 1),
    "max": (max, None),
    "min": (min, None),
    "sqrt": (_root, 1),
    "sum": (_sum, None),
}
"""What may be called, with the number of arguments; None for one or more."""
