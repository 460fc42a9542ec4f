"""`gnomon report RUN mpi`: efficiencies, waiting and outliers against values worked out by hand."""

from __future__ import annotations

import csv
import io
import json
from math import inf, nan
from pathlib import Path
from typing import Any

import duckdb
import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]
from made_runs import made_run
from mpi_runs import Calls, mpi_run

from benchmarks import large_mpi
from gnomon.cli import main
from gnomon.mpi import mpi_metrics, mpi_summary
from gnomon.mpi.capability import MPI
from gnomon.mpi.mpi_balance import COMPUTING, SENT, efficiency, outliers
from gnomon.mpi.mpi_sums import MpiSums
from gnomon.store import run_directory
from gnomon.store.run import Run

ALLREDUCE = Calls(
    "MPI_Allreduce", 14, (3.0, 1.0, 2.0, 4.0), 10, {mpi_metrics.SENT: (80.0,) * 4}, "norm"
)
SEND = Calls(
    "MPI_Send", 20, (1.0, None, None, 1.0), 5,
    {mpi_metrics.SENT: (500.0, 0, 0, 1500.0), mpi_metrics.LONGEST: (3e8, 0, 0, 6e8)}, "exchange",
)  # fmt: skip
INIT = Calls("MPI_Init", 5, (0.5,) * 4)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Return a run of four ranks that took ten seconds, computing 6, 9, 8 and 5 of them."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    return mpi_run(
        tmp_path, (10.0, 10.0, 10.0, 10.0), (ALLREDUCE, SEND, INIT),
        messages=((0, 1, 5, 500, 1), (3, 2, 4, 1400, 1), (3, -1, 1, 100, 1)),
        pairs=(
            (mpi_metrics.SIZE, "MPI_Allreduce", "up to 8 bytes", 3.0, 80, 10),
            (mpi_metrics.SIZE, "MPI_Send", "up to 128 bytes", 1.0, 500, 5),
            (mpi_metrics.SIZE, "MPI_Init", "nothing", 0.5, 0, 1),
            (mpi_metrics.COMMUNICATOR, "MPI_COMM_WORLD", "MPI_Allreduce", 2.0, 50, 7),
            (mpi_metrics.COMMUNICATOR, "rows", "MPI_Allreduce", 1.0, 30, 3),
        ),
        overhead=0.001,
    )  # fmt: skip


def test_efficiencies_are_those_of_pop(run: Run) -> None:
    # Computing: 10 - 3 - 1, 10 - 1, 10 - 2, 10 - 4 - 1. MPI_Init is before what is elapsed.
    whole = efficiency(MpiSums(run).ranks())
    assert whole is not None
    assert whole.elapsed == 10
    assert whole.parallel == pytest.approx(28 / 4 / 10)
    assert whole.balance == pytest.approx(28 / 4 / 9)
    assert whole.communication == pytest.approx(9 / 10)
    assert (whole.least, whole.mean, whole.most) == pytest.approx((0.1, 0.3, 0.5))


def test_waiting_is_estimated_from_the_quickest_rank_of_as_many_calls(tmp_path: Path) -> None:
    quick = Calls("MPI_Barrier", 3, (2.0, 3.0, 7.0, 7.5), 4)
    other = Calls("MPI_Bcast", 4, (0.1, None, None, None), 4)
    nonblocking = Calls("MPI_Iallreduce", 5, (1.0, 2.0, 3.0, 4.0), 4)
    sums = MpiSums(mpi_run(tmp_path, (9.0,) * 4, (quick, other, nonblocking)))
    assert not sums.is_measured
    waiting = {site.routine: site.waiting for site in sums.sites()}
    assert waiting == {"MPI_Barrier": pytest.approx(0 + 1 + 5 + 5.5), "MPI_Bcast": None,
                       "MPI_Iallreduce": None}  # fmt: skip
    assert sums.ranks().waiting.tolist() == pytest.approx([0, 1, 5, 5.5])


def test_ranks_are_compared_with_those_that_called_as_often(tmp_path: Path) -> None:
    run = mpi_run(tmp_path, (9.0,) * 4, (Calls("MPI_Barrier", 3, (2.0, 3.0, 7.0, 7.5), 4),))
    profile = run.file(next(schema for schema in run.schemas if schema.name == "profile"))
    # Ranks 2 and 3 are another communicator, with other calls.
    with duckdb.connect() as connection:
        calls = "CASE WHEN location > 1 THEN 8 ELSE calls END AS calls"
        connection.execute(f"CREATE TABLE t AS SELECT * REPLACE ({calls}) FROM '{profile}'")
        connection.execute(f"COPY t TO '{profile}' (FORMAT parquet)")
    sums = MpiSums(run_directory.find(str(run.path)))
    assert sums.ranks().waiting.tolist() == pytest.approx([0, 1, 0, 0.5])


def test_waiting_that_was_measured_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    measured = Calls("MPI_Barrier", 3, (2.0, 3.0), 4, {mpi_metrics.WAITING: (5e8, 25e8)})
    sums = MpiSums(mpi_run(tmp_path, (9.0, 9.0), (measured,)))
    assert sums.is_measured
    assert sums.ranks().waiting.tolist() == [0.5, 2.5]
    assert [site.waiting for site in sums.sites()] == [3.0]
    assert main(["report", str(tmp_path / "run"), "mpi"]) == 0
    shown = capsys.readouterr().out
    assert "measured" in shown
    assert "waits a part of the site's time: estimated" not in shown


def test_ranks_stand_out_by_what_is_unusual(tmp_path: Path) -> None:
    computing = [5.0, 5.1, 4.9, 5.0, 9.0, 5.05, 4.95, 5.0]
    calls = Calls(
        "MPI_Send", 3, [10 - seconds for seconds in computing], 4,
        {mpi_metrics.SENT: [100.0, 100, 100, 100, 100, 100, 100, 900]},
    )  # fmt: skip
    ranks = MpiSums(mpi_run(tmp_path, (10.0,) * 8, (calls,))).ranks()
    first, second = outliers(ranks)
    assert (first.row, first.by, first.value, first.median) == (4, COMPUTING, 9.0, 5.0)
    # Deviations: 0, 0.1, 0.1, 0, 4, 0.05, 0.05, 0, whose median is 0.05.
    assert first.score == pytest.approx(4 / (1.4826 * 0.05))
    assert (second.row, second.by, second.value, second.median) == (7, SENT, 900, 100)
    # No deviation but one: the mean deviation stands in.
    assert second.score == pytest.approx(800 / (1.2533 * 100))


def test_little_differences_are_no_outliers(tmp_path: Path) -> None:
    calls = Calls("MPI_Send", 3, (5.0, 5.0001, 4.9999, 5.0, 4.9, 5.0), 4)
    assert outliers(MpiSums(mpi_run(tmp_path, (10.0,) * 6, (calls,))).ranks()) == []


def test_the_screen_has_it_all(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(run.path), "mpi"]) == 0
    shown = capsys.readouterr().out
    lines = [" ".join(line.split()) for line in shown.splitlines()]
    for text in (
        "parallel efficiency 70.0 % mean computing of elapsed",
        "load balance 77.8 % mean computing of a rank's most",
        "communication 90.0 % a rank's most computing of elapsed",
        "in MPI 30.0 % of a rank's time, mean; 10.0 % to 50.0 %",
        # 10 of 14 seconds; 2.5 for each of 4 ranks; beyond the quickest one 2 + 0 + 1 + 3.
        "71.4 % 2.5 s 60.0 % 10 8 B MPI_Allreduce a.c:14 norm",
        "14.3 % 500 ms - 2.5 200 B MPI_Send a.c:20 exchange",
        "1.367 KiB 4 3 → 2 MPI_Send a.c:20",
        "100 B 1 3 → ? MPI_Send a.c:20",
        "the profile took 1 ms of a rank, 0.01 % of elapsed, at most 1 ms (estimated)",
    ):
        assert text in lines, text
    assert "need a trace" in shown
    assert "up to 8 bytes" in shown
    assert "nothing" not in shown


@pytest.mark.parametrize("by", ["summary", "routine", "site", "rank", "size", "communicator"])
@pytest.mark.parametrize("width", [60, 80, 200])
def test_every_text_keeps_to_the_width(
    run: Run, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, by: str,
    width: int,
) -> None:  # fmt: skip
    monkeypatch.setenv("COLUMNS", str(width))
    assert main(["report", run.path.name, "mpi", "--by", by]) == 0
    assert max(map(len, capsys.readouterr().out.splitlines())) <= max(width, 80)


def document(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    """Return a JSON document that meets the schema."""
    assert main(["report", "--schema"]) == 0
    schema = json.loads(capsys.readouterr().out)
    assert main(["report", *words, "--json"]) == 0
    printed: dict[str, Any] = json.loads(capsys.readouterr().out)
    Draft202012Validator(schema).validate(printed)
    return printed


@pytest.mark.parametrize("by", ["summary", "routine", "site", "rank", "size", "communicator"])
def test_every_division_meets_the_schema(
    run: Run, capsys: pytest.CaptureFixture[str], by: str
) -> None:
    printed = document(capsys, str(run.path), "mpi", "--by", by)
    assert printed["rows"]
    assert ("routines" in printed) == (by == "summary")


def test_json_has_everything(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    printed = document(capsys, str(run.path), "mpi")
    routines = {row["name"]: row for row in printed["routines"]}
    assert {name: routines["MPI_Allreduce"][name] for name in ("calls", "bytes", "seconds")} == {
        "calls": 40, "bytes": 320, "seconds": 10.0,
    }  # fmt: skip
    assert routines["MPI_Send"] == {
        "name": "MPI_Send", "class": "point to point", "calls": 10, "bytes": 2000,
        "seconds": 2.0, "share": pytest.approx(100 * 2 / 14),
    }  # fmt: skip
    assert [row["rank"] for row in printed["ranks"]] == [0, 1, 2, 3]
    assert [row["computing"] for row in printed["ranks"]] == [6.0, 9.0, 8.0, 5.0]
    (site,) = [row for row in printed["sites"] if row["routine"] == "MPI_Send"]
    expected = {"ranks": 2, "least_seconds": 1.0, "mean_seconds": 1.0, "most_seconds": 1.0,
                "longest": 0.6, "waiting": None}  # fmt: skip
    assert {name: site[name] for name in expected} == expected
    assert printed["messages"][0] == {
        "sender": 3, "receiver": 2, "messages": 4, "bytes": 1400, "routine": "MPI_Send",
        "file": "/a.c", "line": 20,
    }  # fmt: skip
    values = {row["name"]: row["value"] for row in printed["rows"]}
    assert values["parallel efficiency"] == pytest.approx(70)


def test_messages_beyond_a_number_are_left_out_and_that_is_said(
    run: Run, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gnomon.mpi.mpi_part.MESSAGES_TOLD", 2)
    printed = document(capsys, str(run.path), "mpi")
    assert [row["bytes"] for row in printed["messages"]] == [1400, 500]
    assert printed["notes"] == [
        "messages: the 2 of 3 rows with most bytes; all of them: gnomon report RUN messages --json"
    ]


def test_csv_has_the_rows(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "ranks.csv"
    assert main(["report", str(run.path), "mpi", "--by", "rank", "-o", str(file)]) == 0
    rows = list(csv.DictReader(io.StringIO(file.read_text())))
    assert [row["in_mpi"] for row in rows] == ["4.0", "1.0", "2.0", "5.0"]


def test_sites_that_look_alike_differ_by_their_callers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = Calls("MPI_Bcast", 5, (2.0,), function="small/wrap")
    second = Calls("MPI_Bcast", 5, (1.0,), function="large/wrap")
    run = mpi_run(tmp_path, (9.0,), (first, second))
    assert [site.callers for site in MpiSums(run).sites()] == [("small:1",), ("large:1",)]
    assert main(["report", str(run.path), "mpi", "--by", "site"]) == 0
    shown = capsys.readouterr().out
    assert "MPI_Bcast a.c:5 ← small:1\n" in shown
    assert "MPI_Bcast a.c:5 ← large:1\n" in shown


def test_several_executions_are_means(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = mpi_run(tmp_path, (10.0,) * 4, (ALLREDUCE,), repetitions=3)
    assert main(["report", str(run.path), "mpi"]) == 0
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert "processes 4 with MPI, on 2 hosts, in each of 3 executions" in lines
    assert "100.0 % 2.5 s 60.0 % 10 8 B MPI_Allreduce a.c:14 norm" in lines
    sums = MpiSums(run)
    (site,) = sums.sites()
    assert (site.calls, site.seconds, site.sent, site.waiting) == (40, 10, 320, 6)
    whole = efficiency(sums.ranks())
    assert whole is not None
    assert whole.ranks == 4
    assert whole.parallel == pytest.approx(0.75)


@pytest.mark.parametrize(
    ("elapsed", "seconds"),
    [
        ((1.0,), (0.0,)), ((1.0,), (1.0,)), ((0.0,), (0.0,)), ((None,), (0.5,)),
        ((0.0, 0.0), (0.0, 0.0)), ((2.0, 0.0), (1.0, 1.0)), ((1.0, 1.0), (3.0, 3.0)),
        ((nan, inf, -1.0, 1e300), (nan, inf, -1.0, 1e300)),
    ],
)  # fmt: skip
def test_ranks_of_no_time_and_nonsense_are_no_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], elapsed: tuple[float | None, ...],
    seconds: tuple[float, ...],
) -> None:  # fmt: skip
    calls = Calls("MPI_Barrier", 3, seconds, 0, {mpi_metrics.SENT: seconds})
    late = Calls("MPI_Finalize", 4, (1.0,) * len(seconds))
    path = str(mpi_run(tmp_path, elapsed, (calls, late)).path)
    for by in ("summary", "routine", "site", "rank", "size", "communicator"):
        assert main(["report", path, "mpi", "--by", by, "--json"]) in (0, 1)
        printed = capsys.readouterr().out
        json.loads(printed)
        assert "NaN" not in printed
        assert "Infinity" not in printed
        assert main(["report", path, "mpi", "--by", by]) == 0
        shown = capsys.readouterr().out
        assert "nan" not in shown
        assert " inf" not in shown


def test_a_run_without_mpi_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made_run(tmp_path, [("app", "f", "a.c", 3, (6, 6, 1, 0))], name="other")
    assert main(["report", str(tmp_path / "other"), "mpi"]) == 1
    assert "no calls of MPI were recorded" in capsys.readouterr().err


def test_the_summary_of_gnomon_run_says_it_in_a_sentence(run: Run, tmp_path: Path) -> None:
    # In MPI: 4, 1, 2 and 5 of 10 seconds, 10 of all 12 in MPI_Allreduce.
    assert " ".join(" ".join(mpi_summary.lines(run, 80)).split()) == (
        "MPI: 4 ranks, 30.0 % of their time in MPI (10.0 % to 50.0 %); most, 83.3 %, in "
        "MPI_Allreduce a.c:14 norm"
    )
    assert max(map(len, mpi_summary.lines(run, 60))) <= 60
    *sentence, head, columns, first, _ = mpi_summary.lines(run, 80, with_sites=True)
    assert sentence == mpi_summary.lines(run, 80)
    assert head == "  sites with most time in MPI:"
    assert columns.split()[-1] == "site"
    assert first.split()[:2] == ["83.3", "%"]
    assert first.endswith("MPI_Allreduce a.c:14 norm")
    assert max(map(len, mpi_summary.lines(run, 60, with_sites=True))) <= 60
    alone = mpi_run(tmp_path, (None,), (INIT._replace(seconds=(0.5,)),), name="alone")
    assert mpi_summary.lines(alone, 80) == ["  MPI: 1 rank"]
    other = made_run(tmp_path, [("app", "f", "a.c", 3, (6, 6, 1, 0))], name="other")
    assert mpi_summary.lines(other, 80) == []
    # Neither has what the capability says of itself in a run that it took part in.
    assert list(MPI.summary_lines(run, 80)) == []


def test_generated_ranks_stand_out_where_they_were_made_slow(tmp_path: Path) -> None:
    sums = MpiSums(run_directory.find(str(large_mpi.write(tmp_path / "large", 64))))
    ranks = sums.ranks()
    assert {one.row for one in outliers(ranks) if one.by == COMPUTING} == {5}
    n_messages, *_ = sums.message_counts()
    # Six neighbours in a grid of four each way, and one rank of sixteen sends far.
    assert n_messages == 6 * 64 + 4
    calls = {site.routine: site.calls for site in sums.sites()}
    assert calls["MPI_Isend"] == 64 * 6 * large_mpi.STEPS
    whole = efficiency(ranks)
    assert whole is not None
    assert whole.ranks == 64
