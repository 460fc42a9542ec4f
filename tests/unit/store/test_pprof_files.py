"""Profiles of pprof as runs, what is none, and commands that take such files for runs."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from opened_profiles import opened, own, refusal

from gnomon.cli import main
from gnomon.store.profile_files.protobuf import length_field, number_field, packed_field

TEXTS = ("", "samples", "count", "cpu", "nanoseconds", "main", "work", "inner", "/src/a.go",
         "/bin/app", "abcd", "thread", "worker", "tid", "phase", "one", "alloc_space", "bytes",
         ".*hidden.*", "pid")  # fmt: skip


def text(name: str) -> int:
    return TEXTS.index(name)


def value_type(name: str, unit: str) -> bytes:
    return length_field(1, number_field(1, text(name)) + number_field(2, text(unit)))


def label(key: str, name: str = "", number: int = 0) -> bytes:
    return length_field(
        3, number_field(1, text(key)) + number_field(2, text(name)) + number_field(3, number)
    )


def sample(locations: Sequence[int], values: Sequence[int], labels: bytes = b"") -> bytes:
    return length_field(2, packed_field(1, locations) + packed_field(2, values) + labels)


def location(number: int, *lines: tuple[int, int], address: int = 0, mapping: int = 1) -> bytes:
    return length_field(
        4,
        number_field(1, number) + number_field(2, mapping) + number_field(3, address)
        + b"".join(
            length_field(4, number_field(1, function) + number_field(2, line))
            for function, line in lines
        ),
    )  # fmt: skip


def function(number: int, name: str) -> bytes:
    return length_field(
        5, number_field(1, number) + number_field(2, text(name)) + number_field(4, 8)
    )


MAPPING = length_field(
    3, number_field(1, 1) + number_field(2, 0x400000) + number_field(3, 0x500000)
    + number_field(4, 0x1000) + number_field(5, text("/bin/app")) + number_field(6, text("abcd")),
)  # fmt: skip
CODE = (
    MAPPING + location(1, (1, 10)) + location(2, (3, 5), (2, 20)) + location(3, address=0x400123)
    + function(1, "main") + function(2, "work") + function(3, "inner")
)  # fmt: skip
STRINGS = b"".join(length_field(6, one.encode()) for one in TEXTS)
TYPES = value_type("samples", "count") + value_type("cpu", "nanoseconds")
SAMPLES = (
    sample([1], [1, 10_000_000]) + sample([2, 1], [3, 30_000_000], label("phase", "one"))
    + sample([3, 1], [2, 20_000_000])
)  # fmt: skip


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_a_profile_of_pprof(pack: Any, tmp_path: Path) -> None:
    times = number_field(9, 1_700_000_000_000_000_000) + number_field(10, 2_500_000_000)
    period = length_field(11, number_field(1, 3) + number_field(2, 4)) + number_field(12, 10_000)
    content = TYPES + SAMPLES + CODE + STRINGS + times + period
    run = opened(tmp_path / "cpu", pack(content + number_field(7, text(".*hidden.*"))))
    assert own(run, "CPU time") == {
        (-1, ("main",)): 0.01,
        (-1, ("main", "work", "inner")): 0.03,
        (-1, ("main", "app+0x1123")): 0.02,
    }
    assert own(run, "samples") == {
        (-1, ("main",)): 1, (-1, ("main", "work", "inner")): 3, (-1, ("main", "app+0x1123")): 2,
    }  # fmt: skip
    assert run.query("SELECT name, module, file, line, inlined FROM regions WHERE line > 0 "
                     "ORDER BY line") == [
        ("inner", "app", "/src/a.go", 5, True), ("main", "app", "/src/a.go", 10, None),
        ("work", "app", "/src/a.go", 20, False),
    ]  # fmt: skip
    assert run.query("SELECT * FROM modules") == [("app", "/bin/app", "abcd")]
    assert run.query("SELECT raw FROM profile WHERE path = 0 AND metric = 0") == [(6,)]
    assert (run.head["started"], run.head["wall_seconds"]) == (pytest.approx(1.7e9), 2.5)
    assert run.query("SELECT description FROM metrics WHERE metric = 0") == [
        ("a sample every 10000 nanoseconds of cpu",)
    ]
    assert run.head["warnings"] == [
        "pprof: the file asks to hide functions that match .*hidden.*; they are shown",
        "pprof: labels of samples are left out: phase",
    ]


def test_labels_of_pprof_are_threads(tmp_path: Path) -> None:
    worker = label("tid", number=7) + label("thread", "worker") + label("pid", number=3)
    content = TYPES + sample([1], [1, 10], worker) + sample([2, 1], [1, 5]) + CODE + STRINGS
    run = opened(tmp_path / "x.pprof", content)
    # Where some samples have a thread, each has one.
    assert own(run, "CPU time") == {
        (7, ("main",)): 1e-8, (-1, ("main", "work", "inner")): 5e-9,
    }  # fmt: skip
    threads = run.query("SELECT pid, tid, name FROM locations WHERE kind = 'thread' ORDER BY tid")
    assert threads == [(-1, -1, ""), (3, 7, "worker")]


def test_numbers_of_pprof_one_by_one(tmp_path: Path) -> None:
    loose = length_field(2, number_field(1, 2) + number_field(1, 1) + number_field(2, 1)
                         + number_field(2, 50))  # fmt: skip
    run = opened(tmp_path / "x.pprof", TYPES + loose + CODE + STRINGS)
    assert own(run, "CPU time") == {(-1, ("main", "work", "inner")): 5e-8}


@pytest.mark.parametrize(("default", "first"), [("", "alloc_space"), ("samples", "samples")])
def test_the_default_sample_type_is_the_first_metric(
    default: str, first: str, tmp_path: Path
) -> None:
    types = value_type("samples", "count") + value_type("alloc_space", "bytes")
    content = types + SAMPLES + CODE + STRINGS + number_field(14, text(default))
    run = opened(tmp_path / "x.pb.gz", gzip.compress(content))
    assert run.query("SELECT name FROM metrics WHERE metric = 0") == [(first,)]
    assert run.query("SELECT unit FROM metrics WHERE name = 'alloc_space'") == [("bytes",)]


MINUS_ONE = (1 << 64) - 1


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (TYPES + sample([9], [1, 1]) + CODE + STRINGS, "at byte 14: location 9, which is not"),
        (TYPES + sample([1], [1]) + CODE + STRINGS, "at byte 14: a sample with 1 values"),
        (TYPES + sample([1], [1, MINUS_ONE]) + CODE + STRINGS, "at byte 14: a value of -1"),
        (TYPES + sample([1] * 10_001, [1, 1]) + CODE + STRINGS, "at byte 15: a stack of more"),
        (TYPES + CODE + STRINGS, "at byte 0: it has no stacks with a weight"),
        (TYPES + SAMPLES + CODE, "at byte "),
        (TYPES + SAMPLES + CODE + CODE + STRINGS, "at byte "),
        (TYPES + SAMPLES + location(1, (99, 1)) + CODE + STRINGS, "at byte "),
        (TYPES + SAMPLES + location(8, (1, 1 << 40)) + CODE + STRINGS, "at byte "),
        (TYPES + SAMPLES + CODE + STRINGS[:-3], "at byte "),
        (TYPES + SAMPLES + CODE + STRINGS + number_field(9, MINUS_ONE), "at byte 0: its times"),
        (gzip.compress(TYPES + SAMPLES + CODE + STRINGS)[:-20], "at byte "),
        (gzip.compress(TYPES + SAMPLES + CODE + STRINGS) + b"no gzip", "at byte "),
        (b"", "at byte 0: it has no sample types"),
        (b"\x0a\x04\x08\x01\x10\x02\x0f", "at byte 6: a field of kind 7"),
        (b"\x0a\x04\x08\x01\x10\x02\x48" + b"\xff" * 11, "at byte 7: a number without an end"),
    ],
)
def test_what_is_no_profile_of_pprof(content: bytes, reason: str, tmp_path: Path) -> None:
    assert refusal(tmp_path / "x.pb.gz", content).startswith(reason)


def test_a_profile_that_unpacks_to_too_much(tmp_path: Path, monkeypatch: Any) -> None:
    from gnomon.store.profile_files import profile_file

    most = 4 << 20
    monkeypatch.setattr(profile_file.whole_content, "__defaults__", (most,))
    bomb = gzip.compress(TYPES + bytes(100 << 20))
    assert len(bomb) < 1 << 20
    said = refusal(tmp_path / "x.pb.gz", bomb)
    assert said.startswith("more than 4 MiB, which is the most that Gnomon reads of a pprof file")


# --- as runs --------------------------------------------------------------------------------------


def test_files_are_taken_where_runs_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.pb.gz").write_bytes(gzip.compress(TYPES + SAMPLES + CODE + STRINGS))
    (tmp_path / "b.collapsed").write_text("main;work 4\nmain 1\n")
    assert main(["report", "a.pb.gz", "profile"]) == 0
    assert "inner" in capsys.readouterr().out
    assert main(["report", "b.collapsed"]) == 0
    assert "time not known, wall time not known\n" in capsys.readouterr().out
    assert main(["compare", "a.pb.gz", "b.collapsed"]) == 0
    compared = capsys.readouterr().out
    assert "1970" not in compared
    rows = [line.split() for line in compared.splitlines()]
    assert ["6", "5", "-16.7", "%", "samples"] in rows
    assert main(["import", "a.pb.gz"]) == 0
    assert capsys.readouterr().out == "a.gnomon\n"
    assert json.loads((tmp_path / "a.gnomon/run.json").read_text())["imported"]["format"] == "pprof"
    assert main(["import", "b.collapsed", "--name", "other"]) == 0
    assert main(["export", "other", "--to", "collapsed"]) == 0
    assert capsys.readouterr().out.splitlines()[1:] == [
        "b.collapsed;main 1", "b.collapsed;main;work 4",
    ]  # fmt: skip
