"""The `kernel` component: software events and tracepoints.

Source: native/counters/software_events.c.
"""

from __future__ import annotations

from gnomon.counters.component import Availability
from gnomon.counters.perf_component import PerfComponent, availability

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path


class KernelComponent(PerfComponent):
    """Software events and tracepoints of the running kernel.

    A name is a software event's, a tracepoint's or a pattern of tracepoints.
    """

    name = "kernel"
    description = "software events and tracepoints of the Linux kernel"
    how_measured = "counted by the kernel at the place where it happens (perf_event_open)"

    def __init__(self, tracefs: Path | str | None = None) -> None:
        """Make the component; `tracefs` is where that is, by default where it is mounted."""
        super().__init__(tracefs=tracefs)

    def availability(self) -> Availability:
        """Return whether a software event opens here."""
        return availability(self.resolve("task-clock")[0])

    def counters(self) -> int | None:
        """Return None: the kernel counts as many as are asked for."""
        return None


COMPONENT = KernelComponent()
