"""Which functions -e, -E, -f and -F of Xprofiler leave out, to the letter of its options' table.

What GNU gprof does is another thing where a function is called by those that were named alone: it
has an entry there, and its time counts; the chapter hides it. And a function that is called by
others, too, keeps all of its time here, where gprof takes its callers' part.

Source: the Redpaper's chapter 5.1, table 5-1.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from gnomon.named_tuple import NamedTuple

if TYPE_CHECKING:
    from gnomon.callgraph.call_profile import CallProfile
    from gnomon.callgraph.selection import SelectedFunctions


class FunctionFlags(NamedTuple):
    """Positions of functions that have entries, and of those whose time is zero."""

    shown: frozenset[int]
    without_time: frozenset[int]


def chapter_flags(profile: CallProfile, chosen: SelectedFunctions) -> FunctionFlags:
    """Return the flags of a profile's functions; -f overrides -e, -F overrides -E."""
    n = len(profile.name)
    everything = frozenset(range(n))
    callees: list[list[int]] = [[] for _ in range(n)]
    is_called = [False] * n
    for caller, callee in zip(profile.caller.tolist(), profile.callee.tolist(), strict=True):
        if caller != callee:
            callees[caller].append(callee)
            is_called[callee] = True

    def called_by(functions: Iterable[int], closed: frozenset[int] = frozenset()) -> set[int]:
        """Return what functions call, these too, by ways that do not lead through others."""
        reached = set(functions) - closed
        waiting = list(reached)
        while waiting:
            for callee in callees[waiting.pop()]:
                if callee not in reached and callee not in closed:
                    reached.add(callee)
                    waiting.append(callee)
        return reached

    def left_out(functions: frozenset[int]) -> frozenset[int]:
        """Return functions and those that nobody else calls, directly or not."""
        roots = [function for function in everything if not is_called[function]]
        # Functions of a cycle call each other: from outside nobody need call them.
        roots += everything - called_by(functions) - functions
        return everything - called_by(roots, functions)

    without_time = left_out(chosen.without_time)
    if chosen.with_time:
        without_time = everything - called_by(chosen.with_time)
    shown = everything - left_out(chosen.without_entry)
    if chosen.with_entry:
        shown = frozenset(called_by(chosen.with_entry))
        if not chosen.with_time:
            shown -= without_time
    return FunctionFlags(shown, without_time)
