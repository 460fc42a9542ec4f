"""How one execution of a command went, and what its observers handed over."""

from __future__ import annotations

from gnomon.named_tuple import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gnomon.launch.resource_usage import UsageRow
    from gnomon.model.capability_result import Collected
    from gnomon.model.contention import Contention


class ProcessResult(NamedTuple):
    """How one execution of a command went.

    Attributes:
        command: program and arguments, as they were asked for.
        pid: its process.
        exit_status: as the shell gives it (128 + signal if killed).
        signal: the signal that killed it, 0 for none.
        started: seconds since the epoch.
        wall_ns: from just before it was executed until it was gone.
        user_ns, system_ns: CPU time of it and the children it waited for, by the kernel's account.
        faults: page faults of the same.
        rusage: resource usage, in the order of getrusage(2).
        has_orphans: it left processes behind that it is known of.
        interrupted: the user pressed Ctrl-C.
        terminated: we were told to end by SIGTERM, and the program with us.
        contention: what the rest of the machine kept from it; None if not known.
    """

    command: tuple[str, ...]
    pid: int
    exit_status: int
    signal: int
    started: float
    wall_ns: int
    user_ns: int
    system_ns: int
    faults: int
    rusage: tuple[UsageRow, ...]
    has_orphans: bool
    interrupted: bool
    terminated: bool
    contention: Contention | None


class ObservedExecution(NamedTuple):
    """An execution that was observed.

    Attributes:
        process: how it went.
        collected: what the observers handed over at its end.
    """

    process: ProcessResult
    collected: Collected
