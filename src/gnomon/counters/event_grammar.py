"""How people write events: lists, brace groups and modifiers.

The grammar is perf's where perf has one (`perf-list(1)`), plus PAPI's `component:::event`:

    list      = item { "," item }            commas inside /.../ do not separate
    item      = name | "{" list "}"          braces: always counted together
    name      = base [ ":" modifiers ] | pmu "/" terms "/" [ modifiers ]
    modifiers = { "u" | "k" | "h" | "G" | "H" | "I" }

Lists are taken apart here, single names in C: native/counters/event_grammar.c.
"""

from __future__ import annotations

from collections.abc import Iterable

from gnomon import _core
from gnomon.errors import UsageError
from gnomon.model.value import Domain
from gnomon.named_tuple import NamedTuple

# By enum gn_domain of gnomon.h.
DOMAINS = {
    0: Domain.ALL,
    1: Domain.USER,
    2: Domain.KERNEL,
    3: Domain.USER_KERNEL,
    4: Domain.HYPERVISOR,
    7: Domain.ALL,
}


class ParsedName(NamedTuple):
    """One name of an event list.

    Attributes:
        text: as typed.
        group: number of its brace group, None outside braces.
    """

    text: str
    group: int | None = None


class Modifiers(NamedTuple):
    """What the letters after a name leave out.

    Attributes:
        exclude: `_core.EXCLUDE_*` bits for perf_event_open(2).
        domain: the same for people.
    """

    exclude: int
    domain: Domain


class PmuTerms(NamedTuple):
    """`pmu/term,term=value/` taken apart: (term, value) pairs, value None for a bare term."""

    pmu: str
    terms: tuple[tuple[str, str | None], ...]


def split(text: str) -> tuple[ParsedName, ...]:
    """Return the names of an event list, in order.

    Raises:
        UsageError: unbalanced braces or slashes, or an empty name.
    """
    names: list[ParsedName] = []
    word: list[str] = []
    group: int | None = None
    groups = 0
    in_terms = False

    def finish(column: int) -> None:
        name = "".join(word).strip()
        word.clear()
        if name:
            names.append(ParsedName(name, group))
        elif column == 0 or text[column - 1] not in "}":
            raise UsageError(f"event list '{text}': an empty name at column {column + 1}")

    for column, char in enumerate(text):
        if char == "/":
            in_terms = not in_terms and "/" not in word
        if in_terms or char not in "{},":
            word.append(char)
        elif char == "{":
            if group is not None or "".join(word).strip():
                raise UsageError(f"event list '{text}': unexpected '{{' at column {column + 1}")
            group, groups = groups, groups + 1
        elif char == "}":
            if group is None:
                raise UsageError(f"event list '{text}': unexpected '}}' at column {column + 1}")
            finish(column)
            group = None
        else:
            finish(column)
    if group is not None or in_terms:
        unclosed = "brace" if group is not None else "slash"
        raise UsageError(f"event list '{text}': a {unclosed} is not closed")
    finish(len(text))
    return tuple(names)


def modifiers(name: str) -> tuple[str, Modifiers]:
    """Return a name without its modifiers, and what they mean.

    Raises:
        EventNameError: letters that mean something to perf but nothing to a count.
    """
    base, exclude, domain = _core.modifiers(name)
    return base, Modifiers(exclude, DOMAINS[domain])


def pmu_terms(base: str) -> PmuTerms | None:
    """Return the parts of `pmu/term=value,.../`, None if the name is not of that form.

    Raises:
        EventNameError: an empty term.
    """
    parts = _core.terms(base)
    return None if parts is None else PmuTerms(*parts)


def nearest(name: str, known: Iterable[str]) -> tuple[str, ...]:
    """Return up to three known names that look like the one typed, best first."""
    return _core.nearest(name, known)
