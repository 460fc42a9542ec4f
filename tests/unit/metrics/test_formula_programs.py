"""Conditions, patterns, postfix programs: what formulas have beyond arithmetic."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite, sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_formula import NAMES, trees, written

from gnomon.errors import FormulaError
from gnomon.metrics.formula import parse, trusted
from gnomon.metrics.postfix import Step

finite = st.floats(allow_nan=False, allow_infinity=False)

# --- programs -------------------------------------------------------------------------------------


def executed(program: Sequence[Step], values: Mapping[str, float | None]) -> float | None:
    """Return what a program comes to on a stack machine, written from the description of Step."""
    stack: list[float] = []
    for kind, name, number, operands in program:
        taken = stack[len(stack) - operands :]
        assert len(taken) == operands
        del stack[len(stack) - operands :]
        if kind == "number":
            result: float | None = number
        elif kind == "name":
            result = values.get(name)
        elif kind == "negate":
            result = -taken[0]
        elif kind == "call":
            result = called(name, taken)
        else:
            result = operated(name, *taken)
        if result is None or not isfinite(result):
            return None
        stack.append(result)
    (result,) = stack
    return result


def called(name: str, taken: Sequence[float]) -> float | None:
    if name == "sqrt":
        return sqrt(taken[0]) if taken[0] >= 0 else None
    result = taken[0]
    if name == "sum":
        result = 0.0
        for one in taken:
            result += one
        return result
    if name == "abs":
        return -result if result < 0 else result + 0.0
    for one in taken[1:]:
        if (one > result) if name == "max" else (one < result):
            result = one
    return result


def operated(symbol: str, left: float, right: float) -> float | None:
    if symbol == "/":
        return left / right if right else None
    if symbol in "+-*":
        return {"+": left + right, "-": left - right, "*": left * right}[symbol]
    if symbol in ("and", "or"):
        return float(left > 0 and right > 0) if symbol == "and" else float(left > 0 or right > 0)
    compared = {"<": left < right, "<=": left <= right, ">": left > right,
                ">=": left >= right, "==": left == right, "!=": left != right}  # fmt: skip
    return float(compared[symbol])


@given(trees, st.lists(finite, min_size=4, max_size=4))
def test_a_program_comes_to_what_the_formula_does(tree: object, inputs: list[float]) -> None:
    values = dict(zip(NAMES, inputs, strict=True))
    formula = parse(written(tree))
    assert executed(formula.program(), values) == formula.evaluate(values)


def test_a_program_is_postfix() -> None:
    program = parse("-a * max(2, b) - c").program()
    assert [(step.kind, step.name, step.number, step.operands) for step in program] == [
        ("name", "a", 0, 0),
        ("negate", "", 0, 1),
        ("number", "", 2, 0),
        ("name", "b", 0, 0),
        ("call", "max", 0, 2),
        ("operator", "*", 0, 2),
        ("name", "c", 0, 0),
        ("operator", "-", 0, 2),
    ]


@given(trees)
def test_trusted_formulas_are_the_parsed_ones(tree: object) -> None:
    text = written(tree)
    formula = parse(text)
    known = trusted(text, formula.names, "formula")
    assert known.names == formula.names
    assert known == formula
    assert known.program() == formula.program()


# --- conditions -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("a", True),
        ("a - 2", False),
        ("-a", False),
        ("a > 1", True),
        ("a > 2", False),
        ("a >= 2", True),
        ("a < 3 and b > 2", True),
        ("a < 3 and b > 3", False),
        ("a > 3 or b > 2", True),
        ("a > 3 or b > 3", False),
        ("a == 2 and b != 2", True),
        ("a <= 1 and a <= 1 or b == 3", True),
        ("b == 3 or a <= 1 and a <= 1", True),
        ("a + 1 == b", True),
        ("max(a, b) < sum(a, b)", True),
        ("a and b", True),
        ("a - 2 or b - 3", False),
    ],
)
def test_conditions(text: str, holds: bool) -> None:
    condition = parse(text, is_condition=True)
    value = condition.evaluate({"a": 2, "b": 3})
    assert value is not None
    assert (value > 0) is holds
    assert condition.names <= {"a", "b"}
    shipped = trusted(text, condition.names, "formula", is_condition=True)
    assert shipped.program() == condition.program()
    assert executed(condition.program(), {"a": 2, "b": 3}) == value


@pytest.mark.parametrize("text", ["x > 1", "a > 1 or x", "a / 0 > 1", "a and x"])
def test_a_condition_over_what_is_unknown_does_not_hold(text: str) -> None:
    assert parse(text, is_condition=True).evaluate({"a": 2}) is None


@pytest.mark.parametrize(
    ("text", "column", "problem"),
    [
        ("a > ", 5, "found the end"),
        ("a > b > c", 7, "expected an operator, found '>'"),
        ("a = b", 3, "'=' does not belong"),
        ("a and", 6, "found the end"),
        ("and a", 1, "expected a number, a name or '(', found 'and'"),
        ("a & b", 3, "'&' does not belong"),
        ("(a > b)", 4, "expected ')' for the '(' at column 1, found '>'"),
        ("a ! b", 3, "'!' does not belong"),
    ],
)
def test_wrong_conditions(text: str, column: int, problem: str) -> None:
    with pytest.raises(FormulaError) as caught:
        parse(text, "mine.toml", 3, is_condition=True)
    assert str(caught.value).startswith(f"mine.toml:3:{column}: ")
    assert problem in str(caught.value)


@pytest.mark.parametrize("text", ["a > b", "a or b", "a == b"])
def test_formulas_compare_nothing(text: str) -> None:
    with pytest.raises(FormulaError, match=":3: expected an operator, found"):
        parse(text)


# --- patterns -------------------------------------------------------------------------------------


def test_a_pattern_is_a_name_with_its_star() -> None:
    formula = parse("sum(PM_DATA_FROM_L2*, 3) / (2*b)")
    assert formula.names == {"PM_DATA_FROM_L2*", "b"}
    assert formula.evaluate({"PM_DATA_FROM_L2*": 7, "b": 5}) == 1
    assert formula.spelled({"PM_DATA_FROM_L2*": "A, B"}) == "sum(A, B, 3) / (2*b)"
    assert parse("sum(a*b)").names == {"a", "b"}
    assert parse("sum( a* )").names == {"a*"}


@pytest.mark.parametrize(
    ("text", "column", "problem"),
    [
        ("(PM_*)", 2, "the pattern 'PM_*' stands for many events: write it as an argument of sum"),
        ("max(PM_*, 1)", 5, "stands for many events"),
        ("sum(2 * PM_*)", 9, "stands for many events"),
        ("sum(PM_* + 1)", 10, "found '+'"),
        ("PM_*", 5, "found the end"),
        ("sum(*)", 5, "found '*'"),
    ],
)
def test_patterns_belong_into_a_sum(text: str, column: int, problem: str) -> None:
    with pytest.raises(FormulaError) as caught:
        parse(text, "mine.toml", 3)
    assert str(caught.value).startswith(f"mine.toml:3:{column}: ")
    assert problem in str(caught.value)
