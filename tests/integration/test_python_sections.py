"""Sections of Python programs: what they measure, beside threads, mistakes and C code."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from hpm_programs import PACKAGE, ROOT, rows, run, value
from intervals import Model, notes_of
from python_programs import GETPPID, WANTED, calls, counts, python

PROGRAM = ROOT / "tests" / "programs" / "sections.py"

pytestmark = pytest.mark.usefixtures("tracepoints")


# --- values ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("marks", ["functions", "labels"])
def test_sections_measure_what_the_program_noted(tmp_path: Path, marks: str, threads: int) -> None:
    done = run(sys.executable, PROGRAM, marks, str(threads), folder=tmp_path, **WANTED)
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    heads = [line.split() for line in lines if line.startswith("thread")]
    index_of = {tid: int(index) for _, index, tid in heads}
    assert len(index_of) == threads
    model = Model()
    model.play(notes_of("\n".join(line for line in lines if not line.startswith("thread"))))
    table = rows(tmp_path / "sections.csv")
    number_of = {
        100 * index_of.get(row["thread"], 0) + int(row["label"]): int(row["section"])
        for row in table
        if row["section"]
    }
    assert sorted(number_of) == model.numbers()
    assert len(number_of) == 8 * threads + 2
    assert all((number > 1000) == (marks == "labels") for number in number_of.values())
    for noted, number in number_of.items():
        for exclusive in (False, True):
            expected = model.expected(noted, exclusive=exclusive)
            assert value(table, number, GETPPID, exclusive=exclusive) == expected.pages
            wall_ns = 1e9 * value(table, number, "wall", exclusive=exclusive)
            slack = 1000 + 0.01 * expected.most_ns
            assert expected.least_ns - slack <= wall_ns <= expected.most_ns + slack
            starts = {row["calls"] for row in table if row["section"] == str(number)}
            assert starts == {str(expected.starts)}


def test_pages_that_are_touched_are_counted(tmp_path: Path) -> None:
    text = """
import mmap
def touch(n):
    pages = mmap.mmap(-1, n * mmap.PAGESIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    pages.madvise(mmap.MADV_NOHUGEPAGE)
    for at in range(0, n * mmap.PAGESIZE, mmap.PAGESIZE):
        pages[at] = 1
for label, n in (("first", 5), ("few", 100), ("many", 1000)):
    for turn in range(3):
        with hpm.section(label):
            touch(n)
"""
    assert python(tmp_path, text, GNOMON_EVENTS="page-faults") == ""
    table = rows(tmp_path / "prog.csv")
    found = {r["label"]: float(r["value"]) for r in table if r["name"] == "page-faults"
             and r["exclusive"] == "no"}  # fmt: skip
    # What the interpreter itself takes is not much more in many turns than in few.
    assert 3 * 900 <= found["many"] - found["few"] <= 3 * 900 + 20


def test_the_program_names_the_output_and_its_places(tmp_path: Path) -> None:
    text = 'with hpm.section("one"):\n    os.getppid()\n@hpm.section\ndef f():\n    pass\nf()\n'
    python(tmp_path, text)
    table = rows(tmp_path / "prog.csv")
    places = {(row["label"], row["file"], row["line"]) for row in table if row["section"]}
    file = str(tmp_path / "prog.py")
    assert {(label, Path(tmp_path, name), line) for label, name, line in places} == {
        ("one", Path(file), "3"), ("f", Path(file), "5")}  # fmt: skip


@pytest.mark.parametrize(
    ("command", "name"),
    [
        (["-c", "from gnomon import hpm\nwith hpm.section('a'): pass"], "python"),
        (["-m", "package"], "package"),
        (["-m", "package.part"], "part"),
        (["no_ending"], "no_ending"),
        (["-c", "from gnomon import hpm\nhpm.init('mine')\nhpm.init('late')"], "mine"),
        (["-c", "from gnomon import hpm\nhpm.hpmInit(0, 'theirs')\nhpm.init('late')"], "theirs"),
    ],
)
def test_the_name_of_the_output(tmp_path: Path, command: list[str], name: str) -> None:
    package = tmp_path / "package"
    package.mkdir()
    text = "from gnomon import hpm\nwith hpm.section('a'): pass\n"
    for file in (package / "__main__.py", package / "part.py", tmp_path / "no_ending"):
        file.write_text(text)
    (package / "__init__.py").touch()
    run(sys.executable, *command, folder=tmp_path, **WANTED)
    assert [file.name for file in tmp_path.glob("*.csv")] == [f"{name}.csv"]


# --- what can be a section ------------------------------------------------------------------------


def test_decorators_of_functions_coroutines_and_generators(tmp_path: Path) -> None:
    text = """
import asyncio
@hpm.section
def plain(n, *, more=0):
    "Its own words."
    for _ in range(n + more):
        os.getppid()
    return n
@hpm.section("coroutine")
async def coroutine(n):
    await asyncio.sleep(0)
    return plain(n)
@hpm.section("generator")
def generator(n):
    for i in range(n):
        os.getppid()
        got = yield i
    return got
assert plain.__name__ == "plain" and plain.__doc__ == "Its own words."
assert plain(3, more=2) == 3
assert asyncio.run(coroutine(4)) == 4
made = generator(2)
assert next(made) == 0 and made.send("x") == 1
try:
    made.send("last")
except StopIteration as end:
    assert end.value == "last"
class Methods:
    @hpm.section
    def plain(self): return os.getppid()
    @hpm.section
    @classmethod
    def of_class(cls): return cls, os.getppid()
    @hpm.section("static")
    @staticmethod
    def static(n): return n, os.getppid()
    @classmethod
    @hpm.section
    def outside(cls): return cls, os.getppid()
for made in (Methods, Methods()):
    assert made.of_class()[0] is made.outside()[0] is Methods
    assert made.static(8)[0] == 8
assert Methods().plain() == os.getppid()
try:
    @hpm.section
    async def both():
        yield 1
except Exception as error:
    print(type(error).__name__, error, file=sys.stderr)
hpm.check()
"""
    said = python(tmp_path, text)
    assert said == (
        "SectionError function 'both': an asynchronous generator cannot be a section; "
        "use `with hpm.section(...)` inside it\n"
    )
    assert counts(rows(tmp_path / "prog.csv")) == {
        "plain": 9, "coroutine": 4, "generator": 2, "Methods.plain": 1, "Methods.of_class": 2,
        "static": 2, "Methods.outside": 2}  # fmt: skip


def test_tasks_that_overlap_in_a_section(tmp_path: Path) -> None:
    """The section is that of the thread: from the first task's start to the last one's end."""
    text = """
import asyncio
@hpm.section("task")
async def task(n):
    for _ in range(n):
        os.getppid()
        await asyncio.sleep(0)
async def main():
    other = asyncio.create_task(outside())
    await asyncio.gather(task(3), task(5))
    await other
async def outside():
    await asyncio.sleep(0)
    os.getppid()
    with hpm.section("nested"):
        os.getppid()
asyncio.run(main())
hpm.check()
"""
    assert python(tmp_path, text) == ""
    table = rows(tmp_path / "prog.csv")
    # What another task did meanwhile is in it.
    assert counts(table) == {"task": 10, "nested": 1}
    assert calls(table)["task"] == 2


def test_generators_that_end_early_or_elsewhere(tmp_path: Path) -> None:
    text = """
import threading
@hpm.section("early")
def early():
    while True:
        os.getppid()
        yield
made = early()
next(made)
made.close()
os.getppid()
assert hpm.hpm_error_count == 0
@hpm.section("elsewhere")
def elsewhere():
    yield os.getppid()
made = elsewhere()
next(made)
thread = threading.Thread(target=list, args=(made,))
thread.start()
thread.join()
os.getppid()
assert hpm.hpm_error_count == 1
with hpm.section("elsewhere"):
    os.getppid()
"""
    said = python(tmp_path, text)
    assert said.count("\n") == 1
    assert "the section is not active; start it before" in said
    # Nobody stopped it on the thread that started it.
    assert counts(rows(tmp_path / "prog.csv")) == {"early": 1, "elsewhere": 3}


def test_an_exception_ends_its_sections(tmp_path: Path) -> None:
    text = """
@hpm.section("outer")
def outer():
    with hpm.section("inner"):
        os.getppid()
        raise KeyError("mine")
for _ in range(2):
    try:
        outer()
    except KeyError as error:
        assert error.args == ("mine",)
    os.getppid()
hpm.check()
outer()
"""
    said = python(tmp_path, text, status=1)
    assert said.endswith("KeyError: 'mine'\n")
    table = rows(tmp_path / "prog.csv")
    assert counts(table) == {"outer": 3, "inner": 3}
    assert counts(table, exclusive=True) == {"outer": 0, "inner": 3}
    assert calls(table) == {"outer": 3, "inner": 3}


def test_a_section_of_the_whole_process_counts_its_threads(tmp_path: Path) -> None:
    text = """
import threading
def work(n):
    with hpm.section("part"):
        for _ in range(n):
            os.getppid()
with hpm.section("all", whole_process=True), hpm.section("all"):
    threads = [threading.Thread(target=work, args=(n,)) for n in (10, 20, 30)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    work(5)
hpm.check()
"""
    assert python(tmp_path, text) == ""
    table = [r for r in rows(tmp_path / "prog.csv") if r["name"] == GETPPID]
    found = sorted((r["label"], bool(r["thread"]), int(r["value"])) for r in table
                   if r["exclusive"] == "no")  # fmt: skip
    assert found == [("all", False, 65), ("all", True, 5),
                     *(("part", True, n) for n in (5, 10, 20, 30))]  # fmt: skip


def test_parents_by_section_and_label(tmp_path: Path) -> None:
    text = """
outer = hpm.section("outer")
with outer:
    with hpm.section("free", parent=hpm.HPM_NO_PARENT):
        os.getppid()
    with hpm.section("named", parent="outer"), hpm.section("second", parent=outer):
        os.getppid()
    with hpm.section("own", exclusive=True), hpm.section("child"):
        os.getppid()
assert hpm.section("outer") is outer
hpm.check()
"""
    assert python(tmp_path, text, HPM_EXCLUSIVE_VALUES="no") == ""
    table = rows(tmp_path / "prog.csv")
    label_of = {row["section"]: row["label"] for row in table}
    parents = {row["label"]: label_of.get(row["parent"], "") for row in table if row["section"]}
    assert parents == {"outer": "", "free": "", "named": "outer", "second": "outer",
                       "own": "outer", "child": "own"}  # fmt: skip
    assert counts(table, exclusive=True) == {"own": 0}


def test_what_the_thread_has_counted_so_far(tmp_path: Path) -> None:
    text = """
hpm.init()
zero = hpm.hpmGetCounters()
for _ in range(7): os.getppid()
seconds, one = hpm.hpmGetTimeAndCounters(1)
later, three = hpm.hpmGetTimeAndCounters(3)
assert len(zero) == 2 and one[0] - zero[0] == 7, (zero, one)
assert three[2] == -1 and len(three) == 3 and 0 < seconds <= later
assert hpm.hpmGetTimeAndCounters(-5)[1] == ()
"""
    python(tmp_path, text, GNOMON_EVENTS=f"{GETPPID},page-faults")


# --- mistakes -------------------------------------------------------------------------------------


def test_a_mistake_is_told_once_and_the_program_goes_on(tmp_path: Path) -> None:
    text = """
for _ in range(3):
    hpm.section("never entered").__exit__()
    hpm.hpmTstop(7)
    hpm.hpmStart(10**30, "x")
    hpm.hpmTstart(-1, "x")
assert hpm.hpm_error_count == hpm.error_count() == 12
hpm.terminate()
with hpm.section("late"):
    print("still here")
try:
    hpm.check()
except Exception as error:
    print(type(error).__name__, error, file=sys.stderr)
"""
    said = python(tmp_path, text).splitlines()
    assert len(said) == 4
    assert "hpmTstop(1001): the section is not active; start it before" in said[0]
    assert f"hpmStart({2**31 - 1})" in said[1]
    assert "already terminated" in said[2]
    assert re.match(r"SectionError libhpm: 14 calls went wrong; the lines on stderr", said[3])


def test_mistakes_raise_where_that_is_asked_for(tmp_path: Path) -> None:
    text = """
hpm.init(raises=True)
for wrong in (lambda: hpm.section("a").__exit__(None, None, None),
              lambda: hpm.section(3), lambda: hpm.section("a\\0b"), lambda: hpm.section(),
              lambda: hpm.section("a", parent=[]), lambda: hpm.section("a", parent=5.5),
              lambda: hpm.section("a", parent="b", exclusive=True),
              lambda: hpm.hpmTstart("1", "a"), lambda: hpm.hpmTstart(1),
              lambda: hpm.hpmTstart(1, 1)):
    try:
        wrong()
    except Exception as error:
        print(type(error).__name__, error, file=sys.stderr)
try:
    with hpm.section("b"):
        hpm.section("b").__exit__()
        raise ValueError("the program's")
except ValueError:
    pass
"""
    said = python(tmp_path, text).splitlines()
    kinds = [line.split()[0] for line in said if not line.startswith("hpmcount")]
    ours, pythons = "SectionError", "TypeError"
    assert kinds == [*[ours] * 3, pythons, *[ours] * 3, *[pythons] * 3]
    assert said[1].startswith("SectionError section 'a': libhpm found a mistake")


def test_labels_of_any_kind(tmp_path: Path) -> None:
    text = 'for label in ("", "Länge", "\\udcff", "x" * 3000, "a\\nb"):\n'
    text += "    with hpm.section(label):\n        os.getppid()\n"
    text += "    hpm.hpmTstart(len(label) + 1, label)\n    hpm.hpmTstop(len(label) + 1)\n"
    assert "hpmTstart(3001)" in python(tmp_path, text)
    table = rows(tmp_path / "prog.csv")
    labels = {row["label"] for row in table if row["section"] and int(row["section"]) > 1000}
    assert {"", "Länge", "?", "x" * 255} <= labels
    assert len(labels) == 5


def test_more_labels_than_numbers(tmp_path: Path) -> None:
    text = """
for i in range(4100):
    with hpm.section(str(i)):
        os.getppid()
assert hpm.hpm_error_count == 8, hpm.hpm_error_count
"""
    said = python(tmp_path, text)
    assert said.count("\n") == 1
    assert "all 4096 numbers of sections with labels alone are taken" in said
    assert "set HPM_NUM_INST_PTS to more" in said
    assert len(counts(rows(tmp_path / "prog.csv"))) == 4096
    text = text.replace("count == 8", "count == 0")
    assert python(tmp_path, text, HPM_NUM_INST_PTS="5000") == ""
    assert len(counts(rows(tmp_path / "prog.csv"))) == 4100


# --- the example ----------------------------------------------------------------------------------


def test_the_example_runs(tmp_path: Path) -> None:
    example = ROOT / "examples" / "hpm-python" / "primes.py"
    done = run(sys.executable, example, "300000", folder=tmp_path)
    assert done.stdout == "25997 primes up to 300000\n"
    assert done.stderr == ""
    text = (tmp_path / "primes.hpm").read_text()
    for label in ("all threads", "small_primes", "one segment", "crossing out"):
        assert re.search(rf"^section \d+  {label}  ", text, re.MULTILINE)
    assert not list(PACKAGE.glob("*.hpm"))
