"""Windows of a run's time, activity and time order, against plain loops over the stacks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import duckdb
import numpy as np
import pytest
from answer_types import faults
from hypothesis import given
from hypothesis import strategies as st
from property_tests import examples
from sampled_runs import EACH_NS, SECONDS_EACH, Frame, Stack, write
from view_runs import ranks
from view_server import Client, serving

from gnomon.errors import UsageError
from gnomon.model.metric import CPU_TIME, WAITING_TIME
from gnomon.view import contract
from gnomon.view.node_differences import node_differences
from gnomon.view.open_run import OpenRun
from gnomon.view.sample_times import in_bins
from gnomon.view.session import Session
from gnomon.view.thread_activity import activity, within
from gnomon.view.time_answers import sampled_ns
from gnomon.view.time_order import time_order
from gnomon.view.traced_time import TimeSpan

MAIN, SOLVE, DOT, READ = Frame("main"), Frame("solve"), Frame("dot"), Frame("load")
STACKS = (
    Stack((MAIN, SOLVE, DOT), 40),
    Stack((MAIN, READ), 25, wait="[read]"),
    Stack((MAIN, SOLVE), 10),
    Stack((MAIN, SOLVE, DOT), 15),
    Stack((MAIN, DOT), 30, tid=101),
    Stack((MAIN,), 60, tid=101, wait="[lock]"),
)
CPU, WAITING = 0, 1
LENGTH_NS = 90 * EACH_NS


class Part(NamedTuple):
    """A stack in time: from and to, in nanoseconds since the run began."""

    stack: Stack
    begin: int
    end: int


def parts(stacks: tuple[Stack, ...]) -> list[Part]:
    """Return when each stack was there: those of a thread one after the other."""
    clocks: dict[int, int] = {}
    found = []
    for stack in stacks:
        begin = clocks.get(stack.tid, 0)
        clocks[stack.tid] = begin + stack.samples * EACH_NS
        found.append(Part(stack, begin, clocks[stack.tid]))
    return found


def looped(stacks: tuple[Stack, ...], begin: int, end: int) -> dict[tuple[str, ...], list[float]]:
    """Return seconds of CPU time and of waiting within a window, by the names from the root."""
    found: dict[tuple[str, ...], list[float]] = {}
    for stack, first, last in parts(stacks):
        seconds = max(0, min(end, last) - max(begin, first)) / 1e9
        names = ("app", *(frame.function for frame in stack.frames))
        names = (*names, stack.wait) if stack.wait else names
        for depth in range(1, len(names) + 1):
            found.setdefault(names[:depth], [0.0, 0.0])[bool(stack.wait)] += seconds
    return found


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Session:
    session = Session()
    session.open([str(write(tmp_path_factory.mktemp("times") / "run", STACKS))])
    return session


@pytest.fixture(scope="module")
def client(session: Session) -> Iterator[Client]:
    """Serve the session until the last test: a server closes what it has open when it ends."""
    with serving(session) as served:
        yield served


def names_of(run: OpenRun) -> list[tuple[str, ...]]:
    tree = run.tree("region")
    names: list[tuple[str, ...]] = []
    for node in range(tree.n):
        parent = int(tree.parent[node])
        names.append((names[parent] if parent >= 0 else ()) + (tree.text(tree.name, node),))
    return names


@given(st.integers(0, LENGTH_NS - 1), st.integers(1, LENGTH_NS))
@examples(40, deadline=None)
def test_a_window_has_what_is_in_it(session: Session, begin: int, length: int) -> None:
    end = begin + length
    window = session.run(f"1@{begin}-{end}")
    wanted = looped(STACKS, begin, end)
    for metric in (CPU, WAITING):
        values = window.values("region", metric).inclusive
        for name, value in zip(names_of(window), values.tolist(), strict=True):
            assert np.nan_to_num(value) == pytest.approx(wanted[name][metric], abs=1e-9), name


def test_all_of_the_time_is_the_run_itself(session: Session) -> None:
    whole, window = session.run("1"), session.run(f"1@0-{LENGTH_NS}")
    for by in ("region", "callers", "rank", "module"):
        for column in (0, 1):
            own, other = (run.values(by, CPU)[column] for run in (whole, window))
            assert np.allclose(own, other, atol=1e-12, equal_nan=True), by


def test_other_metrics_and_their_tables_are_left_out(tmp_path: Path) -> None:
    session = Session()
    session.open([str(write(tmp_path / "run", STACKS, {"cycles": 100.0}))])
    names = [metric.name for metric in session.run("1@0-1000000000").data.metrics]
    assert names == ["CPU time", "cycles", "Waiting time"]
    ((rows,),) = session.run("1@0-100000000").data.tables.rows("SELECT COUNT(*) FROM samples")
    ((all_rows,),) = session.run("1").data.tables.rows("SELECT COUNT(*) FROM samples")
    assert 0 < rows < all_rows
    session.close("1")
    with pytest.raises(UsageError, match="no open run"):
        session.run("1@0-1000000000")


@pytest.mark.parametrize("wrong", ["1@5-5", "1@900000000000-900000000001", "1@0-0"])
def test_a_window_without_anything_is_refused(session: Session, wrong: str) -> None:
    with pytest.raises(UsageError, match="samples are from 0 to 900000000"):
        session.run(wrong)


@pytest.mark.parametrize("wrong", ["1@-1-5", "1@a-b", "1@1", "1@1-2-3", "@0-5", "9@0-5"])
def test_what_is_no_window_is_no_run(session: Session, wrong: str) -> None:
    with pytest.raises(UsageError, match="no open run"):
        session.run(wrong)


def test_a_window_is_not_closed_for_the_run(session: Session) -> None:
    with pytest.raises(UsageError, match="close the run"):
        session.close("1@0-1000000000")
    assert sampled_ns(session.run("1")) == LENGTH_NS


def test_runs_without_samples_or_of_several_have_no_windows(tmp_path: Path) -> None:
    session = Session()
    session.open([str(ranks(tmp_path / "counted"))])
    assert sampled_ns(session.run("1")) == 0
    with pytest.raises(UsageError, match="measure with gnomon record"):
        session.run("1@0-5")
    session.open([str(write(tmp_path / name, STACKS)) for name in ("a", "b")], combined=True)
    with pytest.raises(UsageError, match="no time in common"):
        session.run("4@0-5")


@pytest.mark.parametrize("bins", [1, 7, 90, 1000])
def test_activity_is_spread_over_the_time_that_samples_last(session: Session, bins: int) -> None:
    run = session.run("1")
    time = run.sampled_time()
    for metric in (CPU, WAITING):
        found = in_bins(run.data, run.metric(metric), time, TimeSpan(0, LENGTH_NS), bins, -1)
        sums = np.bincount(found.bin, weights=found.value, minlength=bins)
        for at in range(bins):
            edges = LENGTH_NS * at / bins, LENGTH_NS * (at + 1) / bins
            wanted = sum(
                max(0.0, min(edges[1], part.end) - max(edges[0], part.begin)) / 1e9
                for part in parts(STACKS)
                if bool(part.stack.wait) == bool(metric)
            )
            assert sums[at] == pytest.approx(wanted, abs=1e-9), (metric, at)


def test_a_thread_is_not_running_where_it_waits(tmp_path: Path) -> None:
    # It runs for a tenth of the time; each of its samples stands for five times what it ran last.
    bursts = (Stack((MAIN, SOLVE), 1), Stack((MAIN,), 9, wait="[read]")) * 10
    others = (Stack((MAIN,), 60, tid=101), Stack((MAIN,), 40, tid=101, wait="[lock]"))
    folder = write(tmp_path / "run", (*bursts, *others))
    table = folder / "samples.parquet"
    with duckdb.connect() as database:
        burst = f"metric = {CPU} AND location = 2"
        nth = "ROW_NUMBER() OVER (PARTITION BY location, metric ORDER BY time_ns)"
        database.sql(
            f"SELECT * REPLACE (IF({burst}, 5 * weight, weight) AS weight) FROM "
            f"'{table}' QUALIFY NOT ({burst}) OR {nth} % 5 = 0"
        ).write_parquet(str(tmp_path / "samples.parquet"))
    (tmp_path / "samples.parquet").replace(table)
    session = Session()
    session.open([str(folder)])
    run = session.run("1")
    assert run.data.locations[2].tid == 100
    time = run.sampled_time()
    spread = in_bins(run.data, run.metric(CPU), time, TimeSpan(0, time.length_ns), 100, 2)
    assert {int(part) % 10 for part in spread.bin} == {6, 7, 8, 9, 0}
    span = TimeSpan(0, time.length_ns)
    runs = [activity(run.data, run.metric(CPU), time, span, 100, place) for place in (2, -1)]
    waits = activity(run.data, run.metric(WAITING), time, span, 100, 2)
    burst_only = [SECONDS_EACH * (at % 10 == 0) for at in range(100)]
    assert runs[0] == pytest.approx(burst_only)
    assert runs[0] + waits == pytest.approx([SECONDS_EACH] * 100)
    assert runs[1] - runs[0] == pytest.approx([SECONDS_EACH * (at < 60) for at in range(100)])


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 10)), min_size=1, max_size=20))
@examples(100, deadline=None)
def test_time_that_does_not_fit_lies_before(parts: list[tuple[int, int]]) -> None:
    used, free = (np.array([column], float) for column in zip(*parts, strict=True))
    fitted = within(used, free)
    assert (fitted <= free).all()
    assert fitted.sum() == min(used.sum(), free.sum())
    # Up to a part there is no less than there was, where what comes later has room.
    if used.sum() <= free.sum() and (np.cumsum(used) <= np.cumsum(free)).all():
        assert (np.cumsum(fitted) >= np.cumsum(used)).all()


def test_time_order_has_each_stack_where_it_was(session: Session) -> None:
    run = session.run("1")
    order = time_order(run, [CPU, WAITING], TimeSpan(0, LENGTH_NS), 90, -1)
    tree = run.tree("region")
    of_threads = [run.data.locations[at].tid for at in order.lanes.tolist()]
    rows = zip(order.lane, order.depth, order.first, order.last, order.node, strict=True)
    found = [
        (of_threads[lane], depth, first, last, tree.text(tree.name, node))
        for lane, depth, first, last, node in (map(int, row) for row in rows)
    ]
    assert found == [
        (100, 0, 0, 90, "app"), (100, 1, 0, 90, "main"), (100, 2, 0, 40, "solve"),
        (100, 3, 0, 40, "dot"), (100, 2, 40, 65, "load"), (100, 3, 40, 65, "[read]"),
        (100, 2, 65, 90, "solve"), (100, 3, 75, 90, "dot"),
        (101, 0, 0, 90, "app"), (101, 1, 0, 90, "main"), (101, 2, 0, 30, "dot"),
        (101, 2, 30, 90, "[lock]"),
    ]  # fmt: skip
    assert order.value[0] == pytest.approx(90 * SECONDS_EACH)


def test_running_alone_leaves_gaps_where_a_thread_waited(session: Session) -> None:
    run = session.run("1")
    order = time_order(run, [CPU], TimeSpan(0, LENGTH_NS), 90, -1)
    tops = [(int(a), int(b)) for d, a, b in zip(order.depth, order.first, order.last, strict=True)
            if d == 0]  # fmt: skip
    assert tops == [(0, 40), (65, 90), (0, 30)]


@pytest.mark.parametrize(
    "nonsense",
    [
        "NULL AS time_ns", "-5 AS time_ns", "9223372036854775807 AS time_ns",
        "'nan'::DOUBLE AS weight", "'inf'::DOUBLE AS weight", "1e300 AS weight",
        "-1e300 AS weight", "123456789 AS path", "-1 AS location", "99 AS metric",
    ],
)  # fmt: skip
def test_samples_that_make_no_sense_are_left_out_or_refused(tmp_path: Path, nonsense: str) -> None:
    session = Session()
    samples = write(tmp_path / "run", STACKS) / "samples.parquet"
    damaged = tmp_path / "damaged.parquet"
    duckdb.sql(
        f"COPY (SELECT * FROM '{samples}' UNION ALL SELECT * REPLACE ({nonsense}) FROM "
        f"(SELECT * FROM '{samples}' LIMIT 3)) TO '{damaged}' (FORMAT parquet)"
    )
    damaged.replace(samples)
    session.open([str(tmp_path / "run")])
    run = session.run("1")
    time = run.sampled_time()
    assert LENGTH_NS <= time.length_ns < 2**63
    for metric in (CPU, WAITING):
        found = in_bins(run.data, run.metric(metric), time, TimeSpan(0, time.length_ns), 64, -1)
        assert np.isfinite(found.value).all()
    time_order(run, [CPU, WAITING], TimeSpan(0, time.length_ns), 64, -1)
    values = session.run(f"1@0-{time.length_ns}").values("region", CPU)
    assert np.isfinite(values.inclusive[0])


def test_a_difference_is_significant_where_samples_say_so(tmp_path: Path) -> None:
    session = Session()
    before = (Stack((MAIN, SOLVE, DOT), 1000), Stack((MAIN, SOLVE), 500), Stack((MAIN, READ), 4))
    after = (Stack((MAIN, SOLVE, DOT), 1400), Stack((MAIN, SOLVE), 510), Stack((MAIN, READ), 6))
    for name, stacks in (("a", before), ("b", after)):
        session.open([str(write(tmp_path / name, stacks))])
    runs = [session.run(number) for number in ("1", "2")]
    nodes = [{name[-1]: at for at, name in enumerate(names_of(run))} for run in runs]
    wanted = ("dot", "load")
    pairs = [np.array([of_run[name] for name in wanted], dtype=np.int32) for of_run in nodes]
    found = node_differences(runs[0], runs[1], "CPU time", *pairs)
    assert found.before.tolist() == pytest.approx([10.0, 0.04])
    assert found.after.tolist() == pytest.approx([14.0, 0.06])
    assert found.p[0] < 1e-6
    assert found.p[1] > 0.5
    new = node_differences(runs[0], runs[1], "CPU time", np.array([-1], np.int32), pairs[1][:1])
    assert (new.before[0], new.p[0] < 1e-6) == (0.0, True)
    with pytest.raises(UsageError, match="no metric 'cycles'"):
        node_differences(runs[0], runs[1], "cycles", *pairs)
    with pytest.raises(UsageError, match="no node 99"):
        node_differences(runs[0], runs[1], "CPU time", pairs[0], np.array([0, 99], np.int32))


def test_metrics_say_what_they_are_of_the_time_of_threads(tmp_path: Path) -> None:
    session = Session()
    session.open([str(write(tmp_path / "run", STACKS, {"cycles": 100.0}))])
    with serving(session) as client:
        of_threads = [
            (one["name"], one["ofThreads"]) for one in client.ask("/api/runs/1/metrics").json
        ]
    assert of_threads == [(CPU_TIME, "running"), ("cycles", None), (WAITING_TIME, "waiting")]


def test_answers_over_time_are_of_their_types(client: Client) -> None:
    for address, hint in (
        ("/api/runs/1/activity?metric=0&bins=64", contract.Activity),
        ("/api/runs/1/order?metrics=0,1&bins=64&begin=10&end=500000000", contract.TimeOrder),
        ("/api/runs/1@5-500000000/values?metric=1", contract.Values),
    ):
        header, arrays = client.ask(address).arrays
        assert list(faults({**header, **arrays}, hint)) == [], address
    pairs = {"a": "1", "b": "1", "metric": "CPU time", "before": [1, -1], "after": [1, 1]}
    header, arrays = client.post("/api/differences", pairs).arrays
    assert list(faults({**header, **arrays}, contract.NodeDifferences)) == []
    assert (arrays["before"] == [0.95, 0]).all()


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("activity?metric=9", "no metric 9"), ("activity?metric=0&bins=x", "not a whole number"),
        ("order?metrics=0&begin=900000000", "samples are from 0 to 900000000"),
        ("order?metrics=0&end=99999999999999999999", "too large"),
        ("order?metrics=7", "no metric 7"), ("order?location=99", "no location 99"),
    ],
)  # fmt: skip
def test_what_is_asked_wrongly_is_refused(client: Client, address: str, why: str) -> None:
    answer = client.ask(f"/api/runs/1/{address}")
    assert (answer.status, why in answer.json["error"]) == (400, True), answer.body
    wrong = {"a": "1", "b": "1", "metric": "CPU time", "before": [1], "after": ["1"]}
    assert client.post("/api/differences", wrong).status == 400
