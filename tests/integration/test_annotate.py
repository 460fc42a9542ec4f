"""`gnomon annotate`: real programs, held to what binutils and the run itself say."""

from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from answer_types import faults
from commands import gnomon
from symbol_programs import by_addr2line, run, symbol_of
from view_server import serving

from gnomon.annotate.annotation import TICK_SECONDS, Annotation, annotate
from gnomon.store import run_directory
from gnomon.store.hotspots import whole
from gnomon.store.run import Run
from gnomon.view import contract
from gnomon.view.session import Session

PROGRAM = """
#include <stdio.h>
#include <time.h>
static volatile double sink;
static inline __attribute__((always_inline)) double square(double x)
{
	for (int i = 0; i < 30; i++)
		sink = x;
	return x * x + sink;
}
static __attribute__((noinline)) double solve(int n, const double *a)
{
	double sum = 0;

	for (int i = 0; i < n; i++) {
		if (a[i] > 0.5)
			sum += square(a[i]);
		else
			sum -= a[i] / (1 + sum);
	}
	return sum;
}
__attribute__((noinline)) double other(int n, const double *a)
{
	return n ? square(a[0]) + solve(n, a) : 0;
}
int main(void)
{
	static double a[1000];
	const clock_t end = clock() + CLOCKS_PER_SEC / 4;
	double s = 0;

	for (int i = 0; i < 1000; i++)
		a[i] = (i * 7919 % 1000) / 1000.0;
	do {
		for (int k = 0; k < 100; k++)
			s += other(1000, a);
	} while (clock() < end);
	return printf("%g\\n", s) < 0;
}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a program and a run of it, `app`."""
    folder = tmp_path_factory.mktemp("annotate")
    (folder / "p.c").write_text(PROGRAM)
    run("gcc", "-g", "-O2", "-o", folder / "program", folder / "p.c")
    done = gnomon("record", "--name", "app", "--", "./program", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def opened(folder: Path) -> Run:
    return run_directory.find(str(folder / "app"))


@pytest.fixture(scope="module")
def solve(opened: Run) -> Annotation:
    return annotate(opened, "solve")


def printed(folder: Path, *words: str) -> str:
    done = gnomon("annotate", *words, cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    return str(done.stdout)


def refused(folder: Path, status: int, *words: str) -> str:
    done = gnomon("annotate", *words, cwd=folder)
    assert (done.returncode, done.stdout) == (status, "")
    assert done.stderr.count("\n") == 1
    return str(done.stderr)


def in_code_of(run_: Run, *functions: str) -> tuple[float, int]:
    """Return the weight and number of the samples that end in functions called by `solve`."""
    ((weight, n),) = run_.query(
        "SELECT SUM(weight), COUNT(*) FROM samples JOIN metrics USING (metric) "
        "JOIN paths p USING (path) JOIN regions r USING (region) "
        "LEFT JOIN paths c ON c.path = p.parent LEFT JOIN regions a ON a.region = c.region "
        f"WHERE metrics.name = 'CPU time' AND r.name IN {(*functions, '')} "
        "AND (r.name = 'solve' OR a.name = 'solve')"
    )
    return float(weight), int(n)


def test_values_are_those_of_the_run(opened: Run, solve: Annotation) -> None:
    weight, n = in_code_of(opened, "solve", "square")
    assert n > 50
    assert solve.assembly is not None
    assert solve.own == pytest.approx(weight)
    assert solve.assembly.own + solve.assembly.elsewhere == pytest.approx(weight)
    assert solve.assembly.elsewhere == 0
    assert solve.samples == n
    assert sum(one.samples or 0 for one in solve.assembly.instructions) == n
    at = {
        int(address): float(value)
        for address, value in opened.query(
            "SELECT address, SUM(weight) FROM samples JOIN metrics m USING (metric) "
            "WHERE m.name = 'CPU time' GROUP BY address"
        )
    }
    for one in solve.assembly.instructions:
        assert one.own == pytest.approx(at.get(one.instruction.address, 0))


def test_instructions_have_the_lines_of_addr2line(folder: Path, solve: Annotation) -> None:
    assert solve.assembly is not None
    addresses = [one.instruction.address for one in solve.assembly.instructions]
    assert addresses[0] == symbol_of(folder / "program", "solve")
    frames = by_addr2line(folder / "program", addresses)
    for one in solve.assembly.instructions:
        function, file, line = frames[one.instruction.address][0]
        assert (one.function, one.file, one.line) == (function, file, line)
    assert {one.function for one in solve.assembly.instructions} == {"solve", "square"}


def test_lines_and_instructions_agree(solve: Annotation) -> None:
    assert solve.assembly is not None
    by_line: dict[tuple[str, int], float] = {}
    for one in solve.assembly.instructions:
        key = (one.function, one.line)
        by_line[key] = by_line.get(key, 0) + one.own
    for line in solve.lines:
        own = by_line.get((line.code.function, line.code.line), 0)
        assert own == pytest.approx(line.own)
    parts = [line for line in solve.lines if line.inlined_from]
    assert {line.code.function for line in parts} == {"square"}
    call = PROGRAM.splitlines().index("\t\t\tsum += square(a[i]);") + 1
    assert {place.line for line in parts for place in line.inlined_from} == {call}
    assert {line.code.function for line in solve.lines if not line.inlined_from} == {"solve"}


def test_inlined_code_is_charged_to_its_call(folder: Path, solve: Annotation) -> None:
    data = json.loads(printed(folder, "solve", "app", "--inlined", "caller", "--json"))
    call = next(line for line in data["lines"] if "square(a[i])" in line["text"])
    inlined = sum(line.own for line in solve.lines if line.inlined_from)
    own = sum(
        line.own for line in solve.lines if not line.inlined_from and line.code.line == call["line"]
    )
    assert call["value"] == pytest.approx(inlined + own)
    assert data["total"] == pytest.approx(solve.own)
    assert all(line["inlined_from"] == [] for line in data["lines"])


def test_json_is_what_the_library_says(folder: Path, solve: Annotation) -> None:
    data = json.loads(printed(folder, "solve", "app", "--json"))
    assert solve.assembly is not None
    assert data["schema"] == "gnomon/annotation"
    assert (data["function"], data["module"]) == ("solve", "program")
    assert (data["metric"], data["unit"], data["how"]) == ("CPU time", "s", "sampled")
    assert [one["address"] for one in data["instructions"]] == [
        one.instruction.address for one in solve.assembly.instructions
    ]
    code = b"".join(bytes.fromhex(one["bytes"]) for one in data["instructions"])
    assert len(code) == sum(len(one.instruction.code) for one in solve.assembly.instructions)
    known = {one["address"]: one for one in data["instructions"]}
    for jump in data["jumps"]:
        assert {known[source]["target_address"] for source in jump["sources"]} == {jump["target"]}
    lines = (folder / "p.c").read_text().splitlines()
    for line in data["lines"]:
        assert line["text"] == lines[line["line"] - 1].expandtabs(4)
    ticks = json.loads(printed(folder, "solve", "app", "--json", "--ticks"))
    assert ticks["unit"] == "ticks"
    assert ticks["total"] * TICK_SECONDS == pytest.approx(data["total"])


def test_texts_fit_and_name_lines_and_targets(folder: Path) -> None:
    source = printed(folder, "solve")
    # A long path of the file ends its line.
    assert "square, inlined at p.c:" in " ".join(source.split())
    assert "of total" in source
    assembly = printed(folder, "solve", "app", "--assembly")
    both = printed(folder, "solve", "app", "--both")
    for text in (source, assembly, both):
        assert all(len(line) <= 80 for line in text.splitlines())
        assert text.count("total of the function") == 1
    assert "▶" in assembly
    assert "<solve+0x" in assembly
    assert "sum -= a[i] / (1 + sum);" in both
    assert "sum -= a[i] / (1 + sum);" not in assembly
    calls = printed(folder, "other", "app", "--assembly")
    assert "<solve>" in calls
    top = printed(folder, "solve", "app", "--assembly", "--top", "1", "--context", "0")
    assert len(top.splitlines()) < 14
    assert " instructions --" in top
    syntax = printed(folder, "solve", "app", "--assembly", "--intel", "--bytes")
    assert "[rsi" in syntax


def test_files_hold_what_is_asked_for(folder: Path, tmp_path: Path) -> None:
    for view, column in (("--source", "line"), ("--assembly", "address")):
        file = tmp_path / f"{column}.csv"
        printed(folder, "solve", "app", view, "-o", str(file))
        rows = list(csv.DictReader(file.read_text().splitlines()))
        assert len(rows) > 3
        assert column in rows[0]
    assert "not of both" in refused(folder, 2, "solve", "--both", "-o", str(tmp_path / "x.csv"))
    file = tmp_path / "x.txt"
    printed(folder, "solve", "app", "--assembly", "-o", str(file))
    assert "total of the function" in file.read_text()


def test_a_file_is_what_report_shows(folder: Path) -> None:
    said = gnomon("report", "app", "source", "p.c", cwd=folder).stdout
    assert printed(folder, "--file", "p.c", "app") == said


def test_names_that_mean_nothing_or_too_much(folder: Path) -> None:
    assert "no such function" in refused(folder, 2, "nosuch", "app")
    assert "a function is missing" in refused(folder, 2)
    assert "functions could be it" in refused(folder, 2, "o", "app")
    assert "--top -1" in refused(folder, 2, "solve", "--top", "-1")
    for place in ("/nonexistent", "~nobody-of-that-name/src"):
        assert "no such directory" in refused(folder, 2, "solve", "--source-path", place)
    assert "unexpected" in refused(folder, 2, "solve", "app", "more")
    assert printed(folder, "p.c:solve", "app") == printed(folder, "solve", "app")
    assert printed(folder, "program:solve", "app") == printed(folder, "solve", "app")
    assert "it has CPU time" in refused(folder, 2, "solve", "-e", "nosuch")


def test_a_function_that_is_only_inlined_has_no_instructions(folder: Path) -> None:
    said = refused(folder, 1, "square", "app", "--assembly")
    assert "was inlined into functions that call it" in said
    text = printed(folder, "square", "app")
    assert "return x * x + sink;" in text


def test_sources_are_found_where_the_user_says(folder: Path, tmp_path: Path) -> None:
    moved = tmp_path / "src"
    moved.mkdir()
    text = (folder / "p.c").read_text().replace("double sum = 0;", "double sum = 0.0;")
    (moved / "p.c").write_text(text)
    words = ("solve", "app", "--context", "50")
    assert "double sum = 0.0;" in printed(folder, *words, "--source-path", str(moved))
    assert "double sum = 0.0;" in printed(folder, *words, "--source-path", f"{moved}:@")
    assert "double sum = 0;" in printed(folder, *words, "--source-path", f"@:{moved}")
    (moved / "p.c").rename(moved / "q.c")
    assert "cannot be read here" in printed(folder, *words, "--source-path", str(moved))


@pytest.fixture
def copied(folder: Path) -> Iterator[Path]:
    """Put the folder's program and source back after a test that changes them."""
    kept = {name: (folder / name).read_bytes() for name in ("program", "p.c")}
    yield folder
    for name, content in kept.items():
        (folder / name).unlink(missing_ok=True)
        (folder / name).write_bytes(content)
    (folder / "program").chmod(0o755)


def test_another_program_at_its_place_is_refused(copied: Path) -> None:
    run("gcc", "-g", "-O1", "-o", copied / "program", copied / "p.c")
    said = refused(copied, 1, "solve", "app", "--assembly")
    assert "is not the file that ran; measure again" in said
    data = json.loads(printed(copied, "solve", "app", "--json"))
    assert data["instructions"] == []
    assert "is not the file that ran" in data["no_instructions"]
    (copied / "program").unlink()
    assert "is missing" in refused(copied, 1, "solve", "app", "--assembly")


def test_a_bundle_has_its_code_and_sources(copied: Path, tmp_path: Path) -> None:
    bundle = tmp_path / "app.zip"
    assert gnomon("bundle", "app", "-o", bundle, cwd=copied).returncode == 0
    before = annotate(run_directory.find(str(copied / "app")), "solve").assembly
    (copied / "program").unlink()
    (copied / "p.c").unlink()
    found = annotate(run_directory.find(str(bundle)), "solve").assembly
    assert before is not None
    assert found is not None
    assert [one.instruction.code for one in found.instructions] == [
        one.instruction.code for one in before.instructions
    ]
    lines = {one.instruction.address: one.line for one in before.instructions}
    for one in found.instructions:
        assert one.line in (0, lines[one.instruction.address])
        if one.own:
            assert one.line
    assert "sum -= a[i] / (1 + sum);" in printed(tmp_path, "solve", str(bundle))


def test_a_stripped_program_has_instructions_and_no_lines(folder: Path, tmp_path: Path) -> None:
    run("strip", "-o", tmp_path / "bare", folder / "program")
    assert gnomon("record", "--name", "bare", "--", "./bare", cwd=tmp_path).returncode == 0
    start = symbol_of(folder / "program", "solve")
    name = f"bare+{start:#x}"
    text = printed(tmp_path, name, "bare")
    assert "by instruction" in text
    assert "has no line numbers; compile it with -g" in " ".join(text.split())
    assert f"<{name}+0x" in text
    data: dict[str, Any] = json.loads(printed(tmp_path, name, "bare", "--json"))
    assert data["instructions"][0]["address"] == start
    total = sum(one["value"] for one in data["instructions"])
    assert total == pytest.approx(data["total"])
    assert "no lines are known" in printed(tmp_path, name, "bare", "--source")


def test_a_python_function_has_lines_alone(tmp_path: Path) -> None:
    (tmp_path / "p.py").write_text(
        "import time\n\n\ndef spin(n):\n    total = 0\n    for i in range(n):\n"
        "        total += i * i\n    return total\n\n\nend = time.process_time() + 0.3\n"
        "while time.process_time() < end:\n    spin(1000)\n"
    )
    python = shutil.which("python3") or "python3"
    done = gnomon("record", "--name", "py", "--", python, "p.py", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "spin" in gnomon("report", "py", "profile", cwd=tmp_path).stdout
    assert "total += i * i" in printed(tmp_path, "spin", "py")
    assert "a function of Python" in refused(tmp_path, 1, "spin", "py", "--assembly")


def test_a_function_of_a_gmon_file_has_ticks(tmp_path: Path) -> None:
    (tmp_path / "p.c").write_text(PROGRAM)
    run("gcc", "-pg", "-g", "-O2", "-o", tmp_path / "program", tmp_path / "p.c")
    run(tmp_path / "program", cwd=tmp_path)
    data = json.loads(printed(tmp_path, "solve", "gmon.out", "--json", "--ticks"))
    assert data["unit"] == "ticks"
    assert data["total"] >= 5
    assert sum(one["value"] for one in data["instructions"]) == pytest.approx(data["total"])
    assert data["elsewhere"] == 0


def test_the_view_answers_with_the_same(folder: Path, solve: Annotation) -> None:
    session = Session()
    session.open([str(folder / "app")])
    with serving(session) as client:
        metrics = {one["name"]: one["metric"] for one in client.ask("/api/runs/1/metrics").json}
        address = f"/api/runs/1/assembly?metric={metrics['CPU time']}"
        answer = client.ask(f"{address}&function=solve").json
        assert list(faults(answer, contract.Assembly)) == []
        assert solve.assembly is not None
        assert [one["value"] for one in answer["instructions"]] == [
            whole(one.own) for one in solve.assembly.instructions
        ]
        inlined = client.ask(f"{address}&function=square").json
        assert inlined["instructions"] == []
        assert "was inlined into functions" in inlined["whyNone"]
        for words, said in (("", "'function' is missing"), ("&function=x%00y", "no such function"),
                            ("&function=solve&metric=99", "no metric 99")):  # fmt: skip
            refusal = client.ask(address + words)
            assert refusal.status == 400
            assert said in refusal.body.decode()
        window = client.ask("/api/runs/1@0-1/assembly?function=solve")
        assert window.status == 400
