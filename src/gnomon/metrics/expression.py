"""What a parsed formula consists of: numbers, names, operators, functions; evaluated safely.

Every part can also be written as a step of a postfix program (`Step`), which is how formulas are
compiled for C: that and `evaluate` must come to the same number, bit by bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import isfinite, sqrt
from typing import NamedTuple, Protocol

Values = Mapping[str, float | None]


class Step(NamedTuple):
    """One step of a postfix program on a stack of doubles.

    A name that has no value, an operation whose result is not finite, a division by zero and a
    root of a negative number end the program: it has no value.

    Attributes:
        kind: "number", "name", "negate", "operator" or "call".
        name: the name, the operator or comparison, or the function; "" otherwise.
        number: the number, for "number".
        operands: how many values it takes from the stack.
    """

    kind: str
    name: str
    number: float
    operands: int


class Node(Protocol):
    """A part of a formula."""

    def evaluate(self, values: Values) -> float | None:
        """Return the part's value, finite; None where it cannot be known."""

    def steps(self) -> Iterator[Step]:
        """Yield the part as steps of a postfix program."""


class Number:
    """A literal."""

    __slots__ = ("value",)

    def __init__(self, value: float) -> None:
        self.value = value

    def evaluate(self, values: Values) -> float | None:  # noqa: ARG002
        """Return the number."""
        return self.value

    def steps(self) -> Iterator[Step]:
        """Yield one step."""
        yield Step("number", "", self.value, 0)


class Name:
    """A count, a variable, a constant, or a pattern such as `PM_DATA_FROM_L2*`."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def evaluate(self, values: Values) -> float | None:
        """Return what the name stands for; None for what is absent, infinite or not a number."""
        value = values.get(self.name)
        if value is None:
            return None
        try:
            return _finite(float(value))
        except OverflowError:  # an int beyond the range of a double
            return None

    def steps(self) -> Iterator[Step]:
        """Yield one step."""
        yield Step("name", self.name, 0.0, 0)


class Negation:
    """A minus sign in front of something."""

    __slots__ = ("operand",)

    def __init__(self, operand: Node) -> None:
        self.operand = operand

    def evaluate(self, values: Values) -> float | None:
        """Return the negative."""
        value = self.operand.evaluate(values)
        return None if value is None else -value

    def steps(self) -> Iterator[Step]:
        """Yield the operand's steps and one more."""
        yield from self.operand.steps()
        yield Step("negate", "", 0.0, 1)


class Chain:
    """Operators of one precedence, applied from left to right: as long as one likes, never deep."""

    __slots__ = ("first", "rest")

    def __init__(self, first: Node, rest: Sequence[tuple[str, Node]]) -> None:
        self.first = first
        self.rest = tuple(rest)

    def evaluate(self, values: Values) -> float | None:
        """Return what the operators come to."""
        result = self.first.evaluate(values)
        for symbol, operand in self.rest:
            right = operand.evaluate(values)
            if result is None or right is None:
                return None
            result = _OPERATORS[symbol](result, right)
        return result

    def steps(self) -> Iterator[Step]:
        """Yield each operand's steps, and the operator behind the second of its operands."""
        yield from self.first.steps()
        for symbol, operand in self.rest:
            yield from operand.steps()
            yield Step("operator", symbol, 0.0, 2)


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

    def steps(self) -> Iterator[Step]:
        """Yield the arguments' steps and one for the call."""
        for argument in self.arguments:
            yield from argument.steps()
        yield Step("call", self.function, 0.0, len(self.arguments))


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
