"""Exports of stacks: what is in the files, and that they come back as the same profile."""

from __future__ import annotations

import gzip
import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest
from opened_profiles import opened
from sampled_runs import HEAD, Frame, Stack, write
from stack_values import program_of, stack_values

from gnomon.cli import main
from gnomon.model.tables import (
    LOCATIONS,
    METRICS,
    MODULES,
    PATHS,
    PROFILE,
    REGIONS,
    SAMPLES,
    Table,
)
from gnomon.store import exports, run_directory, waits
from gnomon.store.exports.firefox import VERSION
from gnomon.store.run import Run

ROOT = Path(__file__).parents[3]
SCHEMA = ROOT / "src/gnomon/view/web/node_modules/speedscope/dist/release/file-format-schema.json"
MAIN = Frame("main", 12)
STACKS = (
    Stack((MAIN, Frame("solve", 40), Frame("operator()(int, char)", 7)), 30, 100),
    Stack((MAIN, Frame("solve", 41)), 20, 100),
    Stack((MAIN, Frame("solve", 41), Frame("__memcpy", 0, "", "libc.so.6")), 10, 101),
    Stack((MAIN, Frame("a;b\nc", 3)), 5, 101),
    Stack((Frame("<module>", 1, "/src/app.py", "python"), Frame("do_page", 0, "", "[kernel]")), 4,
          101),
    Stack((), 2, 100),
)  # fmt: skip
SECONDS, MS = 0.01, 10.0


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    path = tmp_path_factory.mktemp("exports") / "sampled.gnomon"
    return run_directory.find(str(write(path, STACKS, {"page-faults (sampled)": 3.0})))


def pprof(run: Run) -> bytes:
    return b"".join(exports.pprof(run))


def speedscope(run: Run) -> str:
    return "".join(exports.speedscope(run))


@pytest.mark.parametrize(
    ("export", "name"), [(pprof, "x.pb.gz"), (speedscope, "x.speedscope.json")]
)
@pytest.mark.parametrize("metric", ["CPU time", "page-faults (sampled)"])
def test_what_was_exported_is_the_same_profile_again(
    export: Callable[[Run], str | bytes], name: str, metric: str, run: Run, tmp_path: Path
) -> None:
    again = opened(tmp_path / name, export(run))
    assert stack_values(again, metric) == stack_values(run, metric)
    assert len(stack_values(run, metric)) > 10
    assert program_of(again) == program_of(run) == "app"
    assert again.query("SELECT DISTINCT how FROM metrics") == [("sampled",)]
    assert again.head["command"] == ["./app"]
    names = "SELECT DISTINCT r.name, r.file, r.line FROM regions r ORDER BY ALL"
    assert again.query(names) == run.query(names)


def test_pprof_keeps_modules_threads_and_numbers_of_samples(run: Run, tmp_path: Path) -> None:
    again = opened(tmp_path / "x.pb.gz", pprof(run))
    where = "SELECT DISTINCT name, module FROM regions WHERE kind = 'cpu' ORDER BY ALL"
    assert again.query(where) == run.query(where)
    places = "SELECT kind, host, pid, tid, name FROM locations WHERE kind <> 'command' ORDER BY ALL"
    assert again.query(places) == run.query(places)
    counts = (
        "SELECT l.tid, r.name, r.line, SUM(p.raw)::INTEGER FROM profile p JOIN locations l USING "
        "(location) JOIN paths USING (path) JOIN regions r USING (region) JOIN metrics m USING "
        "(metric) WHERE m.name = 'CPU time' AND l.kind = 'thread' GROUP BY ALL ORDER BY ALL"
    )
    assert again.query(counts) == run.query(counts)
    assert again.head["started"] == pytest.approx(HEAD["started"])
    assert again.head["wall_seconds"] == HEAD["wall_seconds"]


def test_collapsed_stacks_come_back_by_thread(run: Run, tmp_path: Path) -> None:
    content = "".join(exports.collapsed(run, threads=True))
    again = opened(tmp_path / "x.collapsed", content)
    whole = stack_values(run, "CPU time", digits=6)
    # Lines of a function are one frame, of which names are; what would end one is replaced.
    expected = {
        (tid, tuple(_collapsed_name(name) for name in stack)): (
            round(values.inclusive * 1e6),
            round(values.exclusive * 1e6),
        )
        for (tid, stack), values in whole.items()
    }
    assert {key: tuple(map(round, values)) for key, values in
            stack_values(again, "samples").items()} == expected  # fmt: skip
    python = "SELECT name, module, file FROM regions WHERE module IN ('python', '[kernel]')"
    assert again.query(f"{python} ORDER BY name") == [
        ("<module>", "python", "/src/app.py"),
        ("do_page", "[kernel]", ""),
    ]


def _collapsed_name(name: str) -> str:
    return "a:b c" if name == "a;b\nc" else name


def test_collapsed_stacks_are_lines_as_flamegraph_reads_them(run: Run) -> None:
    lines = "".join(exports.collapsed(run)).splitlines()
    assert lines == sorted(lines)
    assert dict(line.rsplit(" ", 1) for line in lines) == {
        "app": "20000",
        "app;<module> (/src/app.py);do_page_[k]": "40000",
        "app;main;a:b c": "50000",
        "app;main;solve": "200000",
        "app;main;solve;__memcpy": "100000",
        "app;main;solve;operator()(int, char)": "300000",
    }
    faults = "".join(exports.collapsed(run, "PAGE-faults (sampled)")).splitlines()
    assert "app;main;solve 60" in faults


def test_a_metric_that_the_run_does_not_have(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", str(run.path), "--to", "collapsed", "-e", "watts"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("gnomon: metric 'watts': ")
    assert said.endswith("it has CPU time, page-faults (sampled)\n")


@pytest.mark.parametrize("option", [["-e", "CPU time"], ["--threads"]])
def test_options_of_collapsed_stacks_alone(
    option: list[str], run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["export", str(run.path), "--to", "pprof", *option]) == 2
    assert f"{option[0]} goes with --to collapsed, not with pprof" in capsys.readouterr().err


# --- threads in time ------------------------------------------------------------------------------


def timed_run(folder: Path) -> Run:
    """Write a run of a thread that computes, waits, computes and rests, and return it.

    From 0 to 20 ms it is in `work`, of which one sample each 10 ms; it waits in `read` for 50 ms
    and works for 10 ms from 90 ms on; its last sample is at 100 ms.
    """
    start = 1_700_000_000_000_000_000
    regions = Table(REGIONS, [
        (0, "hpm", "app", "app", "", 0, None), (1, "cpu", "work", "app", "/src/a.c", 4, False),
        (2, "cpu", "read", "libc.so.6", "", 0, False), (3, "wait", "pipe", "", "", 0, None),
        (4, "cpu", "inner", "app", "/src/a.h", 9, True),
    ])  # fmt: skip
    paths = Table(PATHS, [(0, -1, 0), (1, 0, 1), (2, 0, 2), (3, 2, 3), (4, 1, 4)])
    metrics = Table(METRICS)
    for number, (name, how) in enumerate((("CPU time", "sampled"), ("Waiting time", "counted"))):
        metrics.add(metric=number, name=name, unit="s", formula="", how=how, component="samples",
                    domain="all", scope="thread", description="", aggregation="sum",
                    absent_is_zero=True, reproducible=False, dilated=False)  # fmt: skip
    locations = Table(LOCATIONS, [
        (0, -1, "command", "node1", -1, -1, -1, "app"),
        (1, 0, "process", "node1", 2, 50, -1, "app"),
        (2, 1, "thread", "node1", 2, 50, 51, "worker"),
    ])  # fmt: skip
    samples = Table(SAMPLES)
    rows = ((10, 1, 0, 0.01), (20, 4, 0, 0.01), (30, 3, 1, 0.05), (100, 1, 0, 0.01))
    for ms, path, metric, weight in rows:
        samples.add(repetition=0, location=2, path=path, metric=metric,
                    time_ns=start + ms * 1_000_000, weight=weight)  # fmt: skip
    profile = Table(PROFILE)
    for path, metric, inclusive, exclusive in (
        (0, 0, 0.03, 0.0), (1, 0, 0.03, 0.02), (4, 0, 0.01, 0.01),
        (0, 1, 0.05, 0.0), (2, 1, 0.05, 0.0), (3, 1, 0.05, 0.05),
    ):  # fmt: skip
        profile.add(repetition=0, location=2, path=path, metric=metric, inclusive=inclusive,
                    exclusive=exclusive)  # fmt: skip
    modules = Table(MODULES, [("app", "/bin/app", "aabbcc"), ("libc.so.6", "/lib/libc.so.6", "")])
    head = HEAD | {"started": 1.7e9, "wall_seconds": 0.1}
    tables = [locations, regions, paths, metrics, profile, samples, modules]
    return run_directory.find(str(run_directory.write(str(folder / "timed"), head, tables, {})))


def test_speedscope_has_threads_in_the_order_of_time(tmp_path: Path) -> None:
    document = json.loads(speedscope(timed_run(tmp_path)))
    frames = [frame["name"] for frame in document["shared"]["frames"]]
    profiles = {
        profile["name"]: [
            (";".join(frames[at] for at in stack), weight)
            for stack, weight in zip(profile["samples"], profile["weights"], strict=True)
        ]
        for profile in document["profiles"]
    }
    assert list(profiles) == [
        "CPU time (sampled)", "CPU time (sampled) of rank 2, app 50, worker 51",
        "Waiting time (counted)",
        "Waiting time (counted) of rank 2, app 50, worker 51",
    ]  # fmt: skip
    # Between samples, which stand for what was before them, the thread has no frame.
    assert profiles["CPU time (sampled) of rank 2, app 50, worker 51"] == [
        ("app;work;a.c:4", 0.01), ("app;work;a.c:4;inner;a.h:9", 0.01), ("", 0.07),
        ("app;work;a.c:4", 0.01),
    ]  # fmt: skip
    # What was counted begins at its moment.
    assert profiles["Waiting time (counted) of rank 2, app 50, worker 51"] == [
        ("app;read;pipe", 0.05)
    ]
    assert profiles["Waiting time (counted)"] == [("app;read;pipe", 0.05)]


@pytest.mark.parametrize("make", [timed_run, None], ids=["timed", "sampled"])
def test_speedscope_files_keep_to_its_own_schema(
    make: Callable[[Path], Run] | None, run: Run, tmp_path: Path
) -> None:
    if not SCHEMA.exists():
        pytest.fail("speedscope's package is not there: run `make build`")
    document = json.loads(speedscope(make(tmp_path) if make else run))
    jsonschema.validate(document, json.loads(SCHEMA.read_bytes()))
    assert any([] in profile["samples"] for profile in document["profiles"]) == bool(make)


WAITING = (
    Stack((MAIN, Frame("solve", 40)), 30, 100),
    Stack((MAIN, Frame("solve", 41)), 12, 100, wait="[read: pipe]"),
    Stack((MAIN, Frame("[jit]")), 5, 101),
    Stack((MAIN, Frame("join", 9)), 20, 101, wait="[lock]"),
)


@pytest.mark.parametrize("name", ["speedscope", "pprof"])
def test_waits_come_back_with_their_reasons(name: str, tmp_path: Path) -> None:
    run = run_directory.find(str(write(tmp_path / "x.gnomon", WAITING)))
    content = b"".join(
        piece if isinstance(piece, bytes) else piece.encode()
        for piece in getattr(exports, name)(run)
    )
    other = opened(tmp_path / f"x.{name}", content)
    assert other.query("SELECT name FROM regions WHERE kind = 'wait' ORDER BY name") == [
        ("[lock]",), ("[read: pipe]",),
    ]  # fmt: skip
    for either in (run, other):
        of_threads = {int(thread.place["tid"]): thread for thread in waits.threads(either)}
        assert {tid: thread.cpu_time for tid, thread in of_threads.items()} == pytest.approx(
            {100: 0.3, 101: 0.05}
        )
        assert of_threads[100].reasons == pytest.approx({"read: pipe": 0.12})
        assert of_threads[101].reasons == pytest.approx({"lock": 0.2})
    codes = [
        [(code.reason, code.function, code.line, round(code.seconds, 9)) for code in
         waits.code_waits(one)]
        for one in (run, other)
    ]  # fmt: skip
    assert codes[1] == codes[0] == [("lock", "join", 9, 0.2), ("read: pipe", "solve", 41, 0.12)]


def test_waiting_without_reasons_is_shown_elsewhere(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    profile = {"type": "sampled", "name": "Waiting time (counted)", "unit": "seconds",
               "startValue": 0, "endValue": 1, "samples": [[0, 1]], "weights": [1]}  # fmt: skip
    path = tmp_path / "x.speedscope.json"
    path.write_text(json.dumps({
        "$schema": "https://www.speedscope.app/file-format-schema.json", "exporter": "gnomon 1",
        "shared": {"frames": [{"name": "app"}, {"name": "read"}]}, "profiles": [profile],
    }))  # fmt: skip
    assert main(["report", str(path), "waits"]) == 1
    said = capsys.readouterr().err
    assert "its waiting time has no reasons" in said
    command = shlex.split(said.partition("where it was: gnomon ")[2])
    assert main(command) == 0
    assert "read" in capsys.readouterr().out


def test_waiting_and_running_come_back_with_their_how(tmp_path: Path) -> None:
    run = timed_run(tmp_path)
    again = opened(tmp_path / "x.speedscope.json", speedscope(run))
    for metric in ("CPU time", "Waiting time"):
        assert stack_values(again, metric) == stack_values(run, metric)
    assert dict(again.query("SELECT name, how FROM metrics")) == {
        "CPU time": "sampled",
        "Waiting time": "counted",
    }
    assert again.query("SELECT rank, pid, tid, name FROM locations WHERE kind = 'thread'") == [
        (2, 50, 51, "worker")
    ]
    (warning,) = again.head["warnings"]
    assert "0.07 s in CPU time (sampled) of rank 2, app 50, worker 51 have no frame" in warning


def test_pprof_has_inlined_calls_build_ids_and_labels(tmp_path: Path) -> None:
    run = timed_run(tmp_path)
    again = opened(tmp_path / "x.pb.gz", pprof(run))
    assert stack_values(again, "Waiting time") == stack_values(run, "Waiting time")
    assert again.query("SELECT name, inlined FROM regions WHERE line > 0 ORDER BY name") == [
        ("inner", True),
        ("work", False),
    ]
    assert again.query("SELECT * FROM modules ORDER BY name") == [
        ("app", "/bin/app", "aabbcc"),
        ("libc.so.6", "/lib/libc.so.6", ""),
    ]
    assert again.query("SELECT kind, rank FROM locations WHERE rank >= 0 ORDER BY location") == [
        ("rank", 2), ("process", 2), ("thread", 2),
    ]  # fmt: skip


# --- the Firefox Profiler -------------------------------------------------------------------------


def firefox(run: Run) -> dict[str, Any]:
    document: dict[str, Any] = json.loads("".join(exports.firefox(run)))
    check_firefox(document)
    return document


def check_firefox(document: dict[str, Any]) -> None:
    """Check what src/types/profile.ts and CHANGELOG-formats.md ask of version 60."""
    assert document["meta"]["preprocessedProfileVersion"] == VERSION == 60
    shared = document["shared"]
    for name, table in shared.items():
        if name != "stringArray":
            assert {len(column) for column in table.values() if isinstance(column, list)} <= {
                table["length"]
            }, name
    lengths = {name: table["length"] for name, table in shared.items() if name != "stringArray"}
    lengths |= {"strings": len(shared["stringArray"]), "libs": len(document["libs"])}
    for table, column, target in (
        ("stackTable", "frame", "frameTable"), ("frameTable", "func", "funcTable"),
        ("funcTable", "name", "strings"), ("funcTable", "resource", "resourceTable"),
        ("funcTable", "source", "sources"), ("resourceTable", "lib", "libs"),
        ("resourceTable", "name", "strings"), ("sources", "filename", "strings"),
    ):  # fmt: skip
        for cell in shared[table][column]:
            assert cell is None or -1 <= cell < lengths[target], (table, column)
    prefixes = shared["stackTable"]["prefix"]
    assert all(above is None or 0 <= above < at for at, above in enumerate(prefixes))
    categories = document["meta"]["categories"]
    assert {"Other"} <= {one["name"] for one in categories if one["color"] == "grey"}
    assert all(0 <= one < len(categories) for one in shared["frameTable"]["category"])
    assert document["threads"]
    for thread in document["threads"]:
        samples = thread["samples"]
        columns = ("stack", "time", "weight")
        assert {len(samples[column]) for column in columns} == {samples["length"]}
        assert samples["time"] == sorted(samples["time"])
        assert min(samples["time"]) >= 0
        assert all(one is None or 0 <= one < lengths["stackTable"] for one in samples["stack"])
        assert samples["weightType"] in ("samples", "tracing-ms", "bytes")
        assert isinstance(thread["pid"], str)


def self_weights(document: dict[str, Any], thread: dict[str, Any]) -> dict[str, float]:
    """Return the weights of a thread by the function that the stack ends in."""
    shared = document["shared"]
    sums: dict[str, float] = {}
    samples = thread["samples"]
    for stack, weight in zip(samples["stack"], samples["weight"], strict=True):
        if stack is not None:
            function = shared["frameTable"]["func"][shared["stackTable"]["frame"][stack]]
            name = shared["stringArray"][shared["funcTable"]["name"][function]]
            sums[name] = round(sums.get(name, 0.0) + weight, 6)
    return sums


def test_firefox_has_a_track_for_each_thread_and_metric(run: Run) -> None:
    document = firefox(run)
    threads = {(one["name"], one["tid"]): one for one in document["threads"]}
    assert list(threads) == [
        ("app", 100), ("app", 101),
        ("app: page-faults (sampled)", 100), ("app: page-faults (sampled)", 101),
    ]  # fmt: skip
    assert self_weights(document, threads["app", 100]) == {
        "operator()(int, char)": 30 * MS, "solve": 20 * MS, "app": 2 * MS,
    }  # fmt: skip
    faults = threads["app: page-faults (sampled)", 101]
    assert faults["samples"]["weightType"] == "samples"
    assert self_weights(document, faults) == {"__memcpy": 30, "a;b\nc": 15, "do_page": 12}


def test_firefox_shows_running_and_waiting_at_their_times(tmp_path: Path) -> None:
    document = firefox(timed_run(tmp_path))
    (thread,) = document["threads"]
    assert (thread["name"], thread["processName"], thread["pid"], thread["tid"]) == (
        "worker", "rank 2: app", "50", 51,
    )  # fmt: skip
    samples, shared = thread["samples"], document["shared"]
    categories = [one["name"] for one in document["meta"]["categories"]]
    rows = []
    for time, stack, weight, cpu_ns in zip(
        samples["time"], samples["stack"], samples["weight"], samples["threadCPUDelta"],
        strict=True,
    ):  # fmt: skip
        category = ""
        if stack is not None:
            frame = shared["stackTable"]["frame"][stack]
            category = categories[shared["frameTable"]["category"][frame]]
        rows.append((time, category, weight, cpu_ns))
    assert rows == [
        (10, "Native", 10, 10_000_000), (20, "Native", 10, 10_000_000), (30, "Waiting", 50, 0),
        (100, "Native", 10, 10_000_000), (100, "", 0, 0),
    ]  # fmt: skip
    assert document["libs"][0]["codeId"] == "aabbcc"
    assert shared["frameTable"]["inlineDepth"].count(1) == 1
    assert document["meta"]["product"] == "./app"
    assert document["meta"]["startTime"] == 1.7e12


def test_what_has_no_samples_is_exported_all_the_same(run: Run, tmp_path: Path) -> None:
    imported = opened(tmp_path / "x.pb.gz", pprof(run))
    document = firefox(imported)
    of_100 = next(one for one in document["threads"] if one["tid"] == 100 and "CPU" in one["name"])
    assert self_weights(document, of_100) == {
        "operator()(int, char)": 30 * MS, "solve": 20 * MS, "app": 2 * MS,
    }  # fmt: skip
    assert gzip.decompress(pprof(imported)).count(b"operator()(int, char)") == 1
    assert "".join(exports.collapsed(imported)) == "".join(exports.collapsed(run))


@pytest.mark.parametrize("name", ["collapsed", "speedscope", "pprof", "firefox"])
def test_a_run_without_values_has_no_stacks(name: str, tmp_path: Path) -> None:
    tables = [Table(schema) for schema in (LOCATIONS, REGIONS, PATHS, METRICS, PROFILE)]
    path = run_directory.write(str(tmp_path / "empty"), HEAD, tables, {})
    output = tmp_path / "out"
    status = main(["export", str(path), "--to", name, "-o", str(output)])
    assert (status, output.exists()) == (1, False)
