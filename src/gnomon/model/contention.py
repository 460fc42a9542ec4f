"""What the rest of the machine did while a program ran: the evidence of who made it slower."""

from __future__ import annotations

from gnomon.named_tuple import NamedTuple

WAITED = "CPU wait time"
"""Name of the time that a program could have run and no CPU was free for it, in ns."""

OTHERS = "CPUs used by others"
"""Name of the number of CPUs that all other programs used meanwhile."""

IDLE = "idle CPUs"
"""Name of the number of CPUs that nobody used meanwhile."""

STOLEN = "steal time"
"""Name of the CPU time that the host of a virtual machine gave to others meanwhile, in ns."""

EVIDENCE = (WAITED, OTHERS, IDLE, STOLEN)


class Contention(NamedTuple):
    """CPU time that other programs took from an execution.

    Attributes:
        waited_ns: how long it waited for a CPU; None where the kernel does not tell it of all of
            its tasks.
        others_ns: CPU time of all other programs while it ran.
        idle_ns: CPU time that no program used.
        stolen_ns: CPU time that the machine's host gave to others, over all CPUs.
    """

    waited_ns: int | None
    others_ns: int
    idle_ns: int
    stolen_ns: int
