"""Python functions in native call paths: they stand where the interpreter's own frames are.

One call of `_PyEval_EvalFrameDefault` runs several Python functions, one that C called and those
that these call in turn. So the n-th such call of a native path and the n-th group of a Python path,
both counted from the root, are the same. Functions of the interpreter are left out; those of
extensions and libraries stay below the Python function that called them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from gnomon.sampling.python_records import PythonFunction, PythonPaths

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

_LOOP = re.compile(r"_PyEval_EvalFrameDefault(\..*)?$")
_INTERPRETER = re.compile(r"(lib)?python3?(\.\d+)?[a-z]*(\.so.*)?$")
# What the C library calls a program and its threads from.
_START = frozenset(
    ("_start", "__libc_start_main", "__libc_start_main_impl", "__libc_start_call_main",
     "start_thread", "clone", "clone3", "__clone", "__clone3", "thread_start")
)  # fmt: skip
_OURS = "libgnomon_sampling.so"
# What they call in a loop has frames of its own: a greenlet, or another interpreter. Above it the C
# stack is another one's.
_BEGINNING = re.compile(r"(_greenlet|_xxsubinterpreters|_interpreters)\b.*\.so$")
# Of a native path with trampolines, in the place of a node of a Python path.
_BY_TRAMPOLINES = -2
_SIGNAL_RETURNS = frozenset(("__restore_rt", "__kernel_rt_sigreturn"))


@dataclass(frozen=True)
class NativePaths:
    """Native call paths: a forest in which each node follows its parent.

    Attributes:
        parent: of each node; -1: it is a root.
        is_loop: whether it is a call of the interpreter's loop.
        is_hidden: whether it is left out of paths with Python functions: a function of the
            interpreter, or what comes before the first of a thread.
        is_ours: whether it belongs to the handler in which the stack was read.
        is_cut: whether it stands for the missing outermost part of a stack.
        is_python: whether it is a trampoline, which stands for a Python function.
        begins: whether it is a loop whose functions are called by none of those above it.
    """

    parent: NDArray[np.int32]
    is_loop: NDArray[np.bool_]
    is_hidden: NDArray[np.bool_]
    is_ours: NDArray[np.bool_]
    is_cut: NDArray[np.bool_]
    is_python: NDArray[np.bool_]
    begins: NDArray[np.bool_]


def is_interpreter(module: str) -> bool:
    """Return whether a program or library is called as Python is."""
    return _INTERPRETER.match(module) is not None


def native_paths(
    parents: NDArray[np.int32],
    modules: Sequence[str],
    functions: Sequence[str],
    is_cut: NDArray[np.bool_],
    is_python: NDArray[np.bool_],
) -> NativePaths:
    """Return native paths with what their nodes are.

    Args:
        parents: of each node; -1: it is a root.
        modules: the base name of its program or library.
        functions: its function, that of the machine code where others were compiled into it.
        is_cut: whether it stands for the missing outermost part of a stack.
        is_python: whether it is a trampoline, which stands for a Python function.
    """
    is_loop = [_LOOP.match(function) is not None for function in functions]
    interpreters = {module for module, loop in zip(modules, is_loop, strict=True) if loop}
    hidden = {module: module in interpreters or is_interpreter(module) for module in set(modules)}
    is_hidden: list[bool] = []
    is_ours: list[bool] = []
    for node, parent in enumerate(parents.tolist()):
        begins = functions[node] in _START and (parent < 0 or is_hidden[parent])
        is_hidden.append(not is_loop[node] and (hidden[modules[node]] or begins))
        is_ours.append(modules[node] == _OURS)
        if is_ours[node] and parent >= 0 and functions[parent] in _SIGNAL_RETURNS:
            is_ours[parent] = True
    return NativePaths(
        parents,
        np.array(is_loop, bool),
        np.array(is_hidden, bool),
        np.array(is_ours, bool),
        is_cut,
        is_python,
        np.array(list(_begin(parents.tolist(), is_loop, modules)), bool),
    )


def _begin(
    parents: Sequence[int], is_loop: Sequence[bool], modules: Sequence[str]
) -> Iterator[bool]:
    """Yield of each node whether it is a loop that something like a greenlet begins with."""
    own = {module: _BEGINNING.match(module) is not None for module in set(modules)}
    # Whether there is such a node between one, included, and the loop above it.
    is_behind: list[bool] = []
    for parent, loops, module in zip(parents, is_loop, modules, strict=True):
        behind = parent >= 0 and is_behind[parent]
        yield behind and loops
        is_behind.append((behind or own[module]) and not loops)


@dataclass(frozen=True)
class MergedPaths:
    """Call paths of both.

    Attributes:
        parent: of each node; -1: it is a root.
        native: of each node, -1 for one of Python.
        python: of each node, -1 for a native one.
        of_sample: the node of each sample.
        n_apart: samples whose two stacks do not fit together; they are on their native paths.
    """

    parent: NDArray[np.int32]
    native: NDArray[np.int32]
    python: NDArray[np.int32]
    of_sample: NDArray[np.int32]
    n_apart: int


def joined(forests: Sequence[PythonPaths]) -> PythonPaths:
    """Return the paths of several processes as one forest, their nodes one after the other."""
    functions: dict[PythonFunction, int] = {}
    # Where there are none the arrays have no length all the same.
    numbered = [_paths_of_none()]
    offset = 0
    for paths in forests:
        numbers = [functions.setdefault(function, len(functions)) for function in paths.functions]
        numbered.append(
            replace(
                paths,
                parent=np.where(paths.parent < 0, -1, paths.parent + offset).astype(np.int32),
                function=np.array(numbers, np.int32)[paths.function],
            )
        )
        offset += len(paths.parent)
    return PythonPaths(
        tuple(functions),
        *(
            np.concatenate([getattr(paths, name) for paths in numbered])
            for name in ("parent", "function", "line", "is_entry")
        ),
    )


def merge(
    native: NativePaths,
    python: PythonPaths,
    native_of_sample: NDArray[np.int32],
    python_of_sample: NDArray[np.int32],
) -> MergedPaths:
    """Return the paths of samples.

    Args:
        native: the native paths.
        python: the Python paths.
        native_of_sample: the native node of each sample.
        python_of_sample: its Python node; -1: it has none, and its native path stays as it is,
            but where trampolines in it stand for Python functions.
    """
    pairs = (native_of_sample.astype(np.int64) << 32) | (python_of_sample.astype(np.int64) + 1)
    distinct, first, of_pair, counts = np.unique(
        pairs, return_index=True, return_inverse=True, return_counts=True
    )
    merger = _Merger(native, python)
    nodes = np.empty(len(distinct), np.int32)
    n_apart = 0
    for index, sample in enumerate(first.tolist()):
        below = int(native_of_sample[sample])
        node = merger.node(below, int(python_of_sample[sample]))
        if node is None:
            n_apart += int(counts[index])
            node = merger.node(below, -1)
        nodes[index] = -1 if node is None else node
    parent, native_node, python_node = merger.columns()
    return MergedPaths(parent, native_node, python_node, nodes[of_pair], n_apart)


def _paths_of_none() -> PythonPaths:
    none = np.empty(0, np.int32)
    return PythonPaths((), none, none, none, np.empty(0, bool))


class _Merger:
    """Builds the merged forest; what pairs of nodes have in common is merged once."""

    def __init__(self, native: NativePaths, python: PythonPaths) -> None:
        self._native, self._python = native, python
        self._parents = native.parent.tolist()
        self._python_parents = python.parent.tolist()
        self._functions = python.function.tolist()
        self._lines = python.line.tolist()
        self._is_entry = python.is_entry.tolist()
        self._is_loop = native.is_loop.tolist()
        self._is_hidden = native.is_hidden.tolist()
        self._begins = native.begins.tolist()
        self._n_loops = _depths(self._parents, self._is_loop, self._begins)
        self._n_groups = _depths(self._python_parents, self._is_entry)
        self._is_cut = native.is_cut.tolist()
        self._is_python = native.is_python.tolist()
        self._has_trampoline = _is_below(self._parents, self._is_python)
        self._is_open = _is_below(self._parents, self._is_cut)
        self._ours = _outermost(self._parents, native.is_ours.tolist())
        # A merged node by its parent and what it stands for.
        self._numbers: dict[tuple[int, int, int, int], int] = {}
        self._nodes: list[tuple[int, int, int]] = []
        # Of native nodes without Python functions, and of pairs.
        self._alone: dict[int, int] = {}
        self._merged: dict[tuple[int, int], int] = {}

    def columns(self) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
        """Return parent, native and Python node of each merged node."""
        table = np.array(self._nodes, np.int32).reshape(-1, 3)
        return table[:, 0], table[:, 1], table[:, 2]

    def node(self, native: int, python: int) -> int | None:
        """Return the merged node of a pair; None if they do not fit together."""
        if native >= 0 and self._ours[native] >= 0:
            native = self._parents[self._ours[native]]
        if python < 0 and native >= 0 and self._has_trampoline[native]:
            return self._paired(native, _BY_TRAMPOLINES, idle=False)
        if python < 0:
            return self._plain(native)
        if native < 0:
            return None
        n_loops, n_groups = self._n_loops[native], self._n_groups[python]
        if n_loops == n_groups + 1:
            # The innermost loop is about to begin its function, or has ended it.
            return self._paired(native, python, idle=True)
        if n_loops != n_groups and not (self._is_open[native] and 0 < n_loops < n_groups):
            return None
        return self._paired(native, python, idle=False)

    def _number(self, parent: int, native: int, python: int) -> int:
        if python >= 0:
            key = (parent, -1, self._functions[python], self._lines[python])
        else:
            key = (parent, native, -1, -1)
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self._nodes)
            self._nodes.append((parent, native, python))
        return number

    def _plain(self, native: int) -> int | None:
        chain = []
        merged = -1
        while native >= 0:
            known = self._alone.get(native)
            if known is not None:
                merged = known
                break
            chain.append(native)
            native = self._parents[native]
        for below in reversed(chain):
            merged = self._number(merged, below, -1)
            self._alone[below] = merged
        return merged if merged >= 0 else None

    def _paired(self, native: int, python: int, *, idle: bool) -> int | None:
        """Return the merged node of two paths, from the leaf up to what is merged already."""
        steps: list[tuple[tuple[int, int] | None, int, list[int]]] = []
        merged = -1
        while True:
            if native < 0:
                break
            is_reusable = not idle
            known = self._merged.get((native, python)) if is_reusable else None
            if known is not None:
                merged = known
                break
            key = (native, python) if is_reusable else None
            if self._is_loop[native] and idle:
                idle = False
                steps.append((None, -1, []))
            elif self._is_loop[native]:
                group, python = self._group(python, whole=False)
                steps.append((key, -1, group))
            elif self._is_cut[native]:
                # What is missing of the native path is known of the Python one.
                group, python = self._group(python, whole=True)
                steps.append((key, native, group))
            else:
                is_twice = self._is_python[native] and python != _BY_TRAMPOLINES
                steps.append((key, -1 if self._is_hidden[native] or is_twice else native, []))
            native = -1 if self._begins[native] else self._parents[native]
        for key, kept, group in reversed(steps):
            if kept >= 0:
                merged = self._number(merged, kept, -1)
            for function in reversed(group):
                if self._functions[function]:
                    merged = self._number(merged, -1, function)
            if key is not None:
                self._merged[key] = merged
        return merged if merged >= 0 else None

    def _group(self, python: int, *, whole: bool) -> tuple[list[int], int]:
        """Return the functions of one loop (or all), innermost first, and the node above."""
        group = []
        while python >= 0:
            group.append(python)
            ends = self._is_entry[python] and not whole
            python = self._python_parents[python]
            if ends:
                break
        return group, python


def _depths(
    parents: Sequence[int], is_counted: Sequence[bool], begins: Sequence[bool] = ()
) -> list[int]:
    """Return how many nodes that count are on the path to each node, with itself.

    Args:
        parents: of each node.
        is_counted: whether it counts.
        begins: whether what is above it does not; by default of none.
    """
    depths: list[int] = []
    for parent, counts, first in zip(
        parents, is_counted, begins or [False] * len(parents), strict=True
    ):
        depths.append((depths[parent] if parent >= 0 and not first else 0) + counts)
    return depths


def _is_below(parents: Sequence[int], is_root: Sequence[bool]) -> list[bool]:
    below: list[bool] = []
    for parent, root in zip(parents, is_root, strict=True):
        below.append(root or (parent >= 0 and below[parent]))
    return below


def _outermost(parents: Sequence[int], is_marked: Sequence[bool]) -> list[int]:
    """Return the outermost marked node on the path to each node, -1 where there is none."""
    outermost: list[int] = []
    for node, (parent, marked) in enumerate(zip(parents, is_marked, strict=True)):
        above = outermost[parent] if parent >= 0 else -1
        outermost.append(above if above >= 0 else node if marked else -1)
    return outermost
