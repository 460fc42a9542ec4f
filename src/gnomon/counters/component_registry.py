"""Which components names are looked up in: the shipped ones, less and plus what a program says."""

from __future__ import annotations

from collections.abc import Iterator

from gnomon.counters.component import Component
from gnomon.counters.components import NAMES, component, may_own
from gnomon.errors import ComponentError, ComponentUsedError

# Those of component.Component.
_PARTS = ("name", "description", "how_measured", "scope", "overflow", "availability", "counters",
          "events", "resolve", "open")  # fmt: skip
_added: list[Component] = []
_disabled: set[str] = set()
_used: set[str] = set()


def sources() -> tuple[Component, ...]:
    """Return the components in the order in which names are looked up, without disabled ones."""
    return (*_own(), *(component(name) for name in NAMES if name not in _disabled))


def sources_of(event: str) -> Iterator[Component]:
    """Yield those of `sources` that a name must be looked up in: the others do not have it."""
    yield from _own()
    for name in NAMES:
        if name not in _disabled and may_own(name, event):
            yield component(name)


def source(name: str) -> Component:
    """Return the component of that name, disabled or not.

    Raises:
        ComponentError: there is none.
    """
    for one in _added:
        if one.name == name:
            return one
    if name in NAMES:
        return component(name)
    raise ComponentError(
        f"component '{name}': there is none of that name; there are {', '.join(_names())}"
    )


def add_component(component: Component) -> None:
    """Look names up in a component of your own, too, before the shipped ones.

    Args:
        component: meets the Protocol of `gnomon.counters.component`; its name is one word.

    Raises:
        ComponentError: its name is not one word, or taken; or a part of the Protocol is missing.
    """
    missing = [part for part in _PARTS if not hasattr(component, part)]
    if missing:
        raise ComponentError(
            f"component {component!r}: it has no {', '.join(missing)}; what a component needs is "
            "in gnomon.counters.component"
        )
    name = component.name
    if not name.isidentifier():
        raise ComponentError(f"component '{name}': a name is one word, as in word:::event")
    if name in _names():
        raise ComponentError(f"component '{name}': there is one of that name already; rename yours")
    _added.append(component)


def disable_component(name: str) -> None:
    """Leave a component out: its events are unknown from now on, and none of its code runs.

    Raises:
        ComponentError: there is none of that name.
        ComponentUsedError: an event of it was opened already.
    """
    source(name)
    if name in _used:
        raise ComponentUsedError(
            f"component '{name}' was used already: disable it before its first event is added"
        )
    _disabled.add(name)


def is_disabled(name: str) -> bool:
    """Return whether a component was left out."""
    return name in _disabled


def note_use(name: str) -> None:
    """Note that an event of a component is about to be opened."""
    _used.add(name)


def _own() -> tuple[Component, ...]:
    return tuple(one for one in _added if one.name not in _disabled)


def _names() -> tuple[str, ...]:
    return (*(one.name for one in _added), *NAMES)
