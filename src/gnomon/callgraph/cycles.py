"""An order of functions in which callees come before callers, and the cycles that forbid it.

The order of arcs decides which function is the head of a cycle and the order of its members, as it
does in GNU gprof: reports name and sort by it.

Source: Graham, Kessler, McKusick, gprof: a call graph execution profiler (1982), 4.2; Gabow,
Path-based depth-first search for strong and biconnected components (2000).
"""

from __future__ import annotations

from collections.abc import Sequence

from gnomon.named_tuple import NamedTuple

_NEW, _BUSY = 0, -1


class CallOrder(NamedTuple):
    """Where functions stand.

    Attributes:
        rank: of each function, from 1 on; that of a caller is higher than that of a callee, and
            those of a cycle have one rank.
        cycles: of each cycle its functions, the head first; in the order of heads.
    """

    rank: list[int]
    cycles: list[list[int]]


def call_order(children: Sequence[Sequence[int]]) -> CallOrder:
    """Return the order of functions.

    Args:
        children: of each function those that it calls, in the order in which they are looked at.
    """
    n = len(children)
    rank = [_NEW] * n
    head = list(range(n))
    members: list[list[int]] = [[] for _ in range(n)]
    position = [-1] * n
    stack: list[int] = []
    # Positions of functions on the stack that no cycle has taken in.
    free: list[int] = []
    last_rank = 0
    for root in range(n):
        if rank[root] != _NEW:
            continue
        walk = [iter((root,))]
        while walk:
            child = next(walk[-1], None)
            if child is None:
                walk.pop()
                if not walk:
                    break
                done = stack.pop()
                position[done] = -1
                if head[done] == done:
                    free.pop()
                    last_rank += 1
                    rank[done] = last_rank
                    for member in members[done]:
                        rank[member] = last_rank
            elif rank[child] == _NEW:
                rank[child] = _BUSY
                position[child] = len(stack)
                free.append(len(stack))
                stack.append(child)
                walk.append(iter(children[child]))
            elif rank[child] == _BUSY:
                top = position[child] if position[child] >= 0 else position[head[child]]
                if top < len(stack) - 1:
                    _take_in(stack, free, top, head, members)
    cycles = [[number, *members[number]] for number in range(n) if members[number]]
    return CallOrder(rank, [cycle for cycle in cycles if head[cycle[0]] == cycle[0]])


def _take_in(
    stack: list[int], free: list[int], top: int, head: list[int], members: list[list[int]]
) -> None:
    """Make one cycle of all that is on the stack from a position on."""
    own_head = head[stack[top]]
    first = len(free)
    while first and free[first - 1] > top:
        first -= 1
    for place in free[first:]:
        function = stack[place]
        if function == own_head:
            continue
        taken = [function, *members[function]]
        members[function] = []
        for member in taken:
            head[member] = own_head
        members[own_head] += taken
    del free[first:]
