"""How people write events: lists, brace groups and modifiers.

The grammar is perf's where perf has one (`perf-list(1)`), plus PAPI's `component:::event`:

    list      = item { "," item }            commas inside /.../ do not separate
    item      = name | "{" list "}"          braces: always counted together
    name      = base [ ":" modifiers ] | pmu "/" terms "/" [ modifiers ]
    modifiers = { "u" | "k" | "h" | "G" | "H" | "I" }
"""

from __future__ import annotations

import re
from typing import NamedTuple

from gnomon import _core
from gnomon.errors import EventNameError, UsageError
from gnomon.model.value import Domain

# Compiled when a name has a colon or a slash: most have not.
_MODIFIED = r"(?P<base>.+?)(?::|(?<=/))(?P<modifiers>[ukhGHI]+)"
_PRECISE = r".+[:/][ukhGHIDS]*[pP]+[ukhGHIDS]*"
_PMU = r"(?P<pmu>[\w.\-]+)/(?P<terms>[^/]*)/"

_DOMAINS = {
    "": Domain.ALL,
    "u": Domain.USER,
    "k": Domain.KERNEL,
    "h": Domain.HYPERVISOR,
    "ku": Domain.USER_KERNEL,
    "hku": Domain.ALL,
}


class TypedName(NamedTuple):
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


def split(text: str) -> tuple[TypedName, ...]:
    """Return the names of an event list, in order.

    Raises:
        UsageError: unbalanced braces or slashes, or an empty name.
    """
    names: list[TypedName] = []
    word: list[str] = []
    group: int | None = None
    groups = 0
    in_terms = False

    def finish(at: int) -> None:
        name = "".join(word).strip()
        word.clear()
        if name:
            names.append(TypedName(name, group))
        elif at == 0 or text[at - 1] not in "}":
            raise UsageError(f"event list '{text}': an empty name at column {at + 1}")

    for at, char in enumerate(text):
        if char == "/":
            in_terms = not in_terms and "/" not in word
        if in_terms or char not in "{},":
            word.append(char)
        elif char == "{":
            if group is not None or "".join(word).strip():
                raise UsageError(f"event list '{text}': unexpected '{{' at column {at + 1}")
            group, groups = groups, groups + 1
        elif char == "}":
            if group is None:
                raise UsageError(f"event list '{text}': unexpected '}}' at column {at + 1}")
            finish(at)
            group = None
        else:
            finish(at)
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
    if ":" not in name and "/" not in name:
        return name, Modifiers(0, Domain.ALL)
    match = re.fullmatch(_MODIFIED, name)
    if match is None:
        if "/" in name and re.fullmatch(_PRECISE, name) and not name.endswith("/"):
            raise EventNameError(name, "the precise modifier 'p' is for sampling, not for counts")
        return name, Modifiers(0, Domain.ALL)
    letters = match["modifiers"]
    levels = "".join(sorted(set(letters) & set("ukh")))
    domain = _DOMAINS.get(levels)
    if domain is None:
        raise EventNameError(name, f"no counter counts '{levels}'; use u, k, h, uk or ukh")
    exclude = 0
    if levels:
        exclude |= 0 if "u" in levels else _core.EXCLUDE_USER
        exclude |= 0 if "k" in levels else _core.EXCLUDE_KERNEL
        exclude |= 0 if "h" in levels else _core.EXCLUDE_HYPERVISOR
    if "G" in letters and "H" not in letters:
        exclude |= _core.EXCLUDE_HOST
    if "H" in letters and "G" not in letters:
        exclude |= _core.EXCLUDE_GUEST
    if "I" in letters:
        exclude |= _core.EXCLUDE_IDLE
    return match["base"], Modifiers(exclude, domain)


def pmu_terms(base: str) -> PmuTerms | None:
    """Return the parts of `pmu/term=value,.../`, None if the name is not of that form."""
    match = re.fullmatch(_PMU, base) if "/" in base else None
    if match is None:
        return None
    terms: list[tuple[str, str | None]] = []
    for term in match["terms"].split(","):
        key, equals, value = term.strip().partition("=")
        if not key:
            raise EventNameError(base, "an empty term between the slashes")
        terms.append((key, value if equals else None))
    return PmuTerms(match["pmu"], tuple(terms))


def nearest(name: str, known: list[str]) -> tuple[str, ...]:
    """Return up to three known names that look like the one typed, best first."""
    import difflib

    folded: dict[str, str] = {}
    for one in known:
        folded.setdefault(one.lower(), one)
    close = difflib.get_close_matches(name.lower(), list(folded), n=3, cutoff=0.6)
    return tuple(folded[one] for one in close)
