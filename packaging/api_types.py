"""Write the types of the view's API for its page: src/gnomon/view/web/src/contract.ts.

    .venv/bin/python packaging/api_types.py [FILE]

They are those of gnomon.view.contract. What stands below a field there, or for it in the
"Attributes:" of a record, becomes its comment.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
import textwrap
import types
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

import numpy as np
import numpy.typing as npt

import gnomon

SOURCE = Path(__file__).parents[1] / "src" / "gnomon"
# The page is built before Gnomon is installed: types are those of the source, the rest is there.
gnomon.__path__.insert(0, str(SOURCE))

from gnomon.view import contract  # noqa: E402

FILE = SOURCE / "view" / "web" / "src" / "contract.ts"
_HEAD = """\
// Made by packaging/api_types.py from src/gnomon/view/contract.py: do not edit.
"""
_SIMPLE = {str: "string", int: "number", float: "number", bool: "boolean", type(None): "null",
           Any: "unknown"}  # fmt: skip
_ARRAYS: tuple[tuple[Any, str], ...] = (
    (npt.NDArray[np.float64], "Float64Array"), (npt.NDArray[np.int32], "Int32Array"),
    (npt.NDArray[np.uint32], "Uint32Array"), (npt.NDArray[np.uint8], "Uint8Array"),
)  # fmt: skip
_RENAMED = {"FolderEntry": "Openable", "TableColumn": "Column", "MergedPart": "Part"}
_WIDTH = 100


def is_record(hint: object) -> bool:
    """Return whether a type is a record: a TypedDict or a NamedTuple."""
    return isinstance(hint, type) and (
        typing.is_typeddict(hint) or (issubclass(hint, tuple) and hasattr(hint, "_fields"))
    )


def records() -> list[type]:
    """Return the records of the contract, in its order."""
    found = [one for one in vars(contract).values() if is_record(one)]
    return list(dict.fromkeys(found))


def text(hint: Any) -> str:  # noqa: ANN401
    """Return a type as TypeScript has it."""
    for name in contract.ALIASES:
        if hint == getattr(contract, name):
            return name
    for array, name in _ARRAYS:
        if hint == array:
            return name
    origin, arguments = get_origin(hint), get_args(hint)
    if is_record(hint):
        return _RENAMED.get(hint.__name__, hint.__name__)
    if origin is Literal:
        return " | ".join(f'"{one}"' for one in arguments)
    if origin in (typing.Union, types.UnionType):
        return " | ".join(dict.fromkeys(map(text, arguments)))
    if origin is list:
        inner = text(arguments[0])
        return f"({inner})[]" if " " in inner else f"{inner}[]"
    if origin is dict:
        return f"Record<{text(arguments[0])}, {text(arguments[1])}>"
    return _SIMPLE[hint]


def comments(record: type) -> dict[str, str]:
    """Return what is said of a record's fields."""
    (tree,) = ast.parse(textwrap.dedent(inspect.getsource(record))).body
    assert isinstance(tree, ast.ClassDef)
    found = {}
    for before, after in zip(tree.body, tree.body[1:], strict=False):
        if isinstance(before, ast.AnnAssign) and isinstance(after, ast.Expr):
            assert isinstance(before.target, ast.Name)
            assert isinstance(after.value, ast.Constant)
            found[before.target.id] = " ".join(str(after.value.value).split())
    _, _, listed = (inspect.getdoc(record) or "").partition("Attributes:\n")
    for names, said in re.findall(
        r"^ {4}([\w, ]+): ((?:.+\n?)(?: {8}.+\n?)*)", listed, re.MULTILINE
    ):
        for name in names.split(", "):
            found[name] = " ".join(said.split())
    return {name: said[:1].upper() + said[1:] for name, said in found.items()}


def interface(record: type) -> Iterator[str]:
    """Yield the lines of a record."""
    (tree,) = ast.parse(textwrap.dedent(inspect.getsource(record))).body
    assert isinstance(tree, ast.ClassDef)
    named = [vars(contract).get(base.id) for base in tree.bases if isinstance(base, ast.Name)]
    bases = [one for one in named if is_record(one)]
    about = (inspect.getdoc(record) or "").partition("\n\n")[0]
    # A reference to this contract says nothing within it.
    yield from _comment(re.sub(r": `\w+` of the contract\.$|: `\w+` in api\.ts\.$", ".", about), "")
    inherited = {name for base in bases for name in get_type_hints(base)}
    extends = f" extends {', '.join(map(text, bases))}" if bases else ""
    yield f"export interface {text(record)}{extends} {{"
    said = comments(record)
    for name, hint in get_type_hints(record).items():
        if name not in inherited:
            yield from _comment(said.get(name, ""), "  ")
            yield f"  {name}: {text(hint)};"
    yield "}"


def _comment(said: str, indent: str) -> Iterator[str]:
    if not said:
        return
    lines = textwrap.wrap(said, _WIDTH - len(indent) - 7)
    yield from (
        f"{indent}{'/**' if at == 0 else ' *'} {line}{' */' if at == len(lines) - 1 else ''}"
        for at, line in enumerate(lines)
    )


def module() -> str:
    """Return the page's module of types."""
    lines = [_HEAD]
    lines += [
        f"export type {name} = "
        + " | ".join(f'"{one}"' for one in get_args(getattr(contract, name)))
        + ";"
        for name in contract.ALIASES
    ]
    for record in records():
        lines += ["", *interface(record)]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    (Path(sys.argv[1]) if len(sys.argv) > 1 else FILE).write_text(module(), encoding="utf-8")
