"""Which processes read and wrote each file of a run, and how they opened it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gnomon.io import io_metrics as names
from gnomon.io.calls import COPY, POSIX, SOURCE, direction_of, group_of, layer_of
from gnomon.named_tuple import NamedTuple
from gnomon.store.call_sums import CALLS, IS_VALUE, NS, PROCESSES, VALUE, CallSums

if TYPE_CHECKING:
    from gnomon.io.io_values import File

_OPENED = (names.APPENDED, names.DIRECT, names.SYNCHRONOUS, names.INHERITED)
_PASSING_BY = ("asynchronous", COPY, SOURCE)


class FileUse(NamedTuple):
    """How the processes of an execution used a file.

    Attributes:
        readers: the locations that read it.
        writers: those that wrote it.
        seconds: in calls on it, by location.
        opened: how descriptors of it were opened: names of metrics, as `io_metrics.APPENDED`.
    """

    readers: frozenset[int]
    writers: frozenset[int]
    seconds: dict[int, float]
    opened: frozenset[str]

    @property
    def busiest(self) -> int:
        """The location with most time, -1 for none."""
        return max(self.seconds, key=lambda own: (self.seconds[own], -own), default=-1)


_UNUSED = FileUse(frozenset(), frozenset(), {}, frozenset())


class FileUses(CallSums):
    """The uses of a run's files, of its first execution; raises RunDirectoryError."""

    def of_all(self) -> dict[str, FileUse]:
        """Return them by path."""
        uses: dict[str, FileUse] = {}
        for path, location, name, calls, seconds in self._run.query(
            f"""
            SELECT a.name, p.location, r.name, SUM({CALLS}), SUM({VALUE}) / {NS}
            FROM profile p JOIN paths t USING (path) JOIN regions r USING (region)
            JOIN paths above ON above.path = t.parent JOIN regions a ON a.region = above.region
            WHERE r.kind = '{names.FILE}' AND p.metric IN {self._of(names.TIME_BY_FILE)}
                AND {IS_VALUE} AND {PROCESSES} AND p.repetition = 0
            GROUP BY a.name, p.location, r.name
            """
        ):
            use = uses.get(path, _UNUSED)
            direction, own = direction_of(name), frozenset((int(location),))
            is_change = direction == "write" or group_of(name) == "size"
            used = use.seconds | {location: use.seconds.get(location, 0.0) + float(seconds)}
            uses[path] = use._replace(
                readers=use.readers | own if calls and direction == "read" else use.readers,
                writers=use.writers | own if calls and is_change else use.writers,
                seconds=used,
            )
        for path, opened in self._opened().items():
            uses[path] = uses.get(path, _UNUSED)._replace(opened=frozenset(opened))
        return uses

    def _opened(self) -> dict[str, set[str]]:
        opened: dict[str, set[str]] = {}
        for path, metric in self._run.query(
            f"""
            SELECT DISTINCT a.name, m.name
            FROM profile p JOIN paths t USING (path) JOIN regions r USING (region)
            JOIN paths above ON above.path = t.parent JOIN regions a ON a.region = above.region
            JOIN metrics m ON m.metric = p.metric
            WHERE r.kind = '{names.ACCESS}' AND p.metric IN {self._of(*_OPENED)}
                AND {IS_VALUE} AND {VALUE} > 0
            """
        ):
            opened.setdefault(path, set()).add(metric)
        return opened


def refusal(file: File, use: FileUse, module: str, *, is_shared_at_once: bool = True) -> str:
    """Return why a module is not proposed for a file, "" where it may be.

    Args:
        file: the file.
        use: of it.
        module: "pf" or "wb".
        is_shared_at_once: processes that write and read it have it open at the same time, or
            nobody knows.
    """
    if file.kind != "file":
        return f"it is a {file.kind}" if file.kind else "it is not known to be a regular file"
    if len(use.writers) > 1:
        return "more than one process writes it"
    others = use.readers - use.writers
    if use.writers and others and is_shared_at_once:
        return "a process writes it while another one reads it"
    if any(group_of(own.name) == "map" for own in file.operations):
        return "it is mapped into memory"
    if names.INHERITED in use.opened:
        return "a process got its descriptor from another one"
    if any(group_of(own.name) in _PASSING_BY for own in file.operations):
        return "asynchronous calls, or copies in the kernel, pass modules by"
    if names.DIRECT in use.opened:
        return "it is opened for direct I/O"
    if module == "wb" and names.APPENDED in use.opened:
        return "it is opened for appending, which wb leaves alone"
    if module == "wb" and names.SYNCHRONOUS in use.opened:
        return "it is opened for synchronous writes, which wb leaves alone"
    if not any(
        layer_of(own.name) == POSIX and group_of(own.name) in ("read", "write")
        for own in file.operations
    ):
        return "streams of the C library are not served by modules"
    return ""
