"""The events of a perf.data file as the sampler describes its own, and the program they are of.

Source: perf_event_open(2); perf-record(1).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from gnomon.model.value import Domain
from gnomon.named_tuple import NamedTuple

if TYPE_CHECKING:
    from gnomon.sampling.perf_data.header_features import HeaderFeatures

_HARDWARE, _SOFTWARE, _TRACEPOINT = 0, 1, 2
_SOFTWARE_NAMES = (
    "cpu-clock", "task-clock", "page-faults", "context-switches", "cpu-migrations",
    "minor-faults", "major-faults", "alignment-faults", "emulation-faults", "dummy",
    "bpf-output", "cgroup-switches",
)  # fmt: skip
_HARDWARE_NAMES = (
    "cycles", "instructions", "cache-references", "cache-misses", "branches", "branch-misses",
    "bus-cycles", "stalled-cycles-frontend", "stalled-cycles-backend", "ref-cycles",
)  # fmt: skip
_CLOCKS = (0, 1)
_DUMMY = 9
_READ = 1 << 4  # PERF_SAMPLE_READ
_EXCLUDE_USER, _EXCLUDE_KERNEL, _IS_FREQUENCY = 1 << 4, 1 << 5, 1 << 10
_NAME_MOST = 200

# Options of perf record whose value is the next word. Source: perf-record(1).
_WITH_VALUE = frozenset("eFcmoptuGCDjkr")
_LONG_WITH_VALUE = frozenset((
    "event", "filter", "pid", "tid", "realtime", "cpu", "count", "output", "freq", "mmap-pages",
    "call-graph", "cgroup", "delay", "uid", "branch-filter", "clockid", "affinity",
    "proc-map-timeout", "max-size", "num-thread-synthesize", "control", "debuginfod",
    "setup-filter", "user-regs", "switch-max-files", "aux-sample", "vmlinux", "synth",
    "comp-level",
))  # fmt: skip


class RecordedEvent(NamedTuple):
    """An event of a file.

    Attributes:
        type, config: as perf_event_open(2) has them.
        period: a sample every so many; of a frequency samples per second.
        sample_type: what samples have.
        flags: of struct perf_event_attr.
        branch_type: which branches samples have.
        id: the first of its ids, 0 for none.
    """

    type: int
    config: int
    period: int
    sample_type: int
    flags: int
    branch_type: int
    id: int

    @property
    def is_dummy(self) -> bool:
        """Whether it counts nothing: it was opened for what the kernel says beside samples."""
        return self.type == _SOFTWARE and self.config == _DUMMY

    @property
    def is_clock(self) -> bool:
        """Whether it is a clock of CPU time, in nanoseconds."""
        return self.type == _SOFTWARE and self.config in _CLOCKS


def names_of(events: Sequence[RecordedEvent], features: HeaderFeatures) -> list[str]:
    """Return the name of each event, as perf had it where the file says that."""
    in_order = features.names_in_order
    names: list[str] = []
    for number, event in enumerate(events):
        own = features.names.get(event.id, "") if event.id else ""
        if not own and len(in_order) == len(events):
            own = in_order[number]
        name = (own or _name(event))[:_NAME_MOST]
        # A run has one metric of a name.
        n_before = sum(other == name or other.startswith(f"{name} #") for other in names)
        names.append(f"{name} #{n_before + 1}" if n_before else name)
    return names


def _name(event: RecordedEvent) -> str:
    names = {_SOFTWARE: _SOFTWARE_NAMES, _HARDWARE: _HARDWARE_NAMES}.get(event.type, ())
    if event.config < len(names):
        return names[event.config]
    kind = "tracepoint" if event.type == _TRACEPOINT else f"type {event.type} config"
    return f"{kind} {event.config:#x}"


def descriptions(events: Sequence[RecordedEvent], names: Sequence[str]) -> list[dict[str, Any]]:
    """Return the events as the sampler describes its own (`SampleFile.events`)."""
    described: list[dict[str, Any]] = []
    has_clock = False
    leader = next((one for one in zip(events, names, strict=True) if one[0].period), None)
    for event, name in zip(events, names, strict=True):
        # A run has one CPU time; another clock beside it is an event in seconds.
        is_first = event.is_clock and not has_clock
        has_clock |= event.is_clock
        # Without a period it is read at the samples of another one (`:S`).
        is_read = not event.period and bool(event.sample_type & _READ) and leader is not None
        sampled = leader[0] if is_read and leader else event
        described.append(
            {
                "name": name,
                "unit": "s" if event.is_clock else "",
                "factor": 1e-9 if event.is_clock else 1.0,
                "is_clock": is_first,
                "is_frequency": bool(sampled.flags & _IS_FREQUENCY),
                "period": sampled.period,
                "counts_more": False,
                "domain": _domain(event.flags).value,
                "scope": "thread",
                "component": "samples",
                **({"read_with": leader[1]} if is_read and leader else {}),
            }
        )
    return described


def _domain(flags: int) -> Domain:
    if flags & _EXCLUDE_KERNEL:
        return Domain.USER
    return Domain.KERNEL if flags & _EXCLUDE_USER else Domain.ALL


def recorded_command(words: Sequence[str]) -> tuple[str, ...]:
    """Return the command that perf record was told to run, () if that was none."""
    rest = list(words[1:])
    if rest[:1] == ["record"]:
        rest = rest[1:]
    while rest:
        word = rest.pop(0)
        if word == "--":
            return tuple(rest)
        if not word.startswith("-") or word == "-":
            return (word, *rest)
        takes_next = (
            word[2:] in _LONG_WITH_VALUE if word.startswith("--") else word[-1] in _WITH_VALUE
            and not (len(word) > 2 and word[1] in _WITH_VALUE)
        )  # fmt: skip
        if takes_next and rest:
            rest.pop(0)
    return ()


def program_of(command: Sequence[str]) -> str:
    """Return what the program is called."""
    return PurePath(command[0]).name if command else "perf record"
