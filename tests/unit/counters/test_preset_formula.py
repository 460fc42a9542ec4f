"""Formulas of presets: infix and postfix mean the same, and nothing is ever invented."""

from __future__ import annotations

import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gnomon.counters.preset_formula import (
    LENGTH_MAX,
    NATIVES_MAX,
    Formula,
    Step,
    difference_of,
    parse,
    per_second,
    scaled_native,
    sum_of,
)
from gnomon.errors import FormulaError

COUNTS = [7, 3, 2]


# --- what formulas come to ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("N0", 7), ("N0 + N1", 10), ("N0 - N1 - N2", 2), ("N0 - (N1 - N2)", 6),
        ("N0 + N1*N2", 13), ("(N0 + N1) * N2", 20), ("N0 / N2 / N2", 1.75),
        ("-N1 + N0", 4), ("2 * -N1", -6), ("--N0", 7), ("-(N0 - 2) * 2", -10),
        ("1e3*N0", 7000), (".5*N2", 1), ("N0/seconds", 14), ("  N0\t+ 1 ", 8), ("N1-N0", -4),
        ("N0|", 7), ("N0|N1|+|", 10), ("N0|N1|+", 10), ("N0|N1|-|N2|-|", 2),
        ("N0|N1|N2|*|+|", 13), ("N0| N1 |+|N2|*|", 20), ("N0|2|/|", 3.5), ("N0|seconds|/|", 14),
    ],
)  # fmt: skip
def test_value(text: str, value: float) -> None:
    assert parse(text, 3).evaluate(COUNTS, 0.5) == value


@pytest.mark.parametrize("text", ["N0/N1", "N0/(N1 - N1)", "1/0", "N0|N1|/|", "N0/seconds",
                                  "N0/N1*0", "(N0/N1)/(N0/N1)"])  # fmt: skip
def test_division_by_zero_has_no_value(text: str) -> None:
    assert parse(text, 2).evaluate([5, 0], 0.0) is None


@pytest.mark.parametrize("text", ["1e308*10*N0", "1/(1e308*1e308)*N0", "1e308*N0*1e308 - N0",
                                  "*".join(["N0"] * 2000), "*".join(["N0"] * 2000) + "/N0",
                                  "N0/1e-308/1e-308"])  # fmt: skip
def test_what_no_double_holds_has_no_value(text: str) -> None:
    assert parse(text, 1).evaluate([10**15]) is None


def test_whole_counts_are_added_exactly() -> None:
    """A difference of two large counts is not what is left of their doubles."""
    assert parse("(N0 - N1) / 2", 2).evaluate([2**63 + 3, 2**63]) == 1.5


# --- infix and postfix ----------------------------------------------------------------------------

operands = st.one_of(
    st.integers(0, 4).map(lambda at: (Step("N", at),)),
    st.just((Step("seconds"),)),
    st.integers(0, 10**6).map(lambda n: (Step("number", n),)),
    st.floats(0, 1e12, allow_nan=False).map(lambda f: (Step("number", f),)),
)
programs = st.recursive(
    operands,
    lambda inner: st.tuples(inner, inner, st.sampled_from("+-*/")).map(
        lambda parts: (*parts[0], *parts[1], Step(parts[2]))
    ),
    max_leaves=64,
)
counts = st.lists(
    st.one_of(st.integers(0, 2**63), st.floats(0, 1e18, allow_nan=False)), min_size=5, max_size=5
)


@given(programs)
def test_both_notations_give_the_same_program(program: tuple[Step, ...]) -> None:
    formula = Formula(program)
    assert parse(formula.infix(), 5) == parse(formula.postfix(), 5) == formula


@given(programs, counts, st.floats(0, 1e6))
def test_both_notations_agree(
    program: tuple[Step, ...], numbers: list[float], seconds: float
) -> None:
    formula = Formula(program)
    value = formula.evaluate(numbers, seconds)
    assert value is None or math.isfinite(value)
    assert parse(formula.infix(), 5).evaluate(numbers, seconds) == value
    assert parse(formula.postfix(), 5).evaluate(numbers, seconds) == value


@given(programs, st.lists(st.integers(0, 2**48), min_size=5, max_size=5))
def test_factors_are_the_formula(program: tuple[Step, ...], numbers: list[int]) -> None:
    """Where a formula is a sum with whole factors, that sum is its value."""
    formula = Formula(program)
    factors = formula.factors(5)
    if factors is None:
        return
    value = formula.evaluate(numbers, 1.0)
    if value is not None:
        exact = sum(f * n for f, n in zip(factors, numbers, strict=True))
        assert value == pytest.approx(exact, rel=1e-9, abs=1e-3)


@given(st.text(st.sampled_from("N0123456789+-*/()|. seconde\t,#"), max_size=40))
@example("N" + "9" * 5000)
@example("(" * 8000)
@example("-" * 8000 + "N0")
@example("N²")
def test_any_text_is_a_formula_or_refused(text: str) -> None:
    refused: FormulaError | None = None
    try:
        formula = parse(text, 3, "file.toml", 7)
    except FormulaError as error:
        refused = error
    if refused is not None:
        assert (refused.source, refused.line) == ("file.toml", 7)
        assert 1 <= refused.column <= len(text) + 1
        return
    value = formula.evaluate([1, 2, 3], 1.0)
    assert value is None or math.isfinite(value)
    if len(formula.infix()) <= LENGTH_MAX:
        assert parse(formula.infix(), 3) == formula


@pytest.mark.parametrize(
    ("text", "column", "problem"),
    [
        ("", 1, "ends where an operand"), ("N0 +", 5, "ends"), ("N0 N1", 4, "an operator"),
        ("N0 + (N1", 6, "not closed"), ("N0)", 3, "without its"), ("* N0", 1, "found '*'"),
        ("N3", 1, "no 'N3': the preset has 3 native events"), ("N0 + x", 6, "expected N0"),
        ("N0 $ 2", 4, "'$' does not belong"), ("N0()", 3, "an operator"), ("()", 2, "found ')'"),
        ("1e999", 1, "too large"), ("n0", 1, "expected N0"), ("N0,N1", 3, "','"),
        ("N0|+|", 4, "two operands"), ("N0|N1|", 7, "2 values are left"), ("|", 1, "expected N0"),
        ("N0|N1|^|", 7, "'^'"), ("N0||N1|+|", 4, "''"), ("N0|N9|+|", 4, "no 'N9'"),
        ("N0|-5|*|", 4, "'-5'"), ("N0|#|*|", 4, "'#'"), ("N000009", 1, "no 'N000009'"),
        ("0" * (LENGTH_MAX + 1), LENGTH_MAX + 1, "at most"),
    ],
)  # fmt: skip
def test_mistakes_are_pointed_at(text: str, column: int, problem: str) -> None:
    with pytest.raises(FormulaError) as caught:
        parse(text, 3, "a.toml", 4)
    assert caught.value.column == column
    assert problem in str(caught.value)
    assert str(caught.value).startswith(f"a.toml:4:{column}: ")


# --- sums with whole factors ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "factors"),
    [
        ("N0", (1, 0)), ("N0 + N1", (1, 1)), ("N0 - N1", (1, -1)), ("N0 + 2*N1", (1, 2)),
        ("4*(N0 + 2*N1) - N0", (3, 8)), ("0.5*N0*2", (1, 0)), ("N0*4/2 + N1", (2, 1)),
        ("N0|N1|8|*|+|", (1, 8)), ("-N0", (-1, 0)), ("N0 + N1*0", (1, 0)), ("N0 + 1 - 1", (1, 0)),
        ("N0/2", None), ("N0/N1", None), ("N0*N1", None), ("N0 + 1", None), ("N0/seconds", None),
        ("0.1*N0", None), ("N0*4096", None), ("N0*4095", (4095, 0)), ("N0/0", None), ("2", None),
        ("N0 - N0", None), ("N0*" + "9" * 300 + "*" + "9" * 300, None), ("2/N0", None),
    ],
)  # fmt: skip
def test_factors(text: str, factors: tuple[int, ...] | None) -> None:
    assert parse(text, 2).factors(2) == factors


def test_made_formulas() -> None:
    assert sum_of(3).infix() == "N0 + N1 + N2"
    assert difference_of(3).infix() == "N0 - N1 - N2"
    assert per_second(sum_of(2)).infix() == "(N0 + N1) / seconds"
    assert per_second(sum_of(1)).is_timed
    assert not sum_of(2).is_timed


def test_infix_with_names() -> None:
    names = ["FP:SCALAR", "FP:PACKED"]
    assert parse("N0|2|N1|*|+|", 2).infix(names) == "FP:SCALAR + 2 * FP:PACKED"
    assert parse("N0 - (N1 - 3)", 2).infix(names) == "FP:SCALAR - (FP:PACKED - 3)"
    assert parse("(N0*N1)/N0", 2).infix() == "N0 * N1 / N0"


def test_sixty_four_natives() -> None:
    whole = sum_of(NATIVES_MAX)
    assert whole.natives == tuple(range(64))
    assert parse(whole.postfix(), 64).evaluate([1] * 64) == 64
    assert parse(f"({whole.infix()})/N63", 64).evaluate([2] * 64) == 64
    with pytest.raises(FormulaError, match="no 'N64'"):
        parse("N64", 64)


def test_natives_are_replaced() -> None:
    formula = parse("N0 / N1", 2)
    swapped = formula.replaced({0: (Step("N", 1),), 1: scaled_native(0, 0.5)})
    assert swapped.infix() == "N1 / (N0 * 0.5)"
    assert formula.natives == swapped.natives == (0, 1)
