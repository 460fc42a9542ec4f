"""A small formula language for derived metrics: arithmetic over named counts, and nothing else.

    formula  = term   { ("+" | "-") term }
    term     = signed { ("*" | "/") signed }
    signed   = { "-" } primary
    primary  = number | name | function "(" argument { "," argument } ")" | "(" formula ")"
    function = "abs" | "max" | "min" | "sqrt" | "sum"
    argument = formula | pattern, and a pattern only of "sum"
    pattern  = name "*"

    condition  = both { "or" both }
    both       = comparison { "and" comparison }
    comparison = formula [ ("<" | "<=" | ">" | ">=" | "==" | "!=") formula ]

Names are events (see `identifier`), variables such as `wall_seconds` and constants such as
`L1_line_bytes`; case matters. Operators bind and associate as in C. `sum(PM_DATA_FROM_L2*)` adds up
every event that was asked for and begins so, and has a value only if each of them has one.

Evaluation is in double precision and never invents: a missing input, a division by zero, a root of
a negative number or a result (even an intermediate one) beyond the range of a double make the whole
formula None. A condition evaluates to 1 or 0; a number in it holds if it is above zero.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from math import isfinite

from gnomon.errors import FormulaError
from gnomon.metrics.formula_ast import (
    FUNCTIONS,
    Call,
    Chain,
    Name,
    Negation,
    Node,
    Number,
    Values,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

    from gnomon.metrics.postfix import Step

MAX_LENGTH = 16_384
"""Longest formula accepted, in characters."""

MAX_DEPTH = 40
"""Deepest nesting of parentheses and calls accepted."""

# Patterns are compiled when they are first needed: some starts of Gnomon need none of them.
_TOKEN = (
    r"(?P<space>[ \t\r\n]+)"
    r"|(?P<number>(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)"
    r"|(?P<name>[^\W\d]\w*)(?P<pattern>\*(?=[ \t\r\n]*[,)]))?"
    r"|(?P<comparison>[<>=!]=|[<>])"
    r"|(?P<symbol>[-+*/(),])"
)
_WORDS = ("and", "or")
# A core PMU's event as typed or as hybrid CPUs give it: pmu/event/mods, PRESET:mods@pmu.
_ON_PMU = r"[\w.-]+/(?P<event>[\w.-]+)/(?P<modifiers>[ukhGHI]*)"
_MODIFIERS = frozenset("ukhGHI")


@lru_cache(4096)
def identifier(name: str) -> str:
    """Return the name by which a formula refers to an event.

    Every character that is not an ASCII letter, a digit or an underscore becomes an underscore
    (`sched:sched_switch` is `sched_sched_switch`); a name that starts with a digit gets one in
    front, since a formula would read it as a number.
    """
    plain = "".join([c if c.isascii() and c.isalnum() else "_" for c in name])
    return f"_{plain}" if plain[:1].isdigit() else plain


@lru_cache(4096)
def plain_name(event: str, *, is_core: bool) -> tuple[str, str]:
    """Return an event's name without PMU and modifiers, and the modifiers.

    Args:
        event: as typed (`cycles:u`, `cpu/cycles/`, `skx::UOPS_ISSUED:ANY`) or as hybrid CPUs give
            it (`NAME@cpu_core`).
        is_core: it is of a core PMU.
    """
    name, modifiers = event, ""
    on_pmu = None
    if is_core:
        name = name.partition("@")[0]
        pmu, colons, rest = name.partition("::")
        if colons and pmu and identifier(f"_{pmu}") == f"_{pmu}" and rest[:1] != ":":
            name = rest
        on_pmu = re.fullmatch(_ON_PMU, name) if "/" in name else None
    event, _, letters = name.rpartition(":")
    if on_pmu:
        name, modifiers = on_pmu["event"], on_pmu["modifiers"]
    elif event and letters and _MODIFIERS.issuperset(letters):
        name, modifiers = event, letters
    # Presets may be typed in any case; POWER's events the kernel has in small letters.
    is_upper = name[:5].upper() == "PAPI_" or (is_core and name[:3].upper() == "PM_")
    return (name.upper() if is_upper else name), modifiers


class Formula:
    """A parsed formula.

    Attributes:
        text: the formula as it was written.
        names: every identifier that it needs a value for; a pattern stands among them with its
            star.
        source: the file or option that it comes from.
        line: line in that file.
    """

    __slots__ = ("_is_condition", "_root", "line", "names", "source", "text")

    def __init__(
        self,
        text: str,
        names: frozenset[str],
        source: str,
        line: int,
        root: Node | None,
        *,
        is_condition: bool = False,
    ) -> None:
        self.text = text
        self.names = names
        self.source = source
        self.line = line
        self._root = root
        self._is_condition = is_condition

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
        return self._tree().evaluate(values)

    def program(self) -> tuple[Step, ...]:
        """Return the formula as a postfix program, from which C code is made."""
        from gnomon.metrics.postfix import steps

        return tuple(steps(self._tree()))

    def _tree(self) -> Node:
        if self._root is None:
            parsed = parse(self.text, self.source, self.line, is_condition=self._is_condition)
            self._root = parsed._root
        return self._root  # type: ignore[return-value]

    def spelled(self, names: Mapping[str, str]) -> str:
        """Return the text with identifiers replaced: a formula as the user's own events put it.

        Args:
            names: what to write instead; identifiers that are not in it stay as they are.
        """
        replaceable = self.names.intersection(names)
        if not replaceable:
            return self.text
        return "".join(
            names[token.text]
            if token.kind in ("name", "pattern") and token.text in replaceable
            else token.text
            for token in _tokens(self.text, self.source, self.line, spaces=True)
        )


def parse(
    text: str, source: str = "formula", line: int = 1, *, is_condition: bool = False
) -> Formula:
    """Return the parsed formula.

    Args:
        text: the formula.
        source: the file or option that it comes from, named in errors.
        line: line in that file, named in errors.
        is_condition: comparisons, `and` and `or` are taken as well.

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
    parser = _Parser(_tokens(text, source, line), source, line)
    root = parser.condition() if is_condition else parser.formula()
    parser.end()
    return Formula(text, frozenset(parser.names), source, line, root)


def trusted(text: str, names: Iterable[str], source: str, *, is_condition: bool = False) -> Formula:
    """Return a formula that was parsed before, as the shipped ones were; again when evaluated.

    Most of the shipped formulas need events that were not counted, and are never evaluated.
    """
    return Formula(text, frozenset(names), source, 1, None, is_condition=is_condition)


class _Token:
    __slots__ = ("column", "kind", "text")

    def __init__(self, kind: str, text: str, column: int) -> None:
        self.kind = kind
        self.text = text
        self.column = column


def _tokens(text: str, source: str, line: int, *, spaces: bool = False) -> list[_Token]:
    """Return the tokens of a formula; without `spaces` an end token closes the list."""
    tokens = []
    token = re.compile(_TOKEN, re.ASCII)
    position = 0
    while position < len(text):
        match = token.match(text, position)
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
        self._is_condition = False

    def condition(self) -> Node:
        self._is_condition = True
        return self._chain(("or",), self._both)

    def formula(self) -> Node:
        return self._chain(("+", "-"), self._term)

    def end(self) -> None:
        if self._token.kind != "end":
            self._refuse(self._token, f"expected an operator, found {_shown(self._token)}")

    def _both(self) -> Node:
        return self._chain(("and",), self._comparison)

    def _comparison(self) -> Node:
        left = self.formula()
        if self._token.kind != "comparison":
            return left
        symbol = self._take().text
        return Chain(left, [(symbol, self.formula())])

    def _term(self) -> Node:
        return self._chain(("*", "/"), self._signed)

    def _chain(self, symbols: tuple[str, ...], operand: Callable[[], Node]) -> Node:
        first = operand()
        rest = []
        while self._token.text in symbols:
            symbol = self._take().text
            rest.append((symbol, operand()))
        return Chain(first, rest) if rest else first

    def _signed(self) -> Node:
        negative = False
        while self._token.text == "-":
            self._take()
            negative = not negative
        primary = self._primary()
        return Negation(primary) if negative else primary

    def _primary(self) -> Node:
        token = self._take()
        if token.kind == "number":
            return self._number(token)
        if token.kind == "name":
            if self._token.text == "(":
                return self._call(token)
            if token.text in FUNCTIONS:
                self._refuse(self._token, f"expected '(' after the function '{token.text}'")
            if self._is_condition and token.text in _WORDS:
                self._refuse(token, f"expected a number, a name or '(', found {_shown(token)}")
            return self._named(token)
        if token.kind == "pattern":
            problem = "stands for many events: write it as an argument of sum, as in sum("
            self._refuse(token, f"the pattern {_shown(token)} {problem}{token.text[:40]})")
        if token.text != "(":
            self._refuse(token, f"expected a number, a name or '(', found {_shown(token)}")
        self._deeper(token)
        inner = self.formula()
        self._close(token)
        return inner

    def _named(self, token: _Token) -> Node:
        self.names.add(token.text)
        return Name(token.text)

    def _number(self, token: _Token) -> Node:
        value = float(token.text)
        if not isfinite(value):
            self._refuse(token, f"the number {_shown(token)} is too large")
        return Number(value)

    def _call(self, name: _Token) -> Node:
        if name.text not in FUNCTIONS:
            known = ", ".join(FUNCTIONS)
            self._refuse(name, f"there is no function {_shown(name)}; there are {known}")
        arity = FUNCTIONS[name.text][1]
        opening = self._take()
        self._deeper(opening)
        arguments = [self._argument(name)]
        while self._token.text == ",":
            self._take()
            arguments.append(self._argument(name))
        self._close(opening)
        if arity is not None and len(arguments) != arity:
            self._refuse(name, f"'{name.text}' takes {arity} argument, not {len(arguments)}")
        return Call(name.text, arguments)

    def _argument(self, function: _Token) -> Node:
        if self._token.kind == "pattern" and function.text == "sum":
            return self._named(self._take())
        return self.formula()

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
