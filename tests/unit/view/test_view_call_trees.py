"""Call trees of sampled runs, top-down and bottom-up, against plain loops over the stacks."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from property_tests import examples
from sampled_runs import SECONDS_EACH, Frame, Stack, write
from view_runs import ranks

from gnomon.errors import UsageError
from gnomon.view import node_details, tree_builders
from gnomon.view.callers_tree import CallersTree
from gnomon.view.open_run import OpenRun
from gnomon.view.path_names import Names
from gnomon.view.session import Session

STACKS = (
    Stack((Frame("main", 10), Frame("solve", 20), Frame("dot", 31)), 40),
    Stack((Frame("main", 10), Frame("solve", 21), Frame("dot", 31)), 10),
    Stack((Frame("main", 11), Frame("solve", 20), Frame("dot", 32)), 5),
    Stack((Frame("main", 11), Frame("solve", 22)), 3),
    Stack((Frame("main", 12), Frame("fib", 41), Frame("fib", 41), Frame("fib", 40)), 20, tid=101),
    Stack((Frame("main", 12), Frame("fib", 41), Frame("fib", 40)), 7, tid=101),
    Stack((Frame("main", 12), Frame("fib", 41), Frame("memcpy", 0, "", "libc.so.6")), 6, tid=101),
)


def opened(path: Path) -> OpenRun:
    (found,) = Session().open([str(path)])
    return found


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> OpenRun:
    return opened(write(tmp_path_factory.mktemp("sampled") / "run", STACKS))


def chains(run: OpenRun, by: str) -> dict[tuple[str, ...], tuple[float, float]]:
    """Return samples of each node, inclusive and exclusive, by the names from the root to it."""
    tree, values = run.tree(by), run.values(by, 0)
    names: list[tuple[str, ...]] = []
    for node in range(tree.n):
        parent = int(tree.parent[node])
        names.append((names[parent] if parent >= 0 else ()) + (tree.text(tree.name, node),))
    assert len(set(names)) == tree.n, "siblings of one name"
    return {
        name: (round(float(total) / SECONDS_EACH, 6), round(float(own) / SECONDS_EACH, 6))
        for name, total, own in zip(
            names, values.inclusive.tolist(), values.exclusive.tolist(), strict=True
        )
    }


def looped_top_down(stacks: Iterable[Stack]) -> dict[tuple[str, ...], tuple[float, float]]:
    found: dict[tuple[str, ...], list[int]] = {}
    for stack in stacks:
        chain: tuple[str, ...] = ("app",)
        found.setdefault(chain, [0, 0])[0] += stack.samples
        for frame in stack.frames:
            chain += (frame.function,)
            found.setdefault(chain, [0, 0])[0] += stack.samples
        found[chain][1] += stack.samples
    return {chain: (float(total), float(own)) for chain, (total, own) in found.items()}


def looped_bottom_up(stacks: Iterable[Stack]) -> dict[tuple[str, ...], tuple[float, float]]:
    """Return the same bottom-up: a stack counts once in the total of each chain that is in it."""
    found: dict[tuple[str, ...], list[int]] = {}
    for stack in stacks:
        names = [frame.function for frame in stack.frames]
        inside = {
            tuple(reversed(names[at:end])) for end in range(1, len(names) + 1) for at in range(end)
        }
        for chain in inside:
            found.setdefault(("app", *chain), [0, 0])[0] += stack.samples
        for at in range(len(names)):
            found["app", *reversed(names[at:])][1] += stack.samples
        found.setdefault(("app",), [0, 0])[0] += stack.samples
    return {chain: (float(total), float(own)) for chain, (total, own) in found.items()}


def test_call_sites_of_a_function_are_one_node(run: OpenRun) -> None:
    assert chains(run, "region") == looped_top_down(STACKS)
    assert chains(run, "region")["app", "main", "solve", "dot"] == (55, 55)


def test_with_lines_what_a_line_calls_is_below_it(run: OpenRun) -> None:
    found = chains(run, "lines")
    assert found["app", "main", "app.cpp:10", "solve", "app.cpp:20"] == (40, 0)
    assert found["app", "main", "app.cpp:11", "solve"] == (8, 3)
    assert found["app", "main", "app.cpp:10", "solve", "app.cpp:21", "dot", "app.cpp:31"] == (
        10, 10,
    )  # fmt: skip
    # A function of unknown lines has no node for them.
    assert found["app", "main", "app.cpp:12", "fib", "app.cpp:41", "memcpy"] == (6, 6)
    own = {at: value[1] for at, value in found.items() if at[-1].startswith("app.cpp")}
    assert sum(own.values()) == sum(stack.samples for stack in STACKS) - 6


def test_bottom_up_a_function_has_its_callers_below(run: OpenRun) -> None:
    assert chains(run, "callers") == looped_bottom_up(STACKS)
    found = chains(run, "callers")
    assert found["app", "fib"] == (33, 27)
    assert found["app", "fib", "fib"] == (27, 27)
    assert found["app", "memcpy", "fib", "main"] == (6, 6)


NAMES = st.sampled_from("abcd")
RANDOM_STACKS = st.lists(
    st.builds(
        Stack,
        st.lists(
            st.builds(Frame, NAMES, st.integers(0, 2), st.just("/src/app.cpp"), st.just("app")),
            min_size=1,
            max_size=7,
        ),
        st.integers(1, 9),
        st.integers(100, 102),
        st.integers(-1, 1),
        st.just(""),
    ),
    min_size=1,
    max_size=12,
)


@given(stacks=RANDOM_STACKS)
@examples(15)
def test_any_stacks_are_those_of_the_loops(
    stacks: list[Stack], tmp_path_factory: pytest.TempPathFactory
) -> None:
    run = opened(write(tmp_path_factory.mktemp("any") / "run", stacks))
    # A run without a call has the tree of flat ones, whose lines are below their functions.
    if run.data.has_call_paths:
        assert chains(run, "region") == looped_top_down(stacks)
        assert chains(run, "callers") == looped_bottom_up(stacks)


def test_callers_are_added_when_asked_for_and_numbers_stay(run: OpenRun) -> None:
    whole = run.tree("callers")
    named = tree_builders.named_paths(run.data, "callers", run._names())
    growing = CallersTree(named, nodes_at_first=0)
    first = growing.tree()
    functions = {frame.function for stack in STACKS for frame in stack.frames}
    assert {first.text(first.name, node) for node in range(1, first.n)} == functions
    assert first.pending.sum() == len(functions) - 1, "nothing calls main"
    while growing.tree().pending.any():
        before = growing.tree()
        growing.grow(int(np.flatnonzero(before.pending)[0]), most=0)
        after = growing.tree()
        assert after.n > before.n
        for name, array in before.arrays().items():
            if name != "pending":
                assert np.array_equal(after.arrays()[name][: before.n], array), name
    assert growing.tree().n == whole.n


def test_values_of_nodes_that_came_later_are_those_of_all(run: OpenRun) -> None:
    tree = run.tree("callers")
    values = run.values("callers", 0)
    for begin in range(0, tree.n, 3):
        some = run.values("callers", 0, nodes=(begin, tree.n))
        assert np.array_equal(some.inclusive, values.inclusive[begin:], equal_nan=True)
        assert np.array_equal(some.exclusive, values.exclusive[begin:], equal_nan=True)
    with pytest.raises(UsageError, match=f"the tree by callers has {tree.n}"):
        run.values("callers", 0, nodes=(0, tree.n + 1))
    assert run.grown("callers", 0).n == tree.n
    with pytest.raises(UsageError, match="no node"):
        run.grown("callers", tree.n)


def test_deep_recursion_has_as_many_callers_and_comes_in_parts(tmp_path: Path) -> None:
    deep = Stack((Frame("main", 1), *[Frame("down", 2)] * 300), 5)
    run = opened(write(tmp_path / "deep", [deep]))
    assert run.tree("region").n == 302
    tree = run.tree("callers")
    assert tree.n < 100
    assert tree.pending.sum() > 0
    while run.tree("callers").pending.any():
        run.grown("callers", int(np.flatnonzero(run.tree("callers").pending)[0]))
    assert run.tree("callers").n == 602
    assert chains(run, "callers")["app", "down"] == (5, 5)


def test_modules_and_files_count_recursion_once(run: OpenRun) -> None:
    modules = chains(run, "module")
    assert modules["app", "app"] == (91, 85)
    assert modules["app", "libc.so.6"] == (6, 6)
    assert modules["app", "app", "fib"] == (33, 27)
    assert modules["app", "app", "main", "app.cpp:12"] == (33, 0)
    assert chains(run, "file")["app", "/src/app.cpp", "fib", "app.cpp:41"] == (33, 0)


def test_each_thread_has_a_call_tree_of_its_own(run: OpenRun) -> None:
    found = chains(run, "rank")
    threads = {chain[-1]: value for chain, value in found.items() if chain[-1].startswith("thread")}
    assert {name: value[0] for name, value in threads.items()} == {
        "thread 100 app": 58, "thread 101 app": 33,
    }  # fmt: skip
    (fib,) = (
        value for chain, value in found.items() if chain[-4:] == ("main", "fib", "fib", "fib")
    )
    assert fib == (20, 20)


def test_a_function_stands_at_its_hottest_line(run: OpenRun) -> None:
    for by, name, line in (
        ("region", "dot", 31), ("callers", "dot", 31), ("callers", "solve", 22),
    ):  # fmt: skip
        tree = run.tree(by)
        (node,) = (
            at
            for at in range(tree.n)
            if tree.text(tree.name, at) == name and (by == "region" or tree.parent[at] == 0)
        )
        assert (tree.text(tree.file, node), int(tree.line[node])) == ("/src/app.cpp", line)


def test_a_line_has_what_it_computes_and_what_it_calls(run: OpenRun) -> None:
    found = node_details.lines(run, "/src/app.cpp", [0], -1)
    (column,) = found["metrics"]
    values = {
        line: (round(total / SECONDS_EACH), round(own / SECONDS_EACH))
        for line, total, own in zip(
            found["lines"], column["inclusive"], column["exclusive"], strict=True
        )
    }
    assert values[10] == (50, 0)
    assert values[31] == (50, 50)
    assert values[41] == (33, 0), "a line that calls itself counts once"
    assert round(column["total"] / SECONDS_EACH) == 91


def test_a_line_of_two_functions_that_call_each_other_counts_once(tmp_path: Path) -> None:
    instances = (Frame("down<int>", 5), Frame("down<long>", 5), Frame("down<int>", 6))
    run = opened(write(tmp_path / "run", [Stack((Frame("main", 1), *instances), 9)]))
    found = node_details.lines(run, "/src/app.cpp", [0], -1)
    (column,) = found["metrics"]
    assert found["lines"] == [1, 5, 6]
    assert [round(value / SECONDS_EACH) for value in column["inclusive"]] == [9, 9, 9]
    assert [round(value / SECONDS_EACH) for value in column["exclusive"]] == [0, 0, 9]


def test_the_error_of_a_value_is_that_of_its_samples(run: OpenRun, tmp_path: Path) -> None:
    assert run.sample_weight(0) == pytest.approx(SECONDS_EACH)
    counted = opened(ranks(tmp_path / "counted"))
    assert counted.sample_weight(0) is None


@pytest.mark.parametrize(
    ("by", "line", "chain"),
    [
        ("region", 21, ("main", "solve")),
        ("region", 31, ("main", "solve", "dot")),
        ("lines", 21, ("main", "app.cpp:10", "solve", "app.cpp:21")),
        ("callers", 32, ("dot",)),
        ("file", 11, ("/src/app.cpp", "main", "app.cpp:11")),
    ],
)
def test_the_node_of_a_line_is_that_of_its_function(
    run: OpenRun, by: str, line: int, chain: tuple[str, ...]
) -> None:
    tree = run.tree(by)
    node = node_details.node_of_line(run, by, "/src/app.cpp", line)
    names: list[str] = []
    while node > 0:
        names.append(tree.text(tree.name, node))
        node = int(tree.parent[node])
    assert tuple(reversed(names)) == chain
    assert node_details.node_of_line(run, by, "/src/app.cpp", 999) == -1


def test_groupings_are_those_that_a_run_has(run: OpenRun, tmp_path: Path) -> None:
    labels = [(one.by, one.label, one.sort) for one in tree_builders.groupings(run.data)]
    assert labels == [
        ("region", "top-down", "inclusive"), ("lines", "lines", "inclusive"),
        ("callers", "bottom-up", "exclusive"), ("module", "module", "inclusive"),
        ("file", "file", "inclusive"), ("rank", "rank", "inclusive"),
    ]  # fmt: skip
    flat = opened(ranks(tmp_path / "flat")).data
    assert [one.by for one in tree_builders.groupings(flat)] == [
        "region", "capability", "file", "rank",
    ]  # fmt: skip


def test_the_metric_of_functions_comes_first(tmp_path: Path) -> None:
    run = opened(write(tmp_path / "two", STACKS, {"cache-misses (sampled)": 1000.0}))
    assert run.metric(run.first_metric()).name == "CPU time"
    assert run.values("callers", 1).inclusive[0] == 91_000
    assert isinstance(run._names(), Names)
