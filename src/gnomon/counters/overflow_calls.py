"""Callbacks of overflows: run in the main thread, as Python's handlers of signals are.

In the signal handler of an overflow nothing of Python can run. It is noted in C, and Python's own
handler of that signal is due; the interpreter calls that between two instructions of the main
thread (`signal` in Python's library, PyErr_SetInterruptEx in its C interface).
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from weakref import WeakSet

from gnomon import _core
from gnomon.counters.overflow_data import OverflowCall
from gnomon.errors import FeatureError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType

Callback = Callable[[OverflowCall], object]


class OverflowCalls:
    """The callbacks of one set, by the number that its notes have."""

    def __init__(self, source: _core.OverflowSet) -> None:
        """Make them of a set of the core's."""
        self._source = source
        self._calls: dict[int, tuple[str, Callback]] = {}
        self._next = 0
        _ALL.add(self)

    def __len__(self) -> int:
        return len(self._calls)

    def number(self, event: str, callback: Callback) -> int:
        """Return the number for a callback, which is called beside the event's former one."""
        self._next += 1
        self._calls[self._next] = (event, callback)
        return self._next

    def forget(self, event: str, but: int = 0) -> None:
        """Call nothing for an event any more but one number's."""
        self._calls = {
            n: known for n, known in self._calls.items() if known[0] != event or n == but
        }

    def drop(self, number: int) -> None:
        """Call nothing for a number any more."""
        del self._calls[number]

    def deliver(self, frame: FrameType | None) -> None:
        """Call what was noted; if a callback raises something, the other notes are lost."""
        for number, address, data_address, weight in self._source.notes():
            if number in self._calls:
                event, callback = self._calls[number]
                callback(OverflowCall(event, address, data_address, weight, frame))


_ALL: WeakSet[OverflowCalls] = WeakSet()


def watch(number: int) -> None:
    """Let Python handle the signal of overflows, beneath the core's own handler.

    Raises:
        FeatureError: only the main thread can do so, and it has not yet.
    """
    if signal.getsignal(number) is _deliver_all:
        return
    if threading.current_thread() is not threading.main_thread():
        raise FeatureError(
            "overflow: callbacks run in the main thread, which alone can say so to Python; set the "
            "first overflow of the program there"
        )
    signal.signal(number, _deliver_all)


def is_main_thread() -> bool:
    """Return whether the calling thread is the one that callbacks run in."""
    return threading.current_thread() is threading.main_thread()


def _deliver_all(_: int, frame: FrameType | None) -> None:
    for calls in list(_ALL):
        calls.deliver(frame)
