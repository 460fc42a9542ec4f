"""Graphs worked by hand: totals, cycles, and what options leave out by gprof and by the chapter."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest
from call_profiles import call_profile, shown, values
from hypothesis import given
from hypothesis import strategies as st

from gnomon.callgraph.call_graph import CallGraph, call_graph
from gnomon.callgraph.call_profile import CallProfile
from gnomon.callgraph.merged_profiles import merged_profiles
from gnomon.callgraph.reports.plain_reports import PLAIN_REPORTS, report_data, report_text
from gnomon.callgraph.selection import Selection
from gnomon.errors import UsageError

OWN = {"main": 1.0, "a": 2.0, "b": 3.0, "c": 4.0, "d": 5.0}
CALLS = {"main a": 1, "main c": 1, "a b": 2, "a c": 3, "b d": 4}


def test_time_goes_to_callers_by_calls() -> None:
    graph = call_graph(call_profile(OWN, CALLS))
    assert values(graph) == {
        "main": (1, 14), "a": (2, 11), "b": (3, 5), "c": (4, 0), "d": (5, 0),
    }  # fmt: skip
    assert [graph.profile.name[node] for node in graph.order] == ["main", "a", "b", "d", "c"]


def test_what_calls_came_to_is_taken_where_it_is_known() -> None:
    totals = {"main a": 10.5, "main c": 3.5, "a b": 8.0, "a c": 0.5, "b d": 5.0}
    graph = call_graph(call_profile(OWN, None, totals))
    assert values(graph) == {
        "main": (1, 14), "a": (2, 8.5), "b": (3, 5), "c": (4, 0), "d": (5, 0),
    }  # fmt: skip
    assert (graph.calls == -1).all()


@pytest.mark.parametrize(
    ("option", "by_gprof", "by_chapter"),
    [
        # What only `a` calls has an entry by gprof, and none by the chapter.
        (Selection(hidden=("a",)), {"main", "b", "c", "d"}, {"main", "c"}),
        (Selection(dropped=("a",)), {"main", "b", "c", "d"}, {"main", "c"}),
        (Selection(shown=("a",)), {"a", "b", "c", "d"}, {"a", "b", "c", "d"}),
        (Selection(counted=("a",)), {"a", "b", "c", "d"}, {"a", "b", "c", "d"}),
        # -f goes before -e, -F before -E.
        (Selection(hidden=("b",), shown=("a",)), {"a", "c"}, {"a", "b", "c", "d"}),
        (Selection(dropped=("b",), counted=("a",)), {"a", "c"}, {"a", "b", "c", "d"}),
        (Selection(dropped=("b",), shown=("a",)), {"a", "c"}, {"a", "c"}),
    ],
)
def test_who_has_an_entry(option: Selection, by_gprof: set[str], by_chapter: set[str]) -> None:
    profile = call_profile(OWN, CALLS)
    assert shown(call_graph(profile, option._replace(by_chapter=True))) == by_chapter
    assert shown(call_graph(profile, option)) == by_gprof


def test_times_that_do_not_count() -> None:
    profile = call_profile(OWN, CALLS)
    by_chapter = call_graph(profile, Selection(dropped=("a",), by_chapter=True))
    # c keeps its time, of which main has a quarter: it is called from elsewhere, too.
    assert values(by_chapter) == {
        "main": (1, 1), "a": (0, 0), "b": (0, 0), "c": (4, 0), "d": (0, 0),
    }  # fmt: skip
    by_gprof = call_graph(profile, Selection(dropped=("a",)))
    assert values(by_gprof) == {
        "main": (1, 1), "a": (0, 0), "b": (3, 5), "c": (1, 0), "d": (5, 0),
    }  # fmt: skip
    by_chapter = call_graph(profile, Selection(counted=("a",), by_chapter=True))
    assert values(by_chapter) == {
        "main": (0, 0), "a": (2, 11), "b": (3, 5), "c": (4, 0), "d": (5, 0),
    }  # fmt: skip
    by_gprof = call_graph(profile, Selection(counted=("a",)))
    assert values(by_gprof)["c"] == (3, 0)
    # -e changes no number.
    unchanged = call_graph(profile, Selection(hidden=("a",), by_chapter=True))
    assert values(unchanged) == values(call_graph(profile))


def test_a_cycle_that_only_a_named_function_calls_is_hidden() -> None:
    own = dict.fromkeys(("main", "a", "x", "y", "z"), 1.0)
    calls = {"main a": 1, "a x": 1, "x y": 5, "y x": 4, "y z": 1, "main z": 1}
    profile = call_profile(own, calls)
    assert shown(call_graph(profile, Selection(hidden=("a",), by_chapter=True))) == {"main", "z"}
    dropped = call_graph(profile, Selection(dropped=("a",), by_chapter=True))
    assert values(dropped)["x"] == values(dropped)["y"] == (0, 0)
    assert values(dropped)["main"] == (1, 0.5)


def test_a_name_that_is_not_there() -> None:
    with pytest.raises(UsageError, match="-E mian: the profile has no such function; did you mean"):
        call_graph(call_profile(OWN, CALLS), Selection(dropped=("mian",)))


def test_names_in_cxx_with_and_without_their_files() -> None:
    own = dict.fromkeys(
        ("norm(int)", "norm(double)", "ns::S::norm(int)", "int twice<int>(int)"), 1.0
    )
    profile = call_profile(own, file={"norm(int)": "src/a.cc", "ns::S::norm(int)": "src/a.cc"})
    for name, chosen in (
        ("norm", {"norm(int)", "norm(double)"}),
        ("a.cc:norm", {"norm(int)"}),
        ("src/a.cc:norm(int)", {"norm(int)"}),
        ("a.cc:ns::S::norm", {"ns::S::norm(int)"}),
    ):
        assert shown(call_graph(profile, Selection(shown=(name,)))) == chosen, name
    for name, hint in (
        ("nor", "norm(int), norm(double), ns::S::norm(int)"), ("twi", "int twice<int>(int)"),
        ("b.cc:norm", "norm(int), norm(double), ns::S::norm(int)"),
    ):  # fmt: skip
        with pytest.raises(UsageError) as caught:
            call_graph(profile, Selection(hidden=(name,)))
        assert str(caught.value).endswith(f"-e {name}: the profile has no such function; did you "
                                          f"mean {hint}?")  # fmt: skip


def test_a_name_of_two_lines_stays_on_its_line() -> None:
    own = {"f\n\x1b[31mg": 2.0, "main": 1.0}
    profile = call_profile(own, module={"main": "lib\nx"})
    graph = call_graph(profile)
    for report in PLAIN_REPORTS:
        lines = report_text(graph, report).splitlines()
        assert not [line for line in lines if line.startswith(("\x1b", "x"))], report
    assert r"f\n\x1b[31mg" in report_text(graph, "flat")
    assert report_data(graph, "flat")[0]["function"] == "f\n\x1b[31mg"


def test_what_is_called_from_an_unknown_place_keeps_its_time() -> None:
    # b came to 4 of which calls from a have 3.
    graph = call_graph(call_profile({"a": 1.0, "b": 4.0}, None, {"a b": 3.0}))
    assert values(graph) == {"a": (1, 3), "b": (4, 0)}


def test_profiles_are_added_by_functions(tmp_path: Path) -> None:
    one = call_profile({"main": 1.0, "f": 2.0}, {"main f": 4})
    other = call_profile({"main": 3.0, "g": 5.0}, {"main g": 6})
    merged, files = merged_profiles([one, other], [tmp_path / "1", tmp_path / "2"], by_file=True)
    assert values(call_graph(merged)) == {"main": (4, 7), "f": (2, 0), "g": (5, 0)}
    assert [file.own.tolist() for file in files] == [[1, 2, 0], [3, 0, 5]]
    assert [file.total.tolist() for file in files] == [[3, 2, 0], [8, 0, 5]]
    assert merged.n_files == 2
    others = call_profile({"main": 1.0}, {})
    assert merged_profiles([one, others], [tmp_path, tmp_path], by_file=False)[0].whole == 4


GRAPHS = st.integers(1, 12).flatmap(
    lambda n: st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=40).map(
        lambda arcs: (n, arcs)
    )
)


def graph_of(n: int, arcs: Iterable[tuple[int, int]]) -> CallGraph:
    """Return a graph of n functions and one that calls them all, each of which has 1 itself."""
    ends = np.array([*dict.fromkeys(arcs), *((n, at) for at in range(n))], np.int32)
    empty = call_profile({f"f{at}": 1.0 for at in range(n + 1)}, {})
    return call_graph(
        CallProfile(
            program=empty.program, metric=empty.metric, name=empty.name, title=empty.title,
            module=empty.module, places=empty.places, own=empty.own, whole=n + 1.0,
            caller=ends[:, 0], callee=ends[:, 1], calls=np.ones(len(ends), np.int64),
        )
    )  # fmt: skip


@given(GRAPHS)
def test_cycles_are_what_calls_each_other(graph: tuple[int, list[tuple[int, int]]]) -> None:
    n, arcs = graph
    whole = graph_of(n, arcs)
    reaches = np.eye(n, dtype=bool)
    for caller, callee in arcs:
        reaches[caller, callee] = True
    for _ in range(n):
        reaches |= (reaches.astype(int) @ reaches.astype(int)) > 0
    together = reaches & reaches.T
    in_cycles = {frozenset(np.flatnonzero(row).tolist()) for row in together if row.sum() > 1}
    assert {frozenset(cycle) for cycle in whole.members} == in_cycles
    numbers = [0] * (n + 1)
    for number, members in enumerate(whole.members, 1):
        for member in members:
            numbers[member] = number
    assert whole.cycle.tolist() == numbers
    # Nothing is passed on before it is whole: what calls all has the time of all.
    assert whole.total[n] == pytest.approx(n + 1)


def test_deep_and_wide_graphs_take_no_time() -> None:
    n = 20_000
    chain = [(at, at + 1) for at in range(n - 1)]
    backward = [(at + 1, at) for at in range(n - 1)]

    def sizes(arcs: list[tuple[int, int]]) -> list[int]:
        graph = graph_of(n, arcs)
        assert graph.total[n] == pytest.approx(n + 1)
        return [len(cycle) for cycle in graph.members]

    assert sizes(chain) == []
    # Every function of a chain calls the first one again, or the one before: one cycle of all.
    assert sizes([*chain, *((at, 0) for at in range(1, n))]) == [n]
    assert sizes([*chain, *backward]) == [n]
    assert sizes([*backward, *chain]) == [n]
