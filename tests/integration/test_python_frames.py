"""Python functions of a program, read at its samples: exact, and unnoticed by the program."""

from __future__ import annotations

import ast
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from signalled_events import interpreters, sampled, stack

from gnomon.sampling.python_records import UNREADABLE, PythonProcess

PROGRAMS = Path(__file__).parents[1] / "programs" / "python_frames"
CHURN = PROGRAMS / "churn.py"
INTERPRETERS = interpreters()

# Functions that a thread or an event loop calls, from files that are not the program's.
CALLED_FROM_ELSEWHERE = {"work", "coroutines"}
FULL_RATE = 4000


def named_lines() -> dict[int, str]:
    """Return the function that each line of the program calls, by the comment behind it."""
    named = {}
    for number, line in enumerate(CHURN.read_text().splitlines(), start=1):
        _, comment, name = line.partition("  # ")
        if comment:
            named[number] = name
    return named


def function_lines() -> dict[str, range]:
    """Return the lines of each function of the program."""
    lines = {"<module>": range(1000)}  # 0: before the first

    def visit(node: ast.AST, prefix: str) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
                first = min([child.lineno, *(one.lineno for one in child.decorator_list)])
                lines[prefix + child.name] = range(first, (child.end_lineno or first) + 1)
            elif isinstance(child, ast.ClassDef):
                visit(child, f"{prefix}{child.name}.")

    visit(ast.parse(CHURN.read_text()), "")
    return lines


def inexact(process: PythonProcess) -> Counter[str]:
    """Return what is wrong with the stacks of a process, and how often."""
    named, ranges = named_lines(), function_lines()
    problems: Counter[str] = Counter()
    nodes, counts = np.unique(process.node[process.node >= 0], return_counts=True)
    for node, count in zip(nodes.tolist(), counts.tolist(), strict=True):
        # A loop without a function stands for nothing.
        functions = [one for one in stack(process, node) if one[0]]
        callers = [*functions[1:], None][: len(functions)]
        for (name, file, line, _), caller in zip(functions, callers, strict=True):
            if file == "<dynamic>":
                expected = "<module>" if name == "made" else "by_exec"
                if caller is None or caller[0] != expected:
                    problems[f"{name} of <dynamic> is called by {caller}"] += count
                continue
            if file != str(CHURN):
                continue
            if line not in ranges[name]:
                problems[f"{name} is at line {line}"] += count
            if caller is None:
                if name != "<module>" and name not in CALLED_FROM_ELSEWHERE:
                    problems[f"{name} is called by nothing"] += count
            elif caller[1] == str(CHURN):
                if named.get(caller[2]) != name:
                    problems[f"{name} is called from {caller}"] += count
            elif caller[1] == "<dynamic>":
                if name != "spin" or caller[:3:2] not in (("made", 2),):
                    problems[f"{name} is called from {caller}"] += count
            elif name not in CALLED_FROM_ELSEWHERE | {"<module>", "coroutine"}:
                problems[f"{name} is called from {caller}"] += count
    return problems


def share(process: PythonProcess, status: int) -> float:
    return float((process.status == status).mean())


@pytest.mark.parametrize("python", INTERPRETERS)
def test_every_stack_is_one_that_the_program_has(python: str, tmp_path: Path) -> None:
    done, processes, _ = sampled(tmp_path / "run", [python, str(CHURN), "1000"], FULL_RATE)
    assert (done.returncode, done.stdout, done.stderr) == (0, "total 0\n", "")
    (process,) = processes
    assert len(process.node) > 500
    assert inexact(process) == {}
    # The moments at which a stack cannot be read are few, and are no stacks.
    assert share(process, UNREADABLE) < 0.03
    assert (process.node[process.status == UNREADABLE] < 0).all()
    named = {
        name for node in np.unique(process.node) if node >= 0 for name, *_ in stack(process, node)
    }
    assert {"spin", "key", "numbers", "recursive", "raises", "through_c"} <= named
    assert len(np.unique(process.tid)) == 4


def test_the_checker_finds_a_stack_that_is_wrong(tmp_path: Path) -> None:
    _, (process,), _ = sampled(tmp_path / "run", [sys.executable, str(CHURN), "100"], FULL_RATE)
    shifted = process.paths.line + 1
    wrong = process.paths.__class__(
        process.paths.functions,
        process.paths.parent,
        process.paths.function,
        shifted,
        process.paths.is_entry,
    )
    moved = PythonProcess(
        process.pid, process.version, process.state, process.parent, wrong, process.time_ns,
        process.tid, process.node, process.status,
    )  # fmt: skip
    assert inexact(process) == {}
    assert sum(inexact(moved).values()) > len(process.node) / 2
