"""The counter components, one file each, in the order in which names are looked up.

The file of a component is imported when a name may be of one of its events: the start of
`gnomon count` would pay for all of them otherwise.
"""

from __future__ import annotations

from functools import cache

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gnomon.counters.component import Component

    COMPONENTS: tuple[Component, ...]

# component, which is the module too: what each name of its events contains one of
_MARKS = {
    "kernel": ("",),
    "tsc": ("tsc:::", "msr/"),
    "io": ("io:::",),
    "network": ("network:::",),
    "memory": ("memory:::",),
    "power": ("power:::", "power/", "power_core/"),
    "gpu": ("gpu:::",),
    "uncore": ("/", "::"),
    "emulated": ("emulated:::",),
    "cpu": ("",),
}
NAMES = tuple(_MARKS)


@cache
def component(name: str) -> Component:
    """Return the component of that name. Raises KeyError."""
    if name not in _MARKS:
        raise KeyError(name)
    # Not by importlib: what that imports, `python -X importtime` does not tell.
    source: Component = __import__(f"{__name__}.{name}", fromlist=("COMPONENT",)).COMPONENT
    return source


def may_own(component_name: str, event: str) -> bool:
    """Return whether a name can be of one of a component's events; False is certain."""
    return any(mark in event for mark in _MARKS[component_name])


def __getattr__(name: str) -> Any:  # noqa: ANN401
    if name == "COMPONENTS":
        return tuple(map(component, NAMES))
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
