"""A small formula language for derived metrics: arithmetic over named counts, and nothing else.

    formula  = term   { ("+" | "-") term }
    term     = signed { ("*" | "/") signed }
    signed   = { "-" } primary
    primary  = number | name | function "(" formula { "," formula } ")" | "(" formula ")"
    function = "abs" | "max" | "min" | "sqrt" | "sum"

Names are events (see `identifier`) and variables such as `wall_seconds`; case matters. Operators
bind and associate as in C. Evaluation is in double precision and never invents: a missing input,
a division by zero, a root of a negative number or a result (even an intermediate one) beyond the
range of a double make the whole formula None.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from math import isfinite, sqrt
from typing import NoReturn, Protocol

from gnomon.errors import FormulaError

MAX_LENGTH = 16_384
"""Longest formula accepted, in characters."""

MAX_DEPTH = 40
"""Deepest nesting of parentheses and calls accepted."""

# Patterns are compiled when they are first needed: some starts of Gnomon need none of them.
_TOKEN = (
    r"(?P<space>[ \t\r\n]+)"
    r"|(?P<number>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)"
    r"|(?P<name>[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<symbol>[-+*/(),])"
)
_NAME = r"(?<![A-Za-z0-9_.])[A-Za-z_][A-Za-z0-9_]*"
_NOT_IN_NAMES = r"[^A-Za-z0-9_]"

Values = Mapping[str, float | None]


def identifier(name: str) -> str:
    """Return the name by which a formula refers to an event.

    Every character that is not an ASCII letter, a digit or an underscore becomes an underscore
    (`sched:sched_switch` is `sched_sched_switch`); a name that starts with a digit gets one in
    front, since a formula would read it as a number.
    """
    plain = name if name.isidentifier() and name.isascii() else re.sub(_NOT_IN_NAMES, "_", name)
    return f"_{plain}" if plain[:1].isdigit() else plain


class _Node(Protocol):
    def evaluate(self, values: Values) -> float | None: ...


class _Number:
    __slots__ = ("value",)

    def __init__(self, value: float) -> None:
        self.value = value

    def evaluate(self, values: Values) -> float | None:  # noqa: ARG002
        return self.value


class _Name:
    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def evaluate(self, values: Values) -> float | None:
        value = values.get(self.name)
        if value is None:
            return None
        try:
            return _finite(float(value))
        except OverflowError:  # an int beyond the range of a double
            return None


class _Negation:
    __slots__ = ("operand",)

    def __init__(self, operand: _Node) -> None:
        self.operand = operand

    def evaluate(self, values: Values) -> float | None:
        value = self.operand.evaluate(values)
        return None if value is None else -value


class _Chain:
    """Operators of one precedence, applied from left to right: as long as one likes, never deep."""

    __slots__ = ("first", "rest")

    def __init__(self, first: _Node, rest: Sequence[tuple[str, _Node]]) -> None:
        self.first = first
        self.rest = tuple((_OPERATORS[symbol], operand) for symbol, operand in rest)

    def evaluate(self, values: Values) -> float | None:
        result = self.first.evaluate(values)
        for operate, operand in self.rest:
            right = operand.evaluate(values)
            if result is None or right is None:
                return None
            result = operate(result, right)
        return result


class _Call:
    __slots__ = ("arguments", "function")

    def __init__(self, function: _Function, arguments: Sequence[_Node]) -> None:
        self.function = function
        self.arguments = tuple(arguments)

    def evaluate(self, values: Values) -> float | None:
        numbers = []
        for argument in self.arguments:
            number = argument.evaluate(values)
            if number is None:
                return None
            numbers.append(number)
        return self.function(numbers)


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


_Function = Callable[[Sequence[float]], float | None]

_OPERATORS: dict[str, Callable[[float, float], float | None]] = {
    "+": lambda left, right: _finite(left + right),
    "-": lambda left, right: _finite(left - right),
    "*": lambda left, right: _finite(left * right),
    "/": _divided,
}

# Each function with the number of arguments it takes; None for one or more.
_FUNCTIONS: dict[str, tuple[_Function, int | None]] = {
    "abs": (lambda numbers: abs(numbers[0]), 1),
    "max": (max, None),
    "min": (min, None),
    "sqrt": (_root, 1),
    "sum": (_sum, None),
}


class Formula:
    """A parsed formula.

    Attributes:
        text: the formula as it was written.
        names: every identifier that it needs a value for.
        source: the file or option that it comes from.
        line: line in that file.
    """

    __slots__ = ("_root", "line", "names", "source", "text")

    def __init__(
        self, text: str, names: frozenset[str], source: str, line: int, root: _Node | None
    ) -> None:
        self.text = text
        self.names = names
        self.source = source
        self.line = line
        self._root = root

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Formula):
            return NotImplemented
        return (self.text, self.source, self.line) == (other.text, other.source, other.line)

    def __hash__(self) -> int:
        return hash((self.text, self.source, self.line))

    def __repr__(self) -> str:
        return f"Formula({self.text!r}, {self.source}:{self.line})"

    def evaluate(self, values: Values) -> float | None:
        """Return the formula's value, always finite; None where it cannot be known.

        Args:
            values: a number for each of `names`, in the unit that the formula expects; a name
                that is absent, None, infinite or not a number makes the result None.
        """
        if self._root is None:
            self._root = _parsed(self.text, self.source, self.line)[0]
        return self._root.evaluate(values)

    def spelled(self, names: Mapping[str, str]) -> str:
        """Return the text with identifiers replaced: a formula as the user's own events put it.

        Args:
            names: what to write instead; identifiers that are not in it stay as they are.
        """
        replaceable = self.names.intersection(names)
        if not replaceable:
            return self.text
        return "".join(
            names[token.text] if token.kind == "name" and token.text in replaceable else token.text
            for token in _tokens(self.text, self.source, self.line, spaces=True)
        )


def parse(text: str, source: str = "formula", line: int = 1) -> Formula:
    """Return the parsed formula.

    Args:
        text: the formula.
        source: the file or option that it comes from, named in errors.
        line: line in that file, named in errors.

    Raises:
        FormulaError: not a formula, or one of hostile length or depth; with source, line and
            the 1-based column within `text`.
    """
    if len(text) > MAX_LENGTH:
        raise FormulaError(
            source,
            line,
            MAX_LENGTH + 1,
            f"the formula has {len(text)} characters; at most {MAX_LENGTH} are read",
        )
    root, names = _parsed(text, source, line)
    return Formula(text, names, source, line, root)


def trusted(text: str, source: str, line: int) -> Formula:
    """Return what `parse` returns for a formula that is known to be one.

    It is parsed when it is evaluated: of the shipped ones a run computes a few.
    """
    names = frozenset(re.findall(_NAME, text)).difference(_FUNCTIONS)
    return Formula(text, names, source, line, None)


def _parsed(text: str, source: str, line: int) -> tuple[_Node, frozenset[str]]:
    parser = _Parser(_tokens(text, source, line), source, line)
    root = parser.formula()
    parser.end()
    return root, frozenset(parser.names)


class _Token:
    __slots__ = ("column", "kind", "text")

    def __init__(self, kind: str, text: str, column: int) -> None:
        self.kind = kind
        self.text = text
        self.column = column


def _tokens(text: str, source: str, line: int, *, spaces: bool = False) -> list[_Token]:
    """Return the tokens of a formula; without `spaces` an end token closes the list."""
    tokens = []
    pattern = re.compile(_TOKEN)
    position = 0
    while position < len(text):
        match = pattern.match(text, position)
        if match is None:
            problem = f"{text[position]!a} does not belong in a formula"
            raise FormulaError(source, line, position + 1, problem)
        kind = match.lastgroup or ""
        if spaces or kind != "space":
            tokens.append(_Token(kind, match[0], position + 1))
        position = match.end()
    if not spaces:
        tokens.append(_Token("end", "", len(text) + 1))
    return tokens


class _Parser:
    """Recursive descent over the tokens of one formula; `names` collects the identifiers met."""

    def __init__(self, tokens: list[_Token], source: str, line: int) -> None:
        self.names: set[str] = set()
        self._tokens = tokens
        self._source = source
        self._line = line
        self._position = 0
        self._depth = 0

    def formula(self) -> _Node:
        return self._chain("+-", self._term)

    def end(self) -> None:
        if self._token.kind != "end":
            self._refuse(self._token, f"expected an operator, found {_shown(self._token)}")

    def _term(self) -> _Node:
        return self._chain("*/", self._signed)

    def _chain(self, symbols: str, operand: Callable[[], _Node]) -> _Node:
        first = operand()
        rest = []
        while self._token.kind == "symbol" and self._token.text in symbols:
            symbol = self._take().text
            rest.append((symbol, operand()))
        return _Chain(first, rest) if rest else first

    def _signed(self) -> _Node:
        negative = False
        while self._token.text == "-":
            self._take()
            negative = not negative
        primary = self._primary()
        return _Negation(primary) if negative else primary

    def _primary(self) -> _Node:
        token = self._take()
        if token.kind == "number":
            return self._number(token)
        if token.kind == "name":
            if self._token.text == "(":
                return self._call(token)
            if token.text in _FUNCTIONS:
                self._refuse(self._token, f"expected '(' after the function '{token.text}'")
            self.names.add(token.text)
            return _Name(token.text)
        if token.text != "(":
            self._refuse(token, f"expected a number, a name or '(', found {_shown(token)}")
        self._deeper(token)
        inner = self.formula()
        self._close(token)
        return inner

    def _number(self, token: _Token) -> _Node:
        value = float(token.text)
        if not isfinite(value):
            self._refuse(token, f"the number {_shown(token)} is too large")
        return _Number(value)

    def _call(self, name: _Token) -> _Node:
        if name.text not in _FUNCTIONS:
            known = ", ".join(_FUNCTIONS)
            self._refuse(name, f"there is no function {_shown(name)}; there are {known}")
        function, arity = _FUNCTIONS[name.text]
        opening = self._take()
        self._deeper(opening)
        arguments = [self.formula()]
        while self._token.text == ",":
            self._take()
            arguments.append(self.formula())
        self._close(opening)
        if arity is not None and len(arguments) != arity:
            self._refuse(name, f"'{name.text}' takes {arity} argument, not {len(arguments)}")
        return _Call(function, arguments)

    def _deeper(self, opening: _Token) -> None:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            self._refuse(opening, f"nested more than {MAX_DEPTH} deep")

    def _close(self, opening: _Token) -> None:
        if self._token.text != ")":
            problem = f"expected ')' for the '(' at column {opening.column}"
            self._refuse(self._token, f"{problem}, found {_shown(self._token)}")
        self._take()
        self._depth -= 1

    @property
    def _token(self) -> _Token:
        return self._tokens[self._position]

    def _take(self) -> _Token:
        token = self._token
        if token.kind != "end":
            self._position += 1
        return token

    def _refuse(self, token: _Token, problem: str) -> NoReturn:
        raise FormulaError(self._source, self._line, token.column, problem)


def _shown(token: _Token) -> str:
    """Return a token as an error message names it."""
    if token.kind == "end":
        return "the end"
    return f"'{token.text}'" if len(token.text) <= 40 else f"'{token.text[:40]}...'"
