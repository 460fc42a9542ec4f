"""The reports of gmon.out files beside those of GNU gprof, to the last digit."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from profiled_programs import build, gprof, profile

from gnomon.callgraph.call_graph import call_graph
from gnomon.callgraph.gmon_profile import call_profile, gmon_profile
from gnomon.callgraph.selection import Selection
from gnomon.cli.main import main
from gnomon.store.profile_files.gmon import function_times, gmon_sum
from gnomon.store.profile_files.gmon.gmon_file import GmonArrays, Histogram

OPTIONS = (
    (), ("-z",), ("-e", "even"), ("-E", "leaf"), ("-f", "middle"), ("-F", "middle"),
    ("-E", "even"), ("-F", "leaf", "-z"), ("-E", "main"), ("-e", "even", "-E", "fibonacci"),
    ("-f", "odd", "-E", "leaf"), ("-F", "odd", "-F", "middle"),
)  # fmt: skip


def gnomon(
    capsys: pytest.CaptureFixture[str], program: Path, files: Sequence[Path], *options: str
) -> str:
    assert main(["callgraph", "-b", *options, str(program), *map(str, files)]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    return printed.out


@pytest.mark.parametrize("options", [("-no-pie",), ("-pie", "-fPIE"), ("-static",)])
def test_a_program_with_cycles(
    options: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program = build(tmp_path, ".c", *options)
    file = profile(program)
    # A static program has all of libc's functions, among them clones.
    for asked in OPTIONS if "-static" not in options else OPTIONS[:1]:
        assert gnomon(capsys, program, [file], *asked) == gprof(program, [file], *asked), asked
    text = gnomon(capsys, program, [file])
    assert "<cycle 1 as a whole>" in text
    assert "no time" not in text


def test_names_of_cxx(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = build(tmp_path, ".cpp")
    file = profile(program)
    for asked in ((), ("-z",), ("-E", "main"), ("--no-demangle",)):
        assert gnomon(capsys, program, [file], *asked) == gprof(program, [file], *asked)
    assert "Node::insert(int)" in gnomon(capsys, program, [file])
    # Parameters may be left out.
    text = gnomon(capsys, program, [file], "-f", "Node::insert")
    assert text == gprof(program, [file], "-f", "_ZN4Node6insertEi")


def test_fortran(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = build(tmp_path, ".f90")
    file = profile(program)
    text = gnomon(capsys, program, [file], "--no-demangle")
    assert text == gprof(program, [file])
    assert "__work_MOD_smooth" in text
    # gprof has no names of modules as people write them.
    people = text.replace("__work_MOD_", "work::")
    assert gnomon(capsys, program, [file]).split() == people.split()


def test_several_files_and_their_sum(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    program = build(tmp_path)
    files = [profile(program, f"rank{number}") for number in range(3)]
    assert gnomon(capsys, program, files) == gprof(program, files)
    for name in ("own", "theirs"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "own")
    assert gnomon(capsys, program, files, "-s") == ""
    monkeypatch.chdir(tmp_path / "theirs")
    assert gprof(program, files, "-s") == ""
    own, theirs = tmp_path / "own" / "gmon.sum", tmp_path / "theirs" / "gmon.sum"
    for asked in ((), ("-z",), ("-F", "leaf")):
        text = gprof(program, [theirs], *asked)
        assert gprof(program, [own], *asked) == text
        assert gnomon(capsys, program, [own], *asked) == text
        assert gnomon(capsys, program, [theirs], *asked) == text


def test_bins_between_the_code_and_what_follows_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program = build(tmp_path)
    own = function_times.program_of(program)
    start = dict(zip(own.symbols.names, own.symbols.start.tolist(), strict=True))
    # The last symbol, such as _fini, begins behind the section .text, where all others end.
    low = int(own.symbols.start[0])
    nothing = np.zeros(0, np.uint64)
    for size in (500, 18_000):
        bins = np.array([0, 3, 0, 65535, 7], np.uint32)
        arrays = GmonArrays(
            own.layout, (Histogram(low, low + size, 100, "seconds", "s", bins),),
            np.array([start["main"] + 8], np.uint64), np.array([start["leaf"]], np.uint64),
            np.array([3], np.int64), nothing, nothing.astype(np.int64),
        )  # fmt: skip
        file = tmp_path / f"gmon.{size}"
        file.write_bytes(gmon_sum.gmon_bytes(arrays))
        assert gnomon(capsys, program, [file]) == gprof(program, [file])


N_FUNCTIONS = 40


@pytest.fixture(scope="module")
def many_functions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a program of many functions, of which some are static, with odd names."""
    folder = tmp_path_factory.mktemp("many")
    functions = "".join(
        f"{'static ' if number % 3 == 0 else ''}__attribute__((noinline, used)) int "
        f"{'_' * (number % 4)}f{number * 7919 % 1000}(int x) {{ return x * {number + 3}; }}\n"
        for number in range(N_FUNCTIONS)
    )
    return build(folder, source=f"{functions}int main(void) {{ return 0; }}\n")


def random_file(program: Path, seed: int) -> GmonArrays:
    """Return a synthesised file of a program, whose calls go wherever chance has it."""
    chance = random.Random(seed)
    own = function_times.program_of(program)
    starts = own.symbols.start.tolist()
    names = own.symbols.names
    functions = [starts[at] for at, name in enumerate(names) if name.strip("_")[:1] == "f"]
    chosen = chance.sample(functions, chance.randint(2, N_FUNCTIONS))
    n = chance.randint(1, 4 * len(chosen))
    callers = [chance.choice(chosen) + chance.randint(0, 3) for _ in range(n)]
    callees = [chance.choice(chosen) for _ in range(n)]
    kind = chance.randrange(3)
    if kind == 0:
        # Small cycles, for calls do not go far.
        callers = [chance.randrange(len(chosen)) for _ in range(n // 2 + 1)]
        callees = [chosen[min(max(at + chance.randint(-1, 2), 0), len(chosen) - 1)]
                   for at in callers]  # fmt: skip
        callers = [chosen[at] for at in callers]
    elif kind == 1:
        # Without cycles but those of functions that call themselves.
        pairs = [sorted(pair) for pair in zip(callers, callees, strict=True)]
        callers = [a for a, _ in pairs]
        callees = [max(start for start in chosen if start <= b) for _, b in pairs]
    counts = [chance.choice((0, 1, 1, 2, 5, 1000, 123456789)) for _ in callers]
    low, high = starts[0] // 4096 * 4096, int(own.symbols.end[-1]) // 4 * 4 + 4
    n_bins = (high - low) // chance.choice((2, 4, 4, 8))
    bins = np.zeros(n_bins, np.uint32)
    for _ in range(chance.randint(0, 60)):
        bins[chance.randrange(n_bins)] += chance.choice((1, 1, 3, 17, 250))
    histogram = Histogram(low, high, chance.choice((100, 100, 1000)), "seconds", "s", bins)
    nothing = np.zeros(0, np.uint64)
    return GmonArrays(
        own.layout, (histogram,), np.array(callers, np.uint64), np.array(callees, np.uint64),
        np.array(counts, np.int64), nothing, nothing.astype(np.int64),
    )  # fmt: skip


def differences(program: Path, folder: Path, seeds: range, out: pytest.CaptureFixture[str]) -> int:
    """Return how many cycles there were in files of which no report is another than gprof's."""
    names = [
        name
        for name in function_times.program_of(program).symbols.names
        if name.strip("_")[:1] == "f"
    ]
    n_cycles = 0
    for seed in seeds:
        file = folder / f"gmon.{seed}"
        file.write_bytes(gmon_sum.gmon_bytes(random_file(program, seed)))
        chance = random.Random(seed)
        options = [
            word
            for _ in range(chance.choice((0, 0, 1, 2, 3)))
            for word in (chance.choice(("-e", "-E", "-f", "-F")), chance.choice(names))
        ]
        text = gnomon(out, program, [file], *options)
        assert text == gprof(program, [file], *options), (seed, options)
        n_cycles += text.partition("Index by")[2].count("<cycle")
    return n_cycles


def test_random_calls(
    many_functions: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert differences(many_functions, tmp_path, range(40), capsys) > 10


def test_xprofilers_reports_have_the_order_of_gprofs(many_functions: Path, tmp_path: Path) -> None:
    file = tmp_path / "gmon.out"
    for seed in range(20):
        file.write_bytes(gmon_sum.gmon_bytes(random_file(many_functions, seed)))
        profile = call_profile(gmon_profile(many_functions, [file]))
        graph = call_graph(profile)
        assert (call_graph(profile, Selection(by_chapter=True)).index == graph.index).all()


@pytest.mark.long
def test_many_random_calls(
    many_functions: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert differences(many_functions, tmp_path, range(40, 1040), capsys) > 250
