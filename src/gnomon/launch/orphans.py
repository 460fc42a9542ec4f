"""Whether a program that has ended left processes behind, which its counters still count.

An event that is inherited reports the end of its task by POLLHUP, once no process that inherited
it is left; it must be mapped for that. Such an event cannot be mapped unless it is one of a single
CPU, but its children are those of the task wherever they run.

Source: perf_event_open(2), "Overflow handling"; kernel/events/core.c, `is_event_hup`.
"""

from __future__ import annotations

import select

from gnomon import _core

# A dummy counts nothing; leaving the kernel out is what everybody may do.
_DUMMY = (1, 9, 0, 0, 0, _core.EXCLUDE_KERNEL | _core.EXCLUDE_HYPERVISOR, 0)
_CPU = 0

NOTE = (
    "the program left processes behind: these were counted up to its end, but are not included in "
    "CPU time and resource usage"
)


class OrphanWatch:
    """Watches the descendants of a process."""

    def __init__(self) -> None:
        self._group: _core.Group[None] | None = None
        self._ring: _core.Ring | None = None

    def watch(self, pid: int) -> None:
        """Begin with a process that has not executed its program yet."""
        try:
            self._group = _core.Group([_DUMMY], pid, _CPU, _core.INHERIT, ((),), _nothing)
            self._ring = _core.Ring(self._group.fds, 1)
        except OSError:
            # Without it nothing is said of processes left behind; they are counted all the same.
            self.close()

    def has_any(self) -> bool:
        """Return whether descendants run, after the process has ended; False if not known."""
        if self._group is None or self._ring is None:
            return False
        poll = select.poll()
        poll.register(self._group.fds[0], select.POLLIN)
        return not any(seen & select.POLLHUP for _, seen in poll.poll(0))

    def close(self) -> None:
        """Give back every descriptor."""
        if self._ring is not None:
            self._ring.close()
        if self._group is not None:
            self._group.close()
        self._ring = self._group = None


def _nothing(*_: object) -> None:
    return None
