"""Trees of calls of sampled runs, against trees made of the stacks one by one."""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import stack_samples
from hypothesis import given
from hypothesis import strategies as st
from property_tests import examples
from stack_samples import PERIOD, Frame, Sample, Thread
from view_runs import ranks

from gnomon.cli import main
from gnomon.store import run_directory
from gnomon.store.reports.call_parts import Tree
from gnomon.store.reports.report_part import Request

FRAMES = [Frame(name, "a.c", line) for name in "fgh" for line in (1, 2)]
stacks = st.lists(st.sampled_from(FRAMES), min_size=1, max_size=6).map(tuple)
all_samples = st.lists(st.builds(Sample, stacks, st.just(0), st.just(0), st.just(0)), min_size=1,
                       max_size=40)  # fmt: skip
Chains = dict[tuple[str, ...], tuple[float, float, float]]


def nodes(path: Path, request: Request) -> Chains:
    """Return self, total and samples of each node, by the names from the top down to it."""
    rows = list(Tree().data(run_directory.find(str(path)), request).rows)
    names: list[tuple[str, ...]] = []
    found: Chains = {}
    for at, row in enumerate(rows):
        above = names[row["parent"]] if row["parent"] >= 0 else ()
        names.append((*above, row["name"]))
        assert (row["number"], row["depth"]) == (at, len(above))
        assert names[at] not in found
        found[names[at]] = (row["self"], row["total"], row["samples"])
    return found


def top_down(samples: Sequence[Sample]) -> Chains:
    own: Counter[tuple[str, ...]] = Counter()
    total: Counter[tuple[str, ...]] = Counter()
    for sample in samples:
        names = ("app", *(frame.function for frame in sample.stack))
        for deep in range(1, len(names) + 1):
            total[names[:deep]] += 1
        own[names] += 1
    return {key: (own[key] * PERIOD, n * PERIOD, n) for key, n in total.items()}


def bottom_up(samples: Sequence[Sample]) -> dict[tuple[str, ...], tuple[float, float]]:
    own: Counter[tuple[str, ...]] = Counter()
    for sample in samples:
        names = tuple(frame.function for frame in reversed(sample.stack))
        for deep in range(1, len(names) + 1):
            own[names[:deep]] += 1
    return {key: (n * PERIOD, n) for key, n in own.items()}


@given(all_samples, st.sampled_from((0.0, 5.0, 30.0)), st.integers(0, 3))
@examples(60, deadline=None)
def test_a_tree_has_what_the_stacks_have(
    samples: list[Sample], threshold: float, depth: int
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = stack_samples.write(Path(folder) / "app", samples)
        request = Request(by="program", threshold=threshold, depth=depth)
        least = threshold / 100 * len(samples) * (1 - 1e-9)
        down = nodes(path, request)
        wanted = {
            key: values
            for key, values in top_down(samples).items()
            if values[2] >= least and (not depth or len(key) <= depth)
        }
        assert down.keys() == wanted.keys()
        for key, values in wanted.items():
            assert down[key] == pytest.approx(values)
        up = nodes(path, request._replace(bottom_up=True))
        wanted_up = {
            key: values
            for key, values in bottom_up(samples).items()
            if values[1] >= least and (not depth or len(key) <= depth)
        }
        assert up.keys() == wanted_up.keys()
        for key, (own, n) in wanted_up.items():
            assert (up[key][0], up[key][2]) == pytest.approx((own, n))


SOLVE = "lattice::Solver<double, lattice::Grid<3u> >::relax(lattice::Field<double> const&, int)"
START = [Frame("_start"), Frame("__libc_start_main"), Frame("main", "m.cc", 3)]
STACKS = [
    *[(*START, Frame(SOLVE, "s.cc", 20), Frame("sweep", "s.cc", 4))] * 50,
    *[(*START, Frame(SOLVE, "s.cc", 21), Frame("sweep", "s.cc", 5))] * 20,
    *[(*START, Frame(SOLVE, "s.cc", 21))] * 10,
    *[(*START, Frame("output"), Frame("format"), Frame("write"))] * 15,
    *[(*START, Frame("output"), Frame("flush"))],
    *[(*START, Frame("output"), Frame("close"))],
    *[(*START[:2], Frame("exit"))] * 3,
]  # fmt: skip


@pytest.fixture
def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(tmp_path)
    return stack_samples.write(Path("app"), [Sample(stack) for stack in STACKS])


def said(*words: str, capsys: pytest.CaptureFixture[str]) -> list[str]:
    assert main(["report", "app", *words]) == 0
    return capsys.readouterr().out.splitlines()[1:]


@pytest.mark.usefixtures("app")
def test_the_tree_from_the_program_down(capsys: pytest.CaptureFixture[str]) -> None:
    assert said("tree", "--threshold", "2", capsys=capsys) == [
        "CPU time from the program down, sampled",
        "  of total   total   self  call tree",
        "   100.0 %  100 ms      .  app",
        "   100.0 %  100 ms      .  └ _start → __libc_start_main",
        "    97.0 %   97 ms      .    ├ main",
        "    80.0 %   80 ms  10 ms    │ ├ lattice::Solver<…>::relax(…)",
        "    70.0 %   70 ms  70 ms    │ │ └ sweep",
        "    17.0 %   17 ms      .    │ └ output",
        "    15.0 %   15 ms  15 ms    │   ├ format → write",
        "     2.0 %    2 ms           │   └ 2 with less than 2 %",
        "     3.0 %    3 ms   3 ms    └ exit",
        "100 samples; branches with less than 2 % are cut: --threshold",
    ]


@pytest.mark.usefixtures("app")
def test_the_tree_from_functions_up(capsys: pytest.CaptureFixture[str]) -> None:
    assert said("tree", "--bottom-up", "--threshold", "12", capsys=capsys) == [
        "CPU time from functions up to callers, sampled",
        "  of total   self  called from",
        "    70.0 %  70 ms  sweep",
        "    70.0 %  70 ms  └ …::relax ← main ← __libc_start_main ← _start",
        "    15.0 %  15 ms  write",
        "    15.0 %  15 ms  └ format ← output ← main ← __libc_start_main ← _start",
        "100 samples; branches with less than 12 % are cut: --threshold",
    ]


@pytest.mark.usefixtures("app")
def test_no_line_is_wider_than_the_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for width in (60, 80, 120):
        monkeypatch.setenv("COLUMNS", str(width))
        for words in (["tree"], ["tree", "--bottom-up"], ["tree", "--by", "thread"]):
            lines = said(*words, capsys=capsys)
            assert max(map(len, lines)) <= width
            assert any("relax" in line for line in lines)


def test_a_deep_recursion_fits_and_is_cut(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    deep = tuple(Frame(name) for _ in range(300) for name in ("even", "odd"))
    samples = [Sample(deep[: at * 2]) for at in range(1, 300)]
    path = stack_samples.write(tmp_path / "app", samples)
    assert main(["report", str(path), "tree"]) == 0
    lines = capsys.readouterr().out.splitlines()[1:]
    assert len(lines) < 60
    assert max(map(len, lines)) <= 80
    assert "branches with less than 10 % and more than 24 calls deep are cut" in " ".join(lines)


def test_each_thread_has_a_tree(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    f, g = FRAMES[0], FRAMES[2]
    samples = [Sample((f,), 0), *[Sample((f, g), 1)] * 3]
    threads = [Thread(tid=100, name="main"), Thread(tid=101, name="worker")]
    path = stack_samples.write(tmp_path / "app", samples, threads=threads)
    assert main(["report", str(path), "tree", "--by", "thread", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [(row["location"].split()[-1], row["name"], row["samples"]) for row in rows] == [
        ("worker", "app", 3), ("worker", "f", 3), ("worker", "g", 3), ("main", "app", 1),
        ("main", "f", 1),
    ]  # fmt: skip
    assert [row["parent"] for row in rows] == [-1, 0, 1, -1, 3]


def test_sections_have_a_tree_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = ranks(tmp_path / "app")
    rows: list[dict[str, Any]] = []
    for words in ([], ["-e", "cycles"]):
        assert main(["report", str(path), "tree", *words, "--json"]) == 0
        rows += json.loads(capsys.readouterr().out)["rows"]
    assert [(row["name"], row["self"], row["total"], row["samples"]) for row in rows] == [
        ("app", 0, 69, None), ("solve", 34.5, 69, None), ("halo", 34.5, 34.5, None),
        ("app", 0, 690, None), ("solve", 345, 690, None), ("halo", 345, 345, None),
    ]  # fmt: skip
    assert main(["report", str(path), "tree", "-e", "steps_per_cycle"]) == 2
    assert "this run has no calls with that event; it has" in capsys.readouterr().err


def test_a_run_without_calls_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = stack_samples.write(tmp_path / "app", [])
    assert main(["report", str(path), "tree"]) == 1
    assert "this run has no values of calls" in capsys.readouterr().out
