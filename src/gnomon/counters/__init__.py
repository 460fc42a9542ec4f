"""Counter components, event names and event sets: PAPI's job."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gnomon.counters.component import Target
    from gnomon.counters.component_registry import add_component, disable_component
    from gnomon.counters.eventset import EventSet
    from gnomon.counters.overflow_data import Estimate, OverflowCall, OverflowInfo, Region
    from gnomon.model.value import Value

__all__ = [
    "Estimate",
    "EventSet",
    "OverflowCall",
    "OverflowInfo",
    "Region",
    "Target",
    "Value",
    "add_component",
    "disable_component",
]


def __getattr__(name: str) -> Any:  # noqa: ANN401
    # `gnomon count` imports modules of this package one by one; only users pay for all of them.
    if name == "EventSet":
        from gnomon.counters.eventset import EventSet

        return EventSet
    if name == "Target":
        from gnomon.counters.component import Target

        return Target
    if name in ("add_component", "disable_component"):
        from gnomon.counters import component_registry

        return getattr(component_registry, name)
    if name in ("Estimate", "OverflowCall", "OverflowInfo", "Region"):
        from gnomon.counters import overflow_data

        return getattr(overflow_data, name)
    if name == "Value":
        from gnomon.model.value import Value

        return Value
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted(__all__)
