"""The `kernel` component: software events and tracepoints.

Source: perf_event_open(2) (PERF_TYPE_SOFTWARE, PERF_TYPE_TRACEPOINT);
Documentation/trace/events.rst.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from gnomon.counters.component import (
    Availability,
    Event,
    EventInfo,
    Opened,
    Overflow,
    Target,
)
from gnomon.counters.names import Modifiers, modifiers, nearest
from gnomon.counters.perf import PerfSpec
from gnomon.counters.perf_open import availability, open_events
from gnomon.counters.pmu import Encoding
from gnomon.counters.procfs import entries
from gnomon.errors import EventNameError, EventUnavailableError
from gnomon.model.value import Domain, Scope

if TYPE_CHECKING:
    from pathlib import Path

_SOFTWARE = 1
_TRACEPOINT = 2
_TRACEFS = ("/sys/kernel/tracing", "/sys/kernel/debug/tracing")
_GLOB = frozenset("*?[")

# name: config, aliases, unit, whether it only ever happens in the kernel, description
_EVENTS: dict[str, tuple[int, tuple[str, ...], str, bool, str]] = {
    "task-clock": (1, (), "ns", False, "time on a CPU, summed over threads"),
    "cpu-clock": (0, (), "ns", False, "time on a CPU by the CPU's high-resolution timer"),
    "context-switches": (3, ("cs",), "", True, "switches from one thread to another"),
    "cpu-migrations": (4, ("migrations",), "", True, "moves of a thread to another CPU"),
    "page-faults": (2, ("faults",), "", False, "minor and major page faults"),
    "minor-faults": (5, (), "", False, "page faults served without the disk"),
    "major-faults": (6, (), "", False, "page faults that had to wait for the disk"),
    "alignment-faults": (7, (), "", False, "unaligned accesses that the kernel mended"),
    "emulation-faults": (8, (), "", False, "instructions that the kernel emulated"),
    "cgroup-switches": (11, (), "", True, "context switches into another cgroup"),
}
# The kernel's clocks run in every mode, whatever a modifier leaves out (task_clock_event_read).
_CLOCKS = ("task-clock", "cpu-clock")
_CANONICAL = {alias: name for name, (_, aliases, *_rest) in _EVENTS.items() for alias in aliases}
# Their names in libpfm4, whose PMU for them is `perf`, and so in PAPI; in any case.
_LIBPFM = "perf::"
_ENUM = "perf_count_sw_"
_BY_LIBPFM = {
    **{name: name for name in _EVENTS},
    **_CANONICAL,
    **{_ENUM + name.replace("-", "_"): name for name in _EVENTS},
    f"{_ENUM}page_faults_min": "minor-faults",
    f"{_ENUM}page_faults_maj": "major-faults",
}
del _BY_LIBPFM[f"{_ENUM}minor_faults"], _BY_LIBPFM[f"{_ENUM}major_faults"]


class KernelComponent:
    """Software events and tracepoints of the running kernel."""

    name = "kernel"
    description = "software events and tracepoints of the Linux kernel"
    how_measured = "counted by the kernel at the place where it happens (perf_event_open)"
    scope = Scope.THREAD
    overflow = Overflow.TIMER

    def __init__(self, tracefs: Sequence[Path | str] = _TRACEFS) -> None:
        self._tracefs = tuple(tracefs)

    def availability(self) -> Availability:
        """Return whether a software event opens here."""
        return availability(self.resolve("task-clock")[0])

    def counters(self) -> int | None:
        """Return None: the kernel counts as many as are asked for."""
        return None

    def events(self) -> Iterator[EventInfo]:
        """Yield the software events, then every tracepoint."""
        for name in _EVENTS:
            yield _software_info(name)
        root = self._readable_tracefs()
        if root is None:
            return
        for system in entries(root / "events"):
            for point in entries(root / "events" / system):
                if (root / "events" / system / point / "id").exists():
                    yield _tracepoint_info(f"{system}:{point}")

    def resolve(self, name: str) -> tuple[Event, ...]:
        """Return the event of a software name, or those of a tracepoint name or pattern.

        Raises:
            EventNameError: the tracepoint's subsystem exists and the tracepoint does not.
            EventUnavailableError: a tracepoint, and tracefs cannot be read.
        """
        base, mods = modifiers(name)
        known = _canonical(base)
        if known in _EVENTS:
            config, _, _, kernel_only, _ = _EVENTS[known]
            clock = known in _CLOCKS
            spec = PerfSpec.of(
                Encoding(_SOFTWARE, config, exclude=mods.exclude),
                kernel_only=kernel_only,
                every_mode=clock,
            )
            domain = Domain.ALL if clock else mods.domain
            return (Event(name, _software_info(known), domain, spec),)
        system, colon, point = base.partition(":")
        if not colon or not system or not point or ":" in point or "/" in base:
            return ()
        return self._tracepoints(name, system, point, mods)

    def open(self, events: Sequence[Event], target: Target) -> Opened:
        """Open events on a target."""
        return open_events(events, target)

    def tracefs_problem(self) -> tuple[str, str, int] | None:
        """Return why tracepoints cannot be read here (reason, remedy, errno), None if they can."""
        from pathlib import Path

        for root in map(Path, self._tracefs):
            try:
                if any((root / "events").iterdir()):
                    return None
            except FileNotFoundError:
                continue
            except OSError as error:
                return (
                    f"{root} cannot be read ({error.strerror})",
                    f"as root: mount -o remount,mode=755 {root} (or run as root)",
                    error.errno or 0,
                )
        return (
            "tracefs is not mounted",
            f"as root: mount -t tracefs tracefs {self._tracefs[0]}",
            0,
        )

    def _readable_tracefs(self) -> Path | None:
        from pathlib import Path

        for root in map(Path, self._tracefs):
            try:
                if any((root / "events").iterdir()):
                    return root
            except OSError:
                continue
        return None

    def _tracepoints(
        self, name: str, system: str, point: str, mods: Modifiers
    ) -> tuple[Event, ...]:
        root = self._readable_tracefs()
        if root is None:
            # PMU events have capitals or come with their PMU's name; tracepoints are lower case.
            problem = self.tracefs_problem()
            if problem is None or not f"{system}{point}".islower():
                return ()
            raise EventUnavailableError(name, *problem)
        folder = root / "events" / system
        if not folder.is_dir() or "/" in system or system.startswith("."):
            return ()
        points = [point]
        if _GLOB & set(point):
            from fnmatch import fnmatchcase

            points = [p for p in entries(folder) if fnmatchcase(p, point)]
            points = [p for p in points if (folder / p / "id").exists()]
        found = tuple(
            self._tracepoint(name if p == point else f"{system}:{p}", system, p, mods, root)
            for p in points
        )
        if not found:
            raise EventNameError(name, f"no tracepoint of '{system}' matches '{point}'")
        return found

    def _tracepoint(self, name: str, system: str, point: str, mods: Modifiers, root: Path) -> Event:
        folder = root / "events" / system
        try:
            number = int((folder / point / "id").read_text())
        except (FileNotFoundError, NotADirectoryError):
            close = tuple(f"{system}:{p}" for p in nearest(point, list(entries(folder))))
            raise EventNameError(
                name, f"the kernel has no such tracepoint in '{system}'", close
            ) from None
        except PermissionError as error:
            raise EventUnavailableError(
                name,
                f"{root} may only be read by root",
                f"as root: mount -o remount,mode=755 {root} (or run as root)",
                error.errno or 0,
            ) from None
        except (OSError, ValueError) as error:
            raise EventUnavailableError(
                name, f"its id in {root} cannot be read: {error}", "see gnomon doctor"
            ) from None
        spec = PerfSpec.of(Encoding(_TRACEPOINT, number, exclude=mods.exclude), tracepoint=True)
        return Event(name, _tracepoint_info(f"{system}:{point}"), mods.domain, spec)


COMPONENT = KernelComponent()


def _canonical(base: str) -> str:
    """Return the name of a software event by another one of it; other names as they are."""
    if base[: len(_LIBPFM)].lower() == _LIBPFM:
        return _BY_LIBPFM.get(base[len(_LIBPFM) :].lower(), base)
    return _CANONICAL.get(base, base)


def _software_info(name: str) -> EventInfo:
    _, aliases, unit, _, description = _EVENTS[name]
    also = f" (also {', '.join(aliases)})" if aliases else ""
    return EventInfo(name, "kernel", description + also, unit, Scope.THREAD)


def _tracepoint_info(name: str) -> EventInfo:
    return EventInfo(name, "kernel", "tracepoint", "", Scope.THREAD)
