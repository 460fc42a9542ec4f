"""Formulas as postfix programs, from which C code is made.

A program and the formula's `evaluate` must give the same number, bit by bit.
"""

from __future__ import annotations

from collections.abc import Iterator

from gnomon.metrics.formula_ast import Call, Chain, Name, Negation, Node, Number
from gnomon.named_tuple import NamedTuple


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


def steps(node: Node) -> Iterator[Step]:
    """Yield a part of a formula as steps: operands first."""
    if isinstance(node, Number):
        yield Step("number", "", node.value, 0)
    elif isinstance(node, Name):
        yield Step("name", node.name, 0.0, 0)
    elif isinstance(node, Negation):
        yield from steps(node.operand)
        yield Step("negate", "", 0.0, 1)
    elif isinstance(node, Chain):
        yield from steps(node.first)
        for symbol, operand in node.rest:
            yield from steps(operand)
            yield Step("operator", symbol, 0.0, 2)
    else:
        yield from _call(node)


def _call(node: Call) -> Iterator[Step]:
    for argument in node.arguments:
        yield from steps(argument)
    yield Step("call", node.function, 0.0, len(node.arguments))
