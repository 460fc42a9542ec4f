"""What a process used of the machine, less what it had used before it executed its program.

Source: getrusage(2).
"""

from __future__ import annotations

from collections.abc import Mapping

from gnomon.named_tuple import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    import resource

# Fields of getrusage(2) that Linux keeps at zero because they have no meaning there.
MEANINGLESS_USAGE = ("ru_ixrss", "ru_idrss", "ru_isrss", "ru_nswap", "ru_msgsnd", "ru_msgrcv",
                "ru_nsignals")  # fmt: skip

PEAK_MEMORY = "peak memory"
"""Name of the metric of the largest process's peak of resident memory, in bytes."""

# CPUs keep some pages of a process to themselves before they count them, and it takes some to
# execute a program: a peak is not told apart from one that is so much higher.
_PEAK_UNCERTAIN_KIB = 256
_PEAK_UNCERTAIN_SHARE = 0.25


class UsageRow(NamedTuple):
    """One field of getrusage(2); `value` is None where it has no meaning or is not known."""

    field: str
    description: str
    value: int | float | None
    unit: str
    remark: str = ""


def own_usage(
    usage: resource.struct_rusage, field: str, before: Mapping[str, int | float]
) -> int | float:
    """Return one field of getrusage(2) without what the process used before its program."""
    value: int | float = getattr(usage, field)
    return max(value - before.get(field, 0), 0)


def usage_rows(
    usage: resource.struct_rusage, before: Mapping[str, int | float], own_peak_kib: int
) -> tuple[UsageRow, ...]:
    """Return getrusage(2)'s fields in its order, with units. Source: getrusage(2).

    Args:
        usage: of the process that was measured.
        before: the usage of the process before it executed its program.
        own_peak_kib: peak resident memory of the process before it executed its program. The
            kernel counts that too, so a peak that is not above this says nothing of the program:
            it is left out rather than wrong.
    """
    unknown = f"not above the {own_peak_kib} KiB that the process used before"
    described = (
        ("ru_utime", "user time", "s"),
        ("ru_stime", "system time", "s"),
        ("ru_maxrss", "peak memory (resident, of the largest process)", "KiB"),
        ("ru_ixrss", "shared text memory", "KiB s"),
        ("ru_idrss", "unshared data", "KiB s"),
        ("ru_isrss", "unshared stack", "KiB s"),
        ("ru_minflt", "page faults without I/O", ""),
        ("ru_majflt", "page faults with I/O", ""),
        ("ru_nswap", "swaps", ""),
        ("ru_inblock", "block input operations", ""),
        ("ru_oublock", "block output operations", ""),
        ("ru_msgsnd", "IPC messages sent", ""),
        ("ru_msgrcv", "IPC messages received", ""),
        ("ru_nsignals", "signals received", ""),
        ("ru_nvcsw", "voluntary context switches", ""),
        ("ru_nivcsw", "involuntary context switches", ""),
    )
    return tuple(
        UsageRow(
            field,
            description,
            _known(usage, field, before, own_peak_kib),
            unit,
            unknown if field == "ru_maxrss" and not _is_known(usage, own_peak_kib) else "",
        )
        for field, description, unit in described
    )


def _known(
    usage: resource.struct_rusage, field: str, before: Mapping[str, int | float], own_peak_kib: int
) -> int | float | None:
    if field in MEANINGLESS_USAGE or (field == "ru_maxrss" and not _is_known(usage, own_peak_kib)):
        return None
    return own_usage(usage, field, before)


def _is_known(usage: resource.struct_rusage, own_peak_kib: int) -> bool:
    uncertain = max(_PEAK_UNCERTAIN_KIB, _PEAK_UNCERTAIN_SHARE * own_peak_kib)
    return not own_peak_kib or usage.ru_maxrss > own_peak_kib + uncertain
