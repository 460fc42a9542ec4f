"""The formula language: what it computes, what it refuses, and that nothing breaks it."""

from __future__ import annotations

import re
from math import inf, isfinite, nan
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnomon.errors import FormulaError
from gnomon.metrics.formula import MAX_DEPTH, MAX_LENGTH, identifier, parse

# --- random expression trees, and what Python makes of them ---------------------------------------

NAMES = ("a", "B2", "_c", "wall_seconds")
FUNCTIONS: dict[str, Any] = {
    "abs": lambda *numbers: abs(*numbers),
    "max": lambda *numbers: max(numbers),
    "min": lambda *numbers: min(numbers),
    "sqrt": lambda number: number**0.5 if number >= 0 else nan,
    "sum": lambda *numbers: added(numbers),
}


def added(numbers: tuple[float, ...]) -> float:
    total = 0.0
    for number in numbers:
        total = total + number
    return total


numbers = st.floats(min_value=0, allow_infinity=False, allow_nan=False)
leaves = st.one_of(
    st.tuples(st.just("number"), numbers | st.integers(0, 1000)),
    st.tuples(st.just("name"), st.sampled_from(NAMES)),
)


def branches(trees: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(
        st.tuples(st.just("-"), trees),
        st.tuples(st.sampled_from("+-*/"), trees, trees),
        st.tuples(st.sampled_from(["abs", "sqrt"]), trees),
        st.lists(trees, min_size=1, max_size=4).flatmap(
            lambda arguments: st.tuples(
                st.sampled_from(["max", "min", "sum"]), *map(st.just, arguments)
            )
        ),
    )


trees = st.recursive(leaves, branches, max_leaves=20)
PRECEDENCE = {"+": 1, "-": 1, "*": 2, "/": 2}


def written(tree: Any, binding: int = 0, right: bool = False) -> str:
    """Return a tree as a formula with as few brackets as the precedence rules allow."""
    kind, *operands = tree
    if kind in ("number", "name"):
        return f"{operands[0]!r}" if kind == "number" else operands[0]
    if kind in FUNCTIONS:
        return f"{kind}({', '.join(map(written, operands))})"
    if len(operands) == 1:
        return f"-{written(operands[0], 3)}"
    level = PRECEDENCE[kind]
    text = f"{written(operands[0], level)} {kind} {written(operands[1], level, right=True)}"
    return f"({text})" if level < binding or (level == binding and right) else text


def reference(tree: Any, values: dict[str, float]) -> float | None:
    """Return what Python computes step by step, None as soon as a step is not a finite number."""
    kind, *operands = tree
    if kind == "number":
        return float(operands[0])
    if kind == "name":
        return values[operands[0]]
    steps = [reference(operand, values) for operand in operands]
    if any(step is None for step in steps):
        return None
    function = FUNCTIONS.get(kind)
    if function is None:
        text = f"{kind}x" if len(steps) == 1 else f"x {kind} y"
        variables = dict(zip("xy", steps, strict=False))
        try:
            result = eval(text, {}, variables)
        except ZeroDivisionError:
            return None
    else:
        result = function(*steps)
    return result if isfinite(result) else None


@given(trees, st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=4, max_size=4))
def test_value_is_the_one_that_python_computes(tree: Any, inputs: list[float]) -> None:
    values = dict(zip(NAMES, inputs, strict=True))
    text = written(tree)
    formula = parse(text)
    expected = reference(tree, values)
    assert formula.evaluate(values) == expected
    if expected is not None:  # Python's own reading of the same text
        assert formula.evaluate(values) == eval(text, {**FUNCTIONS, **values})
    assert formula.names == set(re.findall(r"(?<![\w.])[A-Za-z_]\w*(?!\w*\()", text))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e-9", 1e-9),
        (".5 + 2.", 2.5),
        ("1E+3", 1000),
        ("2 - 3 - 4", -5),
        ("16 / 4 / 2", 2),
        ("2 + 3 * 4", 14),
        ("(2 + 3) * 4", 20),
        ("-2 * -3", 6),
        ("--2", 2),
        ("- - -2", -2),
        ("2 - -3", 5),
        ("2*-3", -6),
        ("min(3, 1, 2) + max(4)", 5),
        ("sum(1, 2, 3) / sqrt(4) + abs(-1)", 4),
        ("\t1\r\n+ 1 ", 2),
        ("x", 7),
        ("X", 70),
        ("e1 + E", 11),
    ],
)
def test_values(text: str, value: float) -> None:
    assert parse(text).evaluate({"x": 7, "X": 70, "e1": 1, "E": 10}) == value


@pytest.mark.parametrize(
    "text",
    [
        "1 / 0",
        "1 / (x - x)",
        "1 / (1e-300 * 1e-300)",
        "1e308 * 10",
        "1e308 + 1e308",
        "-1e308 - 1e308",
        "1 / (1e308 * 10)",
        "sum(1e308, 1e308)",
        "1e300 / 1e-300",
        "sqrt(-1)",
        "sqrt(-1e-300)",
        "absent",
        "0 * absent",
        "unmeasured + 1",
        "-unmeasured",
        "min(1, unmeasured)",
        "infinite",
        "1 / infinite",
        "undefined",
        "vast",
    ],
)
def test_nothing_is_invented(text: str) -> None:
    values = {"x": 1, "unmeasured": None, "infinite": inf, "undefined": nan, "vast": 10**400}
    assert parse(text).evaluate(values) is None


def test_whole_numbers_below_two_to_the_53_stay_exact() -> None:
    assert parse("a + 0").evaluate({"a": 2**53 - 1}) == 2**53 - 1


# --- what is refused, and where -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "column", "problem"),
    [
        ("", 1, "found the end"),
        ("   ", 4, "found the end"),
        ("1 +", 4, "expected a number, a name or '(', found the end"),
        ("1 + * 2", 5, "found '*'"),
        ("1 2", 3, "expected an operator, found '2'"),
        ("2x", 2, "expected an operator, found 'x'"),
        ("1.2.3", 4, "expected an operator, found '.3'"),
        ("a b", 3, "expected an operator, found 'b'"),
        ("(1 + 2", 7, "expected ')' for the '(' at column 1, found the end"),
        ("1 + 2)", 6, "expected an operator, found ')'"),
        ("()", 2, "found ')'"),
        ("min()", 5, "found ')'"),
        ("min(1,)", 7, "found ')'"),
        ("min(1 2)", 7, "expected ')' for the '(' at column 4, found '2'"),
        ("3 * min", 8, "expected '(' after the function 'min'"),
        ("sqrt(1, 2)", 1, "'sqrt' takes 1 argument, not 2"),
        ("1 + abs(1, 2, 3)", 5, "'abs' takes 1 argument, not 3"),
        ("1 + exp(1)", 5, "there is no function 'exp'; there are abs, max, min, sqrt, sum"),
        ("a ** 2", 4, "found '*'"),
        ("+1", 1, "found '+'"),
        ("a, b", 2, "expected an operator, found ','"),
        ("a @ b", 3, "'@' does not belong in a formula"),
        ("a; b", 2, "';' does not belong in a formula"),
        ("a.b", 2, "'.' does not belong in a formula"),
        ("'a'", 1, "does not belong in a formula"),
        ("PM_*", 5, "found the end"),
        ("2 * 1e999", 5, "the number '1e999' is too large"),
        ("9" * 400, 1, "is too large"),
        ("ab\0", 3, r"'\x00' does not belong in a formula"),
        ("\x1b[2J", 1, r"'\x1b' does not belong in a formula"),
        ("é", 1, r"'\xe9' does not belong in a formula"),
        ("٣", 1, r"'\u0663' does not belong in a formula"),
        ("\ud800", 1, r"'\ud800' does not belong in a formula"),
        ("n" * 100 + "(1)", 1, f"there is no function '{'n' * 40}...'"),
    ],
)
def test_errors_name_the_place(text: str, column: int, problem: str) -> None:
    with pytest.raises(FormulaError) as caught:
        parse(text, "mine.toml", 12)
    error = caught.value
    assert (error.source, error.line, error.column) == ("mine.toml", 12, column)
    assert str(error).startswith(f"mine.toml:12:{column}: ")
    assert problem in str(error)


@pytest.mark.parametrize("opening", ["(", "abs(", "-(", "sum(1, ", "1 + ("])
def test_depth_is_limited(opening: str) -> None:
    accepted = opening * MAX_DEPTH + "1" + ")" * MAX_DEPTH
    assert parse(accepted).evaluate({}) is not None
    refused = opening * (MAX_DEPTH + 1) + "1" + ")" * (MAX_DEPTH + 1)
    with pytest.raises(FormulaError, match=f"nested more than {MAX_DEPTH} deep"):
        parse(refused)
    hostile = (opening * MAX_LENGTH)[:MAX_LENGTH]
    with pytest.raises(FormulaError, match="nested more than"):
        parse(hostile)


def test_brackets_side_by_side_are_not_deep() -> None:
    assert parse(" + ".join(["(1)"] * 1000)).evaluate({}) == 1000


def test_length_is_limited() -> None:
    ones = (MAX_LENGTH + 1) // 2
    assert parse("+".join("1" * ones)).evaluate({}) == ones
    assert parse("-" * (MAX_LENGTH - 1) + "1").evaluate({}) == -1
    for text in ("+".join("1" * (ones + 1)), "(" * 10**6, " " * (MAX_LENGTH + 1)):
        with pytest.raises(FormulaError) as caught:
            parse(text)
        assert caught.value.column == MAX_LENGTH + 1
        assert f"has {len(text)} characters" in str(caught.value)


pieces = st.sampled_from(
    ["(", ")", "-", "+", "*", "/", ",", " ", "min", "sqrt(", "sum(", "x", "1", ".5", "1e308", "e"]
)


@given(st.text() | st.lists(pieces, max_size=60).map("".join), st.floats() | st.none())
def test_any_text_is_a_formula_or_a_formula_error(text: str, value: float | None) -> None:
    refused: FormulaError | None = None
    try:
        formula = parse(text)
    except FormulaError as error:
        refused = error
    if refused is not None:
        assert 1 <= refused.column <= len(text) + 1
        return
    result = formula.evaluate(dict.fromkeys(formula.names, value))
    assert result is None or isfinite(result)
    if value is None:
        assert result is None or not formula.names


# --- names ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("event", "name"),
    [
        ("context-switches", "context_switches"),
        ("sched:sched_switch", "sched_sched_switch"),
        ("PAPI_TOT_INS", "PAPI_TOT_INS"),
        ("io:::read_bytes", "io___read_bytes"),
        ("cpu/event=0x3c,umask=1/u", "cpu_event_0x3c_umask_1_u"),
        ("io:::nvme0n1:read_bytes", "io___nvme0n1_read_bytes"),
        ("4kB-pages", "_4kB_pages"),
        ("größe", "gr__e"),
    ],
)
def test_identifier_of_an_event(event: str, name: str) -> None:
    assert identifier(event) == name


@given(st.text(min_size=1))
def test_every_identifier_can_be_written_in_a_formula(event: str) -> None:
    name = identifier(event)
    assert identifier(name) == name
    if name not in FUNCTIONS:
        assert parse(f"2*{name}").names == {name}


def test_names_are_those_that_are_needed() -> None:
    formula = parse("sum(a, b) / max(c, 1e3, A) - a")
    assert formula.names == {"a", "b", "c", "A"}
    assert formula.text == "sum(a, b) / max(c, 1e3, A) - a"


def test_spelling_replaces_names_and_nothing_else() -> None:
    formula = parse("sum(a, aa)  / 1e5 - a*e5")
    assert formula.spelled({"a": "cycles", "sum": "min", "unused": "x"}) == (
        "sum(cycles, aa)  / 1e5 - cycles*e5"
    )
    assert formula.spelled({"e5": "z"}) == "sum(a, aa)  / 1e5 - a*z"
    assert formula.spelled({}) is formula.text
