"""What the components that read files of /proc and /sys share: names, refusals and opening.

Source: proc(5), sysfs(5).
"""

from __future__ import annotations

import errno
import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence

from gnomon.counters.component import (
    Availability,
    Event,
    EventInfo,
    OpenResult,
    Overflow,
    Refusal,
    Target,
)
from gnomon.counters.gauge_sampler import PERIOD_NS
from gnomon.counters.procfs import ProcessFiles
from gnomon.counters.snapshot_counters import (
    CountedField,
    Snapshot,
    SnapshotSession,
    Sources,
    current,
)
from gnomon.errors import EventNameError
from gnomon.model.value import Domain, How, Scope
from gnomon.named_tuple import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path

PROC = "/proc"
SYSFS = "/sys"

_OPTIONS = {"io": "CONFIG_TASK_IO_ACCOUNTING", "numa_maps": "CONFIG_NUMA"}

Problem = tuple[str, str, int]
"""Why something cannot be counted: reason, remedy, error number (0 if none was involved)."""


class OfferedEvent(NamedTuple):
    """An event that a component has here, and what it counts."""

    info: EventInfo
    tally: CountedField


class SnapshotComponent(ABC):
    """A component whose counts are differences between snapshots of files.

    A subclass says which events there are (`offers`), takes the snapshots (`node_snapshot`,
    `process_snapshot` with `file_of`) and explains what is missing (`node_problem`).
    """

    name: str
    description: str
    how_measured: str
    scope: Scope
    overflow = Overflow.IMPOSSIBLE

    def __init__(self, proc: Path | str = PROC, sys: Path | str = SYSFS) -> None:
        """Read from `proc` and `sys`, which are /proc and /sys but for recorded trees."""
        self._proc = proc
        self._sys = sys

    # Paths are made when they are used: `gnomon count` reads files of /proc without them.

    @property
    def proc(self) -> Path:
        """Where proc is mounted, or a recorded tree."""
        from pathlib import Path

        return Path(self._proc)

    @property
    def sys(self) -> Path:
        """Where sysfs is mounted, or a recorded tree."""
        from pathlib import Path

        return Path(self._sys)

    @abstractmethod
    def offers(self, *, idle: bool) -> Iterator[OfferedEvent]:
        """Yield every event here; with `idle` also those of idle units."""

    @abstractmethod
    def node_snapshot(self, tallies: Sequence[CountedField]) -> Snapshot:
        """Return the machine's numbers that the tallies need."""

    def process_snapshot(
        self,
        files: ProcessFiles,  # noqa: ARG002
        fields: frozenset[str],  # noqa: ARG002
    ) -> Snapshot:
        """Return the process's numbers for the given fields; none where only a node has any."""
        return {}

    @abstractmethod
    def node_problem(self, tally: CountedField) -> Problem:
        """Return why a number of the machine is not there."""

    def file_of(self, field: str) -> str:  # noqa: ARG002
        """Return the file of /proc/PID that a field of a process comes from."""
        return ""

    def availability(self) -> Availability:
        """Return whether any event can be read here, and what is in the way of the others."""
        problems: list[Problem] = []
        works = False
        offers = list(self.offers(idle=False))
        for scope in (Scope.PROCESS, Scope.NODE):
            tallies = [offer.tally for offer in offers if offer.tally.scope is scope]
            if not tallies:
                continue
            missing = self._missing(tallies, Target())
            works |= len(missing) < len(tallies)
            problems.extend(missing.values())
        if not offers:
            problems.append(self.node_problem(CountedField((), None, Scope.NODE)))
        reason, remedy, number = problems[0] if problems else ("", "", 0)
        return Availability(works, reason, remedy, number)

    def counters(self) -> int | None:
        """Return None: reading one number more takes no counter away from another."""
        return None

    def events(self) -> Iterator[EventInfo]:
        """Yield every event of this component here."""
        for offer in self.offers(idle=False):
            yield offer.info

    def resolve(self, name: str) -> tuple[Event, ...]:
        """Return the event of that name, () if it does not begin with `component:::`.

        Raises:
            EventNameError: it does, and there is no such event here.
        """
        if not name.startswith(f"{self.name}:::"):
            return ()
        names = []
        for offer in self.offers(idle=True):
            if offer.info.name == name:
                return (Event(name, offer.info, Domain.ALL, offer.tally),)
            names.append(offer.info.name)
        from gnomon.counters.name_suggestions import nearest

        raise EventNameError(
            name, f"component '{self.name}' has no such event here", nearest(name, names)
        )

    def open(self, events: Sequence[Event], target: Target) -> OpenResult:
        """Open events on a target; those that cannot be read now are refused with the reason."""
        missing = self._missing([event.spec for event in events], target)
        refused = tuple(Refusal(e, *missing[e.spec]) for e in events if e.spec in missing)
        opened = tuple(
            _as_sampled(e) if _is_sampled(e.spec, target) else e
            for e in events
            if e.spec not in missing
        )
        if not opened:
            return OpenResult(None, (), refused)
        tallies = [event.spec for event in opened]
        files = None
        if not target.command and any(tally.scope is Scope.PROCESS for tally in tallies):
            try:
                files = self._attach(target.pid or "self", tallies)
            except OSError:
                ended = (f"process {target.pid} has just ended", "count it earlier", errno.ESRCH)
                return OpenResult(None, (), tuple(Refusal(e, *ended) for e in events))
        sources = Sources(
            node=lambda: self.node_snapshot(tallies),
            attach=lambda pid: self._attach(pid, tallies),
            process=self.process_snapshot,
        )
        counting = SnapshotSession(tallies, target, sources, files)
        return OpenResult(counting, opened, refused, _notes(opened, target))

    def _attach(self, pid: int | str, tallies: Sequence[CountedField]) -> ProcessFiles:
        return ProcessFiles(self._proc, pid, {self.file_of(field) for field in _fields(tallies)})

    def _missing(
        self, tallies: Sequence[CountedField], target: Target
    ) -> dict[CountedField, Problem]:
        """Return the tallies that cannot be read on the target now, each with the problem."""
        missing: dict[CountedField, Problem] = {}
        node = [tally for tally in tallies if tally.scope is not Scope.PROCESS]
        own = [tally for tally in tallies if tally.scope is Scope.PROCESS]
        if node:
            now = self.node_snapshot(node)
            missing.update((t, self.node_problem(t)) for t in node if current(t, now) is None)
        if own:
            missing.update(self._missing_of_process(own, target))
        return missing

    def _missing_of_process(
        self, tallies: Sequence[CountedField], target: Target
    ) -> dict[CountedField, Problem]:
        if target.cpu >= 0 or (target.pid or 0) < 0:
            problem = (
                "it belongs to a process, wherever that runs, and not to a CPU",
                "name a process instead of a CPU",
                0,
            )
            return dict.fromkeys(tallies, problem)
        # What can be read of this process can be read of one that it will start.
        pid = "self" if target.command else target.pid or "self"
        try:
            files = self._attach(pid, tallies)
        except OSError:
            gone = (f"there is no process {pid}", "see `ps -e` for those there are", errno.ESRCH)
            return dict.fromkeys(tallies, gone)
        try:
            now = self.process_snapshot(files, _fields(tallies))
            return {
                tally: self._process_problem(tally, files, pid)
                for tally in tallies
                if current(tally, now) is None
            }
        finally:
            files.close()

    def _process_problem(self, tally: CountedField, files: ProcessFiles, pid: int | str) -> Problem:
        file = self.file_of(tally.fields[0])
        path = f"{self._proc}/{pid}/{file}"
        number = files.errors.get(file, 0)
        if number in (errno.EACCES, errno.EPERM):
            remedy = "run as the owner of the process, or as root (CAP_SYS_PTRACE)"
            if pid == "self":
                remedy = (
                    "the container masks it: run outside, or with "
                    "`docker run --security-opt systempaths=unconfined`"
                )
            return f"{path} may not be read ({os.strerror(number)})", remedy, number
        if number == errno.ENOENT:
            option = _OPTIONS.get(file)
            remedy = f"a kernel built with {option}" if option else "a kernel that has it"
            return f"this kernel has no {path}", remedy, number
        if number:
            return f"{path} cannot be read ({os.strerror(number)})", "see proc(5)", number
        return f"{path} does not hold it", "there is none on this kernel; see proc(5)", 0


def _fields(tallies: Sequence[CountedField]) -> frozenset[str]:
    return frozenset(name for t in tallies if t.scope is Scope.PROCESS for name in t.fields)


def _is_sampled(tally: CountedField, target: Target) -> bool:
    return target.command and tally.gauge and tally.scope is Scope.PROCESS


def _as_sampled(event: Event) -> Event:
    return event._replace(info=event.info._replace(how=How.SAMPLED))


def _notes(events: Sequence[Event], target: Target) -> tuple[str, ...]:
    every = f"sampled every {PERIOD_NS // 1_000_000} ms while the program ran, without its children"
    return tuple(
        f"{event.name} is the highest value {every}: the true one may be higher"
        if event.spec.highest
        else f"{event.name} is the last value {every}"
        for event in events
        if _is_sampled(event.spec, target)
    )
