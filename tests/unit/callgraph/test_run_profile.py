"""Call profiles of runs: of stacks what calls came to, of arcs what the file says."""

from __future__ import annotations

from pathlib import Path

import pytest
from call_profiles import values
from sampled_runs import SECONDS_EACH, Frame, Stack, write

from gnomon.callgraph.call_graph import call_graph
from gnomon.callgraph.call_profile import CallProfile
from gnomon.callgraph.run_profile import call_profile_of_run
from gnomon.callgraph.selection import Selection
from gnomon.errors import UsageError
from gnomon.store import run_directory
from gnomon.store.reports import code_rows


def stack(*names: str) -> tuple[Frame, ...]:
    return tuple(Frame(name, 10 + len(name), f"/src/{name}.c") for name in names)


STACKS = (
    Stack(stack("main", "solve", "norm"), 4),
    Stack(stack("main", "solve"), 3, 101),
    Stack(stack("main", "norm"), 2),
    Stack(stack("main", "walk", "walk", "walk", "norm"), 5),
    Stack(stack("main", "walk", "walk"), 1),
    # A cycle of two, entered at either.
    Stack(stack("main", "even", "odd", "even"), 7),
    Stack(stack("main", "odd", "even", "odd", "norm"), 6, 101),
)


def profile_of(folder: Path, stacks: tuple[Stack, ...] = STACKS) -> CallProfile:
    run = run_directory.find(str(write(folder / "r.gnomon", stacks)))
    return call_profile_of_run(run)


def arcs(profile: CallProfile) -> dict[tuple[str, str], tuple[int, int]]:
    """Return what calls came to, and what the callee itself had of it, in samples."""
    return {
        (profile.name[caller], profile.name[callee]): (
            round(total / SECONDS_EACH), round(own / SECONDS_EACH)
        )
        for caller, callee, total, own in zip(
            profile.caller, profile.callee, profile.arc_total, profile.arc_own, strict=True
        )
    }  # fmt: skip


def test_what_calls_came_to(tmp_path: Path) -> None:
    profile = profile_of(tmp_path)
    assert arcs(profile) == {
        ("main", "solve"): (7, 3), ("main", "norm"): (2, 2), ("solve", "norm"): (4, 4),
        # A recursion is one call of main, and walk's own time in it is that of all of it.
        ("main", "walk"): (6, 1), ("walk", "walk"): (6, 0), ("walk", "norm"): (5, 5),
        ("main", "even"): (7, 0), ("even", "odd"): (13, 0), ("odd", "even"): (13, 7),
        ("main", "odd"): (6, 0), ("odd", "norm"): (6, 6),
    }  # fmt: skip
    assert (profile.calls == -1).all()
    assert not profile.has_counts
    assert profile.has_totals


def test_totals_are_those_of_the_profile(tmp_path: Path) -> None:
    run = run_directory.find(str(write(tmp_path / "r.gnomon", STACKS)))
    graph = call_graph(call_profile_of_run(run))
    each = {name: sum(pair) / SECONDS_EACH for name, pair in values(graph).items()}
    assert {name: round(total) for name, total in each.items()} == {
        "main": 28, "solve": 7, "norm": 17, "walk": 6,
        # Of functions of a cycle no calls within it count.
        "even": 7, "odd": 6,
    }  # fmt: skip
    (cycle,) = graph.members
    assert {graph.profile.name[member] for member in cycle} == {"even", "odd"}
    whole = float(graph.own[graph.n_functions] + graph.children[graph.n_functions])
    assert round(whole / SECONDS_EACH) == 13
    # The same as the report of functions says, but for the cycle.
    table = code_rows.table(run, "function", code_rows.metrics(run))
    reported = {row.code.function: row.total for row in table.rows["CPU time"]}
    for name in ("main", "solve", "norm", "walk"):
        assert reported[name] == pytest.approx(each[name] * SECONDS_EACH)


def test_a_metric_by_name(tmp_path: Path) -> None:
    run = run_directory.find(str(write(tmp_path / "r.gnomon", STACKS, {"faults": 3.0})))
    graph = call_graph(call_profile_of_run(run, "FAULTS"))
    assert graph.profile.metric.name == "faults"
    assert graph.profile.whole == 3 * 28
    with pytest.raises(UsageError, match="misses"):
        call_profile_of_run(run, "misses")


def test_a_run_without_functions(tmp_path: Path) -> None:
    run = run_directory.find(str(write(tmp_path / "r.gnomon", ())))
    with pytest.raises(UsageError, match="it has no functions"):
        call_profile_of_run(run)


def test_calls_that_came_to_more_than_their_callee_has(tmp_path: Path) -> None:
    """The program has no more than all functions have, and shares of callers are at most all."""
    path = tmp_path / "callgrind.out"
    path.write_text(
        "# callgrind format\nevents: Ir\n\nfl=a.c\nfn=main\n1 5\ncfn=g\ncalls=1 9\n2 100\n"
        "fn=other\n4 2\ncfn=g\ncalls=1 9\n5 300\nfn=g\n9 10\n"
    )
    profile = call_profile_of_run(run_directory.find(str(path)))
    graph = call_graph(profile, Selection())
    assert (graph.counted, profile.whole) == (17, 17)
    number = profile.name.index("g")
    into = [own for own, callee in zip(graph.arc_own, profile.callee, strict=True)
            if callee == number]  # fmt: skip
    assert sorted(into) == [2.5, 7.5]
