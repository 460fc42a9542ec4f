"""Local names that say nothing live at most three lines (docs/style.md)."""

from __future__ import annotations

import ast
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "src" / "gnomon"
VAGUE = {"one", "found", "made", "at", "there", "known"}
LINES_MOST = 3


class Names(ast.NodeVisitor):
    """Lines on which each variable of a vague name stands.

    A function, a comprehension and a `for` statement each have a variable of their own for every
    name that they bind; in a function that is every name that no inner one of these binds.
    """

    def __init__(self) -> None:
        self.lines: dict[tuple[ast.AST, str], list[int]] = {}
        self._binding: dict[str, ast.AST] = {}
        self._function: ast.AST | None = None

    def _add(self, name: str, line: int, binder: ast.AST | None = None) -> None:
        owner = binder or self._binding.get(name) or self._function
        if name in VAGUE and owner is not None:
            self.lines.setdefault((owner, name), []).append(line)

    def _inside(self, node: ast.AST, names: set[str], parts: list[ast.AST]) -> None:
        before = self._binding
        self._binding = {**before, **dict.fromkeys(names & VAGUE, node)}
        for part in parts:
            self.visit(part)
        self._binding = before

    def visit_Name(self, node: ast.Name) -> None:
        self._add(node.id, node.lineno)

    def visit_arg(self, node: ast.arg) -> None:
        self._add(node.arg, node.lineno)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        names = {part.arg for part in ast.walk(node.args) if isinstance(part, ast.arg)}
        stored = {
            part.id
            for part in ast.walk(node)
            if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)
        }
        outer, self._function = self._function, node
        self._inside(node, names | stored, [node.args, *node.body])
        self._function = outer

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self._inside(node, {part.arg for part in ast.walk(node.args) if isinstance(part, ast.arg)},
                     [node.args, node.body])  # fmt: skip

    def visit_For(self, node: ast.For) -> None:
        self.visit(node.iter)
        self._inside(node, targets(node.target), [node.target, *node.body, *node.orelse])

    def _comprehension(self, node: ast.AST, parts: list[ast.comprehension]) -> None:
        names = {name for part in parts for name in targets(part.target)}
        self.visit(parts[0].iter)
        inner = [child for child in ast.iter_child_nodes(node) if child is not parts[0]]
        self._inside(node, names, [*inner, parts[0].target, *parts[0].ifs])

    def visit_ListComp(self, node: ast.ListComp) -> None:
        self._comprehension(node, node.generators)

    def visit_SetComp(self, node: ast.SetComp) -> None:
        self._comprehension(node, node.generators)

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> None:
        self._comprehension(node, node.generators)

    def visit_DictComp(self, node: ast.DictComp) -> None:
        self._comprehension(node, node.generators)


def targets(node: ast.AST) -> set[str]:
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}


def vague_names(source: str) -> list[str]:
    names = Names()
    names.visit(ast.parse(source))
    return [
        f"{min(lines)}: {name}"
        for (_, name), lines in names.lines.items()
        if max(lines) - min(lines) >= LINES_MOST
    ]


def test_vague_names_live_at_most_three_lines() -> None:
    assert [
        f"{path.relative_to(PACKAGE)}:{problem}"
        for path in sorted(PACKAGE.rglob("*.py"))
        for problem in vague_names(path.read_text())
    ] == []


def test_a_vague_name_is_found() -> None:
    lines = "\n    pass\n    pass\n"
    assert vague_names(f"def f():\n    found = 1{lines}    return found\n") == ["2: found"]
    assert vague_names(f"def f(at):{lines}    return at\n") == ["1: at"]
    assert vague_names("for one in x:\n    a\n    b\n    c(one)\n") == ["1: one"]
    assert (
        vague_names("def f():\n    return [\n        one\n\n\n        for one in x\n    ]\n") != []
    )


def test_short_lives_are_none() -> None:
    loops = "    for one in x:\n        g(one)\n"
    assert vague_names("def f():\n" + loops * 5) == []
    assert vague_names("def f():\n" + "    g([one for one in x])\n" * 5) == []
    assert vague_names("def f():\n    found = g()\n    if found:\n        return found\n") == []
