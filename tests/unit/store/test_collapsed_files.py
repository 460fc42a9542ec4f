"""Collapsed stacks of perf, py-spy and austin as runs, and texts that are none."""

from __future__ import annotations

from pathlib import Path

import pytest
from opened_profiles import opened, own, refusal
from stack_values import stack_values

from gnomon.store.run_files import READERS, reader_of

PERF = """\
# captured on a machine

python3;_start;main;do_syscall_64_[k];clear_page_[k] 7
python3;_start;main;operator new(unsigned long);std::vector<int, A>::grow_[i] 5
python3;_start;main 2
python3;[perf-12.map]_[j] 1.5
"""


def test_stacks_of_perf(tmp_path: Path) -> None:
    run = opened(tmp_path / "perf.txt", PERF)
    assert own(run, "samples") == {
        (-1, ("python3", "_start", "main", "do_syscall_64", "clear_page")): 7,
        (-1, ("python3", "_start", "main", "operator new(unsigned long)",
              "std::vector<int, A>::grow")): 5,
        (-1, ("python3", "_start", "main")): 2,
        (-1, ("python3", "[perf-12.map]")): 1.5,
    }  # fmt: skip
    marked = "SELECT name, module, inlined FROM regions WHERE module = '[kernel]' OR inlined"
    assert set(run.query(marked)) == {
        ("do_syscall_64", "[kernel]", None),
        ("clear_page", "[kernel]", None),
        ("std::vector<int, A>::grow", "", True),
    }
    # They may be periods of an event, or times: how many samples they are is not known.
    assert run.query("SELECT COUNT(raw) FROM profile") == [(0,)]
    assert run.head["started"] == 0


def test_threads_of_stackcollapse(tmp_path: Path) -> None:
    run = opened(tmp_path / "x", "Web Content-12/13;a;b 3\nWeb Content-12/14;a 4\napp-?/9;a 1\n")
    assert own(run, "samples") == {(13, ("a", "b")): 3, (14, ("a",)): 4, (9, ("a",)): 1}
    processes = "SELECT pid, name FROM locations WHERE kind = 'process' ORDER BY pid"
    assert run.query(processes) == [(-1, "app"), (12, "Web Content")]
    # What threads have, the command has together.
    assert run.query("SELECT inclusive FROM profile WHERE location = 0 AND path = 0") == [(8,)]


# What py-spy 0.4.3 wrote of a program of two threads, shortened.
SPY = """\
process 4676:"";thread (4721): worker;Thread.run (threading.py:982);work (busy.py:10) 3
process 4676:"";thread (4676): MainThread 1
process 4676:"";thread (4676);<module> (busy.py:11);work (busy.py:10);crunch (busy.py:4) 21
process 4676:"";thread (4676): MainThread;<module> (busy.py:11);sqrt (libm.so.6) 2
"""


def test_raw_stacks_of_py_spy(tmp_path: Path) -> None:
    run = opened(tmp_path / "spy.txt", SPY)
    assert own(run, "samples") == {
        (4721, ("Thread.run", "work")): 3,
        (4676, ()): 1,
        (4676, ("<module>", "work", "crunch")): 21,
        (4676, ("<module>", "sqrt")): 2,
    }
    threads = "SELECT pid, tid, name FROM locations WHERE kind = 'thread' ORDER BY tid"
    assert run.query(threads) == [(4676, 4676, "MainThread"), (4676, 4721, "worker")]
    code = "SELECT module, file, line FROM regions WHERE name IN ('crunch', 'sqrt') ORDER BY line"
    assert run.query(code) == [("libm.so.6", "", 0), ("python", "busy.py", 4)]


AUSTIN = """\
# austin: 3.6.0
# interval: 100
# mode: wall

P42;T42;/src/app.py:<module>:5;/src/app.py:work:9 2500
P42;T0:43;/src/app.py:work:9 100

# duration: 2600
"""


@pytest.mark.parametrize(
    ("mode", "metric", "unit", "factor"),
    [("wall", "wall time (sampled)", "s", 1e-6), ("cpu", "CPU time", "s", 1e-6),
     ("memory", "memory", "bytes", 1)],
)  # fmt: skip
def test_stacks_of_austin(mode: str, metric: str, unit: str, factor: float, tmp_path: Path) -> None:
    run = opened(tmp_path / "x.austin", AUSTIN.replace("mode: wall", f"mode: {mode}"))
    values = stack_values(run, metric)
    assert {stack: value.exclusive for (_, stack), value in values.items()} == {
        (): 0, ("<module>",): 0, ("<module>", "work"): pytest.approx(2500 * factor),
        ("work",): pytest.approx(100 * factor),
    }  # fmt: skip
    assert run.query("SELECT DISTINCT unit FROM metrics") == [(unit,)]
    assert run.query("SELECT file, line FROM regions WHERE name = 'work'") == [("/src/app.py", 9)]
    threads = run.query("SELECT pid, name FROM locations WHERE kind = 'thread' ORDER BY name")
    assert threads == [(42, "T42"), (42, "T43")]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("a;b 1\na;c\n", "at byte 6, line 2: 'a;c' is no weight of a stack"),
        ("a;b 1\na;c -3\n", "at byte 6, line 2: '-3' is a weight below 0"),
        ("a;b 1\na;c nan\n", "at byte 6, line 2: 'nan' is no weight"),
        ("a;b 0\n" + "a;b 1e5\n", "at byte 6, line 2: '1e5' is no weight"),
        (f"a;b 1\n{'f;' * 10_001} 1\n", "at byte 6, line 2: a stack of more than 10000 frames"),
        ("a (x.py:2222222222) 1\n", "at byte 0, line 1: a line 2222222222 of a source file"),
    ],
)
def test_what_are_no_collapsed_stacks(content: str, reason: str, tmp_path: Path) -> None:
    assert refusal(tmp_path / "x.collapsed", content).startswith(reason)


@pytest.mark.parametrize(
    "content",
    ["a;b -3\n", "a;b -3", "a;b -3\na;c -1.5\n", "hello\na;b 1\na;c 2\n", "a;b 1\na;c 2\nhello"],
)
def test_damaged_stacks_are_refused_with_a_cause_whatever_the_file_is_called(
    content: str, tmp_path: Path
) -> None:
    path = tmp_path / "difference"
    line = next(
        at for at, text in enumerate(content.split("\n"), 1) if "-" in text or ";" not in text
    )
    assert f", line {line}: " in refusal(path, content)
    reader = reader_of(path, READERS)
    assert reader is not None
    assert reader.name == "collapsed"


def test_a_stack_without_an_end_of_line(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_text("a;b 3")
    reader = reader_of(path, READERS)
    assert reader is not None
    assert own(reader.open(path), "samples") == {(-1, ("a", "b")): 3}


def test_names_that_are_no_utf_8(tmp_path: Path) -> None:
    run = opened(tmp_path / "x.folded", b"a;\xff\xfe 1\n")
    assert own(run, "samples") == {(-1, ("a", "\\xff\\xfe")): 1}


@pytest.mark.parametrize(
    "content",
    ["", "a b c\n", "x,y\n1;2,3\n", "main;x 1\nhello\n", "\0;a 1\n", "{}", "name 12\nother 13\n"],
)
def test_other_texts_are_not_taken_for_stacks(content: str, tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text(content)
    assert reader_of(path, READERS) is None
