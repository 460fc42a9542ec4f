"""How people write the name of an event: modifiers, terms between slashes.

Source: native/counters/event_grammar.c. Lists of names: event_resolver.py.
"""

from __future__ import annotations

from gnomon import _core
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
