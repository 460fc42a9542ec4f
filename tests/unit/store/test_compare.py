"""Comparisons of runs: what is found, what raises no alarm, what is said of the rest."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from repeated_runs import HOST, NOISE, QUIET, noisy, repeated_run, rewritten, times
from view_runs import Place, Quantity, Region, Value, write

from gnomon.cli import main
from gnomon.metrics.metric_direction import worse
from gnomon.metrics.significance import Difference
from gnomon.store.comparison.comparison_report import render_comparison
from gnomon.store.comparison.engine import compare
from gnomon.store.comparison.model import Comparison, ComparisonOptions, ComparisonRow
from gnomon.store.comparison.samples import WHOLE, Side, measured, side
from gnomon.store.reports import profile_report


def compared(*names: Path | str, **options: Any) -> Comparison:
    found, _ = compare([side(str(name)) for name in names], ComparisonOptions(**options))
    return found[0]


def row(of: Comparison, metric: str) -> ComparisonRow:
    return next(one for one in of.whole if one.metric == metric)


# --- acceptance: noise as measured ----------------------------------------------------------------


def generated(
    folder: Path, rng: random.Random, program: str, name: str, slower: float = 0.0
) -> Path:
    """Return a run of 30 repetitions, with five metrics as noisy as the program's times."""
    metrics = ("wall time", "user time", "task-clock", "PAPI_TOT_CYC", "PAPI_L1_DCM")
    values = {metric: noisy(rng, program, 30, slower) for metric in metrics}
    return repeated_run(folder, name, values)


def test_a_planted_slow_down_of_5_percent_is_found(tmp_path: Path) -> None:
    """In several runs a side, measured in turns, of a program whose noise was measured."""
    rng = random.Random(11)
    for program in NOISE:
        sides = [
            ",".join(
                str(generated(tmp_path, rng, program, f"{program}{label}{at}", slower))
                for at in range(5)
            )
            for label, slower in (("a", 0.0), ("b", 0.05))
        ]
        found = row(compared(*sides), "wall time")
        low, high = found.found.interval if found.found else (None, None)
        assert found.is_sure
        assert found.verdict == "worse"
        assert low is not None
        assert high is not None
        assert low < 0.05 < high


@pytest.mark.long
def test_twenty_equal_pairs_raise_no_alarm(tmp_path: Path) -> None:
    rng = random.Random(12)
    for at in range(20):
        program = list(NOISE)[at % len(NOISE)]
        names = [str(generated(tmp_path, rng, program, f"{at}{label}")) for label in "ab"]
        found, breaches = compare([side(name) for name in names], ComparisonOptions())
        assert [one.metric for one in found[0].whole if one.verdict] == []
        assert breaches == ()


# --- what is said ---------------------------------------------------------------------------------


def test_worse_depends_on_the_metric(tmp_path: Path) -> None:
    def run(name: str, factor: float) -> Path:
        return repeated_run(
            tmp_path, name,
            {metric: times(factor) for metric in ("wall time", "ipc", "flop_rate", "flops")},
        )  # fmt: skip

    found = compared(run("a", 1.0), run("b", 1.2))
    said = {one.metric: one.verdict for one in found.whole}
    assert said == {"wall time": "worse", "ipc": "better", "flop_rate": "better", "flops": "more"}
    order = [one.metric for one in found.whole]
    assert (order[0], order[-1]) == ("wall time", "flops")


@pytest.mark.parametrize(
    ("metric", "direction"),
    [
        ("wall time", "more"), ("PAPI_L2_TCM", "more"), ("skx::LLC-load-misses", "more"),
        ("page-faults", "more"), ("PAPI_TOT_INS", "more"), ("energy_per_operation", "more"),
        ("ipc", "less"), ("flop_rate", "less"), ("l1_hit_rate", "less"), ("PAPI_L1_DCH", "less"),
        ("context-switches", ""), ("cpus_utilised", ""), ("sched:sched_switch", ""), ("x", ""),
    ],
)  # fmt: skip
def test_directions(metric: str, direction: str) -> None:
    assert worse(metric) == direction


@pytest.mark.parametrize(
    ("other", "why"),
    [
        ({"how": {"task-clock": "emulated"}},
         "how it was measured differs: counted; emulated"),
        ({"unit": {"task-clock": "s"}}, "the unit differs: ns; s"),
        ({"head": {"hosts": [{**HOST, "cpu_model": "B"}]}}, "measured on different machines"),
        ({"head": {"hosts": [{"name": "n"}]}}, "not known to be measured on one machine"),
    ],
)  # fmt: skip
def test_what_cannot_be_compared_is_said(tmp_path: Path, other: dict[str, Any], why: str) -> None:
    before = repeated_run(tmp_path, "a", {"wall time": times(), "task-clock": times()})
    after = repeated_run(tmp_path, "b", {"wall time": times(), "task-clock": times(2)}, **other)
    found = row(compared(before, after), "task-clock")
    assert (found.verdict, found.unjudged, found.p) == ("", why, None)
    assert found.change == pytest.approx(1.0)
    if "machine" in why:
        judged = row(compared(before, after, any_machine=True), "task-clock")
        assert judged.verdict == "worse"


def test_missing_metrics_and_single_repetitions_are_said(tmp_path: Path) -> None:
    a = repeated_run(tmp_path, "a", {"wall time": times(), "page-faults": QUIET})
    b = repeated_run(tmp_path, "b", {"wall time": times()[:1], "ipc": [1.0]})
    found = compared(a, b)
    said = {one.metric: one.unjudged.rpartition("/")[2] for one in found.whole}
    assert said == {
        "wall time": "one repetition only",
        "page-faults": "b.gnomon has no values of it",
        "ipc": "a.gnomon has no values of it",
    }
    assert row(found, "wall time").change == pytest.approx(0.0, abs=0.03)


def test_runs_are_the_samples_where_there_are_several(tmp_path: Path) -> None:
    """Repetitions within a run are alike; between runs the machine has changed."""
    rng = random.Random(3)

    def runs(label: str, shifts: Sequence[float]) -> str:
        return ",".join(
            str(repeated_run(tmp_path, f"{label}{at}", {
                "wall time": [v * (1 + shift) * rng.uniform(0.999, 1.001) for v in times()]
            }))
            for at, shift in enumerate(shifts)
        )  # fmt: skip

    one = compared(runs("a", [0]), runs("b", [0.05]))
    assert row(one, "wall time").is_sure
    apart = compared(runs("c", [0, 0.06, 0.02]), runs("d", [0.05, 0.01, 0.06]))
    assert row(apart, "wall time").samples == (3, 3)
    assert row(apart, "wall time").verdict == ""
    steady = compared(runs("e", [0, 0.002, 0.001, 0.001]), runs("f", [0.05, 0.051, 0.052, 0.05]))
    assert row(steady, "wall time").is_sure


def test_several_sides_share_the_adjustment(tmp_path: Path) -> None:
    a, b, c = (repeated_run(tmp_path, name, {"wall time": times(f), "ipc": times(f)})
               for name, f in (("a", 1), ("b", 1.0), ("c", 1.08)))  # fmt: skip
    (first, second), _ = compare([side(str(one)) for one in (a, b, c)], ComparisonOptions())
    alone = compared(a, c)
    assert row(first, "wall time").verdict == ""
    assert row(second, "wall time").is_sure
    assert (row(second, "ipc").p or 0) >= (row(alone, "ipc").p or 1)


LINES = (
    ("app", "hot", "/src/old/hot.c", 10, {"PAPI_TOT_INS": [900_000, 900_000]}),
    ("app", "same", "/src/old/hot.c", 40, {"PAPI_TOT_INS": [99_000, 99_000]}),
    ("app", "tiny", "/src/old/hot.c", 90, {"PAPI_TOT_INS": [3, 3]}),
)


@pytest.fixture
def emulated(tmp_path: Path) -> tuple[Path, Path]:
    """Return two emulated runs: another folder and program name, and one function is dearer."""
    kwargs: dict[str, Any] = {
        "how": {"PAPI_TOT_INS": "emulated"}, "component": {"PAPI_TOT_INS": "emulated"},
    }  # fmt: skip
    a = repeated_run(tmp_path, "a", {"PAPI_TOT_INS": [999_003] * 2}, lines=LINES, **kwargs)
    dearer = [("new", *line[1:2], line[2].replace("old", "new"), *line[3:]) for line in LINES]
    dearer[0] = (*dearer[0][:4], {"PAPI_TOT_INS": [950_000, 950_000]})
    dearer.append(("new", "added", "/src/new/hot.c", 70, {"PAPI_TOT_INS": [50_000, 50_000]}))
    b = repeated_run(tmp_path, "b", {"PAPI_TOT_INS": [1_099_003] * 2}, lines=dearer, **kwargs)
    return a, b


@pytest.mark.parametrize(
    ("per", "names"),
    [
        ("function", {"hot": "worse", "added": "worse", "same": ""}),
        ("line", {"hot": "worse", "added": "worse", "same": ""}),
    ],
)
def test_places_in_the_source(emulated: tuple[Path, Path], per: str, names: dict[str, str]) -> None:
    found = compared(*emulated, per=per)
    assert {one.place[1]: one.verdict for one in found.places} == names
    assert found.small == 1
    added = next(one for one in found.places if one.place[1] == "added")
    assert (added.before, added.change) == (0, None)


def test_files_match_by_the_end_of_their_paths(emulated: tuple[Path, Path]) -> None:
    found = compared(*emulated, per="file")
    assert [(one.place[2], one.before, one.after) for one in found.places] == [
        ("hot.c", 999_003, 1_099_003)
    ]


@pytest.mark.parametrize("per", ["process", "thread", "rank"])
def test_tasks_match_by_name_and_order(tmp_path: Path, per: str) -> None:
    def run(label: str, second: float) -> Path:
        kind = "thread" if per == "thread" else "process"
        return repeated_run(
            tmp_path, label, {"task-clock": times(2)},
            tasks=[(kind, "worker", 0, {"task-clock": times()}),
                   (kind, "worker", 1, {"task-clock": times(second)})],
        )  # fmt: skip

    found = compared(run("a", 1), run("b", 1.3), per=per)
    said = [(one.place[1], one.place[3], one.verdict) for one in found.places]
    first, second = (0, 1) if per == "rank" else (1, 2)
    name = "rank" if per == "rank" else "worker"
    assert said == [(name, second, "worse"), (name, first, "")]


def test_ranks_have_their_own_values_before_sums_of_processes(tmp_path: Path) -> None:
    def run(label: str, factor: float) -> Path:
        process = {"task-clock": times(factor), "ipc": [0.5] * 10}
        path = repeated_run(
            tmp_path, label, {"wall time": times(4), "task-clock": times(4), "ipc": times()},
            tasks=[
                ("rank", "app", 0, {"wall time": times(factor), "ipc": [0.25 * factor] * 10}),
                ("process", "app", 0, process), ("process", "app", 0, process),
                ("process", "app", 1, process), ("process", "app", 1, process),
            ],
        )  # fmt: skip
        rewritten(path / "metrics.parquet", "IF(name = 'ipc', 'a / b', '') AS formula")
        return path

    names = ("wall time", "task-clock", "ipc")
    found = compared(run("a", 1), run("b", 2), per="rank", metrics=names)
    said = {(one.metric, one.place[3]): (one.before, one.after) for one in found.places}
    assert said == {
        ("wall time", 0): (pytest.approx(1e8, rel=0.01), pytest.approx(2e8, rel=0.01)),
        ("task-clock", 0): (pytest.approx(2e8, rel=0.01), pytest.approx(4e8, rel=0.01)),
        ("task-clock", 1): (pytest.approx(2e8, rel=0.01), pytest.approx(4e8, rel=0.01)),
        # Of the other rank's two processes it is no sum.
        ("ipc", 0): (0.25, 0.5),
    }
    assert found.totals.keys() == {"wall time", "task-clock"}


def regions(folder: Path, label: str, slower: float) -> Path:
    """Return a run with sections of a process and of two threads, one in itself, and a line."""
    wall = {"wall time": times(slower)}
    return repeated_run(
        folder, label, {"wall time": times(4), "task-clock": times(4)},
        sections=[
            ("hpm", "solve", "process", {"wall time": times(3), "task-clock": times(3)}),
            # A part of it, and of that part again: it is in the outer one's time.
            ("hpm", "solve/sweep", "process", wall),
            ("hpm", "solve/sweep/sweep", "process", {"wall time": times(0.1)}),
            # A call of its own, of a thread alone.
            ("hpm", "solve", "one", {"wall time": times(1.4), "task-clock": times(1.4)}),
            ("hpm", "share", "one", {"wall time": times(0.2), "task-clock": times(0.2)}),
            ("hpm", "share", "two", {"wall time": times(0.3), "task-clock": times(0.3)}),
            ("weather", "garden", "process", {"wall time": times(0.5 * slower)}),
            # What its threads had is in the process's.
            ("weather", "garden", "one", {"wall time": times(0.4 * slower)}),
        ],
        lines=[("app", "hot", "hot.c", 10, {"wall time": times()})],
    )  # fmt: skip


def test_regions_of_any_kind_match_by_kind_and_name(tmp_path: Path) -> None:
    found = compared(regions(tmp_path, "a", 1), regions(tmp_path, "b", 1.3), per="region")
    rows = {one.place[:2]: one for one in found.places}
    assert {place: one.verdict for place, one in rows.items()} == {
        ("hpm", "solve"): "", ("hpm", "sweep"): "worse", ("hpm", "share"): "",
        ("weather", "garden"): "worse",
    }  # fmt: skip
    once = sum(QUIET) / 10 * 1e6
    # Times of the same moments: the longest. Sections of libhpm are of each process and thread.
    assert rows["hpm", "solve"].before == pytest.approx(3 * once, rel=0.01)
    assert rows["hpm", "sweep"].before == pytest.approx(once, rel=0.01)
    assert rows["hpm", "share"].before == pytest.approx(0.3 * once, rel=0.01)
    assert rows["weather", "garden"].before == pytest.approx(0.5 * once, rel=0.01)
    # Outermost sections of the kind that has most of it, each once.
    assert found.totals["wall time"] == pytest.approx(3.3 * once, rel=0.01)
    assert found.with_places == ("wall time", "task-clock")
    of_cpu = compared(tmp_path / "a", tmp_path / "b", per="region", metrics=("task-clock",))
    cpu_times = {one.place[1]: one.before for one in of_cpu.places}
    assert cpu_times["solve"] == pytest.approx(4.4 * once, rel=0.01)
    assert cpu_times["share"] == pytest.approx(0.5 * once, rel=0.01)
    assert of_cpu.totals["task-clock"] == pytest.approx(4.9 * once, rel=0.01)


def test_regions_are_told_in_text_and_json(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    regions(tmp_path, "a", 1)
    regions(tmp_path, "b", 1.3)
    assert main(["compare", "a", "b", "--per", "region"]) == 0
    text = capsys.readouterr().out
    assert "wall time of each region:" in text
    assert "weather: garden" in text
    assert main(["compare", "a", "b", "--per", "region", "-e", "task-clock", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["comparisons"][0]
    assert [one["place"] for one in told["places"]] == [
        {"kind": "hpm", "name": "share"}, {"kind": "hpm", "name": "solve"},
    ]  # fmt: skip
    assert told["place_metrics"] == ["wall time", "task-clock"]


def test_a_region_that_one_run_did_not_enter_had_nothing(tmp_path: Path) -> None:
    both = [("hpm", "solve", "process", {"wall time": times()})]
    more = [*both, ("hpm", "check", "process", {"wall time": times()})]
    a, b = (
        repeated_run(tmp_path, label, {"wall time": times(3)}, sections=some)
        for label, some in (("a", both), ("b", more))
    )
    check = next(one for one in compared(a, b, per="region").places if one.place[1] == "check")
    assert (check.before, check.verdict) == (0, "worse")


@pytest.mark.parametrize("per", ["process", "thread", "rank"])
def test_places_without_a_value_of_the_program_have_what_their_sections_have(
    tmp_path: Path, per: str
) -> None:
    """A capability may know its metric of sections alone; ratios and peaks of two are no value."""
    kind = "process" if per == "rank" else per
    metrics = [
        Quantity("messages"), Quantity("wait", "ns", aggregation="elapsed"),
        Quantity("share", "%", formula="a / b"), Quantity("peak", "bytes", aggregation="max"),
        Quantity("level", "", aggregation="none"),
    ]  # fmt: skip

    def run(label: str, factor: float) -> Side:
        places = [Place(-1, "command"), Place(0, kind, 0, 5), Place(0, kind, 0, 6)]
        regions = [Region(-1, "hpm", "app"), Region(0, "mpi", "send"), Region(0, "mpi", "recv")]
        values = [
            Value(place, path, metric, factor * place * path, factor * place * path)
            for place in (1, 2) for path in (1, 2) for metric in range(len(metrics))
        ]  # fmt: skip
        write(tmp_path / label, places, regions, metrics, values)
        return side(str(tmp_path / label))

    of_places, _ = measured([run("a", 1.0), run("b", 2.0)], per)
    values = {(place[3], metric): runs for (place, metric), runs in of_places.samples.items()}
    if per == "rank":
        # Of two processes at once the longest; counts together.
        assert values == {(0, "messages"): [[9.0]], (0, "wait"): [[6.0]]}
    else:
        assert values == {
            (1, "messages"): [[3.0]], (2, "messages"): [[6.0]],
            (1, "wait"): [[3.0]], (2, "wait"): [[6.0]],
        }  # fmt: skip


def test_levels_and_peaks_of_several_places_of_a_region_are_no_sum(tmp_path: Path) -> None:
    metrics = [Quantity("level", aggregation="none"), Quantity("peak", aggregation="max"),
               Quantity("count")]  # fmt: skip
    places = [Place(-1, "command"), Place(0, "process", 0), Place(0, "process", 1)]
    regions = [Region(-1, "hpm", "app"), Region(0, "hpm", "both"), Region(0, "hpm", "single")]
    values = [Value(place, 1, metric, 5.0, 5.0) for place in (1, 2) for metric in range(3)]
    values += [Value(1, 2, metric, 5.0, 5.0) for metric in range(3)]
    write(tmp_path / "a", places, regions, metrics, values)
    one = side(str(tmp_path / "a"))
    of_places, _ = measured([one, one], "region")
    values_of = {(place[1], metric): runs for (place, metric), runs in of_places.samples.items()}
    assert values_of["both", "count"] == [[10.0]]
    assert values_of["single", "level"] == values_of["single", "peak"] == [[5.0]]
    assert not {("both", "level"), ("both", "peak")} & values_of.keys()


def test_times_of_regions_are_those_of_the_report(tmp_path: Path) -> None:
    """Of the threads of a rank the longest, of ranks the mean; what is within is in it."""
    wall = Quantity("wall time", "ns", aggregation="elapsed")
    places = [Place(-1, "command")]
    values: list[Value] = []
    for rank in range(2):
        places.append(Place(0, "process", rank))
        process = len(places) - 1
        values += [Value(process, 1, 0, 10.0 + rank, 10.0 + rank, at, 1) for at in range(2)]
        for thread in range(2):
            places.append(Place(process, "thread", rank, thread))
            time = 2.0 + 4 * rank + thread
            values += [Value(len(places) - 1, 2, 0, time, time, at, 1) for at in range(2)]
    regions = [Region(-1, "hpm", "app"), Region(0, "hpm", "outer"), Region(1, "hpm", "inner")]
    write(tmp_path / "a", places, regions, [wall], values, {"repetitions": 2})
    one = side(str(tmp_path / "a"))
    of_places, _ = measured([one, one], "region")
    values_of = {place[1]: runs for (place, _), runs in of_places.samples.items()}
    assert values_of == {"": [[10.5, 10.5]], "outer": [[10.5, 10.5]], "inner": [[5.0, 5.0]]}
    rows = profile_report.profile_data(
        one.runs[0], profile_report.profile(one.runs[0], "region"), "region"
    ).rows
    told = {row["region"]: row["total"] for row in rows}
    assert (told["outer"], told["inner"]) == (10.5, 5.0)


def test_a_narrow_terminal_has_verdicts_without_how_sure_they_are(tmp_path: Path) -> None:
    """Where values are long, too: the range goes first, then that, and a line never wraps."""
    rng = random.Random(13)
    program = next(iter(NOISE))
    sides = [side(str(generated(tmp_path, rng, program, label))) for label in "ab"]
    (found,), _ = compare(sides, ComparisonOptions())
    difference = Difference(1 / 3, 5.0, is_ratio=True, shift=2.7, error=0.5, degrees=4)
    rows = tuple(
        ComparisonRow(WHOLE, metric, unit, "counted", "", before, after, (3, 3),
                      found=difference, own=difference, p=0.022, measured_p=0.022)
        for metric, unit, before, after in (
            ("context-switches", "", 1 / 3, 5.0),
            ("storage_read_bandwidth", "bytes/s", 1.2345e6, 123.45e6),
        )
    )  # fmt: skip
    wide, narrow = (
        render_comparison([replace(found, whole=rows)], (), width=width) for width in (120, 60)
    )
    assert "more 97.8 %" in wide
    assert "more 97.8 %" not in narrow
    assert " more\n" in narrow
    assert [line for line in narrow.splitlines() if len(line) > 60] == []
