"""Names of functions as a debugger writes them: those of Fortran, and what of long ones can go.

Source: gfortran's manual, "Naming conventions", on what the symbols of procedures are.
"""

from __future__ import annotations

import re
from functools import lru_cache

from gnomon.named_tuple import NamedTuple
from gnomon.terminal_text import ELLIPSIS as _ELLIPSIS
from gnomon.terminal_text import shortened

_CLOSING = {"<": ">", "(": ")", "{": "}", "[": "]"}
# What looks like brackets or a gap between words, and is none.
_ATOM = re.compile(
    r"\(anonymous namespace\)"
    r"|\boperator(?:\(\)|\[\]|<=>|->\*|(?:<<|>>|->|[-+*/%^&|~!=<>,])[-=+&|]?"
    r"| (?:new|delete)(?:\[\])?| [A-Za-z_][\w:]*(?: [A-Za-z_]\w*)*[ *&]*(?=\())"
)
_DEEPEST = 100
FORTRAN = frozenset(("f", "for", "ftn", "fpp", "f77", "f90", "f95", "f03", "f08", "f18", "f23"))
"""Endings of Fortran sources, in lower case."""

_MODULE = re.compile(r"__([A-Za-z]\w*(?:\.\w+)?)_MOD_(\w+)")
_PROGRAM = "MAIN__"


class _Group(NamedTuple):
    """A pair of brackets and what is between them."""

    opening: str
    items: tuple[str | _Group, ...]


@lru_cache(maxsize=4096)
def _parsed(name: str) -> tuple[str | _Group, ...] | None:
    """Return the brackets of a name as a tree, None where they are not paired."""
    stack: list[tuple[str, list[str | _Group]]] = [("", [])]
    position = 0
    while position < len(name):
        atom = _ATOM.match(name, position)
        character = name[position]
        if atom is not None:
            stack[-1][1].append(atom[0])
            position = atom.end()
            continue
        if character in _CLOSING and len(stack) < _DEEPEST:
            stack.append((character, []))
        elif character == _CLOSING.get(stack[-1][0]):
            opening, items = stack.pop()
            stack[-1][1].append(_Group(opening, tuple(items)))
        elif character in ">)}]" or character in _CLOSING:
            if not name.startswith("->", position - 1):
                return None
            stack[-1][1].append(character)
        else:
            stack[-1][1].append(character)
        position += 1
    return tuple(stack[0][1]) if len(stack) == 1 else None


def _text(items: tuple[str | _Group, ...], kinds: str, deepest: int, depth: int = 0) -> str:
    """Return the name with brackets of some kinds empty, from a depth on."""
    parts = []
    for item in items:
        if isinstance(item, str):
            parts.append(item)
        elif item.opening in kinds and depth >= deepest and item.items:
            parts.append(item.opening + _ELLIPSIS + _CLOSING[item.opening])
        else:
            inner = depth + (item.opening in kinds)
            parts.append(
                item.opening + _text(item.items, kinds, deepest, inner) + _CLOSING[item.opening]
            )
    return "".join(parts)


def _without_result(items: tuple[str | _Group, ...]) -> tuple[str | _Group, ...]:
    """Return a name without the type that templates have before it."""
    lists = [at for at, one in enumerate(items) if isinstance(one, _Group) and one.opening == "("]
    if not lists:
        return items
    # In `operator<< <int>(...)` the gap belongs to the name.
    gaps = [
        at
        for at, one in enumerate(items[: lists[-1]])
        if one == " " and not isinstance(items[at + 1], _Group)
    ]
    return items[gaps[-1] + 1 :] if gaps else items


def short_name(name: str, width: int) -> str:
    """Return a function's name in at most so many columns.

    What is left out, as far as needed: parameters, template arguments from the innermost out, the
    type of the result, and at last the middle of what remains. Names of other languages than C++
    have none of these, or have them likewise.
    """
    if len(name) <= width:
        return name
    # What a compiler says of its copy of a function: [clone .isra.0]
    name = name.partition(" [clone ")[0]
    if len(name) <= width:
        return name
    items = _parsed(name)
    if items is None:
        return _middle(name, width)
    tried = _text(items, "(", 0)
    if len(tried) <= width:
        return tried
    bare = _parsed(tried) or items
    for one in (bare, _without_result(bare)):
        for deepest in (3, 2, 1, 0):
            tried = _text(one, "<", deepest)
            if len(tried) <= width:
                return tried
    tried = tried.removesuffix(" const").removesuffix(f"({_ELLIPSIS})")
    if not tried.endswith("operator()"):
        tried = tried.removesuffix("()")
    return _middle(tried, width)


def _middle(name: str, width: int) -> str:
    """Return the last part of a name, which says more than the namespaces before it."""
    if len(name) > width:
        name = name.removesuffix(f"<{_ELLIPSIS}>")
    if len(name) <= width:
        return name
    *outer, last = name.split("::")
    if outer and len(last) + 3 <= width:
        return f"{_ELLIPSIS}::{last}"
    return shortened(last, width)


def is_template(name: str) -> bool:
    """Return whether a name is of a function made from a template."""
    items = _without_result(_parsed(name) or ())
    return any(isinstance(one, _Group) and one.opening == "<" for one in items)


def namespace(name: str) -> str:
    """Return the outermost namespace of a C++ function, "" for none."""
    text = _text(_without_result(_parsed(name) or ()), "<(", 0)
    return text.partition("::")[0] if "::" in text else ""


def module_procedure(symbol: str) -> str:
    """Return `__grid_MOD_sweep._omp_fn.0` as `grid::sweep._omp_fn.0`; other symbols as they are."""
    found = _MODULE.match(symbol)
    return symbol if found is None else f"{found[1]}::{found[2]}{symbol[found.end() :]}"


def external_procedure(symbol: str) -> str:
    """Return the name of a Fortran procedure outside of modules: `solve_.isra.0` as `solve.isra.0`.

    The compiler puts an underscore behind these. C has such names, too, so the source file has to
    tell. The main program stays `MAIN__`: its name is in no symbol.
    """
    name, dot, copy = symbol.partition(".")
    if name == _PROGRAM or len(name) == 1:
        return symbol
    return name.removesuffix("_") + dot + copy
