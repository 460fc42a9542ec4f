"""One capability at work on one execution of a program: what `execute` asks and tells it.

Any number of observers share an execution. Each writes the methods that it needs; those here do
nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gnomon.launch.process import Invocation
    from gnomon.launch.process_result import ProcessResult
    from gnomon.model.capability_result import Collected


class Observer:
    """Observes one execution; the methods are called in the order in which they stand here.

    Attributes:
        name: of its capability, for messages.
        watches_orphans: whether to find out if the program leaves processes behind, by a perf event
            that they inherit. Not where they are not observed, or where threads are told apart by
            `inherit_stat`: the kernel exchanges the counts of two threads' events one by one, in
            the order of their lists, and no other event may be among them.
        may_inherit: whether it may have processes inherit events of its own: every observer of the
            execution watches orphans. Set by `execute`.
        leaves_a_file: every process that loads its libraries leaves one, so that none at all means
            that none loaded them.
        failure: why it stopped observing while the program ran; set by `execute`. An observer that
            cannot be attached, and that nobody asked for, may set it instead of raising.
        preloads_first: its libraries come before the user's own, which they call in turn.
    """

    name = ""
    watches_orphans = True
    may_inherit = True
    leaves_a_file = True
    failure: Exception | None = None
    preloads_first = False

    def environment(self) -> Mapping[str, str]:
        """Return variables that the program gets, in the place of its own of those names."""
        return {}

    def preloads(self) -> Sequence[str]:
        """Return absolute paths of libraries that the program loads, mostly after the user's."""
        return ()

    def wrap(self, invocation: Invocation) -> Invocation:
        """Return the invocation that replaces a program's, all variables set."""
        return invocation

    def attach(self, pid: int) -> None:
        """Open what is needed on a process; a new one waits at its gate before its execve.

        Raises:
            GnomonError: it cannot be observed; then the program is not executed.
        """

    def begin(self) -> None:
        """Take note that the program has been executed, or that observing begins."""

    def descriptors(self) -> Sequence[int]:
        """Return descriptors that call for `drain` when they are readable, asked once."""
        return ()

    def due_ms(self) -> float | None:
        """Return in how many milliseconds `drain` is due, None for no time; asked after each."""
        return None

    def drain(self) -> None:
        """Take what there is and do what is due, while the program runs."""

    def finish(self) -> None:
        """Read the last of it: the process has ended, and its files in /proc are still there."""

    def result(self, process: ProcessResult) -> Collected:
        """Return the results of an execution for `gnomon run`."""
        from gnomon.model.capability_result import Collected

        return Collected()

    def close(self) -> None:
        """Give back every descriptor; called once, also where the program was not executed."""
