"""Options of event sets: which there are, what they default to, and which make sense together.

PAPI's names of them are in docs/counters/index.md.
"""

from __future__ import annotations

from enum import StrEnum

from gnomon import _core
from gnomon.counters.component import Event, Granularity, Sharing, Target
from gnomon.counters.event_grammar import modifiers
from gnomon.counters.perf_spec import PerfSpec
from gnomon.errors import DomainError, FeatureError, OptionError
from gnomon.model.value import Domain, Scope
from gnomon.named_tuple import NamedTuple

SLICE_MS = 100
"""How long a turn of multiplexing is by default, in milliseconds."""

SHORTEST_SLICE_MS = 10
LONGEST_SLICE_MS = 30_000

_EXCLUDED = {
    Domain.USER: _core.EXCLUDE_KERNEL | _core.EXCLUDE_HYPERVISOR,
    Domain.KERNEL: _core.EXCLUDE_USER | _core.EXCLUDE_HYPERVISOR,
    Domain.HYPERVISOR: _core.EXCLUDE_USER | _core.EXCLUDE_KERNEL,
    Domain.USER_KERNEL: _core.EXCLUDE_HYPERVISOR,
    Domain.ALL: 0,
}
_SCOPES = {
    Granularity.PROCESS: Scope.PROCESS,
    Granularity.PROCESS_GROUP: Scope.PROCESS,
    Granularity.CPU: Scope.CPU,
    Granularity.SYSTEM: Scope.NODE,
}


class SetState(StrEnum):
    """What an event set is doing; it is STOPPED or RUNNING, and may be others besides."""

    STOPPED = "stopped"
    RUNNING = "running"
    MULTIPLEXED = "multiplexed"
    ATTACHED = "attached"
    CLOSED = "closed"


class EventSetOptions(NamedTuple):
    """How a set counts.

    Attributes:
        pid: process or thread that is counted; 0 is the thread that made the set, -1 is any.
        cpu: the CPU it is counted on; -1 is any.
        granularity: how much around `pid` is counted.
        domain: privilege levels, for events whose name does not say.
        inherit: threads and processes created later are counted.
        pinned: the events are on the counters always.
        exclusive: no others are on the PMU meanwhile.
        multiplex: whether events that do not all fit take turns: by our groups (`rotated`), by the
            kernel at its own interval (`kernel`), or not at all (`none`).
        slice_ms: how long a turn is.
        limit: at most so many native events a turn; None is as many as fit.
    """

    pid: int = 0
    cpu: int = -1
    granularity: Granularity = Granularity.THREAD
    domain: Domain = Domain.ALL
    inherit: bool = False
    pinned: bool = False
    exclusive: bool = False
    multiplex: Sharing = Sharing.NONE
    slice_ms: float = SLICE_MS
    limit: int | None = None


def domain_of(value: Domain | str) -> Domain:
    """Return the domain of that name.

    Raises:
        DomainError: there is none.
    """
    try:
        return Domain(value)
    except ValueError:
        known = ", ".join(Domain)
        raise DomainError(f"domain '{value}': there is none of that name; use {known}") from None


def granularity_of(value: Granularity | str) -> Granularity:
    """Return the granularity of that name.

    Raises:
        OptionError: there is none.
    """
    try:
        return Granularity(value)
    except ValueError:
        known = ", ".join(Granularity)
        raise OptionError(
            f"granularity '{value}': there is none of that name; use {known}"
        ) from None


def sharing_of(value: bool | Sharing | str) -> Sharing:
    """Return the sharing that `multiplex=value` means.

    Raises:
        OptionError: it means nothing.
    """
    if isinstance(value, bool):
        return Sharing.ROTATED if value else Sharing.NONE
    try:
        return Sharing(value)
    except ValueError:
        raise OptionError(f"multiplex '{value}': use True, False or 'kernel'") from None


def chosen_target(
    target: Target,
    granularity: Granularity | str | None,
    inherit: bool | None,
    pinned: bool | None,
    exclusive: bool | None,
    multiplex: bool | Sharing | str | None,
) -> Target:
    """Return a target with the options that are given (not None) in place of its own.

    Raises:
        OptionError: one of them does not exist.
    """
    return target._replace(
        granularity=target.granularity if granularity is None else granularity_of(granularity),
        inherit=target.inherit if inherit is None else inherit,
        pinned=target.pinned if pinned is None else pinned,
        exclusive=target.exclusive if exclusive is None else exclusive,
        sharing=target.sharing if multiplex is None else sharing_of(multiplex),
    )


def checked(target: Target, slice_ms: float, limit: int | None) -> Target:
    """Return a target whose options make sense together, with the slice and limit in it.

    Raises:
        OptionError: they do not; the message says which.
    """
    if not SHORTEST_SLICE_MS <= slice_ms <= LONGEST_SLICE_MS:
        raise OptionError(
            f"slice_ms={slice_ms:g}: a turn lasts {SHORTEST_SLICE_MS:g} to {LONGEST_SLICE_MS:g} ms"
        )
    if limit is not None and limit < 1:
        raise OptionError(f"limit={limit}: a turn has at least one event")
    pid = target.pid if target.pid is not None else 0
    if pid < -1 or target.cpu < -1 or (pid == -1 and target.cpu < 0):
        where = f"pid={target.pid}, cpu={target.cpu}"
        if target.granularity not in (Granularity.CPU, Granularity.SYSTEM):
            raise OptionError(f"{where}: name a process or thread, or a CPU from 0 on")
    if target.granularity is Granularity.CPU and target.cpu < 0:
        raise OptionError("granularity cpu: say which, as in target=Target(cpu=0)")
    if target.granularity is Granularity.SYSTEM and target.cpu >= 0:
        raise OptionError(
            f"granularity system is every CPU: leave cpu={target.cpu} out, or use granularity cpu"
        )
    if target.sharing is not Sharing.NONE and (target.pinned or target.exclusive):
        word = "pinned" if target.pinned else "exclusive"
        raise OptionError(f"{word}: such events never give up their counters; leave multiplex out")
    rotated = target.sharing is Sharing.ROTATED
    return target._replace(
        slice_ns=round(1e6 * slice_ms) if rotated else 0, limit=(limit or 0) if rotated else 0
    )


def adapted(event: Event, target: Target, domain: Domain) -> Event:
    """Return an event as a set with these options counts it.

    Raises:
        DomainError: its component cannot tell domains apart.
        FeatureError: its component cannot honour another of the options.
    """
    if not isinstance(event.spec, PerfSpec):
        _refuse_options(event, target, domain)
        return event
    scope = _SCOPES.get(target.granularity, Scope.CPU if target.pid == -1 else event.info.scope)
    event = event._replace(info=event.info._replace(scope=scope))
    own = any(term.encoding.exclude for term in event.spec.terms)
    if domain is Domain.ALL or own or modifiers(event.name)[0] != event.name:
        return event
    terms = tuple(
        term._replace(encoding=term.encoding._replace(exclude=_EXCLUDED[domain]))
        for term in event.spec.terms
    )
    counted = event.domain if event.spec.every_mode else domain
    return event._replace(domain=counted, spec=event.spec._replace(terms=terms))


def _refuse_options(event: Event, target: Target, domain: Domain) -> None:
    name, component = event.name, event.info.component
    if domain is not Domain.ALL:
        raise DomainError(
            f"event '{name}': component '{component}' cannot tell domains apart; leave "
            f"domain={domain} out and write the mode behind the names that have one (cycles:u)"
        )
    asked = [
        word
        for word, given in (
            ("pinned", target.pinned),
            ("exclusive", target.exclusive),
            (
                f"granularity={target.granularity}",
                event.info.scope is not Scope.NODE and target.granularity in _SCOPES
                and target.granularity is not Granularity.PROCESS,
            ),
        )
        if given
    ]  # fmt: skip
    if asked:
        raise FeatureError(
            f"event '{name}': component '{component}' has no {asked[0]}; count it in a set without"
        )
