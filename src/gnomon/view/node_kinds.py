"""Kinds of nodes: how the page shows one of each, so that it need not know any of them."""

from __future__ import annotations

from typing import Literal

from gnomon.named_tuple import NamedTuple

OF_THREAD = "thread's section"
"""What a node is that counts single threads where others count all of them."""


class NodeKind(NamedTuple):
    """A kind of nodes: `NodeKind` of the contract.

    Attributes:
        name: what one is.
        style: "group" where it stands for all below it, "line" for lines of source, "" else.
        is_path: its name is the path of a file.
        is_place: its name says where in the source it is.
        mark: a word beside its name, "" for none.
        hint: what the mark says.
    """

    name: str
    style: Literal["", "group", "line"] = ""
    is_path: bool = False
    is_place: bool = False
    mark: str = ""
    hint: str = ""


_SPECIAL = {
    one.name: one
    for one in (
        NodeKind("run", "group"),
        NodeKind("host", "group"),
        NodeKind("rank", "group"),
        NodeKind("module", "group"),
        NodeKind("class", "group"),
        NodeKind("routine", "group"),
        NodeKind("file", "group", is_path=True, is_place=True),
        NodeKind("line", "line", is_place=True),
        NodeKind(
            OF_THREAD, mark="thread", hint="counts single threads, in what counts all of them"
        ),
    )
}


def node_kind(name: str) -> NodeKind:
    """Return how the page shows nodes of a kind; most are plain."""
    return _SPECIAL.get(name) or NodeKind(name)
