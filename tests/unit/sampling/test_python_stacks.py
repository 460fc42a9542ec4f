"""Native and Python call paths as one."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.sampling.python_records import PythonFunction, PythonPaths
from gnomon.sampling.python_stacks import MergedPaths, NativePaths, merge, native_paths

LOOP = "_PyEval_EvalFrameDefault"
PYTHON = "python3.11"
START = (("python3.11", "_start"), ("libc.so.6", "__libc_start_main"), (PYTHON, "Py_BytesMain"))


def native(
    *paths: tuple[tuple[str, str], ...],
) -> tuple[NativePaths, list[tuple[str, str]], list[int]]:
    """Return a forest of paths of (module, function), its nodes, and the leaf of each path."""
    numbers: dict[tuple[tuple[str, str], ...], int] = {}
    parents: list[int] = []
    nodes: list[tuple[str, str]] = []
    for path in paths:
        for depth in range(1, len(path) + 1):
            if path[:depth] not in numbers:
                numbers[path[:depth]] = len(nodes)
                parents.append(numbers.get(path[: depth - 1], -1))
                nodes.append(path[depth - 1])
    forest = native_paths(
        np.array(parents, np.int32),
        [module for module, _ in nodes],
        [function for _, function in nodes],
        np.array([function == "(truncated)" for _, function in nodes]),
        np.array([module == "[jit]" for module, _ in nodes]),
    )
    return forest, nodes, [numbers[path] for path in paths]


def python(*paths: str) -> tuple[PythonPaths, list[int]]:
    """Return a forest of paths, and the leaf of each: `|f g` is a loop of f, which calls g."""
    numbers: dict[tuple[str, ...], int] = {}
    functions = {"": 0}
    columns: list[tuple[int, int, bool]] = []
    for path in paths:
        words = tuple(path.split())
        for depth in range(1, len(words) + 1):
            if words[:depth] not in numbers:
                name = words[depth - 1]
                function = functions.setdefault(name.strip("|-"), len(functions))
                parent = numbers.get(words[: depth - 1], -1)
                numbers[words[:depth]] = len(columns)
                columns.append((parent, function, name.startswith("|")))
    parents, of_nodes, is_entry = zip(*columns, strict=True)
    forest = PythonPaths(
        tuple(PythonFunction(name, "f.py") for name in functions),
        np.array(parents, np.int32),
        np.array(of_nodes, np.int32),
        np.ones(len(columns), np.int32),
        np.array(is_entry),
    )
    return forest, [numbers[tuple(path.split())] for path in paths]


def merged(
    native_path: tuple[tuple[str, str], ...], python_path: str
) -> tuple[list[str], MergedPaths]:
    """Return the merged path of one sample, from its root."""
    forest, nodes, leaves = native(native_path)
    functions, python_leaves = python(python_path or "|none")
    result = merge(
        forest,
        functions,
        np.array(leaves, np.int32),
        np.array(python_leaves if python_path else [-1], np.int32),
    )
    return names(result, nodes, functions, 0), result


def names(
    result: MergedPaths, nodes: list[tuple[str, str]], functions: PythonPaths, sample: int
) -> list[str]:
    path = []
    node = int(result.of_sample[sample])
    while node >= 0:
        if result.native[node] >= 0:
            path.append(nodes[result.native[node]][1])
        else:
            path.append("py:" + functions.functions[functions.function[result.python[node]]].name)
        node = int(result.parent[node])
    return path[::-1]


@pytest.mark.parametrize(
    ("native_path", "python_path", "expected"),
    [
        ((*START, (PYTHON, LOOP)), "|main f g", "py:main py:f py:g"),
        (
            (*START, (PYTHON, LOOP), (PYTHON, "sorted"), (PYTHON, LOOP), (PYTHON, "long_add")),
            "|main f |key g",
            "py:main py:f py:key py:g",
        ),
        (
            (*START, (PYTHON, LOOP), ("_x.so", "dot"), ("libblas.so.3", "ddot_")),
            "|main f",
            "py:main py:f dot ddot_",
        ),
        (
            (*START, (PYTHON, LOOP), ("_x.so", "call"), (PYTHON, "vectorcall"), (PYTHON, LOOP),
             ("libc.so.6", "memcpy"), ("[kernel]", "page_fault")),
            "|main |back",
            "py:main call py:back memcpy page_fault",
        ),
        # The innermost loop is about to begin.
        ((*START, (PYTHON, LOOP), (PYTHON, LOOP)), "|main f", "py:main py:f"),
        # A loop whose function has ended still frees what it had.
        ((*START, (PYTHON, LOOP), (PYTHON, LOOP), (PYTHON, LOOP)), "|main |- |del",
         "py:main py:del"),
        # Embedded in a C program.
        (
            (("app", "_start"), ("libc.so.6", "__libc_start_main"), ("app", "main"),
             ("libpython3.11.so.1.0", "PyObject_Call"), ("libpython3.11.so.1.0", LOOP)),
            "|f",
            "main py:f",
        ),
        # A thread.
        ((("libc.so.6", "clone3"), ("libc.so.6", "start_thread"), (PYTHON, "bootstrap"),
          (PYTHON, f"{LOOP}.cold")), "|run", "py:run"),
        # The outermost part of the native stack is missing, of the Python one it is not.
        ((("", "(truncated)"), ("_x.so", "dot"), (PYTHON, LOOP), ("_x.so", "add")),
         "|main |f |g", "(truncated) py:main py:f dot py:g add"),
        # In the handler that reads the stack.
        ((*START, (PYTHON, LOOP), ("libc.so.6", "__restore_rt"),
          ("libgnomon_sampling.so", "on_signal"), ("libc.so.6", "clock_gettime")),
         "|main f", "py:main py:f"),
    ],
)  # fmt: skip
def test_python_functions_stand_where_the_loops_are(
    native_path: tuple[tuple[str, str], ...], python_path: str, expected: str
) -> None:
    path, result = merged(native_path, python_path)
    assert path == expected.split()
    assert result.n_apart == 0


def test_without_a_python_stack_the_native_one_stays() -> None:
    path, result = merged((*START, (PYTHON, LOOP)), "")
    assert path == ["_start", "__libc_start_main", "Py_BytesMain", LOOP]
    assert result.n_apart == 0


TRAMPOLINES = (
    *START, ("[jit]", "main"), (PYTHON, LOOP), (PYTHON, "vectorcall"), ("[jit]", "f"),
    (PYTHON, LOOP), ("_x.so", "dot"),
)  # fmt: skip


@pytest.mark.parametrize(
    ("native_path", "python_path", "expected"),
    [
        (TRAMPOLINES, "", "main f dot"),
        # The interpreter's own functions before its first trampoline stay.
        ((*START, (PYTHON, "init")), "", "_start __libc_start_main Py_BytesMain init"),
        ((("", "(truncated)"), *TRAMPOLINES[6:]), "", "(truncated) f dot"),
        # Of a process that read its stacks, too, they are one and the same.
        (TRAMPOLINES, "|main |f", "py:main py:f dot"),
    ],
)
def test_trampolines_stand_for_python_functions(
    native_path: tuple[tuple[str, str], ...], python_path: str, expected: str
) -> None:
    assert merged(native_path, python_path)[0] == expected.split()


GREENLET = (
    *START, (PYTHON, LOOP), ("_greenlet.cpython-311-x86_64-linux-gnu.so", "inner_bootstrap"),
    (PYTHON, "PyObject_Call"), (PYTHON, LOOP),
)  # fmt: skip


@pytest.mark.parametrize(
    ("native_path", "python_path", "expected"),
    [
        (GREENLET, "|ping spin", "py:ping py:spin"),
        ((*GREENLET, ("_x.so", "sum"), (PYTHON, LOOP)), "|ping |back", "py:ping sum py:back"),
        # It is about to switch to another one: none begins.
        ((*GREENLET, GREENLET[4]), "|ping", "py:ping inner_bootstrap"),
        ((*GREENLET[:4], ("_interpreters.cpython-313.so", "run"), (PYTHON, LOOP)), "|sub",
         "py:sub"),
    ],
)  # fmt: skip
def test_what_begins_in_a_greenlet_has_no_callers(
    native_path: tuple[tuple[str, str], ...], python_path: str, expected: str
) -> None:
    assert merged(native_path, python_path)[0] == expected.split()


@pytest.mark.parametrize("python_path", ["|a |b |c", "|a |b |c |d |e"])
def test_stacks_that_do_not_fit_together_are_not_mixed(python_path: str) -> None:
    native_path = (
        *START,
        (PYTHON, LOOP),
        (PYTHON, LOOP),
        (PYTHON, LOOP),
        (PYTHON, LOOP),
        ("x", "y"),
    )
    path, result = merged(
        (*native_path, (PYTHON, LOOP), (PYTHON, LOOP), (PYTHON, LOOP)), python_path
    )
    assert path.count(LOOP) == 7
    assert result.n_apart == 1


def test_paths_with_and_without_python_functions_are_apart() -> None:
    path = (*START, (PYTHON, LOOP), (PYTHON, "add"))
    forest, nodes, leaves = native(path, path[:3])
    functions, of_python = python("|main")
    samples = np.array([leaves[1], leaves[0], leaves[1]], np.int32)
    result = merge(forest, functions, samples, np.array([-1, of_python[0], -1], np.int32))
    outside = ["_start", "__libc_start_main", "Py_BytesMain"]
    assert [names(result, nodes, functions, sample) for sample in range(3)] == [
        outside, ["py:main"], outside
    ]  # fmt: skip


def test_paths_that_have_a_beginning_in_common_share_its_nodes() -> None:
    forest, nodes, leaves = native(
        (*START, (PYTHON, LOOP), ("_x.so", "dot")),
        (*START, (PYTHON, LOOP), ("_x.so", "add")),
        (*START, (PYTHON, LOOP), (PYTHON, "sorted"), (PYTHON, LOOP)),
    )
    functions, of_python = python("|main f", "|main g", "|main g |key")
    which = np.array([0, 1, 2, 0, 0])
    result = merge(
        forest, functions, np.array(leaves, np.int32)[which], np.array(of_python, np.int32)[which]
    )
    assert [names(result, nodes, functions, sample) for sample in range(4)] == [
        ["py:main", "py:f", "dot"],
        ["py:main", "py:g", "add"],
        ["py:main", "py:g", "py:key"],
        ["py:main", "py:f", "dot"],
    ]
    assert len(result.parent) == 6
    assert result.of_sample[0] == result.of_sample[3] == result.of_sample[4]
    is_root = result.parent < 0
    assert (result.parent[~is_root] < np.flatnonzero(~is_root)).all()
