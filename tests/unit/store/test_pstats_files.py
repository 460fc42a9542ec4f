"""Files of cProfile and profile as runs, beside what Python's own pstats says of them."""

from __future__ import annotations

import cProfile
import marshal
import profile as python_profile
import pstats
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gnomon.callgraph.call_graph import call_graph
from gnomon.callgraph.call_profile import CallProfile
from gnomon.callgraph.run_profile import call_profile_of_run
from gnomon.errors import RunDirectoryError
from gnomon.store import run_directory
from gnomon.store.profile_files.pstats import is_pstats, open_pstats


def fibonacci(n: int) -> int:
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


def even(n: int) -> bool:
    return n == 0 or odd(n - 1)


def odd(n: int) -> bool:
    return n > 0 and even(n - 1)


def work() -> None:
    fibonacci(12)
    for n in range(20):
        sorted(range(1000 + n))
        even(n)


def write_cprofile(path: Path) -> None:
    profiler = cProfile.Profile()
    profiler.runcall(work)
    profiler.dump_stats(path)


def write_profile(path: Path) -> None:
    profiler = python_profile.Profile()
    profiler.runcall(work)
    profiler.dump_stats(path)


def stats_of(path: Path) -> dict[Any, Any]:
    return dict(pstats.Stats(str(path)).stats)  # type: ignore[attr-defined]


class First:
    def run(self) -> int:
        return sum(range(1000))


class Second:
    def run(self) -> int:
        return First().run() + 1


def test_methods_of_one_name_are_functions_of_their_own(tmp_path: Path) -> None:
    path = tmp_path / "work.prof"
    profiler = cProfile.Profile()
    profiler.runcall(lambda: [Second().run() for _ in range(3)] + [First().run()])
    profiler.dump_stats(path)
    graph = call_graph(call_profile_of_run(run_directory.find(str(path))))
    names = graph.profile.name
    told = {
        f"{name}:{line}": calls[1] for (file, line, name), calls in stats_of(path).items()
        if name == "run" and file == __file__
    }  # fmt: skip
    assert sorted(told.values()) == [3, 4]
    calls = dict(zip(names, graph.calls[: len(names)].tolist(), strict=True))
    assert {name: n for name, n in calls.items() if name.startswith("run:")} == told


def title(key: tuple[str, int, str]) -> tuple[str, str, int]:
    """Return the name, file and line that a function of pstats has in a call profile."""
    file, line, name = key
    return (name, "", 0) if file == "~" else (name, file, line)


def functions(graph: CallProfile) -> list[tuple[str, str, int]]:
    return list(zip(graph.name, graph.file, graph.line.tolist(), strict=True))


@pytest.mark.parametrize("write", [write_cprofile, write_profile])
def test_calls_and_times_are_those_of_pstats(write: Callable[[Path], None], tmp_path: Path) -> None:
    path = tmp_path / "work.prof"
    write(path)
    stats = stats_of(path)
    graph = call_profile_of_run(run_directory.find(str(path)))
    own = dict(zip(functions(graph), graph.own.tolist(), strict=True))
    assert own == {title(key): pytest.approx(max(told[2], 0.0)) for key, told in stats.items()}
    calls_of = graph.calls_of
    if calls_of is None:
        # All callers are known.
        calls_of = np.zeros(len(graph.own), np.int64)
        np.add.at(calls_of, graph.callee, graph.calls)
    assert dict(zip(functions(graph), calls_of.tolist(), strict=True)) == {
        title(key): told[1] for key, told in stats.items()
    }
    named = functions(graph)
    arcs = {
        (named[caller], named[callee]): calls
        for caller, callee, calls in zip(
            graph.caller.tolist(), graph.callee.tolist(), graph.calls.tolist(), strict=True
        )
    }
    assert arcs == {
        (title(caller), title(key)): calls if isinstance(calls, int) else calls[0]
        for key, told in stats.items()
        for caller, calls in told[4].items()
    }
    assert any(callee[0] == "fibonacci" for _, callee in arcs)


def test_what_calls_came_to_is_that_of_pstats(tmp_path: Path) -> None:
    path = tmp_path / "work.prof"
    write_cprofile(path)
    graph = call_profile_of_run(run_directory.find(str(path)))
    named = functions(graph)
    totals = {
        (named[caller], named[callee]): total
        for caller, callee, total in zip(
            graph.caller.tolist(), graph.callee.tolist(), graph.arc_total.tolist(), strict=True
        )
    }
    assert totals == {
        (title(caller), title(key)): pytest.approx(calls[3])
        for key, told in stats_of(path).items()
        for caller, calls in told[4].items()
    }


@pytest.mark.parametrize("version", range(marshal.version + 1))
def test_every_version_of_the_format_is_read(version: int, tmp_path: Path) -> None:
    key, other = ("ä.py", 3, "f"), ("~", 0, "<built-in method x>")
    path = tmp_path / "old"
    path.write_bytes(marshal.dumps(
        {key: (1, 1 << 40, 0.5, 0.75, {}), other: (2, 2, 0.25, 0.25, {key: (2, 2, 0.25, 0.25)})},
        version,
    ))  # fmt: skip
    assert is_pstats(path.read_bytes())
    graph = call_profile_of_run(open_pstats(path))
    assert sorted(functions(graph)) == [("<built-in method x>", "", 0), ("f", "ä.py", 3)]
    assert graph.whole == 0.75
    assert graph.calls_of is not None
    assert sorted(graph.calls_of.tolist()) == [2, 1 << 40]


F = ("a.py", 1, "f")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (marshal.dumps({}), "it has no functions"),
        (marshal.dumps({F: (1, 1, 0.0, 0.0, {})})[:-3], "it ends too early"),
        (marshal.dumps({F: (1, 1, 0.0, 0.0, {})}) + b"0", "more than a profile"),
        (marshal.dumps({F: (1, 1, 0.0, 0.0)}), "a function without its calls"),
        (marshal.dumps({F: (1, 1, float("nan"), 0.0, {})}), "no time: nan"),
        (marshal.dumps({F: (1, -1, 0.0, 0.0, {})}), "no number of calls: -1"),
        (marshal.dumps({F: (1, 1, 0.0, 0.0, {F: (1, 1)})}), "calls without their numbers"),
        (marshal.dumps({("a.py", -5, "f"): (1, 1, 0.0, 0.0, {})}), "no number of a line: -5"),
        (marshal.dumps({("a.py", 1, b"f"): (1, 1, 0.0, 0.0, {})}), "neither text nor a number"),
        (
            marshal.dumps({("~", 0, compile("0", "a.py", "exec")): (1, 1, 0.0, 0.0, {})}),
            "the code of a program, which python -m profile writes; write the profile with",
        ),
        (marshal.dumps({F: (1, 1 << 90, 0.0, 0.0, {})}), "a number of more than 64 bits"),
        (b"{)\x03r\x09\0\0\0", "it refers to value 9, which is none"),
        (b"\xfb)\x03r\0\0\0\0", "it refers to value 0, which is none"),
        (b"{)\x03" + b")\x01" * 9, "tuples in tuples"),
        (b"{(\x03\0\0\0(\xff\xff\xff\xff", "a tuple of 4294967295 elements"),
        (b"{)\x03" + b"\xda\x01a" * 3 + b")\x05", "no function: a file, a line and a name"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_damage_is_named(content: bytes, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "damaged.prof"
    path.write_bytes(content)
    with pytest.raises(RunDirectoryError, match=rf"{path}: at byte \d+: {reason}"):
        open_pstats(path)
