"""Calls on files as they happened, as the view's server adds them up, against plain loops."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode

import duckdb
import numpy as np
import pytest
import traced_runs
from answer_types import faults
from traced_runs import CALLS, Call
from view_runs import ranks
from view_server import Client, serving

from gnomon.io import io_metrics
from gnomon.view import access_pattern, contract
from gnomon.view.session import Session

RANKS, COUNT = 5, 3000
STREAMS = ("fread", "fwrite")
FILES = ("/data/matrix.bin", "/data/Log", "/tmp/scratch")
LENGTH = 1_000_000


HINTS: tuple[tuple[str, Any], ...] = (
    ("1/io", contract.CallTrace), ("1/io/files", contract.TracedFiles),
    ("1/io/rates", contract.CallRates), ("1/io/sums", contract.CallTotals), ("1", contract.Run),
)  # fmt: skip


class Part(NamedTuple):
    """A part of the time and of a file."""

    begin: int
    end: int
    low: int = 0
    high: int = 1 << 40


def random_calls() -> list[Call]:
    """Return calls of all kinds, some failed, some without an offset, some without a duration."""
    chance = np.random.default_rng(7)
    calls = []
    for nth in range(COUNT):
        name = list(CALLS)[int(chance.integers(len(CALLS)))]
        start = int(chance.integers(LENGTH)) if nth else 0
        lasts = int(chance.integers(0, 4) > 0) * int(chance.integers(1, 40_000))
        size = int(chance.integers(0, 5000)) if chance.integers(20) else None
        offset = int(chance.integers(100)) * 4096 if chance.integers(10) else None
        moves = name != "open"
        calls.append(Call(
            int(chance.integers(RANKS)), name, int(chance.integers(len(FILES))), start,
            min(lasts, LENGTH - start), offset if moves else None, size if moves else None,
            (size or 0) + int(chance.integers(3)) * 100 if moves else None,
            int(chance.integers(3)),
        ))  # fmt: skip
    calls.append(Call(0, "open", 0, LENGTH - 10, 10))
    return calls


ALL = random_calls()


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    folder = tmp_path_factory.mktemp("runs")
    traced_runs.write(folder / "random", ALL, FILES, ranks=RANKS)
    late = [call._replace(start=call.start + 5_000_000) for call in ALL]
    traced_runs.write(folder / "sampled", late, FILES, ranks=RANKS, samples=3)
    ranks(folder / "none")
    session = Session()
    for name in ("random", "sampled", "none"):
        session.open([str(folder / name)])
    with serving(session) as found:
        yield found


def answer(client: Client, address: str, **query: Any) -> dict[str, Any]:
    reply = client.ask(f"/api/runs/{address}?{urlencode(query)}")
    assert reply.status == 200, reply.body
    if reply.headers["content-type"] == "application/json":
        return dict(reply.json)
    header, arrays = reply.arrays
    return {**header, **arrays}


def of_layer(layer: str = "posix", file: int = -1) -> list[Call]:
    return [
        call for call in ALL
        if (call.name in STREAMS) == (layer == "stdio") and file in (-1, call.file)
    ]  # fmt: skip


def placed(layer: str, file: int) -> list[Call]:
    """Return requests that a picture has: of which it is known where they were."""
    return [
        call for call in of_layer(layer, file)
        if call.access and call.bytes is not None and call.offset is not None
    ]  # fmt: skip


def is_inside(call: Call, part: Part) -> bool:
    end, offset = call.start + call.duration, call.offset or 0
    return (
        call.start < part.end and (end > part.begin or call.start >= part.begin)
        and offset < part.high and max(offset + (call.bytes or 0), offset + 1) > part.low
    )  # fmt: skip


def test_what_there_is(client: Client) -> None:
    trace = answer(client, "1/io")
    assert (trace["lengthNs"], trace["layers"]) == (LENGTH, ["posix", "stdio"])
    assert [place["title"] for place in trace["places"]] == [
        f"rank {rank} on node1" for rank in range(RANKS)
    ]
    for rank, place in enumerate(trace["places"]):
        own = [call for call in of_layer() if call.rank == rank]
        for name, access in (("read", "read"), ("written", "write")):
            assert place[name] == sum(call.bytes or 0 for call in own if call.access == access)
        assert place["seconds"] == pytest.approx(sum(call.duration for call in own) / 1e9)
    assert answer(client, "3/io") == {"lengthNs": 0, "layers": [], "places": []}
    assert client.ask("/api/runs/1").json["tracedCalls"] == ["io"]
    assert client.ask("/api/runs/3").json["tracedCalls"] == []


@pytest.mark.parametrize("layer", ["posix", "stdio"])
def test_files_by_what_was_moved(client: Client, layer: str) -> None:
    found = answer(client, "1/io/files", layer=layer)
    assert found["total"] == len(FILES)
    moved = [one["read"] + one["written"] for one in found["files"]]
    assert moved == sorted(moved, reverse=True)
    for one in found["files"]:
        calls = of_layer(layer, one["file"])
        assert one["name"] == FILES[one["file"]]
        assert one["requests"] == sum(1 for call in calls if call.access)
        assert one["placed"] == len(placed(layer, one["file"]))
        assert one["read"] == sum(call.bytes or 0 for call in calls if call.access == "read")
        assert one["seconds"] == pytest.approx(sum(call.duration for call in calls) / 1e9)
        assert one["places"] == len({call.rank for call in calls})
    of_words = answer(client, "1/io/files", layer=layer, filter="data LOG")
    assert (of_words["total"], of_words["files"][0]["name"]) == (1, "/data/Log")


@pytest.mark.parametrize(
    "part",
    [Part(0, LENGTH), Part(200_000, 500_000), Part(200_000, 500_000, 40_000, 200_000),
     Part(999_990, LENGTH), Part(0, 1)],
)  # fmt: skip
def test_requests_one_by_one(client: Client, part: Part) -> None:
    for file, layer in ((0, "posix"), (1, "stdio"), (2, "posix")):
        query = {"file": file, "layer": layer, "begin": part.begin, "end": part.end}
        if part.low:
            query |= {"low": part.low, "high": part.high}
        found = answer(client, "1/io/pattern", **query)
        wanted = [call for call in placed(layer, file) if is_inside(call, part)]
        assert (found["isExact"], found["requests"], found["n"]) == (True, len(wanted), len(wanted))
        ends = [call.offset + call.bytes for call in placed(layer, file)]  # type: ignore[operator]
        assert found["fileEnd"] == max(ends)
        rows = sorted(
            (call.start, call.duration, call.offset, call.bytes, call.asked,
             int(call.access == "write"), 1 + call.rank, call.opening, call.name, CALLS[call.name])
            for call in wanted
        )  # fmt: skip
        names = ("start", "duration", "offset", "bytes", "asked", "access", "location", "opening")
        sites = [found["sites"][at] for at in found["site"].tolist()]
        told = sorted(zip(
            *(found[name].tolist() for name in names),
            (site["name"] for site in sites), (site["line"] for site in sites), strict=True,
        ))  # fmt: skip
        assert told == rows
        assert all(site["caller"] == "sweep" for site in sites)
        assert (np.diff(found["start"]) >= 0).all()


def test_only_some_processes(client: Client) -> None:
    found = answer(client, "1/io/pattern", file=0, locations="2,4")
    wanted = [call for call in placed("posix", 0) if call.rank in (1, 3)]
    assert found["n"] == len(wanted)
    assert set(found["location"].tolist()) == {2, 4}


def test_points_of_a_picture_stand_for_requests(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gnomon.view.io_answers.EXACT_MOST", 10)
    part = Part(100_000, 900_000, 10_000, 300_000)
    query = {"file": 0, "begin": part.begin, "end": part.end, "low": part.low, "high": part.high}
    for columns, rows in ((64, 32), (1, 1), (4096, 900)):
        found = answer(client, "1/io/pattern", **query, columns=columns, rows=rows)
        assert (found["isExact"], found["columns"], found["rows"]) == (False, columns, rows)
        wanted: dict[tuple[int, ...], list[float]] = {}
        for call in placed("posix", 0):
            if is_inside(call, part):
                assert call.offset is not None
                assert call.bytes is not None
                last = max(call.offset + call.bytes - 1, call.offset)

                def point(value: int, begin: int, end: int, points: int) -> int:
                    return min(max(int((value - begin) / ((end - begin) / points)), 0), points - 1)

                time, place = (part.begin, part.end, columns), (part.low, part.high, rows)
                key = (
                    point(call.start, *time), point(call.start + call.duration, *time),
                    point(call.offset, *place), point(last, *place), int(call.access == "write"),
                )  # fmt: skip
                sums = wanted.setdefault(key, [0.0, 0.0])
                sums[0] += 1
                sums[1] += call.bytes
        names = ("first", "last", "lower", "upper", "access")
        keys = zip(*(found[name].tolist() for name in names), strict=True)
        values = zip(found["counts"].tolist(), found["bytes"].tolist(), strict=True)
        assert dict(zip(keys, map(list, values), strict=True)) == wanted
        assert found["requests"] == sum(count for count, _ in wanted.values())


def test_a_picture_of_too_many_points_has_fewer(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gnomon.view.io_answers.EXACT_MOST", 10)
    monkeypatch.setattr(access_pattern, "_CELLS_MOST", 50)
    found = answer(client, "1/io/pattern", file=0, columns=1000, rows=1000)
    assert 0 < found["n"] <= 50
    assert found["columns"] < 1000
    assert found["counts"].sum() == found["requests"] == len(placed("posix", 0))


@pytest.mark.parametrize("by", ["location", "file"])
@pytest.mark.parametrize("rows", [1, 2, 5, 100])
def test_rates_are_spread_over_calls(client: Client, rows: int, by: str) -> None:
    begin, end, bins = 100_000, 700_000, 37
    found = answer(client, "1/io/rates", by=by, begin=begin, end=end, bins=bins, rows=rows)
    first_calls: dict[int, int] = {}
    for call in of_layer():
        first_calls[call.file] = min(call.start, first_calls.get(call.file, LENGTH))
    in_order = sorted(first_calls, key=lambda file: first_calls[file])
    many = len(in_order) if by == "file" else RANKS
    count = min(rows, many)
    wanted = np.zeros((3, count, bins))
    edges = np.linspace(begin, end, bins + 1)
    for call in of_layer():
        member = in_order.index(call.file) if by == "file" else call.rank
        row = next(at for at in range(count) if member < (at + 1) * many // count)
        for at in range(bins):
            first, last = edges[at], edges[at + 1]
            if call.duration:
                inside = max(0.0, min(call.start + call.duration, last) - max(call.start, first))
                share = inside / call.duration
            else:
                share = float(first <= call.start < last)
            moved = (call.bytes or 0) * share
            wanted[0, row, at] += moved * (call.access == "read")
            wanted[1, row, at] += moved * (call.access == "write")
            wanted[2, row, at] += share * call.duration / 1e9
    for which, name in enumerate(("read", "written", "seconds")):
        grid = np.zeros(count * bins)
        grid[found["cell"]] = found[name]
        np.testing.assert_allclose(grid.reshape(count, bins), wanted[which], rtol=1e-6, atol=1e-9)
    assert len(found["rows"]) == count
    if by == "file" and rows > 2:
        assert found["rows"] == [FILES[file].rpartition("/")[2] for file in in_order]
        assert found["number"].tolist() == in_order
    if by == "location" and rows < RANKS:
        assert found["rows"][-1].endswith("to rank 4 on node1")
        assert (found["number"][-1], found["rows"][0][:6]) == (-1, "rank 0")


def test_sums_of_a_window(client: Client) -> None:
    begin, end = 250_000, 600_000
    found = answer(client, "1/io/sums", begin=begin, end=end)
    inside = [call for call in of_layer() if begin <= call.start < end]
    steps = {access: dict.fromkeys(("consecutive", "forward", "backward"), 0)
             for access in ("read", "write")}  # fmt: skip
    ends: dict[tuple[int, int, int], int] = {}
    in_order = [call for file in range(len(FILES)) for call in placed("posix", file)]
    for call in sorted(in_order, key=lambda call: (call.start, call.duration, call.offset)):
        key = (call.rank, call.file, call.opening)
        before, offset = ends.get(key, 0), call.offset or 0
        ends[key] = offset + (call.bytes or 0)
        if begin <= call.start < end:
            name = "forward" if offset > before else "backward"
            steps[call.access][name if offset != before else "consecutive"] += 1
    for name, access in (("reads", "read"), ("writes", "write")):
        own = [call for call in inside if call.access == access]
        assert found[name] == {
            "requests": len(own), "failed": sum(call.bytes is None for call in own),
            "bytes": sum(call.bytes or 0 for call in own),
            "asked": sum(call.asked or 0 for call in own),
            "seconds": pytest.approx(sum(call.duration for call in own) / 1e9), **steps[access],
        }  # fmt: skip
    others = [call for call in inside if not call.access]
    assert (found["otherCalls"], found["otherSeconds"]) == (
        len(others), pytest.approx(sum(call.duration for call in others) / 1e9)
    )  # fmt: skip
    sizes = {one["name"]: (one["reads"], one["writes"]) for one in found["sizes"]}
    for name, least, most in (("nothing", 0, 0), ("up to 64 bytes", 33, 64),
                              ("up to 4 KiB", 2049, 4096)):  # fmt: skip
        own = [call for call in inside if call.access and least <= (call.asked or 0) <= most]
        reads = sum(call.access == "read" for call in own)
        assert sizes.get(name, (0, 0)) == (reads, len(own) - reads), name
    assert sum(map(sum, sizes.values())) == sum(1 for call in inside if call.access)
    by_line = {site["line"]: site for site in found["sites"]}
    for name, line in CALLS.items():
        own = [call for call in inside if call.name == name]
        assert (line in by_line) == bool(own)
        if own:
            site = by_line[line]
            assert (site["name"], site["caller"], site["calls"]) == (name, "sweep", len(own))
            assert site["bytes"] == sum(call.bytes or 0 for call in own)


def test_time_is_that_of_samples_too(client: Client) -> None:
    trace = answer(client, "2/io")
    assert trace["lengthNs"] == 30_000_000
    assert client.ask("/api/runs/2").json["sampledNs"] == 30_000_000
    found = answer(client, "2/io/pattern", file=0)
    assert found["start"].min() >= 5_000_000
    header, activity = client.ask("/api/runs/2/activity?metric=2&bins=3").arrays
    assert activity["value"] == pytest.approx([0.05] * 3)
    assert (header["beginNs"], header["endNs"]) == (0, 30_000_000)
    _, part = client.ask("/api/runs/2/activity?metric=2&bins=1&begin=0&end=10000000").arrays
    assert part["value"] == pytest.approx([0.05])


def test_calls_before_the_first_sample_begin_the_time(tmp_path: Path) -> None:
    calls = [
        Call(0, "read", 0, -4_000_000, 10, 0, 100), Call(0, "MPI_Send", -1, 50_000_000, 1_000_000)
    ]  # fmt: skip
    traced_runs.write(tmp_path / "run", calls, FILES, samples=2)
    session = Session()
    session.open([str(tmp_path / "run")])
    with serving(session) as client:
        assert answer(client, "1/io")["lengthNs"] == 55_000_000
        assert client.ask("/api/runs/1").json["tracedCalls"] == ["io", "mpi"]
        found = answer(client, "1/io/rates", kind="mpi", bins=55)
        assert found["cell"].tolist() == [54]
        assert found["seconds"] == pytest.approx([0.001])
        _, activity = client.ask("/api/runs/1/activity?metric=2&bins=55").arrays
        assert activity["value"] == pytest.approx([0.0] * 4 + [0.001] * 20 + [0.0] * 31)


def test_answers_are_of_their_types(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    hints = (
        ("3/io", contract.CallTrace), ("1/io/pattern?file=0", contract.AccessPattern),
        ("1/io/pattern?file=99", contract.AccessPattern),
        ("1/io/sums?file=99", contract.CallTotals), ("1/io/rates?file=99", contract.CallRates),
        ("1/io/rates?by=file", contract.CallRates),
    )  # fmt: skip
    for address, hint in (*HINTS, *hints):
        path, _, query = address.partition("?")
        found = answer(client, path, **dict(part.split("=") for part in query.split("&") if part))
        assert list(faults(found, hint)) == [], address
    monkeypatch.setattr("gnomon.view.io_answers.EXACT_MOST", 10)
    assert list(faults(answer(client, "1/io/pattern", file=0), contract.AccessPattern)) == []


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("1/io/pattern", "'file' is missing"), ("1/io/pattern?file=x", "not a whole number"),
        ("1/io?layer=mpi", "there are posix and stdio"), ("1/io/rates?kind=x", "io and mpi"),
        ("1/io/rates?by=x", "there are location and file"),
        ("1/io/pattern?file=0&begin=1000000", "the run is from 0 to 1000000"),
        ("1/io/pattern?file=0&low=9&high=9", "has nothing within"),
        ("1/io/sums?locations=1,99", "no location 99"), ("1/io/rates?begin=-5&end=0", "from 0"),
        ("3/io/files", "record them with gnomon io --trace"),
    ],
)  # fmt: skip
def test_what_is_asked_wrongly_is_refused(client: Client, address: str, why: str) -> None:
    reply = client.ask(f"/api/runs/{address}")
    assert (reply.status, why in reply.json["error"]) == (400, True), reply.body


@pytest.mark.parametrize(
    "nonsense",
    [
        "9223372036854775807 AS start_ns", "-9223372036854775808 AS start_ns",
        "9223372036854775807 AS duration_ns", "-5 AS duration_ns",
        "9223372036854775807 AS file_offset", "-9223372036854775808 AS file_offset",
        "9223372036854775807 AS bytes, 9223372036854775807 AS asked", "-7 AS bytes, -7 AS asked",
        "2147483647 AS location", "-3 AS path", "2147483647 AS path", "-2 AS file",
        "2147483647 AS file", "2147483647 AS region", "'both' AS access",
        "9223372036854775807 AS opening", "NULL AS start_ns", "NULL AS region, NULL AS access",
    ],
)  # fmt: skip
def test_answers_of_damaged_tables_are_of_their_types(tmp_path: Path, nonsense: str) -> None:
    calls = [call for call in ALL if call.file < 2][:60]
    events = traced_runs.write(tmp_path / "run", calls, FILES, ranks=RANKS) / "events.parquet"
    damaged = tmp_path / "damaged.parquet"
    duckdb.sql(
        f"COPY (SELECT * FROM '{events}' UNION ALL SELECT * REPLACE ({nonsense}) FROM "
        f"(SELECT * FROM '{events}' LIMIT 40)) TO '{damaged}' (FORMAT parquet)"
    )
    damaged.replace(events)
    session = Session()
    session.open([str(tmp_path / "run")])
    with serving(session) as client:
        for address, hint in HINTS:
            assert list(faults(answer(client, address), hint)) == [], address
        files = answer(client, "1/io/files")["files"]
        assert {0, 1} <= {one["file"] for one in files}
        for one in files:
            found = answer(client, "1/io/pattern", file=one["file"])
            assert list(faults(found, contract.AccessPattern)) == []
            assert np.isfinite(found["offset"]).all()
            assert np.isfinite(found["start"]).all()
        assert np.isfinite(answer(client, "1/io/rates")["read"]).all()


def test_a_window_of_samples_has_what_calls_come_to_within_it(client: Client) -> None:
    begin, end = 5_200_000, 5_700_000
    of_window = f"/api/runs/2@{begin}-{end}"
    metrics = {one["name"]: one["metric"] for one in client.ask(f"{of_window}/metrics").json}
    assert set(metrics) == {io_metrics.TIME, io_metrics.DELIVERED, "CPU time"}
    header, tree = client.ask(f"{of_window}/tree?by=region").arrays
    names = [header["strings"][at] for at in tree["name"].tolist()]
    for metric, unit in ((io_metrics.TIME, 1.0), (io_metrics.DELIVERED, None)):
        _, values = client.ask(f"{of_window}/values?by=region&metric={metrics[metric]}").arrays
        wanted = dict.fromkeys(CALLS, 0.0)
        for call in ALL:
            first, last = call.start + 5_000_000, call.start + 5_000_000 + call.duration
            inside = max(0, min(last, end) - max(first, begin))
            share = inside / call.duration if call.duration else float(begin <= first < end)
            wanted[call.name] += share * (call.duration if unit else call.bytes or 0)
        for name, value in wanted.items():
            told = values["inclusive"][names.index(name)]
            assert np.nan_to_num(told) == pytest.approx(value), (metric, name)
        assert values["inclusive"][0] == pytest.approx(sum(wanted.values()))
