"""What a run holds, part by part; profiles done in a loop and by executors."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from itertools import pairwise
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest
from held_runs import held
from job_run import job_run
from made_runs import made_run
from repeated_runs import repeated_run, rewritten

from gnomon.cli import main
from gnomon.store import profile_query, run_directory
from gnomon.store.exports.speedscope import speedscope
from gnomon.store.profile_query import Profile

TASKS = [
    ("process", "app", 0, {"task-clock": [10.0, 12.0], "page-faults": [1.0, 1.0]}),
    ("process", "app", 1, {"task-clock": [30.0, 32.0], "page-faults": [3.0, 5.0]}),
    ("thread", "worker", 0, {"task-clock": [10.0, 12.0]}),
    ("thread", "worker", 1, {"task-clock": [30.0, 32.0]}),
]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    metrics = {"wall time": [2e9, 4e9], "task-clock": [40.0, 44.0], "page-faults": [4.0, 6.0]}
    path = repeated_run(tmp_path, "app", metrics, tasks=TASKS)
    opened = held("app")
    yield path
    del opened


def told(*words: str, capsys: pytest.CaptureFixture[str]) -> Any:
    assert main(["report", *words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def table(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines()]


@pytest.mark.usefixtures("run")
def test_parts_as_json_are_the_tables(capsys: pytest.CaptureFixture[str]) -> None:
    assert told("app", "run", capsys=capsys)["run"]["repetitions"] == 2
    locations = told("app", "locations", capsys=capsys)["rows"]
    assert len(locations) == 10
    assert locations[1]["rank"] == 0
    assert [row["region"] for row in told("app", "regions", capsys=capsys)["rows"]] == ["app"]
    metrics = told("app", "metrics", "--top", "2", capsys=capsys)["rows"]
    assert [row["metric"] for row in metrics] == ["wall time", "task-clock"]


@pytest.mark.usefixtures("run")
def test_parts_as_text(capsys: pytest.CaptureFixture[str]) -> None:
    for words, expected in (
        (["run"], "wall time    100 ms"),
        (["locations"], "  command  node1  app"),
        (["regions"], "  hpm   app"),
        (["metrics"], "  page-faults        counted"),
        (["locations", "--top", "3"], "  and 7 more (--top 0 for all)"),
    ):
        assert main(["report", "app", *words]) == 0
        text = capsys.readouterr().out
        assert text.startswith("app.gnomon: ./app\n")
        assert expected in text
        assert max(map(len, text.splitlines())) <= 80


@pytest.mark.usefixtures("run")
def test_the_latest_run_is_the_default_of_parts(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "regions"]) == 0
    assert capsys.readouterr().out.startswith("app.gnomon: ./app\n")


def test_each_value_is_counted_once(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Threads, processes and the command have the same task-clock."""
    rows = told("app", "profile", "--by", "metric", capsys=capsys)["rows"]
    assert [(row["metric"], row["of"], row["total"], row["min"], row["max"]) for row in rows] == [
        ("wall time", "command", 3_000_000_000, 2_000_000_000, 4_000_000_000),
        ("task-clock", "thread", 42, 10, 32),
        ("page-faults", "process", 5, 1, 5),
    ]
    rows = told("app", "profile", "--by", "rank", "-e", "task-clock", capsys=capsys)["rows"]
    assert [(row["rank"], row["total"], row["mean"]) for row in rows] == [(1, 31, 31), (0, 11, 11)]
    assert run_directory.find(str(run)).path == run


@pytest.mark.usefixtures("run")
def test_profiles_as_text(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "app", "profile", "--by", "rank"]) == 0
    text = capsys.readouterr().out
    assert "task-clock by rank, counted" in text
    assert ["73.8", "%", "31", "ns", "rank", "1"] in table(text)
    assert "choose with -e: wall time, page-faults" in text
    assert main(["report", "app", "profile", "--by", "metric"]) == 0
    text = capsys.readouterr().out
    assert ["5", "1", "2.5", "5", "page-faults", "counted"] in table(text)
    assert main(["report", "app", "profile", "--by", "thread", "--top", "1"]) == 0
    assert "  and 3 more (--top 0 for all)" in capsys.readouterr().out


def test_lines_and_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made_run(
        tmp_path,
        [("app", "f", "/src/a.c", 3, (600, 6, 1, 0)), ("app", "g", "/src/a.c", 9, (400, 4, 0, 0)),
         ("app", "h", "/src/b.c", 2, (1000, 5, 0, 0))],
    )  # fmt: skip
    name = str(tmp_path / "run")
    rows = told(name, "profile", "--by", "file", "-e", "tot_ins", capsys=capsys)["rows"]
    assert {row["file"]: row["self"] for row in rows} == {
        "/src/a.c": 1000,
        "/src/b.c": 1000,
        "": 0,
    }
    rows = told(name, "profile", "--by", "line", "-e", "ld_ins", capsys=capsys)["rows"]
    assert [(row["function"], row["line"], row["self"]) for row in rows[:2]] == [
        ("f", 3, 6), ("h", 2, 5),
    ]  # fmt: skip


def test_ratios_are_not_added_up(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made_run(tmp_path, [("app", "f", "a.c", 3, (6, 6, 1, 0))])
    rewritten(tmp_path / "run.gnomon" / "metrics.parquet", "name || ' / 2' AS formula")
    assert main(["report", str(tmp_path / "run"), "profile", "--by", "line", "-e", "ld_ins"]) == 0
    text = capsys.readouterr().out
    assert "of total" not in text
    assert ["6", "a.c:3", "f"] in table(text)


def test_what_is_told_as_json_is_of_one_execution(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As the text has it: ratios of several places have no total there either."""
    task = {"task-clock": [30.0, 50.0], "ipc": [0.5, 0.7]}
    path = repeated_run(
        tmp_path, "app", {"wall time": [100.0, 200.0], "task-clock": [60.0, 100.0], "ipc": [1, 2]},
        tasks=[("process", "app", 0, task), ("process", "app", 1, task)],
    )  # fmt: skip
    rewritten(path / "metrics.parquet", "IF(name = 'ipc', 'a / b', '') AS formula")
    rows = told(str(path), "profile", "--by", "metric", capsys=capsys)["rows"]
    assert [(row["metric"], row["total"], row["mean"], row["calls"]) for row in rows] == [
        ("wall time", 150, 150, 1),
        ("task-clock", 80, 40, 2),
        ("ipc", None, 0.6, 2),
    ]


@pytest.fixture
def sections(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a run whose threads have sections, and only the command all of its time."""
    monkeypatch.chdir(tmp_path)
    path = repeated_run(
        tmp_path,
        "app",
        {"user time": [90.0], "user_share": [80.0]},
        unit={"user_share": "%"},
        sections=[
            ("hpm", "load", "main", {"user time": [20.0], "user_share": [71.0]}),
            ("hpm", "dump", "main", {"user time": [30.0], "user_share": [76.0]}),
            ("hpm", "dump", "worker", {"user time": [5.0], "user_share": [100.0]}),
        ],
    )
    rewritten(path / "profile.parquet", "CASE WHEN path = 0 THEN NULL ELSE exclusive END"
              " AS exclusive")  # fmt: skip
    rewritten(path / "metrics.parquet", "CASE WHEN name = 'user_share' THEN 'u / t' ELSE '' END"
              " AS formula")  # fmt: skip
    return path


@pytest.mark.usefixtures("sections")
def test_of_a_whole_and_its_sections_the_whole_is_reported(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """What the summary says, and not what the sections of threads come to."""
    rows = told("app", "profile", "--by", "metric", capsys=capsys)["rows"]
    assert [(row["metric"], row["of"], row["total"], row["max"]) for row in rows] == [
        ("user time", "command", 90, 90),
        ("user_share", "command", 80, 80),
    ]
    assert main(["report", "app", "profile", "--by", "metric"]) == 0
    assert ["80", "%", "user_share", "counted"] in table(capsys.readouterr().out)


@pytest.mark.usefixtures("sections")
def test_a_value_with_its_sections_is_none_without_them(
    capsys: pytest.CaptureFixture[str],
) -> None:
    rows = told("app", "profile", "-e", "user time", capsys=capsys)["rows"]
    assert {row["region"]: row["self"] for row in rows} == {"dump": 35, "load": 20}
    rows = told("app", "profile", "-e", "user_share", capsys=capsys)["rows"]
    assert {row["region"]: (row["min"], row["max"]) for row in rows} == {
        "dump": (76, 100),
        "load": (71, 71),
    }


@pytest.mark.usefixtures("sections")
def test_ratios_of_sections_are_not_added_up_for_their_thread(
    capsys: pytest.CaptureFixture[str],
) -> None:
    rows = told("app", "profile", "--by", "thread", "-e", "user_share", capsys=capsys)["rows"]
    assert [(row["of"], row["total"]) for row in rows] == [("command", 80)]
    assert main(["report", "app", "profile", "--by", "file", "-e", "user_share"]) == 1
    assert "no values by file: what does not add up has none there" in capsys.readouterr().out


@pytest.mark.usefixtures("sections")
def test_threads_have_the_numbers_that_the_kernel_gave_them(
    capsys: pytest.CaptureFixture[str],
) -> None:
    rows = told("app", "profile", "--by", "thread", "-e", "user time", capsys=capsys)["rows"]
    assert [(row["name"], row["pid"], row["total"]) for row in rows] == [
        ("main", 102, 50),
        ("worker", 103, 5),
    ]
    assert main(["report", "app", "profile", "--by", "thread", "-e", "user time"]) == 0
    assert "  process 103, thread -1 worker on node1\n" in capsys.readouterr().out


def test_what_is_not_known_of_a_run_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    refused = [{"event": name, "reason": "no PMU"} for name in ("cycles", "branches")]
    made_run(tmp_path, [], head={"exit_status": None, "unavailable": refused}, name="x")
    for part in ([], ["run"]):
        assert main(["report", str(tmp_path / "x"), *part]) == 0
        text = capsys.readouterr().out
        assert "not counted: cycles, branches: no PMU\n" in text
        assert "None" not in text
    assert main(["report", str(tmp_path / "x"), "metrics"]) == 0
    assert "  emulated  " in capsys.readouterr().out


def test_ratios_of_one_place_are_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = repeated_run(tmp_path, "x", {"ipc": [1.5]})
    rewritten(path / "metrics.parquet", "'a / b' AS formula")
    assert main(["report", str(path), "profile", "--by", "metric"]) == 0
    assert [line.split()[:2] for line in capsys.readouterr().out.splitlines()][-1] == ["1.5", "ipc"]


def test_what_is_of_the_whole_machine_is_not_added_over_ranks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    task = {"idle CPUs": [3.0, 3.0], "peak memory": [10.0, 20.0], "task-clock": [5.0, 5.0]}
    path = repeated_run(
        tmp_path, "app",
        {"wall time": [1.0, 1.0], "idle CPUs": [], "peak memory": [], "task-clock": []},
        tasks=[("rank", "app", 0, task), ("rank", "app", 1, task)],
    )  # fmt: skip
    for by, rows in (("metric", 1), ("region", 1), ("rank", 2)):
        several = by != "rank"
        for metric, least, most, total in (
            ("idle CPUs", 3, 3, 3), ("peak memory", 10, 20, 15), ("task-clock", 5, 5, 5),
        ):  # fmt: skip
            told_rows = told(str(path), "profile", "--by", by, "-e", metric, capsys=capsys)["rows"]
            found = [row for row in told_rows if row["metric"] == metric]
            assert len(found) == rows
            is_sum = metric == "task-clock"
            expected = (2 * total if is_sum else None) if several else total
            for row in found:
                assert (row["min"], row["max"]) == (least, most)
                assert (row["total"], row["sum"]) == (expected, expected), (by, metric)
    assert main(["report", str(path), "profile", "--by", "metric"]) == 0
    rows_of_text = table(capsys.readouterr().out)
    assert ["-", "10", "15", "20", "peak", "memory", "counted"] in rows_of_text


def test_a_run_without_ranks_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made_run(tmp_path, [])
    assert main(["report", str(tmp_path / "run"), "profile", "--by", "rank"]) == 1
    assert "no values by rank: it is not a run of several MPI ranks" in capsys.readouterr().out


@pytest.fixture
def job(tmp_path: Path) -> str:
    return str(job_run(tmp_path, "job"))


def test_what_a_program_has_without_its_sections(
    job: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its threads have no part of the sections of whole processes, and would count them twice."""
    for metric, expected in (
        ("task-clock", {"app": (30, 10, 20), "solve": (70, 30, 40), "sweep": (6, 2, 4)}),
        # Of the command it is not known: ranks run at a time, and the mean of both is told.
        ("wall time", {"app": (20, 15, 25), "solve": (37.5, 30, 45), "sweep": (4, 3, 5)}),
    ):
        for by in ("region", "line"):
            rows = told(job, "profile", "--by", by, "-e", metric, capsys=capsys)["rows"]
            name = {"line": "function"}.get(by, by)
            found = {row[name]: (row["self"], row["min"], row["max"]) for row in rows}
            assert found == expected, (metric, by)
    assert main(["report", job, "profile", "-e", "task-clock"]) == 0
    text = capsys.readouterr().out
    # Made up: the parts come to more than the program.
    assert "of total" not in text
    assert "rows overlap: no shares of the whole" in text
    assert "min, mean and max of the processes or threads" in text
    assert main(["report", job, "profile", "-e", "wall time"]) == 0
    text = capsys.readouterr().out
    assert text.splitlines()[2].split() == ["self", "total", "min", "mean", "max", "region"]
    assert "wall time: mean of 2 ranks\n" in text


def test_a_flame_graph_has_times_of_ranks_as_the_report_has(job: str) -> None:
    graph = json.loads("".join(speedscope(run_directory.find(job))))
    (times,) = (one for one in graph["profiles"] if one["name"].startswith("wall time"))
    assert times["name"] == "wall time (counted, mean of 2 ranks)"
    assert sorted(times["weights"]) == [4, 20, 37.5]


def test_a_section_of_the_programs_name_is_not_the_program(
    job: str, capsys: pytest.CaptureFixture[str]
) -> None:
    rewritten(Path(job) / "regions.parquet", "CASE WHEN region = 1 THEN 'app' ELSE name END"
              " AS name")  # fmt: skip
    rows = told(job, "profile", "-e", "task-clock", capsys=capsys)["rows"]
    found = {(row["region"], row["program"]): row["self"] for row in rows}
    assert found == {("app", True): 30, ("app", False): 70, ("sweep", False): 6}
    assert main(["report", job, "profile", "-e", "task-clock"]) == 0
    names = [line.split(maxsplit=10)[10] for line in capsys.readouterr().out.splitlines()[3:6]]
    assert sorted(names) == ["app", "app (program)", "sweep"]


def test_what_sections_have_is_in_the_programs_values(
    job: str, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = told(job, "profile", "--by", "metric", capsys=capsys)["rows"]
    assert {row["metric"]: (row["of"], row["total"]) for row in rows} == {
        "task-clock": ("thread", 100), "wall time": ("command", 60),
    }  # fmt: skip
    assert main(["report", job]) == 0
    assert capsys.readouterr().out.splitlines()[-2:] == [
        f"its sections: gnomon report {job} profile --by region",
        f"its 2 ranks: gnomon report {job} profile --by rank",
    ]
    rows = told(job, "profile", "--by", "rank", "-e", "task-clock", capsys=capsys)["rows"]
    assert {row["rank"]: row["total"] for row in rows} == {0: 40, 1: 60}
    rows = told(job, "profile", "--by", "thread", "-e", "task-clock", capsys=capsys)["rows"]
    assert [(row["rank"], row["total"]) for row in rows] == [(1, 60), (0, 40)]
    assert main(["report", job, "profile", "--by", "thread", "-e", "wall time"]) == 0
    assert "60 ns  rank 1 app on node1" in capsys.readouterr().out
    assert main(["report", job, "profile", "--by", "thread", "-e", "task-clock"]) == 0
    assert "60 ns  rank 1, process 7, thread -1 app on node1" in capsys.readouterr().out


# --- analyses -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def executors() -> Iterator[tuple[Executor, ...]]:
    """Return threads, and processes, whose start takes longer than all that they do here."""
    with (
        ThreadPoolExecutor(4) as threads,
        ProcessPoolExecutor(2, mp_context=get_context("spawn")) as processes,
    ):
        yield threads, processes


def test_a_loop_and_executors_give_the_same(
    executors: tuple[Executor, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Values whose sum depends on the order of adding."""
    tasks = [
        ("process", f"p{at % 3}", at % 5, {"task-clock": [0.1 * at + 1e16 * (at % 2), at / 3]})
        for at in range(40)
    ]
    opened = run_directory.find(
        str(repeated_run(tmp_path, "many", {"task-clock": [1.0, 2.0]}, tasks=tasks))
    )
    monkeypatch.setattr(profile_query, "ROWS_PER_PART", 7)
    parts = profile_query.parts(opened)
    assert len(parts) > 8
    assert (parts[0].first, parts[-1].end) == (0, 82)
    assert all(one.end == after.first for one, after in pairwise(parts))
    for by in profile_query.BY:
        once = profile_query.run(Profile(by), parts)
        assert once
        for executor in executors:
            assert profile_query.run(Profile(by), parts, executor) == once, by


def test_parts_do_not_change_exact_sums(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tasks = [("thread", "t", at, {"task-clock": [float(at)]}) for at in range(30)]
    opened = run_directory.find(
        str(repeated_run(tmp_path, "many", {"task-clock": [435.0]}, tasks=tasks))
    )
    whole = profile_query.run(Profile("metric"), profile_query.parts(opened))
    monkeypatch.setattr(profile_query, "ROWS_PER_PART", 4)
    assert profile_query.run(Profile("metric"), profile_query.parts(opened)) == whole
    (threads,) = Profile("metric").finest(whole)
    assert (threads.total, threads.locations, threads.least, threads.most) == (435, 30, 0, 29)


def test_a_time_that_nobody_saw_is_not_0(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    head = {"wall_seconds": 0.0, "exit_status": None}
    made_run(tmp_path, [], name="killed", head=head, component="kernel")
    head["exit_status"] = 0
    made_run(tmp_path, [], name="swift", head=head, component="kernel")
    for words, killed, swift in (
        ([], "wall time not known,", "0 ns,"), (["run"], "wall time not known", "wall time 0 ns"),
    ):  # fmt: skip
        for name, said in (("killed", killed), ("swift", swift)):
            assert main(["report", name, *words]) == 0
            assert said in " ".join(capsys.readouterr().out.split())
    assert main(["runs"]) == 0
    rows = {row[0]: row[5:] for row in table(capsys.readouterr().out) if len(row) > 5}
    assert rows["killed"] == ["-", "-", "./app"]
    assert rows["swift"] == ["0", "ns", "0", "./app"]
