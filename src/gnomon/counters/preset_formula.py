"""The formulas that make a preset of native events, in both of the ways that PAPI writes them.

    infix    N0 + 2*(N1 - N2) / seconds
    postfix  N0|N1|N2|-|2|*|seconds|/|+|

`N0` is the count of the first native event, `seconds` the time for which they were enabled. Both
are kept as the same program for a stack machine, so that they cannot disagree. Evaluation never
invents: a division by zero or a number beyond the range of a double makes the whole formula None.

Source of the postfix notation: PAPI's derived events (DERIVED_POSTFIX).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from math import isfinite
from typing import NoReturn

from gnomon.errors import FormulaError
from gnomon.named_tuple import NamedTuple

NATIVES_MAX = 64
"""Most native events in one formula."""

LENGTH_MAX = 16_384
"""Longest formula accepted, in characters."""

# Larger factors could carry a sum of counts beyond 64 bits.
_FACTOR_MAX = 1 << 12
_NATIVE, _NUMBER, _SECONDS = "N", "number", "seconds"
_BINDING = {"+": 1, "-": 1, "*": 2, "/": 2}
_UNARY = 3
_OPERAND = 4


_Linear = tuple[int | float, dict[int, int | float]]


class Step(NamedTuple):
    """One step of a program: push a count, a number or the time, or operate on the top two.

    Attributes:
        symbol: "N", "number", "seconds", "+", "-", "*" or "/".
        value: which native event, or the number.
    """

    symbol: str
    value: int | float = 0


class Formula(NamedTuple):
    """A formula over the counts of native events.

    Attributes:
        program: in postfix order; complete and never short of operands.
    """

    program: tuple[Step, ...]

    @classmethod
    def of(cls, steps: Iterable[tuple[str, float]]) -> Formula:
        """Return the formula of steps as C has them, whose numbers are all of one type."""
        return cls(tuple(Step(symbol, _whole(value)) for symbol, value in steps))

    @property
    def natives(self) -> tuple[int, ...]:
        """Which native events it uses, in ascending order."""
        return tuple(sorted({int(step.value) for step in self.program if step.symbol == _NATIVE}))

    @property
    def is_timed(self) -> bool:
        """Whether it needs the time for which the events were enabled."""
        return any(step.symbol == _SECONDS for step in self.program)

    def evaluate(self, counts: Sequence[int | float], seconds: float = 0.0) -> float | None:
        """Return the value, always finite; None where there is none, as after a division by zero.

        Args:
            counts: the (scaled) counts of the native events, by number.
            seconds: the time for which they were enabled, in seconds.
        """
        stack: list[int | float] = []
        try:
            for symbol, value in self.program:
                if symbol == _NATIVE:
                    stack.append(counts[int(value)])
                elif symbol == _NUMBER:
                    stack.append(value)
                elif symbol == _SECONDS:
                    stack.append(seconds)
                else:
                    right = stack.pop()
                    if symbol == "/" and right == 0:
                        return None
                    stack[-1] = _operate(symbol, stack[-1], right)
                    if not isfinite(stack[-1]):
                        return None
            result = float(stack[0])
        except OverflowError:
            return None
        return result if isfinite(result) else None

    def factors(self, natives: int) -> tuple[int, ...] | None:
        """Return the whole number that each native event's count enters with.

        None if the formula is anything but such a sum: then it has to be evaluated.

        Args:
            natives: how many native events there are.
        """
        try:
            return self._factors(natives)
        except (OverflowError, ValueError):  # numbers beyond a double are no factors
            return None

    def _factors(self, natives: int) -> tuple[int, ...] | None:
        # Each operand is its constant part and its factors.
        stack: list[_Linear] = []
        for symbol, value in self.program:
            if symbol == _NATIVE:
                stack.append((0, {int(value): 1}))
            elif symbol == _NUMBER:
                stack.append((value, {}))
            elif symbol == _SECONDS:
                return None
            else:
                right = stack.pop()
                joined = _combined(symbol, stack.pop(), right)
                if joined is None:
                    return None
                stack.append(joined)
        constant, found = stack[0]
        factors = [found.get(at, 0) for at in range(natives)]
        if constant or not any(factors):
            return None
        if any(f != int(f) or abs(f) >= _FACTOR_MAX for f in factors):
            return None
        return tuple(int(f) for f in factors)

    def replaced(self, programs: Mapping[int, Sequence[Step]]) -> Formula:
        """Return the formula with native events replaced by programs of their own."""
        steps: list[Step] = []
        for step in self.program:
            own = programs.get(int(step.value)) if step.symbol == _NATIVE else None
            steps.extend((step,) if own is None else own)
        return Formula(tuple(steps))

    def postfix(self) -> str:
        """Return the formula in PAPI's postfix notation."""
        return "".join(f"{_written(step)}|" for step in self.program)

    def infix(self, names: Sequence[str] = ()) -> str:
        """Return the formula as people write it, with names for the native events if given."""
        stack: list[tuple[str, int]] = []
        for step in self.program:
            binding = _BINDING.get(step.symbol)
            if binding is None:
                is_named = step.symbol == _NATIVE and int(step.value) < len(names)
                stack.append((names[int(step.value)] if is_named else _written(step), _OPERAND))
                continue
            right, inner = stack.pop()
            left, outer = stack.pop()
            left = f"({left})" if outer < binding else left
            right = f"({right})" if inner <= binding else right
            stack.append((f"{left} {step.symbol} {right}", binding))
        return stack[0][0]


def parse(text: str, natives: int, source: str = "formula", line: int = 1) -> Formula:
    """Return the formula that a text means: postfix if it has a `|`, infix otherwise.

    Args:
        text: the formula.
        natives: how many native events there are; N0 to N(natives - 1) may be used.
        source: the file or option that it comes from, named in errors.
        line: line in that file, named in errors.

    Raises:
        FormulaError: not a formula; names source, line and the 1-based column within `text`.
    """
    if len(text) > LENGTH_MAX:
        raise FormulaError(
            source,
            line,
            LENGTH_MAX + 1,
            f"the formula has {len(text)} characters; at most {LENGTH_MAX} are read",
        )
    parser = _Parser(text, natives, source, line)
    return Formula(tuple(parser.postfix() if "|" in text else parser.infix()))


def sum_of(natives: int) -> Formula:
    """Return N0 + N1 + ...: what several native events without a formula mean."""
    steps = [Step(_NATIVE, 0)]
    for at in range(1, natives):
        steps += [Step(_NATIVE, at), Step("+")]
    return Formula(tuple(steps))


def difference_of(natives: int) -> Formula:
    """Return N0 - N1 - ...: the first native event less the others."""
    steps = [Step(_NATIVE, 0)]
    for at in range(1, natives):
        steps += [Step(_NATIVE, at), Step("-")]
    return Formula(tuple(steps))


def per_second(formula: Formula) -> Formula:
    """Return a formula divided by the seconds for which the events were enabled."""
    return Formula((*formula.program, Step(_SECONDS), Step("/")))


def scaled_native(native: int, factor: float) -> tuple[Step, ...]:
    """Return the program of a native event's count times a factor."""
    return Step(_NATIVE, native), Step(_NUMBER, factor), Step("*")


@cache
def _token() -> re.Pattern[str]:
    # Compiled when the first formula is read: most presets have none.
    return re.compile(
        r"(?P<space>[ \t]+)"
        r"|(?P<number>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)"
        r"|(?P<name>[A-Za-z_][A-Za-z0-9_]*)"
        r"|(?P<symbol>[-+*/()])"
    )


class _Parser:
    def __init__(self, text: str, natives: int, source: str, line: int) -> None:
        self._text = text
        self._natives = natives
        self._source = source
        self._line = line

    def postfix(self) -> list[Step]:
        steps: list[Step] = []
        depth = 0
        column = 1
        words = self._text.rstrip().removesuffix("|").split("|")
        for word in words:
            token = word.strip()
            if token in _BINDING:
                if depth < 2:
                    self._refuse(column, f"'{token}' needs two operands before it")
                depth -= 1
                steps.append(Step(token))
            else:
                depth += 1
                match = _token().fullmatch(token)
                if match is None or match.lastgroup not in ("number", "name"):
                    self._refuse(
                        column,
                        f"expected N0, a number, seconds or one of + - * /, found {_shown(token)}",
                    )
                steps.append(self._operand(match, column))
            column += len(word) + 1
        if depth != 1:
            self._refuse(len(self._text) + 1, f"{depth} values are left, not one")
        return steps

    def infix(self) -> list[Step]:
        steps: list[Step] = []
        # Pending operators: symbol, how strongly it binds, column.
        pending: list[tuple[str, int, int]] = []
        token_at = _token()
        at_operand = True
        offset = 0
        while offset < len(self._text):
            match = token_at.match(self._text, offset)
            column = offset + 1
            if match is None:
                self._refuse(column, f"{self._text[offset]!a} does not belong in a formula")
            offset = match.end()
            kind, token = match.lastgroup, match[0]
            if kind == "space":
                continue
            if at_operand:
                if token == "(":
                    pending.append(("(", 0, column))
                elif token == "-":
                    steps.append(Step(_NUMBER, 0))
                    pending.append(("-", _UNARY, column))
                elif kind == "symbol":
                    self._refuse(column, f"expected N0, a number, seconds or '(', found '{token}'")
                else:
                    steps.append(self._operand(match, column))
                    at_operand = False
                continue
            if kind != "symbol" or token == "(":
                self._refuse(column, f"expected an operator, found {_shown(token)}")
            binding = _BINDING.get(token, 0)
            while pending and pending[-1][1] >= max(binding, 1):
                steps.append(Step(pending.pop()[0]))
            if token != ")":
                pending.append((token, binding, column))
                at_operand = True
            elif not pending:
                self._refuse(column, "')' without its '('")
            else:
                pending.pop()
        if at_operand:
            self._refuse(len(self._text) + 1, "the formula ends where an operand is expected")
        while pending:
            symbol, _, column = pending.pop()
            if symbol == "(":
                self._refuse(column, "'(' is not closed")
            steps.append(Step(symbol))
        return steps

    def _operand(self, match: re.Match[str], column: int) -> Step:
        token = match[0]
        if match.lastgroup == "number":
            return Step(_NUMBER, self._number(token, column))
        if token == _SECONDS:
            return Step(_SECONDS)
        if not (token[0] == "N" and token[1:].isascii() and token[1:].isdecimal()):
            self._refuse(column, f"expected N0, a number or seconds, found {_shown(token)}")
        if len(token) > 4 or int(token[1:]) >= self._natives:
            have = "one native event" if self._natives == 1 else f"{self._natives} native events"
            self._refuse(column, f"there is no {_shown(token)}: the preset has {have}")
        return Step(_NATIVE, int(token[1:]))

    def _number(self, token: str, column: int) -> int | float:
        if token.isdecimal() and len(token) <= 18:
            return int(token)
        value = float(token)
        if not isfinite(value):
            self._refuse(column, f"the number {_shown(token)} is too large")
        return value

    def _refuse(self, column: int, problem: str) -> NoReturn:
        raise FormulaError(self._source, self._line, column, problem)


def _operate(symbol: str, left: int | float, right: int | float) -> int | float:
    if symbol == "+":
        return left + right
    if symbol == "-":
        return left - right
    return left * right if symbol == "*" else left / right


def _combined(symbol: str, left: _Linear, right: _Linear) -> _Linear | None:
    """Return two linear operands joined, None where the result is not linear."""
    if symbol in "+-":
        sign = 1 if symbol == "+" else -1
        factors = dict(left[1])
        for at, factor in right[1].items():
            factors[at] = factors.get(at, 0) + sign * factor
        return left[0] + sign * right[0], factors
    if symbol == "*" and not left[1]:
        left, right = right, left
    if right[1] or (symbol == "/" and right[0] == 0):
        return None
    number = right[0]
    scaled = {at: _scaled(factor, symbol, number) for at, factor in left[1].items()}
    constant = _scaled(left[0], symbol, number)
    return constant, scaled


def _scaled(factor: int | float, symbol: str, number: int | float) -> int | float:
    if symbol == "*":
        return factor * number
    if isinstance(factor, int) and isinstance(number, int) and factor % number == 0:
        return factor // number
    return factor / number


def _written(step: Step) -> str:
    if step.symbol == _NATIVE:
        return f"N{int(step.value)}"
    return repr(step.value) if step.symbol == _NUMBER else step.symbol


def _shown(token: str) -> str:
    """Return a token as an error message names it: one short printable word."""
    text = ascii(token)
    return text if len(text) <= 40 else f"{text[:40]}..."


def _whole(value: float) -> int | float:
    return int(value) if value == int(value) else value
