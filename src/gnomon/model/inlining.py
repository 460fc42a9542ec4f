"""Which parts of a profile are one function: code from headers belongs to where it was inlined.

Debug information gives each instruction a source file, and the symbol table gives it a function.
A function with inlined code therefore appears in several files. It is one function again, by this
rule:

- Parts of one program with the same function name are one function, whatever headers they are in.
- Two functions of C may have the same name in two source files if they are `static`. Parts in
  several source files of C, C++ or assembler stay apart, therefore. What such functions have in
  headers cannot be told apart and stays a part of its own.
- `main` is one in a program, wherever its parts are (after optimisation over source files).
- Functions of Python are each in one file: those of the same name in others, as `main` and
  `<module>`, are others.
- Where the name is not known, each file stays by itself.

The file of a function is its source file; for one that has none, or is a template, that of the
project's own files that holds most of it; for the C++ library's own templates a system header.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gnomon.model.symbol_names import FORTRAN, is_template, namespace
from gnomon.named_tuple import NamedTuple


class FunctionFragment(NamedTuple):
    """The part of a function that is in one file; "" for what is not known."""

    program: str
    function: str
    file: str


UNIQUE_NAMES = "unique_function_names"
"""In the head of a run: `has_unique_names`."""

PYTHON = "python"
"""What stands for the program of Python's functions."""

# Source files whose functions may be hidden from others of the same name.
_HIDING = frozenset(("c", "cc", "cp", "cpp", "cxx", "c++", "cu", "m", "mm", "s"))
_OTHERS = FORTRAN | frozenset(("rs", "go", "d", "adb", "pas", "py"))
_SOURCES = _HIDING | _OTHERS
_HEADERS = frozenset(("", "h", "hh", "hpp", "hxx", "h++", "inc", "ipp", "tcc"))
_SYSTEM = ("/include/c++/", "/lib/gcc/", "/rustc/")
_UNIQUE = ("main", "MAIN__")
_LIBRARY = ("std", "__gnu_cxx", "__cxxabiv1")


def has_unique_names(head: Mapping[str, Any]) -> bool:
    """Return whether a run has no two functions of one program with the same name.

    Who wrote it knew which parts are one function, whatever their files.
    """
    return head.get(UNIQUE_NAMES) is True


def defining_files(
    weights: Mapping[FunctionFragment, float], *, has_unique_names: bool = False
) -> dict[FunctionFragment, str]:
    """Return for each part the file of its function.

    Args:
        weights: how much is in each part; decides between files that could both be it.
        has_unique_names: parts of one program with the same name are one function.
    """
    together: dict[tuple[str, str], list[FunctionFragment]] = {}
    for part in weights:
        together.setdefault((part.program, part.function), []).append(part)
    file_of: dict[FunctionFragment, str] = {}
    for (_, function), parts in together.items():
        alone = [part for part in parts if not function or _is_python(part)]
        file_of.update({part: part.file for part in alone})
        parts = [part for part in parts if part not in file_of]
        if len(parts) < 2:
            file_of.update({part: part.file for part in parts})
            continue
        own = [part for part in parts if _is_source(part.file) and not _is_system(part.file)]
        sources = own or [part for part in parts if _is_source(part.file)]
        hiding = [part for part in sources if _suffix(part.file) in _HIDING]
        if len(hiding) > 1 and function not in _UNIQUE and not has_unique_names:
            file_of.update({part: part.file for part in hiding})
            parts = [part for part in parts if part not in file_of]
        file = _defining(function, {part.file: weights[part] for part in parts})
        file_of.update(dict.fromkeys(parts, file))
    return file_of


def _defining(function: str, weights: Mapping[str, float]) -> str:
    """Return which of the files of a function is the one it stands in."""
    library = namespace(function) in _LIBRARY
    template = is_template(function)

    def order(file: str) -> tuple[int, float, str]:
        if not file:
            rank = 3
        elif _is_system(file):
            rank = 0 if library else 2
        else:
            rank = 0 if _is_source(file) and not library else 1
            if template and not library:
                rank = 0
        return rank, -weights[file], file

    return min(weights, key=order, default="")


def _is_python(part: FunctionFragment) -> bool:
    # An interpreter may have the same name.
    return part.program == PYTHON and _suffix(part.file) not in _HIDING | _HEADERS


def _suffix(file: str) -> str:
    return file.rpartition("/")[2].rpartition(".")[2].lower()


def _is_source(file: str) -> bool:
    return _suffix(file) in _SOURCES


def _is_system(file: str) -> bool:
    return file.startswith("/usr/") or any(folder in file for folder in _SYSTEM)
