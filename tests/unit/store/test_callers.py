"""Who calls a function and what it calls, against the stacks one by one."""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest
import stack_samples
from hypothesis import given
from hypothesis import strategies as st
from property_tests import examples
from stack_samples import PERIOD, Frame, Sample

from gnomon.cli import main
from gnomon.store import run_directory
from gnomon.store.reports.callers_part import Callers
from gnomon.store.reports.report_part import Request

FRAMES = [Frame(name, "a.c", line) for name in "fgh" for line in (1, 2)]
stacks = st.lists(st.sampled_from(FRAMES), min_size=1, max_size=7).map(tuple)
all_samples = st.lists(
    st.builds(Sample, stacks, st.just(0), st.just(0), st.just(0)), min_size=1, max_size=40
)


@given(all_samples)
@examples(60, deadline=None)
def test_values_through_each_caller_are_those_of_the_stacks(samples: list[Sample]) -> None:
    """Of calls of f from f, the outermost one counts: what is above it calls f."""
    samples.append(Sample((FRAMES[2], FRAMES[0], FRAMES[4])))
    own: Counter[tuple[str, ...]] = Counter()
    total: Counter[tuple[str, ...]] = Counter()
    callees: Counter[str] = Counter()
    for sample in samples:
        names = [frame.function for frame in sample.stack]
        if "f" not in names:
            continue
        above = names[: names.index("f")]
        for deep in range(len(above) + 1):
            chain = ("f", *reversed(above))[: deep + 1]
            total[chain] += 1
            own[chain] += names[-1] == "f"
        called = {inner for outer, inner in pairwise(names) if outer == "f"}
        callees.update(called - {"f"})
    with tempfile.TemporaryDirectory() as folder:
        path = stack_samples.write(Path(folder) / "app", samples)
        data = Callers().data(run_directory.find(str(path)), Request(argument="f"))
        names_of: list[tuple[str, ...]] = []
        callers: dict[tuple[str, ...], tuple[float, float, float]] = {}
        found_callees: dict[str, tuple[float, float]] = {}
        for row in data.rows:
            around = names_of[row["parent"]] if row["parent"] >= 0 else ()
            names_of.append((*around, row["name"]))
            if row["relation"] == "callee":
                assert row["self"] is None
                found_callees[row["name"]] = (row["total"], row["samples"])
            else:
                callers[names_of[-1]] = (row["self"], row["total"], row["samples"])
        assert callers.keys() == total.keys()
        for chain, n in total.items():
            assert callers[chain] == pytest.approx((own[chain] * PERIOD, n * PERIOD, own[chain]))
        assert found_callees.keys() == callees.keys()
        for name, n in callees.items():
            assert found_callees[name] == pytest.approx((n * PERIOD, n))


MAIN = Frame("main", "m.cc", 3)
STACKS = [
    *[(MAIN, Frame("solve(int)", "s.cc", 20), Frame("solve(int)", "s.cc", 22))] * 40,
    *[(MAIN, Frame("solve(int)", "s.cc", 21), Frame("memcpy", module="libc.so.6"))] * 20,
    *[(MAIN, Frame("step", "m.cc", 9), Frame("solve(int)", "s.cc", 21))] * 30,
    *[(MAIN, Frame("output"), Frame("memcpy", module="libc.so.6"))] * 10,
]  # fmt: skip


@pytest.fixture
def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(tmp_path)
    return stack_samples.write(Path("app"), [Sample(stack) for stack in STACKS])


@pytest.mark.parametrize("name", ["solve(int)", "solve", "olve", "SOLV"])
@pytest.mark.usefixtures("app")
def test_callers_as_text(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "app", "callers", name]) == 0
    assert capsys.readouterr().out.splitlines()[1:] == [
        "",
        "solve(int) in app",
        "  CPU time, sampled: self 70 ms (70.0 %), total 90 ms (90.0 %)",
        "  of total  total   self  function, and who calls it",
        "    90.0 %  90 ms  70 ms  solve(int)",
        "    60.0 %  60 ms  40 ms  ├ main",
        "    30.0 %  30 ms  30 ms  └ step ← main",
        "  of total  total  it calls",
        "    20.0 %  20 ms  memcpy",
        "",
        "what has less than 1 % of the function is cut: --threshold",
    ]


def test_a_function_with_little_has_its_callers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = stack_samples.write(
        tmp_path / "app", [*[Sample((MAIN,))] * 999, Sample((MAIN, Frame("rare")))]
    )
    assert main(["report", str(path), "callers", "rare"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "  CPU time, sampled: self 1 ms (0.1 %), total 1 ms (0.1 %)" in lines
    assert "     0.1 %   1 ms  1 ms  └ main" in lines


@pytest.mark.usefixtures("app")
def test_several_functions_of_a_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "app", "callers", "m", "--top", "1", "--threshold", "15"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[2] == "main in app"
    assert "1 more have that name (--top 0 for all): memcpy" in lines
    assert main(["report", "app", "callers", "m", "--json", "--depth", "1"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [row["name"] for row in rows if row["relation"] == "function"] == ["main", "memcpy"]
    assert {row["depth"] for row in rows} == {0, 1}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["slove"], "'slove': app.gnomon has no such function; did you mean solve"),
        (["\x1b[31m"], "'\\x1b[31m': app.gnomon has no such function"),
        ([], "callers: a function is missing; type gnomon report app.gnomon callers NAME"),
        (["main", "-e", "cycles"], "cycles: this run has no calls with that event; it has CPU"),
        (["main", "--by", "thread"], "--by thread does not apply to callers"),
    ],
)
@pytest.mark.usefixtures("app")
def test_mistakes_are_one_line(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", "app", "callers", *words]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1
