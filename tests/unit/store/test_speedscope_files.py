"""Files of speedscope as runs, and what is none."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from opened_profiles import opened, own, refusal
from stack_values import program_of, stack_values


def speedscope(*profiles: Mapping[str, Any], frames: Sequence[Any] = (), **more: Any) -> str:
    """Return a file of speedscope with frames a, b and c, unless there are others."""
    frames = frames or [{"name": "a", "file": "/x.py", "line": 3, "col": 1}, {"name": "b"},
                        {"name": "c", "line": None}]  # fmt: skip
    return json.dumps(
        {"$schema": "https://www.speedscope.app/file-format-schema.json",
         "shared": {"frames": frames}, "profiles": profiles, **more}
    )  # fmt: skip


def sampled(**more: Any) -> dict[str, Any]:
    return {
        "type": "sampled", "name": "p", "unit": "milliseconds", "startValue": 0, "endValue": 6,
        "samples": [[0, 1], [0], [], [0, 1]], "weights": [1, 2.5, 7, 3], **more,
    }  # fmt: skip


def evented(*events: tuple[str, int, float], **more: Any) -> dict[str, Any]:
    return {
        "type": "evented", "name": "p", "unit": "seconds", "startValue": 0, "endValue": 9,
        "events": [{"type": kind, "frame": frame, "at": at} for kind, frame, at in events], **more,
    }  # fmt: skip


def test_samples_of_speedscope(tmp_path: Path) -> None:
    run = opened(tmp_path / "x.json", speedscope(sampled(), name="swim", exporter="tool 1"))
    assert own(run, "time") == {(-1, ("a", "b")): 0.004, (-1, ("a",)): 0.0025}
    assert run.query("SELECT unit, how FROM metrics") == [("s", "sampled")]
    assert run.query("SELECT module, file, line FROM regions WHERE name = 'a'") == [
        ("python", "/x.py", 3)
    ]
    assert program_of(run) == "swim"
    assert run.head["producer"] == "tool 1"
    assert run.head["warnings"] == [
        "speedscope: 0.007 s in p have no frame (idle), and are left out"
    ]


def test_events_of_speedscope(tmp_path: Path) -> None:
    profile = evented(
        ("O", 0, 1), ("O", 1, 2), ("C", 1, 4), ("O", 1, 4), ("O", 1, 4.5), ("C", 1, 5), ("C", 1, 5),
        ("C", 0, 7), ("O", 2, 8), ("C", 2, 9),
    )  # fmt: skip
    run = opened(tmp_path / "x.json", speedscope(profile))
    values = stack_values(run, "time", by_thread=False)
    assert {stack: tuple(value) for (_, stack), value in values.items()} == {
        (): (7, 0), ("a",): (6, 3), ("a", "b"): (3, 2.5), ("a", "b", "b"): (0.5, 0.5),
        ("c",): (1, 1),
    }  # fmt: skip


def test_profiles_of_speedscope_are_threads_and_metrics(tmp_path: Path) -> None:
    run = opened(
        tmp_path / "x.json",
        speedscope(
            sampled(name='Thread 7 "main"'), sampled(name='Process 3 Thread 8 ""'),
            sampled(name='Thread 0x7F12 "io"'), sampled(name="GPU", unit="bytes"),
            sampled(unit="none", name="GPU"),
        ),
    )  # fmt: skip
    assert run.query("SELECT name, unit FROM metrics ORDER BY metric") == [
        ("time", "s"), ("bytes", "bytes"), ("weight", ""),
    ]  # fmt: skip
    threads = "SELECT pid, tid, name FROM locations WHERE kind = 'thread' ORDER BY tid, name"
    assert run.query(threads) == [(-1, -1, "GPU"), (-1, -1, "io"), (-1, 7, "main"), (3, 8, "")]


@pytest.mark.parametrize(
    ("profile", "reason"),
    [
        (sampled(samples=[[0, 3]], weights=[1]), "profiles[0].samples[0]: frame 3 of 3"),
        (sampled(samples=[[-1]], weights=[1]), "profiles[0].samples[0]: frame -1 of 3"),
        (sampled(samples=[["a"]], weights=[1]), "profiles[0].samples[0]: a frame that is no num"),
        (sampled(samples=[[[0]]], weights=[1]), "profiles[0].samples[0]: a frame that is no num"),
        (sampled(samples=[0], weights=[1]), "profiles[0].samples[0]: a stack that is no list"),
        (sampled(weights=[1]), "profiles[0]: 4 samples and 1 weights"),
        (sampled(samples=[[0]], weights=[-1]), "profiles[0].samples[0]: a weight of -0.001"),
        (sampled(samples=[[0]], weights=[10**400]), "profiles[0].samples[0]: a weight or time tha"),
        (sampled(samples=[[0]], weights=["1"]), "profiles[0].samples[0]: a weight or time that is"),
        (sampled(samples=[[0] * 10_001], weights=[1]),
         "profiles[0].samples[0]: a stack of more than 10000 frames"),
        (sampled(unit="parsecs"), "profiles[0]: the unit 'parsecs'"),
        (sampled(type="other"), "profiles[0]: its type is neither"),
        (evented(("C", 0, 1)), "profiles[0].events[0]: frame 0 is closed"),
        (evented(("O", 0, 1), ("C", 1, 2)), "profiles[0].events[1]: frame 1 is closed"),
        (evented(("O", 0, 1)), "profiles[0].events[0]: 1 frames are still open"),
        (evented(("O", 0, 2), ("C", 0, 1)), "profiles[0].events[1]: at 1, which is before"),
        (evented(("X", 0, 2)), "profiles[0].events[0]: an event that neither"),
        (evented(("O", 9, 2)), "profiles[0].events[0]: frame 9 of 3"),
        ([], "profiles[0]: it is no object"),
    ],
)  # fmt: skip
def test_what_is_no_file_of_speedscope(profile: Any, reason: str, tmp_path: Path) -> None:
    assert refusal(tmp_path / "x.json", speedscope(profile)).startswith(reason)


OWN = (
    sampled(name="CPU time (sampled)"),
    sampled(name="CPU time (sampled) of swim 3, main 7", samples=[[0, 1]], weights=[2]),
)


def test_the_whole_run_in_a_file_of_gnomon_is_not_counted_twice(tmp_path: Path) -> None:
    run = opened(tmp_path / "x.json", speedscope(*OWN, exporter="gnomon 1"))
    assert own(run, "CPU time") == {(7, ("b",)): 0.002}
    assert run.query("SELECT name FROM regions ORDER BY region") == [("a",), ("b",)]


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        ({"samples": [[0, 9]], "weights": [1]}, "profiles[0].samples[0]: frame 9 of 3"),
        ({"weights": [1]}, "profiles[0]: 4 samples and 1 weights"),
        ({"samples": [[0]], "weights": [-1]}, "profiles[0].samples[0]: a weight of -0.001"),
        ({"samples": "all"}, "profiles[0]: 'samples' is missing, or no list"),
    ],
)
def test_the_whole_run_in_a_file_of_gnomon_is_checked(
    damage: dict[str, Any], reason: str, tmp_path: Path
) -> None:
    content = speedscope(OWN[0] | damage, OWN[1], exporter="gnomon 1")
    assert refusal(tmp_path / "x.json", content).startswith(reason)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (speedscope(sampled())[:200], "at byte "),
        (speedscope(sampled(weights=[1, 2, 3, float("nan")])), "NaN, which is no number"),
        ('{"shared": {"frames": [' + "[" * 100_000, "its JSON has numbers too long"),
        ('{"version": "0.0.1", "frames": [], "events": []}', "it has no $schema and no shared"),
        ("[]", "the file is no object of JSON"),
        (b'{"$schema": "\xff"}', "at byte 13: not UTF-8 text"),
        (speedscope(sampled(), frames=[{"name": 3}]), "shared.frames[0]: 'name' is no text"),
        (speedscope(sampled(), frames=[{"name": "a", "line": -1}]), "shared.frames[0]: its line"),
        (speedscope(), "it has no stacks with a weight"),
    ],
)
def test_what_is_no_json_of_speedscope(content: str | bytes, reason: str, tmp_path: Path) -> None:
    assert refusal(tmp_path / "x.speedscope.json", content).startswith(reason)
