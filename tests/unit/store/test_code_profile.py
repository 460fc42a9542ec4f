"""Profiles of sampled runs by function, module, file and line, against plain sums over stacks."""

from __future__ import annotations

import json
import tempfile
from array import array
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import stack_samples
from hypothesis import given
from hypothesis import strategies as st
from made_runs import Row, made_run
from property_tests import examples
from stack_samples import PERIOD, Event, Frame, Sample, Thread
from view_runs import Place, Quantity, Region, Value
from view_runs import write as written

from gnomon.cli import main
from gnomon.model.tables import SAMPLES, Table
from gnomon.store import profile_query, run_directory
from gnomon.store.code_profile import CodeProfile
from gnomon.store.parquet_writer import write_table
from gnomon.store.profile_query import LocationRange
from gnomon.store.reports import code_rows

FUNCTIONS = [
    Frame(name, file, line, module)
    for name, file, module in (
        ("f", "a.c", "app"), ("g", "a.c", "app"), ("f", "a.c", "lib.so"), ("h", "b.c", "lib.so"),
        ("s+0x10", "", "lib.so"),
    )
    for line in ((1, 2) if file else (0,))
]  # fmt: skip
EVENTS = (stack_samples.CLOCK, Event("cycles (sampled)", "", 1000.0))
KEYS: dict[str, Callable[[Frame], tuple[str, str, str, int]]] = {
    "function": lambda one: (one.function, one.module, one.file, 0),
    "module": lambda one: ("", one.module, "", 0),
    "file": lambda one: ("", "", one.file, 0),
    "line": lambda one: (one.function, one.module, one.file, one.line),
}
Sums = dict[tuple[Any, ...], tuple[float, float, float]]


def expected(samples: Sequence[Sample], by: str) -> Sums:
    """Return self, total and samples by key and metric."""
    own: Counter[tuple[Any, ...]] = Counter()
    total: Counter[tuple[Any, ...]] = Counter()
    for sample in samples:
        name = EVENTS[sample.event].name
        for key in {KEYS[by](frame) for frame in sample.stack}:
            total[*key, name] += 1
        if sample.stack:
            own[*KEYS[by](sample.stack[-1]), name] += 1
    weight = {one.name: one.weight for one in EVENTS}
    return {
        key: (own[key] * weight[key[4]], n * weight[key[4]], own[key])
        for key, n in total.items()
    }  # fmt: skip


def told(path: Path, *words: str, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    assert main(["report", str(path), "profile", *words, "--json"]) == 0
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return document


stacks = st.lists(st.sampled_from(FUNCTIONS), max_size=7).map(tuple)
all_samples = st.lists(
    st.builds(Sample, stacks, st.integers(0, 2), st.integers(0, 1), st.just(0)),
    min_size=1,
    max_size=40,
)
THREADS = [Thread(0, 100, 100), Thread(0, 100, 101), Thread(1, 200, 200)]


@given(all_samples)
@examples(60, deadline=None)
def test_sums_are_those_of_the_stacks(samples: list[Sample]) -> None:
    # Calls are known where one function was seen in another.
    samples.append(Sample((FUNCTIONS[0], FUNCTIONS[1]), 0, 0))
    samples.append(Sample((FUNCTIONS[0], FUNCTIONS[1]), 1, 1))
    with tempfile.TemporaryDirectory() as folder:
        path = stack_samples.write(Path(folder) / "app", samples, threads=THREADS, events=EVENTS)
        capsys = _Captured()
        for by in KEYS:
            rows = capsys.rows(path, by)
            found = {
                tuple(row[name] for name in ("function", "module", "file", "line", "metric")): (
                    row["self"], row["total"], row["samples"],
                )
                for row in rows
            }  # fmt: skip
            wanted = expected(samples, by)
            assert found.keys() == wanted.keys()
            for key, values in wanted.items():
                assert found[key] == pytest.approx(values), (by, key)
            for event in EVENTS:
                own = [row["self"] for row in rows if row["metric"] == event.name]
                assert own == sorted(own, reverse=True)


class _Captured:
    """Asks a run as the command does, without its output."""

    def rows(self, path: Path, by: str) -> list[dict[str, Any]]:
        from gnomon.store.reports.profile_part import Profile
        from gnomon.store.reports.report_part import Request

        data = Profile().data(run_directory.find(str(path)), Request(by=by))
        rows: list[dict[str, Any]] = data.facts["profile"]
        return rows


@given(all_samples, st.integers(1, 3))
@examples(20, deadline=None)
def test_parts_add_up_to_the_last_digit(samples: list[Sample], size: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = stack_samples.write(Path(folder) / "app", samples, threads=THREADS, events=EVENTS)
        run = run_directory.find(str(path))
        (whole,) = profile_query.parts(run)
        cut = [
            LocationRange(whole.run, at, min(at + size, whole.end), whole.files)
            for at in range(whole.first, whole.end, size)
        ]
        for by in KEYS:
            analysis = CodeProfile(by, (0, 1))
            first, again = (
                analysis.finest(analysis.merge([analysis.partial(part) for part in some]))
                for some in ([whole], cut)
            )
            for one, other in zip(first, again, strict=True):
                np.testing.assert_array_equal(one.group, other.group)
                for column in ("own", "total", "samples"):
                    np.testing.assert_allclose(getattr(one, column), getattr(other, column))


def test_all_executors_give_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    samples = [
        Sample((FUNCTIONS[0], FUNCTIONS[at % 7], FUNCTIONS[at % 3]), at % 3) for at in range(50)
    ]
    path = stack_samples.write(tmp_path / "app", samples, threads=THREADS)
    texts = []
    for executor in ("", "threads:2", "processes:2"):
        words = ["--executor", executor] if executor else []
        assert main(["report", str(path), "profile", "--by", "function", *words]) == 0
        texts.append(capsys.readouterr().out)
    assert len(set(texts)) == 1


STACKS = [
    *[(Frame("main", "/s/m.c", 7), Frame("solve(int)", "/s/solve.c", 20))] * 60,
    *[(Frame("main", "/s/m.c", 7), Frame("solve(int)", "/s/solve.c", 22),
       Frame("memcpy", module="libc.so.6"))] * 30,
    *[(Frame("main", "/s/m.c", 9), Frame("write_all", "/s/io.c", 5))] * 10,
]  # fmt: skip


def test_the_table_of_functions(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(tmp_path)
    stack_samples.write(Path("app"), [Sample(stack) for stack in STACKS])
    assert main(["report", "app", "profile", "--by", "function"]) == 0
    assert capsys.readouterr().out.splitlines()[1:] == [
        "CPU time by function, sampled",
        "     of total   self   total  samples  function    module",
        "  60.0 ±4.9 %  60 ms   90 ms       60  solve(int)  app",
        "  30.0 ±4.6 %  30 ms   30 ms       30  memcpy      libc.so.6",
        "  10.0 ±3.0 %  10 ms   10 ms       10  write_all   app",
        "   0.0 ±0.0 %   0 ns  100 ms        0  main        app",
        "100 samples; ± is the standard error of a share",
    ]
    assert main(["report", "app", "profile", "--by", "line", "--threshold", "20"]) == 0
    assert capsys.readouterr().out.splitlines()[1:] == [
        "CPU time by line, sampled",
        "     of total   self  total  samples  line                   module",
        "  60.0 ±4.9 %  60 ms  60 ms       60  solve.c:20 solve(int)  app",
        "  30.0 ±4.6 %  30 ms  30 ms       30  memcpy                 libc.so.6",
        "  and 4 with less than 20 %",
        "100 samples; ± is the standard error of a share",
    ]
    assert main(["report", "app", "profile", "--by", "module", "--top", "1"]) == 0
    assert capsys.readouterr().out.splitlines()[2:5] == [
        "     of total   self   total  samples  module",
        "  70.0 ±4.6 %  70 ms  100 ms       70  app",
        "  and 1 more (--top 0 for all)",
    ]


def test_several_metrics_stand_side_by_side(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    f, g, h = FUNCTIONS[0], FUNCTIONS[2], FUNCTIONS[6]
    samples = [*[Sample((f, g))] * 3, *[Sample((f, h))], *[Sample((f, h), 0, 1)] * 4]
    path = stack_samples.write(tmp_path / "app", samples, events=EVENTS)
    words = ["report", str(path), "profile", "--by", "function"]
    assert main([*words, "-e", "cpu time,CYCLES (sampled)"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "cycles" in "".join(lines[2:5])
    cells = {line.split()[-2]: line.split() for line in lines if line.endswith((" app", " lib.so"))}
    assert cells["g"][-3] == "."
    assert cells["h"][-3] == "100.0"
    assert main([*words, "-e", "nosuch"]) == 2
    assert "nosuch: this run has no functions with that event; it has CPU time" in (
        capsys.readouterr().err
    )


def test_threads_and_ranks_have_the_samples_of_their_programs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    samples = [Sample((FUNCTIONS[0],), at % 3) for at in range(7)]
    path = stack_samples.write(tmp_path / "app", samples, threads=THREADS)
    rows = told(path, "--by", "thread", capsys=capsys)["rows"]
    assert {row["tid"]: (row["total"], row["samples"]) for row in rows} == {
        100: (pytest.approx(3 * PERIOD), 3), 101: (pytest.approx(2 * PERIOD), 2),
        200: (pytest.approx(2 * PERIOD), 2),
    }  # fmt: skip
    rows = told(path, "--by", "rank", capsys=capsys)["rows"]
    assert {row["rank"]: row["samples"] for row in rows} == {0: 5, 1: 2}
    document = told(path, "--by", "thread", "--threshold", "40", capsys=capsys)
    assert [row["tid"] for row in document["rows"]] == [100]
    assert "profile" not in document


def test_emulated_functions_have_no_totals(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One function in two files: its header's part is named by the source, as in hotspots."""
    rows: list[Row] = [
        ("app", "main", "/src/m.cpp", 3, (100, 40, 5, 0)),
        ("app", "main", "/src/util.h", 7, (200, 0, 0, 9)),
        ("app", "other", "/src/util.h", 7, (50, 0, 0, 0)),
    ]
    run = made_run(tmp_path, rows)
    document = told(run.path, "--by", "function", "-e", "tot_ins", capsys=capsys)
    assert [
        (row["function"], row["file"], row["self"], row["total"], row["samples"])
        for row in document["profile"]
    ] == [("main", "/src/m.cpp", 300, None, None), ("other", "/src/util.h", 50, None, None)]
    assert document["notes"] == ["no totals of functions and lines: calls were not recorded"]
    assert main(["report", str(run.path), "profile", "--by", "function"]) == 0
    text = capsys.readouterr().out
    assert "PAPI_TOT_INS by function, emulated" in text
    assert "±" not in text
    assert "no totals of functions and lines" in text


def test_elapsed_times_of_functions_are_means_of_ranks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ranks = [Place(-1, "process", 0), Place(-1, "process", 1)]
    regions = [
        Region(-1, "hpm", "app"), Region(0, "cpu", "main", "m.c", 1),
        Region(1, "cpu", "f", "m.c", 2),
    ]  # fmt: skip
    values = [
        Value(rank, path, 0, inclusive * (rank + 1), own * (rank + 1))
        for rank in (0, 1)
        for path, inclusive, own in ((0, 10.0, 2.0), (1, 8.0, 5.0), (2, 3.0, 3.0))
    ]
    path = written(tmp_path / "app", ranks, regions, [Quantity("wall time", "ns")], values)
    rows = told(path, "--by", "function", capsys=capsys)["rows"]
    assert {row["function"]: (row["self"], row["total"]) for row in rows} == {
        "main": (7.5, 12), "f": (4.5, 4.5),
    }  # fmt: skip


def test_a_run_without_code_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(
        tmp_path / "app", [Place(-1, "process")], [Region(-1, "hpm", "app")], [Quantity("steps")],
        [Value(0, 0, 0, 3.0, 3.0)],
    )  # fmt: skip
    assert main(["report", str(path), "profile", "--by", "function"]) == 1
    assert "this run has no values of each function" in capsys.readouterr().out


def test_a_total_is_unknown_where_the_outer_call_was_not_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    regions = [
        Region(-1, "hpm", "app"), Region(0, "cpu", "f", "m.c", 1), Region(1, "cpu", "g", "m.c", 2),
        Region(2, "cpu", "f", "m.c", 1),
    ]  # fmt: skip
    values = [Value(0, 0, 0, 9.0, 0.0), Value(0, 2, 0, 8.0, 3.0), Value(0, 3, 0, 5.0, 5.0)]
    path = written(tmp_path / "app", [Place(-1, "thread")], regions, [Quantity("steps")], values)
    document = told(path, "--by", "function", capsys=capsys)
    assert {row["function"]: (row["self"], row["total"]) for row in document["rows"]} == {
        "f": (5, None), "g": (3, 8),
    }  # fmt: skip
    assert document["notes"] == [
        "no total of what was measured within another call of it, but not around that"
    ]


def test_a_source_has_self_and_total_beside_its_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    source = tmp_path / "a.c"
    source.write_text("".join(f"line {at};\n" for at in range(1, 31)))
    call, leaf = Frame("f", str(source), 20), Frame("g", str(source), 5)
    samples = [Sample((call, leaf))] * 30 + [Sample((call, call, leaf))] * 10 + [Sample((call,))]
    stack_samples.write(tmp_path / "run", [*samples, Sample((Frame("h", "b.c", 1),))] * 10)
    assert main(["report", "run", "source", "a.c"]) == 0
    lines = capsys.readouterr().out.splitlines()
    rows = [line.split() for line in lines]
    assert "CPU time by line, sampled" in lines
    assert ["of", "total", "self", "total", "line", "source"] in rows
    assert ["95.2", "±1.0", "%", "400", "ms", "400", "ms", "5", "line", "5;"] in rows
    # A recursion counts once.
    assert ["2.4", "±0.8", "%", "10", "ms", "410", "ms", "20", "line", "20;"] in rows
    assert "-- lines 9 to 16 --" in " ".join(lines)
    assert max(map(len, lines)) <= 80
    assert main(["report", "run", "source", "a.c", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    values = {row["line"]: (row["self"]["CPU time"], row["total"]["CPU time"])
              for row in document["rows"]}  # fmt: skip
    assert values == {5: pytest.approx((0.4, 0.4)), 20: pytest.approx((0.01, 0.41))}


def test_samples_of_different_weights_tell_less(tmp_path: Path) -> None:
    light, heavy = (Frame("light", "a.c", 1),), (Frame("heavy", "a.c", 2),)
    path = stack_samples.write(tmp_path / "run", [Sample(light)] * 90 + [Sample(heavy)] * 10)
    run = run_directory.find(str(path))
    names = [column.name for column in SAMPLES.columns]
    rows = Table(SAMPLES, run.query(f"SELECT {', '.join(names)} FROM samples ORDER BY path"))

    def error(weights: Sequence[float]) -> float:
        write_table(run.path, SAMPLES, [rows.replaced(weight=array("d", weights))])
        changed = run_directory.find(str(path))
        table = code_rows.table(changed, "function", code_rows.metrics(changed))
        (metric,), (row, *_) = table.metrics, table.rows["CPU time"]
        assert row.own == pytest.approx(0.9 * metric.whole)
        return code_rows.sampling_error(row, metric)

    assert error([2.0] * 100) == pytest.approx((0.9 * 0.1 / 100) ** 0.5, rel=0.03)
    # 190 squared by 90 + 10 * 100: as much as 33 samples of one weight tell.
    assert error([1.0] * 90 + [10.0] * 10) == pytest.approx(
        (0.9 * 0.1 * 1090) ** 0.5 / 190, rel=0.1
    )
