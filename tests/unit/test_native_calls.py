"""No file of native/ needs another that needs it: functions and variables, beside one in a folder.

What a header defines inline is needed by who uses it.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

NATIVE = Path(__file__).parents[2] / "native"

FOLDERS = sorted({path.parent.relative_to(NATIVE).as_posix() for path in NATIVE.rglob("*.c")})

_NO_CODE = re.compile(
    r'/\*.*?\*/|//[^\n]*|^[ \t]*#(?:[^\n\\]|\\.|\\\n)*|"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])+\'',
    re.S | re.M,
)
_TOKEN = re.compile(r"[A-Za-z_]\w*|[{}();=\[\],]")
_NO_NAMES = {
    "__attribute__", "format", "printf", "cold", "weak", "constructor", "destructor", "ElfW",
}  # fmt: skip


class Source(NamedTuple):
    """A file: its functions and variables that others may use, its inline functions, its words."""

    exported: frozenset[str]
    inline: Mapping[str, frozenset[str]]
    words: frozenset[str]


def statements(text: str) -> Iterator[tuple[list[str], list[str]]]:
    """Yield the words of each declaration or definition, and those between its braces."""
    head: list[str] = []
    body: list[str] = []
    depth = 0
    for token in _TOKEN.findall(_NO_CODE.sub(" ", text)):
        if token == "{":
            depth += 1
        elif token == "}":
            depth -= 1
            if depth == 0 and "=" not in head and "(" in head:
                yield head, body
                head, body = [], []
        elif depth:
            body.append(token)
        elif token == ";":
            yield head, body
            head, body = [], []
        else:
            head.append(token)


def name_of(head: list[str], body: list[str]) -> str:
    """Return what a statement defines for other files, "" for nothing."""
    if not head or head[0] in ("typedef", "extern"):
        return ""
    before = head[: head.index("=")] if "=" in head else head
    if "(" not in before:
        words = [word for word in before if word[0] not in "[]" and not word.isupper()]
        is_type = before[0] in ("struct", "enum", "union") and len(words) <= 2
        return "" if is_type or len(words) < 2 else words[-1]
    if not body:
        return ""
    calls = [one for one, after in itertools.pairwise(before) if after == "("]
    return next((word for word in calls if word.isidentifier() and word not in _NO_NAMES), "")


def source_of(text: str) -> Source:
    exported, inline = set(), {}
    words: set[str] = set()
    for head, body in statements(text):
        name = name_of(head, body)
        words.update(head, body)
        if name and "inline" in head:
            inline[name] = frozenset(body)
        elif name and "static" not in head:
            exported.add(name)
    return Source(frozenset(exported), inline, frozenset(words))


def needs(folder: Path) -> dict[str, set[str]]:
    """Return the files of a folder that each needs."""
    headers = [source_of(path.read_text()) for path in folder.glob("*.h")]
    inline = {name: body for header in headers for name, body in header.inline.items()}
    sources = {path.name: source_of(path.read_text()) for path in sorted(folder.glob("*.c"))}
    owner = {name: file for file, source in sources.items() for name in source.exported}
    found = {}
    for file, source in sources.items():
        words, new = set(source.words), set(source.words)
        while new:
            new = {word for name in new & inline.keys() for word in inline[name]} - words
            words |= new
        found[file] = {owner[word] for word in words & owner.keys()} - {file}
    return found


def cycle(needed: Mapping[str, set[str]]) -> list[str]:
    """Return files of which each needs the next, and the last the first; [] if there are none."""
    left = dict(needed)
    while left:
        free = [file for file, others in left.items() if not others & left.keys()]
        if not free:
            break
        for file in free:
            del left[file]
    path = [next(iter(left))] if left else []
    while path and path[-1] not in path[:-1]:
        path.append(next(other for other in sorted(left[path[-1]]) if other in left))
    return path[path.index(path[-1]) :] if path else []


@pytest.mark.parametrize("folder", FOLDERS)
def test_no_file_needs_one_that_needs_it(folder: str) -> None:
    needed = needs(NATIVE / folder)
    assert any(needed.values()) or len(needed) == 1
    assert cycle(needed) == []


def test_a_cycle_is_found(tmp_path: Path) -> None:
    files = {
        "a.h": "int b(int x);\nstatic inline int c(int x) { return b(x); }\n",
        "a.c": '#include "a.h"\nint a(int x) { return c(x) + (int)sizeof("d"); /* d(x) */ }\n',
        "b.c": "int d(int);\nint table[2] = {1, 2};\nint b(int x) { return x ? d(x) : 0; }\n",
        "d.c": "static int a_of(int x) { return x; }\nint d(int x) { return a_of(x); }\n",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    assert needs(tmp_path) == {"a.c": {"b.c"}, "b.c": {"d.c"}, "d.c": set()}
    assert cycle(needs(tmp_path)) == []
    (tmp_path / "d.c").write_text("extern int table[2];\nint d(int x) { return table[x]; }\n")
    assert cycle(needs(tmp_path)) == ["b.c", "d.c", "b.c"]


def test_nothing_asks_for_all_of_the_processor() -> None:
    """GCC's answer is made before main, in each program that loads a library of Gnomon's.

    In a virtual machine that took 0.13 ms of each process.
    """
    asking = re.compile(r"__builtin_cpu_(init|supports|is)\s*\(|target_clones")
    sources = [*NATIVE.rglob("*.c"), *(NATIVE.parent / "src").rglob("*.c")]
    assert len(sources) > 100
    for path in sources:
        assert not asking.search(_NO_CODE.sub(" ", path.read_text())), path
