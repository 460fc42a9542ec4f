"""Trees of calls as lines that fit the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import Enum
from typing import TYPE_CHECKING

from gnomon.model.symbol_names import short_name
from gnomon.named_tuple import NamedTuple
from gnomon.store.reports.table_report import GAP, INDENT, UNKNOWN
from gnomon.terminal_text import ELLIPSIS, grid, shortened
from gnomon.units import number, printable, quantity

if TYPE_CHECKING:
    from gnomon.store.call_paths import Code
    from gnomon.store.call_tree import CallTree

_ARROW = " → "
_BACK = " ← "
_NAME_LEAST = 24
_NONE = "."
# What has less of its own is not told apart from what it calls.
_LEAST_SHARE = 0.0005


class Chain(NamedTuple):
    """Nodes of a tree on one line: the first one, and those that are its only child in turn.

    Attributes:
        nodes: their positions.
        depth: how many chains are around it.
        is_last: it is the last one of its siblings.
        has_rest: some of what it calls is shown, and some is left out.
    """

    nodes: tuple[int, ...]
    depth: int
    is_last: bool
    has_rest: bool


class Way(Enum):
    """Which way a tree goes, and by what."""

    DOWN = "call tree"
    """From the program down; what counts is the total."""

    UP = "called from"
    """From functions up to their callers, by what they have themselves."""

    CALLERS = "function, and who calls it"
    """From one function up, by its total."""


def chains(tree: CallTree, whole: float, way: Way) -> list[Chain]:
    """Return the lines of a tree, in the order of the walk.

    A function that has nothing itself and calls nothing but the next one is on its line.
    """
    parent = tree.parent.tolist()
    weight = (tree.own if way is Way.UP else tree.inclusive).tolist()
    children: list[list[int]] = [[] for _ in parent]
    tops: list[int] = []
    for node, above in enumerate(parent):
        (tops if above < 0 else children[above]).append(node)
    cut, n_cut = tree.cut.tolist(), tree.n_cut.tolist()
    listed: list[Chain] = []
    pending = [(node, 0, node == tops[-1]) for node in reversed(tops)]
    while pending:
        node, depth, is_last = pending.pop()
        nodes = [node]
        while len(children[node]) == 1 and depth:
            below = children[node][0]
            if (
                weight[node] - weight[below] > _LEAST_SHARE * whole
                or cut[node] > _LEAST_SHARE * whole
            ):
                break
            node = below
            nodes.append(node)
        has_rest = bool(children[node]) and n_cut[node] > 0
        listed.append(Chain(tuple(nodes), depth, is_last, has_rest))
        pending += [
            (below, depth + 1, below == children[node][-1] and not has_rest)
            for below in reversed(children[node])
        ]
    return listed


def tree_lines(
    tree: CallTree,
    named: Mapping[int, Code],
    *,
    whole: float,
    unit: str,
    threshold: float,
    width: int,
    way: Way = Way.DOWN,
) -> tuple[str, ...]:
    """Return a tree as a table.

    Args:
        tree: the tree.
        named: what the groups of its nodes are.
        whole: what shares are of.
        unit: of the values.
        threshold: what was left out has less than so many percent.
        width: columns of the terminal.
        way: which way it goes.
    """
    rows: list[tuple[str, ...]] = []
    names: list[tuple[str, list[str]]] = []
    weight = tree.own if way is Way.UP else tree.inclusive
    lines = list(_with_rest(chains(tree, whole, way)))
    for prefix, chain, is_rest in lines:
        node = chain.nodes[-1]
        if is_rest:
            share, own, total = (
                float(tree.cut[node]),
                "",
                quantity(float(tree.cut[node]), unit, "-"),
            )
            told = f"{number(int(tree.n_cut[node]))} with less than {number(threshold)} %"
            names.append((prefix, [told]))
        else:
            share = float(weight[node])
            own = quantity(float(tree.own[node]), unit, "-") if tree.own[node] else _NONE
            total = own if way is Way.UP else quantity(float(tree.inclusive[node]), unit, "-")
            names.append((prefix, [_name(named, int(tree.group[node])) for node in chain.nodes]))
        rows.append((_percent(share, whole), total, *(() if way is Way.UP else (own,))))
    heads = ["of total", *(("self",) if way is Way.UP else ("total", "self")), way.value]
    widths = [max(map(len, column)) for column in zip(heads[:-1], *rows, strict=True)]
    taken = sum(widths) + GAP * len(widths)
    room = max(width - INDENT - taken, _NAME_LEAST)
    arrow = _ARROW if way is Way.DOWN else _BACK
    cells = [
        (*row, prefix + joined(texts, max(room - len(prefix), _NAME_LEAST), arrow))
        for row, (prefix, texts) in zip(rows, names, strict=True)
    ]
    return grid([(head,) for head in heads], cells, len(heads) - 1).lines


def _with_rest(listed: list[Chain]) -> Iterator[tuple[str, Chain, bool]]:
    """Yield each chain behind its lines of the tree; behind its children what was left out."""
    open_: list[bool] = []
    pending: list[tuple[int, Chain]] = []
    for nth, chain in enumerate(listed):
        while pending and pending[-1][0] >= chain.depth:
            yield _rest(open_, *pending.pop())
        del open_[chain.depth :]
        yield _prefix(open_, chain.depth, is_last=chain.is_last), chain, False
        open_ += [False] * (chain.depth - len(open_))
        open_.append(not chain.is_last)
        if chain.has_rest:
            pending.append((chain.depth, chain))
        if nth + 1 == len(listed):
            while pending:
                yield _rest(open_, *pending.pop())


def _rest(open_: list[bool], depth: int, chain: Chain) -> tuple[str, Chain, bool]:
    del open_[depth + 1 :]
    return _prefix(open_, depth + 1, is_last=True), chain, True


def _prefix(open_: list[bool], depth: int, *, is_last: bool) -> str:
    """Return the lines before a name: `open_` says which of the chains around have siblings."""
    if not depth:
        return ""
    around = "".join("│ " if one else "  " for one in open_[1:depth])
    return around + ("└ " if is_last else "├ ")


def joined(texts: list[str], room: int, arrow: str = _ARROW) -> str:
    """Return the names of a chain in so many columns; the last one, and the first, stay longest."""
    if len(texts) == 1:
        return short_name(texts[0], room)
    for most in (len(max(texts, key=len)), 40, 30, 20):
        whole = arrow.join(short_name(text, most) for text in texts)
        if len(whole) <= room:
            return whole
    middle = f"{arrow}{ELLIPSIS}{len(texts) - 2}{arrow}" if len(texts) > 2 else arrow
    left = room - len(middle)
    last = short_name(texts[-1], max(left - min(len(texts[0]), left // 3), 1))
    first = short_name(texts[0], max(left - len(last), 1))
    return shortened(first + middle + last, room)


def _percent(value: float, whole: float) -> str:
    return f"{100 * value / whole:.1f} %" if whole else "-"


def _name(named: Mapping[int, Code], group: int) -> str:
    code = named.get(group)
    if code is None:
        return UNKNOWN
    return printable(code.function) or (f"{UNKNOWN} {printable(code.module)}".strip())
