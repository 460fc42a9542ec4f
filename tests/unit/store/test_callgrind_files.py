"""Files of callgrind as runs, beside what Valgrind itself says of them."""

from __future__ import annotations

import gzip
import subprocess
from pathlib import Path

import pytest

from gnomon.callgraph.call_graph import call_graph
from gnomon.callgraph.run_profile import call_profile_of_run
from gnomon.cli.main import main
from gnomon.errors import RunDirectoryError
from gnomon.store.profile_files.callgrind import is_callgrind, open_callgrind

PROGRAM = """
__attribute__((noinline)) int odd(int n);
__attribute__((noinline)) int even(int n) { return n ? odd(n - 1) : 1; }
__attribute__((noinline)) int odd(int n) { return n ? even(n - 1) : 0; }
__attribute__((noinline)) int leaf(int n) { int s = 0; for (int i = 0; i < n; i++) s += i * i;
                                            return s; }
int main(void) { return (even(20) + leaf(100)) == 0; }
"""
# The example of the format's specification.
EXAMPLE = b"""# callgrind format
events: Instructions

fl=(1) file1.c
fl=(2) file2.c
fn=(1) main
fn=(2) func1
fn=(3) func2

fl=(1)
fn=(1)
16 20
cfn=(2)
calls=1 50
16 400
cfi=(2)
cfn=(3)
calls=3 20
16 400

fn=(2)
51 100
cfi=(2)
cfn=(3)
calls=2 20
51 300

fl=(2)
fn=(3)
20 700
"""
SELF = (
    "SELECT r.name, r.file, r.line, SUM(p.exclusive) FROM profile p JOIN paths t USING (path) "
    "JOIN regions r USING (region) WHERE t.parent = 0 AND p.metric = 0 GROUP BY ALL ORDER BY ALL"
)
ARCS = (
    "SELECT a.name, b.name, SUM(calls), SUM(inclusive) FROM arcs JOIN regions a ON "
    "a.region = caller JOIN regions b ON b.region = callee WHERE metric <= 0 GROUP BY ALL "
    "ORDER BY ALL"
)


def recorded(folder: Path, *options: str) -> Path:
    (folder / "program.c").write_text(PROGRAM)
    subprocess.run(["gcc", "-g", "-O1", "-o", "program", "program.c"], cwd=folder, check=True)
    file = folder / "callgrind.out.1"
    subprocess.run(
        ["valgrind", "--tool=callgrind", *options, f"--callgrind-out-file={file}", "./program"],
        cwd=folder, check=True, capture_output=True,
    )  # fmt: skip
    return file


def totals(file: Path) -> list[float]:
    lines = [one for one in file.read_text().splitlines() if one.startswith("totals:")]
    return [sum(column) for column in zip(*(map(int, one.split()[1:]) for one in lines),
                                          strict=True)]  # fmt: skip


def test_the_example_of_the_specification(tmp_path: Path) -> None:
    for content in (EXAMPLE, gzip.compress(EXAMPLE)):
        file = tmp_path / "callgrind.out"
        file.write_bytes(content)
        assert is_callgrind(content)
        run = open_callgrind(file)
        assert run.query(SELF) == [
            ("func1", "file1.c", 51, 100), ("func2", "file2.c", 20, 700),
            ("main", "file1.c", 16, 20),
        ]  # fmt: skip
        assert run.query(ARCS) == [
            ("func1", "func2", 2, 300), ("main", "func1", 1, 400), ("main", "func2", 3, 400),
        ]  # fmt: skip


def test_a_cache_without_a_name_is_of_no_event(tmp_path: Path) -> None:
    file = tmp_path / "callgrind.out"
    content = (
        b"# callgrind format\ncreator: callgrind-3.19.0\ndesc:  cache: 32 B\nevents: Ir\n\n"
        b"fn=main\n16 20\n\ntotals: 20\n"
    )
    file.write_bytes(content)
    assert "32 B" not in str(open_callgrind(file).query("SELECT description FROM metrics"))


INCLUDED = b"""# callgrind format
version: 1
creator: callgrind-3.19.0
positions: line
events: Ir

ob=(1) /tmp/app
fl=(1) a.c
fn=(1) main
1 10
cfn=(2) g
calls=1 10
2 190
cfi=(4) d.c
cfn=(5) h
calls=0 1
3 7

fn=(2) g
10 20
fi=(2) b.c
5 30
cfi=(3) c.c
cfn=(3) h
calls=1 1
6 140
fe=(1)

fl=(3)
fn=(3)
1 140
fl=(4)
fn=(5)
1 7
totals: 207
"""


def test_code_from_other_sources_is_of_the_function_that_has_it(tmp_path: Path) -> None:
    """b.c is included in g; h of c.c and of d.c are two functions."""
    file = tmp_path / "callgrind.out"
    file.write_bytes(INCLUDED)
    graph = call_graph(call_profile_of_run(open_callgrind(file)))
    names = graph.profile.name
    totals = dict(zip(names, graph.total[: len(names)].tolist(), strict=True))
    assert totals == {"main": 207, "g": 190, "h (c.c)": 140, "h (d.c)": 7}
    own = dict(zip(names, graph.own[: len(names)].tolist(), strict=True))
    assert own["g"] == 50
    # That call began before the file did.
    calls = dict(zip(names, graph.calls[: len(names)].tolist(), strict=True))
    assert calls == {"main": 0, "g": 1, "h (c.c)": 1, "h (d.c)": 0}
    lines = open_callgrind(file).query(
        "SELECT file, line, exclusive FROM profile JOIN paths USING (path) JOIN regions "
        "USING (region) WHERE name = 'g' AND exclusive > 0 ORDER BY line"
    )
    assert lines == [("b.c", 5, 30), ("a.c", 10, 20)]


def test_reports_of_call_paths_name_the_command_for_arcs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "callgrind.out"
    file.write_bytes(EXAMPLE)
    for words in (("tree",), ("callers", "func1"), ("profile", "--by", "function")):
        assert main(["report", str(file), *words]) == 0
        assert "gnomon callgraph" in capsys.readouterr().out


@pytest.mark.parametrize(
    "options",
    [(), ("--dump-instr=yes", "--collect-jumps=yes"), ("--cache-sim=yes", "--branch-sim=yes"),
     ("--separate-recs=2", "--separate-callers=2", "--compress-mangled=yes"),
     ("--compress-strings=no", "--compress-pos=no"),
     ("--combine-dumps=yes", "--dump-every-bb=10000"), ("--dump-line=no", "--dump-instr=yes")],
)  # fmt: skip
def test_totals_are_valgrinds(options: tuple[str, ...], tmp_path: Path) -> None:
    file = recorded(tmp_path, *options)
    run = open_callgrind(file)
    sums = run.query(
        "SELECT SUM(exclusive) FROM profile WHERE path > 0 GROUP BY metric ORDER BY metric"
    )
    assert [value for (value,) in sums] == [one for one in totals(file) if one]
    if "--dump-instr=yes" in options:
        assert run.query("SELECT SUM(weight) FROM samples") == [(totals(file)[0],)]


def test_addresses_are_those_of_the_file(tmp_path: Path) -> None:
    run = open_callgrind(recorded(tmp_path, "--dump-instr=yes"))
    said = subprocess.run(["nm", tmp_path / "program"], capture_output=True, text=True, check=True)
    (address,) = [line.split()[0] for line in said.stdout.splitlines() if line.endswith(" T leaf")]
    first = run.query(
        "SELECT MIN(address) FROM samples JOIN paths USING (path) JOIN regions USING (region) "
        "WHERE name = 'leaf'"
    )
    assert first == [(int(address, 16),)]


def test_files_without_instructions_say_how_to_have_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = recorded(tmp_path)
    assert main(["annotate", "leaf", str(file), "--assembly"]) == 1
    said = capsys.readouterr().err
    assert "record it with them: valgrind --tool=callgrind --dump-instr=yes" in said


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        (b"16 20\n", b"16 20 3\n", "a line of more costs"),
        (b"cfn=(2)\n", b"cfn=(9)\n", "the name (9), which is not known"),
        (b"calls=1 50\n16 400\n", b"calls=1 50\n", "calls= without a line of costs"),
        (b"events: Instructions\n", b"", "costs before the line events:"),
        (b"20 700\n", b"20 700\ntotals: 821\n", "lines with 820 of Instructions"),
        (b"51 100\n", b"-99 100\n", "no position"),
    ],
)
def test_nonsense_is_refused(old: bytes, new: bytes, problem: str, tmp_path: Path) -> None:
    file = tmp_path / "callgrind.out"
    file.write_bytes(EXAMPLE.replace(old, new, 1))
    with pytest.raises(RunDirectoryError) as error:
        open_callgrind(file)
    assert str(error.value).startswith(f"{file}: at byte ")
    assert problem in str(error.value)
